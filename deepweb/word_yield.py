"""What words will bring, fitted to what the asked ones brought: how many records have a word, and how a cut answer repeats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deepweb.seen import Seen

MEMORY = 60
"""The latest answers that are heeded."""

_SIZES = 80
_LARGEST = 60.0
_SHARES = np.linspace(0.0, 1.0, 11)
_SPREAD = 0.15
_OVERDISPERSED = 3.0
_LEAST_VARIANCE = 3.0
_PRIOR_KIND = 2.0
_ORDERED = 15
_ORDERED_RECORDS = 100
_PRIOR_ORDER = 5
_LEAST_SCALE = 1.02
_UNKNOWN_SCALE = 10.0
_SHAPE = 0.5
_EIGHTHS = (-1.53, -0.89, -0.49, -0.16, 0.16, 0.49, 0.89, 1.53)
"""The normal distribution's middles of eight equal shares."""


class Yield(NamedTuple):
    """`size` is to a word's share of the records seen what its number of matches is: N, where words were seen as often as they
    occur. `mixed`, in [0, 1], is how far a cut answer is drawn from all that match: 1 at random, 0 always the same records
    first. `by_kind` is what the size of each kind of word (`Seen.kinds`) is to that of all.
    """

    size: float
    mixed: float
    by_kind: np.ndarray

    def scales(self, seen: Seen) -> np.ndarray:
        """Records of a word for each that was seen, by kind; at least 1.02."""
        return np.maximum(_LEAST_SCALE, self.by_kind * self.size / max(1, seen.records))


def fitted(seen: Seen, cut: float) -> Yield:
    """The mean of the posterior over `size` and `mixed`, by the latest 60 answers to single words; flat priors.

    - A word's records lie log-normally about size * share, share being that of the records which other words brought, with
      variance 0.15² + 1 / count: an answer that was read whole says how many there are, as a stated total does; any other
      that there are more than it shows.
    - A cut answer to a word of which F records were seen and D are there brings between K - F records (the same first) and
      K (1 - F / D) (drawn at random), at the share `mixed` between them, with three times a binomial's variance. Where
      records that two answers share do not keep their order, `mixed` is drawn towards 1.
    """
    from scipy.special import log_ndtr  # a fifth of a second to load, which commands that only print save

    told = _answers(seen)
    kinds = np.ones(int(seen.kinds.max(initial=0)) + 1 + len(seen.outcomes))
    if not len(told):
        return Yield(_UNKNOWN_SCALE * max(1, seen.records), 0.5, kinds)
    count, share, size, cut_short, kind = told.T
    grid = np.linspace(np.log(seen.records * _LEAST_SCALE), np.log(seen.records * _LARGEST), _SIZES)
    spread = np.sqrt(_SPREAD**2 + 1 / count)
    away = (np.log(size) - np.log(share) - grid[:, None]) / spread
    log_likely = np.where(cut_short > 0, log_ndtr(-away), -away * away / 2).sum(axis=1)[:, None] + _of_new(seen, cut, grid)
    likely = np.exp(log_likely - log_likely.max())
    likely /= likely.sum()
    middle = float(np.exp((likely.sum(axis=1) * grid).sum()))
    mixed = float((likely.sum(axis=0) * _SHARES).sum())
    disorder = _disorder(seen)
    off = np.log(size / (share * middle))
    off = np.where(cut_short > 0, np.maximum(off, 0.0), off)
    for each in set(kind.astype(int).tolist()):
        mine = kind == each
        kinds[each] = float(np.exp(off[mine].sum() / (mine.sum() + _PRIOR_KIND)))
    return Yield(middle, mixed + (1 - mixed) * disorder, kinds)


def _answers(seen: Seen) -> np.ndarray:
    """(records of other words' answers with it, their share, matches or those shown, whether there are more, kind) of words."""
    times, rows = np.asarray(seen.times_returned), []
    for outcome, answer in list(zip(seen.outcomes, seen.answers, strict=True))[-MEMORY:]:
        place = seen.place(outcome.query[0])
        if len(outcome.query) != 1 or place is None or not outcome.returned:
            continue
        own = int((times[answer] == 1).sum())
        count = max(0.0, float(seen.frequency[place]) - own) + 0.5
        is_short = outcome.matching is None and not outcome.is_whole
        size = float(max(outcome.matching or 0, outcome.returned))
        rows.append((count, count / max(1, seen.records - own), size, is_short, seen.kind_of(outcome.query[0])))
    return np.array(rows, dtype=float).reshape(-1, 5)


def _of_new(seen: Seen, cut: float, grid: np.ndarray) -> np.ndarray:
    """Log-likelihood of the new records of cut answers, (sizes, shares)."""
    records = np.concatenate([[0], np.cumsum([outcome.new for outcome in seen.outcomes])])
    rows = [
        (outcome.before, records[place], outcome.new, outcome.matching or 0)
        for place, outcome in list(enumerate(seen.outcomes))[-MEMORY:]
        if outcome.overflowed and outcome.before > 0 and len(outcome.query) == 1
    ]
    if not rows:
        return np.zeros((len(grid), len(_SHARES)))
    before, had, new, matching = np.array(rows, dtype=float).T
    there = np.where(matching > 0, matching, before / np.maximum(had, 1) * np.exp(grid)[:, None])
    least, most = _bounds(before, np.maximum(there, cut * 1.01), cut)
    mean = np.minimum(least[..., None] + (most - least)[..., None] * _SHARES, cut)
    variance = _OVERDISPERSED * np.maximum(mean * (1 - mean / cut), _LEAST_VARIANCE)
    return (-((new[None, :, None] - mean) ** 2) / (2 * variance) - np.log(variance) / 2).sum(axis=1)


def _bounds(known: np.ndarray, there: np.ndarray, cut: float) -> tuple[np.ndarray, np.ndarray]:
    """The fewest and the most new records of cut answers to words with `known` of their records seen."""
    least = np.broadcast_to(np.maximum(cut - known, 0.0), there.shape)
    return least, np.maximum(least, cut * np.maximum(0.0, 1 - known / there))


def _disorder(seen: Seen) -> float:
    """How far the records that two answers share stand in another order in each: 0 never, 1 as often as not."""
    same, pairs = pairs_in_order(seen)
    return min(1.0, 2 * (1 - (same + _PRIOR_ORDER) / (pairs + _PRIOR_ORDER)))


def pairs_in_order(seen: Seen) -> tuple[int, int]:
    """Of neighbours among the records that two of the latest answers share: how many stand in the same order in both, and how
    many there are."""
    same = pairs = 0
    answers = [answer[:_ORDERED_RECORDS].tolist() for answer in seen.answers if len(answer) > 1][-_ORDERED:]
    for later, answer in enumerate(answers):
        places = {record: place for place, record in enumerate(answer)}
        for earlier in answers[:later]:
            shared = [places[record] for record in earlier if record in places]
            steps = list(zip(shared, shared[1:], strict=False))
            same += sum(first < second for first, second in steps)
            pairs += len(steps)
    return same, pairs


def new_of(
    known: np.ndarray,
    unseen: np.ndarray,
    cut: float,
    mixed: float,
    first: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """New records that answers cut at `cut` bring, of `known` records seen and gamma-distributed ones unseen of these means
    (shape: half of `counts`, which are those seen where not given): the mean over eight equally likely values (Wilson and
    Hilferty's approximation). `first` are those known that stand first in the site's order, all of them where not given.
    """
    shape = np.maximum(_SHAPE * (known if counts is None else counts), 1).astype(float)
    brought = np.zeros(len(known))
    for z in _EIGHTHS:
        drawn = unseen * np.maximum(1 - 1 / (9 * shape) + z / (3 * np.sqrt(shape)), 0.0) ** 3
        whole = known + drawn
        least, most = _bounds(known, np.maximum(whole, 1.0), cut)
        if first is not None:
            least = np.minimum(np.maximum(cut - np.minimum(known, first), 0.0), drawn)
        brought += np.where(whole <= cut, drawn, least + mixed * (most - least)) / len(_EIGHTHS)
    return brought
