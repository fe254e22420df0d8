"""Writes exports as XLSX: sheets of up to a million rows, in constant memory. Imported only when an
XLSX file is written, because XlsxWriter takes 0.2 s and 20 MB to load.

XlsxWriter writes a workbook in one go. Here the rows of every sheet are in a file of our own, which
is truncated to its last safe length and continued, so that an export of millions of rows survives
the end of the writing process."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from xlsxwriter import Workbook
from xlsxwriter.exceptions import XlsxFileError
from xlsxwriter.worksheet import Worksheet

from crawlmgr.exports.text_formats import Kinds, plain

SHEET_ROWS = 1_048_575  # maximum number of rows in a sheet, without its header
CELL_CHARACTERS = 32_767  # maximum number of characters in a cell, in UTF-16
_UNWRITABLE = re.compile(
    "[\0-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]|_(?=x[0-9A-Fa-f]{4}_)|\\A<(?=r>.*</r>\\Z)",
    re.DOTALL,
)


def _written(text: object) -> str:
    r"""Writes a character as _xHHHH_: characters that XML does not allow, the underscore at the
    beginning of text that looks like such an escape, and the first character of text that
    XlsxWriter would take for markup of its own.

    >>> _written("a<\x0b_x0041_"), _written("<r>b</r>")
    ('a<_x000B__x005F_x0041_', '_x003C_r>b</r>')
    """
    return _UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", str(text))


class _Sheet(Worksheet):
    """A sheet whose rows are kept in a given file. The names beginning with an underscore,
    `row_data_fh`, `fh` and `dim_rowmax` are internal to XlsxWriter: the tests of exports that are
    written in steps tell whether a new version of it still has them."""

    row_data_fh: Any
    _escape_control_characters = staticmethod(_written)

    def keep_in(self, path: Path, rows: int | None, length: int | None) -> None:
        """Keeps rows in this file: a new one, or, if `rows` is not None, one with the header and so
        many rows, which is first truncated to `length` bytes unless that is None."""
        if rows is not None:  # the header of the sheet is in the file
            self._write_single_row(rows + 1)
            self.dim_rowmax = rows
        self.row_data_fh.close()
        mode = "w+" if rows is None else "r+"
        self.row_data_fh = self.fh = path.open(mode, encoding="utf-8", newline="")
        if length is not None:
            self.row_data_fh.truncate(length)
        self.row_data_fh.seek(0, os.SEEK_END)

    def safe(self, rows: int) -> int:
        """Writes all rows so far, of which there are `rows`, to disk; returns the file's length."""
        self._write_single_row(rows + 1)
        self.row_data_fh.flush()
        os.fsync(self.row_data_fh.fileno())
        return os.fstat(self.row_data_fh.fileno()).st_size


class _Pulsing:
    """A file that calls the heartbeat function for each piece written to it."""

    def __init__(self, file: IO[bytes], pulse: Callable[[], None]) -> None:
        self.file, self.pulse = file, pulse

    def write(self, data: bytes) -> int:
        self.pulse()
        return self.file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class SheetWriter:
    """Writes an XLSX workbook (see `file_writers.Writer`). Text is always stored as text, so that
    no cell becomes a formula. Text too long for a cell is truncated and ends in "…". Whole numbers
    that a spreadsheet would round are stored as text."""

    def __init__(
        self, folder: Path, table: str, columns: Sequence[str], kinds: Kinds, state: dict[str, Any]
    ) -> None:
        self.folder, self.columns = folder, columns
        self.title = re.sub(r"[\[\]:*?/\\']", " ", table)[:25]
        self.numeric = [kinds.get(column) in ("integer", "real") for column in columns]
        self.temporary = folder / "temporary"  # files that XlsxWriter deletes itself if it can
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        options = {"constant_memory": True, "tmpdir": str(self.temporary), "use_zip64": True}
        self.book = Workbook(options=options)
        self.bold = self.book.add_format({"bold": True})
        sheets, self.rows = state.get("sheets", 1), state.get("rows", 0)
        for _full in range(sheets - 1):
            self._sheet(SHEET_ROWS)
        self.sheet = self._sheet(state.get("rows"), state.get("bytes"))

    def _sheet(self, rows: int | None = None, length: int | None = None) -> _Sheet:
        number = len(self.book.worksheets()) + 1
        title = self.title if number == 1 else f"{self.title} {number}"
        sheet: _Sheet = self.book.add_worksheet(title, worksheet_class=_Sheet)
        sheet.freeze_panes(1, 0)
        for place, column in enumerate(self.columns):
            sheet.write_string(0, place, column, self.bold)
        sheet.keep_in(self.folder / f"rows{number}", rows, length)
        return sheet

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            if self.rows == SHEET_ROWS:
                self.kept()
                self.sheet, self.rows = self._sheet(), 0
            self.rows += 1
            for place, value in enumerate(row):
                if value is not None:
                    self._cell(place, value)

    def _cell(self, place: int, value: Any) -> None:
        if isinstance(value, bool):
            self.sheet.write_boolean(self.rows, place, value)
        elif self.numeric[place] and (
            abs(value) < 2**53
            if isinstance(value, int)
            else isinstance(value, float) and math.isfinite(value)
        ):
            self.sheet.write_number(self.rows, place, value)
        else:
            self.sheet.write_string(self.rows, place, _fitting(str(plain(value))))

    def kept(self) -> dict[str, Any]:
        length = self.sheet.safe(self.rows)
        return {"sheets": len(self.book.worksheets()), "rows": self.rows, "bytes": length}

    def finish(self, target: Path, pulse: Callable[[], None]) -> None:
        self.kept()
        whole = self.folder / "whole"
        with whole.open("wb") as file:
            self.book.filename = into = _Pulsing(file, pulse)
            try:
                self.book.close()
            except XlsxFileError as error:
                raise OSError(str(error)) from error
            finally:
                # after an error, XlsxWriter's zip file writes its end when it is garbage
                spare = TemporaryFile(dir=self.folder)  # noqa: SIM115 - becomes garbage with it
                into.file, into.pulse = spare, lambda: None
            file.flush()
            os.fsync(file.fileno())
        os.replace(whole, target)

    def close(self) -> None:
        for sheet in self.book.worksheets():
            sheet.row_data_fh.close()
        shutil.rmtree(self.temporary, ignore_errors=True)


def _fitting(text: str) -> str:
    """Returns text that fits into a cell, truncated if necessary.

    >>> _fitting("😀" * 20_000) == "😀" * 16_383 + "…"
    True
    """
    if len(text) <= CELL_CHARACTERS // 2:
        return text
    coded = text.encode("utf-16-le", "surrogatepass")
    if len(coded) <= 2 * CELL_CHARACTERS:
        return text
    return coded[: 2 * (CELL_CHARACTERS - 1)].decode("utf-16-le", "ignore") + "…"
