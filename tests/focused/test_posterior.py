"""Probability by place in a ranking, the share of pages on topic with its interval, and the choice
of pages to mark."""

import numpy as np
import pytest

from focused.judge.probability import PRIOR, Posterior, places, probability, to_mark


def drawn(
    seed: int, share: float, quality: float, size: int = 400
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truth of random pages: those on topic score higher by `quality` on average."""
    rng = np.random.default_rng(seed)
    truth = rng.random(size) < share
    return rng.normal(size=size) + quality * truth, truth


def test_places_are_symmetric_and_ties_share_one() -> None:
    assert places(np.array([1.0, 1.0, 5.0, 7.0])).tolist() == [-1.5, -1.5, 0.75, 2.25]
    assert places(np.array([0.0, 9.0, 1.0]), np.array([1.0, 5.0])).tolist() == [-3.0, 3.0, -1.5]


def test_before_marks_the_highest_quarter_is_more_probable_than_not() -> None:
    posterior = Posterior()
    assert posterior.calibration == PRIOR
    found = probability(places(np.arange(100.0)), *posterior.calibration)
    assert (found >= 0.5).sum() == 25 and (np.diff(found) > 0).all()


@pytest.mark.parametrize("marks", [10, 20])
@pytest.mark.parametrize(("share", "quality"), [(0.05, 2.5), (0.2, 2.0), (0.5, 1.5), (0.9, 2.0)])
def test_the_interval_holds_the_truth(marks: int, share: float, quality: float) -> None:
    inside, widths = [], []
    for seed in range(60):
        scores, truth = drawn(seed, share, quality)
        marked = to_mark(scores, (), marks)
        at = places(scores)
        posterior = Posterior(at[marked], truth[marked])
        low, mean, high = posterior.number(np.delete(at, marked))
        low, mean, high = (truth[marked].sum() + one for one in (low, mean, high))
        assert low <= mean <= high
        inside.append(low <= truth.sum() <= high)
        widths.append((high - low) / len(truth))
    assert np.mean(inside) >= 0.8 and np.mean(widths) < (0.4 if marks == 10 else 0.28)


def test_one_page_of_each_tenth_is_offered_then_of_each_twentieth() -> None:
    scores = np.arange(200.0)
    first = to_mark(scores, (), 10)
    assert sorted(page // 20 for page in first) == list(range(10)) and first[0] > first[-1]
    further = to_mark(scores, first, 10)
    assert len({page // 10 for page in first + further}) == 20 and not set(first) & set(further)
    assert len(to_mark(scores, first, 7)) == 7
    assert sorted(to_mark(np.zeros(4), [2], 10)) == [0, 1, 3] and to_mark(np.zeros(0), (), 3) == []
