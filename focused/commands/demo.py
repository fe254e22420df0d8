"""The topic of the command `demo`: beekeeping, crawled once. Some of its pages can be reached only
through off-topic pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urljoin

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.demo.topic_web import CLUSTER_PAGES, CLUSTERS, TopicWeb
from crawlmgr.management import demonstration
from crawlmgr.management.base import say
from crawlmgr.management.demonstration import DeskPage, Served
from crawlmgr.models import RunState
from crawlmgr.upkeep.demonstration import MARK
from focused.commands.crawl import in_words
from focused.judge.probability import LEAST_MARKS
from focused.models import Topic, TopicRun
from focused.topic import marks, topics

NAME = "Keeping bees (demo)"
STRATEGY = "dynamic_tunnel"
PAGES = 240
RELEVANT = (
    80  # number of relevant pages at which the crawl ends, which raises an alarm as an example
)
ON_TOPIC = CLUSTERS * CLUSTER_PAGES  # pages with smaller numbers are on topic


class TopicDemo:
    """The part of the command `demo` that concerns topics (implements the demonstration's `Part`).
    A second `demo` crawls again only if the first run was not finished.
    """

    def kept(self) -> Served | None:
        topic = _topic()
        seed = topic.seeds.first() if topic is not None else None
        return (
            demonstration.kept(urljoin(seed.url, "/"), topic.settings)
            if topic is not None and seed is not None
            else None
        )

    def add(self, url: str, began: datetime) -> None:
        if _topic() is not None:
            return
        web = TopicWeb()
        try:
            topics.add(
                NAME,
                web.seeds(url),
                documents=web.samples(),
                now=SYSTEM.now(),
                strategy=STRATEGY,
                options={"pages": PAGES, "relevant": RELEVANT},
                threshold=0.3,
                settings=demonstration.crawl_settings(url, began),
            )
        except ValueError as error:
            raise CommandError(f"{error}; rename it, then `demo` can make its own.") from None

    def finish(self) -> dict[str, Any]:
        topic = _only()
        if not _finished(topic).exists():
            say("Topic: crawling …")
            demonstration.worked(
                lambda: topics.crawl(topic, now=SYSTEM.now(), start=False), "topic, pages"
            )
        row = _finished(topic).first() or topic.runs.latest("pk")
        if row.harvest_rate is None:
            for one in marks.shown(row, False, LEAST_MARKS).rows:
                number = one.page.url.partition("/pages/")[2].partition("-")[0]
                marks.mark(one.page, number.isdecimal() and int(number) < ON_TOPIC)
            row.refresh_from_db()
        return {
            "topic": topic.pk,
            "name": topic.name,
            "seeds": topic.seeds.count(),
            "documents": topic.documents.count(),
            "run": row.pk,
            "strategy": row.run.parameters["strategy"],
            "fetched": row.asked,
            **row.said,
            "on_topic": f"on topic: {in_words(row)}",
            "requests": row.run.requests,
        }

    def pages(self) -> list[DeskPage]:
        topic = _only()
        return [
            DeskPage("topic", "topic", (topic.pk,)),
            DeskPage("its crawl", "topic-run", (topic.runs.latest("pk").pk,)),
        ]

    def leave(self, now: datetime) -> None:
        """Does nothing: the topic is crawled only on request, so there is no schedule to pause when
        the demonstration ends."""

    def remove(self, now: datetime) -> list[str]:
        told = []
        for topic in _marked():
            told.append(f"topic {topic.name}: {topic.runs.count()} runs")
            topics.delete(topic, now)
        return told


def _marked() -> Any:
    return Topic.objects.filter(settings__has_key=MARK).order_by("pk")


def _topic() -> Topic | None:
    found: Topic | None = _marked().first()
    return found


def _only() -> Topic:
    topic = _topic()
    if topic is None:
        raise CommandError(
            "The demonstration's topic was taken away meanwhile; `demo` makes it anew."
        )
    return topic


def _finished(topic: Topic) -> Any:
    return (
        TopicRun.objects.filter(topic=topic, run__state=RunState.FINISHED)
        .select_related("run")
        .order_by("-pk")
    )
