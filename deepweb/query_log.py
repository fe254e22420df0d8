"""The queries of a harvest in memory. With each new answer it is decided again which answers were
truncated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepweb.seen import Choice, Seen, cut_at, is_short_of, likely_cut
from deepweb.totals import AnswerStatement, Stated, total_of, trusted_shape

_JUDGED = 300


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


class QueryLog:
    """The list of finished queries. `settle` determines again which answers were truncated, and
    corrects the entries and the outcomes in a `Seen`, which holds one outcome for each entry, in
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

    def settle(self, seen: Seen) -> dict[int, tuple[int | None, bool]]:
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

    def _suspect(self, seen: Seen) -> None:
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
