"""The tuning page's figures: expected delay against visits for each policy, one day's visits, and a replay of stored posts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forums.allocation import square_root
from forums.delay import DelaySummary
from forums.events import Floats, Ints
from forums.intensity import DAY_HOURS, Intensity
from forums.schedule import Demand, bra, era, lra, timetable, wra
from forums.schedule_optimal import OptimalPlanner, closed_form_hours, expected_cost, polish
from forums.simulate import Simulation
from forums.timetable import Timetable

PAPER: dict[str, Callable[[Demand, int], Timetable]] = {"era": era, "wra": wra, "lra": lra, "bra": bra}
CURVES = (*PAPER, "optimal")
QUICK_SWEEPS = 2
STEPS = 9
SPAN = 4.0
SMOOTH_FROM = 4  # visits a board, from where on the optimal curve follows its law without the floor of one visit


@dataclass(frozen=True, slots=True)
class Basis:
    """What the page computes from, n boards.

    rates: (n, bins), weighted events an hour, importance included, shrunk: what is expected to come. plain: the same as the
    paper has them, from which its own rules plan. interval_hours: (n,), each board's fixed interval.
    """

    rates: Floats
    plain: Floats
    interval_hours: Floats


def numbers_around(visits_per_day: int) -> list[int]:
    """Visits a day from a quarter to four times the number, in even steps of its logarithm, the number itself among them."""
    factors = np.exp(np.linspace(-np.log(SPAN), np.log(SPAN), STEPS))
    return sorted({max(1, round(visits_per_day * float(factor))) for factor in factors} | {visits_per_day})


def quick_optimal(rates: Floats, visits_per_day: int) -> Timetable:
    """Closed form by square roots with two sweeps of polish: within 1 % of the full polish, 2 % of the exact programme;
    some 25 ms for 100 boards."""
    intensity = Intensity.of(rates)

    def place(visits: Ints) -> tuple[Ints, Floats]:
        board, hours = closed_form_hours(rates, visits)
        return board, polish(intensity, board, hours, QUICK_SWEEPS)

    return timetable(lambda total: square_root(rates, total), place, len(rates), visits_per_day)


def day(policy: str, basis: Basis, visits_per_day: int, planner: OptimalPlanner | None = None) -> Timetable:
    """The timetable of a policy; the closed loop has none and starts from the optimal one.

    `planner`: solved for these rates, gives the optimal one exactly; without it the quick one is taken. The paper's rules
    plan from plain rates as they do live. Raises ValueError for a policy that is not known.
    """
    if policy in PAPER:
        return PAPER[policy](Demand(basis.plain), visits_per_day)
    if policy not in ("optimal", "adaptive"):
        raise ValueError(f"no timetable for {policy!r}")
    if planner is not None:
        return planner.plan(visits_per_day)
    return quick_optimal(basis.rates, visits_per_day)


def expected(table: Timetable, basis: Basis) -> Floats:
    """Expected weighted event-hours a day of each board, (n,), whatever the timetable was planned from."""
    return expected_cost(Intensity.of(basis.rates), table)


def curve(policy: str, basis: Basis, numbers: Sequence[int]) -> list[float]:
    """Expected delay of all boards, weighted event-hours a day, at each number of visits a day.

    The optimal curve is computed at every second number beyond four visits a board, and at the ends; between them visits
    times delay, which hardly changes there, is interpolated over the logarithm of the visits.
    """
    last, smooth = len(numbers) - 1, SMOOTH_FROM * len(basis.rates)
    places = [at for at, number in enumerate(numbers) if policy in PAPER or number <= smooth or at % 2 == 0 or at == last]
    known = [numbers[place] for place in places]
    costs = [float(expected(day(policy, basis, number), basis).sum()) for number in known]
    if len(known) == len(numbers):
        return costs
    products = np.interp(np.log(numbers), np.log(known), np.array(costs) * known)
    return [float(value) for value in products / np.array(numbers)]


def interval_visits(basis: Basis) -> float:
    """Visits a day that the boards' fixed intervals come to."""
    return float((DAY_HOURS / basis.interval_hours).sum())


def interval_delay(basis: Basis) -> Floats:
    """Expected weighted event-hours a day at fixed intervals, (n,): an event waits half of one in the mean."""
    per_day: Floats = basis.rates.mean(axis=1) * DAY_HOURS
    return per_day * basis.interval_hours / 2.0


def visits_per_board(table: Timetable) -> Floats:
    """Visits a day of each board, (n,); below 1 where a board has its turn only every few days."""
    return np.bincount(table.board, minlength=table.boards) / table.days


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests a day that visits come to. asked, allowed (inf for no limit): of all sites. over: sites that may not ask so
    many. visits: what is left of the visits once those sites are held to their limits."""

    asked: float
    allowed: float
    over: int
    visits: float


def requests(per_board: Floats, requests_per_visit: Floats, site: Ints, allowed: Floats) -> Asked:
    """What visits ask of their sites. per_board: (n,) visits a day; requests_per_visit: (n,); site: (n,) numbers into
    `allowed`, (sites,), requests a day, inf for no limit."""
    asked = np.bincount(site, per_board * requests_per_visit, len(allowed))
    visits = np.bincount(site, per_board, len(allowed))
    over = asked > allowed * (1.0 + 1e-9)
    kept = np.where(over, visits * np.divide(allowed, asked, out=np.ones(len(asked)), where=over), visits)
    return Asked(float(asked.sum()), float(allowed.sum()), int(over.sum()), float(kept.sum()))


@dataclass(frozen=True, slots=True)
class Replayed:
    """A policy over the stored posts of the last days: what it used and what its delays were."""

    policy: str
    visits_used_per_day: float
    delay: DelaySummary


def replay(experiment: Simulation, policies: Sequence[str], visits_per_day: int) -> list[Replayed]:
    """What each policy would have given on the experiment's test days with that budget, knowing only what came before."""
    found = []
    for policy in policies:
        outcome = experiment.run_budget(policy, visits_per_day, 0)
        found.append(Replayed(policy, outcome.visits_used_per_day, outcome.delay))
    return found
