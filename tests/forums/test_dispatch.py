"""The dispatcher with a simulated clock: plans are followed, several missed visits of a board are
replaced by one, plans are recomputed, and the adaptive policy receives the results of visits."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from crawlmgr.models import Event, Run, RunState
from forums import dispatch
from forums.models import Board, Plan, PlanDay, PlannedVisit, Site, Visit
from forums.plans import loops, plan_days, plans
from forums.sites import sites
from forums.visits import visits
from tests.forums.planned import NOW, fill, make_site

pytestmark = pytest.mark.django_db
State = PlannedVisit.State


def end_runs(now: datetime, arrivals: dict[int, list[list[float]]] | None = None) -> list[int]:
    """Ends queued runs as if all visits were made at `now`; `arrivals` has what a board's visit
    found, as in `Visit.arrivals`. Returns the ids of the boards visited."""
    visited = []
    for run in Run.objects.filter(state=RunState.QUEUED):
        for pk in run.parameters["boards"]:
            visit, _ = Visit.objects.get_or_create(run=run, board_id=pk)
            found = (arrivals or {}).get(pk, [])
            visit.started, visit.list_pages, visit.requests, visit.arrivals = now, 1, 2, found
            visit.stopped_by, visit.state = (
                "watermark",
                {
                    "complete": True,
                    "stopped_by": "watermark",
                },
            )
            visit.save()
            visits.finish(visit, now)
            visited.append(pk)
        Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED)
    return visited


def planned(policy: str, visits_per_day: int = 30, **values: object) -> tuple[Site, Plan]:
    site = make_site()
    fill(site)
    return site, plans.save(
        site.pk, {"policy": policy, "visits_per_day": visits_per_day, **values}, now=NOW
    )


def follow_day(
    start: datetime, hours: float, step_seconds: float = 60
) -> list[tuple[datetime, int]]:
    made = []
    for step in range(int(hours * 3600 / step_seconds)):
        now = start + timedelta(seconds=step * step_seconds)
        dispatch.start_due(now)
        made += [(now, pk) for pk in end_runs(now)]
    return made


def test_a_new_plan_is_made_and_followed_at_its_times():
    site, plan = planned("optimal")
    dispatch.start_due(NOW)
    times = list(
        PlannedVisit.objects.filter(at__date=NOW.date())
        .order_by("at")
        .values_list("at", "board_id")
    )
    assert times and PlannedVisit.objects.filter(state=State.PLANNED).count() > 30
    made = follow_day(NOW + timedelta(minutes=1), 3)
    due = [(at, board) for at, board in times if at < NOW + timedelta(hours=3)]
    assert [board for _, board in made] == [board for _, board in due]
    assert all(
        timedelta(0) <= now - at < timedelta(seconds=61)
        for (now, _), (at, _) in zip(made, due, strict=True)
    )
    first = PlannedVisit.objects.filter(state=State.STARTED).first()
    assert (
        first.visit is not None and first.visit.board_id == first.board_id and first.visit.finished
    )


def test_after_a_pause_each_board_is_visited_once_and_the_rest_is_missed():
    site, plan = planned("era", 60)
    dispatch.start_due(NOW)
    later = NOW + timedelta(hours=10)
    waiting = PlannedVisit.objects.filter(at__lte=later).count()
    assert waiting > 20
    assert dispatch.start_due(later) == 1
    assert sorted(end_runs(later)) == sorted(site.boards.values_list("pk", flat=True))
    assert PlannedVisit.objects.filter(state=State.MISSED).count() == waiting - 3
    assert dispatch.start_due(later + timedelta(minutes=1)) == 0


def test_a_site_under_visit_is_passed_over_and_its_visit_made_later():
    site, plan = planned("era", 60)
    dispatch.start_due(NOW)
    at = PlannedVisit.objects.order_by("at").first().at + timedelta(seconds=1)
    assert dispatch.start_due(at) == 1
    boards = Run.objects.get().parameters["boards"]
    assert dispatch.start_due(at + timedelta(hours=1)) == 0
    end_runs(at + timedelta(hours=1))
    assert dispatch.start_due(at + timedelta(hours=1, minutes=1)) == 1
    assert boards and Run.objects.count() == 2


def test_a_paused_site_or_board_is_not_visited():
    site, plan = planned("era", 60)
    dispatch.start_due(NOW)
    Site.objects.update(paused=True)
    assert dispatch.start_due(NOW + timedelta(hours=3)) == 0
    Site.objects.update(paused=False)
    Board.objects.update(enabled=False)
    assert dispatch.start_due(NOW + timedelta(hours=3, minutes=1)) == 0


@pytest.mark.parametrize("change", [{"visits_per_day": 60}, {"theta": 0.1}, {"policy": "era"}])
def test_a_changed_plan_is_made_anew_at_the_next_round(change):
    site, plan = planned("optimal")
    dispatch.start_due(NOW)
    before = set(PlannedVisit.objects.values_list("pk", flat=True))
    plans.save(site.pk, change, now=NOW + timedelta(minutes=1))
    dispatch.start_due(NOW + timedelta(minutes=2))
    plan.refresh_from_db()
    assert plan.stale == "" and not before & set(PlannedVisit.objects.values_list("pk", flat=True))
    day = plan.days.get(day=NOW.date() + timedelta(days=1))
    assert day.times_made == 2 and day.reason == next(iter(change))


def test_every_day_is_planned_at_its_midnight():
    site, plan = planned("era", 6)
    follow_day(NOW, 48, step_seconds=1800)
    assert {row.day for row in plan.days.all()} == {
        NOW.date() + timedelta(days=step) for step in range(4)
    }
    per_day = [
        PlannedVisit.objects.filter(at__date=NOW.date() + timedelta(days=step)).count()
        for step in (1, 2)
    ]
    assert per_day == [6, 6]


def test_of_two_dispatchers_one_gets_the_right_to_look():
    site, plan = planned("era", 60)
    dispatch.start_due(NOW)
    stale = Plan.objects.get()
    later = NOW + timedelta(hours=1)
    assert dispatch.follow(Plan.objects.get(), later) == 1
    assert dispatch.follow(stale, later) == 0
    assert Run.objects.count() == 1


def test_the_loop_uses_the_rest_of_its_budget_and_writes_down_why():
    site, plan = planned("adaptive", 40)
    start = NOW.replace(hour=18, minute=0)
    dispatch.start_due(start - timedelta(minutes=1))
    end_runs(start - timedelta(minutes=1))
    used = loops.load(plan, start).loop.budget.used
    made = follow_day(start, 6.1, step_seconds=180)
    midnight = start + timedelta(hours=6)
    assert used + len([pk for now, pk in made if now < midnight]) == 40
    visit = PlannedVisit.objects.filter(state=State.STARTED).last()
    assert visit.code == "waiting" and visit.expected_delay == pytest.approx(
        visit.figures["rank"], abs=1e-3
    )
    assert {"waiting", "hours_since", "per_hour", "rank", "price", "previous", "prior"} == set(
        visit.figures
    )


def test_the_loop_learns_from_what_visits_found():
    site, plan = planned("adaptive", 40)
    dispatch.start_due(NOW)
    end_runs(NOW)
    quiet = site.boards.order_by("position").last()
    before = loops.load(plan, NOW)
    minute = NOW + timedelta(minutes=1)
    burst = [[minute.timestamp() - 60 * k, 0, 60.0 * k] for k in range(6)]
    run = Run.objects.create(
        kind="forum", label="x", target=site.pk, created=minute, parameters={"boards": [quiet.pk]}
    )
    end_runs(minute, {quiet.pk: burst})
    assert run.pk
    dispatch.start_due(minute + timedelta(seconds=1))
    after = loops.load(plan, minute)
    place = after.number()[quiet.pk]
    hour_later = minute.timestamp() + 3600
    assert after.loop.last_visit[place] == minute.timestamp()
    assert (
        after.loop.expected_events(hour_later)[place]
        > 2 * before.loop.expected_events(hour_later)[place]
    )


def test_a_changed_budget_reaches_the_loop():
    site, plan = planned("adaptive", 40)
    dispatch.start_due(NOW)
    plans.save(site.pk, {"visits_per_day": 80}, now=NOW)
    dispatch.start_due(NOW + timedelta(seconds=5))
    live = loops.load(plan, NOW)
    assert live.loop.budget.visits_per_day == 80


def test_requests_used_up_keep_the_loop_from_a_site():
    site, plan = planned("adaptive", 400)
    plans.set_importance(site.pk, requests_per_day=6, now=NOW)
    start = NOW.replace(hour=0, minute=0) + timedelta(days=1)
    made = [pk for now, pk in follow_day(start, 8, step_seconds=600) if now >= start]
    assert (
        3 <= len(made) <= 5
    )  # 6 requests allow 3 visits of 2 requests; visits started together may exceed the limit


def test_the_loop_makes_visits_that_a_person_put_too():
    site, plan = planned("adaptive", 40)
    dispatch.start_due(NOW)
    end_runs(NOW)
    quiet = site.boards.order_by("position").last()
    wish = plans.add(plan, quiet.pk, NOW + timedelta(minutes=30), now=NOW)
    made = follow_day(NOW + timedelta(minutes=1), 0.6)
    assert quiet.pk in [pk for now, pk in made if now >= wish.at]
    wish.refresh_from_db()
    assert wish.state == State.STARTED and wish.visit is not None


def test_a_run_that_vanished_frees_its_boards():
    site, plan = planned("adaptive", 400)
    start = NOW + timedelta(hours=2)
    dispatch.start_due(start)
    assert Run.objects.exists()
    Run.objects.update(state=RunState.STOPPED)
    dispatch.start_due(start + timedelta(minutes=10))
    live = loops.load(plan, start)
    assert live.loop.visiting.sum() <= Run.objects.exclude(state=RunState.STOPPED).count() * 3


def test_boards_without_a_plan_follow_their_interval():
    site, plan = planned("interval")
    other = make_site("b")
    Board.objects.update(next_visit=NOW)
    plans.save(None, {"policy": "era", "visits_per_day": 3}, now=NOW)
    dispatch.start_due(NOW)
    assert [run.target for run in Run.objects.all()] == [site.pk]
    end_runs(NOW)
    assert {board.next_visit for board in site.boards.all()} == {NOW + timedelta(hours=6)}
    follow_day(NOW + timedelta(minutes=1), 24, step_seconds=1800)
    assert other.pk in {run.target for run in Run.objects.all()}


def test_a_refusal_is_told_and_does_not_stop_the_rest():
    site, plan = planned("era", 60)
    Site.objects.update(settings={"delay_seconds": -5})
    plan_failed = pytest.raises(ValueError)
    with plan_failed:
        plan_days.replan(plan, NOW)
    Site.objects.update(settings={})
    dispatch.start_due(NOW)
    Site.objects.update(settings={"delay_seconds": -5})
    assert dispatch.start_due(NOW + timedelta(hours=1)) == 0
    assert Event.objects.filter(code="visit_refused").exists()


def test_a_plan_is_made_anew_once_its_boards_have_been_read():
    site = make_site()
    Board.objects.update(last_visit=None, complete_at=None, watched_since=None)
    plan = plans.begin(site.pk, now=NOW)
    dispatch.start_due(NOW)
    assert [(day.basis, day.reason) for day in PlanDay.objects.all()][0] == ("prior", "new")
    later = NOW + timedelta(minutes=5)
    fill(site, now=later)
    run = sites.crawl_now(site.pk, now=later, start=False)
    Board.objects.update(last_visit=later, complete_at=later, watched_since=later)
    dispatch.start_due(later + timedelta(minutes=1))
    assert PlanDay.objects.order_by("-day")[0].reason == "new", "a visit is still under way"
    Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED)
    dispatch.start_due(later + timedelta(minutes=3))
    made = PlanDay.objects.order_by("-day")[0]
    assert (made.basis, made.reason, made.times_made) == ("history", "history", 2)
    dispatch.start_due(later + timedelta(minutes=5))
    assert PlanDay.objects.order_by("-day")[0].times_made == 2 and plan.pk == made.plan_id


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        ("era", "forums.plans.plan_days.rhythm"),
        ("adaptive", "forums.plans.plan_days.rhythm"),
        ("era", "forums.plans.next_visits.note_next"),
        ("adaptive", "forums.plans.expected_visits.write"),
    ],
)
def test_a_kill_while_a_plan_is_made_costs_no_plan(
    policy: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Simulates the signal that ends a worker."""

    def kill(*_: object) -> None:
        raise Killed

    _site, plan = planned(policy)
    for moment in (NOW, NOW + timedelta(days=3)):  # a new plan, and the first round of a later day
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(broken, kill)
            dispatch.start_due(moment)
        assert not PlanDay.objects.filter(plan=plan, made_at__gte=moment).exists()
        dispatch.start_due(moment + timedelta(seconds=90))
        plan.refresh_from_db()
        assert PlanDay.objects.filter(plan=plan, made_at__gte=moment).exists() and plan.stale == ""
        end_runs(moment + timedelta(seconds=91))


def test_what_a_person_changes_while_a_plan_is_made_is_planned_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site, plan = planned("era", 10)
    rhythm = plan_days.rhythm

    def slow(*given: object) -> object:
        monkeypatch.setattr(plan_days, "rhythm", rhythm)
        plans.save(site.pk, {"visits_per_day": 40}, now=NOW + timedelta(seconds=1))
        return rhythm(*given)

    monkeypatch.setattr(plan_days, "rhythm", slow)
    dispatch.start_due(NOW)
    plan.refresh_from_db()
    assert plan.stale
    dispatch.start_due(NOW + timedelta(seconds=20))
    assert PlanDay.objects.filter(plan=plan).latest("day").visits_per_day == 40
