"""Times as forums write them, in a dozen languages: absolute, relative, without a year."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time (aware, UTC) and how exactly the page told it: the true moment lies within `precision_seconds`."""

    value: datetime
    precision_seconds: int
    relative: bool = False


@dataclass(frozen=True, slots=True)
class DateContext:
    """What a reader knows about the page a time stands on."""

    fetched_at: datetime
    timezone: str = "UTC"
    day_first: bool | None = None
    newest: datetime | None = None


def parse_time(text: str, context: DateContext) -> Moment | None:
    """The moment that the whole of `text` tells, None when it is anything else than a time."""
    return None


def find_time(text: str, context: DateContext) -> Moment | None:
    """The first moment told inside a longer text."""
    return None


def decide_day_first(texts: Iterable[str]) -> bool | None:
    """Whether the day stands before the month in numeric dates of one page or site; None without evidence."""
    return None
