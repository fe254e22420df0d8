"""Working hours of scheduled items: starts are moved into them, runs wait outside them, and changes
are recorded, undone and applied at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django_q.models import OrmQ

from crawlmgr import jobs
from crawlmgr.exports import saved_exports
from crawlmgr.models import Export, Run, RunState, Timing
from crawlmgr.runs import run_reads, runs
from crawlmgr.schedule import timings
from focused.models import Topic
from focused.topic import topics
from focused.topic import topics as topic_dispatch
from tests.crawlmgr.admin.rows import user

pytestmark = pytest.mark.django_db
NIGHT = {"hours": "01:00-06:00", "timezone": "UTC"}
NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
OPENS = datetime(2026, 5, 2, 1, 0, tzinfo=UTC)


class At:
    """A clock that does not move."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


def _export(next_at: datetime | None = None) -> Export:
    return Export.objects.create(
        name="every day",
        table="runs",
        format="csv",
        every_hours=24 if next_at else 0,
        next_at=next_at,
        created=NOON,
    )


def test_an_export_that_is_due_waits_for_its_hours_and_stays_in_them() -> None:
    export = _export(NOON - timedelta(minutes=1))
    timings.put("export", export.pk, NIGHT, now=NOON)
    assert Export.objects.get().next_at == OPENS
    Export.objects.update(
        next_at=NOON - timedelta(minutes=1)
    )  # as after a downtime that lasted past its working hours
    assert (
        saved_exports.start_due(NOON) == 0
        and Export.objects.get().next_at == OPENS
        and not Run.objects.exists()
    )
    assert saved_exports.start_due(OPENS) == 1
    assert Run.objects.get().scheduled and Export.objects.get().next_at == OPENS + timedelta(days=1)


def test_a_scheduled_run_waits_outside_its_hours_and_says_so() -> None:
    export = _export()
    timings.put("export", export.pk, NIGHT, now=NOON)
    run = saved_exports.start(export, now=NOON, scheduled=True)
    assert jobs.run_slice(run.pk, clock=At(NOON), seconds=5) == RunState.RUNNING
    run.refresh_from_db()
    assert (run.waiting_for, run.waiting_until, run.waits) == ("hours 01:00-06:00 UTC", OPENS, 0)
    assert runs.ready(NOON) == [] and runs.ready(OPENS) == [run.pk]
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("operator"))
    page = client.get(f"/admin/runs/{run.pk}/").content.decode()
    assert "waits for its hours (01:00–06:00, UTC)" in page and "Continue now" in page
    assert (
        'title="waits for its hours (01:00–06:00, UTC)">waits</span>'
        in client.get("/admin/runs/").content.decode()
    )
    assert run_reads.report(run, NOON)["waiting_for"] == "hours 01:00-06:00 UTC"
    assert jobs.run_slice(run.pk, clock=At(OPENS), seconds=5) == RunState.FINISHED


def test_a_run_that_a_person_starts_runs_at_once() -> None:
    export = _export()
    timings.put("export", export.pk, NIGHT, now=NOON)
    run = saved_exports.start(export, now=NOON)
    assert jobs.run_slice(run.pk, clock=At(NOON), seconds=5) == RunState.FINISHED


def test_a_held_run_goes_on_when_a_person_says_so_or_its_hours_change(
    django_capture_on_commit_callbacks: Any,
) -> None:
    first, second = _export(), _export()
    held = []
    for export in (first, second):
        timings.put("export", export.pk, NIGHT, now=NOON)
        held.append(saved_exports.start(export, now=NOON, scheduled=True))
        jobs.run_slice(held[-1].pk, clock=At(NOON), seconds=5)
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("operator"))
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"/admin/runs/{held[0].pk}/now/")
        timings.put("export", second.pk, {"hours": "11:00-13:00"}, now=NOON)
    assert OrmQ.objects.count() == 2
    for run in held:
        assert (
            runs.ready(NOON)
            and jobs.run_slice(run.pk, clock=At(NOON), seconds=5) == RunState.FINISHED
        )


def test_a_topic_is_crawled_inside_its_hours_only() -> None:
    topic = topics.add("t", ["https://example.org/"], now=NOON)
    topic_dispatch.repeat(topic, 3600, NOON)
    timings.put("topic", topic.pk, {**NIGHT, "timezone": "Asia/Shanghai"}, now=NOON)
    opens = datetime(2026, 5, 1, 17, 0, tzinfo=UTC)
    assert Topic.objects.get().next_run == opens
    Topic.objects.update(next_run=NOON)
    assert topic_dispatch.start_due(NOON) == 0 and Topic.objects.get().next_run == opens
    assert topic_dispatch.start_due(opens) == 1 and Run.objects.get(kind="topic").scheduled
    assert Topic.objects.get().next_run == opens + timedelta(hours=1)
    Run.objects.all().delete()
    late = datetime(2026, 5, 1, 21, 30, tzinfo=UTC)
    Topic.objects.update(next_run=late)
    topic_dispatch.start_due(late)
    assert Topic.objects.get().next_run == opens + timedelta(days=1)


def test_starts_are_moved_by_chance_but_stay_inside() -> None:
    row = Timing(kind="topic", target=1, hours="01:00-06:00", timezone="UTC", jitter_seconds=1800)
    found = [timings.when(row, OPENS + timedelta(days=n, hours=2), NOON) for n in range(50)]
    moved = [
        (at - OPENS - timedelta(days=n, hours=2)).total_seconds() for n, at in enumerate(found)
    ]
    assert min(moved) < 0 < max(moved) and max(map(abs, moved)) <= 1800
    edges = [timings.when(row, OPENS + timedelta(days=n), NOON) for n in range(50)]
    assert all(at >= OPENS + timedelta(days=n) for n, at in enumerate(edges))


def test_changes_are_kept_undone_and_forgotten_with_the_thing() -> None:
    export = _export(NOON)
    timings.put("export", export.pk, NIGHT, now=NOON, user=user("operator"))
    timings.put("export", export.pk, {"jitter_seconds": 600}, now=NOON)
    timings.undo("export", export.pk, NOON)
    assert timings.values_of(timings.of("export", export.pk)) == {**NIGHT, "jitter_seconds": 0}
    timings.undo("export", export.pk, NOON)
    assert not Timing.objects.exists()
    timings.put("export", export.pk, NIGHT, now=NOON)
    saved_exports.remove(export, NOON)
    assert not Timing.objects.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"hours": "night"},
        {"timezone": "Mars/Base"},
        {"jitter_seconds": -1},
        {"jitter_seconds": 10**6},
    ],
)
def test_bad_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="^[^\n]+$"):
        timings.put("export", 1, values, now=NOON)
    with pytest.raises(ValueError, match="not of simulation"):
        timings.put("simulation", 1, NIGHT, now=NOON)


def test_the_page_sets_what_the_command_shows(capsys: Any) -> None:
    export = _export(NOON)
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("operator"))
    url = f"/admin/schedules/export/{export.pk}/"
    wish = {
        "limited": "on",
        "start": "22:00",
        "end": "06:00",
        "days": ["0", "1", "2", "3", "4"],
        "timezone": "Asia/Shanghai",
        "jitter": "10",
    }
    told = client.post(url, wish, follow=True).content.decode()
    assert "Mon–Fri" not in told and "Mon-Fri 22:00–06:00" in told and "Jitter" not in told
    call_command("schedule", "hours", "export", str(export.pk), "--json")
    shown = json.loads(capsys.readouterr().out)
    assert (shown["hours"], shown["timezone"], shown["jitter_seconds"]) == (
        "mon-fri 22:00-06:00",
        "Asia/Shanghai",
        600,
    )
    assert len(shown["openings"]) == 5
    for bad in (
        {**wish, "start": ""},
        {**wish, "days": []},
        {**wish, "timezone": "Nowhere"},
        {**wish, "jitter": "x"},
    ):
        assert client.post(url, bad).status_code == 422
    assert timings.of("export", export.pk).hours == "mon-fri 22:00-06:00"
    client.post(f"{url}undo/")
    assert not Timing.objects.exists()
    with pytest.raises(CommandError, match="hours are written like"):
        call_command(
            "schedule", "hours", "export", str(export.pk), "--hours", "night", stderr=StringIO()
        )
    assert client.get("/admin/schedules/export/999/").status_code == 404
    assert client.get("/admin/schedules/nothing/1/").status_code == 404


def test_a_viewer_sees_hours_and_sets_none() -> None:
    export = _export(NOON)
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("viewer"))
    url = f"/admin/schedules/export/{export.pk}/"
    assert client.get(url).status_code == 200
    assert client.post(url, {"timezone": "UTC", "jitter": "1"}).status_code == 403
    assert client.post(f"{url}undo/").status_code == 403
