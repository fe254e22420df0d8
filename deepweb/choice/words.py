"""Policies that choose the next query word: by frequency, by expected new records given that
answers are truncated (`fresh`), and so that all remaining queries together find most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Choice, Query, Retrieved, Term
from deepweb.choice.chooser import By, Offer, learned

MEMORY = 60


"""Number of the latest answers that `fitted` uses."""


_SIZES = 80


_LARGEST = 60.0


_SHARES = np.linspace(0.0, 1.0, 11)


_SPREAD = 0.15


_OVERDISPERSED = 3.0


_MIN_VARIANCE = 3.0


_PRIOR_KIND = 2.0


_ORDERED = 15


_ORDERED_RECORDS = 100


_PRIOR_ORDER = 5


_MIN_SCALE = 1.02


_SHAPE = 0.5


_EIGHTHS = (-1.53, -0.89, -0.49, -0.16, 0.16, 0.49, 0.89, 1.53)


"""Centres of eight equally probable parts of the normal distribution."""


class Yield(NamedTuple):
    """Fitted parameters. `size`: a word's number of matches divided by the share of seen records
    that contain it; this is the size of the database if words are equally frequent there. `mixed`,
    in [0, 1]: 1 if a truncated answer is a random sample of all matches, 0 if it always contains
    the same first records. `by_kind`: for each kind of word, by its number (`Seen.kind_of`), the
    kind's `size` divided by the overall `size`."""

    size: float
    mixed: float
    by_kind: np.ndarray

    def scales(self, seen: Retrieved) -> np.ndarray:
        """Returns for each kind of word, indexed by its number (`Seen.kind_of`): the ratio of all
        records that match a word to the ones seen so far; at least 1.02."""
        return np.maximum(_MIN_SCALE, self.by_kind * self.size / max(1, seen.records))


def fitted(seen: Retrieved, cut: float) -> Yield:
    """Fits a `Yield` to the answers to single words among the latest 60; `size` and `mixed` are
    posterior means with flat priors. `cut`: number of records at which answers are truncated.

    - The number of records that match a word is log-normal about size * share, with variance 0.15²
      + 1 / count; count and share are the number and proportion of those with the word among the
      seen records that other queries returned. The number is known from a complete answer or a
      stated total; any other answer gives a lower bound.
    - A truncated answer (K = `cut` records) to a word with M matches, F of them known, brings
      between K - F new records (known ones come first) and K (1 - F / M) (a random sample). The
      expected number is `mixed` of the way from the first to the second, with three times the
      binomial variance. `mixed` is shifted towards 1 if answers show shared records in different
      orders.
    """
    # Imported here because the import takes 0.2 seconds, and most commands do not need it.
    from scipy.special import log_ndtr

    rows = _answers(seen)
    kinds = np.ones(int(seen.kind_numbers.max(initial=0)) + 1 + len(seen.outcomes))
    if not len(rows):
        return Yield(_UNKNOWN_SCALE * max(1, seen.records), 0.5, kinds)
    count, share, size, cut_short, kind = rows.T
    grid = np.linspace(np.log(seen.records * _MIN_SCALE), np.log(seen.records * _LARGEST), _SIZES)
    spread = np.sqrt(_SPREAD**2 + 1 / count)
    away = (np.log(size) - np.log(share) - grid[:, None]) / spread
    log_likely = np.where(cut_short > 0, log_ndtr(-away), -away * away / 2).sum(axis=1)[
        :, None
    ] + _of_new(seen, cut, grid)
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


def _answers(seen: Retrieved) -> np.ndarray:
    """Returns a matrix with a row for each single word queried and five columns: (1) the number of
    seen records with the word that other queries returned, plus 1/2; (2) its share of all records
    that other queries returned; (3) the number of matches, or if unknown of records returned; (4) 1
    if (3) is only a lower bound, otherwise 0; (5) the number of the word's kind.
    """
    times, rows = np.asarray(seen.times_returned), []
    for outcome, answer in list(zip(seen.outcomes, seen.answers, strict=True))[-MEMORY:]:
        place = seen.index_of(outcome.query[0])
        if len(outcome.query) != 1 or place is None or not outcome.returned:
            continue
        own = int((times[answer] == 1).sum())
        count = max(0.0, float(seen.frequency[place]) - own) + 0.5
        is_short = outcome.matching is None and not outcome.is_whole
        size = float(max(outcome.matching or 0, outcome.returned))
        rows.append(
            (
                count,
                count / max(1, seen.records - own),
                size,
                is_short,
                seen.kind_of(outcome.query[0]),
            )
        )
    return np.array(rows, dtype=float).reshape(-1, 5)


def _of_new(seen: Retrieved, cut: float, grid: np.ndarray) -> np.ndarray:
    """Returns the log-likelihood of the parameters `size` and `mixed` of `fitted`, given the
    numbers of new records in the answers that were truncated at `cut` records: an array (len(grid),
    len(_SHARES)), with a row for each log(size) in `grid` and a column for each value of `mixed` in
    _SHARES."""
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
    variance = _OVERDISPERSED * np.maximum(mean * (1 - mean / cut), _MIN_VARIANCE)
    likelihood: np.ndarray = (
        -((new[None, :, None] - mean) ** 2) / (2 * variance) - np.log(variance) / 2
    ).sum(axis=1)
    return likelihood


def _bounds(known: np.ndarray, there: np.ndarray, cut: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns two bounds of the expected number of new records in an answer truncated at `cut`
    records: the smallest if the known records come first, the largest if the answer is a random
    sample. there: records that match; known: those seen of them.
    """
    least = np.broadcast_to(np.maximum(cut - known, 0.0), there.shape)
    return least, np.maximum(least, cut * np.maximum(0.0, 1 - known / there))


def _disorder(seen: Retrieved) -> float:
    """Returns how often two neighbouring records of one answer are in the opposite order in
    another: 0 if never, 1 if at least half of the time."""
    same, pairs = pairs_in_order(seen)
    return min(1.0, 2 * (1 - (same + _PRIOR_ORDER) / (pairs + _PRIOR_ORDER)))


def pairs_in_order(seen: Retrieved) -> tuple[int, int]:
    """Measures how far answers show records in the same order. The records that two of the latest
    15 answers share form pairs of consecutive ones. Returns how many of these pairs have the same
    order in both answers, and the number of all pairs.
    """
    same = pairs = 0
    answers = [answer[:_ORDERED_RECORDS].tolist() for answer in seen.answers if len(answer) > 1][
        -_ORDERED:
    ]
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
    """Returns the expected number of new records in answers that are truncated.

    Parameters
    ----------
    known : (queries,), number of seen records that match.
    unseen : (queries,), expected number of unseen ones; they are gamma-distributed with shape
        `counts` / 2, at least 1.
    cut : number of records at which answers are truncated.
    mixed : in [0, 1], as in `Yield`.
    first : (queries,), known records among the first `cut` in the site's order; None: all.
    counts : (queries,), on which the shape depends; None: `known`.

    Returns
    -------
    brought : (queries,), expected number of new records.
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


_MEMORY = 100


_UNKNOWN_SCALE = 10.0


_PRIOR_RETURNS = 2.0


_PRIOR_NEW = 200.0


_FRESH = 0.2


DOUBT = 0.6


"""Factor for the new records expected from words of a record field by whose words no record has
been found yet."""


_REFINED = 20


def unasked(seen: Retrieved, refused: Iterable[Term]) -> np.ndarray:
    """Tells which seen terms may be queried alone.

    Parameters
    ----------
    seen : the answers so far.
    refused : terms that may not be queried.

    Returns
    -------
    free : (terms,), in the order of the arrays of `seen`: the term was not queried yet and is not
        in `refused`.
    """
    free = np.ones(len(seen.frequency), dtype=bool)
    free[seen.asked_terms()] = False
    for term in refused:
        place = seen.index_of(term)
        if place is not None:
            free[place] = False
    return free


def _best(score: np.ndarray, free: np.ndarray) -> int | None:
    """Returns the index of the largest positive value of `score` where `free` is True (both are
    indexed by term), the first of equal ones; None if there is none."""
    score = np.where(free, score, 0.0)
    return int(score.argmax()) if len(score) and score.max() > 0 else None


@dataclass(frozen=True, slots=True)
class FrequencyPolicy:
    """Chooses the unqueried word contained in most seen records; a strong baseline if answers are
    not truncated."""

    refused: frozenset[Term] = frozenset()

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns the most frequent word that may still be queried, without a prediction; empty if
        there is none."""
        place = _best(seen.frequency.astype(float), unasked(seen, self.refused))
        return [] if place is None else [Offer(Choice((seen.term(place),)))]


@dataclass(frozen=True, slots=True)
class FreshPolicy:
    """Chooses the query with most expected new records, given that answers are truncated at `limit`
    (None: no truncation).

    Words not queried yet are ranked by score = E[new] * learned. E[new] comes from `new_of`,
    fitted to the answers so far: the number of unseen records that match a word is
    gamma-distributed with mean df_seen * (s - 1) * (fresh / g)^0.2. A complete answer brings all of
    them, a truncated one as many as this site's truncated answers usually do.

    - df_seen: the number of seen records that contain the word.
    - s: the ratio of all records that match a word to the seen ones among them.
    - fresh = (f1 + 2 g) / (n + 2): the Good-Turing share of a word's records still unseen; n is how
      often its records were returned, f1 how many of them were returned once, g the ratio f1 / n of
      the whole harvest.
    - learned: the ratio of actual to predicted new records for words of one kind (input, record
      field and length), because author names and common syllables with the same df_seen differ in
      yield; times 0.6 for record fields in `doubtful`.
    """

    limit: int | None = None
    refused: frozenset[Term] = frozenset()
    pairs: bool = False
    doubtful: frozenset[str] = frozenset()

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns the word with the best score. With `pairs`, returns instead an earlier query with
        a truncated answer, refined by a second word (`refinement`), if that is expected to bring
        more new records. Empty if no word is left."""
        if not len(seen.frequency):
            return []
        yields = fitted(seen, self._cut(seen))
        expected = new_of(seen.frequency, self._unseen(seen, yields), self._cut(seen), yields.mixed)
        score = expected * self._learned_of_kinds(seen)[seen.kind_numbers]
        free = unasked(seen, self.refused)
        place = _best(score, free)
        if place is None:
            # No new records are expected from any word: try the remaining words, most frequent
            # first.
            place = _best(seen.frequency.astype(float), free)
        least = 0.0 if place is None else float(score[place])
        pair = self._pair(seen, least, yields) if self.pairs else None
        unseen = max(0.0, yields.size - seen.records)
        if pair is not None:
            return [pair._replace(unseen=unseen)]
        if place is None:
            return []
        word = Choice((seen.term(place),), float(expected[place]), By.WORDS)
        return [Offer(word, least, unseen=unseen)]

    def _pair(self, seen: Retrieved, least: float, yields: Yield) -> Offer | None:
        """Returns the best refined query: an earlier query whose answer was truncated, with a
        second word added (see `refinement`). None if the predicted number of new records,
        corrected by what earlier pairs brought, exceeds `least` for none."""
        scale, cut = max(1.0, yields.size / max(1, seen.records)), self._cut(seen)
        pairs = (outcome for outcome in seen.outcomes[-_MEMORY:] if outcome.bucket == By.PAIRS)
        trusted = learned(pairs, min(cut, _PRIOR_NEW))
        overall = seen.once.sum() / max(1, seen.returns.sum())
        best: Offer | None = None
        cut_answers = [
            place
            for place, outcome in enumerate(seen.outcomes)
            if outcome.overflowed and len(outcome.query) == 1 and outcome.query[0].value
        ]
        for asked in cut_answers[-_REFINED:]:
            outcome = seen.outcomes[asked]
            matching = max(float(outcome.matching or outcome.before * scale), cut)
            found = (
                refinement(seen, asked, self.refused)
                if (matching - cut) * overall > least
                else None
            )
            if found is None:
                continue
            # New records of the refined query: its share of all matches, minus those that the
            # truncated answer contained already.
            gain = min(found[1] * matching, cut) - found[1] * cut
            gain *= overall
            if gain * trusted > least:
                least = gain * trusted
                best = Offer(Choice(found[0], gain, By.PAIRS), least)
        return best

    def _cut(self, seen: Retrieved) -> float:
        return float(self.limit) if self.limit else float(max(1, seen.records)) * _UNKNOWN_SCALE

    def _unseen(self, seen: Retrieved, yields: Yield) -> np.ndarray:
        overall = max(seen.once.sum() / max(1, seen.returns.sum()), 1e-6)
        fresh = (seen.once + _PRIOR_RETURNS * overall) / (seen.returns + _PRIOR_RETURNS) / overall
        unseen: np.ndarray = (
            seen.frequency * (yields.scales(seen)[seen.kind_numbers] - 1) * fresh**_FRESH
        )
        return unseen

    def foreseen(self, seen: Retrieved) -> tuple[np.ndarray, np.ndarray]:
        """Returns two arrays with one entry per term: the estimated number of records in the whole
        database that match the term, and the factor `learned` of the term's kind (see the class).
        """
        unseen = self._unseen(seen, fitted(seen, self._cut(seen)))
        return seen.frequency + unseen, self._learned_of_kinds(seen)[seen.kind_numbers]

    def scales(self, seen: Retrieved) -> np.ndarray:
        """Returns the factor s (see the class) for each kind of term, indexed by the kind's number
        (`Seen.kind_of`). The fewer answers there are to words of a kind, the more its factor is
        shrunk towards the s of all words.
        """
        return fitted(seen, self._cut(seen)).scales(seen)

    def _learned_of_kinds(self, seen: Retrieved) -> np.ndarray:
        prior = min(self._cut(seen), _PRIOR_NEW)
        size = int(seen.kind_numbers.max()) + 1 + len(seen.outcomes)
        brought, predicted = np.full(size, prior), np.full(size, prior)
        for outcome in seen.outcomes[-_MEMORY:]:
            if By.WORDS <= outcome.bucket < By.PAIRS:
                kind = seen.kind_of(outcome.query[0])
                brought[kind] += outcome.new
                predicted[kind] += outcome.predicted
        for kind, column in enumerate(seen.columns_of_kinds()[:size]):
            if column in self.doubtful:
                brought[kind] *= DOUBT
        ratios: np.ndarray = brought / predicted
        return ratios


def refinement(
    seen: Retrieved, asked: int, refused: Iterable[Term] = ()
) -> tuple[Query, float] | None:
    """Finds a second word to add to query number `asked`, whose answer was truncated: the word that
    divides the records of that answer most evenly.

    It is a word for the same input that some but not all of the answer's records contain, as nearly
    as possible half of them, that was not yet combined with the query and is not in `refused`.
    Returns the query of both words, and the share of the answer's records that contain the second
    word; None if there is no such word."""
    query, records = seen.outcomes[asked].query, seen.answers[asked]
    if len(records) < 2:
        return None
    counts = np.bincount(
        np.concatenate([seen.terms_at(int(record)) for record in records]),
        minlength=len(seen.frequency),
    )
    barred = frozenset(refused).union(query)
    splitting = np.flatnonzero((counts > 0) & (counts < len(records)))
    for place in splitting[
        np.argsort(np.abs(counts[splitting] / len(records) - 0.5), kind="stable")
    ]:
        term = seen.term(int(place))
        if (
            term.input == query[0].input
            and term not in barred
            and not seen.was_asked((*query, term))
        ):
            return (*query, term), float(counts[place] / len(records))
    return None
