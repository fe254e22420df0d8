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
    """Which columns of the records a search box looks into. `counts` is written to the harvest's state: by column, records found
    by a word in it, records with such a word that were not found, and the number of queries that missed some."""

    def __init__(self, counts: dict[str, list[int]]) -> None:
        self.counts = counts

    def note(self, records: Mapping[int, Mapping[str, Any]], found: set[int], word: str, mode: WordMode, *, whole: bool) -> None:
        """Adds an answer to a word, of which the known `records` could have been found; only an answer that is surely `whole`
        shows what a column misses."""
        for name, (hits, misses) in hits_of(records, found, word, mode, alone=True).items():
            told = self.counts.setdefault(name, [0, 0, 0])
            told[0] += hits
            if whole and misses:
                told[1] += misses
                told[2] += 1

    def missing(self, columns: Iterable[str]) -> frozenset[str]:
        """Columns that are shown but not searched; none if that would be all of `columns`: one must be searched, so the lists
        then do not show the text that is searched."""
        found = frozenset(
            name
            for name, (hits, misses, queries) in self.counts.items()
            if queries >= MISSING_QUERIES and misses >= MISSES and misses > 3 * hits
        )
        return frozenset() if found.issuperset(columns) else found


def hits_of(
    records: Mapping[int, Mapping[str, Any]], found: set[int], word: str, mode: WordMode, alone: bool = False
) -> dict[str, list[int]]:
    """By column, how many records with a word in it were found by the word, and how many were not. With `alone`, found records
    count for a column only if no other column contains the word."""
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
    """Columns whose words have not found any record yet although words of other columns have; `told` are the sums of `hits_of` by
    column."""
    proved = {name for name, counts in told.items() if counts[0]}
    return frozenset(columns) - proved if proved else frozenset()


def telling_word(texts: Sequence[str], mode: WordMode) -> str | None:
    """A word that only a site with this matching mode finds: a pair of characters that is no word, a word inside a run, a whole
    run."""
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
    """How a site combines several words in one box, from the records that they found together: "phrase" if none was found, "and"
    if these are `fewer` than one of the words matches alone or, where that is not known, if nearly all of them contain
    every word; otherwise "or" (also if the lists show too little to tell)."""
    if found and fewer is not None:
        return "and" if fewer else "or"
    texts = ["\n".join(map(str, record.values())) for record in found]
    both = sum(all(says(text, word.casefold(), mode) for word in words) for text in texts)
    return "phrase" if not texts else "and" if both >= _BOTH * len(texts) else "or"
