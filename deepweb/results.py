"""Classifies answers: pages without results are recognised by comparison with the answers to
nonsense words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from crawlmgr.text.duplicates import NEAR, distance, simhash
from crawlmgr.text.tokens import normalise, tokenize

NONSENSE_LENGTH = 12
_LETTERS = "bcdfghjklmnpqrstvwxz"
_SPACES = re.compile(r"\s+")


class ResultKind(StrEnum):
    """The kind of a result page: with records, without results, or an error."""

    VALID = "valid"
    NO_RESULTS = "no_results"
    ERROR = "error"


def nonsense_word(rng: np.random.Generator, length: int = NONSENSE_LENGTH) -> str:
    """Returns a random word of consonants that no database contains."""
    return "".join(rng.choice(list(_LETTERS), size=length))


@dataclass(frozen=True, slots=True)
class NoResultPages:
    """A site's pages without results, learned from its answers to nonsense queries: `template`
    holds the lines of text that all of them share, `prints` the SimHash fingerprints of the
    remaining text of each.

    The words of the query are removed from the pages before they are compared. Fingerprints cover
    only the text outside the template, because in a page with a large template one more record
    would hardly change a fingerprint of the whole page.
    """

    template: frozenset[str]
    prints: tuple[int, ...]

    def rest(self, text: str, query: Iterable[str]) -> list[str]:
        """Returns the words of a page, without query words, from the lines that are not on every
        page without results."""
        query_words = [word.casefold() for word in query]
        return tokenize(
            "\n".join(block for block in _blocks(text, query_words) if block not in self.template)
        )

    def same(self, text: str, query: Iterable[str]) -> bool:
        """Tells whether a page has no results: it has no text outside the template, or the SimHash
        of that text differs in at most 3 bits from that of an answer to a nonsense query. `query`:
        the words of the query."""
        words = self.rest(text, query)
        if not words:
            return True
        fingerprint = simhash(words)
        return any(distance(fingerprint, known) <= NEAR for known in self.prints)


def learn_no_result_pages(answers: Sequence[tuple[str, Sequence[str]]]) -> NoResultPages | None:
    """Learns the pages without results from the answers to nonsense queries, given as (page text,
    query words). None for fewer than two, since the lines that they share are then unknown."""
    if len(answers) < 2:
        return None
    blocks = [_blocks(text, [word.casefold() for word in query]) for text, query in answers]
    template = frozenset(blocks[0]).intersection(*blocks[1:])
    rests = [
        tokenize("\n".join(block for block in page if block not in template)) for page in blocks
    ]
    return NoResultPages(template, tuple(simhash(rest) for rest in rests if rest))


def _blocks(text: str, query_words: Sequence[str]) -> list[str]:
    """Returns the lines of a text as they are compared: normalised, without the query's words, and
    with # in place of numbers."""
    found = []
    for line in text.splitlines():
        block = normalise(line)
        for word in query_words:
            block = block.replace(normalise(word), " ")
        block = _SPACES.sub(" ", re.sub(r"\d+", "#", block)).strip()
        if block:
            found.append(block)
    return found


def judge(
    status: int, text: str, query: Sequence[str], records: int, nothing: NoResultPages | None
) -> ResultKind:
    """Classifies a result page: an error unless the status is 200; no results if it has no record,
    or no more text than the pages without results (`nothing`, None if unknown); otherwise valid.
    """
    if status != 200:
        return ResultKind.ERROR
    if records == 0 or (nothing is not None and nothing.same(text, query)):
        return ResultKind.NO_RESULTS
    return ResultKind.VALID


def efficiency(kinds: Iterable[ResultKind]) -> float | None:
    """Returns the submission efficiency E = N_valid / N_total, the share of valid answers, in [0,
    1] (the deep-web paper prints its inverse); None before the first query."""
    judged = list(kinds)
    return sum(kind is ResultKind.VALID for kind in judged) / len(judged) if judged else None
