"""Formats exports as text (CSV, JSON, JSON lines), and converts the values of cells for all export
formats. Files, also in formats with typed columns, are written by `file_writers`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

# first characters of a cell that spreadsheets take for the beginning of a formula, full-width forms
# included
_RISKY = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠", "｜")

AT_A_TIME = 200  # number of rows that are formatted and sent together
Rows = Iterator[Sequence[Any]]
Kinds = Mapping[str, str]
"""Types of columns by name: "time", "integer", "real" or "boolean"; a column that is not named
holds text."""


def safe_cell(value: Any) -> Any:
    """Returns a cell for CSV that a spreadsheet will not execute: text that begins like a formula
    gets a leading apostrophe. None becomes "", times become ISO 8601, booleans "true" or "false".
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_RISKY):
        return f"'{value}"
    return "" if value is None else value


def _json_default(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Text(NamedTuple):
    """A text format, in three parts. `head` returns the text before the rows, given the columns.
    `rows` formats some rows, given the columns, the rows, and whether rows were written before.
    `tail` is the text after the last row.
    """

    head: Callable[[Sequence[str]], str]
    rows: Callable[[Sequence[str], Sequence[Sequence[Any]], bool], str]
    tail: str


def _csv_lines(rows: Sequence[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(
        [safe_cell(cell) for cell in row] for row in rows
    )
    return buffer.getvalue()


def _documents(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    return [
        json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_json_default)
        for row in rows
    ]


def _json_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], more: bool) -> str:
    return (",\n" if more else "\n") + ",\n".join(_documents(columns, rows)) if rows else ""


TEXTS: Mapping[str, Text] = {
    "csv": Text(
        lambda columns: _csv_lines([columns]), lambda _columns, rows, _more: _csv_lines(rows), ""
    ),
    "json": Text(lambda _columns: "[", _json_rows, "\n]\n"),
    "jsonl": Text(
        lambda _columns: "",
        lambda columns, rows, _more: "".join(f"{one}\n" for one in _documents(columns, rows)),
        "",
    ),
}


def streamed(fmt: str, columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yields an export in pieces of text. Raises KeyError if `fmt` is not the name of a text
    format."""
    form = TEXTS[fmt]
    yield form.head(columns)
    more = False
    while batch := list(islice(rows, AT_A_TIME)):
        yield form.rows(columns, batch, more)
        more = True
    yield form.tail


def plain(value: Any) -> Any:
    """Returns a value as text for a text column: times as ISO 8601, booleans "true" or "false",
    lists and dicts as JSON. None remains None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        json.dumps(value, ensure_ascii=False, default=_json_default)
        if isinstance(value, dict | list | tuple)
        else str(value)
    )


TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "sqlite": "application/vnd.sqlite3",
    "warc": "application/warc",
}
