"""The context of a form (page title, heading above it, names around it) is extracted in the same
way live and for training."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from deepweb.forms.classifier import counts, word_features
from deepweb.search_forms import read_forms
from tests.training.forms import read_examples

FORM = "<form action=/x><input name=a><button>Go</button></form>"
PAGE = (
    "<html><head><title>Town library</title></head><body><h1>Library</h1><div id=head class='top"
    f" bar'>{FORM}</div><h2>Forgotten password</h2><section class=recover-box><form"
    " action=/y><legend>Mail</legend><input name=b></form></section><form action=/z><input"
    " name=c></form></body></html>"
)


def test_each_form_knows_its_heading_and_what_is_around_it() -> None:
    head, recovery, last = read_forms(PAGE, "http://lib.example/")
    assert {form.title for form in (head, recovery, last)} == {"Town library"}
    assert [form.above for form in (head, recovery, last)] == [
        "Library",
        "Forgotten password",
        "",
    ], "a form's own legend is its own"
    assert head.around == "head top bar" and recovery.around == "recover-box" and last.around == ""


def test_they_say_concepts_but_no_words() -> None:
    recovery = read_forms(PAGE, "http://lib.example/")[1]
    found = counts(recovery)
    assert found["recover@above"] == found["recover@around"] == 1.0
    assert not any(
        name.startswith(("title=", "above=", "around=")) for name in word_features(recovery)
    )


def test_examples_take_it_from_the_page_of_the_first_form(tmp_path: Path) -> None:
    rows = [
        {
            "html": FORM,
            "url": "http://lib.example/",
            "type": "search",
            "page_id": "7",
            "form_index": 0,
            "page_html": PAGE,
            "lang": "de-AT",
        },
        {
            "html": FORM,
            "url": "http://lib.example/",
            "type": "other",
            "page_id": "7",
            "form_index": 1,
        },
        {
            "html": FORM,
            "url": "http://lib.example/",
            "type": "other",
            "page_id": "8",
            "form_index": 0,
        },
        {
            "html": "<p>书</p><form><input name=搜索></form>",
            "url": "http://lib.example/",
            "type": "other",
            "page_id": "7",
            "form_index": 9,
        },
    ]
    path = tmp_path / "forms.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    examples = read_examples(path)
    assert [example.form.above for example in examples] == ["Library", "Forgotten password", "", ""]
    assert "recover@above" in examples[1].numbers and "recover@above" not in examples[2].numbers
    assert [example.language for example in examples] == ["de", "", "", "zh"]
