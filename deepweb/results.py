"""Is an answer an answer? No-result and error pages, known by what the site says to words that cannot exist."""

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
    """What a result page is."""

    VALID = "valid"
    NO_RESULTS = "no_results"
    ERROR = "error"


def nonsense_word(rng: np.random.Generator, length: int = NONSENSE_LENGTH) -> str:
    """A word of consonants that no database holds."""
    return "".join(rng.choice(list(_LETTERS), size=length))


@dataclass(frozen=True, slots=True)
class NoResultPages:
    """The site's answer to nonsense: the blocks that every such page has, and fingerprints of what they say besides.

    Blocks (lines of the page's text) that all nonsense answers share are the template, on which no record can stand;
    what an echo of the query leaves is compared without the query's words. A result page differs from the template by
    its records alone, so fingerprints are taken of the rest: on a page full of furniture a whole-page fingerprint
    would hardly move for one record.
    """

    template: frozenset[str]
    prints: tuple[int, ...]

    def rest(self, text: str, query: Iterable[str]) -> list[str]:
        """The words of a page outside the template and without the query's own words."""
        said = [word.casefold() for word in query]
        return tokenize("\n".join(block for block in _blocks(text, said) if block not in self.template))

    def same(self, text: str, query: Iterable[str]) -> bool:
        """Whether a page says no more than the answers to nonsense do (SimHash of the rest within 3 bits, or no rest)."""
        words = self.rest(text, query)
        if not words:
            return True
        fingerprint = simhash(words)
        return any(distance(fingerprint, known) <= NEAR for known in self.prints)


def learn_no_result_pages(answers: Sequence[tuple[str, Sequence[str]]]) -> NoResultPages | None:
    """From (page text, query words) of at least two nonsense queries; None for fewer: what they share is then unknown."""
    if len(answers) < 2:
        return None
    blocks = [_blocks(text, [word.casefold() for word in query]) for text, query in answers]
    template = frozenset(blocks[0]).intersection(*blocks[1:])
    rests = [tokenize("\n".join(block for block in page if block not in template)) for page in blocks]
    return NoResultPages(template, tuple(simhash(rest) for rest in rests if rest))


def _blocks(text: str, said: Sequence[str]) -> list[str]:
    """Lines of text as they are compared: normalised, without the query's words (echoes) and without numbers."""
    found = []
    for line in text.splitlines():
        block = normalise(line)
        for word in said:
            block = block.replace(normalise(word), " ")
        block = _SPACES.sub(" ", re.sub(r"\d+", "#", block)).strip()
        if block:
            found.append(block)
    return found


def judge(status: int, text: str, query: Sequence[str], records: int, nothing: NoResultPages | None) -> ResultKind:
    """Section 5.3: valid is status 200, at least one record, and not the page that nonsense brings."""
    if status != 200:
        return ResultKind.ERROR
    if records == 0 or (nothing is not None and nothing.same(text, query)):
        return ResultKind.NO_RESULTS
    return ResultKind.VALID


def efficiency(kinds: Iterable[ResultKind]) -> float | None:
    """E = N_valid / N_total, in [0, 1] (the paper prints its inverse); None before the first query."""
    judged = list(kinds)
    return sum(kind is ResultKind.VALID for kind in judged) / len(judged) if judged else None
