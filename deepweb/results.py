"""Classification of answers: no-result and error pages are recognised by comparison with answers to nonsense words."""

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
    """The kind of a result page."""

    VALID = "valid"
    NO_RESULTS = "no_results"
    ERROR = "error"


def nonsense_word(rng: np.random.Generator, length: int = NONSENSE_LENGTH) -> str:
    """A random word of consonants that no database contains."""
    return "".join(rng.choice(list(_LETTERS), size=length))


@dataclass(frozen=True, slots=True)
class NoResultPages:
    """The site's answers to nonsense queries: the text blocks that all of them share, and fingerprints of the rest.

    Blocks (lines of the page's text) shared by all nonsense answers are the template, which contains no record; repetitions of
    the query are removed before comparing. Fingerprints are taken of the text outside the template, because on a page with a
    large template a fingerprint of the whole page would hardly change for one record.
    """

    template: frozenset[str]
    prints: tuple[int, ...]

    def rest(self, text: str, query: Iterable[str]) -> list[str]:
        """The words of a page outside the template, without the query's own words."""
        said = [word.casefold() for word in query]
        return tokenize("\n".join(block for block in _blocks(text, said) if block not in self.template))

    def same(self, text: str, query: Iterable[str]) -> bool:
        """Tells whether a page contains no more than the answers to nonsense (no text outside the template, or a SimHash of it
        within 3 bits)."""
        words = self.rest(text, query)
        if not words:
            return True
        fingerprint = simhash(words)
        return any(distance(fingerprint, known) <= NEAR for known in self.prints)


def learn_no_result_pages(answers: Sequence[tuple[str, Sequence[str]]]) -> NoResultPages | None:
    """Learns from (page text, query words) of at least two nonsense queries; None for fewer, since their common part is
    unknown."""
    if len(answers) < 2:
        return None
    blocks = [_blocks(text, [word.casefold() for word in query]) for text, query in answers]
    template = frozenset(blocks[0]).intersection(*blocks[1:])
    rests = [tokenize("\n".join(block for block in page if block not in template)) for page in blocks]
    return NoResultPages(template, tuple(simhash(rest) for rest in rests if rest))


def _blocks(text: str, said: Sequence[str]) -> list[str]:
    """Lines of text in the form compared: normalised, without the query's words and without numbers."""
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
    """Classifies an answer: valid means status 200, at least one record, and different from the answers to nonsense."""
    if status != 200:
        return ResultKind.ERROR
    if records == 0 or (nothing is not None and nothing.same(text, query)):
        return ResultKind.NO_RESULTS
    return ResultKind.VALID


def efficiency(kinds: Iterable[ResultKind]) -> float | None:
    """Submission efficiency E = N_valid / N_total, in [0, 1] (the deep-web paper prints its inverse); None before the first
    query."""
    judged = list(kinds)
    return sum(kind is ResultKind.VALID for kind in judged) / len(judged) if judged else None
