"""Writes exports as XLSX: sheets of up to a million rows, appended row by row as XML and zipped at
the end.

Libraries for this format keep the whole workbook in memory. Here every sheet is a text file that
can be truncated to its last safe length and continued, so that an export of millions of rows
survives the end of the writing process. Source of the format: ECMA-376, part 1, SpreadsheetML
(chapter 18)."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from crawlmgr.services.export_formats import Kinds, plain

SHEET_ROWS = 1_048_575  # maximum number of rows in a sheet, without its header
CELL_CHARACTERS = 32_767  # maximum number of characters in a cell
PIECE_BYTES = 1_000_000
LEVEL = 3  # compression level: takes half the time of the usual level 6, for files a tenth larger
_UNWRITABLE = re.compile("[\0-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]|_(?=x[0-9A-Fa-f]{4}_)")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_FORM = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_BEGIN = (
    f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1"'
    ' topLeftCell="A2" activePane="bottomLeft"'
    ' state="frozen"/></sheetView></sheetViews><sheetData>'
)
_END = b"</sheetData></worksheet>"
_STYLES = (
    f'{_XML}<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name'
    ' val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills'
    ' count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill'
    ' patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs'
    ' count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf fontId="1" xfId="0"'
    ' applyFont="1"/></cellXfs></styleSheet>'
)


class SheetWriter:
    """Writes an XLSX workbook (see `export_writers.Writer`). Text is always stored as text, so that
    no cell becomes a formula. Text too long for a cell is truncated and ends in "…". Whole numbers
    that a spreadsheet would round are stored as text."""

    def __init__(
        self, folder: Path, table: str, columns: Sequence[str], kinds: Kinds, state: dict[str, Any]
    ) -> None:
        self.folder, self.table = folder, table
        self.letters = [_letters(place) for place in range(len(columns))]
        self.numeric = [kinds.get(column) in ("integer", "real") for column in columns]
        self.head = self._row(1, columns, style=' s="1"')
        self.sheets, self.rows = state.get("sheets", 1), state.get("rows", 0)
        self.file = self._sheet(self.sheets).open("r+b" if state else "w+b")
        if state:
            self.file.truncate(state["bytes"])
            self.file.seek(state["bytes"])
        else:
            self.file.write((_BEGIN + self.head).encode())

    def _sheet(self, number: int) -> Path:
        return self.folder / f"sheet{number}.xml"

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        for start in range(0, len(rows), 500):
            self._some(rows[start : start + 500])

    def _some(self, rows: Sequence[Sequence[Any]]) -> None:
        room = SHEET_ROWS - self.rows
        self._write(rows[:room])
        if rows[room:]:
            self._safe()
            self.file.close()
            self.sheets, self.rows = self.sheets + 1, 0
            self.file = self._sheet(self.sheets).open("w+b")
            self.file.write((_BEGIN + self.head).encode())
            self._some(rows[room:])

    def _write(self, rows: Sequence[Sequence[Any]]) -> None:
        first = self.rows + 2
        self.file.write(
            "".join(self._row(number, row) for number, row in enumerate(rows, first)).encode()
        )
        self.rows += len(rows)

    def _row(self, number: int, row: Sequence[Any], style: str = "") -> str:
        cells = [
            _cell(f"{letters}{number}", value, numeric, style)
            for letters, value, numeric in zip(self.letters, row, self.numeric, strict=True)
            if value is not None
        ]
        return f'<row r="{number}">{"".join(cells)}</row>'

    def _safe(self) -> int:
        self.file.flush()
        os.fsync(self.file.fileno())
        return self.file.tell()

    def kept(self) -> dict[str, Any]:
        return {"sheets": self.sheets, "rows": self.rows, "bytes": self._safe()}

    def finish(self, target: Path, pulse: Callable[[], None]) -> None:
        self.kept()
        whole = self.folder / "whole"
        with whole.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as book:
                for name, text in _frame(self.table, self.sheets):
                    book.writestr(name, text)
                for number in range(1, self.sheets + 1):
                    self._zip(book, number, pulse)
            file.flush()
            os.fsync(file.fileno())
        self.file.close()
        os.replace(whole, target)

    def _zip(self, book: zipfile.ZipFile, number: int, pulse: Callable[[], None]) -> None:
        path = self._sheet(number)
        member = zipfile.ZipInfo(f"xl/worksheets/sheet{number}.xml")
        member.compress_type, member.file_size = (
            zipfile.ZIP_DEFLATED,
            path.stat().st_size + len(_END),
        )
        with path.open("rb") as source, book.open(member, "w") as into:
            while piece := source.read(PIECE_BYTES):
                into.write(piece)
                pulse()
            into.write(_END)

    def close(self) -> None:
        self.file.close()


def _cell(name: str, value: Any, numeric: bool, style: str) -> str:
    if isinstance(value, bool):
        return f'<c r="{name}" t="b"><v>{value:d}</v></c>'
    if numeric and (
        abs(value) < 2**53
        if isinstance(value, int)
        else isinstance(value, float) and math.isfinite(value)
    ):
        return f'<c r="{name}"><v>{value!r}</v></c>'
    text = str(plain(value))
    if len(text) > CELL_CHARACTERS:
        text = text[: CELL_CHARACTERS - 1] + "…"
    return (
        f'<c r="{name}"{style} t="inlineStr"><is><t'
        f' xml:space="preserve">{_written(text)}</t></is></c>'
    )


def _written(text: str) -> str:
    r"""Escapes text for XLSX by writing a character as _xHHHH_: characters that XML does not allow,
    and the underscore at the beginning of text that looks like such an escape.

    >>> _written("a<\x0b_x0041_")
    'a&lt;_x000B__x005F_x0041_'
    """
    return escape(_UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", text))


def _letters(place: int) -> str:
    """Returns the letters of a spreadsheet column, given its index from 0.

    >>> _letters(0), _letters(25), _letters(26), _letters(701), _letters(702)
    ('A', 'Z', 'AA', 'ZZ', 'AAA')
    """
    text = ""
    place += 1
    while place:
        place, digit = divmod(place - 1, 26)
        text = chr(65 + digit) + text
    return text


def _frame(table: str, sheets: int) -> list[tuple[str, str]]:
    """Returns the (name, content) pairs of all files in the workbook's zip archive other than its
    sheets."""
    title = re.sub(r"[\[\]:*?/\\']", " ", table)[:25]
    numbers = range(1, sheets + 1)
    types, kind = (
        f"{_PACKAGE}/content-types",
        "application/vnd.openxmlformats-package.relationships+xml",
    )
    names = [title if number == 1 else f"{title} {number}" for number in numbers]
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_FORM}.worksheet+xml"/>'
        for n in numbers
    )
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(names, 1)
    )
    sheet = f'Type="{_RELATIONS}/worksheet" Target="worksheets/sheet'
    related = "".join(f'<Relationship Id="rId{n}" {sheet}{n}.xml"/>' for n in numbers)
    return [
        (
            "[Content_Types].xml",
            (
                f'{_XML}<Types xmlns="{types}"><Default Extension="rels"'
                f' ContentType="{kind}"/><Default Extension="xml"'
                ' ContentType="application/xml"/><Override PartName="/xl/workbook.xml"'
                f' ContentType="{_FORM}.sheet.main+xml"/><Override PartName="/xl/styles.xml"'
                f' ContentType="{_FORM}.styles+xml"/>{parts}</Types>'
            ),
        ),
        (
            "_rels/.rels",
            (
                f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
                f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
            ),
        ),
        (
            "xl/workbook.xml",
            (
                f'{_XML}<workbook xmlns="{_MAIN}"'
                f' xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>'
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            (
                f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{related}<Relationship'
                f' Id="rId{sheets + 1}" Type="{_RELATIONS}/styles"'
                ' Target="styles.xml"/></Relationships>'
            ),
        ),
        ("xl/styles.xml", _STYLES),
    ]
