"""The crawls that each round of `bench soak` begins: of a forum, a topic and a search site."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.demo.topic_web import TopicWeb
from crawlmgr.runs import runs
from deepweb import harvests
from deepweb.forms import sources
from deepweb.models import Form
from focused.topic import topics
from forums.sites import sites

HISTORY_DAYS = 400
# budget of pages: larger than the number of pages in the web, so that the run ends when nothing is
# left to fetch
PAGES = 5000
QUERIES, DETAILS = 40, 160


def forum(url: str, number: int) -> int:
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
    try:
        run = sites.crawl_now(site.pk, now=SYSTEM.now(), parameters={"history_days": HISTORY_DAYS})
    except runs.Busy as busy:  # the schedule was quicker
        run = busy.run
    return int(run.pk)


def topic(url: str, number: int) -> int:
    """Adds a topic for the generated web `number`, which is served at `url`, and queues a crawl of
    the whole web; returns the run's id."""
    web = TopicWeb(number)
    settings = {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0}
    topic = topics.add(
        f"soak {number}",
        web.seeds(url),
        documents=web.samples(),
        now=SYSTEM.now(),
        strategy="best_first",
        options={"pages": PAGES},
        settings=settings,
    )
    return int(topics.crawl(topic, now=SYSTEM.now()).pk)


def search_site(url: str, number: int) -> int:
    """Finds the search form at `url` and queues a harvest of it, whose label ends with `number`;
    returns the run's id."""
    settings = {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0}
    sources.add([url], SYSTEM.now(), settings)
    engine.run_slice(sources.find([url], now=SYSTEM.now(), settings=settings, start=False).pk)
    form = (
        Form.objects.filter(source__url=url, searchable=True)
        .select_related("source", "cluster")
        .latest("confidence")
    )
    options = {"queries": QUERIES, "probes": 0, "details": DETAILS, "stop_rules": False}
    return int(
        harvests.start(
            [form], options, now=SYSTEM.now(), settings=settings, label=f"soak {number}"
        ).pk
    )


BEGINNINGS: dict[str, Callable[[str, int], int]] = {
    "forum": forum,
    "topic": topic,
    "museum": search_site,
}
"""Functions that begin a crawl, by the kind of site."""
