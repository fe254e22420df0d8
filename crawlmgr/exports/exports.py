"""Exports tables in every format without reading them into memory. Files are written under a
temporary name and renamed when they are complete."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from crawlmgr.archive import archive
from crawlmgr.exports import file_writers, text_formats
from crawlmgr.exports.file_writers import ParquetWriter
from crawlmgr.models import Page, Run
from crawlmgr.web.pages.html import scan
from crawlmgr.web.url import UrlError, host_key

CHUNK = 2000
FORMATS = file_writers.FORMATS


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are exported: those of one site (its primary key), of one run (its primary key),
    and since a time. None: no restriction."""

    site: int | None = None
    run: int | None = None
    since: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the filter as it is stored in a manifest."""
        return {
            "site": self.site,
            "run": self.run,
            "since": self.since.isoformat() if self.since else None,
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Definition of an exportable table.

    `query` returns the filtered objects. `values`: Django look-ups that are read for each object;
    if empty, the object itself is read. `expand` makes an object's rows for the given columns from
    what was read; None: the values are its only row. `columns` are always present; `found` returns
    all columns if they depend on the data. `column_types`: the type of each column that is not text
    ("time", "integer", "real" or "boolean"). `plain`: a table with the same rows and fixed columns,
    for API clients that read page by page. `day`, `site`: the columns with the time and the address
    by which rows can be partitioned ("" for none).
    """

    columns: Sequence[str]
    query: Callable[[Filter], QuerySet[Any]]
    values: Sequence[str] = ()
    expand: Callable[[Any, Sequence[str]], Iterable[Sequence[Any]]] | None = None
    found: Callable[[Filter], Sequence[str]] | None = None
    column_types: Mapping[str, str] = field(default_factory=dict)
    chunk: int = CHUNK
    plain: Table | None = None
    day: str = ""
    site: str = ""

    def header(self, chosen: Filter) -> Sequence[str]:
        """Returns the columns of an export with this filter."""
        return self.columns if self.found is None else self.found(chosen)

    def keyed(
        self,
        header: Sequence[str],
        chosen: Filter,
        *,
        after: int | None = None,
        limit: int | None = None,
    ) -> Iterator[tuple[int, Iterable[Sequence[Any]]]]:
        """Yields (primary key, rows of the object) for up to `limit` objects with keys above
        `after`, in the order of keys. The rows have the columns `header`."""
        rows = self.query(chosen).order_by("pk")
        rows = rows if after is None else rows.filter(pk__gt=after)
        rows = rows if limit is None else rows[:limit]
        things = rows.values_list("pk", *self.values) if self.values else rows
        for thing in things.iterator(chunk_size=self.chunk):
            key, item = (thing[0], thing[1:]) if self.values else (thing.pk, thing)
            yield key, (item,) if self.expand is None else self.expand(item, header)

    def of_keys(self, keys: Sequence[int], header: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yields the rows, with the columns `header`, of the objects with these primary keys, in
        the order of the keys."""
        rows = self.query(EVERYTHING).filter(pk__in=keys).order_by("pk")
        for item in rows.values_list(*self.values) if self.values else rows:
            yield from (item,) if self.expand is None else self.expand(item, header)

    def under(self, header: Sequence[str], chosen: Filter) -> Iterator[Sequence[Any]]:
        """Returns an iterator over all rows of a filtered export, with the columns `header`."""
        return (row for _key, rows in self.keyed(header, chosen) for row in rows)


def narrowed(
    rows: QuerySet[Any], chosen: Filter, *, site: str, run: str, since: str = ""
) -> QuerySet[Any]:
    """Returns the rows of a query that a filter chooses. `site`, `run` and `since` name the fields
    (as Django's look-ups) to which these parts of the filter apply; "" if the table has no such
    field, so that this part is ignored.
    """
    wanted = ((site, chosen.site), (f"{since}__gte" if since else "", chosen.since))
    rows = rows.filter(**{name: value for name, value in wanted if name and value is not None})
    if (
        run and chosen.run is not None
    ):  # a subquery instead of a join, because an object may belong to a run more than once
        rows = rows.filter(
            pk__in=rows.model._default_manager.filter(**{run: chosen.run}).values("pk")
        )
    return rows


def _pages(chosen: Filter) -> QuerySet[Page]:
    rows = narrowed(Page.objects.all(), chosen, site="", run="run_id", since="fetched_at")
    return (
        rows
        if chosen.site is None
        else rows.filter(run__kind__startswith="forum", run__target=chosen.site)
    )


def _pages_with_links(chosen: Filter) -> QuerySet[Page]:
    return _pages(chosen).filter(warc__isnull=False, status=200).select_related("warc")


def _links_of(page: Page, header: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yields a row for each link of an archived page. The links are extracted again from the
    archive, since they are not stored."""
    record = archive.read_page(page)
    if record is not None:
        for link in scan(record.text, page.final_url or page.url).links:
            yield page.url, link.url, link.anchor, page.relevance, page.depth


def _runs(chosen: Filter) -> QuerySet[Run]:
    rows = narrowed(Run.objects.all(), chosen, site="", run="pk", since="created")
    return (
        rows if chosen.site is None else rows.filter(kind__startswith="forum", target=chosen.site)
    )


PAGES = {
    **{name: name for name in ("url", "status", "fetched_at", "title", "relevance", "depth")},
    "run": "run_id",
    **{
        name: name
        for name in (
            "final_url",
            "content_type",
            "encoding",
            "received_bytes",
            "elapsed_seconds",
            "failure",
        )
    },
    "cut": "truncated",
    "warc": "warc__name",
    "warc_offset": "warc_offset",
}
RUNS = (
    *(
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
    ),
    *(
        "bytes",
        "new",
        "updated",
        "unchanged",
        "items",
        "busy",
        "retries",
        "waits",
        "waited_seconds",
    ),
)
_PAGE_KINDS = {
    "fetched_at": "time",
    "relevance": "real",
    "elapsed_seconds": "real",
    **dict.fromkeys(("status", "depth", "run", "received_bytes", "warc_offset"), "integer"),
}
_RUN_KINDS = {
    **dict.fromkeys(("started", "finished", "created"), "time"),
    "waited_seconds": "real",
    **dict.fromkeys(
        (
            *(
                "id",
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
            ),
            *("retries", "waits"),
        ),
        "integer",
    ),
}
TABLES: dict[str, Table] = {
    "pages": Table(
        tuple(PAGES),
        _pages,
        tuple(PAGES.values()),
        column_types=_PAGE_KINDS,
        day="fetched_at",
        site="url",
    ),
    "links": Table(
        ("from_url", "to_url", "anchor", "relevance", "depth"),
        _pages_with_links,
        expand=_links_of,
        chunk=200,
        column_types={"relevance": "real", "depth": "integer"},
        site="from_url",
    ),
    "runs": Table(RUNS, _runs, RUNS, column_types=_RUN_KINDS),
}


def spare_memory() -> None:
    """Turns off the memory mapping of SQLite in a process that reads whole tables, so that parts of
    the file read once do not stay in its memory. Does nothing on other databases."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA mmap_size=0")


def tables() -> dict[str, Table]:
    """Returns every exportable table of all crawlers as {name: Table}, collected from
    settings.EXPORTS."""
    found: dict[str, Table] = {}
    for name in settings.EXPORTS:
        found.update(import_string(name))
    return found


@dataclass(frozen=True, slots=True)
class Shape:
    """Which columns are written in which order (all columns if none are named), and whether a CSV
    file begins with a byte order mark."""

    columns: Sequence[str] = ()
    bom: bool = False


EVERYTHING, AS_IT_IS = Filter(), Shape()
Progress = Callable[[int], None]


def no_progress(rows: int) -> None:
    """A progress function that does nothing."""


class UnknownColumn(ValueError):
    """Raised if a requested column does not exist; the text names it and the columns that exist."""


def picked(table: str, header: Sequence[str], shape: Shape) -> list[int] | None:
    """Returns the indices in `header` of the columns that `shape` names; None if all columns are
    written. Raises UnknownColumn."""
    if not shape.columns:
        return None
    places = {column: place for place, column in enumerate(header)}
    if missing := [column for column in shape.columns if column not in places]:
        raise UnknownColumn(f"{table} has no column {missing[0]!r}; it has {', '.join(header)}")
    return [places[column] for column in shape.columns]


def _chosen_rows(
    name: str, chosen: Filter, shape: Shape
) -> tuple[Sequence[str], Iterator[Sequence[Any]]]:
    """Returns the columns and an iterator over the rows of an export. Raises KeyError for an
    unknown table, UnknownColumn for a column that the table lacks."""
    table = tables()[name]
    header = table.header(chosen)
    rows, wanted = table.under(header, chosen), picked(name, header, shape)
    return (
        (header, rows)
        if wanted is None
        else (shape.columns, ([row[place] for place in wanted] for row in rows))
    )


def preview(
    table: str, *, chosen: Filter, shape: Shape, limit: int
) -> tuple[Sequence[str], list[Sequence[Any]]]:
    """Returns the columns and the first `limit` rows of an export. Raises KeyError for an unknown
    table, UnknownColumn for a column that the table lacks."""
    known = tables()[table]
    header = known.header(chosen)
    wanted = picked(table, header, shape)
    rows = [
        row
        for _key, found in known.keyed(header, chosen, limit=limit)
        for row in islice(found, limit)
    ][:limit]
    return (
        (header, rows)
        if wanted is None
        else (shape.columns, [[row[place] for place in wanted] for row in rows])
    )


def stream(
    table: str, *, fmt: str, chosen: Filter = EVERYTHING, shape: Shape = AS_IT_IS
) -> Iterator[bytes]:
    """Returns an iterator over the export in pieces of UTF-8. The call itself raises KeyError for
    an unknown table or a binary format, and UnknownColumn for a column that the table lacks."""
    if fmt not in text_formats.TEXTS:
        raise KeyError(fmt)
    header, rows = _chosen_rows(table, chosen, shape)
    return _pieces(text_formats.streamed(fmt, header, rows), fmt, shape)


def _pieces(texts: Iterator[str], fmt: str, shape: Shape) -> Iterator[bytes]:
    if shape.bom and fmt == "csv":
        yield file_writers.BOM
    for text in texts:
        yield text.encode("utf-8")


def write_file(
    table: str,
    path: Path,
    *,
    fmt: str,
    chosen: Filter,
    now: datetime,
    shape: Shape = AS_IT_IS,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Writes an export and, beside it, `<name>.manifest.json` (filter, time, rows, SHA-256).
    Returns the manifest.

    Both files are written under temporary names and renamed, the manifest last: a file without
    manifest is incomplete. `progress` is called with the number of rows so far every few hundred
    rows; if it raises an exception, the export is aborted and leaves no file."""
    header, rows = _chosen_rows(table, chosen, shape)
    folder, count = path.with_name(path.name + ".part"), 0
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        writer = file_writers.opened(
            fmt, folder, table, header, tables()[table].column_types, bom=shape.bom
        )
        try:
            while batch := list(islice(rows, text_formats.AT_A_TIME)):
                writer.add(batch)
                count += len(batch)
                progress(count)
            writer.finish(path, lambda: progress(count))
        finally:
            writer.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return described(
        path,
        {"table": table, "format": fmt, "filter": chosen.as_json(), "written": now.isoformat()},
        count,
        header,
    )


def described(
    path: Path, about: Mapping[str, Any], rows: int, header: Sequence[str]
) -> dict[str, Any]:
    """Writes the manifest of a finished export file beside the file, and returns it: the entries of
    `about`, rows, bytes, SHA-256 and columns."""
    size, digest = measured(path)
    manifest = {**about, "rows": rows, "bytes": size, "sha256": digest, "columns": list(header)}
    beside = manifest_of(path)
    temporary = beside.with_name(beside.name + ".part")
    temporary.write_text(
        json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
    os.replace(temporary, beside)
    return manifest


def manifest_of(path: Path) -> Path:
    """Returns the path of an export file's manifest."""
    return path.with_name(path.name + ".manifest.json")


def measured(path: Path) -> tuple[int, str]:
    """Flushes a file to disk and returns its size in bytes and its SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256")
    return path.stat().st_size, digest.hexdigest()


NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""Directory name that stands for "no value" in the programs that read such folders."""
MAX_ROWS = 50_000
"""Number of rows held in memory from which some are written, those of the partitions with the most
rows first."""
MANIFEST = "_manifest.json"
"""Name of the manifest; programs that read such folders skip names that begin with an underscore.
"""


class NoPartitions(ValueError):
    """The table cannot be partitioned by day and site; the text names the tables that can."""


class Taken(ValueError):
    """The target folder already exists."""


def write(
    table: str,
    folder: Path,
    *,
    chosen: Filter,
    now: datetime,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Writes the files `folder/day=2026-05-01/site=a.example/part-0.parquet` and so on, and a
    manifest with the rows, bytes and SHA-256 of every file. Returns the manifest. The folder is
    renamed to its final name when it is complete.

    Days are UTC. `progress` is called with the number of rows so far. Raises NoPartitions if the
    table's rows belong to no site, Taken if the folder exists, and OSError."""
    known = tables()
    if not known[table].site:
        with_site = sorted(name for name, one in known.items() if one.site)
        raise NoPartitions(f"{table} has no site; those that have one are {', '.join(with_site)}")
    if folder.exists():
        raise Taken(f"{folder} exists already")
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        partitioned = _PartitionedFolder(part, known[table], chosen)
        for count in partitioned.fill():
            progress(count)
        manifest = {
            "table": table,
            "filter": chosen.as_json(),
            "written": now.isoformat(),
            "rows": sum(file["rows"] for file in partitioned.files),
            "columns": list(partitioned.header),
            "partitions": ["day", "site"],
            "files": partitioned.files,
        }
        (part / MANIFEST).write_text(
            json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
        os.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return manifest


class _PartitionedFolder:
    """Collects rows by partition (day and site) until they are written to a file, and lists the
    files written."""

    def __init__(self, folder: Path, table: Table, chosen: Filter) -> None:
        self.folder, self.table = folder, table
        self.header = table.header(chosen)
        self.rows = table.under(self.header, chosen)
        self.day, self.site = (
            (self.header.index(table.day) if table.day else None),
            self.header.index(table.site),
        )
        self.waiting: dict[tuple[str, str], list[Sequence[Any]]] = defaultdict(list)
        self.parts: Counter[tuple[str, str]] = Counter()
        self.files: list[dict[str, Any]] = []

    def fill(self) -> Iterator[int]:
        """Writes all rows; yields how many were read so far. At most about MAX_ROWS rows are kept
        in memory."""
        count = held = 0
        while batch := list(islice(self.rows, text_formats.AT_A_TIME)):
            for row in batch:
                self.waiting[self._key(row)].append(row)
            count, held = count + len(batch), held + len(batch)
            if held >= MAX_ROWS:
                for key in sorted(self.waiting, key=lambda key: -len(self.waiting[key])):
                    held -= self._write(key)
                    if held < MAX_ROWS / 2:
                        break
            yield count
        for key in sorted(self.waiting):
            self._write(key)

    def _key(self, row: Sequence[Any]) -> tuple[str, str]:
        at = row[self.day] if self.day is not None else None
        try:
            site = host_key(row[self.site] or "")
        except UrlError:
            site = ""
        return (f"{at.astimezone(UTC):%Y-%m-%d}" if isinstance(at, datetime) else "", site)

    def _write(self, key: tuple[str, str]) -> int:
        """Writes the collected rows of a partition as one file; returns their number."""
        rows = self.waiting.pop(key)
        place = (
            self.folder / f"day={key[0] or NOTHING}" / f"site={quote(key[1], safe='') or NOTHING}"
        )
        pieces = self.folder / ".pieces"
        place.mkdir(parents=True, exist_ok=True)
        pieces.mkdir()
        target = place / f"part-{self.parts[key]}.parquet"
        try:
            writer = ParquetWriter(pieces, self.header, self.table.column_types, {})
            writer.add(rows)
            writer.finish(target, lambda: None)
        finally:
            shutil.rmtree(pieces, ignore_errors=True)
        self.parts[key] += 1
        size, digest = measured(target)
        about = {
            "path": str(target.relative_to(self.folder)),
            "day": key[0] or None,
            "site": key[1] or None,
        }
        self.files.append({**about, "rows": len(rows), "bytes": size, "sha256": digest})
        return len(rows)
