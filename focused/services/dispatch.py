"""Scheduled runs of topics: due ones are started, once after any downtime, and fetch only new and outdated pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from crawlmgr.models import Run, Timing
from crawlmgr.services import events, missed, recurring, runs, timings
from focused.models import Topic
from focused.services import topics

KIND = "topic"
DAY_SECONDS = 86_400
LEAST_SECONDS, MOST_SECONDS = 3600, 366 * DAY_SECONDS


def repeated(topic: Topic) -> dict[str, object]:
    """The options of a repeated run: known pages come from the archive and do not count, until they are as old as the
    interval."""
    days = (topic.interval_seconds or 0) / DAY_SECONDS
    return {"source": "mixed", "known": "free", "fresh_days": days}


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a run of every topic that is due; returns the number started. Topics with an active run are skipped. A run outside
    its working hours is created and waits for them."""
    due = list(Topic.objects.filter(next_run__lte=now, interval_seconds__isnull=False).order_by("next_run")[:limit])
    hours = timings.of_many(KIND, [topic.pk for topic in due]) if due else {}
    started = 0
    for topic in due:
        try:
            started += _start(topic, hours.get(topic.pk), now)
        except runs.Busy:
            continue
    return started


def retime(topic: int, hours: Timing, now: datetime) -> None:
    """Moves the next run into new hours."""
    for one in Topic.objects.filter(pk=topic, next_run__isnull=False):
        Topic.objects.filter(pk=topic).update(next_run=timings.soonest(hours, one.next_run, now, one.interval_seconds))


def repeat(topic: Topic, seconds: int | None, now: datetime) -> None:
    """Has a topic crawled again every so many seconds from now on, or only when somebody starts it (None)."""
    due = timings.when(timings.of(KIND, topic.pk), now + timedelta(seconds=seconds), now) if seconds else None
    Topic.objects.filter(pk=topic.pk).update(interval_seconds=seconds or None, next_run=due)


def again(topic: Topic, now: datetime, user: Any = None) -> Run:
    """A run of a topic as its schedule starts it, asked for by a person. Raises runs.Busy, ValueError."""
    return topics.crawl(topic, options=repeated(topic) if topic.runs.exists() else {}, now=now, user=user)


def repeat_by_key(topic: int, seconds: int | None, now: datetime) -> None:
    """The same of a topic by its number. Raises ValueError with one line."""
    found = Topic.objects.filter(pk=topic).first()
    if found is None:
        raise ValueError(f"there is no topic {topic}")
    if seconds and not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise ValueError("a topic is crawled again every hour at the most, and once a year at the least")
    repeat(found, seconds, now)


def entries(now: datetime, most: int) -> list[recurring.Recurring]:
    """The topics that are crawled again by themselves."""
    rows = Topic.objects.filter(interval_seconds__isnull=False, next_run__isnull=False).order_by("next_run")
    return [recurring.Recurring(KIND, *row) for row in rows.values_list("pk", "name", "interval_seconds", "next_run")[:most]]


@transaction.atomic
def _start(topic: Topic, hours: Timing | None, now: datetime) -> bool:
    """Starts a run and sets the next due time, both or neither: a kill between them would crawl the topic twice."""
    after = timings.when(hours, now + timedelta(seconds=topic.interval_seconds or DAY_SECONDS), now)
    held = timings.opens(hours, now)
    if not Topic.objects.filter(pk=topic.pk, next_run=topic.next_run).update(next_run=held or after):
        return False  # another dispatcher was faster, or a person has changed it
    missed.tell(topic.name, topic.next_run, topic.interval_seconds or DAY_SECONDS, now)
    if held:
        return False
    try:
        topics.crawl(topic, options=repeated(topic) if topic.runs.exists() else {}, now=now, scheduled=True)
    except ValueError as error:
        events.error("topic_refused", f"{topic.name}: {error}", now=now)
        return False
    return True
