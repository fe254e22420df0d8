"""The commands `deepweb classify` and `deepweb train`."""

import gzip
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from deepweb.forms.classifier import load_model
from tests.deepweb.forms_by_hand import PAGES

LINES = [
    {"id": f"{kind}-{place}", "html": html, "url": "http://example.org/p"}
    for kind, pages in PAGES.items()
    for place, html in enumerate(pages)
]


def answer(capsys, *words: str):
    call_command("deepweb", *words, "--json", stdout=StringIO())
    return capsys.readouterr().out


def write(path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as stream:
        stream.write(text)
    return path


@pytest.mark.parametrize("name", ["f.jsonl", "f.jsonl.gz"])
def test_classify_writes_one_document_a_line(tmp_path, capsys, name):
    out = answer(capsys, "classify", str(write(tmp_path / name, LINES)))
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == [line["id"] for line in LINES]
    assert all(row["type"] == row["id"].split("-")[0] for row in rows)
    assert {frozenset(row) for row in rows} == {
        frozenset({"id", "type", "searchable", "confidence"})
    }
    assert all(
        row["searchable"] is (row["type"] == "search") and 0 < row["confidence"] <= 1
        for row in rows
    )


def test_classify_by_rules_says_which_rule(tmp_path, capsys):
    rows = [
        json.loads(line)
        for line in answer(
            capsys, "classify", str(write(tmp_path / "f.jsonl", LINES)), "--rules"
        ).splitlines()
    ]
    assert {row["rule"] for row in rows} == {"search_word", "one_password", "mailing_list"}


def test_bad_files_are_one_line(tmp_path):
    for content, reason in (
        (b'{"id": 1}\n', "no html"),
        (b"{\n", "line 1: no JSON"),
        (b"[1]\n", "not a JSON object"),
        (b"\xff\n", "cannot be read"),
    ):
        path = tmp_path / "bad.jsonl"
        path.write_bytes(content)
        with pytest.raises(CommandError, match=reason):
            call_command("deepweb", "classify", str(path))
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    for path in (tmp_path / "bad.gz", tmp_path / "none.jsonl"):
        with pytest.raises(CommandError):
            call_command("deepweb", "classify", str(path))


def test_train_writes_a_model_that_classify_takes(tmp_path, capsys):
    rows = [
        {"html": html, "url": f"http://www.site{n}.example/p", "type": kind}
        for n in range(6)
        for kind, pages in PAGES.items()
        for html in pages
    ]
    file, model = write(tmp_path / "t.jsonl.gz", rows), tmp_path / "model.json"
    said = json.loads(answer(capsys, "train", str(file), "--out", str(model)))
    assert (said["forms"], said["domains"], said["learned"]["accuracy"]) == (36, 6, 1.0)
    assert said["rules"]["confusion"]["search"]["search"] == 12
    assert len(load_model(model).classes) == 3
    out = answer(capsys, "classify", str(write(tmp_path / "f.jsonl", LINES)), "--model", str(model))
    assert all(
        json.loads(line)["type"] == json.loads(line)["id"].split("-")[0]
        for line in out.splitlines()
    )
    with pytest.raises(CommandError, match="line 1: a line lacks 'type'"):
        call_command("deepweb", "train", str(write(tmp_path / "u.jsonl", LINES)), "--dry-run")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "words",
    [
        ["harvest", "1", "--policy", "guess"],
        ["harvest", "1", "--details", "some"],
        ["harvest"],
        ["cluster", "--k", "many"],
        ["cluster", "--c1", "0", "--c2", "0"],
        ["find", "http://a.example/", "--depth", "-1"],
        ["find", "http://:x/"],
    ],
)
def test_wrong_arguments_end_with_status_two(words: list[str]) -> None:
    with pytest.raises((CommandError, SystemExit)) as ended:
        call_command("deepweb", *words)
    error = ended.value
    assert (error.returncode if isinstance(error, CommandError) else error.code) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("words", [["harvest", "99"], ["harvest", "--cluster", "9"], ["cluster"]])
def test_what_cannot_be_done_ends_with_status_one(words: list[str]) -> None:
    with pytest.raises(CommandError) as ended:
        call_command("deepweb", *words)
    assert ended.value.returncode == 1
