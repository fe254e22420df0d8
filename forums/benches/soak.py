"""The forum that each round of `bench soak` crawls."""

from __future__ import annotations

from urllib.parse import urlsplit

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from forums.services import sites

HISTORY_DAYS = 400


def begin(url: str, number: int) -> int:
    """Inspects the forum at `url`, saves it under a name that contains `number`, and queues a visit
    of all its boards; returns the id of the visit's run."""
    settings = {
        "allow_private": urlsplit(url).netloc,
        "delay_seconds": 0.0,
        "history_days": HISTORY_DAYS,
    }
    look = sites.discover(
        url, {"settings": settings, "timezone": "UTC"}, now=SYSTEM.now(), start=False
    )
    engine.run_slice(look.pk)
    look.refresh_from_db()
    boards = [board["url"] for board in look.result.get("boards", [])]
    site = sites.save(
        look,
        name=f"soak {number}",
        timezone="UTC",
        board_urls=boards,
        interval_seconds=86_400,
        now=SYSTEM.now(),
    )
    return int(
        sites.crawl_now(site.pk, now=SYSTEM.now(), parameters={"history_days": HISTORY_DAYS}).pk
    )
