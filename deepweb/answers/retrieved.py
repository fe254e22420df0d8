"""The answers of a harvest so far: records, their terms, how often each was returned, and the
queries, for which it is decided again after each answer which answers were truncated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from deepweb.answers.totals import AnswerStatement, Stated, total_of, trusted_shape

CUT_FROM_QUERIES = 10


_ROOM = 1_024


TWICE_LISTED = 0.05


_ROUND = frozenset((10, 15, 20, 24, 25, 30, 40, 48, 50, 60, 64, 75, 80, 100))


class Term(NamedTuple):
    """A value for an input of a form: the word or choice `value` for the input named `input`."""

    input: str
    value: str


Query = tuple[Term, ...]


"""The terms set in one submission: one term, or several that must all match."""


class Choice(NamedTuple):
    """A query chosen by a policy. `predicted` is the expected number of new records. `bucket` is
    the number of the group of queries whose past predictions are compared with their results: 0 for
    single words, 5 for pairs of words, -1 for queries that are not compared. `expected` is the
    number for which the query was chosen: `predicted`, corrected by that comparison."""

    query: Query
    predicted: float = 0.0
    bucket: int = -1
    expected: float = 0.0


class Outcome(NamedTuple):
    """The result of one query: number of records returned, of new ones among them, and whether the
    site left out some matching records (`overflowed`).

    `before`: how many of the records seen earlier contained the query's first term. `predicted` and
    `bucket` are copied from the `Choice` that was submitted. `partial`: the harvest stopped reading
    the answer before its end, so the number of records returned gives no evidence of the site's
    result limit. `matching`: the number of matching records that the site states, None if it states
    none.
    """

    query: Query
    returned: int
    new: int
    overflowed: bool
    before: int = 0
    predicted: float = 0.0
    bucket: int = -1
    partial: bool = False
    matching: int | None = None

    @property
    def is_whole(self) -> bool:
        """Tells whether all matching records were returned."""
        return not (self.overflowed or self.partial)


class Retrieved:
    """All answers of a harvest. The lists `outcomes` and `answers` have one entry for each query,
    in the order of submission: the query with the numbers of records that it found, and the indices
    of the records returned, in the site's order.

    The following arrays are indexed by term, in the order in which terms were first seen:

    - `frequency`: the number of seen records (records returned so far) that contain the term
      (df_seen),
    - `returns`: how often records with the term were returned,
    - `once`: the number of records with it that were returned exactly once,
    - `kinds`: the number of the term's kind (`kind_of`).
    """

    def __init__(self, column_of: Callable[[Term], str] = lambda term: "") -> None:
        """`column_of` returns the name of the record field from which a term was read, "" if
        unknown."""
        self._column_of = column_of
        self.outcomes: list[Outcome] = []
        self.answers: list[np.ndarray] = []
        self._terms: dict[Term, int] = {}
        self._names: list[Term] = []
        self._records: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._terms_of: list[np.ndarray] = []
        self._times: list[int] = []
        self._asked: set[Query] = set()
        self._counts = np.zeros((4, _ROOM), dtype=np.int64)
        self._kinds: dict[tuple[str, int, str], int] = {}

    @property
    def frequency(self) -> np.ndarray:
        return self._counts[0, : len(self._names)]

    @property
    def returns(self) -> np.ndarray:
        return self._counts[1, : len(self._names)]

    @property
    def once(self) -> np.ndarray:
        return self._counts[2, : len(self._names)]

    @property
    def kind_numbers(self) -> np.ndarray:
        return self._counts[3, : len(self._names)]

    def kind_of(self, term: Term) -> int:
        """Returns the number that identifies a term's kind. Terms of one kind have the same input,
        the same record field and the same class of length: 1, 2, 3, or more characters; for ASCII
        values up to 3, up to 7, up to 11, or more.
        """
        value = term.value
        length = len(value) if not value.isascii() else 1 + len(value) // 4
        return self._kinds.setdefault(
            (term.input, min(length, 4), self._column_of(term)), len(self._kinds)
        )

    def columns_of_kinds(self) -> list[str]:
        """Returns the name of the record field for each kind of term, indexed by the kind's
        number."""
        return [column for _, _, column in self._kinds]

    @property
    def records(self) -> int:
        """The number of distinct records seen."""
        return len(self._records)

    @property
    def times_returned(self) -> Sequence[int]:
        """How often each record was returned, indexed by record."""
        return self._times

    def term(self, place: int) -> Term:
        """Returns the term at index `place` of the arrays that are indexed by term (`frequency`,
        `returns` …)."""
        return self._names[place]

    def index_of(self, term: Term) -> int | None:
        """Returns the index of a term in the arrays over terms; None if no seen record contains
        it."""
        return self._terms.get(term)

    def was_asked(self, query: Query) -> bool:
        """Tells whether this query was already submitted, whatever the order of its terms."""
        return tuple(sorted(query)) in self._asked

    def asked_terms(self) -> np.ndarray:
        """Returns the indices, in the arrays over terms, of the seen terms that were queried
        alone."""
        places = [
            self._terms[query[0]]
            for query in self._asked
            if len(query) == 1 and query[0] in self._terms
        ]
        return np.array(sorted(places), dtype=np.int64)

    def key(self, record: int) -> Hashable:
        """Returns the key, as passed to `add`, of the record with this index."""
        return self._keys[record]

    def has(self, record: Hashable) -> bool:
        """Tells whether a record with this key was returned before."""
        return record in self._records

    def terms_at(self, record: int) -> np.ndarray:
        """Returns the indices, in the arrays over terms, of the terms that the record with index
        `record` contains."""
        return self._terms_of[record]

    def having(self, terms: Sequence[Term]) -> np.ndarray:
        """Returns which seen records contain which of `terms`, as a matrix of 1 and 0, (seen
        records, terms)."""
        columns = np.full(len(self._names) + 1, -1)
        for column, term in enumerate(terms):
            columns[self._terms.get(term, -1)] = column if term in self._terms else -1
        found = np.zeros((len(self._terms_of), len(terms)))
        if self._terms_of and terms:
            rows = np.repeat(np.arange(len(self._terms_of)), [len(each) for each in self._terms_of])
            said = columns[np.concatenate(self._terms_of)]
            found[rows[said >= 0], said[said >= 0]] = 1.0
        return found

    def add(
        self,
        choice: Choice,
        answer: Iterable[tuple[Hashable, Iterable[Term]]],
        overflowed: bool = False,
        partial: bool = False,
    ) -> Outcome:
        """Adds the answer to the query of `choice`: a (key, terms) pair for each record returned.
        The terms of a record that was returned before are ignored. `overflowed` and `partial` are
        stored in the outcome (see `Outcome`), which is returned.

        The result depends only on the choices and answers and their order, so that a harvest is
        resumed by replaying its stored query log."""
        query = choice.query
        place = self._terms.get(query[0])
        before = int(self._counts[0, place]) if place is not None else 0
        fresh: list[int] = []
        again: list[int] = []
        shown: list[int] = []
        for key, terms in dict(answer).items():
            place = self._records.get(key)
            if place is None:
                place = self._records[key] = len(self._terms_of)
                self._keys.append(key)
                self._terms_of.append(
                    np.unique(np.array([self._index(term) for term in terms], dtype=np.int64))
                )
                self._times.append(1)
                fresh.append(place)
            else:
                self._times[place] += 1
                again.append(place)
            shown.append(place)
        self._count(fresh, again)
        self.answers.append(np.array(shown, dtype=np.int64))
        self._asked.add(tuple(sorted(query)))
        returned = len(fresh) + len(again)
        outcome = Outcome(
            query,
            returned,
            len(fresh),
            overflowed,
            before,
            choice.predicted,
            choice.bucket,
            partial,
        )
        self.outcomes.append(outcome)
        return outcome

    def _count(self, fresh: list[int], again: list[int]) -> None:
        for place in fresh:
            self._counts[:3, self._terms_of[place]] += 1
        for place in again:
            terms = self._terms_of[place]
            self._counts[1, terms] += 1
            if self._times[place] == 2:
                self._counts[2, terms] -= 1

    def _index(self, term: Term) -> int:
        place = self._terms.get(term)
        if place is None:
            place = self._terms[term] = len(self._names)
            self._names.append(term)
            if place >= self._counts.shape[1]:
                self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
            self._counts[3, place] = self.kind_of(term)
        return place


def cut_at(outcomes: Sequence[Outcome], stated: Sequence[int | None] = ()) -> int | None:
    """Returns the number of records at which a site truncates its answers, None if there is no
    evidence of it.

    Totals stated by the site (`stated`, parallel to `outcomes`) are used first: the limit is the
    size of the largest answer with fewer records than stated. Otherwise the first 10 answers with
    records to single terms (or to other queries, if there are none) are compared: the limit is
    their most frequent size, if it occurred at least three times and no answer was larger. Answers
    that were not read to their end are ignored."""
    known = [
        outcome.returned
        for outcome, total in zip(outcomes, stated, strict=False)
        if not outcome.partial and is_short_of(outcome.returned, total)
    ]
    if known:
        return max(known)
    outcomes = [outcome for outcome in outcomes if outcome.returned > 0 and not outcome.partial]
    sizes = [outcome.returned for outcome in outcomes if len(outcome.query) == 1]
    sizes = sizes or [
        outcome.returned for outcome in outcomes
    ]  # no answer to a single term, so the harvest queried only ranges
    first = sizes[:CUT_FROM_QUERIES]
    if not first or max(sizes) != max(first):
        return None
    largest = max(first)
    return (
        largest
        if first.count(largest) >= 3
        and first.count(largest) >= max(first.count(size) for size in set(first))
        else None
    )


def likely_cut(outcomes: Sequence[Outcome]) -> int | None:
    """Returns an early guess of the number of records at which the site truncates its answers: the
    size of the largest answer so far, if it is a typical page limit (10, 25, 50, 200, …), otherwise
    None. The guess is used to choose the next query while `cut_at` has no evidence; it does not
    mark answers as truncated."""
    largest = digits = max(
        (outcome.returned for outcome in outcomes if not outcome.partial), default=0
    )
    while digits > 100 and digits % 10 == 0:
        digits //= 10
    return largest if digits in _ROUND else None


def is_short_of(returned: int, total: int | None) -> bool:
    """Tells whether an answer that was read to its end has fewer records (`returned`) than the site
    states (`total`), by more than the 5 % that may be due to records listed twice. False if no
    total is stated.
    """
    return total is not None and 0 < returned < total - TWICE_LISTED * returned


_JUDGED = 300


_TELLING = 3
"""Number of queries with records that must agree before one answer is taken for the database."""


class Logged(NamedTuple):
    """One finished query. `found` are the ids of the records returned; `stated` are the numbers on
    the result page that may be the total number of matches; `total` is the number that was
    identified as the total (None if unknown).
    """

    number: int
    choice: Choice
    found: list[int]
    overflowed: bool
    partial: bool
    stated: tuple[Stated, ...]
    total: int | None

    @property
    def is_whole(self) -> bool:
        """Tells whether all matching records were returned."""
        return not (self.overflowed or self.partial)

    def statement(self) -> AnswerStatement:
        """Returns what this answer states about its number of matching records, as input of
        `trusted_shape`, which finds the line of the pages that states the total."""
        return AnswerStatement(
            self.stated, len(self.found), not self.partial, frozenset(self.choice.query)
        )


def is_open(entry: Logged) -> bool:
    """Tells whether a query has no value at all."""
    return not any(term.value for term in entry.choice.query)


class QueryLog:
    """The list of finished queries. `settle` determines again which answers were truncated, and
    corrects the entries and the outcomes in `Retrieved`, which holds one outcome for each entry, in
    the same order."""

    def __init__(self) -> None:
        self.entries: list[Logged] = []
        self._line: str | None = None
        self._limit: int | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Logged]:
        return iter(self.entries)

    def __getitem__(self, place: int) -> Logged:
        return self.entries[place]

    @property
    def totals(self) -> Sequence[int | None]:
        """The number of matching records that the site stated for each query; None if unknown."""
        return [entry.total for entry in self.entries]

    def stated_total(self, stated: Iterable[Stated]) -> int | None:
        """Returns the total that an answer's pages state in the line known to state it."""
        return total_of(stated, self._line)

    def listing(self) -> Logged | None:
        """Returns the answer that lists the whole database: that of a query without any value,
        which was read to its end and contains all that other queries found, if these found enough
        to tell; None if there is none."""
        others = [entry for entry in self.entries if entry.found and not is_open(entry)]
        for entry in self.entries:
            if is_open(entry) and entry.is_whole and len(others) >= _TELLING:
                known = set(entry.found)
                if all(known.issuperset(other.found) for other in others):
                    return entry
        return None

    def is_fewer(self, entry: Logged) -> bool | None:
        """Tells whether the query `entry` of several terms matches fewer records than its first
        term alone. None if that term was not queried alone, or if the numbers of matches are not
        known well enough to tell."""
        alone = next(
            (each for each in self.entries if each.choice.query == entry.choice.query[:1]), None
        )
        if alone is None:
            return None
        if entry.is_whole:
            return not alone.is_whole or len(entry.found) < len(alone.found)
        return None if entry.total is None or alone.total is None else entry.total < alone.total

    def settle(self, seen: Retrieved) -> dict[int, tuple[int | None, bool]]:
        """Determines which line of the pages states the total, and by these totals which answers
        were truncated, including earlier ones taken for complete. Returns {query number: (total or
        None if unknown, whether truncated)} for each entry that may have changed. Until a limit is
        known, answers of the likely limit's size are marked as truncated in `seen` only.
        """
        line = trusted_shape([entry.statement() for entry in self.entries[-_JUDGED:]])
        for place in range(0 if line != self._line else len(self) - 1, len(self)):
            entry = self.entries[place]
            self.entries[place] = entry._replace(total=total_of(entry.stated, line))
        limit = cut_at(seen.outcomes, self.totals)
        first = 0 if (line, limit) != (self._line, self._limit) else len(self) - 1
        self._line, self._limit = line, limit
        changed = {}
        for place in range(first, len(self)):
            entry = self.entries[place]
            cut = not entry.partial and is_cut(len(entry.found), entry.total, limit)
            self.entries[place] = entry._replace(overflowed=cut)
            seen.outcomes[place] = seen.outcomes[place]._replace(
                overflowed=cut, matching=entry.total
            )
            changed[entry.number] = entry.total, cut
        if limit is None:
            self._suspect(seen)
        return changed

    def _suspect(self, seen: Retrieved) -> None:
        """Marks answers in `seen` as truncated if their size is the likely limit (see
        `likely_cut`), for choosing the next query. Called only as long as no truncation has been
        proved."""
        size = likely_cut(seen.outcomes)
        for place, entry in enumerate(self.entries):
            suspect = entry.overflowed or (
                not entry.partial and entry.total is None and len(entry.found) == size
            )
            seen.outcomes[place] = seen.outcomes[place]._replace(overflowed=suspect)


def is_cut(returned: int, total: int | None, limit: int | None) -> bool:
    """Tells whether the site left out records from an answer of which all pages were read: either
    the answer has `limit` records, the most that the site shows, and fewer than the stated `total`;
    or it has far fewer than `total`.
    """
    return (
        limit is not None
        and returned >= limit
        and (total is None or returned < total)
        or is_short_of(returned, total)
    )
