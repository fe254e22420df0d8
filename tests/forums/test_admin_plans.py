"""The plan page: planned visits with their reasons; fixing, moving, adding and cancelling them;
history; roles; a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from forums.admin import words
from forums.models import Board, Plan, PlanDay, PlannedVisit, Site
from forums.plans import next_visits, plan_days, plans
from tests.crawlmgr.admin.rows import EVIL, user
from tests.forums.planned import fill, make_site

pytestmark = pytest.mark.django_db
TOKYO = ZoneInfo("Asia/Tokyo")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    with translation.override("en"):
        yield


def client_of(role: str) -> Client:
    made = Client()
    made.force_login(user(role))
    return made


def planned(policy: str = "optimal", visits: int = 24) -> tuple[Site, Plan]:
    now = datetime.now(UTC).replace(microsecond=0)
    site = make_site(zone="Asia/Tokyo", now=now)
    fill(site, now=now)
    plan = plans.save(site.pk, {"policy": policy, "visits_per_day": visits}, now=now)
    assert plan_days.replan(plan, now) is not None
    return site, plan


def test_visits_to_come_are_told_with_their_reasons_on_the_clock_of_the_site() -> None:
    site, _plan = planned()
    client = client_of("viewer")
    answer = client.get(f"/admin/forums/site/{site.pk}/plan/")
    page = answer.content.decode()
    first = answer.context["coming"][0]
    local = PlannedVisit.objects.filter(state="planned").order_by("at")[0].at.astimezone(TOKYO)
    assert first["clock"] == f"{local:%m-%d %H:%M}" and first["clock"] in page
    assert "posts an hour are expected" in first["why"] and "the last visit was" in first["why"]
    assert 'name="do"' not in page and "Recompute the plan" not in page, "a viewer changes nothing"
    board = Board.objects.get(position=0)
    only = client.get(f"/admin/forums/site/{site.pk}/plan/?board={board.pk}&show=5").context[
        "coming"
    ]
    assert len(only) == 5 and {row["visit"].board.pk for row in only} == {board.pk}


def test_the_loop_tells_what_it_expects_and_a_person_can_fix_it() -> None:
    site, plan = planned("adaptive")
    client = client_of("operator")
    answer = client.get(f"/admin/forums/site/{site.pk}/plan/")
    assert not PlannedVisit.objects.filter(state="planned").exists()
    row = answer.context["coming"][0]
    assert row["why"].startswith("expected: about")
    later = answer.context["coming"][10]
    client.post(
        f"/admin/forums/site/{site.pk}/plan/add/",
        {"board": later["visit"].board.pk, "at": later["local"]},
    )
    fixed = PlannedVisit.objects.get()
    assert (
        fixed.pinned
        and fixed.board_id == later["visit"].board.pk
        and f"{fixed.at.astimezone(TOKYO):%Y-%m-%dT%H:%M}" == later["local"]
    )
    page = client.get(f"/admin/forums/site/{site.pk}/plan/").content.decode()
    assert "scheduled by operator" in page and "time fixed" in page


def test_a_visit_is_pinned_moved_and_taken_out() -> None:
    site, plan = planned()
    client = client_of("operator")
    visit = PlannedVisit.objects.filter(state="planned").order_by("at")[3]

    def do(**data: str) -> None:
        assert (
            client.post(f"/admin/forums/plan/visits/{visit.pk}/", data).headers["Location"]
            == f"/admin/forums/site/{site.pk}/plan/"
        )
        if data["do"] != "remove":
            visit.refresh_from_db()

    do(do="pin")
    assert visit.pinned and not visit.daily
    do(do="daily")
    assert visit.daily
    do(do="free")
    assert not visit.pinned and not visit.daily
    wish = (datetime.now(UTC) + timedelta(hours=3)).astimezone(TOKYO).strftime("%Y-%m-%dT%H:%M")
    do(do="move", at=wish)
    assert visit.at.astimezone(TOKYO).strftime("%Y-%m-%dT%H:%M") == wish and visit.code == "person"
    do(do="move", at="nonsense")
    do(do="move", at="2001-01-01T00:00")
    assert visit.at.astimezone(TOKYO).strftime("%Y-%m-%dT%H:%M") == wish
    do(do="nonsense")
    do(do="remove")
    assert not PlannedVisit.objects.filter(pk=visit.pk).exists()
    assert client.post("/admin/forums/plan/visits/999999/", {"do": "pin"}).status_code == 404


def test_a_visit_that_was_planned_anew_meanwhile_is_kept_or_the_plan_is_shown_again() -> None:
    site, plan = planned()
    client = client_of("operator")
    row = client.get(f"/admin/forums/site/{site.pk}/plan/").context["coming"][10]
    form = {"plan": plan.pk, "board": row["visit"].board.pk, "at": row["local"]}
    address = f"/admin/forums/plan/visits/{row['visit'].planned.pk}/"
    plan_days.replan(plan, datetime.now(UTC))
    assert not PlannedVisit.objects.filter(pk=row["visit"].planned.pk).exists()
    shown = client.post(address, {**form, "do": "remove"}, follow=True)
    assert (
        shown.redirect_chain[-1][0] == f"/admin/forums/site/{site.pk}/plan/"
        and "was recomputed meanwhile" in shown.content.decode()
    )
    assert not PlannedVisit.objects.filter(pinned=True).exists()
    assert (
        client.post(address, {**form, "do": "pin"}).headers["Location"]
        == f"/admin/forums/site/{site.pk}/plan/"
    )
    kept = PlannedVisit.objects.get(pinned=True)
    assert (
        kept.board_id == form["board"]
        and f"{kept.at.astimezone(TOKYO):%Y-%m-%dT%H:%M}" == row["local"]
    )


def test_only_those_who_may_change_a_plan_do() -> None:
    site, plan = planned()
    visit = PlannedVisit.objects.filter(state="planned")[0]
    viewer = client_of("viewer")
    for address in (
        f"site/{site.pk}/plan/anew/",
        f"site/{site.pk}/plan/add/",
        f"plan/visits/{visit.pk}/",
    ):
        assert (
            viewer.post(
                f"/admin/forums/{address}", {"do": "remove", "board": visit.board_id}
            ).status_code
            == 403
        )
    operator = client_of("operator")
    made = PlanDay.objects.order_by("-day")[0].times_made
    assert operator.post(f"/admin/forums/site/{site.pk}/plan/anew/").status_code == 302
    assert PlanDay.objects.order_by("-day")[0].times_made == made + 1
    assert operator.post("/admin/forums/site/0/plan/anew/").status_code == 404


def test_without_a_plan_the_room_says_what_holds() -> None:
    site, client = make_site(now=datetime.now(UTC)), client_of("viewer")
    assert "No plan yet" in client.get(f"/admin/forums/site/{site.pk}/plan/").content.decode()
    assert "No plan yet" in client.get("/admin/forums/site/0/plan/").content.decode()
    plans.save(None, {"policy": "optimal", "visits_per_day": 12}, now=datetime.now(UTC))
    assert (
        "shares the plan of all forums"
        in client.get(f"/admin/forums/site/{site.pk}/plan/").content.decode()
    )
    both = client.get("/admin/forums/site/0/plan/").content.decode()
    assert "No future visit is planned yet" in both and "will be recomputed" in both
    plans.save(site.pk, {"policy": "interval", "visits_per_day": 12}, now=datetime.now(UTC))
    assert (
        "due one interval after its last visit"
        in client.get(f"/admin/forums/site/{site.pk}/plan/").content.decode()
    )
    plans.save(site.pk, {"active": False}, now=datetime.now(UTC))
    assert "is not active" in client.get(f"/admin/forums/site/{site.pk}/plan/").content.decode()


def test_names_from_the_web_stay_text() -> None:
    site, _plan = planned()
    Board.objects.update(name=EVIL[:200])
    page = client_of("operator").get(f"/admin/forums/site/{site.pk}/plan/").content.decode()
    assert "<script>alert(1)" not in page and "<img src=x" not in page


@pytest.mark.parametrize("policy", ["optimal", "adaptive"])
def test_the_page_asks_no_more_for_many_visits_than_for_few(policy: str) -> None:
    site, plan = planned(
        policy
    )  # with 24 visits a day, there are always more planned visits than the page is asked to show
    client = client_of("viewer")

    def count(show: int) -> int:
        with CaptureQueriesContext(connection) as found:
            assert (
                len(client.get(f"/admin/forums/site/{site.pk}/plan/?show={show}").context["coming"])
                >= show
            )
        return len(found)

    count(2)
    assert count(2) >= count(14)


def test_reasons_in_words() -> None:
    at = datetime(2026, 11, 20, 5, 5, tzinfo=UTC)
    figures = {
        "from_hour": 13.0,
        "to_hour": 15.0,
        "per_hour": 8.04,
        "previous": "2026-11-20T02:40:00+00:00",
        "hours_since": 2.42,
    }
    assert (
        words.why_planned("rhythm", figures, TOKYO, at)
        == "because 8 posts an hour are expected from 13 to 15 o'clock, and the last visit was at"
        " 11:40"
    )
    assert "11-19 11:40" in words.why_planned(
        "rhythm", {**figures, "previous": "2026-11-19T02:40:00+00:00"}, TOKYO, at
    )
    assert words.why_planned("rhythm", {**figures, "previous": None}, TOKYO, at).endswith(
        "there was no visit before"
    )
    assert (
        words.why_planned("even", figures, TOKYO, at)
        == "evenly spaced: 2.4 h after the last visit (11:40)"
    )
    assert "average rhythm" in words.why_planned("even", {**figures, "prior": True}, TOKYO, at)
    assert "about 3.2 posts waited" in words.why_planned(
        "waiting", {**figures, "waiting": 3.21}, TOKYO, at
    )
    assert words.why_planned("person", {}, TOKYO, at, "50 % ann") == "scheduled by 50 % ann"
    assert words.why_planned("unknown %s", {}, TOKYO, at) == "unknown %s"


def test_a_site_says_how_its_visits_are_chosen_and_one_click_changes_it() -> None:
    site = make_site()
    plans.begin(site.pk, now=datetime.now(UTC))
    viewer, operator = client_of("viewer"), client_of("operator")
    address, post = f"/admin/forums/site/{site.pk}/", f"/admin/forums/site/{site.pk}/plan/policy/"
    page = viewer.get(address).content.decode()
    assert (
        "The adaptive policy chooses the visits, 12 a day" in page
        and "equals the number of visits" in page
        and "average posting rhythm" in page
    )
    assert "Back to fixed intervals" not in page
    assert viewer.post(post, {"policy": "interval"}).status_code == 403
    assert "Back to fixed intervals" in operator.get(address).content.decode()
    assert (
        operator.post(post, {"policy": "interval", "from": "forum"}).headers["Location"] == address
    )
    page = operator.get(address).content.decode()
    assert (
        next_visits.of_site(site.pk) is None
        and "at their fixed intervals" in page
        and "Use the adaptive policy" in page
    )
    operator.post(post, {"policy": "adaptive"})
    assert Plan.objects.get().policy == "adaptive"
    operator.post(post, {"policy": "luck"})
    Plan.objects.all().delete()
    operator.post(post, {"policy": "adaptive"})
    assert (Plan.objects.get().visits_per_day, Plan.objects.get().policy) == (12, "adaptive")
