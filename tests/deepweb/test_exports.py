"""Records are exported while a harvest is running, with column names taken from pages."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from crawlmgr.exports import exports, text_formats
from deepweb.models import Record, Source
from tests.deepweb.test_admin import NOW, filled

pytestmark = pytest.mark.django_db


def add(source: Source, number: int, **fields: str) -> None:
    form = source.forms.get()
    Record.objects.create(
        source=source,
        form=form,
        key_hash=number,
        url=f"http://b.example/{number}",
        fields=fields,
        first_seen=NOW,
    )


def test_a_column_named_like_a_formula_is_text_to_a_spreadsheet() -> None:
    source = filled(rows=1).form.source
    add(source, 77, **{"=cmd|' /C calc'!A0": "x", "form": "own"})
    [header, *rows] = csv.reader(
        io.StringIO(b"".join(exports.stream("records", fmt="csv")).decode())
    )
    assert not any(name.startswith(("=", "+", "-", "@")) for name in header)
    assert dict(zip(header, rows[-1], strict=True))["field_form"] == "own"


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "|", "＝", "＋", "－", "＠", "｜", "\t", "\r", "\n"]
)
def test_a_cell_that_a_spreadsheet_might_run_is_text(sign: str) -> None:
    assert (
        text_formats.safe_cell(f"{sign}1+1") == f"'{sign}1+1"
        and text_formats.safe_cell(f"1{sign}1") == f"1{sign}1"
    )


@pytest.mark.parametrize("fmt", ["csv", "jsonl"])
def test_a_field_found_while_the_export_is_written_waits_for_the_next(
    fmt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = filled(rows=2).form.source
    table = exports.tables()["records"]
    found, calls = table.found, []

    def during(chosen: exports.Filter) -> object:
        columns = found(chosen) if found is not None else ()
        calls.append(columns)
        add(source, 100 + len(calls), Later="a new field")
        return columns

    monkeypatch.setattr("deepweb.exports.TABLES", {"records": replace(table, found=during)})
    path = tmp_path / "records"
    manifest = exports.write_file("records", path, fmt=fmt, chosen=exports.Filter(), now=NOW)
    text = path.read_text(encoding="utf-8")
    rows = (
        list(csv.DictReader(io.StringIO(text)))
        if fmt == "csv"
        else [json.loads(line) for line in text.splitlines()]
    )
    assert len(calls) == 1 and "Later" not in manifest["columns"]
    assert all(list(row) == manifest["columns"] for row in rows) and {
        row["_form"] for row in rows
    } == {rows[0]["_form"]}
