"""The delay report: its figures agree with measured visits; export; empty states; roles; a constant
number of queries."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from crawlmgr.models import Run
from forums.models import Board, Plan, PlannedVisit, Site, Visit
from tests.crawlmgr.admin.rows import EVIL, site, user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    with translation.override("en"):
        yield


def client_of(role: str) -> Client:
    made = Client()
    made.force_login(user(role))
    return made


def measured(boards: int = 2, visits: int = 5, planned: bool = True) -> Site:
    """Creates visits every six hours; each found one new thread two hours old and one reply one
    hour old."""
    forum, now = site(), datetime.now(UTC)
    plan = Plan.objects.create(
        scope=f"site {forum.pk}", site=forum, visits_per_day=8, changed_at=now
    )
    for number in range(boards):
        board = Board.objects.create(
            site=forum,
            name=f"=b{number} {EVIL}",
            url=f"u{number}",
            key=str(number),
            has_last_reply=True,
        )
        for turn in range(visits):
            at = now - timedelta(hours=6 * turn + 1)
            arrivals = [[at.timestamp() - 7200, 1, 7200.0], [at.timestamp() - 3600, 0, 3600.0]]
            visit = Visit.objects.create(
                board=board,
                run=Run.objects.create(kind="forum", label="x", created=at, scheduled=True),
                started=at,
                finished=at,
                list_pages=1,
                fetched=4,
                changed=3,
                failed=1,
                arrived_new=1,
                arrived_replies=1,
                delay_new_seconds=7200,
                delay_replies_seconds=3600,
                arrivals=arrivals,
            )
            if planned:
                PlannedVisit.objects.create(
                    plan=plan, board=board, at=at, state="started", visit=visit, expected_delay=5.0
                )
    return forum


def test_the_figures_are_those_that_visits_measured() -> None:
    forum = measured()
    answer = client_of("viewer").get(f"/admin/forums/site/{forum.pk}/delays/")
    report = answer.context["report"]
    assert report.delay.events == 20 and report.delay.mean_hours == pytest.approx((2 + 0.5) / 1.5)
    assert (
        report.delay.median_hours == pytest.approx(1.5) and report.delay.share_within_target == 0.5
    )
    assert report.precision == 0.75 and report.recall == pytest.approx(3 / 4)
    row = answer.context["rows"][0]
    assert row["expected"] == pytest.approx(row["delay"].mean_hours * 5.0 / 2.5)
    page = answer.content.decode()
    assert page.count("data-chart=") == 4 and "<script>alert(1)" not in page
    assert client_of("none").get(f"/admin/forums/site/{forum.pk}/delays/").status_code == 403


def test_without_plans_only_what_was_measured_is_told() -> None:
    forum, client = measured(planned=False), client_of("viewer")
    Board.objects.update(has_last_reply=False)
    answer = client.get(f"/admin/forums/site/{forum.pk}/delays/?days=7&target=2.5")
    assert answer.context["rows"][0]["expected"] is None and answer.context["report"].recall is None
    assert answer.context["report"].delay.share_within_target == 1.0
    assert "No planned visit was made in these days" in answer.content.decode()


def test_equal_visits_are_as_many_a_day_as_there_were_since_the_forum_is_watched() -> None:
    forum, client = measured(), client_of("viewer")
    here, now = f"/admin/forums/site/{forum.pk}/delays/?days=14", datetime.now(UTC)

    def report(watched: timedelta) -> Any:
        Board.objects.update(watched_since=now - watched)
        return client.get(here).context["report"]

    fresh, old = report(timedelta(hours=30)), report(timedelta(days=90))
    assert fresh.visits_per_day == pytest.approx(8.0, rel=0.01)
    assert 10 / 14 <= old.visits_per_day < 10 / 13, "ten visits in the period"
    assert fresh.era.mean_hours < old.era.mean_hours / 3
    assert fresh.delay.mean_hours == old.delay.mean_hours


def test_less_than_a_day_is_compared_with_nothing() -> None:
    forum, client = measured(visits=3), client_of("viewer")
    Board.objects.update(watched_since=datetime.now(UTC) - timedelta(hours=20))
    here = f"/admin/forums/site/{forum.pk}/delays/"
    answer = client.get(here)
    report, page = answer.context["report"], answer.content.decode()
    assert (report.era, report.visits_per_day) == (None, None) and report.delay.events == 12
    assert "needs a day; 20 h were measured" in page and "Visits a day" not in page
    assert all(row["era"] is row["ratio"] is None for row in answer.context["rows"])
    days = client.get(f"{here}days.csv").getvalue().decode()  # type: ignore[attr-defined]
    assert sum(int(row["events"]) for row in csv.DictReader(io.StringIO(days))) == 12
    assert {row["era_mean_hours"] for row in csv.DictReader(io.StringIO(days))} == {""}


def test_visits_of_people_and_failed_ones_tell_nothing_about_the_schedule() -> None:
    forum, client = measured(), client_of("viewer")
    Board.objects.update(watched_since=datetime.now(UTC) - timedelta(hours=30))
    visits = list(Visit.objects.order_by("pk"))
    Run.objects.filter(visits__in=visits[:3]).update(scheduled=False)
    Visit.objects.filter(pk=visits[3].pk).update(
        list_pages=0, fetched=0, arrivals=[], arrived_new=0, arrived_replies=0
    )
    report = client.get(f"/admin/forums/site/{forum.pk}/delays/").context["report"]
    assert report.delay.events == 12 and report.found.sums["visits"] == 6


def test_the_export_is_safe_and_complete() -> None:
    forum, client = measured(), client_of("viewer")

    def rows(table: str) -> list[dict[str, str]]:
        answer = client.get(f"/admin/forums/site/{forum.pk}/delays/{table}.csv?days=14&target=1")
        return list(  # type: ignore[attr-defined]
            csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))
        )

    posts = rows("posts")
    assert len(posts) == 20 and {row["kind"] for row in posts} == {"new", "reply"}
    assert all(row["board"].startswith("'=b") for row in posts)
    assert sorted({float(row["delay_seconds"]) for row in posts}) == [3600.0, 7200.0]
    assert len(rows("boards")) == 2 and len(rows("days")) == 14
    assert sum(int(row["events"]) for row in rows("days")) == 20
    assert client.get(f"/admin/forums/site/{forum.pk}/delays/nonsense.csv").status_code == 404


def test_nothing_measured_says_what_is_needed_and_nonsense_is_told() -> None:
    forum, client = site(), client_of("viewer")
    assert "no board yet" in client.get(f"/admin/forums/site/{forum.pk}/delays/").content.decode()
    Board.objects.create(site=forum, name="b", url="u", key="k")
    assert (
        "first complete visit"
        in client.get(f"/admin/forums/site/{forum.pk}/delays/").content.decode()
    )
    assert client.get(f"/admin/forums/site/{forum.pk}/delays/?days=5&target=x").status_code == 200
    assert client.get("/admin/forums/site/0/delays/").status_code == 200
    assert client.get("/admin/forums/site/99999/delays/").status_code == 404


def test_the_report_asks_no_more_for_many_rows_than_for_few() -> None:
    client = client_of("viewer")

    def count(forum: Site) -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(f"/admin/forums/site/{forum.pk}/delays/").status_code == 200
        return len(found)

    forum = measured(1, 2)
    count(forum)
    few = count(forum)
    Site.objects.all().delete()
    assert count(measured(30, 20)) <= few
