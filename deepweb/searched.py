"""Finds which columns a search box searches, and the words that reveal it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deepweb.query_words import query_words
from deepweb.terms import WordMode, has_han, says, words_of

_BOTH = 0.8
MISSES = 5
MISSING_QUERIES = 2


class SearchedColumns:
    """Which columns of the records a search box searches. `counts` is stored in the harvest's state; for each column it holds
    the number of records found by a word in that column, the number of records with such a word that were not found, and
    the number of queries that missed some."""

    def __init__(self, counts: dict[str, list[int]]) -> None:
        self.counts = counts

    def note(self, records: Mapping[int, Mapping[str, Any]], found: set[int], word: str, mode: WordMode, *, whole: bool) -> None:
        """Counts one answer to a word; `records` are those that it could have found. Records that were not found count only
        if the answer is certainly complete (`whole`)."""
        for name, (hits, misses) in hits_of(records, found, word, mode, alone=True).items():
            told = self.counts.setdefault(name, [0, 0, 0])
            told[0] += hits
            if whole and misses:
                told[1] += misses
                told[2] += 1

    def missing(self, columns: Iterable[str]) -> frozenset[str]:
        """The columns that lists show but the box does not search. None of them if that would be all of `columns`: then the
        box searches a text that the lists do not show."""
        found = frozenset(
            name
            for name, (hits, misses, queries) in self.counts.items()
            if queries >= MISSING_QUERIES and misses >= MISSES and misses > 3 * hits
        )
        return frozenset() if found.issuperset(columns) else found


def hits_of(
    records: Mapping[int, Mapping[str, Any]], found: set[int], word: str, mode: WordMode, alone: bool = False
) -> dict[str, list[int]]:
    """For each column with the word: [records found by the word, records not found]. With `alone`, a found record counts only
    if no other of its columns contains the word."""
    counts: dict[str, list[int]] = {}
    for pk, own in records.items():
        saying = [name for name, value in own.items() if says(str(value), word, mode)]
        for name in saying:
            if pk not in found:
                counts.setdefault(name, [0, 0])[1] += 1
            elif not alone or len(saying) == 1:
                counts.setdefault(name, [0, 0])[0] += 1
    return counts


def unproved(columns: Iterable[str], told: Mapping[str, Sequence[int]]) -> frozenset[str]:
    """Columns by whose words no record has been found yet, although words of other columns have found some. `told` are the
    sums of `hits_of` by column."""
    proved = {name for name, counts in told.items() if counts[0]}
    return frozenset(columns) - proved if proved else frozenset()


def telling_word(texts: Sequence[str], mode: WordMode) -> str | None:
    """A word from these texts that finds its text only on a site with this matching mode: for `PARTS` two neighbouring
    characters that belong to no dictionary word, otherwise a word of the mode with at least two characters. None if there
    is none."""
    for text in texts[:200]:
        words = query_words(text)
        if mode is WordMode.PARTS:
            pairs = [pair for pair in words_of(text, WordMode.PARTS) if len(pair) == 2 and has_han(pair[0]) and has_han(pair[1])]
            inner = [pair for pair in pairs[1:-1] if not any(pair in word for word in words)]
            if inner:
                return inner[0]
        else:
            found = [word for word in words_of(text, mode) if len(word) >= 2 and has_han(word)]
            if found:
                return found[0]
    return None


def how_words_combine(
    words: Sequence[str], found: Sequence[Mapping[str, Any]], mode: WordMode, *, fewer: bool | None = None
) -> str:
    """How a site combines several words in one box, judged by the records that they found together: "phrase", "and" or "or".

    "phrase" if nothing was found. Otherwise, if `fewer` is known (whether these are fewer records than one of the words
    matches alone), "and" or "or" accordingly. Otherwise "and" if nearly all records contain every word, else "or", also if
    the lists show too little of the records.
    """
    if found and fewer is not None:
        return "and" if fewer else "or"
    texts = ["\n".join(map(str, record.values())) for record in found]
    both = sum(all(says(text, word.casefold(), mode) for word in words) for text in texts)
    return "phrase" if not texts else "and" if both >= _BOTH * len(texts) else "or"
