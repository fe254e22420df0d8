"""Exports in typed formats: other libraries read back the content of the tables."""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pyarrow import parquet

from crawlmgr.exports import exports, file_writers
from crawlmgr.exports import sheets as export_sheets
from tests.crawlmgr.admin.rows import NOW, world

COLUMNS = ("text", "number", "real", "flag", "at", "NUMBER", "list")
KINDS = {"number": "integer", "real": "real", "flag": "boolean", "at": "time"}
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")
AT = datetime(2026, 3, 1, 12, 30, 5, 250000, tzinfo=UTC)
ROWS: list[tuple[Any, ...]] = [
    ("=1+1", 7, 0.5, True, AT, "x", ["a", 1]),
    ("你好\n第二行 😀", 2**53 + 1, -1.25, False, None, "", None),
    (None, None, None, None, AT, "@b", {"k": None}),
    ("\x00\x0b_x0041_", 2**70, 1e300, True, AT, "y" * 40_000, []),
]


def _sheet(path: Path, number: int = 1) -> list[list[Any]]:
    """The cells of one of a workbook's sheets, parsed according to the format's standard."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as book:
        # our own file
        root = ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))  # noqa: S314
    rows = []
    for row in root.iter(f"{space}row"):
        cells: dict[str, Any] = {}
        for cell in row.iter(f"{space}c"):
            assert cell.find(f"{space}f") is None, "a formula"
            name = "".join(filter(str.isalpha, cell.get("r", "")))
            if cell.get("t") == "inlineStr":
                text = "".join(part.text or "" for part in cell.iter(f"{space}t"))
                cells[name] = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
            else:
                value = cell.findtext(f"{space}v", "")
                cells[name] = value == "1" if cell.get("t") == "b" else float(value)
        rows.append([cells.get(letter) for letter in "ABCDEFG"])
    return rows


def _rows() -> Iterator[Any]:
    return iter(ROWS)


def written(
    fmt: str,
    path: Path,
    table: str,
    columns: Sequence[str],
    kinds: dict[str, str],
    rows: Iterator[Any],
) -> None:
    folder = path.with_name(path.name + "-work")
    folder.mkdir()
    writer = file_writers.opened(fmt, folder, table, columns, kinds)
    writer.add(list(rows))
    writer.finish(path, lambda: None)


def test_sqlite_holds_every_value_with_its_type(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    written("sqlite", path, 'a "table"', COLUMNS, KINDS, _rows())
    base = sqlite3.connect(path)
    found = base.execute('SELECT * FROM "a ""table"""').fetchall()
    names = [row[1] for row in base.execute("""PRAGMA table_info('a "table"')""")]
    base.close()
    assert names == ["text", "number", "real", "flag", "at", "NUMBER_2", "list"]
    assert found[0] == ("=1+1", 7, 0.5, 1, AT.isoformat(), "x", '["a", 1]')
    assert found[1] == ("你好\n第二行 😀", 2**53 + 1, -1.25, 0, None, "", None)
    assert found[2] == (None, None, None, None, AT.isoformat(), "@b", '{"k": null}')
    assert found[3][0] == "\x00\x0b_x0041_" and found[3][1] is None and len(found[3][5]) == 40_000


def test_parquet_holds_every_value_with_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writers, "BATCH", 3)
    path = tmp_path / "out.parquet"
    written("parquet", path, "table", COLUMNS, KINDS, _rows())
    file = parquet.ParquetFile(path)
    assert file.metadata.num_row_groups == 2 and [
        str(kind) for kind in file.schema_arrow.types
    ] == [
        "large_string",
        "int64",
        "double",
        "bool",
        "timestamp[us, tz=UTC]",
        "large_string",
        "large_string",
    ]
    found = file.read().to_pylist()
    assert [row["text"] for row in found] == [row[0] for row in ROWS]
    assert [row["number"] for row in found] == [7, 2**53 + 1, None, None]
    assert [row["flag"] for row in found] == [True, False, None, True] and [
        row["at"] for row in found
    ] == [AT, None, AT, AT]
    assert [row["list"] for row in found] == ['["a", 1]', None, '{"k": null}', "[]"]


def test_xlsx_keeps_text_that_begins_with_a_sign_and_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    written("xlsx", path, "table", COLUMNS, KINDS, _rows())
    head, *found = _sheet(path)
    assert head == list(COLUMNS)
    assert found[0] == ["=1+1", 7, 0.5, True, AT.isoformat(), "x", '["a", 1]']
    assert found[1][:4] == ["你好\n第二行 😀", str(2**53 + 1), -1.25, False]
    assert found[2] == [None, None, None, None, AT.isoformat(), "@b", '{"k": null}']
    assert (
        found[3][1] == str(2**70)
        and len(found[3][5]) == export_sheets.CELL_CHARACTERS
        and found[3][5].endswith("…")
    )


def test_xlsx_keeps_every_character_and_takes_no_text_for_markup(tmp_path: Path) -> None:
    """Texts that XML forbids, that look like escapes of XLSX or like markup of XlsxWriter."""
    texts = ["\x00\x0b\r", "_x0041_x0042_", "\ufffe\uffff \ud83d", "<r>b</r>", "<r>\n</t>&amp;</r>"]
    texts += [
        '<r></is></c><c r="B1"><f>1+1</f></c></r>',
        "<r>b",
        " a\tb ",
        "https://a.example/",
        "1",
    ]
    path = tmp_path / "out.xlsx"
    written("xlsx", path, "it's [a] table", ("text",), {}, iter([(text,) for text in texts]))
    assert [row[0] for row in _sheet(path)[1:]] == texts


def test_an_xlsx_file_goes_on_from_its_last_safe_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each writer is abandoned after rows that it did not keep, and the last one while it finishes
    the file."""
    monkeypatch.setattr(export_sheets, "SHEET_ROWS", 5)
    target, state, sheets = tmp_path / "out.xlsx", dict[str, Any](), list[Any]()

    def opened() -> file_writers.Writer:
        return file_writers.opened("xlsx", tmp_path, "table", ("n",), {"n": "integer"}, state=state)

    def interrupt() -> None:
        raise KeyboardInterrupt

    for start in range(0, 12, 2):
        writer = opened()
        writer.add([(start,), (start + 1,)])
        state = writer.kept()
        writer.add([(-1,)] * 7)
        writer.close()
    writer = opened()
    with pytest.raises(KeyboardInterrupt):
        writer.finish(target, interrupt)
    writer.close()
    assert not target.exists()
    opened().finish(target, lambda: None)
    for number in (1, 2, 3):
        head, *rows = _sheet(target, number)
        assert head[0] == "n"
        sheets.append([row[0] for row in rows])
    assert sheets == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11]]


def test_a_sheet_that_is_full_goes_on_in_the_next_and_no_rows_give_a_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_sheets, "SHEET_ROWS", 4)
    for number, sheets in ((0, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        path = tmp_path / f"{number}.xlsx"
        written(
            "xlsx", path, "table", ("n",), {"n": "integer"}, iter([(n,) for n in range(number)])
        )
        with zipfile.ZipFile(path) as book:
            texts = [
                book.read(f"xl/worksheets/sheet{sheet + 1}.xml").decode() for sheet in range(sheets)
            ]
            assert f"xl/worksheets/sheet{sheets + 1}.xml" not in book.namelist()
        assert sum(text.count("<row ") - 1 for text in texts) == number


@pytest.mark.django_db
@pytest.mark.parametrize("fmt", file_writers.FILES)
def test_every_table_is_written_in_every_format_with_a_manifest_that_holds(
    fmt: str, tmp_path: Path
) -> None:
    world(3)
    for name, table in exports.tables().items():
        path = tmp_path / f"{name}.{fmt}"
        manifest = exports.write_file(name, path, fmt=fmt, chosen=exports.Filter(), now=NOW)
        assert set(table.column_types) <= set(table.header(exports.Filter())), name
        assert manifest["rows"] == len(list(table.under(manifest["columns"], exports.Filter())))
        assert json.loads(path.with_name(path.name + ".manifest.json").read_text()) == manifest
        assert manifest["bytes"] == path.stat().st_size
        if fmt == "parquet":
            read = parquet.read_table(path)
            assert read.num_rows == manifest["rows"] and read.column_names == manifest["columns"]
    assert sorted({path.suffix for path in tmp_path.iterdir()}) == sorted({f".{fmt}", ".json"})


@pytest.mark.django_db
def test_columns_are_chosen_and_ordered_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    world(3)
    shape = exports.Shape(("author", "thread_url"), bom=True)
    text = b"".join(exports.stream("posts", fmt="csv", shape=shape))
    assert text.startswith(b"\xef\xbb\xbfauthor,thread_url\r\n")
    assert b"".join(exports.stream("posts", fmt="jsonl", shape=shape)).startswith(b'{"author": ')
    with pytest.raises(
        exports.UnknownColumn, match="posts has no column 'colour'; it has thread_url, post_id"
    ):
        exports.stream("posts", fmt="csv", shape=exports.Shape(("author", "colour")))


@pytest.mark.parametrize("fmt", exports.FORMATS)
@pytest.mark.django_db
def test_a_file_that_cannot_be_finished_leaves_nothing(
    fmt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system refuses to write beyond a file size, as a full disk would."""
    rows = ((n, [(os.urandom(60).hex(), "", "", 0.5, n)]) for n in range(20_000))
    monkeypatch.setattr(exports.Table, "keyed", lambda *_: rows)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(OSError):
            exports.write_file(
                "links", tmp_path / f"out.{fmt}", fmt=fmt, chosen=exports.Filter(), now=NOW
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
