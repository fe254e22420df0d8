"""Forms of an export that are text (CSV, JSON, JSON lines), and what the cells of all forms hold.

`export_writers` writes these and the forms with typed columns into files.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

_RISKY = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠", "｜")  # full-width ones too

AT_A_TIME = 200  # rows of a piece of text
Rows = Iterator[Sequence[Any]]
Kinds = Mapping[str, str]
"""Column → "time", "integer", "real" or "boolean"; any other column holds text."""


def safe_cell(value: Any) -> Any:
    """A cell that a spreadsheet shows and does not run: text beginning like a formula gets a leading apostrophe."""
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
    """One form: what stands before the rows, the text of some rows (told whether any came before), what stands after them."""

    head: Callable[[Sequence[str]], str]
    rows: Callable[[Sequence[str], Sequence[Sequence[Any]], bool], str]
    tail: str


def _csv_lines(rows: Sequence[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows([safe_cell(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def _documents(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    return [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_json_default) for row in rows]


def _json_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], more: bool) -> str:
    return (",\n" if more else "\n") + ",\n".join(_documents(columns, rows)) if rows else ""


TEXTS: Mapping[str, Text] = {
    "csv": Text(lambda columns: _csv_lines([columns]), lambda _columns, rows, _more: _csv_lines(rows), ""),
    "json": Text(lambda _columns: "[", _json_rows, "\n]\n"),
    "jsonl": Text(lambda _columns: "", lambda columns, rows, _more: "".join(f"{one}\n" for one in _documents(columns, rows)), ""),
}


def streamed(fmt: str, columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """An export as pieces of text. Raises KeyError for a form that is no text."""
    form = TEXTS[fmt]
    yield form.head(columns)
    more = False
    while batch := list(islice(rows, AT_A_TIME)):
        yield form.rows(columns, batch, more)
        more = True
    yield form.tail


def plain(value: Any) -> Any:
    """Text for a column of text: None stays, structures become JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=_json_default) if isinstance(value, dict | list | tuple) else str(value)


TYPES = {
    "csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/jsonl; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "parquet": "application/vnd.apache.parquet",
    "sqlite": "application/vnd.sqlite3", "warc": "application/warc",
}
