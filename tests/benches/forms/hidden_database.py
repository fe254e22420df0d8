"""A simulated database behind a search form, for testing query policies: records with terms,
answers truncated at a limit, some words refused."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from scipy import sparse

from deepweb.answers.retrieved import Query, Term

BOX = "q"


class HiddenDatabase:
    """A database with a search form, simulated: `records` are the terms of each record, in the
    order in which the site ranks records.

    A query finds the records that contain all its terms. Its answer holds the first `limit` of
    these (None: all); if the site is not `ranked`, in an order specific to the query instead of the
    site's. Terms in `refused` find nothing, as stop words do on real sites.
    """

    def __init__(
        self,
        records: Sequence[Iterable[Term]],
        limit: int | None = None,
        refused: Iterable[Term] = (),
        ranked: bool = True,
    ) -> None:
        self.limit, self.ranked = limit, ranked
        self.refused = frozenset(refused)
        self._terms_of = [tuple(dict.fromkeys(terms)) for terms in records]
        self._postings: dict[Term, list[int]] = {}
        for place, terms in enumerate(self._terms_of):
            for term in terms:
                self._postings.setdefault(term, []).append(place)

    def __len__(self) -> int:
        return len(self._terms_of)

    @property
    def terms(self) -> list[Term]:
        """All terms that can be queried, in no particular order."""
        return [term for term in self._postings if term not in self.refused]

    def frequency(self, term: Term) -> int:
        """Returns the number of records with the term."""
        return len(self._postings.get(term, ()))

    def matches(self, query: Query) -> list[int]:
        """Returns the indices of all matching records, best ranked first, not truncated."""
        if any(term in self.refused for term in query):
            return []
        found: set[int] | None = None
        for term in query:
            places = self._postings.get(term, [])
            found = set(places) if found is None else found.intersection(places)
        return sorted(found or ())

    def shown(self, query: Query, places: list[int]) -> list[int]:
        """Returns the indices of the records shown in the answer to the query, in the order of the
        answer. places: the indices of all matching records, best ranked first."""
        if self.limit is None or len(places) <= self.limit:
            return places
        if not self.ranked:
            own = np.random.default_rng(zlib.crc32(repr(sorted(query)).encode()))
            places = [places[place] for place in own.permutation(len(places))]
        return places[: self.limit]

    def ask(self, query: Query) -> tuple[list[tuple[Hashable, tuple[Term, ...]]], bool]:
        """Returns the answer to a query: the index and the terms of each record shown, and whether
        matching records were left out."""
        places = self.matches(query)
        shown = self.shown(query, places)
        return [(place, self._terms_of[place]) for place in shown], len(shown) < len(places)


def synthetic(
    rng: np.random.Generator,
    documents: int = 20_000,
    vocabulary: int = 12_000,
    topics: int = 12,
    limit: int | None = None,
    stop_words: int = 50,
    mean_length: float = 120.0,
    own_share: float = 0.4,
) -> HiddenDatabase:
    """Returns a generated database of `documents` records on `topics` subjects, in random ranking
    order; answers are truncated at `limit` records (None: not).

    All words come from one Zipf distribution over `vocabulary` words. A share `own_share` of a
    document's words is replaced by means of a permutation of the vocabulary that belongs to the
    document's topic, so that each topic has frequent words of its own. The lengths of documents are
    log-normal with the median `mean_length`. The `stop_words` commonest words are refused in
    queries."""
    common = np.cumsum(1.0 / (np.arange(vocabulary) + 2.7))
    orders = np.array(
        [
            np.concatenate(
                [np.arange(stop_words), stop_words + rng.permutation(vocabulary - stop_words)]
            )
            for _ in range(topics)
        ]
    )
    names = [Term(BOX, f"w{word}") for word in range(vocabulary)]
    lengths = np.maximum(5, rng.lognormal(np.log(mean_length), 0.6, size=documents).astype(int))
    owners = np.repeat(rng.integers(0, topics, size=documents), lengths)
    drawn = np.searchsorted(common, rng.random(int(lengths.sum())) * common[-1])
    own = rng.random(len(drawn)) < own_share
    drawn[own] = orders[owners[own], drawn[own]]
    records = [
        [names[word] for word in np.unique(part)]
        for part in np.split(drawn, np.cumsum(lengths)[:-1])
    ]
    return HiddenDatabase(records, limit, _commonest(records, stop_words))


def _commonest(records: Sequence[Iterable[Term]], count: int) -> list[Term]:
    frequency: dict[Term, int] = {}
    for terms in records:
        for term in terms:
            frequency[term] = frequency.get(term, 0) + 1
    return sorted(frequency, key=lambda term: (-frequency[term], term))[:count]


def middling_terms(database: HiddenDatabase, rng: np.random.Generator, count: int) -> list[Term]:
    """Returns up to `count` different random terms that 0.2 % to 1 % of the records contain, for
    use as seeds."""
    low, high = 0.002 * len(database), 0.01 * len(database)
    pool = sorted(term for term in database.terms if low <= database.frequency(term) <= high)
    return [
        pool[place] for place in rng.choice(len(pool), size=min(count, len(pool)), replace=False)
    ]


def greedy_oracle(database: HiddenDatabase, queries: int) -> list[int]:
    """Returns the number of distinct records found after each of `queries` queries by a policy that
    knows the whole database: it always takes the single term whose answer contains most records not
    found yet. A reference for other policies; better sequences may exist."""
    shown = [database.shown((term,), database.matches((term,))) for term in database.terms]
    return greedy_cover(shown, len(database), queries)


def greedy_cover(answers: Sequence[Sequence[int]], records: int, queries: int) -> list[int]:
    """Returns the number of distinct records found after each of `queries` queries, if the answer
    with most records not found yet is always taken next. `answers` are lists of record indices,
    which are below `records`."""
    columns = [place for shown in answers for place in shown]
    starts = np.cumsum([0, *(len(shown) for shown in answers)])
    held = sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.int64), columns, starts), shape=(len(answers), records)
    )
    by_record = held.tocsc()
    gains = np.asarray(held.sum(axis=1)).ravel()
    covered = np.zeros(records, dtype=bool)
    curve = []
    for _ in range(queries):
        best = int(gains.argmax())
        shown = held[best].indices
        new = shown[~covered[shown]]
        covered[new] = True
        gains = gains - np.asarray(by_record[:, new].sum(axis=1)).ravel()
        curve.append(int(covered.sum()))
    return curve


def best_spans(values: Sequence[float], limit: int, queries: int) -> int:
    """Returns the largest number of records that `queries` queries of disjoint ranges can return,
    each at most `limit`; `values` are the values of all records. Computed exactly, by dynamic
    programming over the values in ascending order, in O(queries * d * m) steps, with d different
    values, at most m of which are in a range that contains `limit` records.

    >>> best_spans([1, 1, 1, 2, 5, 5], 2, 2), best_spans([1, 1, 1, 2, 5, 5], 2, 3)
    (4, 5)
    """
    counts = np.cumsum(np.unique(np.asarray(values), return_counts=True)[1])
    till = np.concatenate([[0], counts])
    first = np.maximum(np.searchsorted(till, till - limit, side="right") - 1, 0)
    best = np.zeros(len(till))
    for _ in range(queries):
        more = best.copy()
        for end in range(1, len(till)):
            begins = slice(int(first[end]), end)
            more[end] = max(
                more[end - 1],
                float((best[begins] + np.minimum(till[end] - till[begins], limit)).max()),
            )
        if more[-1] == best[-1]:
            break
        best = more
    return int(best[-1])
