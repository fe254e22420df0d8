"""Chooses queries of forms with several inputs that need no search words: which sets of inputs
("templates") are informative, and which values of these inputs, or sub-ranges between two of them,
to submit next.

After Madhavan et al. (2008): informative templates are extended, up to three inputs; a template is
judged by how many different answers a sample of its queries gets. A truncated query is repeated
with a further choice, or with each half of its range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Choice, Outcome, Query, Retrieved
from deepweb.choice.chooser import By, Offer, learned, of_family
from deepweb.choice.range_cells import Cell, QueriedRange, cells, scale_of
from deepweb.choice.slots import Slot
from deepweb.forms.templates import (
    MAX_BOUND,
    Template,
    is_informative,
)

SAMPLES = 5


_DIFFERENT = 2


_UNKNOWN = 20.0


_LATEST = 6


_REFINED = 40


_TIMES = 2.0


_TRUST = 10.0


_FEW_VALUES = 5


_UNKNOWN_SCALE = 10.0


class _Offer(NamedTuple):
    """A possible query: its terms, its predicted new records, and the set of inputs that it sets
    (`template`)."""

    query: Query
    predicted: float
    template: Template


@dataclass(slots=True)
class TemplateSearch:
    """Chooses the next query without words: a set of inputs (template) and their values. Its state
    follows from the query log.

    - stated: totals stated by the site, parallel to `Seen.outcomes`; limit: number of records at
      which it truncates answers.
    - values: for each range (by its first input's name) the position of each seen record in it, by
      record; nan if unknown.
    - must: inputs that each query has to set; left: number of remaining queries, None if unbounded.
    - beside_words: the form is queried by words as well.
    - planned: all remaining queries are planned together (`chooser.take_best`).
    """

    slots: Sequence[Slot]
    limit: int | None = None
    stated: Sequence[int | None] = ()
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    must: frozenset[str] = frozenset()
    left: int | None = None
    beside_words: bool = False
    planned: bool = False
    _answers: dict[Query, frozenset[int]] = field(default_factory=dict)
    _by_template: dict[Template, list[int]] = field(default_factory=dict)
    _known_cells: dict[tuple[str, ...], list[Cell]] = field(default_factory=dict)

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns the query expected to bring most new records, and if `planned` one for each range
        in which the positions of enough records are known: its queries ask for sub-ranges that do
        not overlap, so that no record is found by two of them."""
        self.note(seen)
        families = {
            slot.names: of_family(family)
            for slot in self.slots
            if self.planned and (family := self._family(seen, slot))
        }
        best: Offer | None = None
        for offer in self._offers(
            seen, [each for each in self.slots if each.names not in families]
        ):
            if not self.must <= offer.template:
                continue
            score = offer.predicted * self._learned(seen, offer.template)
            if score > (best.gain if best else 0.0) and not seen.was_asked(offer.query):
                best = Offer(self._choice(offer.query, offer.predicted), score)
        return [*families.values(), *([best] if best is not None else [])]

    def _family(self, seen: Retrieved, slot: Slot) -> list[Offer]:
        template = frozenset(slot.names)
        if (
            slot.whole is None
            or not self._has_values(slot)
            or not self.must <= template
            or self.informative(template, seen) is False
        ):
            return []
        places = self.values[slot.names[0]]
        # `_learned` is not applied: `_cells` already estimates the new records from the answers to
        # earlier queries.
        return [
            Offer(
                self._choice(slot.binding(span), new),
                new,
                int(((places >= span.low) & (places <= span.high)).sum()),
            )
            for span, new in self._cells(seen, slot)
            if not seen.was_asked(slot.binding(span))
        ]

    def _choice(self, query: Query, predicted: float) -> Choice:
        ranges = {name for slot in self.slots if slot.whole for name in slot.names}
        by = By.CHOICES if ranges.isdisjoint(term.input for term in query) else By.RANGES
        return Choice(query, predicted, by)

    def informative(self, template: Template, seen: Retrieved) -> bool | None:
        """Tells whether a template (set of inputs) is informative: queries that set it returned at
        least two different answers with records, and at least 20 % of their answers are different.
        False if that is not so after five queries, None before.

        An answer with the same records as the query without one of its inputs does not count as a
        different answer, since the site ignores that input."""
        places = self._by_template.get(template, [])
        signatures = []
        for place in places:
            query = seen.outcomes[place].query
            own = frozenset(seen.answers[place].tolist())
            bases = (self._answers.get(base) for base in self._bases(query))
            signatures.append(frozenset() if any(own == base for base in bases) else own)
        different = len(set(signatures) - {frozenset()})
        if different >= _DIFFERENT and is_informative(signatures):
            return True
        return False if len(places) >= SAMPLES else None

    def note(self, seen: Retrieved) -> None:
        """Reads the answers so far, which `informative` judges by."""
        self._answers, self._by_template, self._known_cells = {}, {}, {}
        for place, outcome in enumerate(seen.outcomes):
            self._answers[tuple(sorted(outcome.query))] = frozenset(seen.answers[place].tolist())
            self._by_template.setdefault(_template(outcome.query), []).append(place)

    def _bases(self, query: Query) -> Iterator[Query]:
        """Yields, for each input (or pair of range ends) that `query` sets together with other
        terms, the query without it."""
        for slot in self.slots:
            rest = tuple(sorted(term for term in query if term.input not in slot.names))
            if rest and len(rest) < len(query):
                yield rest

    def _offers(self, seen: Retrieved, slots: Sequence[Slot]) -> Iterator[_Offer]:
        for slot in slots:
            yield from self._alone(seen, slot)
        cut = [place for place, outcome in enumerate(seen.outcomes) if not outcome.is_whole]
        for place in cut[-_REFINED:]:
            outcome = seen.outcomes[place]
            # A query whose first value is empty matches all records. It is not refined: a query
            # with one more input would equal the query that sets only that input.
            if not outcome.query[0].value:
                continue
            for slot in slots:
                if slot.whole is not None and slot.names[0] in _template(outcome.query):
                    if len(_template(outcome.query)) == len(slot.names) and self._has_values(slot):
                        continue
                    yield from self._halves(outcome, slot, self._matching(place, outcome))
                elif not _template(outcome.query).intersection(slot.names):
                    yield from self._refined(seen, outcome, slot, self._matching(place, outcome))

    def _alone(self, seen: Retrieved, slot: Slot) -> Iterator[_Offer]:
        """Yields queries that set only the inputs of `slot`: for a range its sub-ranges, otherwise
        the first value not tried yet. A sample of the values is used until the input is known to be
        informative (different values give different answers), then all. Yields nothing if the input
        is known to be uninformative."""
        template = frozenset(slot.names)
        known = self.informative(template, seen)
        if known is False:
            return
        if slot.whole is not None and (self._has_values(slot) or self._are_alike(seen, slot)):
            for cell in self._cells(seen, slot):
                yield _Offer(slot.binding(cell.range), cell.new, template)
            return
        if slot.whole is not None:
            waiting = [slot.whole]
            # As long as no record values are known, try the whole range, then its halves, then
            # their halves.
            for range_ in waiting:
                if (
                    len(waiting) < 2 * SAMPLES
                    and self._answers.get(tuple(sorted(slot.binding(range_)))) != frozenset()
                ):
                    waiting += range_.halves()
                yield _Offer(
                    slot.binding(range_), self._usual(seen, template) / len(waiting), template
                )
            return
        values = (
            slot.values
            if known
            else [slot.values[place] for place in _spread(len(slot.values), SAMPLES)]
        )
        for value in values:
            query = slot.binding(value)
            if not seen.was_asked(query):
                yield _Offer(query, self._usual(seen, template), template)
                return

    def _has_values(self, slot: Slot) -> bool:
        return self.limit is not None and self._told(slot) >= _FEW_VALUES

    def _told(self, slot: Slot) -> int:
        """Returns the number of seen records whose value for the range input `slot` is known."""
        return int(np.isfinite(self.values.get(slot.names[0], np.empty(0))).sum())

    def _are_alike(self, seen: Retrieved, slot: Slot) -> bool:
        """Tells whether all queries so far set only the range of `slot`, and all answers with
        records had the same number of records, which may then be the site's limit. False if a limit
        is known, or too few values of `slot`.
        """
        sizes = {outcome.returned for outcome in seen.outcomes} - {0}
        alone = len(self._places(slot)) == len(seen.outcomes) and self.limit is None
        return alone and len(sizes) == 1 and self._told(slot) >= _FEW_VALUES

    def _cells(self, seen: Retrieved, slot: Slot) -> list[Cell]:
        """Returns the sub-ranges to query into which the range of `slot` is divided, computed from
        the values of the seen records and the answers to sub-ranges queried earlier."""
        if slot.names not in self._known_cells:
            self._known_cells[slot.names] = self._cut_up(seen, slot)
        return self._known_cells[slot.names]

    def _cut_up(self, seen: Retrieved, slot: Slot) -> list[Cell]:
        whole = slot.whole
        if whole is None:
            return []
        places = self.values[slot.names[0]]
        values = np.sort(places[np.isfinite(places)])
        if self.limit is None:  # The limit is unknown: assume many more records than were returned.
            size = max(seen.outcomes[place].returned for place in self._places(slot))
            return cells(whole, (), values, _UNKNOWN_SCALE, size)
        asked: list[QueriedRange] = []
        known_till = np.concatenate(
            [[0], np.cumsum([outcome.new for outcome in seen.outcomes])]
        ).astype(int)
        for place in self._places(slot):
            outcome = seen.outcomes[place]
            span = whole.read(
                [term.value for name in slot.names for term in outcome.query if term.input == name]
            )
            if span is None:
                continue
            is_known = outcome.is_whole or outcome.matching is not None
            matching = float(max(outcome.returned, outcome.matching or 0))
            earlier = places[: known_till[place]]
            before = float(((earlier >= span.low) & (earlier <= span.high)).sum())
            # `before` counts only records known before this answer; word queries found more since,
            # so it is scaled up.
            if self.beside_words and known_till[place]:
                before *= seen.records / known_till[place]
            asked.append(QueriedRange(span, matching, is_known, outcome.is_whole, before))
        return cells(
            whole,
            asked,
            values,
            scale_of(asked, self.limit),
            self.limit,
            self.left,
            self.beside_words,
        )

    def _places(self, slot: Slot) -> list[int]:
        return self._by_template.get(frozenset(slot.names), [])

    def _usual(self, seen: Retrieved, template: Template) -> float:
        """Returns the mean number of new records of the last 6 queries that set the inputs
        `template`. As a prior, one full answer of only new records is added to them; without such
        queries it is the result."""
        new = [seen.outcomes[place].new for place in self._by_template.get(template, [])][-_LATEST:]
        return (sum(new) + float(self.limit or _UNKNOWN)) / (len(new) + 1)

    def _matching(self, place: int, outcome: Outcome) -> float:
        """Returns the estimated number of records that match the query of `outcome`: as returned if
        the answer is complete, otherwise as stated by the site (`stated[place]`), or else twice the
        records returned."""
        if outcome.is_whole:
            return float(outcome.returned)
        total = self.stated[place] if place < len(self.stated) else None
        return (
            float(total)
            if total is not None and total > outcome.returned
            else _TIMES * max(1, outcome.returned)
        )

    def _refined(
        self, seen: Retrieved, outcome: Outcome, slot: Slot, matching: float
    ) -> Iterator[_Offer]:
        template = _template(outcome.query) | frozenset(slot.names)
        if len(template) > MAX_BOUND or self.informative(template, seen) is False:
            return
        if slot.whole is not None:
            for half in slot.whole.halves():
                yield self._offer((*outcome.query, *slot.binding(half)), outcome, matching / 2)
            return
        for value in slot.values:
            yield self._offer(
                (*outcome.query, *slot.binding(value)), outcome, matching / len(slot.values)
            )

    def _halves(self, outcome: Outcome, slot: Slot, matching: float) -> Iterator[_Offer]:
        rest = tuple(term for term in outcome.query if term.input not in slot.names)
        ends = tuple(term.value for term in outcome.query if term.input in slot.names)
        asked = slot.whole.read(ends) if slot.whole is not None else None
        for half in asked.halves() if asked is not None else ():
            yield self._offer((*rest, *slot.binding(half)), outcome, matching / 2)

    def _offer(self, query: Query, outcome: Outcome, matching: float) -> _Offer:
        hidden = 1 - outcome.returned / max(matching, 1.0) if matching > outcome.returned else 0.5
        return _Offer(
            query, min(matching, float(self.limit or matching)) * max(hidden, 0.1), _template(query)
        )

    def _learned(self, seen: Retrieved, template: Template) -> float:
        """Returns the ratio of actual to predicted new records over the last 40 queries that set
        the inputs `template`, shrunk towards 1."""
        outcomes = [seen.outcomes[place] for place in self._by_template.get(template, [])][
            -_REFINED:
        ]
        return learned(outcomes, _TRUST)


def _template(query: Query) -> Template:
    return frozenset(term.input for term in query)


def _spread(size: int, count: int) -> list[int]:
    """Returns at most `count` evenly spaced indices out of `size`, including the first and the
    last."""
    return sorted({round(place) for place in np.linspace(0, size - 1, min(size, count))})
