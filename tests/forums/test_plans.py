"""Plans in the database: their input data, exact budgets, fixed visits, importance, request limits,
and the visits that the adaptive policy expects."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from crawlmgr.models import Run
from forums.models import Board, BoardDay, LoopState, Plan, PlanDay, PlannedVisit, Policy, Visit
from forums.plans import expected_visits, loops, next_visits, plan_days, plans, stored_rhythms
from forums.sites import sites
from tests.forums.planned import NOW, fill, make_site

pytestmark = pytest.mark.django_db
TODAY, TOMORROW = date(2026, 11, 20), date(2026, 11, 21)


def visits_on(plan: Plan, day: date) -> list[PlannedVisit]:
    zone = plans.zone_of(plan)
    return [
        visit
        for visit in PlannedVisit.objects.filter(plan=plan)
        if visit.at.astimezone(zone).date() == day
    ]


def saved(site, **values) -> Plan:
    return plans.save(site.pk, {"policy": "optimal", "visits_per_day": 30, **values}, now=NOW)


def test_rates_are_those_of_the_stored_posts():
    site = make_site()
    fill(site)
    found = stored_rhythms.rhythm(plans.draft(site.pk, NOW), NOW)
    posts = found.profiles.new_per_day + found.profiles.replies_per_day
    assert posts == pytest.approx([40, 10, 2], rel=0.25)
    assert found.basis == "history" and found.known_days == 20 and not found.prior.any()
    busiest = found.profiles.rates[0].argmax()
    assert 11 <= busiest <= 19
    fine = plans.draft(site.pk, NOW)
    fine.bins = 48
    assert stored_rhythms.rhythm(fine, NOW).profiles.weights == pytest.approx(
        found.profiles.weights, rel=0.1
    )


def test_the_cost_of_a_visit_is_that_of_visits_that_look_for_news():
    """Neither the first import of a board nor a failed visit says what visits cost."""
    site = make_site()
    fill(site)
    first, second, third = site.boards.order_by("pk")
    watched = NOW - timedelta(days=3)
    site.boards.update(watched_since=watched)

    def visit(board: Board, hours: float, requests: int, pages: int = 1) -> None:
        started = watched + timedelta(hours=hours)
        run = Run.objects.create(kind="forum", label="x", created=started)
        Visit.objects.create(
            board=board,
            run=run,
            started=started,
            finished=started,
            requests=requests,
            list_pages=pages,
        )

    for board in (first, second, third):
        visit(board, 0, 2000, 60)
    for hours, requests in ((5, 3), (6, 4), (7, 5)):
        visit(first, hours, requests)
    visit(first, 8, 30, 0)
    visit(second, 9, 8)
    found = stored_rhythms.rhythm(plans.draft(site.pk, NOW), NOW)
    assert found.requests.tolist() == [4.0, 8.0, 5.0], "the third board: the mean of its site"
    Visit.objects.exclude(requests=2000).delete()
    usual = stored_rhythms.rhythm(plans.draft(site.pk, NOW), NOW)
    assert usual.requests.tolist() == [stored_rhythms.USUAL_REQUESTS] * 3


def test_rates_are_by_the_hours_of_the_site():
    here, there = make_site("a"), make_site("b", zone="Asia/Shanghai")
    fill(here, seed=1)
    fill(there, seed=1)
    found = stored_rhythms.rhythm(plans.draft(None, NOW), NOW)
    utc, shanghai = found.profiles.shape[0], found.profiles.shape[3]
    lags = [float((np.roll(utc, lag) * shanghai).sum()) for lag in range(24)]
    assert int(np.argmax(lags)) == 8


def test_without_history_the_pooled_rhythm_is_used_and_said():
    first, second = make_site("a"), make_site("b", (1.0,))
    fill(first)
    second.boards.update(watched_since=None, complete_at=None, last_visit=None)
    found = stored_rhythms.rhythm(plans.draft(None, NOW), NOW)
    assert found.basis == "mixed" and found.prior.tolist() == [False, False, False, True]
    assert found.profiles.weights[3] == pytest.approx(found.profiles.weights[:3].mean())
    alone = stored_rhythms.rhythm(plans.draft(second.pk, NOW), NOW)
    assert (
        alone.basis == "prior"
        and alone.known_days == 0
        and alone.profiles.weights[0] == pytest.approx(2.5)
    )
    plan = saved(second, visits_per_day=6)
    made = plan_days.replan(plan, NOW, "new")
    assert made is not None and made.basis == "prior" and made.boards_known == 0
    assert len(visits_on(plan, TOMORROW)) == 6
    assert all(visit.figures["prior"] for visit in visits_on(plan, TOMORROW))


@pytest.mark.parametrize("policy", ["era", "wra", "lra", "bra", "optimal"])
def test_a_timetable_is_written_out_exactly_and_explained(policy):
    site = make_site()
    fill(site)
    plan = saved(site, policy=policy)
    made = plan_days.replan(plan, NOW, "new")
    assert made is not None and (made.day, made.basis, made.boards) == (TOMORROW, "history", 3)
    tomorrow = visits_on(plan, TOMORROW)
    assert len(tomorrow) == 30
    assert all(visit.at > NOW for visit in visits_on(plan, TODAY))
    assert BoardDay.objects.filter(planned_day=made).count() == 3
    assert sum(row.visits for row in made.board_days.all()) == pytest.approx(30)
    expected = sum(visit.expected_delay for visit in tomorrow)
    assert expected == pytest.approx(made.expected_delay, rel=0.05)
    figures = tomorrow[5].figures
    assert {
        "from_hour",
        "to_hour",
        "per_hour",
        "per_day",
        "previous",
        "hours_since",
        "prior",
    } == set(figures)
    assert figures["per_hour"] > 0 and figures["hours_since"] > 0
    for board in site.boards.all():
        first = PlannedVisit.objects.filter(board=board, at__gt=NOW).order_by("at").first()
        assert board.next_visit == first.at


def test_optimal_expects_less_delay_than_era():
    site = make_site()
    fill(site)
    made = plan_days.replan(saved(site), NOW, "new")
    assert made.expected_delay < 0.9 * made.era_delay


def test_planning_again_replaces_visits_but_not_pinned_ones_and_not_the_past():
    site = make_site()
    fill(site)
    plan = saved(site)
    plan_days.replan(plan, NOW, "new")
    some = visits_on(plan, TOMORROW)[4]
    pinned = plans.pin(some.pk, pinned=True, now=NOW)
    extra = plans.add(plan, some.board_id, NOW + timedelta(hours=30), now=NOW)
    plan.refresh_from_db()
    assert plan.stale == "visits"
    later = NOW + timedelta(hours=3)
    past = PlannedVisit.objects.create(
        plan=plan, board=some.board, at=NOW, state=PlannedVisit.State.STARTED
    )
    again = plan_days.replan(plan, later, "visits")
    assert again.times_made == 2 and PlanDay.objects.filter(plan=plan).count() == 2
    tomorrow = visits_on(plan, TOMORROW)
    assert len(tomorrow) == 30 and {pinned.pk, extra.pk} <= {visit.pk for visit in tomorrow}
    assert PlannedVisit.objects.filter(pk=past.pk).exists()
    due = PlannedVisit.objects.filter(plan=plan, state="planned", at__lt=later)
    assert due.exists() and all(
        visit.at > NOW for visit in due
    )  # kept, since they were due before `later`


def test_a_daily_pin_comes_back_every_day_until_it_is_let_go():
    site = make_site()
    fill(site)
    plan = saved(site)
    plan_days.replan(plan, NOW, "new")
    board = site.boards.first()
    wish = plans.add(plan, board.pk, NOW + timedelta(hours=1), daily=True, now=NOW)
    for step in range(3):
        plan_days.replan(plan, NOW + timedelta(days=step), "day")
    days = {visit.at.date() for visit in PlannedVisit.objects.filter(daily=True)}
    assert days == {TODAY + timedelta(days=step) for step in range(4)}
    assert {visit.at.hour for visit in PlannedVisit.objects.filter(daily=True)} == {wish.at.hour}
    last = PlannedVisit.objects.filter(daily=True).order_by("at").last()
    plans.remove(last.pk, now=NOW + timedelta(days=2))
    assert not PlannedVisit.objects.filter(daily=True, state="planned").exists()
    plan_days.replan(plan, NOW + timedelta(days=3), "day")
    assert not PlannedVisit.objects.filter(daily=True).exists()


def test_importance_moves_visits():
    site = make_site()
    fill(site)
    plan = saved(site)
    small = site.boards.order_by("position").last()
    plan_days.replan(plan, NOW, "new")
    before = PlannedVisit.objects.filter(board=small).count()
    plans.set_importance(site.pk, boards={small.pk: 50.0}, now=NOW)
    plan.refresh_from_db()
    assert plan.stale == "importance"
    plan_days.replan(plan, NOW, "importance")
    assert PlannedVisit.objects.filter(board=small).count() > 2 * before
    with pytest.raises(ValueError, match="0.01 and 1000"):
        plans.set_importance(site.pk, site=0.0, now=NOW)


def test_the_requests_of_a_site_hold_its_visits_back_and_the_rest_goes_to_others():
    first, second = make_site("a"), make_site("b")
    fill(first)
    fill(second, seed=2)
    plans.set_importance(first.pk, requests_per_day=20, now=NOW)
    plan = plans.save(None, {"policy": "optimal", "visits_per_day": 60}, now=NOW)
    made = plan_days.replan(plan, NOW, "new")
    count = {
        site.pk: sum(v.board.site_id == site.pk for v in visits_on(plan, TOMORROW))
        for site in (first, second)
    }
    assert made.limited_sites == [first.pk]
    assert count == {
        first.pk: 10,
        second.pk: 50,
    }  # without past visits, two requests per visit are assumed


def test_a_plan_of_all_sites_leaves_out_sites_with_their_own():
    first, second = make_site("a"), make_site("b")
    everywhere = plans.save(None, {"policy": "era", "visits_per_day": 30}, now=NOW)
    assert len(stored_rhythms.boards_of(everywhere)) == 6
    saved(first)
    everywhere.refresh_from_db()
    assert everywhere.stale == "boards"
    assert {board.site_id for board in stored_rhythms.boards_of(everywhere)} == {second.pk}
    assert (
        next_visits.of_site(second.pk) == everywhere
        and next_visits.of_site(first.pk).site_id == first.pk
    )
    plans.save(first.pk, {"policy": "interval"}, now=NOW)
    assert next_visits.of_site(first.pk) is None


def test_wrong_values_are_refused_in_one_line():
    site = make_site()
    for values, word in (
        ({"visits_per_day": 0}, "visits_per_day"),
        ({"theta": 2.0}, "theta"),
        ({"policy": "x"}, "policy"),
        ({"colour": 1}, "colour"),
    ):
        with pytest.raises(ValueError, match=word) as error:
            saved(site, **values)
        assert "\n" not in str(error.value)
    assert not Plan.objects.exists()


def test_the_loop_of_an_adaptive_plan_is_kept_and_its_outlook_shown():
    site = make_site()
    fill(site)
    plan = saved(site, policy="adaptive")
    made = plan_days.replan(plan, NOW, "new")
    assert made.policy == Policy.ADAPTIVE and sum(row.visits for row in made.board_days.all()) == 30
    assert LoopState.objects.filter(plan=plan).exists()
    assert not PlannedVisit.objects.exists()
    busy, _middle, quiet = site.boards.order_by("position")
    assert NOW < busy.next_visit < quiet.next_visit
    assert made.expected_delay > 0


def test_a_distant_past_is_dropped():
    site = make_site()
    fill(site)
    plan = saved(site)
    board = site.boards.first()
    for days, daily in ((100, False), (100, True), (80, False)):
        PlannedVisit.objects.create(
            plan=plan,
            board=board,
            at=NOW - timedelta(days=days),
            state="started",
            pinned=daily,
            daily=daily,
        )
    plan_days.replan(plan, NOW, "new")
    kept = PlannedVisit.objects.filter(at__lt=NOW, state="started")
    assert sorted(((NOW - visit.at).days, visit.daily) for visit in kept) == [
        (80, False),
        (100, True),
    ]


def test_a_new_site_gets_the_loop_with_the_visits_that_its_intervals_make() -> None:
    site = make_site()
    Board.objects.filter(position=0).update(interval_seconds=3600)
    Board.objects.filter(position=2).update(enabled=False)
    plan = plans.begin(site.pk, now=NOW)
    assert plan is not None and (plan.policy, plan.visits_per_day, plan.active) == (
        "adaptive",
        24 + 4,
        True,
    )
    assert plans.begin(site.pk, now=NOW) is None
    with plans.budget_following_intervals(site.pk, NOW):
        sites.set_interval([Board.objects.get(position=0).pk], 900, NOW)
    assert plans.current(site.pk).visits_per_day == 96 + 4
    plans.save(site.pk, {"visits_per_day": 50}, now=NOW)
    with plans.budget_following_intervals(site.pk, NOW):
        sites.set_enabled([Board.objects.get(position=2).pk], True)
    assert plans.current(site.pk).visits_per_day == 50, "what a person chose stays"


def test_a_new_site_joins_the_plan_of_all_sites() -> None:
    make_site("a")
    plans.save(None, {"visits_per_day": 10}, now=NOW)
    Plan.objects.update(stale="")
    assert plans.begin(make_site("b").pk, now=NOW) is None
    assert Plan.objects.get().stale == "boards"


def test_a_board_never_visited_waits_from_when_its_site_was_added() -> None:
    site = make_site()
    Board.objects.update(last_visit=None, complete_at=None, watched_since=None)
    plan = plans.begin(site.pk, now=NOW)
    assert plan is not None
    made = plan_days.replan(plan, NOW)
    assert made is not None and made.basis == "prior"
    live = loops.load(plan, NOW)
    assert (
        live is not None
        and not len(live.loop.due(NOW.timestamp() + 60))
        and (live.loop.last_visit == NOW.timestamp()).all()
    )
    expected = [one.at for one in expected_visits.expected(plan, NOW + timedelta(days=1)).visits]
    assert NOW + timedelta(minutes=30) < min(expected) and 8 <= len(expected) <= 13
