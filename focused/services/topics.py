"""Creates, changes, crawls and deletes topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction

from crawlmgr.access import sealed_settings
from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run
from crawlmgr.runs import runs
from crawlmgr.web.url import canonical, host_key, url_hash
from focused.judge import VERSION
from focused.models import SampleDocument, Seed, TopicPage, TopicRun
from focused.models import Topic as StoredTopic
from focused.ontology import MAX_CONCEPTS, Ontology
from focused.parameters import PAGES_PER_HOST, RunOptions, read_settings
from focused.relevance import Relevance
from focused.scope import Scope
from focused.services import removals, sessions
from focused.strategies import strategy_class
from focused.topics import Topic

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
                word for word, number in sessions.words_of(page).items() for _ in range(number)
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
    values["settings"] = sealed_settings.sealed(values.get("settings", {}))
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
    removals.check(topic.pk)
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


def delete(topic: StoredTopic, now: datetime) -> None:
    """Deletes a topic with its runs and their stored pages, and returns when it is done; WARC files
    stay in the archive."""
    removals.delete(topic, now)
