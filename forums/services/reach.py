"""How far back in time a board's list has been read, and how far back the next visit reads it (its
reach)."""

from __future__ import annotations

from datetime import datetime, timedelta

from crawlmgr.conf import CrawlSettings
from forums import incremental
from forums.models import Board, Visit

MIN_DEEPER = timedelta(hours=1)
"""A visit that could only read less than this farther back than before does not do so: it reads
only what is new."""


def reach(settings: CrawlSettings, at: datetime) -> datetime:
    """Returns the time of the limit of age: a visit at the time `at` fetches no threads whose last
    reply is older."""
    return at - timedelta(days=settings.history_days)


def deeper(board: Board, settings: CrawlSettings, at: datetime) -> bool:
    """Tells whether a board must be read farther back than before (its history setting was raised):
    its list is then read again, and threads that were too old before are fetched."""
    return board.read_since is not None and reach(settings, at) < board.read_since - MIN_DEEPER


def facts(visit: Visit, settings: CrawlSettings) -> incremental.BoardFacts:
    """Returns the facts by which a visit decides how far to read its board's list: the watermark
    (None if it is to read back to `since`), the largest number of pages, and the page at which an
    interrupted visit is continued.
    """
    board, started, since = visit.board, visit.started, None
    watermark = board.watermark
    if started is not None and (watermark is None or deeper(board, settings, started)):
        watermark, since = None, reach(settings, started)
    return incremental.BoardFacts(
        watermark=watermark,
        since=since,
        max_pages=settings.max_pages,
        slack_seconds=settings.watermark_slack_seconds,
        resume_url=board.unfinished.get("url", ""),
        resume_page=int(board.unfinished.get("page", 0)),
    )
