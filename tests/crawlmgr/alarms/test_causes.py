"""Each rule for alarms: what begins an alarm, what does not, and that it ends when its cause is
gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import translation

from crawlmgr.alarms import alarms, causes
from crawlmgr.alarms.causes import RULES, Cause
from crawlmgr.models import Alarm, Event, Host, Node, Run, RunState
from forums.models import Board, Doubt, Plan, Site, Visit
from tests.crawlmgr.admin.rows import site, user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quiet(settings: Any) -> None:
    settings.MIN_FREE_BYTES = 0


def found() -> list[Cause]:
    cache.clear()  # clears figures that are cached for some minutes
    return list(causes.all_causes(NOW).values())


def run(state: str = RunState.FAILED, **values: Any) -> Run:
    return Run.objects.create(
        **{
            "kind": "forum",
            "label": "F",
            "target": 1,
            "created": NOW,
            "finished": NOW,
            "state": state,
            **values,
        }
    )


def board(**values: Any) -> Board:
    forum = site(1)
    return Board.objects.create(
        **{
            "site": forum,
            "name": "b",
            "key": "b",
            "url": "http://x.example/b",
            "next_visit": NOW,
            **values,
        }
    )


def visited(one: Board, hours: float, posts: int = 8) -> None:
    """Creates a visit of an hour ago that found `posts` posts, each `hours` hours after it was
    written."""
    at = NOW - timedelta(hours=1)
    arrivals = [[at.timestamp() - 3600 * hours, 1, 3600 * hours]] * posts
    Visit.objects.create(
        board=one,
        run=run(RunState.FINISHED, scheduled=True),
        list_pages=1,
        started=at,
        finished=at,
        arrived_new=posts,
        delay_new_seconds=3600 * hours * posts,
        arrivals=arrivals,
    )


def harvests(*items: int) -> None:
    """Creates successive harvests with ten fetched pages each; `items` are the numbers of records
    that they found."""
    for number in items:
        run(RunState.FINISHED, kind="deepweb-harvest", fetched=10, items=number)


class Case(NamedTuple):
    """A rule: a function that creates its cause, one that removes it, and a word of its message."""

    rule: str
    begin: Callable[[], Any]
    end: Callable[[], Any]
    says: str


CASES = {
    "a run failed": Case(
        "failure",
        lambda: run(detail="no host"),
        lambda: run(RunState.FINISHED),
        "F failed: no host",
    ),
    "silence": Case(
        "silence",
        lambda: _site(silent_since=NOW),
        lambda: _site(silent_since=None),
        "yields nothing new",
    ),
    "less in a forum": Case(
        "drop",
        lambda: _site(drop={"items": 40, "usual": 100.0}),
        lambda: _site(drop={}),
        "has 60 % less new content than usual: 40 items in two days, usually 100",
    ),
    "less in a run": Case(
        "drop",
        lambda: harvests(100, 90, 110, 60),
        lambda: harvests(95),
        "found 40 % less than its last runs: 60 items, usually 100",
    ),
    "late visit": Case(
        "late",
        lambda: board(next_visit=NOW - timedelta(hours=3)),
        lambda: Board.objects.update(next_visit=NOW),
        "longest overdue by 3 hours",
    ),
    "delay over target": Case(
        "late",
        lambda: visited(board(deadline_hours=2.0), 6.0),
        lambda: Board.objects.update(deadline_hours=7.0),
        "the worst is b with 6.0 hours on average (target: 2.0)",
    ),
    "layout": Case(
        "layout",
        lambda: _site(layout={"state": "disagrees"}),
        lambda: _site(layout={}),
        "has changed",
    ),
    "doubt": Case(
        "doubt", lambda: _doubt(), lambda: Doubt.objects.update(settled_at=NOW), "1 doubts to check"
    ),
    "HTTP 403": Case(
        "refused",
        lambda: _host(failures=5, last_status=403),
        lambda: _host(failures=0),
        "HTTP status 403, 5 times",
    ),
    "HTTP 429": Case(
        "refused",
        lambda: _host(failures=6, last_status=429),
        lambda: _host(failures=0),
        "HTTP status 429, 6 times",
    ),
    "not reached": Case(
        "refused",
        lambda: _host(failures=5, last_status=0),
        lambda: _host(failures=4),
        "failed 5 times in a row",
    ),
    "robots.txt": Case(
        "refused",
        lambda: _host(robots_verdict="deny"),
        lambda: _host(robots_verdict="rules"),
        "robots.txt of a.example cannot be read",
    ),
    "silent node": Case(
        "worker",
        lambda: Node.objects.create(name="n", started=NOW, heartbeat=NOW - timedelta(minutes=10)),
        lambda: Node.objects.update(heartbeat=NOW),
        "node n has stopped sending heartbeats",
    ),
    "worker ended": Case(
        "worker",
        lambda: Event.objects.create(
            at=NOW, level=30, code="worker_ended", text="worker 1 was killed by signal 9"
        ),
        lambda: Event.objects.update(at=NOW - timedelta(hours=1)),
        "killed by signal 9",
    ),
}


def _site(**values: Any) -> None:
    forum = Site.objects.first() or site(1)
    Site.objects.filter(pk=forum.pk).update(**values)


def _doubt() -> None:
    Doubt.objects.create(site=site(1), code="lesson", subject="x", since=NOW, seen=NOW)


def _host(**values: Any) -> None:
    Host.objects.update_or_create(key="a.example", defaults={"last_request_at": NOW, **values})


@pytest.mark.parametrize("name", CASES)
def test_a_rule_begins_with_its_cause_says_it_and_ends_with_it(name: str) -> None:
    case = CASES[name]
    assert found() == []
    case.begin()
    [cause] = found()
    assert cause.rule == case.rule and not cause.once
    alarm = Alarm(text=cause.text, facts=cause.facts)
    assert case.says in alarms.sentence(alarm)
    with translation.override("zh-hans"):
        assert alarms.sentence(alarm) != cause.text % cause.facts, "translated"
    reader = Client()
    reader.force_login(user("viewer"))
    assert reader.get(cause.path).status_code == 200, "it leads to a page"
    case.end()
    assert found() == []


def test_little_room_on_the_disk_is_told(settings: Any) -> None:
    settings.MIN_FREE_BYTES = 10**18
    [cause] = found()
    assert (cause.rule, cause.key) == ("disk", "disk")
    settings.MIN_FREE_BYTES = 0
    assert found() == []


@pytest.mark.parametrize(("kind", "goal"), [("topic", "relevant"), ("deepweb-harvest", "coverage")])
def test_a_goal_that_is_reached_is_told_once(kind: str, goal: str) -> None:
    run(RunState.FINISHED, kind=kind, stopped_by="gain")
    assert found() == []
    run(RunState.FINISHED, kind=kind, stopped_by=goal, fetched=7, items=3)
    [cause] = found()
    assert (cause.rule, cause.once) == (
        "reached",
        True,
    ) and "7 pages fetched, 3 results found" in cause.text % cause.facts


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} | {"disk", "reached"} == set(RULES)


def test_the_delay_that_is_told_is_the_one_of_the_report() -> None:
    one = board(deadline_hours=2.0)
    Plan.objects.create(
        scope=f"site {one.site_id}", site=one.site, visits_per_day=8, theta=0.25, changed_at=NOW
    )
    now = datetime.now(UTC)
    at = now - timedelta(minutes=5)
    arrivals = [[at.timestamp() - 60, 1, 4 * 3600.0]] * 5 + [[at.timestamp() - 60, 0, 3600.0]] * 5
    Visit.objects.create(
        board=one,
        run=run(RunState.FINISHED, scheduled=True),
        list_pages=1,
        started=at,
        finished=at,
        arrived_new=5,
        arrived_replies=5,
        delay_new_seconds=5 * 14400,
        delay_replies_seconds=5 * 3600,
        arrivals=arrivals,
    )
    [cause] = [cause for cause in causes.all_causes(now).values() if cause.key.startswith("delay")]
    reader = Client()
    reader.force_login(user("viewer"))
    [row] = reader.get(cause.path).context["rows"]
    assert cause.facts["hours"] == round(row["delay"].mean_hours, 1) == round((4 + 0.25) / 1.25, 1)
    assert cause.facts["target"] == row["target"] == 2.0


@pytest.mark.parametrize(
    ("values", "posts"),
    [({}, 8), ({"deadline_hours": 2.0}, 4), ({"deadline_hours": 2.0, "enabled": False}, 8)],
)
def test_without_a_target_or_enough_posts_no_delay_is_told(
    values: dict[str, Any], posts: int
) -> None:
    visited(board(**values), 6.0, posts)
    assert found() == []


@pytest.mark.parametrize(
    "items",
    [(100, 100, 60), (100, 100, 100, 71), (9, 9, 9, 1), (12, 12, 12, 4), (100, 10, 10, 10, 8)],
)
def test_a_smaller_drop_few_runs_or_few_items_are_no_cause(items: tuple[int, ...]) -> None:
    harvests(*items)
    assert found() == []


def test_of_runs_that_a_person_ended_no_drop_is_told() -> None:
    harvests(100, 100, 100)
    run(RunState.STOPPED, kind="deepweb-harvest", fetched=10, items=1)
    run(RunState.FINISHED, kind="forum", fetched=10, items=1)
    assert found() == []


def test_a_paused_forum_says_nothing_of_delays_and_silence() -> None:
    visited(board(deadline_hours=2.0), 6.0)
    _site(paused=True, silent_since=NOW, drop={"items": 1, "usual": 50.0})
    assert found() == []


def test_one_failed_run_after_another_of_the_same_thing_is_one_cause() -> None:
    run(detail="first")
    run(detail="second")
    run(target=2)
    run(kind="topic")
    assert sorted(cause.key for cause in found()) == [
        "failed forum 1",
        "failed forum 2",
        "failed topic 1",
    ]
