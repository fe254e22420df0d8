"""The queries of a harvest in memory, with which of their answers the site cut: told anew as more is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepweb.seen import Choice, Seen, cut_at, is_short_of, likely_cut
from deepweb.totals import Stated, Told, total_of, trusted_shape

_JUDGED = 300


class Logged(NamedTuple):
    """One query that has ended. `found` are the ids of its records; `stated` the numbers that may be the total."""

    number: int
    choice: Choice
    found: list[int]
    overflowed: bool
    partial: bool
    stated: tuple[Stated, ...]
    total: int | None

    @property
    def is_whole(self) -> bool:
        """Whether all that matches was returned."""
        return not (self.overflowed or self.partial)

    def told(self) -> Told:
        """What this answer says about the number of matching records, for the estimate of the stated total."""
        return Told(self.stated, len(self.found), not self.partial, frozenset(self.choice.query))


class QueryLog:
    """Grows with each query; `seen` holds an outcome for each entry, in the same order, whose cuts are kept right as well."""

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
        """The total of each entry, where one is known."""
        return [entry.total for entry in self.entries]

    def is_fewer(self, entry: Logged) -> bool | None:
        """Whether fewer records match a query than its first term alone; None where that was not asked, or either count is not
        known and it may be as many."""
        alone = next((each for each in self.entries if each.choice.query == entry.choice.query[:1]), None)
        if alone is None:
            return None
        if entry.is_whole:
            return not alone.is_whole or len(entry.found) < len(alone.found)
        return None if entry.total is None or alone.total is None else entry.total < alone.total

    def settle(self, seen: Seen) -> dict[int, tuple[int | None, bool]]:
        """Totals by the line that has proved to state them, and with them which answers the site cut, the newest entry's and
        those of earlier ones that were taken for whole before that was known: (total, cut) of each that may have changed.
        Outcomes in `seen` may be taken for cut before that is known.
        """
        line = trusted_shape([entry.told() for entry in self.entries[-_JUDGED:]])
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
            seen.outcomes[place] = seen.outcomes[place]._replace(overflowed=cut, matching=entry.total)
            changed[entry.number] = entry.total, cut
        if limit is None:
            self._suspect(seen)
        return changed

    def _suspect(self, seen: Seen) -> None:
        """What the next query is chosen by, as long as no cut has shown: answers of a size that people choose are taken for cut
        ones, though not marked so."""
        size = likely_cut(seen.outcomes)
        for place, entry in enumerate(self.entries):
            suspect = entry.overflowed or (not entry.partial and entry.total is None and len(entry.found) == size)
            seen.outcomes[place] = seen.outcomes[place]._replace(overflowed=suspect)


def is_cut(returned: int, total: int | None, limit: int | None) -> bool:
    """Whether the site held records back of an answer that was read to its end: as many as it ever shows, and not all that it
    says there are; or well below what it says."""
    return limit is not None and returned >= limit and (total is None or returned < total) or is_short_of(returned, total)
