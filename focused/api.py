"""Operations of the HTTP API on topics: list, read, add and crawl."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_noop
from ninja import Router, Schema

from crawlmgr.api import api, changes
from crawlmgr.api.base import page_of
from crawlmgr.api.shared import Key, Limit, Page, run_document
from focused.judge.relevance import read_seeds
from focused.models import Topic, TopicRun
from focused.strategies.base import strategy_class
from focused.topic import topics

router = Router(tags=["topics"])
FIELDS = (
    "id",
    "name",
    "keywords",
    "threshold",
    "strategy",
    "parameters",
    "options",
    "interval_seconds",
    "next_run",
    "added",
)


class NewTopic(Schema):
    """Body of a request to add a topic: its seeds, and its subject (sample texts, words, or
    both)."""

    name: str
    seeds: list[str]
    documents: list[str] = []
    keywords: list[str] = []


class Crawl(Schema):
    """Body of a request to crawl a topic: options of the crawl; for options left out, the topic's
    own values are used."""

    strategy: str = ""
    pages: int | None = None
    parameters: dict[str, Any] = {}


@router.get("", response=Page, summary=gettext_noop("Topics"))
def topic_list(request: HttpRequest, after: Key = 0, limit: Limit = 100) -> dict[str, Any]:
    found = list(Topic.objects.filter(pk__gt=after).order_by("pk").values(*FIELDS)[:limit])
    return page_of(found, limit, [row["id"] for row in found])


@router.post(
    "",
    auth=changes,
    summary=gettext_noop("Add a topic"),
    description=gettext_noop(
        "Seeds that are not addresses are skipped and listed in `bad_seeds` with their position."
    ),
)
def add(request: HttpRequest, wanted: NewTopic) -> dict[str, Any]:
    documents = [(f"text {number}", text) for number, text in enumerate(wanted.documents, 1)]
    words = {word.strip(): 1.0 for word in wanted.keywords if word.strip()}
    seeds, bad = read_seeds(wanted.seeds)
    if bad and not seeds:
        raise ValueError(f"seed {bad[0].number} is no address: {bad[0].text[:200]}")
    made = topics.add(
        wanted.name, seeds, documents=documents, keywords=words, now=datetime.now(UTC)
    )
    left_out = [{"place": one.number, "text": one.text} for one in bad]
    return {**Topic.objects.values(*FIELDS).get(pk=made.pk), "bad_seeds": left_out}


@router.get("/{int:topic}", summary=gettext_noop("One topic"))
def topic_page(request: HttpRequest, topic: int) -> dict[str, Any]:
    found = Topic.objects.get(pk=topic)
    seeds = list(found.seeds.order_by("position").values_list("url", flat=True))
    last = found.runs.order_by("-pk").first()
    return {
        **{name: getattr(found, name) for name in FIELDS},
        "seeds": seeds,
        "last_run": _run(last) if last is not None else None,
    }


def _run(row: TopicRun) -> dict[str, Any]:
    counts = {name: getattr(row, name) for name in ("pages", "failed", "duplicates")}
    return {"run": row.pk, "fetched": row.asked, **counts, **row.said}


@router.get(
    "/runs/{int:run}",
    summary=gettext_noop("One run of a topic"),
    description=gettext_noop(
        "The harvest rate is null, with the reason in `harvest_doubt`, as long as too few pages are"
        " marked."
    ),
)
def topic_run(request: HttpRequest, run: int) -> dict[str, Any]:
    return _run(TopicRun.objects.get(pk=run))


@router.post(
    "/{int:topic}/crawl",
    auth=changes,
    summary=gettext_noop("Crawl a topic"),
    description=gettext_noop("Pages are listed under `tables/pages?run=…`, with their relevance."),
)
def crawl(request: HttpRequest, topic: int, wanted: Crawl) -> dict[str, Any]:
    found = Topic.objects.get(pk=topic)
    strategy_class(wanted.strategy or found.strategy, settings.TOPIC_STRATEGIES)
    run = topics.crawl(
        found,
        strategy=wanted.strategy,
        parameters=wanted.parameters,
        options={"pages": wanted.pages},
        now=datetime.now(UTC),
    )
    return run_document(run.pk)


api.add_router("/topics", router)
