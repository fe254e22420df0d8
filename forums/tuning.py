"""Figures of the page on which an operator tunes a plan: expected delay against visits for each
policy, one day's visits, and a simulation on stored posts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forums.delay_report import DelaySummary
from forums.events import Floats, Ints
from forums.planning import PAPER_RULES
from forums.profile import DAY_HOURS, Intensity
from forums.schedule import Demand, timetable
from forums.schedule_optimal import OptimalPlanner, closed_form_hours, expected_cost, polish
from forums.simulate import Simulation
from forums.timetable import Timetable, square_root

CURVES = (*PAPER_RULES, "optimal")
QUICK_SWEEPS = 2
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


def quick_optimal(rates: Floats, visits_per_day: int) -> Timetable:
    """Returns an approximation of the optimal timetable: the closed form of the square-root law,
    improved by two sweeps of `polish`. Its delay is within 1 % of that after all sweeps and 2 % of
    the exact optimum; it takes some 25 ms for 100 boards.
    """
    intensity = Intensity.of(rates)

    def place(visits: Ints) -> tuple[Ints, Floats]:
        board, hours = closed_form_hours(rates, visits)
        return board, polish(intensity, board, hours, QUICK_SWEEPS)

    return timetable(lambda total: square_root(rates, total), place, len(rates), visits_per_day)


def day(
    policy: str, basis: Basis, visits_per_day: int, planner: OptimalPlanner | None = None
) -> Timetable:
    """Returns the timetable of a policy. For the adaptive policy, which has none, it is that of the
    optimal policy.

    `planner`: computes the exact optimum for the rates of `basis`; without it, `quick_optimal`
    approximates it. The rules of the forum paper use `basis.plain`, rates without shrinkage. Raises
    ValueError for an unknown policy.
    """
    if policy in PAPER_RULES:
        return PAPER_RULES[policy](Demand(basis.plain), visits_per_day)
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
        if policy in PAPER_RULES or number <= smooth or at % 2 == 0 or at == last
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
