"""Writers of export files, one class per format. A writer accepts rows in batches; after a kill, a
new writer resumes from the last saved state.

A writer works in a folder of its own. `kept` flushes everything written to disk and returns the
state that a new writer needs to resume; what was written after that is then discarded. `finish`
completes the file and moves it to its final path."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol

from crawlmgr.exports.text_formats import TEXTS, Kinds, plain
from crawlmgr.installation import missing, needed

BATCH = 5000  # number of rows in a row group of Parquet
LARGEST = 2**63 - 1  # largest integer in SQLite and Parquet
BOM = "\ufeff".encode()

State = dict[str, Any]
Pulse = Callable[[], None]


class Writer(Protocol):
    """Interface of the writers. Their constructors take the `state` that `kept` returned, {} for a
    new file."""

    def add(self, rows: Sequence[Sequence[Any]]) -> None: ...

    def kept(self) -> State: ...

    def finish(self, target: Path, pulse: Pulse) -> None: ...

    def close(self) -> None: ...


class TextWriter:
    """Writes CSV, JSON and JSON lines, by appending to one file."""

    def __init__(
        self, folder: Path, fmt: str, columns: Sequence[str], state: State, *, bom: bool = False
    ) -> None:
        self.path, self.form, self.columns = folder / "part", TEXTS[fmt], columns
        self.file = self.path.open("r+b" if state else "w+b")
        self.rows = state.get("rows", 0)
        if state:
            self.file.truncate(state["bytes"])
            self.file.seek(state["bytes"])
        else:
            self.file.write((BOM if bom else b"") + self.form.head(columns).encode())

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        self.file.write(self.form.rows(self.columns, rows, self.rows > 0).encode("utf-8"))
        self.rows += len(rows)

    def kept(self) -> State:
        return {"bytes": _safe(self.file), "rows": self.rows}

    def finish(self, target: Path, pulse: Pulse) -> None:
        self.file.write(self.form.tail.encode())
        _safe(self.file)
        self.file.close()
        os.replace(self.path, target)

    def close(self) -> None:
        self.file.close()


class SqliteWriter:
    """Writes an SQLite file with one table, named like the exported table. Times are ISO 8601 text,
    booleans 0 and 1."""

    def __init__(
        self, folder: Path, table: str, columns: Sequence[str], kinds: Kinds, state: State
    ) -> None:
        types = {"integer": "INTEGER", "boolean": "INTEGER", "real": "REAL"}
        self.path, self.rows = folder / "part", state.get("rows", 0)
        self.texts = [kinds.get(column) not in types for column in columns]
        said = [types.get(kinds.get(column, ""), "TEXT") for column in columns]
        fields = [
            f"{_quoted(name)} {kind}" for name, kind in zip(_distinct(columns), said, strict=True)
        ]
        # names are quoted
        values = ", ".join("?" * len(columns))
        self.insert = f"INSERT INTO {_quoted(table)} VALUES ({values})"  # noqa: S608
        if not state:
            self.path.unlink(missing_ok=True)
        with _as_os_error(sqlite3.Error):
            self.base = sqlite3.connect(self.path, isolation_level=None)
            if state:
                # names are quoted
                self.base.execute(
                    f"DELETE FROM {_quoted(table)} WHERE rowid > ?",  # noqa: S608
                    [self.rows],  # noqa: S608
                )
            else:
                self.base.execute(f"CREATE TABLE {_quoted(table)} ({', '.join(fields)})")

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        with _as_os_error(sqlite3.Error):
            if not self.base.in_transaction:
                self.base.execute("BEGIN")
            self.base.executemany(self.insert, map(self._cells, rows))
        self.rows += len(rows)

    def _cells(self, row: Sequence[Any]) -> list[Any]:
        return [
            plain(value) if text else None if value is None or abs(value) > LARGEST else value
            for text, value in zip(self.texts, row, strict=True)
        ]

    def kept(self) -> State:
        with _as_os_error(sqlite3.Error):
            if self.base.in_transaction:
                self.base.execute("COMMIT")
        return {"rows": self.rows}

    def finish(self, target: Path, pulse: Pulse) -> None:
        self.kept()
        self.base.close()
        os.replace(self.path, target)

    def close(self) -> None:
        self.base.close()


class ParquetWriter:
    """Writes Parquet with typed columns, compressed with zstd; times are UTC in microseconds.
    Because the footer of a Parquet file lists all row groups, an unfinished file could not be
    continued: each call of `kept` therefore completes a separate file, and `finish` copies the row
    groups of these files into one."""

    def __init__(self, folder: Path, columns: Sequence[str], kinds: Kinds, state: State) -> None:
        with needed("parquet"):
            # an extra, which may be missing, and 40 MB
            from pyarrow import parquet

            pa = _arrow()
        self.pa, self.parquet, self.folder, self.columns, self.column_types = (
            pa,
            parquet,
            folder,
            columns,
            kinds,
        )
        types = {
            "time": pa.timestamp("us", tz="UTC"),
            "integer": pa.int64(),
            "real": pa.float64(),
            "boolean": pa.bool_(),
        }
        self.types = {name: types.get(kinds.get(name, ""), pa.large_string()) for name in columns}
        self.schema = pa.schema([(name, self.types[name]) for name in columns])
        self.pieces, self.waiting = state.get("pieces", 0), list[Sequence[Any]]()
        self.writer: Any = None

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        self.waiting += rows
        while len(self.waiting) >= BATCH:
            self._group(self.waiting[:BATCH])
            del self.waiting[:BATCH]

    def _piece(self, number: int) -> Path:
        return self.folder / f"piece-{number:06d}"

    def _group(self, rows: Sequence[Sequence[Any]]) -> None:
        if self.writer is None:
            self.writer = self.parquet.ParquetWriter(
                self._piece(self.pieces), self.schema, compression="zstd"
            )
        cells = zip(*rows, strict=True)
        arrays = [
            self._column(name, values) for name, values in zip(self.columns, cells, strict=True)
        ]
        self.writer.write_batch(self.pa.record_batch(arrays, schema=self.schema))

    def _column(self, name: str, values: Sequence[Any]) -> Any:
        kind = self.column_types.get(name)
        if kind is None:
            return self.pa.array(map(plain, values), self.types[name])
        if kind == "integer":
            values = [
                None if value is not None and abs(value) > LARGEST else value for value in values
            ]
        found = [
            value.astimezone(UTC) if isinstance(value, datetime) else value for value in values
        ]
        return self.pa.array(found, self.types[name])

    def kept(self) -> State:
        if self.waiting:
            self._group(self.waiting)
            self.waiting = []
        if self.writer is not None:
            self.writer.close()
            self.writer = None
            with self._piece(self.pieces).open("rb") as file:
                os.fsync(file.fileno())
            self.pieces += 1
        return {"pieces": self.pieces}

    def finish(self, target: Path, pulse: Pulse) -> None:
        self.kept()
        whole = self.folder / "whole"
        if self.pieces == 1:
            os.replace(self._piece(0), whole)
        else:
            with self.parquet.ParquetWriter(whole, self.schema, compression="zstd") as writer:
                for number in range(self.pieces):
                    with self.parquet.ParquetFile(self._piece(number)) as piece:
                        for group in range(piece.num_row_groups):
                            writer.write_table(piece.read_row_group(group))
                            pulse()
        with whole.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(whole, target)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None


def _arrow() -> Any:
    """Imports and returns pyarrow, which takes 40 MB of memory and is needed for Parquet only. When
    pyarrow converts a list for the first time, it would import pandas too (another 50 MB); that
    import is blocked here. pyarrow tries again when data frames are requested."""
    # an extra, which may be missing
    import pyarrow as pa

    # this memory pool returns freed memory to the system; the default one keeps some 10 MB more
    pa.set_memory_pool(pa.system_memory_pool())
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(_NoPandas)
    return pa


class _NoPandas:
    """An import finder that pretends that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("not wanted here", name=name)


FILES = ("xlsx", "parquet", "sqlite")
"""The formats that are not text, so that they can only be written as files."""
FORMATS = (*TEXTS, *FILES)


def lacking(fmt: str) -> str:
    """Returns the extra of the package that must be installed before a format can be written; ""
    if it can be written already."""
    return "parquet" if fmt == "parquet" and missing("parquet") else ""


def opened(
    fmt: str,
    folder: Path,
    table: str,
    columns: Sequence[str],
    kinds: Kinds,
    *,
    bom: bool = False,
    state: Mapping[str, Any] | None = None,
) -> Writer:
    """Returns the writer of a format, which writes in the existing `folder`; with `state`, the
    result of `kept`, it continues a file. `column_types` are the types of columns. `bom`
    applies to CSV only. Raises KeyError for an unknown format.
    """
    before = dict(state or {})
    if fmt == "sqlite":
        return SqliteWriter(folder, table, columns, kinds, before)
    if fmt == "parquet":
        return ParquetWriter(folder, columns, kinds, before)
    if fmt == "xlsx":
        # XlsxWriter, under it, takes 0.2 s and 20 MB to load
        from crawlmgr.exports.sheets import SheetWriter

        return SheetWriter(folder, table, columns, kinds, before)
    return TextWriter(folder, fmt, columns, before, bom=bom and fmt == "csv")


def _safe(file: IO[bytes]) -> int:
    """Flushes a file to disk and returns its length in bytes."""
    file.flush()
    os.fsync(file.fileno())
    return file.tell()


@contextmanager
def _as_os_error(*kinds: type[Exception]) -> Iterator[None]:
    """Context manager that converts exceptions of the given kinds, which a library raises if it
    cannot write, to OSError."""
    try:
        yield
    except kinds as error:
        raise OSError(str(error)) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def _distinct(columns: Sequence[str]) -> list[str]:
    """Returns the column names, made distinct even if upper and lower case are not distinguished: a
    name that occurred before gets a number appended."""
    taken: set[str] = set()
    names = []
    for column in columns:
        name, number = column, 2
        while name.lower() in taken:
            name, number = f"{column}_{number}", number + 1
        taken.add(name.lower())
        names.append(name)
    return names
