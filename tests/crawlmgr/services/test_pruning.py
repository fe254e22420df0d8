"""What only tells of the past goes in small batches, each kind after its own time; what that frees is told before."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crawlmgr.models import Event, Host, HostHour, Run, Url
from crawlmgr.services import pruning

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


def events(number: int, days: int) -> None:
    Event.objects.bulk_create(Event(at=NOW - timedelta(days=days), level=20, code="x") for _ in range(number))


def test_no_transaction_drops_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "BATCH", 10)
    events(35, 91)
    with CaptureQueriesContext(connection) as caught:
        assert pruning.prune(NOW)["events"] == 35
    deleted = [query["sql"] for query in caught.captured_queries if query["sql"].startswith('DELETE FROM "crawlmgr_event"')]
    assert len(deleted) == 4 and not Event.objects.exists()


def test_each_kind_is_kept_as_long_as_its_setting_says(settings: Any) -> None:
    settings.KEEP_DAYS = {"events": 5, "hours": 0}
    host = Host.objects.create(key="a.example")
    HostHour.objects.create(host=host, hour=NOW - timedelta(days=4000))
    events(2, 4)
    events(3, 6)
    assert pruning.frees(NOW) == [("events", 5, 3), ("hours", 0, 0)]
    assert pruning.prune(NOW) == {"events": 3, "sessions": 0} and Event.objects.count() == 2 and HostHour.objects.count() == 1


def test_addresses_go_only_with_runs_that_ended_for_good_and_only_when_asked(settings: Any) -> None:
    assert settings.KEEP_DAYS["addresses"] == 0
    settings.KEEP_DAYS = {"addresses": 30}
    host, old = Host.objects.create(key="a.example"), NOW - timedelta(days=31)
    for number, (state, finished) in enumerate((("finished", old), ("stopped", old), ("failed", old), ("running", None), ("finished", NOW))):
        run = Run.objects.create(kind="forum", label="x", state=state, created=old, finished=finished)
        first = Url.objects.create(run=run, host=host, key_hash=number, url="http://a.example/", added_at=old)
        Url.objects.create(run=run, host=host, key_hash=number + 100, url="http://a.example/b", added_at=old, parent=first)
    assert pruning.frees(NOW)[0].rows == 4 and pruning.prune(NOW)["addresses"] == 4
    assert sorted(Url.objects.values_list("run__state", flat=True).distinct()) == ["failed", "finished", "running"]


def test_the_command_tells_before_it_drops(capsys: pytest.CaptureFixture[str]) -> None:
    events(3, 91)
    call_command("prune", "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["dropped"] is False and {"kind": "events", "keep_days": 90, "rows": 3} in told["kinds"] and Event.objects.count() == 3
    call_command("prune", "--json")
    assert json.loads(capsys.readouterr().out)["dropped"] is True and not Event.objects.exists()
