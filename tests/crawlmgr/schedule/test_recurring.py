"""Scheduled items of all kinds: in the list, the week view, the API and the command line; repeated
harvests; reports of missed starts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from crawlmgr.exports import saved_exports
from crawlmgr.models import Event, Export, Hold, Run, RunState, Timing
from crawlmgr.schedule import desk, due, recurring, timings
from crawlmgr.schedule.recurring import Recurring
from crawlmgr.workers import queue
from deepweb import harvests as harvest_dispatch
from deepweb.models import Form
from focused.topic import topics
from focused.topic import topics as topic_dispatch
from forums.plans import plan_days, plans
from forums.plans import reads as forum_reads
from tests.crawlmgr.admin.rows import user
from tests.deepweb.test_admin import filled
from tests.forums import planned

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC).replace(microsecond=0)


def _world() -> dict[str, int]:
    """Creates one scheduled item of each kind."""
    site = planned.make_site(now=NOW)
    planned.fill(site, now=NOW)
    plan_days.replan(plans.save(site.pk, {"policy": "optimal", "visits_per_day": 24}, now=NOW), NOW)
    topic = topics.add("Every day", ["https://example.org/"], now=NOW)
    topic_dispatch.repeat(topic, 86_400, NOW)
    form = filled().form
    harvest_dispatch.repeat(form, 7 * 86_400, NOW)
    export = saved_exports.add(
        Export(
            name="nightly",
            table="runs",
            format="csv",
            every_hours=24,
            created=NOW + timedelta(hours=3),
        )
    )
    queue.make_schedules()
    return {
        "forum": site.pk,
        "topic": topic.pk,
        "deepweb-harvest": form.pk,
        "export": export.pk,
        recurring.PRUNING: 0,
    }


def _client(role: str = "operator") -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(user(role))
    return client


def test_the_page_the_command_and_the_api_say_the_same(capsys: Any) -> None:
    keys = _world()
    timings.put(
        "topic",
        keys["topic"],
        {"hours": "01:00-06:00", "timezone": "Asia/Shanghai", "jitter_seconds": 600},
        now=NOW,
    )
    call_command("schedule", "list", "--json")
    told = json.loads(capsys.readouterr().out)
    assert {(one["kind"], one["target"]) for one in told["schedules"]} == set(
        keys.items()
    ) and not told["paused"]
    page = _client("first").get("/admin/schedules/")
    shown = {(row.one.kind, row.one.target): row for row in page.context["rows"]}
    assert set(shown) == set(keys.items())
    for one in told["schedules"]:
        at = shown[one["kind"], one["target"]].one.next_at
        assert datetime.fromisoformat(one["next"]) == at
    topic = next(one for one in told["schedules"] if one["kind"] == "topic")
    assert (topic["hours"], topic["timezone"], topic["jitter_seconds"]) == (
        "01:00-06:00",
        "Asia/Shanghai",
        600,
    )
    assert "01:00–06:00" in page.content.decode() and "± 10 min" in page.content.decode()
    assert json.loads(json.dumps(recurring.documents(NOW, 100), default=str))["schedules"][0][
        "name"
    ]


def test_the_week_has_each_start_on_its_day() -> None:
    keys = _world()
    began = datetime.now(UTC)
    page = _client().get("/admin/schedules/?view=week&zone=Asia/Shanghai")
    ended = datetime.now(UTC)
    days = page.context["days"]
    assert len(days) == 7 and page.context["zone"].key == "Asia/Shanghai"
    zone = ZoneInfo("Asia/Shanghai")
    for day, chips in days:
        for chip in chips:
            assert (
                chip.starts.first.astimezone(zone).date()
                == chip.starts.last.astimezone(zone).date()
                == day
            )
    starts = {
        kind: sum(
            chip.starts.count
            for _day, chips in days
            for chip in chips
            if chip.entry.one.kind == kind
        )
        for kind in keys
    }
    assert (
        starts["topic"] in (6, 7) and starts["export"] in (6, 7) and starts["deepweb-harvest"] <= 1
    )
    # The week on the page begins between `began` and `ended`, so its number of visits lies between
    # the numbers for these two times. Late in the day, only tomorrow's visits (24 or more) remain
    # in the plan.
    most, least = (
        sum(
            one.count
            for one in forum_reads.planned([keys["forum"]], first, last + timedelta(days=7), zone)[
                keys["forum"]
            ]
        )
        for first, last in ((began, ended), (ended, began))
    )
    assert 24 <= least <= starts["forum"] <= most


def test_a_loop_s_expected_visits_stand_in_the_week() -> None:
    site = planned.make_site(now=NOW)
    planned.fill(site, now=NOW)
    plan_days.replan(
        plans.save(site.pk, {"policy": "adaptive", "visits_per_day": 24}, now=NOW), NOW
    )
    found = forum_reads.planned([site.pk], NOW, NOW + timedelta(days=7), ZoneInfo("UTC"))[site.pk]
    assert sum(one.count for one in found) > 20 and all(one.first <= one.last for one in found)


def test_starts_ahead_keep_to_the_hours() -> None:
    row = Timing(kind="topic", target=1, hours="mon-fri 01:00-06:00", timezone="UTC")
    monday = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
    found = recurring.ahead(
        Recurring("topic", 1, "t", 6 * 3600, monday), row, monday, monday + timedelta(days=7)
    )
    assert [one.first.weekday() for one in found] == [0, 1, 2, 3, 4, 0]
    assert (
        recurring.ahead(
            Recurring("topic", 1, "t", 3600, monday, paused=True),
            row,
            monday,
            monday + timedelta(days=7),
        )
        == []
    )
    many = recurring.ahead(
        Recurring("topic", 1, "t", 60, monday), None, monday, monday + timedelta(days=7)
    )
    assert len(many) == recurring.MAX_STARTS


def test_a_viewer_sees_no_button_and_no_pruning() -> None:
    _world()
    rows = _client("viewer").get("/admin/schedules/").context["rows"]
    assert {row.one.kind for row in rows} == {
        "forum",
        "topic",
        "deepweb-harvest",
        "export",
    } and not any(row.start for row in rows)


def test_every_button_starts_what_its_line_names() -> None:
    keys = _world()
    client = _client()
    for row in client.get("/admin/schedules/").context["rows"]:
        client.post(row.start)
    started = set(Run.objects.exclude(state=RunState.FINISHED).values_list("kind", "target"))
    assert started == {(kind, target) for kind, target in keys.items() if kind != recurring.PRUNING}
    assert not Run.objects.filter(scheduled=True).exists()


def test_a_harvest_recurs_with_the_settings_of_the_last_one_inside_its_hours() -> None:
    harvest = filled()
    form = harvest.form
    Run.objects.filter(pk=harvest.run_id).update(
        parameters={"policy": "frequency", "queries": 7, "forms": [form.pk], "settings": {}}
    )
    client = _client()
    client.post(f"/admin/deepweb/form/{form.pk}/schedule/", {"interval": "86400"})
    noon = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    Form.objects.update(next_harvest=noon)
    timings.put("deepweb-harvest", form.pk, {"hours": "01:00-06:00"}, now=noon)
    opens = datetime(2026, 5, 2, 1, 0, tzinfo=UTC)
    assert Form.objects.get().next_harvest == opens and harvest_dispatch.start_due(noon) == 0
    assert due.dispatch(opens)["started"] == 1
    run = Run.objects.get(kind="deepweb-harvest", state=RunState.QUEUED)
    assert run.scheduled and (run.parameters["policy"], run.parameters["queries"]) == (
        "frequency",
        7,
    )
    assert Form.objects.get().next_harvest == opens + timedelta(days=1)
    assert harvest_dispatch.start_due(opens + timedelta(days=1)) == 0, "one is under way"
    client.post(f"/admin/deepweb/form/{form.pk}/schedule/", {"interval": "0"})
    assert Form.objects.get().next_harvest is None
    client.post(f"/admin/deepweb/form/{form.pk}/schedule/", {"interval": "17"})
    assert Form.objects.get().interval_seconds is None


def test_missed_starts_are_told_once_and_made_up_for_by_one() -> None:
    export = saved_exports.add(
        Export(
            name="nightly",
            table="runs",
            format="csv",
            every_hours=24,
            created=NOW - timedelta(days=3),
        )
    )
    assert saved_exports.start_due(NOW) == 1 and saved_exports.start_due(NOW) == 0
    assert Event.objects.get(code="schedule_missed").text.startswith("nightly: 4 since")
    page = _client().get("/admin/schedules/").content.decode()
    assert "Starts missed in the last seven days" in page and "nightly: 4 starts since" in page
    Event.objects.all().delete()
    Run.objects.update(state=RunState.FINISHED)
    Export.objects.filter(pk=export.pk).update(next_at=NOW - timedelta(minutes=2))
    saved_exports.start_due(NOW)
    assert not Event.objects.filter(code="schedule_missed").exists()


def test_commands_set_intervals_and_pause_everything(capsys: Any) -> None:
    keys = _world()
    call_command("schedule", "every", "topic", str(keys["topic"]), "12", "--json")
    assert json.loads(capsys.readouterr().out)["interval_seconds"] == 43_200
    call_command("schedule", "every", "deepweb-harvest", str(keys["deepweb-harvest"]), "0")
    call_command("schedule", "every", "export", str(keys["export"]), "168")
    assert Export.objects.get().every_hours == 168 and Form.objects.get().interval_seconds is None
    for kind, target, every in (
        ("topic", 999, 1),
        ("deepweb-harvest", 999, 1),
        ("export", 999, 1),
        ("export", keys["export"], 5),
    ):
        with pytest.raises(CommandError):
            call_command("schedule", "every", kind, str(target), str(every))
    call_command("schedule", "pause")
    assert Hold.objects.exists() and recurring.documents(NOW, 10)["paused"]
    call_command("schedule", "pause", "--off")
    assert due.current() is None


@pytest.mark.parametrize("view", ["", "?view=week"])
def test_the_page_asks_as_much_for_many_as_for_few(
    view: str, django_assert_max_num_queries: Any
) -> None:
    _world()
    client = _client()
    client.get(f"/admin/schedules/{view}")
    for number in range(30):
        topic_dispatch.repeat(
            topics.add(f"t{number}", ["https://example.org/"], now=NOW), 3600, NOW
        )
    with django_assert_max_num_queries(45):
        assert len(client.get(f"/admin/schedules/{view}").context["rows"]) > 30
    assert desk.MAX_SHOWN == 40
