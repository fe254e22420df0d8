"""The state of a board between visits: how far back in time its list has been read, and the
increasing pauses after failures."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeVar

from crawlmgr.conf import CrawlSettings
from crawlmgr.web.http.exchange import Failure
from forums.models import Board, OverviewSource, Visit
from forums.visits import incremental

FIRST_SECONDS = 900.0


LONGEST_SECONDS = 86_400.0


LONGEST_OF_SITE_SECONDS = (
    7_200.0  # longest pause if the whole site fails, since it may recover at any time
)


_OF_NETWORK = (
    Failure.dns,
    Failure.connect,
    Failure.proxy,
    Failure.tls,
    Failure.timeout,
    Failure.too_slow,
    Failure.reset,
)


_OF_SITE = frozenset(
    (
        *_OF_NETWORK,
        "http_429",
        "host_unreachable",
        "robots_unreachable",
        "login_expired",
        "layout_changed",
    )
)


Failing = TypeVar("Failing", Board, OverviewSource)


def pause_seconds(failures: int, reason: str) -> float:
    """Returns the pause after this number of failures in a row (at least 1): a quarter of an hour,
    then twice as long each time, up to a day, or two hours if the reason of the last failure
    concerns the whole site."""
    code = reason.partition(":")[0].partition(" ")[0]
    longest = (
        LONGEST_OF_SITE_SECONDS
        if code in _OF_SITE or code.startswith("http_5")
        else LONGEST_SECONDS
    )
    return min(longest, FIRST_SECONDS * 2.0 ** min(failures - 1, 20))


def record_failure(one: Failing, reason: str, now: datetime) -> None:
    """Counts a failed reading of a board's list or of an overview source, and sets its pause."""
    one.failures += 1
    one.rests_until = now + timedelta(seconds=pause_seconds(one.failures, reason))
    one.save(update_fields=["failures", "rests_until"])


def record_success(one: Failing) -> None:
    """Ends the pause of a board or source, because it was read successfully."""
    if one.failures:
        one.failures, one.rests_until = 0, None
        one.save(update_fields=["failures", "rests_until"])


MIN_DEEPER = timedelta(hours=1)


"""A visit that could only read less than this farther back than before does not do so: it reads
only what is new."""


def age_limit(settings: CrawlSettings, at: datetime) -> datetime:
    """Returns the time of the limit of age: a visit at the time `at` fetches no threads whose last
    reply is older."""
    return at - timedelta(days=settings.history_days)


def deeper(board: Board, settings: CrawlSettings, at: datetime) -> bool:
    """Tells whether a board must be read farther back than before (its history setting was raised):
    its list is then read again, and threads that were too old before are fetched."""
    return board.read_since is not None and age_limit(settings, at) < board.read_since - MIN_DEEPER


def facts(visit: Visit, settings: CrawlSettings) -> incremental.BoardFacts:
    """Returns the facts by which a visit decides how far to read its board's list: the watermark
    (None if it is to read back to `since`), the largest number of pages, and the page at which an
    interrupted visit is continued.
    """
    board, started, since = visit.board, visit.started, None
    watermark = board.watermark
    if started is not None and (watermark is None or deeper(board, settings, started)):
        watermark, since = None, age_limit(settings, started)
    return incremental.BoardFacts(
        watermark=watermark,
        since=since,
        max_pages=settings.max_pages,
        slack_seconds=settings.watermark_slack_seconds,
        resume_url=board.unfinished.get("url", ""),
        resume_page=int(board.unfinished.get("page", 0)),
    )
