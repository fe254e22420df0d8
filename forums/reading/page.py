"""`read_page`: from the bytes of a page to its reading."""

from __future__ import annotations

from datetime import datetime

from forums.reading.model import PageKind, PageReading
from forums.reading.rules import SiteRules


def read_page(
    html: str | bytes,
    url: str,
    fetched_at: datetime,
    *,
    hints: bool = True,
    timezone: str = "UTC",
    day_first: bool | None = None,
    expect: PageKind | None = None,
    rules: SiteRules | None = None,
) -> PageReading:
    """What the page at `url`, fetched at `fetched_at` (aware), shows. Never raises for what the page holds."""
    return PageReading(PageKind.other)
