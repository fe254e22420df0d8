"""Forms with required choices: each combination of these choices (a "part") is treated as a
database of its own, and the word that is best over all parts is queried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence

from deepweb.answers.retrieved import Choice, Query, Retrieved, Term
from deepweb.choice.chooser import By, Offer
from deepweb.choice.terms import bare
from deepweb.choice.words import DOUBT, FreshPolicy
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import inputs_of, is_operator, widest_operators
from deepweb.search_forms import Form

MAX_PARTS = 120
FEW_RECORDS = 10
OWN_FROM = 4
PRIOR_SHARE = 0.1
MIN_NEW = 0.02
UNKNOWN_SCALE = 10.0
WORDS_TRIED = 200
FEW_KNOWN, AGAIN = 150, 0.5
"""With fewer known records than FEW_KNOWN, the shares of words among them are uncertain, and half
as many new records (AGAIN) are expected from a word that was queried in another part: other words
show sooner which are frequent."""
IN_VAIN = 4
"""After this number of queries without a record, a filter's record field is no longer queried."""


def parts_of(form: Form, required: Iterable[str] = ()) -> list[Query]:
    """Returns every combination of values of the required inputs (those that the form marks, and
    those named in `required`), as terms in the form's order, at most 120; one empty combination if
    no input is required. If a select offers comparison operators, only those that find a word
    anywhere in a value are used, or all if there are none.
    """
    names = frozenset(required)
    widest = {field.name: widest_operators(field) for field in form.fields if is_operator(field)}
    choices = [
        each
        for each in inputs_of(form)
        if each.values and (each.role is FieldRole.REQUIRED or each.name in names)
    ]
    ways = itertools.product(
        *(
            [Term(each.name, value) for value in widest.get(each.name) or each.values]
            for each in choices
        )
    )
    return [tuple(way) for way in itertools.islice(ways, MAX_PARTS)]


class Parts:
    """The answers to queries of one word, kept apart by the combination of required choices
    ("part", such as language=en) that was submitted with the word. Every answer of the harvest is
    passed to `add`, with the arguments that `Seen.add` takes.
    """

    def __init__(
        self, parts: Sequence[Query], column_of: Callable[[Term], str], is_filter: bool = False
    ) -> None:
        """`parts` are the combinations of required choices; `column_of` returns the record field
        from which a term was read. `is_filter`: each part selects the record field to search;
        fields whose first queries find nothing are then no longer queried, because they may contain
        no words."""
        self._parts, self._column_of = [part for part in parts if part], column_of
        self._is_filter = is_filter
        self.retrieved = {part: Retrieved(column_of) for part in self._parts}

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def names(self) -> frozenset[str]:
        """The names of the inputs that every query has to set."""
        return frozenset(term.input for part in self._parts for term in part)

    def at(self, number: int) -> Query:
        """Returns the required choices to submit with query number `number`: the combinations are
        used in turn. Empty if the form requires none."""
        return self._parts[number % len(self._parts)] if self._parts else ()

    def without(self, query: Query) -> Query:
        """Returns the terms of a query without those of the required inputs."""
        return tuple(term for term in query if term.input not in self.names)

    def add(
        self,
        choice: Choice,
        answer: Iterable[tuple[Hashable, Iterable[Term]]],
        overflowed: bool,
        partial: bool,
    ) -> None:
        """Adds the answer to a query that consists of one word and one combination of values of the
        required inputs; ignores answers to other queries. The arguments are those of `Seen.add`."""
        part = tuple(term for term in choice.query if term.input in self.names)
        words = self.without(choice.query)
        answer = [
            (key, [term for term in terms if term.input not in self.names]) for key, terms in answer
        ]
        column = self._column_in(
            part, {self._column_of(term) for _, terms in answer for term in terms}
        )
        if column is not None:
            answer = [
                (key, [term for term in terms if self._column_of(term) == column])
                for key, terms in answer
            ]
        if part in self.retrieved and len(words) == 1:
            self.retrieved[part].add(
                Choice(words, choice.predicted, choice.bucket), answer, overflowed, partial
            )

    @staticmethod
    def _column_in(part: Query, columns: Iterable[str]) -> str | None:
        """Returns the first of the record fields `columns` (by name) that one of the required
        choices in `part` names; None if none does. In a filter form (choose a field, enter a word)
        only that field is searched for the word.
        """
        named = {bare(term.value) for term in part}
        return next(
            (column for column in sorted(columns) if column and bare(column) in named), None
        )

    def offers(self, overall: Retrieved, policy: FreshPolicy, limit: int | None) -> list[Offer]:
        """Returns the query expected to bring most new records, which is a word together with a
        part; empty if no query is left.

        `overall` holds the answers of all parts together, `limit` is the number of records at which
        answers are truncated. For a part with at least 4 answers and 10 records, `policy` chooses
        the word. For any other part, the matches of a word are estimated as the part's size, known
        from earlier queries, times the word's share of all seen records (`_share`).
        """
        found: list[Offer] = []
        brought = {part: self._brought(overall, part) for part in self.retrieved}
        matching, share = (sum(pair[place] for pair in brought.values()) for place in (0, 1))
        usual = (matching + PRIOR_SHARE * UNKNOWN_SCALE * overall.records) / (share + PRIOR_SHARE)
        for part, seen in self.retrieved.items():
            if self._is_filter and len(seen.outcomes) >= IN_VAIN and not seen.records:
                continue
            if len(seen.outcomes) >= OWN_FROM and seen.records >= FEW_RECORDS:
                offers = policy.offers(seen)
            else:
                offers = self._by_all(overall, part, brought[part], usual, limit, policy.doubtful)
            found += [
                one._replace(choice=one.choice._replace(query=(*one.choice.query, *part)))
                for one in offers
            ]
        return [max(found, key=lambda one: one.gain)] if found else []

    def _brought(self, overall: Retrieved, part: Query) -> tuple[float, float]:
        """Returns two sums over all queries that contain the required choices `part`: the records
        that matched each query, and the share of records with the query's word among the records
        found by other words (`_share`).
        """
        matching_outcomes = [
            o
            for o in overall.outcomes
            if (o.returned or self._is_filter) and set(part) <= set(o.query)
        ]
        matching = float(sum(outcome.matching or outcome.returned for outcome in matching_outcomes))
        return matching, sum(_share(overall, outcome.query[0]) for outcome in matching_outcomes)

    def _by_all(
        self,
        overall: Retrieved,
        part: Query,
        brought: tuple[float, float],
        usual: float,
        limit: int | None,
        doubtful: frozenset[str],
    ) -> list[Offer]:
        seen = self.retrieved[part]
        asked = {outcome.query[0] for outcome in overall.outcomes}
        size = (brought[0] + PRIOR_SHARE * usual) / (brought[1] + PRIOR_SHARE)
        best: list[Offer] = []
        column = self._column_in(part, overall.columns_of_kinds())
        for place in (-overall.frequency).argsort(kind="stable")[:WORDS_TRIED]:
            term = overall.term(int(place))
            if (
                term.input in self.names
                or seen.was_asked((term,))
                or column not in (None, self._column_of(term))
            ):
                continue
            own = seen.index_of(term)
            matching = size * _share(overall, term)
            new = min(matching, float(limit or matching)) - (
                float(seen.frequency[own]) if own is not None else 0.0
            )
            new = max(new, MIN_NEW * matching) * (
                DOUBT if self._column_of(term) in doubtful else 1.0
            )
            new *= AGAIN if overall.records < FEW_KNOWN and term in asked else 1.0
            if new > (best[0].gain if best else 0.0):
                best = [Offer(Choice((term,), new, By.CHOICES), new)]
        return best


def _share(overall: Retrieved, term: Term) -> float:
    """Returns the share of records that contain `term`, among the records of all answers
    (`overall`) that were found by other words; 0 if no seen record contains it."""
    place = overall.index_of(term)
    if place is None:
        return 0.0
    own: set[int] = set()
    for outcome, answer in zip(overall.outcomes, overall.answers, strict=True):
        if outcome.query[0] == term:
            own.update(answer.tolist())
    alone = sum(overall.times_returned[record] == 1 for record in own)
    return max(0.0, float(overall.frequency[place]) - alone) / max(1, overall.records - alone)
