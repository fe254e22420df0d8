"""Data for the page on which an operator tunes a plan: the rates of its boards, and their stored
posts, on which policies are simulated."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from forums.models import Board, Plan
from forums.schedule import Demand
from forums.schedule_optimal import OptimalPlanner
from forums.services import rhythms
from forums.services.plans import zone_of
from forums.services.rhythms import Rhythm
from forums.simulate import Setup, SetupError, Simulation
from forums.tuning import Basis

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
    boards = tuple(rhythms.boards_of(plan))
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
        found = rhythms.rhythm(plan, now, boards)
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
        rhythms.known_days(board, now, LONGEST_TEST_DAYS + plan.history_days)
        for board in known.boards
    )
    if days < SHORTEST_TEST_DAYS + SHORTEST_HISTORY_DAYS:
        raise NotEnough(days)
    test = int(min(LONGEST_TEST_DAYS, max(SHORTEST_TEST_DAYS, days / 3)))
    history = int(min(plan.history_days, days - test))
    log = rhythms.stored_events(
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
