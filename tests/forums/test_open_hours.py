"""Tests forums with working hours: timetables and the adaptive policy visit only within these hours
and use the whole budget there; a visit that falls due outside them waits for the opening."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.models import Run, RunState
from crawlmgr.schedule import opening_hours, timings
from forums import dispatch
from forums.models import Board, Plan, PlanDay, PlannedVisit
from forums.plans import expected_visits, plan_days, plans
from forums.schedule import day_planning, opening_hours_arrays
from forums.schedule.events import Sites
from forums.schedule.opening_hours_arrays import Openings
from forums.sites import sites
from tests.crawlmgr.admin.rows import user
from tests.forums.planned import NOW, fill, make_site
from tests.forums.test_adaptive import (
    DAY,
    DIURNAL,
    HOUR,
    NOTHING,
    START,
    loop_of,
    run_day,
    sites_of,
)
from tests.forums.test_dispatch import end_runs, follow_day

UTC_ZONE = ZoneInfo("UTC")
NIGHT = {"hours": "22:00-06:00", "timezone": "UTC"}
SPANS = (
    st.lists(st.floats(0.0, 24.0), min_size=2, max_size=6, unique=True)
    .filter(lambda ends: len(ends) % 2 == 0)
    .map(lambda ends: tuple(zip(sorted(ends)[::2], sorted(ends)[1::2], strict=True)))
    .filter(lambda spans: all(last - first > 0.05 for first, last in spans))
)


def inside(hours: np.ndarray, spans: opening_hours_arrays.Spans) -> bool:
    return all(any(first <= hour < last for first, last in spans) for hour in hours.tolist())


@given(SPANS, st.integers(1, 96), st.lists(st.floats(0.0, 23.999), min_size=1, max_size=9))
def test_the_planning_clock_keeps_the_day_and_leads_back_inside(
    spans: opening_hours_arrays.Spans, bins: int, hours: list[float]
) -> None:
    rates = np.random.default_rng(bins).uniform(0.0, 5.0, (3, bins))
    assert opening_hours_arrays.to_planning_clock(rates, spans).sum(axis=1) == pytest.approx(
        rates.sum(axis=1), rel=0.05
    )
    mapped = opening_hours_arrays.to_day_hours(np.array(sorted(hours)), spans)
    assert inside(mapped, spans) and (np.diff(mapped) >= 0).all()


def test_always_open_changes_nothing() -> None:
    rates = np.outer([4.0, 1.0], DIURNAL)
    assert opening_hours_arrays.to_planning_clock(
        rates, opening_hours_arrays.WHOLE_DAY
    ) == pytest.approx(rates)
    assert opening_hours_arrays.to_day_hours(
        np.array([0.0, 7.5]), opening_hours_arrays.WHOLE_DAY
    ).tolist() == [
        0.0,
        7.5,
    ]


def _given(boards: int = 3) -> day_planning.DayInput:
    rates = np.outer(np.linspace(1.0, 3.0, boards), DIURNAL)
    site = np.arange(boards) % 2
    return day_planning.DayInput(
        rates, rates, site, np.full(boards, 2.0), np.full(2, np.inf), np.full(2, 0.01)
    )


@pytest.mark.parametrize("policy", ["era", "wra", "lra", "bra", "optimal"])
def test_every_policy_spends_the_budget_inside_the_hours(policy: str) -> None:
    spans = (((1.0, 6.0),), ((0.0, 2.0), (20.0, 24.0)))
    board, hour = day_planning.schedule_in_hours(policy, _given(), 12, spans).on(0)
    assert len(board) == 12
    assert inside(hour[board != 1], spans[0]) and inside(hour[board == 1], spans[1])


def test_what_is_posted_while_closed_is_fetched_soon_after_the_opening() -> None:
    rates = np.full((1, 24), 1.0)
    one = day_planning.DayInput(
        rates, rates, np.zeros(1, dtype=int), np.ones(1), np.full(1, np.inf), np.zeros(1)
    )
    spans = (((1.0, 6.0),),)
    made = day_planning.schedule_in_hours("optimal", one, 3, spans)
    hour = np.sort(made.on(0)[1])
    assert hour[0] < 1.5
    equal = day_planning.schedule_in_hours("era", one, 3, spans)
    assert made.expected_delay(rates)[0] <= equal.expected_delay(rates)[0]


def test_a_site_that_is_closed_all_day_has_no_visits_and_the_others_take_them() -> None:
    board, _hour = day_planning.schedule_in_hours(
        "optimal", _given(4), 8, ((), opening_hours_arrays.WHOLE_DAY)
    ).on(0)
    assert set(board.tolist()) == {1, 3} and len(board) == 8
    assert len(day_planning.schedule_in_hours("optimal", _given(4), 8, ((), ())).on(0)[0]) == 0


def test_a_cycle_of_days_goes_on_over_open_days_only() -> None:
    monday = date(2026, 11, 23)
    only = [True, False, False, False, False, False, False]
    turns = [
        day_planning.matching_days_before(monday + timedelta(weeks=week), only) for week in range(4)
    ]
    assert np.diff(turns).tolist() == [1, 1, 1]
    every = [
        day_planning.matching_days_before(monday + timedelta(days=day), [True] * 7)
        for day in range(9)
    ]
    assert np.diff(every).tolist() == [1] * 8


@pytest.mark.parametrize("hours", ["01:00-06:00", "22:00-03:00", "mon 08:00-09:00"])
@pytest.mark.parametrize("visits", [5, 45])
def test_the_loop_spends_its_budget_inside_the_hours(hours: str, visits: int) -> None:
    loop = loop_of(np.array([30.0, 8.0, 1.0]), visits)
    window = opening_hours.parse(hours, UTC_ZONE)
    assert window is not None
    opening = Openings.of(window, START - 5 * DAY, START + 9 * DAY)
    loop.sites = Sites(loop.sites.site, loop.sites.clocks, (opening,))
    loop._pace = loop._paced()
    for day in range(2):  # day 0 is a Monday
        _board, hour = run_day(loop, START + day * DAY)
        closed = "mon" in hours and day == 1
        assert len(hour) == (0 if closed else visits)
        assert opening.at(START + day * DAY + hour * HOUR).all()


def test_the_outlook_keeps_inside_the_hours_of_each_site() -> None:
    loop = loop_of(np.full(4, 20.0), 60, zones=("UTC", "Asia/Shanghai"))
    window = opening_hours.parse("09:00-12:00", UTC_ZONE)
    assert window is not None
    opening = Openings.of(window, START - DAY, START + 3 * DAY)
    loop.sites = Sites(loop.sites.site, loop.sites.clocks, (opening, None))
    loop._pace = loop._paced()
    outlook = loop.outlook(START, START + DAY)
    kept = outlook.board % 2 == 0
    assert (
        kept.any()
        and opening.at(outlook.moments[kept]).all()
        and not opening.at(outlook.moments[~kept]).all()
    )


def test_openings_are_those_of_the_window() -> None:
    window = opening_hours.parse("tue 22:00-06:00", UTC_ZONE)
    assert window is not None
    opening = Openings.of(window, START, START + 8 * DAY)
    times = START + np.arange(0, 8 * 24) * HOUR
    assert opening.at(times).tolist() == [
        opening_hours.is_open(window, datetime.fromtimestamp(at, UTC)) for at in times.tolist()
    ]
    assert opening.next(START) == START + 46 * HOUR and opening.around(START + 47 * HOUR) == (
        START + 46 * HOUR,
        START + 54 * HOUR,
    )
    assert sites_of(2).open_boards(START) is None and NOTHING.board.size == 0


# --- tests that use the database
# ------------------------------------------------------------------------------------------


def _with_hours(
    policy: str, hours: dict[str, str], visits: int = 24
) -> tuple[int, opening_hours.OpeningHours]:
    site = make_site()
    fill(site)
    plans.save(site.pk, {"policy": policy, "visits_per_day": visits}, now=NOW)
    timings.put("forum", site.pk, hours, now=NOW)
    window = timings.hours_of(timings.of("forum", site.pk))
    assert window is not None
    return site.pk, window


@pytest.mark.django_db
@pytest.mark.parametrize("policy", ["era", "bra", "optimal"])
def test_a_plan_shows_times_inside_the_hours_only(policy: str) -> None:
    site, window = _with_hours(policy, {**NIGHT, "timezone": "Asia/Shanghai"})
    plan = Plan.objects.get(site=site)
    assert plan.stale == "hours"
    plan_days.replan(plan, NOW)
    times = list(PlannedVisit.objects.values_list("at", flat=True))
    tomorrow = [at for at in times if at.date() == NOW.date() + timedelta(days=1)]
    assert len(tomorrow) == 24 and all(opening_hours.is_open(window, at) for at in times)
    assert all(opening_hours.is_open(window, board.next_visit) for board in Board.objects.all())


@pytest.mark.django_db
def test_a_plan_with_days_off_says_nothing_of_them() -> None:
    site, window = _with_hours("optimal", {"hours": "mon 08:00-20:00", "timezone": "UTC"})
    plan_days.replan(
        Plan.objects.get(site=site), NOW
    )  # NOW is a Friday, and the site is visited only on Mondays
    assert (
        not PlannedVisit.objects.exists()
        and PlanDay.objects.get(day=NOW.date() + timedelta(days=1)).expected_delay is None
    )
    plan_days.replan(Plan.objects.get(site=site), NOW + timedelta(days=2))
    assert {at.date() for at in PlannedVisit.objects.values_list("at", flat=True)} == {
        NOW.date() + timedelta(days=3)
    }


@pytest.mark.django_db
def test_the_live_loop_visits_inside_the_hours_and_its_pages_say_so() -> None:
    site, window = _with_hours("adaptive", {"hours": "07:00-09:00", "timezone": "UTC"}, visits=12)
    made = follow_day(NOW, 4, 120)
    assert made and all(opening_hours.is_open(window, at) for at, _board in made)
    later = NOW + timedelta(hours=4)
    plan = Plan.objects.get(site=site)
    expected = expected_visits.expected(plan, later + timedelta(days=2)).visits
    assert expected and all(
        opening_hours.is_open(window, one.at) for one in expected if one.at > later
    )
    assert all(one.first >= later or opening_hours.is_open(window, one.first) for one in expected)
    assert Run.objects.filter(scheduled=True).count() == Run.objects.count()


@pytest.mark.django_db
def test_boards_by_interval_wait_for_the_opening() -> None:
    site = make_site()
    Plan.objects.all().delete()
    Board.objects.update(next_visit=NOW, interval_seconds=3600)
    timings.put("forum", site.pk, NIGHT, now=NOW)
    opens = NOW.replace(hour=22, minute=0)
    assert set(Board.objects.values_list("next_visit", flat=True)) == {opens}
    Board.objects.update(next_visit=NOW)
    assert dispatch.start_due(NOW) == 0 and set(
        Board.objects.values_list("next_visit", flat=True)
    ) == {opens}
    assert dispatch.start_due(opens) == 1
    end_runs(opens + timedelta(hours=7, minutes=30))
    assert set(Board.objects.values_list("next_visit", flat=True)) == {opens + timedelta(days=1)}


@pytest.mark.django_db
def test_a_planned_visit_whose_time_passed_while_closed_comes_at_the_opening() -> None:
    site, _window = _with_hours("optimal", NIGHT)
    dispatch.start_due(NOW)
    Run.objects.update(state=RunState.FINISHED)
    board = Board.objects.first()
    assert board is not None
    PlannedVisit.objects.all().delete()
    visit = PlannedVisit.objects.create(
        plan=Plan.objects.get(), board=board, at=NOW, pinned=True, code="person"
    )
    dispatch.start_due(NOW + timedelta(minutes=5))
    visit.refresh_from_db()
    board.refresh_from_db()
    assert visit.state == "planned" and visit.at == board.next_visit == NOW.replace(
        hour=22, minute=0
    )
    assert not Run.objects.filter(state=RunState.QUEUED).exists()


@pytest.mark.django_db
def test_what_a_person_starts_is_not_held() -> None:
    site = make_site()
    timings.put("forum", site.pk, NIGHT, now=NOW)
    run = sites.crawl_now(site.pk, now=NOW, start=False)
    assert timings.outside_hours(run, NOW) is None
    Run.objects.update(scheduled=True)
    held = timings.outside_hours(Run.objects.get(), NOW)
    assert held is not None and held[1] == NOW.replace(hour=22, minute=0)


@pytest.mark.django_db
def test_the_hours_of_a_forum_are_offered_in_its_zone() -> None:
    site = make_site(zone="Asia/Shanghai")
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("operator"))
    shown = client.get(f"/admin/schedules/forum/{site.pk}/").content.decode()
    assert 'value="Asia/Shanghai"' in shown
    assert (
        f"/admin/schedules/forum/{site.pk}/"
        in client.get(f"/admin/forums/site/{site.pk}/plan/").content.decode()
    )
