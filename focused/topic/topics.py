"""Creates, changes, crawls and deletes topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import QuerySet

from crawlmgr.access import vault
from crawlmgr.conf import CrawlSettings
from crawlmgr.models import ACTIVE, Run, Timing, events
from crawlmgr.runs import runs
from crawlmgr.schedule import due, recurring, timings
from crawlmgr.upkeep import removals as removals
from crawlmgr.upkeep import settings_history
from crawlmgr.upkeep.removals import Part, Removal
from crawlmgr.web.url import canonical, host_key, url_hash
from focused.judge.ontology import MAX_CONCEPTS, Ontology
from focused.judge.probability import VERSION
from focused.judge.relevance import Relevance, Topic
from focused.models import GraphNode, SampleDocument, Seed, TopicPage, TopicRun
from focused.models import Topic as StoredTopic
from focused.parameters import PAGES_PER_HOST, RunOptions, read_settings
from focused.run import archived_pages, search
from focused.run.scope import Scope
from focused.strategies.base import strategy_class

MAX_MARKED = 100
"""Maximum number of marked pages that a new run learns from: those that were fetched last."""
MAX_WORDS = 2000
"""Maximum number of words kept of each marked page: its first ones."""


def definition(topic: StoredTopic) -> Topic:
    """Returns the current topic in the form that strategies use."""
    return Topic(
        name=topic.name,
        seeds=tuple(topic.seeds.order_by("position", "id").values_list("url", flat=True)),
        documents=tuple(
            topic.documents.exclude(text="")
            .order_by("position", "id")
            .values_list("text", flat=True)
        ),
        keywords=topic.keywords,
        near=topic.near,
        negative=tuple(topic.negative),
        url_words=tuple(topic.url_words),
        user_words=tuple(topic.user_words),
        threshold=topic.threshold,
        ontology=topic.ontology,
        ontology_weight=topic.ontology_weight,
        marked=marked(topic),
    )


def fitting(topic: StoredTopic, found: Ontology) -> Ontology:
    """Returns the ontology `found`. If it has more than MAX_CONCEPTS concepts, it is reduced to
    those related to the topic's words; words with larger weights are considered first."""
    if len(found.labels) <= MAX_CONCEPTS:
        return found
    relevance = Relevance(replace(definition(topic), ontology={}))
    words = sorted(relevance.words, key=lambda word: (-relevance.vector[word], word))
    return found.around(words, relevance.tokenizer)


def marked(topic: StoredTopic) -> tuple[tuple[str, bool], ...]:
    """Returns the newest pages that the operator marked in the topic's runs (at most MAX_MARKED),
    each address once: pairs of the page's words, separated by spaces, and whether it is on topic.
    """
    pages = TopicPage.objects.filter(run__topic_run__topic=topic, marked__isnull=False).order_by(
        "-id"
    )
    found: dict[int, tuple[str, bool]] = {}
    for page in pages[:MAX_MARKED]:
        if page.url_hash not in found:
            words = [
                word
                for word, number in archived_pages.words_of(page).items()
                for _ in range(number)
            ]
            found[page.url_hash] = (" ".join(words[:MAX_WORDS]), bool(page.marked))
    return tuple(found.values())


@transaction.atomic
def add(
    name: str,
    seeds: Sequence[str],
    *,
    documents: Iterable[tuple[str, str]] = (),
    now: datetime,
    **values: Any,
) -> StoredTopic:
    """Creates a topic. `documents` are samples as pairs of name and text, `values` are further
    fields of the model. Raises ValueError with a one-line message if the name is empty or exists,
    or there is no seed."""
    name = name.strip()
    if not name:
        raise ValueError("a topic needs a name")
    if StoredTopic.objects.filter(name=name).exists():
        raise ValueError(f"there is a topic {name} already")
    if not seeds:
        raise ValueError("a topic needs a seed to start from")
    values["settings"] = vault.sealed(values.get("settings", {}))
    topic = StoredTopic.objects.create(name=name[:200], added=now, **values)
    add_seeds(topic, seeds)
    for position, (title, text) in enumerate(documents):
        values = {"name": title[:300], "text": text, "characters": len(text)}
        SampleDocument.objects.create(topic=topic, position=position, added=now, **values)
    return topic


def add_seeds(topic: StoredTopic, urls: Iterable[str]) -> int:
    """Appends new seeds to those of the topic; returns the number of seeds that were new."""
    known = set(topic.seeds.values_list("url_hash", flat=True))
    first = topic.seeds.count()
    fresh = {url_hash(url): url for url in map(canonical, urls) if url_hash(url) not in known}
    Seed.objects.bulk_create(
        [
            Seed(topic=topic, url=url, url_hash=key, position=first + n)
            for n, (key, url) in enumerate(fresh.items())
        ]
    )
    return len(fresh)


def _limit(options: RunOptions, scope: Scope) -> dict[str, int]:
    """Returns the limit of pages per host as a crawl setting, {} for none. The default limit is not
    applied to a run whose scope is a single host.
    """
    number = options.pages_per_host
    alone = number == PAGES_PER_HOST and len(scope.hosts) == 1
    return (
        {"pages_per_host": number} if number and not alone and options.source != "archive" else {}
    )


def crawl(
    topic: StoredTopic,
    *,
    now: datetime,
    strategy: str = "",
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    user: Any = None,
    start: bool = True,
    scheduled: bool = False,
) -> Run:
    """Starts a run of a topic; omitted values are the topic's own. `start` false creates the run
    without starting it; `scheduled` marks a run that its schedule started. Raises runs.Busy if the
    topic has an active run or is being deleted, ValueError with a one-line message if a value is
    invalid or the scope refuses every seed.
    """
    chosen = strategy or topic.strategy
    found = strategy_class(chosen, django_settings.TOPIC_STRATEGIES)
    own = topic.parameters if chosen == topic.strategy else {}
    values = {**own, **(parameters or {})}
    read_settings(found.Settings, values)
    wishes = {
        key: value
        for key, value in {**topic.options, **(options or {})}.items()
        if value is not None
    }
    scope = Scope.from_mapping({"year": now.year, **wishes.pop("scope", {})})
    run_options: RunOptions = read_settings(RunOptions, wishes)
    limit = _limit(run_options, scope)
    web = {**limit, **topic.settings, **(settings or {})}
    CrawlSettings.from_mapping(web)
    value = definition(topic)
    if not any(scope.refusal(url, 0) is None for url in value.seeds):
        raise ValueError("the scope rules refuse every seed")
    frozen = {
        "strategy": chosen,
        "parameters": values,
        "options": run_options.as_json(),
        "scope": scope.as_json(),
        "settings": web,
    }
    check_removal(topic.pk)
    with transaction.atomic():
        run = runs.create(
            "topic",
            topic.name,
            target=topic.pk,
            exclusive=f"topic {topic.pk}",
            parameters=frozen,
            now=now,
            user=user,
            start=start,
            scheduled=scheduled,
        )
        TopicRun.objects.create(run=run, topic=topic, definition=value.as_json(), judge=VERSION)
    return run


def authorities(urls: Iterable[str]) -> list[str]:
    """Returns the distinct hosts of addresses, sorted, as "host" or "host:port", the form in which
    the address guard (the check for private addresses) takes its exceptions."""
    return sorted({host_key(url) for url in urls})


def edit_run(run: Run, change: Mapping[str, Any]) -> None:
    """Stores an edit of an active run, which is carried out after the current page. Raises
    ValueError with a one-line message if the run has ended or the edit is invalid or empty.

    Keys of `change`, all optional: `seeds`: further seed addresses; `without_hosts`: hosts to crawl
    no longer; `parameters`: new parameters of the strategy; `marks`: the operator's marks by
    address of a fetched page (true, false, null to remove one).
    """
    if not run.active:
        raise ValueError("the run has ended")
    noted: dict[str, Any] = {}
    if change.get("seeds"):
        noted["seeds"] = [canonical(url) for url in change["seeds"]]
    if change.get("without_hosts"):
        noted["without_hosts"] = [
            host.strip().lower() for host in change["without_hosts"] if host.strip()
        ]
    if change.get("parameters") is not None:
        found = strategy_class(run.parameters["strategy"], django_settings.TOPIC_STRATEGIES)
        read_settings(found.Settings, change["parameters"])
        noted["parameters"] = dict(change["parameters"])
    if change.get("marks"):
        noted["marks"] = dict(change["marks"])
    if not noted:
        raise ValueError("nothing is to be changed")
    with transaction.atomic():
        row = TopicRun.objects.select_for_update().get(pk=run.pk)
        row.edits = [*row.edits, noted]
        row.save(update_fields=["edits"])


REMOVAL_KIND = "topic-removal"
KIND = "topic"
"""The kind under which the history of a topic's settings is stored (see topic.tuning)."""


def check_removal(topic_id: int) -> None:
    """Raises runs.Busy if the topic is being deleted."""
    removals.check(REMOVAL_KIND, topic_id)


def delete(topic: StoredTopic, now: datetime) -> None:
    """Deletes a topic and returns when it is done. If the process is killed meanwhile, the function
    can be called again to continue."""
    _stop_runs(topic, now)
    removals.at_once(_removal(topic))


def start_removal(topic: StoredTopic, now: datetime, user: Any = None) -> Run | None:
    """Deletes a small topic (fewer than `removals.AT_ONCE` rows) at once and returns None; for a
    larger one starts a run that deletes it and returns that run. Raises runs.Busy if it is already
    being deleted.
    """
    stop_runs = partial(_stop_runs, topic, now)
    return removals.start(
        REMOVAL_KIND, topic.pk, topic.name, _removal(topic), stop_runs, now=now, user=user
    )


def start_removal_by_key(topic_id: int, now: datetime, user: Any = None) -> None:
    """Starts the deletion of the topic with this id (see `start`), if it still exists."""
    topic = StoredTopic.objects.filter(pk=topic_id).first()
    if topic is not None:
        start_removal(topic, now, user)


class TopicRemoval(removals.RemovalJob):
    """The job that deletes a large topic in steps."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, self._left, lambda: _runs(run.target))

    def _left(self) -> Removal | None:
        topic = StoredTopic.objects.filter(pk=self.run.target).first()
        return _removal(topic) if topic is not None else None


def _runs(topic_id: int | None) -> QuerySet[Run]:
    return Run.objects.filter(kind="topic", target=topic_id)


def _stop_runs(topic: StoredTopic, now: datetime) -> None:
    """Stops the topic's active crawls and removes its schedule; called before the topic is
    deleted."""
    StoredTopic.objects.filter(pk=topic.pk).update(next_run=None, interval_seconds=None)
    removals.end_runs(_runs(topic.pk).filter(state__in=ACTIVE), now)


def _removal(topic: StoredTopic) -> Removal:
    own = _runs(topic.pk)
    pages = Part(TopicPage.objects.filter(run__in=own), first=search.remove)
    graph = Part(GraphNode.objects.filter(run__in=own))

    def last() -> None:
        StoredTopic.objects.get(pk=topic.pk).delete()
        settings_history.forget(KIND, topic.pk)
        timings.forget("topic", topic.pk)

    return Removal([pages, graph, *removals.of_runs(own)], last)


DAY_SECONDS = 86_400
MIN_SECONDS, MAX_SECONDS = 3600, 366 * DAY_SECONDS


def repeated(topic: StoredTopic) -> dict[str, object]:
    """Returns the options of a scheduled run: archived pages younger than the topic's interval are
    used and not counted in the budget; older ones are fetched again."""
    days = (topic.interval_seconds or 0) / DAY_SECONDS
    return {"source": "mixed", "known": "free", "fresh_days": days}


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a run of every topic whose next run is due, at most `limit`, and returns the number of
    runs started. Topics with an active run are skipped. A run created outside the topic's working
    hours waits for them. Called regularly by the dispatcher.
    """
    rows = StoredTopic.objects.filter(next_run__lte=now, interval_seconds__isnull=False).order_by(
        "next_run"
    )
    return due.start_each(KIND, list(rows[:limit]), _start, now)


def retime(topic: int, hours: Timing, now: datetime) -> None:
    """Moves the next scheduled run of a topic into its changed working hours."""
    for one in StoredTopic.objects.filter(pk=topic, next_run__isnull=False):
        StoredTopic.objects.filter(pk=topic).update(
            next_run=timings.soonest(hours, one.next_run, now, one.interval_seconds)
        )


def repeat(topic: StoredTopic, seconds: int | None, now: datetime) -> None:
    """Schedules crawls of a topic, one every `seconds`; with None, only users start crawls."""
    at = (
        timings.when(timings.of(KIND, topic.pk), now + timedelta(seconds=seconds), now)
        if seconds
        else None
    )
    StoredTopic.objects.filter(pk=topic.pk).update(interval_seconds=seconds or None, next_run=at)


def again(topic: StoredTopic, now: datetime, user: Any = None) -> Run:
    """Starts a run of a topic at a user's request, with the options of a scheduled run or, if it is
    the topic's first, with those of the topic. Raises runs.Busy if the topic has an active run,
    ValueError if its settings are invalid.
    """
    return crawl(topic, options=repeated(topic) if topic.runs.exists() else {}, now=now, user=user)


def repeat_by_key(topic: int, seconds: int | None, now: datetime) -> None:
    """Schedules crawls of the topic with this id, as `repeat` does. Raises ValueError with a
    one-line message if there is no such topic or the interval is shorter than an hour or longer
    than a year.
    """
    found = StoredTopic.objects.filter(pk=topic).first()
    if found is None:
        raise ValueError(f"there is no topic {topic}")
    if seconds and not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError(
            "a topic is crawled again every hour at the most, and once a year at the least"
        )
    repeat(found, seconds, now)


def entries(now: datetime, most: int) -> list[recurring.Recurring]:
    """Returns at most `most` topics with scheduled crawls, those due first, as rows for the page of
    schedules."""
    rows = StoredTopic.objects.filter(
        interval_seconds__isnull=False, next_run__isnull=False
    ).order_by("next_run")
    return [
        recurring.Recurring(KIND, *row)
        for row in rows.values_list("pk", "name", "interval_seconds", "next_run")[:most]
    ]


@transaction.atomic
def _start(topic: StoredTopic, hours: Timing | None, now: datetime) -> bool:
    """Starts a topic's scheduled run and sets the time of the next one in the same transaction,
    because after a kill between the two the topic would be crawled twice. Returns False if another
    process started it, or the run was refused.
    """
    rows, seconds = StoredTopic.objects.filter(pk=topic.pk), topic.interval_seconds or DAY_SECONDS
    if not due.claim(
        rows, "next_run", topic.next_run, name=topic.name, seconds=seconds, hours=hours, now=now
    ):
        return False
    try:
        crawl(
            topic, options=repeated(topic) if topic.runs.exists() else {}, now=now, scheduled=True
        )
    except ValueError as error:
        events.error("topic_refused", f"{topic.name}: {error}", now=now)
        return False
    return True
