"""The tuning page: the preview follows the fields and saves nothing; saving recomputes the plan;
roles, escaping, a constant number of queries."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from forums.admin import tuning
from forums.models import Board, BoardHour, Plan, Post, Site, Thread
from forums.simulation import tuning as reads
from tests.crawlmgr.admin.rows import EVIL, NOW, site, user
from tests.standing import StandingClock

pytestmark = pytest.mark.django_db
FORM: dict[str, Any] = {
    "policy": "adaptive",
    "visits_per_day": "24",
    "theta": "0.5",
    "history_days": "20",
    "half_life_days": "",
    "bins": "24",
    "active": "on",
}


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    reads.forget()
    with translation.override("en"):
        yield


def client_of(role: str) -> Client:
    made = Client()
    made.force_login(user(role))
    return made


def filled(boards: int = 3, days: int = 30, posts: bool = False) -> Site:
    """A forum observed for some days, with more posts in the evening."""
    forum, rng = site(), np.random.default_rng(4)
    hour = NOW.replace(minute=0, second=0)
    for number in range(boards):
        board = Board.objects.create(
            site=forum,
            name=f"{EVIL} {number}",
            url=f"u{number}",
            key=str(number),
            position=number,
            complete_at=NOW,
            watched_since=NOW - timedelta(days=days),
            last_visit=NOW,
        )
        counts = rng.poisson(0.2 * (number + 1), size=24 * days)
        BoardHour.objects.bulk_create(
            BoardHour(board=board, hour=hour - timedelta(hours=back), threads=0, replies=int(count))
            for back, count in enumerate(counts)
        )
        if posts:
            thread = Thread.objects.create(
                site=forum, board=board, key=str(number), url="x", title="t", first_seen=NOW
            )
            moments = [
                hour - timedelta(hours=back)
                for back, count in enumerate(counts)
                for _ in range(count)
            ]
            Post.objects.bulk_create(
                Post(thread=thread, key=str(place), position=place, posted=moment, first_seen=NOW)
                for place, moment in enumerate(moments)
            )
    return forum


def ask(client: Client, forum: Site | None, stage: str, **change: Any) -> Any:
    return client.post(
        f"/admin/forums/site/{forum.pk if forum else 0}/tuning/preview/",
        {**FORM, **change, "stage": stage},
    )


def figure(answer: Any, key: str) -> Any:
    return json.loads(answer.content)["figures"][key]["figure"]


def test_the_page_shows_curves_allocation_and_hours() -> None:
    forum = filled()
    page = client_of("viewer").get(f"/admin/forums/site/{forum.pk}/tuning/").content.decode()
    assert page.count("data-chart=") == 3 and 'data-stages="quick exact replay"' in page
    assert "Save and recompute the plan" not in page and "<script>alert(1)" not in page
    operator = client_of("operator")
    assert (
        "Save and recompute the plan"
        in operator.get("/admin/forums/site/0/tuning/").content.decode()
    )
    assert operator.get("/admin/forums/site/999999/tuning/").status_code == 404


def test_the_preview_follows_the_fields_and_saves_nothing() -> None:
    forum, client = filled(), client_of("viewer")
    few, many = (
        ask(client, forum, "quick", visits_per_day="12"),
        ask(client, forum, "quick", visits_per_day="48"),
    )
    bars = [sum(figure(answer, "chart-allocation")["data"][0]["y"]) for answer in (few, many)]
    assert bars == pytest.approx([12, 48], abs=0.1)
    names = {line["name"] for line in figure(many, "chart-curve")["data"]}
    plain = {
        "era: equal visits, equally spaced",
        "wra: number of visits by posting volume",
        "lra: times of visits by posting rhythm",
        "bra: the paper's rule, corrected",
    }
    assert plain | {"optimal timetable", "fixed interval"} == {
        html.unescape(name) for name in names
    }
    assert figure(many, "chart-curve")["layout"]["shapes"][0]["x0"] == 48
    heavy = Board.objects.get(position=0)
    loved = ask(client, forum, "quick", **{f"importance-{heavy.pk}": "500", "board": str(heavy.pk)})
    visits = figure(loved, "chart-allocation")["data"][0]["y"]
    assert visits[0] > 18, "the important board stands first and takes nearly all visits"
    exact = json.loads(ask(client, forum, "exact").content)
    assert "exactly" in exact["html"]["tuning-facts"]
    assert json.loads(ask(client, forum, "exact", policy="era").content) == {}
    assert not Plan.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"visits_per_day": "0"},
        {"theta": "2"},
        {"policy": "x"},
        {"history_days": "-1"},
        {"importance": "0"},
        {"importance-1": "much"},
        {"requests_per_day": "0"},
    ],
)
def test_a_wrong_field_is_told(change: dict[str, str]) -> None:
    forum, client = filled(1), client_of("operator")
    answer = ask(client, forum, "quick", **change)
    assert answer.status_code == 422 and json.loads(answer.content)["error"]
    assert (
        client.post(f"/admin/forums/site/{forum.pk}/tuning/", {**FORM, **change}).status_code == 422
    )
    assert not Plan.objects.exists()


def test_saving_makes_a_plan_that_is_made_anew_and_changes_importance() -> None:
    forum, client = filled(), client_of("operator")
    board = Board.objects.get(position=1)
    data = {
        **FORM,
        "visits_per_day": "30",
        "theta": "0.3",
        "importance": "2",
        f"importance-{board.pk}": "3",
        "policy": "optimal",
    }
    assert client.post(f"/admin/forums/site/{forum.pk}/tuning/", data).status_code == 302
    plan = Plan.objects.get()
    assert (plan.site, plan.policy, plan.visits_per_day, plan.theta, plan.active) == (
        forum,
        "optimal",
        30,
        0.3,
        True,
    )
    assert plan.stale and plan.changed_by is not None and plan.changed_by.username == "operator"
    board.refresh_from_db()
    forum.refresh_from_db()
    assert (board.importance, forum.importance) == (3, 2)
    for text, limit in (("500", 500), ("", None)):
        client.post(f"/admin/forums/site/{forum.pk}/tuning/", {**data, "requests_per_day": text})
        forum.refresh_from_db()
        assert forum.requests_per_day == limit
    assert (
        client_of("viewer").post(f"/admin/forums/site/{forum.pk}/tuning/", data).status_code == 403
    )
    client.post("/admin/forums/site/0/tuning/", FORM)
    assert Plan.objects.filter(site=None).count() == 1


def test_a_replay_says_what_bra_gives_beside_the_default_or_what_is_missing() -> None:
    forum, client = filled(posts=True), client_of("viewer")
    text = json.loads(ask(client, forum, "replay").content)["html"]["tuning-replay"]
    assert re.search(
        r"the paper's bra means (\d+ % (longer|shorter)|equally long) waits compared with era", text
    ), text
    assert text.count("<tr>") == 5 and "equal visits, equally spaced" in text
    client.cookies["django_language"] = "zh-hans"
    other = json.loads(ask(client, forum, "replay").content)["html"]["tuning-replay"]
    assert other.count("<tr>") == 5 and "equal visits" not in other, (
        "what is cached has no language"
    )
    del client.cookies["django_language"]
    Board.objects.update(watched_since=None, complete_at=None, last_visit=None)
    assert (
        "A replay needs at least six days"
        in json.loads(ask(client, forum, "replay", theta="0.4").content)["html"]["tuning-replay"]
    )


def test_a_difference_that_rounds_to_nothing_is_no_percentage() -> None:
    assert [tuning.waits(one) for one in (12.4, -0.4, 0.0, -29.6)] == [
        "12 % longer waits",
        "equally long waits",
        "equally long waits",
        "30 % shorter waits",
    ]


def test_before_any_history_the_pooled_rhythm_stands_in() -> None:
    forum = site()
    client = client_of("viewer")
    assert (
        "no board to visit" in client.get(f"/admin/forums/site/{forum.pk}/tuning/").content.decode()
    )
    Board.objects.create(site=forum, name="new", url="u", key="n")
    page = client.get(f"/admin/forums/site/{forum.pk}/tuning/").content.decode()
    assert "Nothing is known about these boards yet" in page and page.count("data-chart=") == 3


def test_the_page_asks_no_more_for_many_boards_than_for_few() -> None:
    client, forum = client_of("viewer"), filled(3, 5)

    def count() -> int:
        reads.forget()
        with CaptureQueriesContext(connection) as found:
            assert client.get(f"/admin/forums/site/{forum.pk}/tuning/").status_code == 200
        return len(found)

    count()
    few = count()
    Board.objects.bulk_create(
        Board(site=forum, name=f"n{n}", url=f"x{n}", key=f"x{n}", watched_since=NOW, last_visit=NOW)
        for n in range(60)
    )
    assert count() <= few


def test_a_slider_does_not_read_the_history_again(monkeypatch: pytest.MonkeyPatch) -> None:
    forum, client = filled(), client_of("viewer")
    clock = StandingClock(monkeypatch, NOW, "forums.admin.tuning")

    def count(**change: Any) -> int:
        with CaptureQueriesContext(connection) as found:
            assert ask(client, forum, "quick", **change).status_code == 200
        return len(found)

    first = count()
    assert count(visits_per_day="36", policy="era") < first
    clock.moment += timedelta(minutes=1)
    assert count() == first, "what was read is kept for a minute"
    assert count(history_days="7") == first
    Board.objects.filter(position=0).update(last_visit=NOW - timedelta(hours=1))
    assert count() == first, "a visit may have brought posts"


def test_the_limit_of_requests_is_held_against_the_visits() -> None:
    forum, client = filled(), client_of("operator")

    def facts(**change: Any) -> str:
        return json.loads(ask(client, forum, "quick", **change).content)["html"]["tuning-facts"]

    assert "~ 48" in facts() and "would need" not in facts(requests_per_day="48")
    held = facts(requests_per_day="24")
    assert "about 48 requests a day, and the forum allows 24: enough for about 12 visits" in held
    Site.objects.update(requests_per_day=9)
    assert "would need" in client.get(f"/admin/forums/site/{forum.pk}/tuning/").content.decode()
    assert "would need" not in facts(requests_per_day="")
    assert "allows 9" in json.loads(ask(client, None, "quick").content)["html"]["tuning-facts"]


def test_visits_beyond_one_a_minute_are_not_planned_and_cost_no_preview() -> None:
    forum, client = filled(boards=1), client_of("operator")
    answer = ask(client, forum, "quick", visits_per_day="10000000")
    assert answer.status_code == 200 and "1,440" in answer.content.decode()
    saved = client.post(
        f"/admin/forums/site/{forum.pk}/tuning/", {**FORM, "visits_per_day": "10000000"}
    )
    assert (
        saved.status_code == 422
        and "1440 at the most" in saved.content.decode()
        and not Plan.objects.exists()
    )


def test_the_exact_planner_gives_way_to_a_slider(monkeypatch: pytest.MonkeyPatch) -> None:
    forum, client, slept = filled(), client_of("viewer"), []
    monkeypatch.setattr(reads, "PAUSES", 2)
    monkeypatch.setattr(reads.time, "sleep", slept.append)
    ask(client, forum, "exact", policy="optimal")
    assert not slept
    reads.forget()
    with reads.exact_planner_paused():
        assert "exactly" in ask(client, forum, "exact", policy="optimal").content.decode()
    assert len(slept) == 2 * 3, "twice before each board, and no longer"
