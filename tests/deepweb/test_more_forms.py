"""Additional training forms, generated or from saved pages. They have weights and are never
evaluated; a model evaluated on a domain is not trained on additional forms of this domain."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crawlmgr.web.url import registered_domain
from deepweb.commands.classify import read_lines
from deepweb.form_roles import asks_for_something_else
from deepweb.forms.classifier import can_be_asked, shipped_model
from deepweb.forms.types import FormType
from deepweb.submission import SURE
from tests.benches.forms import forms as bench
from tests.deepweb import labelled_pages
from tests.deepweb.drawn_forms import LANGUAGES, WEIGHT, Drawer, drawn, patterns, wordings
from tests.deepweb.drawn_forms import main as write_drawn
from tests.deepweb.forms_by_hand import PAGES
from tests.deepweb.noted_forms import field_html, noted, notes
from tests.training.forms import (
    Example,
    TrainingError,
    example_of,
    predictions,
    read_examples,
    score,
    train,
)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def example(html: str, kind: str, domain: str, weight: float = 1.0) -> Example:
    return example_of(
        {"html": html, "url": "http://a.example/", "type": kind, "domain": domain, "weight": weight}
    )


def known(domains: int = 6) -> list[Example]:
    return [
        example(html, kind, f"d{n}")
        for n in range(domains)
        for kind, pages in PAGES.items()
        for html in pages
    ]


def test_drawn_forms_leave_no_gap_and_are_the_same_each_time() -> None:
    rows = list(drawn(turns=1))
    assert rows == list(drawn(turns=1))
    assert len(rows) == len(list(patterns())) > 300
    assert {row["type"] for row in rows} == set(FormType) and {row["lang"] for row in rows} == set(
        LANGUAGES
    )
    assert not [row["id"] for row in rows if re.search(r"\[\[|\|\||\{\w+\}", row["html"])]
    assert not [
        row["id"] for row in rows if not example_of(row).form.fields and row["type"] != "other"
    ]
    assert all(
        len(columns) == len(LANGUAGES) and all(map(all, columns.values()))
        for columns in wordings().values()
    )


def test_every_alternative_can_be_drawn() -> None:
    found = {Drawer(seed, "de").fill("[[a||b[[c||d]]||{yes}]]") for seed in range(60)}
    assert found == {"a", "bc", "bd", "Ja"}


def test_drawn_forms_are_read_with_their_surroundings_and_weight(tmp_path: Path) -> None:
    file = tmp_path / "drawn.jsonl"
    write_drawn(str(file))
    read = read_examples(file)
    assert len(read) > 800 and {one.weight for one in read} == {WEIGHT}
    assert all(one.form.title for one in read) and sum(bool(one.form.above) for one in read) > 200


@pytest.mark.parametrize("weight", [0, -1, 2, "much", None])
def test_a_weight_is_a_share(weight: object) -> None:
    with pytest.raises(TrainingError, match="weight"):
        example_of(
            {
                "html": "<form><input></form>",
                "url": "http://a.example/",
                "type": "other",
                "weight": weight,
            }
        )


def test_a_light_form_is_outvoted_by_a_heavy_one() -> None:
    box = "<form action=/zzz><input name=zzz></form>"
    doubtful = example(box, "search", "e").form
    assert {example(box, "search", "e").numbers == example(box, "login", "f").numbers} == {True}
    for heavy in ("search", "login"):
        mixed = [
            example(box, kind, f"m{n}", 1.0 if kind == heavy else 0.02)
            for kind in ("search", "login")
            for n in range(4)
        ]
        assert train([*known(), *mixed]).classify(doubtful).type == heavy


def test_the_same_form_twice_is_a_form_of_twice_the_weight() -> None:
    ones = known(4)
    halves = [replace(one, weight=0.5) for one in ones for _ in range(2)]
    first, second = train(ones), train(halves)
    box = ones[0].form
    assert second.probabilities(box) == pytest.approx(first.probabilities(box), abs=0.02)


def test_further_forms_are_never_judged_and_never_lent_to_their_own_domain() -> None:
    strange = "<form action=/qwx method=post><input name=qwx><input type=submit value=Qwx></form>"
    judged = [*known(), *(example(strange, "order", f"d{n}") for n in range(6))]
    lent = [example(strange, "order", f"m{n}") for n in range(4)]
    alone = [one for one in judged if one.domain != "d5" and one.type == "order"]
    judged = [one for one in judged if one not in alone]
    place = next(n for n, one in enumerate(judged) if one.type == "order")
    assert predictions(judged, 6)[place][0] != "order"
    told = predictions(judged, 6, more=lent)
    assert len(told) == len(judged) and told[place][0] == "order"
    own = [replace(one, domain="d5") for one in lent]
    assert predictions(judged, 6, more=own)[place][0] != "order"


def test_the_bench_takes_further_forms(tmp_path: Path) -> None:
    rows = [
        {"html": html, "url": f"http://site{n}.example/", "type": kind}
        for n in range(6)
        for kind, pages in PAGES.items()
        for html in pages
    ]
    for name in ("forms.jsonl", "more.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "forms.jsonl.gz").write_bytes(
        gzip.compress((tmp_path / "forms.jsonl").read_bytes())
    )
    options = {
        "data": str(tmp_path),
        "folds": 3,
        "splits": 2,
        "first_split": 4,
        "more": [str(tmp_path / "more.jsonl")],
    }
    found = bench.run(options)
    assert (found["forms"], found["more"], len(found["splits"])) == (36, 36, 2)
    assert found["apart"] == {"forms": 0, "splits": found["splits"], "rules": found["rules"]}
    assert "accuracy" in bench.table(found)


def test_the_bench_prints_its_figures_a_second_time_without_forms_that_only_order_a_list(
    tmp_path: Path,
) -> None:
    sort = (
        "<form method=post action=/list><select name=sort><option>price<option>name</select></form>"
    )
    pages = [*((kind, html) for kind, pages in PAGES.items() for html in pages), ("search", sort)]
    rows = [
        {"html": html, "url": f"http://site{n}.example/", "type": kind}
        for n in range(6)
        for kind, html in pages
    ]
    (tmp_path / "forms.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    )
    found = bench.run(
        {"data": str(tmp_path), "folds": 3, "splits": 1, "first_split": 1, "more": []}
    )
    assert (found["forms"], found["apart"]["forms"]) == (42, 6)
    assert found["rules"]["accuracy"] < found["apart"]["rules"]["accuracy"]
    assert "accuracy, list-ordering forms apart" in bench.table(found)


@pytest.mark.skipif(not (DATA / "nonforum").exists(), reason="the shared saved pages are not here")
def test_forms_of_saved_pages_are_where_their_labels_say() -> None:
    rows = list(labelled_pages.labelled(DATA))
    assert len(rows) == len(labelled_pages.labels()) == len({row["id"] for row in rows})
    kinds = Counter(row["type"] for row in rows)
    assert (
        kinds["search"] > 100 and kinds["other"] > 50 and len({row["domain"] for row in rows}) > 120
    )
    passwords = {
        row["type"]
        for row in rows
        if example_of(row | {"page_html": None}).form.of_kind("password")
    }
    assert passwords <= {"login", "registration"}
    textareas = Counter(row["type"] for row in rows if "<textarea" in row["html"])
    assert textareas["contact"] > textareas["search"]


@pytest.mark.parametrize(
    ("noted", "html"),
    [
        (
            "t! q .box wide =Search ~Enter words",
            (
                ' <input type=text required value="Search" placeholder="Enter words" class="box'
                ' wide" name="q">'
            ),
        ),
        ("sel a :Kind (x, y)", 'Kind <select name="a"><option value=0>x<option value=1>y</select>'),
        ("r v (yes, no)", ' <input type=radio name="v"> yes <input type=radio name="v"> no'),
        ("c keep :Remember me", '<input type=checkbox name="keep"> Remember me'),
        ("b :Go", "<button type=submit>Go</button>"),
        ("a /forgot :Lost?", '<a href="/forgot">Lost?</a>'),
        ("say A & B", "<p>A &amp; B</p>"),
    ],
)
def test_a_noted_field_becomes_html(noted: str, html: str) -> None:
    assert field_html(noted) == html


def test_the_shipped_model_types_noted_forms_of_sites_that_it_never_saw() -> None:
    examples = [example_of(row) for row in noted()]
    assert len(examples) == len(notes()) > 130 and all(one.form.fields for one in examples)
    told = [shipped_model().classify(one.form) for one in examples]
    scores = score([one.type for one in examples], [verdict.type for verdict in told])
    assert scores.accuracy >= 0.92 and scores.f1["search"] >= 0.98
    sent = [
        one.domain
        for one, verdict in zip(examples, told, strict=True)
        if verdict.searchable
        and verdict.confidence >= SURE
        and not asks_for_something_else(one.form)
        and one.type != "search"
    ]
    assert len(sent) <= 1 and all(
        map(can_be_asked, (one.form for one in examples if one.domain in sent))
    )


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "nonforum").exists(), reason="the shared saved pages are not here")
def test_noted_forms_are_of_sites_in_none_of_the_other_data() -> None:
    rows = (row for _number, row in read_lines(DATA / "forms" / "forms.jsonl.gz"))
    others = {
        row.get("domain") or registered_domain(urlsplit(row["url"]).hostname or "") for row in rows
    }
    others |= {labelled_pages.Pages(DATA).read(page)[1] for page, _, _ in labelled_pages.labels()}
    assert not others & {note.site for note in notes()}
