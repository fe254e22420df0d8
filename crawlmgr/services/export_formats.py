"""Forms of an export: text that is streamed, and files with columns of a type (XLSX, Parquet, SQLite).

All of them take rows one after another and hold some thousand at most. Text formats give pieces; the others write a file.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

BATCH = 5000  # rows a transaction of SQLite, and a row group of Parquet, takes
SHEET_ROWS = 1_048_575  # of a spreadsheet's sheet, below its header
CELL_CHARACTERS = 32_767  # of a spreadsheet's cell
LARGEST = 2**63 - 1  # the largest whole number of a database or Parquet file
_RISKY = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠", "｜")  # full-width ones too

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


def _csv(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([safe_cell(name) for name in columns])  # some are what a web page calls them
    for row in rows:
        writer.writerow([safe_cell(cell) for cell in row])
        if buffer.tell() > 65536:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _jsonl(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    for row in rows:
        yield json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_json_default) + "\n"


def _json(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    yield "["
    for index, line in enumerate(_jsonl(columns, rows)):
        yield (",\n" if index else "\n") + line.rstrip("\n")
    yield "\n]\n"


def _batches(rows: Rows) -> Iterator[list[Sequence[Any]]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _plain(value: Any) -> Any:
    """Text for a column of text: None stays, structures become JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=_json_default) if isinstance(value, dict | list | tuple) else str(value)


@contextmanager
def _as_os_error(*kinds: type[Exception]) -> Iterator[None]:
    """A library's own error over a file that cannot be written as the OSError that callers expect."""
    try:
        yield
    except kinds as error:
        raise OSError(str(error)) from error


def _sqlite(path: Path, table: str, columns: Sequence[str], kinds: Kinds, rows: Rows) -> None:
    """One table named as the export; times are ISO 8601 text, truths 0 and 1."""
    types = {"integer": "INTEGER", "boolean": "INTEGER", "real": "REAL"}
    texts = [kinds.get(column) not in types for column in columns]
    said = [types.get(kinds.get(column, ""), "TEXT") for column in columns]
    fields = [f"{_quoted(name)} {kind}" for name, kind in zip(_distinct(columns), said, strict=True)]

    def cells(row: Sequence[Any]) -> list[Any]:
        return [
            _plain(value) if text else None if value is None or abs(value) > LARGEST else value
            for text, value in zip(texts, row, strict=True)
        ]

    with _as_os_error(sqlite3.Error), closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = OFF")  # the file takes its name when it is whole
        base.execute("PRAGMA synchronous = OFF")
        base.execute(f"CREATE TABLE {_quoted(table)} ({', '.join(fields)})")
        insert = f"INSERT INTO {_quoted(table)} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names are quoted
        for batch in _batches(rows):
            base.execute("BEGIN")
            base.executemany(insert, map(cells, batch))
            base.execute("COMMIT")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def _distinct(columns: Sequence[str]) -> list[str]:
    """Names that differ although capitals do not count."""
    taken: set[str] = set()
    names = []
    for column in columns:
        name, number = column, 2
        while name.lower() in taken:
            name, number = f"{column}_{number}", number + 1
        taken.add(name.lower())
        names.append(name)
    return names


def _parquet(path: Path, table: str, columns: Sequence[str], kinds: Kinds, rows: Rows) -> None:
    """Typed columns, compressed with zstd; times are UTC in microseconds."""
    import pyarrow as pa  # 40 MB that only this format needs
    from pyarrow import parquet

    types = {"time": pa.timestamp("us", tz="UTC"), "integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}
    schema = pa.schema([(name, types.get(kinds.get(name, ""), pa.large_string())) for name in columns])

    def column(name: str, values: Sequence[Any]) -> Any:
        kind = kinds.get(name)
        if kind is None:
            return pa.array(map(_plain, values), pa.large_string())
        if kind == "integer":
            values = [None if value is not None and abs(value) > LARGEST else value for value in values]
        return pa.array([value.astimezone(UTC) if isinstance(value, datetime) else value for value in values], types[kind])

    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in _batches(rows):
            cells = zip(*batch, strict=True)
            writer.write_batch(pa.record_batch([column(*one) for one in zip(columns, cells, strict=True)], schema=schema))


def _xlsx(path: Path, table: str, columns: Sequence[str], kinds: Kinds, rows: Rows) -> None:
    """Sheets of a million rows each. Text is written as text, so no cell is a formula; what a cell cannot hold ends in "…"."""
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxFileError

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with (
        TemporaryDirectory(prefix=".sheets-", dir=path.parent) as folder,
        _as_os_error(XlsxFileError),
        xlsxwriter.Workbook(str(path), options | {"tmpdir": folder}) as book,
    ):
        head = book.add_format({"bold": True})
        for number in range(1, 1000):
            if (first := next(rows, None)) is None and number > 1:
                return
            sheet = book.add_worksheet(table[:25] if number == 1 else f"{table[:25]} {number}")
            sheet.freeze_panes(1, 0)
            for place, name in enumerate(columns):
                sheet.write_string(0, place, name[:CELL_CHARACTERS], head)
            if first is None:
                return
            for line, row in enumerate(chain([first], islice(rows, SHEET_ROWS - 1)), 1):
                for place, value in enumerate(row):
                    _write(sheet, line, place, kinds.get(columns[place]), value)


def _write(sheet: Any, line: int, place: int, kind: str | None, value: Any) -> None:
    """One cell; whole numbers that a spreadsheet would round are text."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(line, place, value)
    elif kind in ("integer", "real") and isinstance(value, int | float) and abs(value) < 2**53:
        sheet.write_number(line, place, value)
    else:
        text = str(_plain(value))
        sheet.write_string(line, place, text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…")


STREAMED: Mapping[str, Callable[[Sequence[str], Rows], Iterator[str]]] = {"csv": _csv, "json": _json, "jsonl": _jsonl}
WRITTEN: Mapping[str, Callable[[Path, str, Sequence[str], Kinds, Rows], None]] = {
    "xlsx": _xlsx, "parquet": _parquet, "sqlite": _sqlite,
}
TYPES = {
    "csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/jsonl; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "parquet": "application/vnd.apache.parquet",
    "sqlite": "application/vnd.sqlite3",
}
