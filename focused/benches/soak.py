"""The topic that each round of `bench soak` crawls."""

from __future__ import annotations

from urllib.parse import urlsplit

from crawlmgr.clock import SYSTEM
from crawlmgr.demo.topic_web import TopicWeb
from focused.services import topics

# budget of pages: larger than the number of pages in the web, so that the run ends when nothing is
# left to fetch
PAGES = 5000


def begin(url: str, number: int) -> int:
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
