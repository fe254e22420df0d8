"""Scheduled runs of topics: starts those that are due (once, however many were missed during
downtime), and changes schedules. Scheduled runs fetch only new and outdated pages.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from crawlmgr.models import Run, Timing, events
from crawlmgr.schedule import due, recurring, timings
from focused.models import Topic
from focused.services import topics

KIND = "topic"
DAY_SECONDS = 86_400
MIN_SECONDS, MAX_SECONDS = 3600, 366 * DAY_SECONDS


def repeated(topic: Topic) -> dict[str, object]:
    """Returns the options of a scheduled run: archived pages younger than the topic's interval are
    used and not counted in the budget; older ones are fetched again."""
    days = (topic.interval_seconds or 0) / DAY_SECONDS
    return {"source": "mixed", "known": "free", "fresh_days": days}


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a run of every topic whose next run is due, at most `limit`, and returns the number of
    runs started. Topics with an active run are skipped. A run created outside the topic's working
    hours waits for them. Called regularly by the dispatcher.
    """
    rows = Topic.objects.filter(next_run__lte=now, interval_seconds__isnull=False).order_by(
        "next_run"
    )
    return due.start_each(KIND, list(rows[:limit]), _start, now)


def retime(topic: int, hours: Timing, now: datetime) -> None:
    """Moves the next scheduled run of a topic into its changed working hours."""
    for one in Topic.objects.filter(pk=topic, next_run__isnull=False):
        Topic.objects.filter(pk=topic).update(
            next_run=timings.soonest(hours, one.next_run, now, one.interval_seconds)
        )


def repeat(topic: Topic, seconds: int | None, now: datetime) -> None:
    """Schedules crawls of a topic, one every `seconds`; with None, only users start crawls."""
    at = (
        timings.when(timings.of(KIND, topic.pk), now + timedelta(seconds=seconds), now)
        if seconds
        else None
    )
    Topic.objects.filter(pk=topic.pk).update(interval_seconds=seconds or None, next_run=at)


def again(topic: Topic, now: datetime, user: Any = None) -> Run:
    """Starts a run of a topic at a user's request, with the options of a scheduled run or, if it is
    the topic's first, with those of the topic. Raises runs.Busy if the topic has an active run,
    ValueError if its settings are invalid.
    """
    return topics.crawl(
        topic, options=repeated(topic) if topic.runs.exists() else {}, now=now, user=user
    )


def repeat_by_key(topic: int, seconds: int | None, now: datetime) -> None:
    """Schedules crawls of the topic with this id, as `repeat` does. Raises ValueError with a
    one-line message if there is no such topic or the interval is shorter than an hour or longer
    than a year.
    """
    found = Topic.objects.filter(pk=topic).first()
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
    rows = Topic.objects.filter(interval_seconds__isnull=False, next_run__isnull=False).order_by(
        "next_run"
    )
    return [
        recurring.Recurring(KIND, *row)
        for row in rows.values_list("pk", "name", "interval_seconds", "next_run")[:most]
    ]


@transaction.atomic
def _start(topic: Topic, hours: Timing | None, now: datetime) -> bool:
    """Starts a topic's scheduled run and sets the time of the next one in the same transaction,
    because after a kill between the two the topic would be crawled twice. Returns False if another
    process started it, or the run was refused.
    """
    rows, seconds = Topic.objects.filter(pk=topic.pk), topic.interval_seconds or DAY_SECONDS
    if not due.claim(
        rows, "next_run", topic.next_run, name=topic.name, seconds=seconds, hours=hours, now=now
    ):
        return False
    try:
        topics.crawl(
            topic, options=repeated(topic) if topic.runs.exists() else {}, now=now, scheduled=True
        )
    except ValueError as error:
        events.error("topic_refused", f"{topic.name}: {error}", now=now)
        return False
    return True
