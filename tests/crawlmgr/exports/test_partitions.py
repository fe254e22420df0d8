"""Exports partitioned by day and site: every row is in its directory once, nothing is incomplete,
and two programs can read them."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pandas
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pyarrow import dataset

from crawlmgr.exports import exports
from crawlmgr.models import Host, Page, Run

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 3, 0, 30, tzinfo=UTC)


def _pages(count: int) -> None:
    run = Run.objects.create(kind="forum", label="x", created=NOW)
    host = Host.objects.create(key="a.example")
    for number in range(count):
        at = (NOW - timedelta(hours=number)).astimezone(timezone(timedelta(hours=8)))
        url = f"http://{'ab'[number % 2]}.example:8080/{number}"
        Page.objects.create(
            run=run,
            host=host,
            key_hash=number,
            url=url,
            url_hash=number,
            fetched_at=at,
            title=f"页 {number}",
        )


def test_rows_lie_by_day_and_site_and_are_counted(tmp_path: Path) -> None:
    _pages(60)
    manifest = exports.write("pages", tmp_path / "lake", chosen=exports.EVERYTHING, now=NOW)
    assert manifest == json.loads((tmp_path / "lake" / "_manifest.json").read_text())
    assert manifest["rows"] == 60 and len(manifest["files"]) == 1 + 3 * 2
    for file in manifest["files"]:
        data = (tmp_path / "lake" / file["path"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["bytes"], file["sha256"])
    assert sum(file["rows"] for file in manifest["files"] if file["day"] == "2026-05-03") == 1
    found = pandas.read_parquet(
        tmp_path / "lake", filters=[("day", "==", "2026-05-02"), ("site", "==", "a.example:8080")]
    )
    wanted = {
        page.url
        for page in Page.objects.all()
        if f"{page.fetched_at.astimezone(UTC):%d}" == "02" and "//a." in page.url
    }
    assert len(wanted) == 12 and set(found["url"]) == wanted
    every = dataset.dataset(tmp_path / "lake", partitioning="hive").to_table()
    assert sorted(every["url"].to_pylist()) == sorted(Page.objects.values_list("url", flat=True))


def test_memory_is_bounded_by_writing_the_fullest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pages(60)
    monkeypatch.setattr(exports, "MAX_ROWS", 10)
    monkeypatch.setattr("crawlmgr.exports.text_formats.AT_A_TIME", 7)
    manifest = exports.write("pages", tmp_path / "lake", chosen=exports.EVERYTHING, now=NOW)
    assert manifest["rows"] == 60 and len(manifest["files"]) > 8
    assert len({file["path"] for file in manifest["files"]}) == len(manifest["files"])
    assert len(pandas.read_parquet(tmp_path / "lake")) == 60


def test_what_has_no_day_is_kept_under_the_name_that_readers_take_for_none(tmp_path: Path) -> None:
    manifest = exports.write("links", tmp_path / "none", chosen=exports.EVERYTHING, now=NOW)
    assert manifest["rows"] == 0 and manifest["files"] == []
    key = exports._PartitionedFolder(tmp_path, exports.tables()["posts"], exports.EVERYTHING)._key(
        [None] * 20
    )
    assert key == ("", "")


def test_nothing_half_is_left_and_nothing_overwritten(tmp_path: Path) -> None:
    _pages(4)

    def broken(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exports.write(
            "pages", tmp_path / "lake", chosen=exports.EVERYTHING, now=NOW, progress=broken
        )
    assert list(tmp_path.iterdir()) == []
    call_command(
        "export", "pages", "--format", "parquet", "--partition", "--out", str(tmp_path / "lake")
    )
    for words, told in (
        (
            ("pages", "--format", "parquet", "--partition", "--out", str(tmp_path / "lake")),
            "exists already",
        ),
        (
            ("runs", "--format", "parquet", "--partition", "--out", str(tmp_path / "new")),
            "runs has no site; those that have one are links",
        ),
        (("pages", "--partition", "--out", str(tmp_path / "new")), "--format parquet"),
    ):
        with pytest.raises(CommandError, match=told):
            call_command("export", *words)


def test_every_table_with_a_site_has_its_columns() -> None:
    divided = {name: table for name, table in exports.tables().items() if table.site}
    assert {"pages", "links", "posts", "threads", "visits", "records"} <= set(divided)
    for table in divided.values():
        header = table.header(exports.EVERYTHING)
        assert table.site in header and (
            not table.day or (table.day in header and table.column_types[table.day] == "time")
        )
