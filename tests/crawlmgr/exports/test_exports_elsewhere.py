"""Exports opened by other programs (LibreOffice, pandas): the content equals that of the database,
row by row."""

from __future__ import annotations

import csv
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from crawlmgr import jobs
from crawlmgr.exports import saved_exports
from crawlmgr.exports.text_formats import safe_cell
from crawlmgr.models import Every, Export, Run, RunState
from forums.models import Board, Post, Thread
from tests.crawlmgr.admin.rows import NOW, site

SOFFICE = shutil.which("soffice") or shutil.which("libreoffice")
COLUMNS = ["author", "text", "page", "posted"]
TEXTS = [
    "plain words",
    "你好，世界。第二句。",
    "😀👩‍👩‍👧 and 🇨🇳 in one line",
    "first line\nsecond line\n\nfourth after an empty one",
    "=1+1",
    '=HYPERLINK("http://x.example/";"click")',
    "+49 30 1234",
    "-5 degrees",
    "@someone: hello",
    "|pipe",
    "＝full-width sign",
    "'quoted already",
    'he said "no", and; left',
    "comma, semicolon; tab\tend",
    "  spaces around  ",
    "00123",
    "1e5",
    "2026-03-01",
    "TRUE",
    "50%",
    "１２３",
    "𠮷野家 ‘外’ 字",
    "ends with a newline\n",
    "العربية עברית",
    "x" * 5000,
]
TIMES = [datetime(2026, 3, 1, 12, 30, 5, 250000, tzinfo=UTC), None]


@pytest.fixture
def posts(settings: Any, tmp_path: Path) -> list[tuple[Any, ...]]:
    """A forum whose posts contain every kind of text; returns the rows that an export of COLUMNS
    should contain."""
    settings.EXPORT_DIR = tmp_path / "exports"
    forum = site(1)
    board = Board.objects.create(site=forum, name="b", key="b", url="http://x.example/b")
    thread = Thread.objects.create(
        site=forum, board=board, key="t", url="http://x.example/t", title="t", first_seen=NOW
    )
    Post.objects.bulk_create(
        Post(
            thread=thread,
            key=f"p{place}",
            author=f"作者 {place}" if place % 2 else f"=author {place}",
            text=text,
            page=place,
            posted=TIMES[place % 2],
            first_seen=NOW,
        )
        for place, text in enumerate(TEXTS)
    )
    return list(Post.objects.order_by("pk").values_list(*COLUMNS))


def written(fmt: str) -> Path:
    """The file of a saved export that was started by its schedule."""
    export = saved_exports.add(
        Export(
            name="nightly",
            table="posts",
            format=fmt,
            columns=COLUMNS,
            every_hours=Every.DAY,
            created=NOW,
            bom=False,
        )
    )
    assert saved_exports.start_due(NOW) == 1
    assert jobs.run_slice(Run.objects.get(kind=saved_exports.KIND).pk) == RunState.FINISHED
    return saved_exports.path_of(export.files.get())


def through_libreoffice(path: Path, folder: Path) -> list[list[str]]:
    """Opens the file in LibreOffice without a window, saves it as CSV (all cells quoted, as stored)
    and parses that."""
    assert SOFFICE is not None
    as_texts = "/".join(
        f"{place + 1}/2" for place in range(len(COLUMNS))
    )  # imports every column as text, so that no numbers are guessed
    source = f"--infilter=CSV:44,34,76,1,{as_texts},0,false,true" if path.suffix == ".csv" else None
    target = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,false,false,false,false,-1"
    words = [
        SOFFICE,
        f"-env:UserInstallation=file://{folder / 'profile'}",
        "--headless",
        "--norestore",
    ]
    words += [source] if source else []
    words += ["--convert-to", target, "--outdir", str(folder / "out"), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=240)
    made = sorted((folder / "out").glob("*.csv"))
    assert done.returncode == 0 and len(made) == 1, done.stderr
    with made[0].open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def as_text(cell: Any) -> str:
    return "" if cell is None else cell.isoformat() if isinstance(cell, datetime) else str(cell)


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (soffice) is not installed")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fmt", ["xlsx", "csv"])
def test_libreoffice_gives_back_what_the_database_holds(
    fmt: str, posts: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    head, *found = through_libreoffice(written(fmt), tmp_path)
    kept = safe_cell if fmt == "csv" else lambda cell: cell
    assert head == COLUMNS
    assert found == [[as_text(kept(cell)) for cell in row] for row in posts]


@pytest.fixture
def frame(posts: list[tuple[Any, ...]]) -> Iterator[pd.DataFrame]:
    yield pd.DataFrame(posts, columns=COLUMNS)


@pytest.mark.django_db(transaction=True)
def test_pandas_reads_parquet_with_its_types(frame: pd.DataFrame) -> None:
    found = pd.read_parquet(written("parquet"))
    assert (
        list(found) == COLUMNS
        and str(found["page"].dtype) == "int64"
        and str(found["posted"].dtype) == "datetime64[us, UTC]"
    )
    assert (
        found["author"].tolist() == frame["author"].tolist()
        and found["text"].tolist() == frame["text"].tolist()
    )
    assert found["page"].tolist() == frame["page"].tolist()
    assert [None if pd.isna(at) else at.to_pydatetime() for at in found["posted"]] == [
        TIMES[place % 2] for place in range(len(TEXTS))
    ]


@pytest.mark.django_db(transaction=True)
def test_pandas_reads_sqlite_row_by_row(frame: pd.DataFrame) -> None:
    base = sqlite3.connect(written("sqlite"))
    found = pd.read_sql_query('SELECT * FROM "posts" ORDER BY rowid', base)
    base.close()
    assert list(found) == COLUMNS and found["text"].tolist() == frame["text"].tolist()
    assert found["page"].tolist() == frame["page"].tolist()
    times = pd.to_datetime(found["posted"], utc=True, format="ISO8601")
    assert [None if pd.isna(at) else at.to_pydatetime() for at in times] == [
        TIMES[place % 2] for place in range(len(TEXTS))
    ]
