"""Closed WARC files in an object store: moved completely or not at all, and read from there,
through a connection that fails."""

from __future__ import annotations

import gzip
import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django_q.models import OrmQ

from crawlmgr import tasks
from crawlmgr.archive import archive, object_store, offload, warc_files
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Host, Page, Run, WarcFile
from crawlmgr.upkeep import backup_file, pruning
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.warc import iter_records
from crawlmgr.workers import queue
from tests.object_store import BUCKET, KEYS, Road, store

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
BODY = random.Random(3).randbytes(60_000)  # incompressible: a request larger than one packet


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with store() as url:
        yield url


@pytest.fixture
def road(
    server: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Road]:
    """An installation with an object store, and the connection to it."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(object_store, "TRIES", 2)
    monkeypatch.setattr(object_store, "READ_SECONDS", 0.5)
    way = Road(server)
    settings.DATA_DIR, settings.ARCHIVE_DIR = tmp_path / "data", tmp_path / "data" / "archive"
    settings.ARCHIVE_DIR.mkdir(parents=True)
    (settings.DATA_DIR / "secret.key").write_text("s" * 60)
    settings.ARCHIVE_STORE, settings.ARCHIVE_S3_ENDPOINT = f"s3://{BUCKET}/{tmp_path.name}", way.url
    hosts.forget()
    yield way
    way.close()
    hosts.forget()


def _written(count: int = 4, body: bytes = BODY) -> WarcFile:
    """A closed file with this number of pages."""
    run = Run.objects.create(kind="forum", label="a forum", created=NOW)
    host = Host.objects.get_or_create(key="a.example")[0]
    book = archive.Archive(run.pk, NOW)
    for number in range(count):
        url = f"http://a.example/{number}"
        answer = FetchResponse(
            request_url=url,
            url=url,
            status=200,
            reason="OK",
            headers=(("content-type", "application/octet-stream"),),
            body=b"%d " % number + body,
            raw_body=b"%d " % number + body,
            content_type="application/octet-stream",
            fetched_at=NOW,
            received_bytes=len(body),
        )
        written = book.write(answer, NOW)
        assert written is not None
        file, place = written
        Page.objects.create(
            run=run,
            host=host,
            key_hash=number,
            url=url,
            url_hash=number,
            status=200,
            fetched_at=NOW,
            warc=file,
            warc_offset=place.offset,
            warc_length=place.length,
            content_type="text/html",
        )
    book.close(NOW)
    return WarcFile.objects.get(pk=file.pk)


def _bodies() -> list[bytes]:
    records = [
        archive.read_page(page) for page in Page.objects.select_related("warc").order_by("pk")
    ]
    return [record.payload[:9] if record is not None else b"" for record in records]


def test_a_moved_file_reads_as_before(road: Road, tmp_path: Path) -> None:
    file = _written()
    path, before = warc_files.path_of(file), _bodies()
    raw = path.read_bytes()
    assert offload.waiting() and offload.move(NOW) == offload.Moved(1, len(raw), 0, "")
    file.refresh_from_db()
    assert (
        file.object_url.endswith(f"/{file.name}")
        and file.bytes == len(raw)
        and not path.exists()
        and not offload.waiting()
    )
    assert _bodies() == before and len(set(before)) == 4
    assert archive.check() == {
        "ok": True,
        "files": [
            {"file": file.name, "records": file.records, "pages": 4, "problem": "", "skipped": []}
        ],
    }
    assert archive.check(quick=True)["ok"]
    source = warc_files.open_file(file)
    assert source is not None
    with source:
        assert source.read() == raw
    written = archive.export_run(file.run_id or 0, tmp_path / "out.warc.gz", NOW)
    assert (written["records"], written["missing"]) == (4, 0)
    assert [
        record.payload[:2]
        for record in iter_records(tmp_path / "out.warc.gz")
        if record.type == "response"
    ] == [b"0 ", b"1 ", b"2 ", b"3 "]
    copy = warc_files.local(file, tmp_path)
    assert copy is not None and copy.read_bytes() == raw
    Page.objects.update(warc_length=None)
    assert _bodies() == before, "where the index does not tell the length"


def test_who_read_the_row_before_the_move_finds_the_file(road: Road) -> None:
    file = _written()
    page = Page.objects.select_related("warc").first()
    assert page is not None and offload.move(NOW).moved == 1
    record = archive.read_page(page)
    assert record is not None and record.payload[:2] == b"0 "
    assert warc_files.size(file) == WarcFile.objects.get().bytes
    WarcFile.objects.update(object_url="")  # as seen by a transaction that began before the move
    file.object_url = ""
    assert warc_files.size(file) == WarcFile.objects.get().bytes


@pytest.mark.parametrize("fault", ["refuses", "silent", "cuts request", "cuts answer"])
def test_a_store_that_fails_loses_nothing(road: Road, fault: str) -> None:
    file = _written()
    path, before = warc_files.path_of(file), _bodies()
    road.fault, road.most = fault, 20_000 if fault == "cuts request" else 30
    done = offload.move(NOW)
    assert road.met and done.moved == 0 and done.error
    assert path.exists() and WarcFile.objects.get().object_url == "" and _bodies() == before
    assert Event.objects.get().code == "store_away"
    offload.move(NOW)
    assert Event.objects.count() == 1, "told once in a while"
    road.fault = ""
    if fault == "cuts request":
        assert object_store.size(object_store.address_for(file.name)) is None, "no half an object"
    assert offload.move(NOW).moved == 1
    assert _bodies() == before and archive.check()["ok"] and not path.exists()


def test_a_file_of_many_parts_is_there_when_its_last_part_is(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _written(count=6, body=random.Random(4).randbytes(1_000_000))
    monkeypatch.setattr(object_store, "PART_BYTES", 5_300_000)  # S3 accepts no parts below 5 MiB
    object_store._transfer.cache_clear()
    try:
        road.fault, road.most = "cuts request", 4_000_000
        assert offload.move(NOW).error
        road.fault = ""
        assert (
            object_store.size(object_store.address_for(file.name)) is None
            and warc_files.path_of(file).exists()
        )
        assert offload.move(NOW).moved == 1 and archive.check()["ok"]
    finally:
        object_store._transfer.cache_clear()


def test_reading_while_the_store_is_away_is_told_and_gives_no_empty_page(
    road: Road, admin_client: Client
) -> None:
    _written()
    offload.move(NOW)
    page = Page.objects.select_related("warc").first()
    assert page is not None
    road.fault, road.most = "cuts answer", 3000
    with pytest.raises(warc_files.Unreachable):
        archive.read_page(page)
    road.fault = "refuses"
    with pytest.raises(warc_files.Unreachable):
        archive.check()
    admin_client.raise_request_exception = False
    answer = admin_client.get(f"/admin/archive/pages/{page.pk}/")
    assert answer.status_code == 503 and "file store does not respond" in answer.content.decode()
    road.fault = ""
    assert admin_client.get(f"/admin/archive/pages/{page.pk}/").status_code == 200


def test_a_move_that_was_killed_is_repeated(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _written()
    path, before, put, unlink = (
        warc_files.path_of(file),
        _bodies(),
        object_store.put,
        Path.unlink,
    )

    def killed_after(address: str, source: Path) -> None:
        put(address, source)
        raise SystemExit

    monkeypatch.setattr(object_store, "put", killed_after)
    with pytest.raises(SystemExit):
        offload.move(NOW)
    assert path.exists() and WarcFile.objects.get().object_url == ""
    monkeypatch.setattr(object_store, "put", put)

    def killed(self: Path, missing_ok: bool = False) -> None:
        raise SystemExit

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(SystemExit):
        offload.move(NOW)
    monkeypatch.setattr(Path, "unlink", unlink)
    assert path.exists() and WarcFile.objects.get().object_url and offload.waiting()
    assert offload.move(NOW).moved == 0 and not path.exists() and not offload.waiting()
    assert _bodies() == before and archive.check()["ok"]


def test_what_does_not_match_its_index_or_is_being_written_stays(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged, open_ = _written(), archive.Archive(None, NOW)
    path = warc_files.path_of(damaged)
    path.write_bytes(path.read_bytes()[:70_000])
    url = "http://a.example/open"
    open_.write(
        FetchResponse(
            request_url=url, url=url, status=200, body=b"x", raw_body=b"x", fetched_at=NOW
        ),
        NOW,
    )
    monkeypatch.setattr(archive, "LEFT_AFTER_SECONDS", -1.0)
    assert offload.move(NOW) == offload.Moved(0, 0, 1, "")
    told = Event.objects.get()
    assert told.code == "file_damaged" and damaged.name in told.text and path.exists()
    assert not offload.waiting(), (
        "the damaged one is not looked at again at once, the open one is locked"
    )
    assert open_.writer is not None
    open_.writer.file.close()  # simulates that its process was killed
    assert offload.move(NOW).moved == 1
    left = WarcFile.objects.exclude(pk=damaged.pk).get()
    assert (
        left.object_url
        and left.closed == NOW
        and left.records == 1 + 2
        and archive.check_one(left) == (3, "", ())
    )


def test_a_backup_of_a_store_fills_an_empty_machine(
    road: Road, tmp_path: Path, settings: Any
) -> None:
    _written()
    offload.move(NOW)
    before, target = _bodies(), tmp_path / "all.tar"
    columns = [f.attname for f in Page._meta.concrete_fields]
    rows = list(Page.objects.order_by("pk").values_list(*columns))
    assert list(backup_file.write(target, NOW, lambda name: None)["files"]) == [
        WarcFile.objects.get().name
    ]
    call_command("flush", verbosity=0, interactive=False)
    shutil.rmtree(settings.ARCHIVE_DIR)
    settings.ARCHIVE_DIR.mkdir()
    settings.ARCHIVE_STORE = ""
    backup_file.restore(target, lambda name: None)
    assert (
        WarcFile.objects.get().object_url == ""
        and list(Page.objects.order_by("pk").values_list(*columns)) == rows
    )
    road.fault = "refuses"
    assert _bodies() == before and archive.check()["ok"]


def test_pruning_deletes_the_object_when_the_store_answers(road: Road, settings: Any) -> None:
    _written()
    offload.move(NOW)
    place, settings.KEEP_DAYS = WarcFile.objects.get().object_url, {"archive": 30}
    Run.objects.update(state="finished")
    road.fault = "refuses"
    assert (
        pruning.prune(NOW + timedelta(days=31)).rows["archive"] == 0 and WarcFile.objects.exists()
    )
    road.fault = ""
    assert pruning.prune(NOW + timedelta(days=31)).rows["archive"] == 1
    assert object_store.size(place) is None and not WarcFile.objects.exists()


def test_a_tick_has_files_moved_by_the_node_that_has_them(road: Road, settings: Any) -> None:
    files = OrmQ.objects.filter(key__startswith="crawl/files")
    tasks.tick("north")
    assert not files.exists()
    _written()
    tasks.tick("north")
    tasks.tick("north")
    assert [row.key for row in files.all()] == ["crawl/files/north"]
    assert tasks.move_archive("north") == 1 and WarcFile.objects.get().object_url
    queue.forget_node("north", "crawl")
    tasks.tick("north")
    assert not files.exists()


def test_the_command(road: Road, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _written()
    call_command("archive", "move")
    assert "1 files moved" in capsys.readouterr().out
    settings.ARCHIVE_STORE = ""
    with pytest.raises(CommandError, match="No store is set"):
        call_command("archive", "move")


def test_what_lies_in_the_store_is_gzip_that_others_read(road: Road) -> None:
    file = _written(count=1)
    offload.move(NOW)
    data = object_store.piece(WarcFile.objects.get().object_url, 0, WarcFile.objects.get().bytes)
    assert data is not None and gzip.GzipFile(fileobj=BytesIO(data)).read().startswith(b"WARC/1.1")
    assert object_store.piece(WarcFile.objects.get().object_url, 0, file.bytes + 10**9) is None
