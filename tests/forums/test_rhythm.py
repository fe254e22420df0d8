"""Estimates from history: rates, daily shapes, shrinkage, fading, and their convergence."""

import numpy as np
import pytest

from forums.schedule.rhythm import (
    BoardEvents,
    ProfileOptions,
    dirichlet_kappa,
    estimate,
    moving_mean,
    settling,
    shape_counts,
)

DIURNAL = 1.0 + np.sin((np.arange(24) - 10) / 24 * 2 * np.pi)


def synthetic(rng, volumes, days, shape=DIURNAL):
    """Returns Poisson events of boards with these mean numbers per day and a common daily rhythm; a
    fifth are new threads."""
    board, hours = [], []
    for number, volume in enumerate(volumes):
        counts = rng.poisson(volume * np.tile(shape / shape.sum(), days))
        slots = np.repeat(np.arange(24 * days), counts)
        hours.append(slots + rng.random(len(slots)))
        board.append(np.full(len(slots), number))
    board, hours = np.concatenate(board), np.concatenate(hours)
    return BoardEvents(board, hours, rng.random(len(board)) < 0.2)


def test_weights_are_equation_five():
    events = BoardEvents(
        np.array([0, 0, 0, 1]),
        np.array([1.0, 2.0, 30.0, 3.0]),
        np.array([True, False, False, True]),
    )
    found = estimate(
        events,
        3,
        48.0,
        ProfileOptions(window_days=2, kappa_factor=0),
        0.5,
        importance=np.array([1.0, 4.0, 1.0]),
    )
    assert found.new_per_day.tolist() == [0.5, 0.5, 0.0]
    assert found.replies_per_day.tolist() == [1.0, 0.0, 0.0]
    assert found.weights.tolist() == [1.0, 2.0, 0.0]
    assert found.rates.sum(axis=1).tolist() == pytest.approx([1.0, 2.0, 0.0])
    assert found.shape.sum(axis=1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert found.shape[0, [1, 2, 6]].tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_events_outside_the_window_do_not_count():
    events = BoardEvents(np.array([0, 0, 0]), np.array([-1.0, 10.0, 24.0]), np.array([True] * 3))
    assert estimate(events, 1, 24.0, ProfileOptions(window_days=1)).new_per_day.tolist() == [1.0]


def test_shrinkage_brings_small_boards_nearer_to_the_truth():
    rng = np.random.default_rng(3)
    events = synthetic(rng, [80, 60, 2, 2, 1, 1], 10)
    truth = DIURNAL / DIURNAL.sum()
    raw = estimate(events, 6, 240.0, ProfileOptions(window_days=10, kappa_factor=0)).shape
    shrunk = estimate(events, 6, 240.0, ProfileOptions(window_days=10)).shape
    assert np.abs(shrunk[2:] - truth).sum() < 0.3 * np.abs(raw[2:] - truth).sum()


def test_kappa_finds_the_spread_of_the_shapes():
    rng = np.random.default_rng(5)
    pool = DIURNAL / DIURNAL.sum()
    for kappa in (20.0, 200.0):
        counts = np.array(
            [rng.multinomial(400, rng.dirichlet(kappa * pool + 1e-9)) for _ in range(150)],
            dtype=float,
        )
        assert dirichlet_kappa(counts, pool) == pytest.approx(kappa, rel=0.25)
    assert dirichlet_kappa(counts[:1], pool) == 1e5


def test_a_new_site_is_usable_after_one_day_and_before_any_history():
    rng = np.random.default_rng(7)
    events = synthetic(rng, [30, 5], 1)
    found = estimate(events, 2, 24.0, ProfileOptions(), days_known=1.0)
    assert found.weights[0] > 3 * found.weights[1] > 0
    none = estimate(
        BoardEvents(np.array([], dtype=int), np.array([]), np.array([], dtype=bool)),
        2,
        24.0,
        ProfileOptions(prior_days=1.0, prior_per_day=2.0),
        days_known=0.5,
    )
    assert none.weights.tolist() == pytest.approx([2.0 / 1.5] * 2)
    assert np.ptp(none.rates) == pytest.approx(0.0)


def test_half_life_follows_a_board_that_has_grown():
    old, new = np.zeros(10), np.full(30, 24.0 * 19)
    events = BoardEvents(
        np.zeros(40, dtype=int), np.concatenate([old, new]), np.ones(40, dtype=bool)
    )
    plain = estimate(events, 1, 480.0, ProfileOptions()).weights[0]
    fading = estimate(events, 1, 480.0, ProfileOptions(half_life_days=5.0)).weights[0]
    assert plain == pytest.approx(2.0)
    assert fading > 3.0


def test_half_life_leaves_a_steady_rate_alone():
    hours = np.arange(0, 480, 0.5)
    events = BoardEvents(np.zeros(len(hours), dtype=int), hours, np.ones(len(hours), dtype=bool))
    assert estimate(events, 1, 480.0, ProfileOptions(half_life_days=7.0)).weights[
        0
    ] == pytest.approx(48.0, rel=0.01)


def test_estimates_settle_with_more_days():
    rng = np.random.default_rng(13)
    events = synthetic(rng, [20, 10, 5, 3], 20)
    curve = settling(events, 4, 480.0, ProfileOptions(), [1, 5, 10, 20])
    assert [point.days for point in curve] == [1, 5, 10, 20]
    assert curve[0].weights_off > curve[1].weights_off > curve[3].weights_off == 0.0
    assert curve[0].shapes_off >= curve[2].shapes_off >= curve[3].shapes_off == 0.0


def test_counts_by_hour_of_day():
    hours = np.array([0.0, 23.9, 24.0 * 4])
    weights = np.array([1.0, 0.5, 1.0])
    assert shape_counts(np.zeros(3, dtype=int), hours, weights, 1, 24)[0, [0, 23]].tolist() == [
        2.0,
        0.5,
    ]


def test_moving_mean_is_cyclic_and_keeps_the_mass():
    shape = np.zeros((1, 24))
    shape[0, 0] = 1.0
    smooth = moving_mean(shape, 3)
    assert smooth[0, [23, 0, 1]].tolist() == pytest.approx([1 / 3] * 3)
    assert smooth.sum() == pytest.approx(1.0)


def test_a_window_without_days_is_refused():
    with pytest.raises(ValueError, match="window"):
        ProfileOptions(window_days=0)
