"""Finds in which fields of the records a search box searches, and how it matches words, from the
answers to queries; and the query words for boxes that search for substrings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from deepweb.answers.retrieved import Logged, Outcome, Query, Retrieved, Term
from deepweb.choice.chooser import Offer
from deepweb.choice.terms import MAX_VALUE, WordMode, bare, has_han, query_words, says, words_of
from deepweb.choice.words import FreshPolicy

_BOTH = 0.8


MISSES = 5


MISSING_QUERIES = 2


VAIN = 3
"""Number of words of known records that find nothing, from which their length is the reason."""


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
        queries (one, if no word of the field found a record, but words of others did) missed
        records with the word in this field, in all at least MISSES records and over three times as
        many as they found. Empty if these were all of `columns` (the names of all
        fields): then the box searches text that result lists do not show.
        """
        proved = any(hits for hits, _, _ in self.counts.values())
        found = frozenset(
            name
            for name, (hits, misses, queries) in self.counts.items()
            if queries >= (MISSING_QUERIES if hits or not proved else 1)
            and misses >= MISSES
            and misses > 3 * hits
            or proved
            and not hits
            and queries >= MISSES
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


def least_letters(outcomes: Iterable[Outcome], box: str) -> int:
    """Returns the least number of letters of a word that a site searches for, 1 if it seems to
    search for all: one more than words have of which at least `VAIN` found nothing although known
    records have them, while no word that short found anything."""
    found, vain = [MAX_VALUE], []
    for outcome in outcomes:
        if len(outcome.query) == 1 and outcome.query[0].input == box and outcome.query[0].value:
            length = len(outcome.query[0].value)
            if outcome.returned:
                found.append(length)
            elif outcome.before:
                vain.append(length)
    short = sorted(length for length in vain if length < min(found))
    return short[-1] + 1 if len(short) >= VAIN else 1


def telling_word(texts: Sequence[str], mode: WordMode, least: int = 2) -> str | None:
    """Returns a Chinese word from these texts that tests whether a site has the matching mode
    `mode`; None if there is none. For `PARTS`: `least` neighbouring characters inside a text that
    are in no dictionary word. For other modes: the first word of at least `least` characters into
    which a text is split under the mode."""
    for text in texts[:200]:
        words = query_words(text)
        if mode is WordMode.PARTS:
            pairs = [
                run[at : at + least]
                for run in words_of(text, WordMode.RUNS)
                for at in range(len(run) - least + 1)
                if all(map(has_han, run[at : at + least]))
            ]
            inner = [pair for pair in pairs[1:-1] if not any(pair in word for word in words)]
            if inner:
                return inner[0]
        else:
            found = [word for word in words_of(text, mode) if len(word) >= least and has_han(word)]
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


MIN_LETTERS = 2


MAX_LETTERS = 12


GROWN = 1.2


TELLING = 3


"""A site is taken to search for substrings from this number of records that contain a query word
only after other letters."""


_NUMBER = re.compile(r"\d{2,}")


def looks_inside(log: Iterable[Logged], listed: Mapping[int, Mapping[str, Any]], box: str) -> bool:
    """Tells whether a site searches for substrings: at least 3 records returned for queries of one
    word contain the word only inside or at the end of other words, as "art" in "party", which
    search by whole words or stems would not find. `listed` are the fields of the records by id,
    `box` is the text box queried."""
    count = 0
    for entry in log:
        query = entry.choice.query
        if (
            len(query) != 1
            or query[0].input != box
            or len(query[0].value) < MIN_LETTERS
            or has_han(query[0].value)
        ):
            continue
        behind, begins = (
            re.compile(mark + re.escape(query[0].value.casefold())) for mark in (r"\w", r"\b")
        )
        texts = (
            "\n".join(map(str, listed[pk].values())).casefold()
            for pk in entry.found
            if pk in listed
        )
        count += sum(bool(behind.search(text)) and not begins.search(text) for text in texts)
        if count >= TELLING:
            return True
    return False


def words_inside(word: str, known: Collection[str]) -> list[str]:
    """Returns the words of `known` that are substrings of `word`, have 2 to 12 letters, and are not
    `word` itself.

    >>> words_inside("party", {"art", "part", "party", "tea"})
    ['part', 'art']
    """
    ends = range(MIN_LETTERS, MAX_LETTERS + 1)
    pieces = (
        word[start : start + size]
        for start in range(len(word))
        for size in reversed(ends)
        if start + size <= len(word)
    )
    return [piece for piece in dict.fromkeys(pieces) if piece != word and piece in known]


class InsideWords:
    """Counts how many of the records found by a harvest contain each word, also inside longer
    words. If a form searches one record field at a time, `parts` are the queries that choose each
    field, and a word that occurs in two fields counts as two terms."""

    def __init__(self, box: str, parts: Sequence[Query] = ()) -> None:
        self._box, self._parts = box, list(parts) or [()]
        self._known: dict[Query, set[str]] = {part: set() for part in self._parts}
        self._built = 0
        self._where: dict[Term, str] = {}
        self._counted: frozenset[Term] = frozenset()
        self.retrieved = Retrieved()

    def offers(
        self,
        log: Sequence[Logged],
        outcomes: Sequence[Outcome],
        listed: Mapping[int, Mapping[str, Any]],
        policy: FreshPolicy,
        columns: Collection[str],
    ) -> list[Offer]:
        """Returns the query of one word that is expected to bring the most new records; empty if no
        word is left. If the form lets one choose the record field to search
        (`parts`), the query contains that choice too.

        `listed`: the fields of the records found, by id; `outcomes`: one entry for each entry of
        `log`; `policy` ranks the words; `columns`: the names of the record fields that the site
        searches if there are no `parts`.
        """
        for _ in range(2):
            self._follow(log, listed, columns)
            for place, outcome in enumerate(outcomes):
                own = self.retrieved.outcomes[place]
                self.retrieved.outcomes[place] = own._replace(
                    overflowed=outcome.overflowed, matching=outcome.matching
                )
            offers = policy.offers(self.retrieved)
            if all(offer.choice.query[0] in self._counted for offer in offers):
                break
            # The chosen word is missing from the last count of words: `_built` 0 makes `_follow`
            # count them again.
            self._built = 0
        return [
            offer._replace(choice=offer.choice._replace(query=self._as_asked(offer.choice.query)))
            for offer in offers
        ]

    def _follow(
        self,
        log: Sequence[Logged],
        listed: Mapping[int, Mapping[str, Any]],
        columns: Collection[str],
    ) -> None:
        for entry in log[len(self.retrieved.outcomes) :]:
            for pk in entry.found:
                for part, _, words in self._said(listed.get(pk, {}), columns):
                    self._known[part].update(words)
        size = sum(len(known) for known in self._known.values())
        if size > GROWN * self._built:
            self._built = size
            self._where = {}
            self._counted = frozenset(
                Term(self._name(part), word)
                for part, words in self._known.items()
                for word in words
            )
            self.retrieved = Retrieved(lambda term: self._where.get(term, ""))
        for entry in log[len(self.retrieved.outcomes) :]:
            answer = [
                (pk, () if self.retrieved.has(pk) else self._terms(listed.get(pk, {}), columns))
                for pk in entry.found
            ]
            choice = entry.choice._replace(query=self._as_seen(entry.choice.query))
            self.retrieved.add(choice, answer, entry.overflowed, entry.partial)

    def _said(
        self, fields: Mapping[str, Any], columns: Collection[str]
    ) -> Iterable[tuple[Query, str, list[str]]]:
        """Yields (part, field name, words of the value) for each searchable field of a record. A
        part is a choice of the record field to search in the form; a field that several parts
        search is yielded once for each."""
        for name, value in fields.items():
            for part in self._parts:
                if (
                    not part
                    and name in columns
                    or part
                    and bare(name) in {bare(term.value) for term in part}
                ):
                    text = str(value)
                    numbers = _NUMBER.findall(text) if part and len(text) <= MAX_VALUE else []
                    yield part, name, [*query_words(text), *numbers]

    def _terms(self, fields: Mapping[str, Any], columns: Collection[str]) -> list[Term]:
        found: dict[Term, None] = {}
        for part, column, words in self._said(fields, columns):
            known = self._known[part]
            inner = [piece for word in words for piece in words_inside(word, known)]
            for word in (*words, *inner):
                term = Term(self._name(part), word)
                found[term] = None
                self._where.setdefault(term, column)
        return list(found)

    def _name(self, part: Query) -> str:
        return "\n".join((self._box, *(term.value for term in part)))

    def _as_seen(self, query: Query) -> Query:
        """Returns the query in the form in which `seen` counts it: one term that combines the word
        with the chosen record field (part). Unchanged unless the query is a single word in one of
        the parts."""
        words = [term for term in query if term.input == self._box]
        part = tuple(term for term in query if term.input != self._box)
        if len(words) != 1 or not words[0].value or part not in self._known:
            return query
        return (Term(self._name(part), words[0].value),)

    def _as_asked(self, query: Query) -> Query:
        by_name = {self._name(part): part for part in self._parts}
        if query[0].input not in by_name:
            return query
        return (*(Term(self._box, term.value) for term in query), *by_name[query[0].input])
