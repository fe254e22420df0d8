"""Reads folders of saved pages: forum pages with checked records, or pages that belong to no
forum."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from crawlmgr.text.dates import DateContext, find_time
from crawlmgr.text.dates_zones import page_clock
from crawlmgr.web.encoding import decode
from forums.reading.document import Page
from tests.training.reader.scoring import Truth

READ_AT = datetime(2026, 11, 24, tzinfo=UTC)
"""The time of fetching assumed for pages that do not show a time: a constant, so that training on
any day gives the same weights."""


class Saved(NamedTuple):
    """A saved page: its file, address, forum software and site, and its true kind and records. A
    page that is not `measured` is used only for training. `is_variant`: it is a changed copy of
    another page (see the module `variants`)."""

    file: Path
    url: str
    engine: str
    site: str
    truth: Truth
    is_forum: bool
    measured: bool = True
    is_variant: bool = False


def saved_pages(folder: Path, measured: bool = True) -> Iterator[Saved]:
    """Yields the pages of a folder with `pages.csv`, `html/` and `truth/`, or of a folder with
    `list.jsonl` but no `pages.csv`, whose pages belong to no forum. Raises FileNotFoundError for a
    folder with neither. With `measured` False, forum pages are marked as used for training only,
    not for measuring accuracy. The column `variant` marks changed copies of other pages."""
    if not (folder / "pages.csv").exists():
        for line in (folder / "list.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            site = urlsplit(entry["base_url"]).hostname or ""
            truth = {"kind": "other", "base_url": entry["base_url"], "records": []}
            yield Saved(folder / entry["file"], entry["base_url"], site, site, truth, False)
        return
    with (folder / "pages.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            truth = json.loads(
                (folder / "truth" / row["file"]).with_suffix(".json").read_text(encoding="utf-8")
            )
            yield Saved(
                folder / "html" / row["file"],
                row["base_url"],
                row["engine"],
                row["site"],
                truth,
                True,
                measured,
                bool(row.get("variant")),
            )


def parsed(saved: Saved, now: datetime) -> Page:
    """Parses a saved page. Relative times on it refer to the clock that the page shows, otherwise
    to `now`."""
    text = decode(saved.file.read_bytes())[0]
    clock = page_clock(text)
    told = find_time(clock, DateContext(now, "UTC")) if clock else None
    return Page(text, saved.url, told.value if told and not told.relative else now)
