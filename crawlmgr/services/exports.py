"""Exports: tables as CSV, JSON or JSON lines, streamed in constant memory; files are written beside and renamed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from crawlmgr.models import Page, Run
from crawlmgr.services import archive
from crawlmgr.web.html import scan

CHUNK = 2000
FORMATS = ("csv", "json", "jsonl")
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/jsonl; charset=utf-8"}
_RISKY = ("=", "+", "-", "@", "|", "\t", "\r", "\n", "＝", "＋", "－", "＠", "｜")  # full-width ones too


@dataclass(frozen=True, slots=True)
class Filter:
    """What to export: of one site, of one run, or what came since a time."""

    site: int | None = None
    run: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of export: its columns, and a function that yields rows of that width.

    `found`: gives the columns where they depend on what is exported; `columns` are then those that are always there, and `rows`
    is given those found as well: a crawl may find more while the rows are read.
    """

    columns: Sequence[str]
    rows: Callable[..., Iterator[Sequence[Any]]]
    found: Callable[[Filter], Sequence[str]] | None = None

    def header(self, chosen: Filter) -> Sequence[str]:
        """The columns of this export."""
        return self.columns if self.found is None else self.found(chosen)

    def under(self, header: Sequence[str], chosen: Filter) -> Iterator[Sequence[Any]]:
        """The rows of an export that has this header."""
        return self.rows(chosen) if self.found is None else self.rows(chosen, header)


def narrowed(rows: Any, chosen: Filter, *, site: str, run: str, since: str = "") -> Any:
    """The rows of a query that a filter leaves: `site`, `run` and `since` are the look-ups that it goes by ("" for none)."""
    wanted = ((site, chosen.site), (run, chosen.run), (f"{since}__gte" if since else "", chosen.since))
    return rows.filter(**{name: value for name, value in wanted if name and value is not None})


def _pages(chosen: Filter) -> Iterator[Sequence[Any]]:
    rows = Page.objects.order_by("pk")
    if chosen.run is not None:
        rows = rows.filter(run_id=chosen.run)
    if chosen.site is not None:
        rows = rows.filter(run__kind__startswith="forum", run__target=chosen.site)
    if chosen.since is not None:
        rows = rows.filter(fetched_at__gte=chosen.since)
    columns = (
        "url",
        "status",
        "fetched_at",
        "title",
        "relevance",
        "depth",
        "run_id",
        "final_url",
        "content_type",
        "encoding",
        "received_bytes",
        "elapsed_seconds",
        "failure",
        "cut",
        "warc__name",
        "warc_offset",
    )
    yield from rows.values_list(*columns).iterator(chunk_size=CHUNK)


def _links(chosen: Filter) -> Iterator[Sequence[Any]]:
    """Links of the archived pages, read again from the archive: nothing is stored twice."""
    pages = Page.objects.filter(warc__isnull=False, status=200).select_related("warc").order_by("pk")
    if chosen.run is not None:
        pages = pages.filter(run_id=chosen.run)
    if chosen.site is not None:
        pages = pages.filter(run__kind__startswith="forum", run__target=chosen.site)
    if chosen.since is not None:
        pages = pages.filter(fetched_at__gte=chosen.since)
    for page in pages.iterator(chunk_size=200):
        record = archive.read_page(page)
        if record is None:
            continue
        for link in scan(record.text, page.final_url or page.url).links:
            yield page.url, link.url, link.anchor, page.relevance, page.depth


def _runs(chosen: Filter) -> Iterator[Sequence[Any]]:
    rows = Run.objects.order_by("pk")
    if chosen.run is not None:
        rows = rows.filter(pk=chosen.run)
    if chosen.site is not None:
        rows = rows.filter(kind__startswith="forum", target=chosen.site)
    if chosen.since is not None:
        rows = rows.filter(created__gte=chosen.since)
    yield from rows.values_list(*_RUN_COLUMNS).iterator(chunk_size=CHUNK)


_RUN_COLUMNS = (
    "kind",
    "started",
    "finished",
    "state",
    "stopped_by",
    "id",
    "label",
    "created",
    "fetched",
    "failed",
    "refused",
    "requests",
    "bytes",
    "new",
    "updated",
    "unchanged",
    "items",
    "busy",
    "retries",
    "waits",
    "waited_seconds",
)
_PAGE_COLUMNS = (
    "url",
    "status",
    "fetched_at",
    "title",
    "relevance",
    "depth",
    "run",
    "final_url",
    "content_type",
    "encoding",
    "received_bytes",
    "elapsed_seconds",
    "failure",
    "cut",
    "warc",
    "warc_offset",
)
TABLES: dict[str, Table] = {
    "pages": Table(_PAGE_COLUMNS, _pages),
    "links": Table(("from_url", "to_url", "anchor", "relevance", "depth"), _links),
    "runs": Table(_RUN_COLUMNS, _runs),
}


def tables() -> dict[str, Table]:
    """Every table that can be exported, of all crawlers."""
    found: dict[str, Table] = {}
    for name in settings.EXPORTS:
        found.update(import_string(name))
    return found


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


def _csv(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> Iterator[str]:
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


def _jsonl(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_json_default) + "\n"


def _json(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> Iterator[str]:
    yield "["
    for index, line in enumerate(_jsonl(columns, rows)):
        yield (",\n" if index else "\n") + line.rstrip("\n")
    yield "\n]\n"


_WRITERS: Mapping[str, Callable[[Sequence[str], Iterator[Sequence[Any]]], Iterator[str]]] = {
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
}


class _Counter:
    """Counts the rows that pass."""

    def __init__(self, rows: Iterator[Sequence[Any]]) -> None:
        self.rows, self.number = rows, 0

    def __iter__(self) -> Iterator[Sequence[Any]]:
        for row in self.rows:
            self.number += 1
            yield row


def stream(
    table: str,
    *,
    fmt: str,
    site: int | None = None,
    run: int | None = None,
    since: datetime | None = None,
    counter: list[int] | None = None,
    header: Sequence[str] | None = None,
) -> Iterator[bytes]:
    """The export as pieces of UTF-8, with the table's header unless one is given. Raises KeyError for an unknown table or format
    before the first piece."""
    chosen, writer = tables()[table], _WRITERS[fmt]
    wanted = Filter(site, run, since)

    def pieces() -> Iterator[bytes]:
        columns = chosen.header(wanted) if header is None else header
        rows = _Counter(chosen.under(columns, wanted))
        for piece in writer(columns, iter(rows)):
            yield piece.encode("utf-8")
        if counter is not None:
            counter.append(rows.number)

    return pieces()


def write_file(table: str, path: Path, *, fmt: str, chosen: Filter, now: datetime) -> dict[str, Any]:
    """Writes an export and, beside it, `<name>.manifest.json` (filter, time, rows, sha256). Returns the manifest.

    Both are written beside and renamed, the manifest last: a file without one was not finished.
    """
    counter: list[int] = []
    digest, size = hashlib.sha256(), 0
    header = tables()[table].header(chosen)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            narrow = {"site": chosen.site, "run": chosen.run}
            for piece in stream(table, fmt=fmt, **narrow, since=chosen.since, counter=counter, header=header):
                file.write(piece)
                digest.update(piece)
                size += len(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    since = chosen.since.isoformat() if chosen.since else None
    manifest = {
        "table": table,
        "format": fmt,
        "filter": {"site": chosen.site, "run": chosen.run, "since": since},
        "written": now.isoformat(),
        "rows": counter[0],
        "bytes": size,
        "sha256": digest.hexdigest(),
        "columns": list(header),
    }
    beside = path.with_name(path.name + ".manifest.json")
    temporary = beside.with_name(beside.name + ".part")
    temporary.write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, beside)
    return manifest
