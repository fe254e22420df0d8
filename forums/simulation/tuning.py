"""Data for the page on which an operator tunes a plan: the rates of its boards, and their stored
posts, on which policies are simulated; and its figures: expected delay against visits for each
policy, requests, and replays."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from forums.models import Board, Plan
from forums.plans import stored_rhythms
from forums.plans.plans import zone_of
from forums.plans.stored_rhythms import Rhythm
from forums.schedule.delay_report import DelaySummary
from forums.schedule.events import Floats, Ints
from forums.schedule.optimal import OptimalPlanner, expected_cost, quick_optimal
from forums.schedule.paper import Demand
from forums.schedule.policies import PAPER_POLICIES, rule_of
from forums.schedule.rhythm import DAY_HOURS, Intensity
from forums.schedule.timetable import Timetable
from forums.simulation.delay_simulation import Setup, SetupError, Simulation

CURVES = (*PAPER_POLICIES, "optimal")


STEPS = 9


SPAN = 4.0


# visits per board above which the optimal curve follows the square-root law, because the minimum of
# one visit per board no longer matters
SMOOTH_FROM = 4


@dataclass(frozen=True, slots=True)
class Basis:
    """The data from which the tuning page computes, n boards.

    rates: (n, bins), weighted events per hour, importance included, with each board's daily rhythm
    shrunk towards that of its site; used to compute the expected delay. plain: the same without
    shrinkage, as in the forum paper, used by the paper's own rules. interval_hours: (n,), each
    board's fixed interval.
    """

    rates: Floats
    plain: Floats
    interval_hours: Floats


def numbers_around(visits_per_day: int) -> list[int]:
    """Returns numbers of visits per day from a quarter to four times the given one, in equal
    logarithmic steps, including the number itself."""
    factors = np.exp(np.linspace(-np.log(SPAN), np.log(SPAN), STEPS))
    return sorted(
        {max(1, round(visits_per_day * float(factor))) for factor in factors} | {visits_per_day}
    )


def day(
    policy: str, basis: Basis, visits_per_day: int, planner: OptimalPlanner | None = None
) -> Timetable:
    """Returns the timetable of a policy. For the adaptive policy, which has none, it is that of the
    optimal policy.

    `planner`: computes the exact optimum for the rates of `basis`; without it, `quick_optimal`
    approximates it. The rules of the forum paper use `basis.plain`, rates without shrinkage. Raises
    ValueError for an unknown policy.
    """
    if policy in PAPER_POLICIES:
        return rule_of(policy)(Demand(basis.plain), visits_per_day)
    if policy not in ("optimal", "adaptive"):
        raise ValueError(f"no timetable for {policy!r}")
    if planner is not None:
        return planner.plan(visits_per_day)
    return quick_optimal(basis.rates, visits_per_day)


def expected(table: Timetable, basis: Basis) -> Floats:
    """Returns the expected weighted event-hours per day of each board, (n,), by `basis.rates`,
    whatever rates the timetable was planned from."""
    return expected_cost(Intensity.of(basis.rates), table)


def curve(policy: str, basis: Basis, numbers: Sequence[int]) -> list[float]:
    """Returns the expected delay of all boards, weighted event-hours a day, at each number of
    visits a day.

    Beyond four visits a board, the optimal curve is computed only at every second number and at the
    end. In between, delay times visits (nearly constant there) is interpolated over the logarithm
    of the visits.
    """
    last, smooth = len(numbers) - 1, SMOOTH_FROM * len(basis.rates)
    places = [
        at
        for at, number in enumerate(numbers)
        if policy in PAPER_POLICIES or number <= smooth or at % 2 == 0 or at == last
    ]
    known = [numbers[place] for place in places]
    costs = [float(expected(day(policy, basis, number), basis).sum()) for number in known]
    if len(known) == len(numbers):
        return costs
    products = np.interp(np.log(numbers), np.log(known), np.array(costs) * known)
    return [float(value) for value in products / np.array(numbers)]


def interval_visits(basis: Basis) -> float:
    """Returns the number of visits per day of all boards at their fixed intervals."""
    return float((DAY_HOURS / basis.interval_hours).sum())


def interval_delay(basis: Basis) -> Floats:
    """Returns the expected weighted event-hours per day at fixed intervals, (n,): an event waits
    half an interval on average."""
    per_day: Floats = basis.rates.mean(axis=1) * DAY_HOURS
    return per_day * basis.interval_hours / 2.0


def visits_per_board(table: Timetable) -> Floats:
    """Returns the visits per day of each board, (n,); below 1 for a board visited only every few
    days."""
    return np.bincount(table.board, minlength=table.boards) / table.days


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests per day that a plan's visits need, compared with the limits of its sites. asked:
    requests needed, of all sites. allowed: sum of the limits (inf if a site has none). over: number
    of sites that need more than their limit. visits: visits per day that the limits allow."""

    asked: float
    allowed: float
    over: int
    visits: float


def requests(per_board: Floats, requests_per_visit: Floats, site: Ints, allowed: Floats) -> Asked:
    """Compares the requests per day that the visits need with the sites' limits. For each board,
    (n,): `per_board`, visits per day; `requests_per_visit`; `site`, the index of its site in
    `allowed`. `allowed`: the sites' limits in requests per day, inf for none."""
    asked = np.bincount(site, per_board * requests_per_visit, len(allowed))
    visits = np.bincount(site, per_board, len(allowed))
    over = asked > allowed * (1.0 + 1e-9)
    kept = np.where(
        over, visits * np.divide(allowed, asked, out=np.ones(len(asked)), where=over), visits
    )
    return Asked(float(asked.sum()), float(allowed.sum()), int(over.sum()), float(kept.sum()))


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a policy would have achieved on the stored posts of the last days: the visits that it
    would have used per day, and a summary of the posts' delays."""

    policy: str
    visits_used_per_day: float
    delay: DelaySummary


def replay(experiment: Simulation, policies: Sequence[str], visits_per_day: int) -> list[Replayed]:
    """Simulates each policy on the experiment's test days with `visits_per_day`; plans use only the
    history before these days. Returns one result per policy."""
    found = []
    for policy in policies:
        outcome = experiment.run_budget(policy, visits_per_day, 0)
        found.append(Replayed(policy, outcome.visits_used_per_day, outcome.delay))
    return found


LONGEST_TEST_DAYS, SHORTEST_TEST_DAYS = 10, 2


SHORTEST_HISTORY_DAYS = 4.0


# largest number of visits per day that the page simulates; for more a simulation has to be started
MAX_REPLAYED_VISITS = 4000


MAX_REMEMBERED = 8


MAX_PLANNERS = 2  # number of planners cached at once; one takes some 75 kB per board


_remembered: OrderedDict[Hashable, Rhythm] = OrderedDict()


_planners: OrderedDict[bytes, OptimalPlanner] = OrderedDict()


_lock = threading.Lock()


_hurried = 0  # number of previews being computed because a user moves a slider


PAUSE_SECONDS, PAUSES = 0.02, 50


@dataclass(frozen=True, slots=True)
class Known:
    """A plan's boards, their estimated rates (`rhythm`), and `basis`, what the figures of the
    tuning page are computed from: the same rates as arrays, and the boards' fixed intervals."""

    boards: tuple[Board, ...]
    rhythm: Rhythm
    basis: Basis


class NotEnough(Exception):
    """The stored posts cover too few days for an experiment; `days` is the number of days that they
    cover."""

    def __init__(self, days: float) -> None:
        super().__init__(f"{days:.1f} days")
        self.days = days


def known(
    plan: Plan, now: datetime, site: float | None, importance: Mapping[int, float]
) -> Known | None:
    """Returns the boards of a plan (which may be unsaved) with their rates, under changed
    importances of the site (None: unchanged) and of boards (by id); None if the plan has no board.
    """
    boards = tuple(stored_rhythms.boards_of(plan))
    if not boards:
        return None
    for board in boards:
        board.importance = importance.get(board.pk, board.importance)
        if site is not None:
            board.site.importance = site
    found = _rhythm(plan, now, boards)
    hours = np.array([board.interval_seconds / 3600 for board in boards])
    return Known(boards, found, Basis(found.profiles.rates, found.plain.rates, hours))


def _rhythm(plan: Plan, now: datetime, boards: tuple[Board, ...]) -> Rhythm:
    """Returns the boards' expected rates by hour (see `Rhythm`), cached for a minute because a
    slider requests them many times a second."""
    facts = tuple(
        (
            board.pk,
            board.last_visit,
            board.complete_at,
            board.watched_since,
            board.importance,
            board.site.importance,
        )
        for board in boards
    )
    key = (
        plan.theta,
        plan.history_days,
        plan.half_life_days,
        plan.bins,
        now.replace(second=0, microsecond=0),
        facts,
    )
    with _lock:
        found = _remembered.get(key)
    if found is None:
        found = stored_rhythms.rhythm(plan, now, boards)
        with _lock:
            _remembered[key] = found
            while len(_remembered) > MAX_REMEMBERED:
                _remembered.popitem(last=False)
    return replace(found, boards=boards)


@contextmanager
def exact_planner_paused() -> Iterator[None]:
    """Makes the exact planner pause while a preview is computed for a user who moves a slider
    (context manager)."""
    global _hurried
    with _lock:
        _hurried += 1
    try:
        yield
    finally:
        with _lock:
            _hurried -= 1


def _give_way() -> None:
    """Waits up to a second while previews for a slider are in progress; called by the exact planner
    before each board."""
    for _ in range(PAUSES):
        if not _hurried:
            break
        time.sleep(PAUSE_SECONDS)


def planner(known: Known) -> OptimalPlanner:
    """Returns the exact planner for these rates. One planner serves every number of visits, so the
    most recently used ones are cached."""
    key = hashlib.sha256(known.basis.rates.tobytes()).digest()
    with _lock:
        found = _planners.get(key)
    if found is None:
        found = OptimalPlanner(Demand(known.basis.rates), pulse=_give_way)
        with _lock:
            _planners[key] = found
            while len(_planners) > MAX_PLANNERS:
                _planners.popitem(last=False)
    return found


def forget() -> None:
    """Empties the caches; needed after posts were stored without a visit."""
    with _lock:
        _remembered.clear()
        _planners.clear()


def experiment(plan: Plan, known: Known, now: datetime) -> Simulation:
    """Returns an experiment with the last days of stored posts as the test, and the days before as
    its history. Raises NotEnough if too few days are stored, and SetupError if no board had a post.
    """
    days = max(
        stored_rhythms.known_days(board, now, LONGEST_TEST_DAYS + plan.history_days)
        for board in known.boards
    )
    if days < SHORTEST_TEST_DAYS + SHORTEST_HISTORY_DAYS:
        raise NotEnough(days)
    test = int(min(LONGEST_TEST_DAYS, max(SHORTEST_TEST_DAYS, days / 3)))
    history = int(min(plan.history_days, days - test))
    log = stored_rhythms.stored_events(
        [board.pk for board in known.boards], now - timedelta(days=history + test + 2), now
    )
    if not len(log):
        raise SetupError("no post is stored of these days")
    zone = zone_of(plan)
    setup = Setup(
        start=now.astimezone(zone).date() - timedelta(days=test),
        history_days=history,
        test_days=test,
        theta=plan.theta,
        zone=zone,
        bins=plan.bins,
        importance={
            str(board.pk): float(value)
            for board, value in zip(known.boards, known.rhythm.importance, strict=True)
        },
    )
    return Simulation(log, setup)
