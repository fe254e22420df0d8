"""Finds in which fields of the records a search box searches, and how it matches words, from the
answers to queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deepweb.query_words import query_words
from deepweb.terms import WordMode, has_han, says, words_of

_BOTH = 0.8
MISSES = 5
MISSING_QUERIES = 2


class SearchedColumns:
    """Finds in which record fields a search box searches. `counts`, stored in the harvest's state,
    holds three numbers for each field. Two count records with the queried word in the field: those
    found, if no other field has the word, and those that a complete answer missed. The third counts
    the queries that missed any."""

    def __init__(self, counts: dict[str, list[int]]) -> None:
        self.counts = counts

    def note(
        self,
        records: Mapping[int, Mapping[str, Any]],
        found: set[int],
        word: str,
        mode: WordMode,
        *,
        whole: bool,
    ) -> None:
        """Counts one answer to `word`: `records` are the fields of the records that it could have
        found, by id, and `found` the ids of those that it did. Records that were not found count
        only if the answer is certainly complete (`whole`).
        """
        for name, (hits, misses) in hits_of(records, found, word, mode, alone=True).items():
            told = self.counts.setdefault(name, [0, 0, 0])
            told[0] += hits
            if whole and misses:
                told[1] += misses
                told[2] += 1

    def missing(self, columns: Iterable[str]) -> frozenset[str]:
        """Returns the record fields that the search box does not search: at least MISSING_QUERIES
        queries missed records with the word in this field, in all at least MISSES records and over
        three times as many as they found. Empty if these were all of `columns` (the names of all
        fields): then the box searches text that result lists do not show.
        """
        found = frozenset(
            name
            for name, (hits, misses, queries) in self.counts.items()
            if queries >= MISSING_QUERIES and misses >= MISSES and misses > 3 * hits
        )
        return frozenset() if found.issuperset(columns) else found


def hits_of(
    records: Mapping[int, Mapping[str, Any]],
    found: set[int],
    word: str,
    mode: WordMode,
    alone: bool = False,
) -> dict[str, list[int]]:
    """Returns for each record field that contains the word: how many records with it were found,
    and how many were not, as [found, not found]. With `alone`, a found record counts only if no
    other of its fields contains the word. `records`: fields of the records by id; `found`: ids of
    those found."""
    counts: dict[str, list[int]] = {}
    for pk, own in records.items():
        saying = [name for name, value in own.items() if says(str(value), word, mode)]
        for name in saying:
            if pk not in found:
                counts.setdefault(name, [0, 0])[1] += 1
            elif not alone or len(saying) == 1:
                counts.setdefault(name, [0, 0])[0] += 1
    return counts


def unproved(columns: Iterable[str], found_and_not: Mapping[str, Sequence[int]]) -> frozenset[str]:
    """Returns those record fields of `columns` that the site seems not to search: no query has yet
    found a record by a word in this field, although queries have found records by words in other
    fields. `found_and_not`: for each field, the numbers of records with the queried word in it that
    were found and that were missed, summed over answers.
    """
    proved = {name for name, counts in found_and_not.items() if counts[0]}
    return frozenset(columns) - proved if proved else frozenset()


def telling_word(texts: Sequence[str], mode: WordMode) -> str | None:
    """Returns a Chinese word from these texts that tests whether a site has the matching mode
    `mode`; None if there is none. For `PARTS`: two neighbouring characters inside a text that are
    in no dictionary word. For other modes: the first word of at least two characters into which a
    text is split under the mode."""
    for text in texts[:200]:
        words = query_words(text)
        if mode is WordMode.PARTS:
            pairs = [
                pair
                for pair in words_of(text, WordMode.PARTS)
                if len(pair) == 2 and has_han(pair[0]) and has_han(pair[1])
            ]
            inner = [pair for pair in pairs[1:-1] if not any(pair in word for word in words)]
            if inner:
                return inner[0]
        else:
            found = [word for word in words_of(text, mode) if len(word) >= 2 and has_han(word)]
            if found:
                return found[0]
    return None


def how_words_combine(
    words: Sequence[str],
    found: Sequence[Mapping[str, Any]],
    mode: WordMode,
    *,
    fewer: bool | None = None,
) -> str:
    """Returns how a site combines several words in one box: "phrase" (only records with the words
    side by side), "and" or "or". `found` are the fields of the records found with the words
    together; `mode` tells how the site matches a word to a text.

    Nothing found means "phrase". If it is known whether the words found fewer records together than
    one of them alone, `fewer` decides: True means "and", False "or". If it is None, the result is
    "and" if nearly all records contain every word, else "or", which may be wrong if result lists
    show too little of the records."""
    if found and fewer is not None:
        return "and" if fewer else "or"
    texts = ["\n".join(map(str, record.values())) for record in found]
    both = sum(all(says(text, word.casefold(), mode) for word in words) for text in texts)
    return "phrase" if not texts else "and" if both >= _BOTH * len(texts) else "or"
