"""Tests that enough visits are made within their predicted time spans, and that the spans are
narrow if little is uncertain."""

from __future__ import annotations

from datetime import date
from functools import cache

import numpy as np

from forums.plans import expected_visits
from forums.schedule.adaptive import LoopOptions
from forums.schedule.events import Sites
from forums.schedule.pacing import Budget
from forums.simulation.delay_simulation import BoardLog, Setup, Simulation, _Trace
from tests.forums.test_delay_simulation import synthetic

STEP, HOUR = 180.0, 3600.0


@cache
def told_and_made(policy: str, visits: int) -> list[tuple[float, float, float, float]]:
    """For each board's next visit: the predicted first and last time, when it was predicted, and
    when the visit was made."""
    simulation = Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=2))
    boards = np.arange(simulation.boards)
    log, sites = (
        BoardLog(simulation.events, simulation.weights, simulation.start),
        Sites(0 * boards, [simulation.clock]),
    )
    overview_sources, last = (
        simulation._overview_sources(policy, boards),
        np.full(len(boards), simulation.start),
    )
    loop = simulation._loop(
        last, simulation.start, sites, Budget(visits), LoopOptions(), overview_sources
    )
    if loop.overview is not None:
        loop.overview.calibrate(0, log.figures(boards, simulation.start), simulation.start)
    trace, told, found = _Trace(), {}, []
    for step in range(int(40 * HOUR / STEP)):
        now = simulation.start + step * STEP
        before = len(trace.boards)
        simulation._tick(loop, log, now, trace, BoardLog.figures)
        for board in np.concatenate([*trace.boards[before:], boards[:0]]).tolist():
            found += [(*one, now) for one in told.pop(board, [])]
        if step % 15 == 7 and now < simulation.start + 30 * HOUR:
            outlook, moments = loop.ahead(now, now + 12 * HOUR, STEP)
            first, until = expected_visits.spans(loop, outlook, moments, now, STEP)
            assert (first <= until).all() and (first >= now).all()
            for board in set(outlook.board.tolist()):
                row = outlook.board.tolist().index(board)
                told.setdefault(board, []).append((float(first[row]), float(until[row]), now))
    return found


def test_where_visits_alone_decide_the_next_one_is_told_to_the_ranking() -> None:
    found = told_and_made("adaptive", 32)
    kept = [first - 1 <= made <= until + 1 for first, until, _told, made in found]
    assert len(found) >= 60 and np.mean(kept) >= 2 / 3
    assert max(until - first for first, until, *_rest in found) <= 3 * STEP


def test_where_looks_decide_most_visits_are_made_in_the_span_and_near_ones_are_narrow() -> None:
    found = told_and_made("glances", 32)
    kept = [first - 1 <= made <= until + 1 for first, until, _told, made in found]
    assert len(found) >= 60 and np.mean(kept) >= 0.5
    near = [until - first for first, until, told, made in found if made - told <= HOUR]
    assert np.median(near) <= 1.5 * HOUR


def test_the_same_state_gives_the_same_spans() -> None:
    assert told_and_made("glances", 32) == told_and_made.__wrapped__("glances", 32)
