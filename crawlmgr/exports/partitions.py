"""Exports a table as a folder of Parquet files, partitioned by day and site in the layout that
DuckDB, pandas, Spark and Trino read, with a manifest."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from crawlmgr.exports import exports, formats
from crawlmgr.exports.writers import ParquetWriter
from crawlmgr.web.url import UrlError, host_key

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
    chosen: exports.Filter,
    now: datetime,
    progress: exports.Progress = exports.no_progress,
) -> dict[str, Any]:
    """Writes the files `folder/day=2026-05-01/site=a.example/part-0.parquet` and so on, and a
    manifest with the rows, bytes and SHA-256 of every file. Returns the manifest. The folder is
    renamed to its final name when it is complete.

    Days are UTC. `progress` is called with the number of rows so far. Raises NoPartitions if the
    table's rows belong to no site, Taken if the folder exists, and OSError."""
    known = exports.tables()
    if not known[table].site:
        with_site = sorted(name for name, one in known.items() if one.site)
        raise NoPartitions(f"{table} has no site; those that have one are {', '.join(with_site)}")
    if folder.exists():
        raise Taken(f"{folder} exists already")
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        lake = _Lake(part, known[table], chosen)
        for count in lake.fill():
            progress(count)
        manifest = {
            "table": table,
            "filter": chosen.as_json(),
            "written": now.isoformat(),
            "rows": sum(file["rows"] for file in lake.files),
            "columns": list(lake.header),
            "partitions": ["day", "site"],
            "files": lake.files,
        }
        (part / MANIFEST).write_text(
            json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
        os.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return manifest


class _Lake:
    """Collects rows by partition (day and site) until they are written to a file, and lists the
    files written."""

    def __init__(self, folder: Path, table: exports.Table, chosen: exports.Filter) -> None:
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
        while batch := list(islice(self.rows, formats.AT_A_TIME)):
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
            writer = ParquetWriter(pieces, self.header, self.table.kinds, {})
            writer.add(rows)
            writer.finish(target, lambda: None)
        finally:
            shutil.rmtree(pieces, ignore_errors=True)
        self.parts[key] += 1
        size, digest = exports.measured(target)
        about = {
            "path": str(target.relative_to(self.folder)),
            "day": key[0] or None,
            "site": key[1] or None,
        }
        self.files.append({**about, "rows": len(rows), "bytes": size, "sha256": digest})
        return len(rows)
