"""The crawl loop where another worker has taken the run meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models import F

from crawlmgr import engine
from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Event, Run, RunState
from crawlmgr.services import events, frontier, runs
from crawlmgr.services.frontier import NewUrl

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Ending:
    """A crawler without addresses that writes at its end."""

    def settings(self, run: Run) -> CrawlSettings:
        return CrawlSettings()

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return ()

    def idle(self, run: Run, now: datetime) -> str:
        events.warn("ending", "written", now=now, run_id=run.pk)
        return "complete"

    def ended(self, state: str, *_: Any) -> None:
        """Nothing is held."""


@pytest.fixture
def run(settings: LazySettings) -> Run:
    settings.CRAWLERS = {"ending": "tests.crawlmgr.test_engine.Ending"}
    return runs.create("ending", "a run", parameters={}, now=NOW, start=False)


def test_a_run_without_addresses_ends(run: Run) -> None:
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert run.stopped_by == "complete" and Event.objects.filter(code="ending").count() == 1


def test_who_has_lost_the_run_writes_nothing_at_its_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    original = frontier.next_turn

    def taken(run_id: int, now: datetime) -> frontier.Wait | None:
        Run.objects.filter(pk=run_id).update(fence=F("fence") + 1)  # another worker, when the lease had run out
        return original(run_id, now)

    monkeypatch.setattr(frontier, "next_turn", taken)
    assert engine.run_slice(run.pk) == "leased"
    assert not Event.objects.filter(code="ending").exists() and Run.objects.get(pk=run.pk).state == RunState.RUNNING
