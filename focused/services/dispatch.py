"""Scheduled runs of topics: what is due is started, once after any downtime, and fetches only what is new or due."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from crawlmgr.services import events, runs
from focused.models import Topic
from focused.services import topics

DAY_SECONDS = 86_400


def repeated(topic: Topic) -> dict[str, object]:
    """The options of a repeated run: known pages come from the archive for nothing, until they are as old as the interval."""
    days = (topic.interval_seconds or 0) / DAY_SECONDS
    return {"source": "mixed", "known": "free", "fresh_days": days}


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a run of every topic that is due; returns the number started. Topics under way are passed over."""
    started = 0
    for topic in Topic.objects.filter(next_run__lte=now, interval_seconds__isnull=False).order_by("next_run")[:limit]:
        try:
            started += _start(topic, now)
        except runs.Busy:
            continue
    return started


@transaction.atomic
def _start(topic: Topic, now: datetime) -> bool:
    """A run and when the next one is due, both or neither: a kill between the two would crawl the topic twice."""
    after = now + timedelta(seconds=topic.interval_seconds or DAY_SECONDS)
    if not Topic.objects.filter(pk=topic.pk, next_run=topic.next_run).update(next_run=after):
        return False  # another dispatcher was faster, or a person has changed it
    try:
        topics.crawl(topic, options=repeated(topic) if topic.runs.exists() else {}, now=now)
    except ValueError as error:
        events.error("topic_refused", f"{topic.name}: {error}", now=now)
        return False
    return True
