"""The archive: every exchange is written to WARC files, each with one writer. Only this module touches WARC files."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from django.conf import settings
from django.db import transaction

from crawlmgr.models import Page, WarcFile
from crawlmgr.services import hosts
from crawlmgr.services.walking import in_parts
from crawlmgr.web.exchange import PLAIN_HEADERS, FetchResponse, Hop
from crawlmgr.web.url import UrlError, canonical, host_key, url_hash
from crawlmgr.web.warc import RecordPointer, WarcRecord, WarcWriter, check_file, iter_records, read_record

ROTATE_BYTES = 250_000_000
CHECK_SPACE_EVERY = 50


class DiskLow(Exception):
    """The disk has less free space than the configured minimum; the run pauses and loses nothing."""


class Archive:
    """Writes a slice's exchanges. A file belongs to one process: a new process begins a new file, so that no record follows one
    truncated by a kill."""

    def __init__(self, run_id: int | None, now: datetime) -> None:
        self.run_id = run_id
        self.row: WarcFile | None = None
        self.writer: WarcWriter | None = None
        self.written = 0
        self.now = now

    def write(self, response: FetchResponse, now: datetime, revisit: Page | None = None) -> tuple[WarcFile, RecordPointer] | None:
        """Appends an exchange; with `revisit` (an earlier capture of the same content) only a revisit record. Raises DiskLow.

        Cookies, credentials and all other headers from a site's settings are left out, so that readers of the archive cannot log
        in with them.
        """
        if not response.status:
            return None
        if self.written % CHECK_SPACE_EVERY == 0 and shutil.disk_usage(settings.ARCHIVE_DIR).free < settings.MIN_FREE_BYTES:
            raise DiskLow(f"{settings.ARCHIVE_DIR} has less than {settings.MIN_FREE_BYTES // 1_000_000} MB left")
        self.written += 1
        try:
            writer = self._open(now)
            target = _original(revisit) if revisit else None
            pointers = writer.write_exchange(_without_credentials(response), revisit_of=target)
        except OSError as error:
            self.writer = None
            raise DiskLow(f"the archive cannot be written: {error.strerror or error}") from error
        if self.row is None:
            return None
        return self.row, next(p for p in pointers if p.type in ("response", "revisit"))

    def _open(self, now: datetime) -> WarcWriter:
        if self.writer is not None and self.writer.size >= ROTATE_BYTES:
            self.close(now)
        if self.writer is None:
            name = f"{now:%Y%m%d%H%M%S}-{self.run_id or 0}-{os.getpid()}-{secrets.token_hex(4)}.warc.gz"
            self.writer = WarcWriter(settings.ARCHIVE_DIR / name, hostname=socket.gethostname(), now=now)
            self.row = WarcFile.objects.create(name=name, run_id=self.run_id, created=now)
        return self.writer

    def close(self, now: datetime) -> None:
        """Closes the file and stores its size."""
        if self.writer is not None and self.row is not None:
            self.writer.close()
            WarcFile.objects.filter(pk=self.row.pk).update(bytes=self.writer.size, records=self.writer.records, closed=now)
        self.writer, self.row = None, None


def _without_credentials(response: FetchResponse) -> FetchResponse:
    own, hops = _public(response), response.redirects
    if not own and not hops:
        return response
    return replace(response, **own, redirects=tuple(replace(hop, **_public(hop)) for hop in hops))


def _public(exchange: FetchResponse | Hop) -> dict[str, Any]:
    """The headers of an exchange without credentials; Set-Cookie is left out too if the request carried cookies."""
    sent = tuple(pair for pair in exchange.request_headers if pair[0].lower() in PLAIN_HEADERS)
    if len(sent) == len(exchange.request_headers):
        return {}
    return {"request_headers": sent, "headers": tuple(pair for pair in exchange.headers if pair[0].lower() != "set-cookie")}


def _original(page: Page) -> WarcRecord | None:
    record = read_page(page)
    return record if record is not None and record.type == "response" else None


def path_of(file: WarcFile) -> Path:
    """The path of a WARC file. Raises ValueError for a name that leads out of the archive folder."""
    path = (settings.ARCHIVE_DIR / file.name).resolve()
    if path.parent != Path(settings.ARCHIVE_DIR).resolve():
        raise ValueError(f"{file.name} is no name of an archive file")
    return path


def remove(file: WarcFile) -> None:
    """Deletes a WARC file, then its row; can be repeated after a kill in between."""
    with suppress(ValueError):  # a name that leads out of the folder belongs to no file of the archive
        path_of(file).unlink(missing_ok=True)
    file.delete()


def read_page(page: Page) -> WarcRecord | None:
    """The stored answer of a page; for a revisit, the record of the original content. None if the file is gone."""
    if page.warc is None or page.warc_offset is None:
        return None
    try:
        record = read_record(path_of(page.warc), page.warc_offset)
    except (OSError, ValueError):
        return None
    if record.type != "revisit":
        return record
    earlier = (
        Page.objects.filter(
            url_hash=page.url_hash,
            digest=page.digest,
            revisit=False,
            warc__isnull=False,
            fetched_at__lte=page.fetched_at,
        )
        .exclude(pk=page.pk)
        .select_related("warc")
        .order_by("-fetched_at")
        .first()
    )
    return read_page(earlier) if earlier is not None else record


def latest(url: str, before: datetime | None = None) -> Page | None:
    """The newest stored capture of an address."""
    pages = Page.objects.filter(url_hash=url_hash(url), warc__isnull=False, status=200)
    if before is not None:
        pages = pages.filter(fetched_at__lt=before)
    return pages.select_related("warc").order_by("-fetched_at").first()


def import_file(source: Path, now: datetime, batch: int = 200) -> Iterator[int]:
    """Copies the records of a WARC file into the archive, one gzip member each, and indexes its pages; yields the number of
    records so far.

    The copy is written to a temporary file and renamed before its index is committed as a whole: an interrupted import leaves
    neither, and can simply be repeated.
    """
    name = f"{now:%Y%m%d%H%M%S}-import-{secrets.token_hex(4)}.warc.gz"
    target = settings.ARCHIVE_DIR / name
    part = target.with_name(name + ".part")
    rows: list[Page] = []
    try:
        writer = WarcWriter(part, hostname=socket.gethostname(), now=now)
        try:
            for record in iter_records(source):
                place = writer.copy(record)
                if record.type in ("response", "revisit", "resource") and record.url.startswith(("http://", "https://")):
                    rows.append(_imported(record, place, now))
                    if len(rows) % batch == 0:
                        yield len(rows)
        finally:
            writer.close()
        os.replace(part, target)
        with transaction.atomic():
            file = WarcFile.objects.create(
                name=name, created=now, closed=now, imported=True, bytes=writer.size, records=writer.records
            )
            for row in rows:
                row.warc = file
            Page.objects.bulk_create(rows, batch_size=500)
    finally:
        part.unlink(missing_ok=True)
    yield len(rows)


def _imported(record: WarcRecord, place: tuple[int, int], now: datetime) -> Page:
    try:
        address = canonical(record.url)
    except UrlError:
        address = record.url
    return Page(
        run=None,
        host_id=hosts.host_id(host_key(address)),
        key_hash=url_hash(address),
        url=address,
        url_hash=url_hash(address),
        final_url=record.url,
        status=record.status or 200,
        content_type=record.content_type[:100],
        digest=record.digest[:40],
        received_bytes=len(record.block),
        fetched_at=record.date or now,
        warc_offset=place[0],
        warc_length=place[1],
        revisit=record.type == "revisit",
    )


def export_run(run_id: int, target: Path, now: datetime, pulse: Callable[[], None] = lambda: None) -> dict[str, int]:
    """Copies the records of a run's pages into one WARC file, as unchanged gzip members after a new warcinfo record. `pulse` is
    called between records, with no cursor open, and may abort by raising."""
    part = target.with_name(target.name + ".part")
    records, missing = 0, 0
    try:
        writer = WarcWriter(part, hostname=socket.gethostname(), now=now)
        try:
            pages = Page.objects.filter(run_id=run_id).select_related("warc").only("warc", "warc_offset", "warc_length")
            for number, page in enumerate(in_parts(pages, "pk", 500)):
                if number % 50 == 0:
                    pulse()
                piece = _member(page)
                if piece is None:
                    missing += 1
                else:
                    writer.append_member(piece)
                    records += 1
            size = writer.size
        finally:
            writer.close()
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return {"records": records, "missing": missing, "bytes": size}


def _member(page: Page) -> bytes | None:
    if page.warc is None or page.warc_offset is None or not page.warc_length:
        return None
    try:
        with path_of(page.warc).open("rb") as file:
            file.seek(page.warc_offset)
            piece = file.read(page.warc_length)
    except OSError:
        return None
    return piece if piece[:2] == b"\x1f\x8b" and len(piece) == page.warc_length else None


def check(*, quick: bool = False) -> dict[str, Any]:
    """Compares every WARC file with the index: reports missing, truncated or damaged files, and pages whose position holds no
    such record."""
    files = []
    for row in WarcFile.objects.order_by("pk"):
        path, records, problem = path_of(row), 0, ""
        pages = Page.objects.filter(warc=row)
        if not path.exists():
            problem = "missing"
        elif pages.filter(warc_offset__gte=path.stat().st_size).exists():
            problem = "shorter than its index"
        elif not quick:
            report = check_file(path)
            records = report.records
            offsets = set(report.offsets)
            lost = sum(1 for offset in pages.values_list("warc_offset", flat=True).iterator() if offset not in offsets)
            problem = report.problem or (f"{lost} pages have no record" if lost else "")
            if problem == "torn tail" and not lost:
                problem = ""  # truncated by a kill in the middle of a record that was never indexed
        files.append({"file": row.name, "records": records or row.records, "pages": pages.count(), "problem": problem})
    return {"ok": not any(f["problem"] for f in files), "files": files}


def put_file(name: str, content: IO[bytes]) -> None:
    """Restores a WARC file from a backup. Raises ValueError for a name that is not an archive file's, OSError if writing
    fails."""
    target = path_of(WarcFile(name=name))
    part = target.with_name(name + ".part")
    try:
        with part.open("wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def open_file(file: WarcFile) -> BinaryIO | None:
    """Opens a WARC file for reading as stored; None if it is gone. The caller closes it."""
    try:
        return path_of(file).open("rb")
    except (OSError, ValueError):
        return None
