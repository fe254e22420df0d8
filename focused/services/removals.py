"""Deletion of topics with their runs and stored pages; their WARC files stay in the archive."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import QuerySet

from crawlmgr.models import ACTIVE, Run
from crawlmgr.schedule import timings
from crawlmgr.upkeep import removals, settings_history
from crawlmgr.upkeep.removals import Part, Removal
from focused.models import GraphNode, Topic, TopicPage
from focused.services import search

KIND = "topic-removal"
KIND_OF_SETTINGS = "topic"
"""The kind under which the history of a topic's settings is stored (see services.tuning)."""


def check(topic_id: int) -> None:
    """Raises runs.Busy if the topic is being deleted."""
    removals.check(KIND, topic_id)


def delete(topic: Topic, now: datetime) -> None:
    """Deletes a topic and returns when it is done. If the process is killed meanwhile, the function
    can be called again to continue."""
    _stop_runs(topic, now)
    removals.at_once(_removal(topic))


def start(topic: Topic, now: datetime, user: Any = None) -> Run | None:
    """Deletes a small topic (fewer than `removals.AT_ONCE` rows) at once and returns None; for a
    larger one starts a run that deletes it and returns that run. Raises runs.Busy if it is already
    being deleted.
    """
    stop_runs = partial(_stop_runs, topic, now)
    return removals.start(
        KIND, topic.pk, topic.name, _removal(topic), stop_runs, now=now, user=user
    )


def start_by_key(topic_id: int, now: datetime, user: Any = None) -> None:
    """Starts the deletion of the topic with this id (see `start`), if it still exists."""
    topic = Topic.objects.filter(pk=topic_id).first()
    if topic is not None:
        start(topic, now, user)


class TopicRemoval(removals.RemovalJob):
    """The job that deletes a large topic in steps."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, self._left, lambda: _runs(run.target))

    def _left(self) -> Removal | None:
        topic = Topic.objects.filter(pk=self.run.target).first()
        return _removal(topic) if topic is not None else None


def _runs(topic_id: int | None) -> QuerySet[Run]:
    return Run.objects.filter(kind="topic", target=topic_id)


def _stop_runs(topic: Topic, now: datetime) -> None:
    """Stops the topic's active crawls and removes its schedule; called before the topic is
    deleted."""
    Topic.objects.filter(pk=topic.pk).update(next_run=None, interval_seconds=None)
    removals.end_runs(_runs(topic.pk).filter(state__in=ACTIVE), now)


def _removal(topic: Topic) -> Removal:
    own = _runs(topic.pk)
    pages = Part(TopicPage.objects.filter(run__in=own), first=search.remove)
    graph = Part(GraphNode.objects.filter(run__in=own))

    def last() -> None:
        Topic.objects.get(pk=topic.pk).delete()
        settings_history.forget(KIND_OF_SETTINGS, topic.pk)
        timings.forget("topic", topic.pk)

    return Removal([pages, graph, *removals.of_runs(own)], last)
