"""The archive: writes every exchange (request and response) to WARC files, reads it back, and
checks the files against the rows of pages in the database. Each file is written by one process
only. Files are located and opened through `archive_files`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from django.conf import settings
from django.db import transaction

from crawlmgr.archive import warc_files
from crawlmgr.conf import PLAIN_HEADERS
from crawlmgr.database.sql import in_parts
from crawlmgr.file_access import is_held
from crawlmgr.frontier import hosts
from crawlmgr.models import Page, WarcFile
from crawlmgr.web.http.exchange import Failure, FetchResponse, Hop
from crawlmgr.web.pages.html import page_title
from crawlmgr.web.url import UrlError, absolute, canonical, host_key, url_hash
from crawlmgr.web.warc import (
    PAGE_BYTES,
    TORN,
    Reading,
    RecordPointer,
    Skipped,
    WarcRecord,
    WarcWriter,
    check_file,
)

ROTATE_BYTES = 250_000_000
CHECK_SPACE_EVERY = 50
PROBE_BYTES = 2_000_000
IMPORT_MARK = "-import-"  # part of the names of WARC files copied by an import
# Files of imports in the archive are deleted if no database row names them and they were not
# written to for this long: they are left over from a killed import.
IMPORT_SECONDS = 86_400.0
INFO_BYTES = 1_000  # a file smaller than this can contain only our own warcinfo record
LEFT_AFTER_SECONDS = 60.0
"""A file that was never closed counts as abandoned by its writer if it is not locked and has not
been written to for this long.
"""


class DiskLow(Exception):
    """Less disk space is free than the configured minimum, or the archive cannot be written. The
    run pauses; nothing fetched before is lost."""


def has_room() -> bool:
    """Tells whether the archive's disk has the configured minimum of free space."""
    return shutil.disk_usage(settings.ARCHIVE_DIR).free >= settings.MIN_FREE_BYTES


def takes_files() -> bool:
    """Tells whether a run that was paused for want of room could go on: there is room, and a file
    of PROBE_BYTES can be written."""
    try:
        with TemporaryFile(dir=settings.ARCHIVE_DIR) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
    except OSError:
        return False
    return has_room()


class Archive:
    """Writes the exchanges of one slice of a run. Each process begins a new file, because a file
    whose writer was killed may end in an incomplete record, after which nothing must be appended.
    """

    def __init__(self, run_id: int | None, now: datetime) -> None:
        self.run_id = run_id
        self.row: WarcFile | None = None
        self.writer: WarcWriter | None = None
        self.written = 0
        self.now = now

    def write(
        self, response: FetchResponse, now: datetime, revisit: Page | None = None
    ) -> tuple[WarcFile, RecordPointer] | None:
        """Appends an exchange and returns its WARC file and the position of the response record;
        None if there was no response.

        revisit: an earlier page with the same content; only a revisit record that refers to its
        record is written, or the whole response if that cannot be read. Headers from a site's
        settings, such as cookies and credentials, are left out, so that readers of the archive
        cannot log in with them. Raises DiskLow if the disk is nearly full or a write fails.
        """
        if not response.status:
            return None
        if self.written % CHECK_SPACE_EVERY == 0 and not has_room():
            raise DiskLow(
                f"{settings.ARCHIVE_DIR} has less than {settings.MIN_FREE_BYTES // 1_000_000} MB"
                " left"
            )
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
            name = (
                f"{now:%Y%m%d%H%M%S}-{self.run_id or 0}-{os.getpid()}-{secrets.token_hex(4)}"
                f".warc.gz"
            )
            self.writer = WarcWriter(
                settings.ARCHIVE_DIR / name, hostname=socket.gethostname(), now=now
            )
            self.row = WarcFile.objects.create(name=name, run_id=self.run_id, created=now)
        return self.writer

    def close(self, now: datetime) -> None:
        """Closes the current file and stores its size and number of records."""
        if self.writer is not None and self.row is not None:
            self.writer.close()
            WarcFile.objects.filter(pk=self.row.pk).update(
                bytes=self.writer.size, records=self.writer.records, closed=now
            )
        self.writer, self.row = None, None


def _without_credentials(response: FetchResponse) -> FetchResponse:
    own, hops = _public(response), response.redirects
    if not own and not hops:
        return response
    return replace(response, **own, redirects=tuple(replace(hop, **_public(hop)) for hop in hops))


def _public(exchange: FetchResponse | Hop) -> dict[str, Any]:
    """Returns the header fields of an exchange to replace, so that it contains no credentials; {}
    if it contains none. If the request had headers that may be secret, such as cookies, Set-Cookie
    is removed from the response too.
    """
    sent = tuple(pair for pair in exchange.request_headers if pair[0].lower() in PLAIN_HEADERS)
    if len(sent) == len(exchange.request_headers):
        return {}
    return {
        "request_headers": sent,
        "headers": tuple(pair for pair in exchange.headers if pair[0].lower() != "set-cookie"),
    }


def _original(page: Page) -> WarcRecord | None:
    record = read_page(page)
    return record if record is not None and record.type == "response" else None


def read_page(page: Page) -> WarcRecord | None:
    """Returns the stored response record of a page. If that is a revisit record, returns the
    response with the original content, or the revisit record itself if none is found. None if the
    page is not in the archive or its file is gone. Raises archive_files.Unreachable if the object
    store that holds the file does not respond."""
    if page.warc is None or page.warc_offset is None:
        return None
    record = warc_files.record(page.warc, page.warc_offset, page.warc_length)
    if record is None or record.type != "revisit":
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
    """Returns the newest archived page of an address with status 200, fetched before `before` if
    that is given; None if there is none."""
    pages = Page.objects.filter(url_hash=url_hash(url), warc__isnull=False, status=200)
    if before is not None:
        pages = pages.filter(fetched_at__lt=before)
    return pages.select_related("warc").order_by("-fetched_at").first()


REDIRECTS = (301, 302, 303, 307, 308)
MAX_REDIRECTS = 5


def in_archive(urls: Sequence[str]) -> set[str]:
    """Returns those of the addresses for which the archive has a response."""
    keys = {url_hash(url): url for url in urls}
    wanted, found = list(keys), set[str]()
    for start in range(0, len(wanted), 500):
        held = Page.objects.filter(url_hash__in=wanted[start : start + 500], warc__isnull=False)
        found.update(keys[key] for key in held.values_list("url_hash", flat=True))
    return found


def redirected(url: str) -> Page | None:
    """Returns the newest archived page of an address, following archived redirects; None if there
    is none."""
    for _ in range(MAX_REDIRECTS):
        page = latest(url)
        if page is not None:
            return page
        moved = Page.objects.filter(
            url_hash=url_hash(url), status__in=REDIRECTS, warc__isnull=False
        )
        hop = moved.select_related("warc").order_by("-fetched_at").first()
        record = read_page(hop) if hop is not None else None
        if record is None:
            return None
        headers = {name.lower(): value for name, value in record.headers}
        target = absolute(headers.get("location", ""), url)
        if target is None:
            return None
        url = canonical(target)
    return None


def import_file(
    source: Path, now: datetime, skipped: list[Skipped] | None = None, batch: int = 200
) -> Iterator[int]:
    """Copies the records of an archive file into the archive, one gzip member each, and adds a row
    for each of its pages; yields the number of readable pages so far. To `skipped` is added what
    could not be read or was left out.

    The copy is written to a temporary file and renamed, and then its rows are committed in one
    transaction: an interrupted import leaves no rows, and can simply be repeated. The copy of a
    killed import is deleted by close_left. Raises WarcError if the file is no archive file, and
    OSError.
    """
    name = f"{now:%Y%m%d%H%M%S}{IMPORT_MARK}{secrets.token_hex(4)}.warc.gz"
    target = settings.ARCHIVE_DIR / name
    part = target.with_name(name + ".part")
    rows: list[Page] = []
    lost = [] if skipped is None else skipped
    pages = 0
    try:
        writer = WarcWriter(part, hostname=socket.gethostname(), now=now)
        reading = Reading(source)
        try:
            for record in reading:
                lost += _left_out(record)
                place = writer.copy(record)
                if is_page(record):
                    rows.append(_imported(record, place, now))
                    pages += not rows[-1].failure or bool(rows[-1].truncated)
                    if len(rows) % batch == 0:
                        yield pages
        finally:
            writer.close()
        lost += reading.skipped
        os.replace(part, target)
        with transaction.atomic():
            file = WarcFile.objects.create(
                name=name,
                created=now,
                closed=now,
                imported=True,
                bytes=writer.size,
                records=writer.records,
            )
            for row in rows:
                row.warc = file
            Page.objects.bulk_create(rows, batch_size=500)
    finally:
        part.unlink(missing_ok=True)
    yield pages


def is_page(record: WarcRecord) -> bool:
    """Tells whether a record of an archive file holds the content of an address on the web."""
    kinds = ("response", "revisit", "resource")
    return record.type in kinds and record.url.startswith(("http://", "https://"))


def _left_out(record: WarcRecord) -> list[Skipped]:
    """Returns what an import cannot take of a record."""
    if record.bytes_left_out:
        reason = f"{record.url or record.type}: what is beyond {PAGE_BYTES} bytes is left out"
        return [Skipped(record.offset, record.bytes_left_out, reason)]
    if is_page(record) and record.problem:
        size = record.length or len(record.block)
        return [Skipped(record.offset, size, f"{record.url} cannot be read: {record.problem}")]
    return []


def _imported(record: WarcRecord, place: tuple[int, int], now: datetime) -> Page:
    told = _bare(record.url)
    try:
        address = canonical(told)
    except UrlError:
        address = told
    failure: Failure | str = ""
    if record.problem:
        failure = Failure.bomb if record.payload else Failure.bad_encoding
    elif record.bytes_left_out:
        failure = Failure.too_large
    return Page(
        run=None,
        host_id=hosts.host_id(host_key(address)),
        key_hash=url_hash(address),
        url=address,
        url_hash=url_hash(address),
        final_url=told,
        status=record.status or 200,
        failure=str(failure),
        content_type=_bare(record.content_type)[:100],
        title=_bare(page_title(record.text))[:500] if "html" in record.content_type.lower() else "",
        digest="" if record.bytes_left_out else _bare(record.digest)[:40],
        received_bytes=len(record.block),
        truncated="body" if failure and record.payload else "",
        fetched_at=record.date or now,
        warc_offset=place[0],
        warc_length=place[1],
        revisit=record.type == "revisit",
    )


def _bare(text: str) -> str:
    """Returns text without zero bytes, which PostgreSQL refuses."""
    return text.replace("\0", "")


def export_run(
    run_id: int, target: Path, now: datetime, pulse: Callable[[], None] = lambda: None
) -> dict[str, int]:
    """Copies the records of a run's pages into one WARC file `target`: a new warcinfo record, then
    the gzip members unchanged. Returns the numbers "records" (copied), "missing" (pages not found
    in the archive) and "bytes". `pulse` is called between records, with no database cursor open,
    and may abort the export by raising."""
    part = target.with_name(target.name + ".part")
    records, missing = 0, 0
    try:
        writer = WarcWriter(part, hostname=socket.gethostname(), now=now)
        try:
            pages = (
                Page.objects.filter(run_id=run_id)
                .select_related("warc")
                .only("warc", "warc_offset", "warc_length")
            )
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
    piece = warc_files.piece(page.warc, page.warc_offset, page.warc_length)
    return piece if piece is not None and piece[:2] == b"\x1f\x8b" else None


def is_left(path: Path) -> bool:
    """Tells whether no process writes to a file any more: it is not locked and was not written to
    for LEFT_AFTER_SECONDS."""
    return time.time() - path.stat().st_mtime >= LEFT_AFTER_SECONDS and not is_held(path)


def close_left(now: datetime) -> int:
    """Marks WARC files in this machine's folder whose writers were killed as closed, with their
    bytes and records counted, and returns how many. Deletes files that no row of WarcFile names:
    those of killed writers if they contain no page, and those of killed imports (see import_file)
    after a day."""
    folder = Path(settings.ARCHIVE_DIR)
    closed = 0
    for row in WarcFile.objects.filter(closed=None, object_url="", imported=False):
        path = warc_files.path_of(row)
        if path.exists() and is_left(path):
            report = check_file(path)
            left = WarcFile.objects.filter(pk=row.pk, closed=None)
            closed += left.update(bytes=path.stat().st_size, records=report.records, closed=now)
    small = {
        path.name: path
        for path in folder.glob("*.warc.gz")
        if path.stat().st_size < INFO_BYTES and is_left(path)
    }
    for name in small.keys() - set(
        WarcFile.objects.filter(name__in=small).values_list("name", flat=True)
    ):
        if (
            check_file(small[name]).records <= 1
        ):  # it contains at most the warcinfo record, possibly incomplete
            small[name].unlink(missing_ok=True)
    yesterday = time.time() - IMPORT_SECONDS
    found = folder.glob(f"*{IMPORT_MARK}*.warc.gz*")
    imports = {
        path.name: path for path in found if path.stat().st_mtime < yesterday and not is_held(path)
    }
    for name in imports.keys() - set(
        WarcFile.objects.filter(name__in=imports).values_list("name", flat=True)
    ):
        imports[name].unlink(missing_ok=True)
    return closed


def check(*, quick: bool = False) -> dict[str, Any]:
    """Compares every WARC file with the database (see `check_one`). Returns {"ok": True if there
    was no problem, "files": [one dictionary per file with "file" (its name), "records" and "pages"
    (numbers), "problem" ("" if there is none), "skipped" (what could not be read)]}. With `quick`
    the records are not read."""
    files = []
    for pk in list(WarcFile.objects.order_by("pk").values_list("pk", flat=True)):
        row = WarcFile.objects.filter(pk=pk).first()
        if row is not None:
            records, problem, skipped = check_one(row, quick=quick)
            pages = Page.objects.filter(warc=row).count()
            files.append(
                {
                    "file": row.name,
                    "records": records or row.records,
                    "pages": pages,
                    "problem": problem,
                    "skipped": [one.as_json() for one in skipped],
                }
            )
    return {"ok": not any(f["problem"] for f in files), "files": files}


def check_one(row: WarcFile, *, quick: bool = False) -> tuple[int, str, tuple[Skipped, ...]]:
    """Checks whether a WARC file exists, can be read, and has a record where the database says that
    a page is. Returns the number of records (0 with `quick`, which compares sizes only), the
    problem, "" if there is none, and the parts that could not be read. Raises
    archive_files.Unreachable."""
    pages = Page.objects.filter(warc=row)
    there = warc_files.size(row)
    if there is None:
        return 0, "missing", ()
    if pages.filter(warc_offset__gte=there).exists():
        return 0, "shorter than its index", ()
    if quick:
        return 0, "", ()
    with TemporaryDirectory(prefix="crawlmgr-archive-") as folder:
        path = warc_files.local(row, Path(folder))
        if path is None:
            return 0, "missing", ()
        report = check_file(path)
    offsets = set(report.offsets)
    lost = sum(
        1
        for offset in pages.values_list("warc_offset", flat=True).iterator()
        if offset not in offsets
    )
    problem = report.problem or (f"{lost} pages have no record" if lost else "")
    if report.problem and lost:
        problem = f"{report.problem}; {lost} pages have no record"
    # An incomplete last record is no damage if no page refers to it: its writer was killed before
    # the page was stored.
    fine = report.problem == TORN and not lost
    return report.records, "" if fine else problem, () if fine else report.skipped
