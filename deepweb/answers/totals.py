"""What an answer tells about its results: which of the numbers on its pages is their total, and
whether there are none, by comparison with answers to nonsense words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from crawlmgr.text.similarity import NEAR, distance, simhash
from crawlmgr.text.tokens import normalise, tokenize

_NUMBER = r"(\d{1,3}(?:[,.   ']\d{3})+|\d+)"


_WHAT = (
    r"(?:results?|records?|match(?:es)?|hits|items?|entries|documents?|articles?|books?|titles?"
    r"|products?|packages?|rows?|found|"
    r"events?|jobs?|offers?|ads?|listings?|properties|homes?|cars?|courses?|people|persons?"
    r"|members?|films?|movies?|songs?|"
    r"recipes?|publications?|papers?|posts?|threads?|photos?|images?|files?|objects?|datasets?"
    r"|works?|names?|stellen|angebote|"
    r"ergebnisse?|treffer|datensätze|résultats?|notices?|resultados?|registros?|risultati"
    r"|resultaten|wyników|"
    r"результат\w*|запис\w*|найден\w*|件|건|条|條|項|项|个结果|個結果|首|篇|本|册|部|笔|筆)"
)


_PATTERNS = (
    re.compile(
        rf"(?:\bof|\bvon|\bsur|\bde|\bdi|\bvan|\bиз|\d\s?/|共|全|计|約|约)\s*(?:about\s+"
        rf"|over\s+)?{_NUMBER}\b",
        re.I,
    ),
    re.compile(
        r"(?:found|total|zusammen|gefunden|trouvés?|encontrad[oa]s|trovat[ie]|всего|найдено|共有?|合計"
        r"|总计|總計)"
        rf"\s*[:：]?\s*{_NUMBER}",
        re.I,
    ),
    re.compile(rf"{_NUMBER}\+?\s*{_WHAT}(?![a-z])", re.I),
)


_WINDOW = re.compile(rf"{_NUMBER}\s*(?:-|–|—|to|bis|à|a|до|~|至|から)\s*{_NUMBER}\D{{1,12}}$", re.I)


_MORE = re.compile(
    r"\b(?:page|seite|página|pagina|страница|第)\s*\d+\s*(?:of|von|/|de|di|из)\s*\d+", re.I
)


_ADDRESS = re.compile(r"https?://\S+|\b\d+(?:\.\d+){2,}\b")


_SPACES = re.compile(r"\s+")


_DIGITS = re.compile(r"\d[\d,.   ']*")


_LONGEST_LINE = 160


_LONGEST_SHAPE = 80


_MAX_TOTAL = 10**10


_MAX_NUMBERS = 12


_BEFORE = 40


_AGREEING = 2


class Stated(NamedTuple):
    """A number that may be the total: `number`; the line that states it, without its numbers and
    the words of the query (`shape`); and `window`, which is True if the line also says which
    results are shown ("1 to 10 of 34") and the page shows as many."""

    shape: str
    number: int
    window: bool = False


class AnswerStatement(NamedTuple):
    """One answer of a site: the numbers stated in its text (`stated`), how many records it
    returned, whether it was read to its end, and the query as (input, value) pairs (`bound`)."""

    stated: Sequence[Stated]
    returned: int
    read_whole: bool
    bound: frozenset[tuple[str, str]] = frozenset()


def stated_numbers(
    lines: Iterable[str], query_words: Sequence[str] = (), shown: int = 0
) -> tuple[Stated, ...]:
    """Returns the numbers of results stated in short lines; of lines that have the same words only
    the first number. Page numbers are left out.

    `query_words` are the words of the query, which are removed from the lines, `shown` is the
    number of records on this page.

    >>> [each.number for each in stated_numbers(["Showing 1 to 10 of 1,234 entries", "Page 2 of \
9", "共 56 条记录"])]
    [1234, 56]
    """
    found: dict[str, Stated] = {}
    words = [word.casefold() for word in query_words if len(word) > 1]
    for line in lines:
        if (
            len(line) > _LONGEST_LINE
            or not any(letter.isdigit() for letter in line)
            or len(found) >= _MAX_NUMBERS
        ):
            continue
        line = _MORE.sub(" ", _ADDRESS.sub(" ", line))
        for match in (match for pattern in _PATTERNS for match in pattern.finditer(line)):
            number = _value(match.group(1))
            shape = _shape(line[: match.start(1)], line[match.end(1) :], words)
            if number < _MAX_TOTAL and shape not in found:
                found[shape] = Stated(
                    shape, number, shown > 0 and _is_window(line[: match.start(1)], number, shown)
                )
    return tuple(found.values())


def _value(text: str) -> int:
    return int(re.sub(r"\D", "", text))


def _shape(before: str, after: str, words: Sequence[str]) -> str:
    parts = []
    for text in (before[-_LONGEST_SHAPE:], after[:_LONGEST_SHAPE]):
        low = text.casefold()
        for word in words:
            low = low.replace(word, " ")
        parts.append(_SPACES.sub(" ", _DIGITS.sub("#", low)).strip())
    return "|".join(parts)


def _is_window(before: str, number: int, shown: int) -> bool:
    match = _WINDOW.search(before[-_BEFORE:])
    if match is None:
        return False
    first, last = _value(match.group(1)), _value(match.group(2))
    return first <= last <= number and last - first + 1 == shown


def trusted_shape(statements: Sequence[AnswerStatement]) -> str | None:
    """Returns the line (`Stated.shape`) whose number is the total of results, judged by several
    answers; None if none is proved.

    - Excluded: a line that states fewer records than an answer has, or more for a query than for
      one with only some of its terms.
    - Proved: a line that once also said which results its page shows (`Stated.window`).
    - Also proved: a line with different numbers that are right for half of the answers that were
      read to their end and are smaller than the largest (so not truncated). Without such answers,
      one right number or three answers are enough.
    - Of several proved lines, the one in most answers is taken, then the one with the largest
      numbers.
    """
    by_shape: dict[str, list[tuple[AnswerStatement, Stated]]] = defaultdict(list)
    for answer in statements:
        for stated in answer.stated:
            by_shape[stated.shape].append((answer, stated))
    best: tuple[tuple[int, int], str] | None = None
    for shape, pairs in by_shape.items():
        if _contradicts(pairs) or not _is_proved(pairs):
            continue
        rank = (len(pairs), sum(stated.number for _, stated in pairs))
        if best is None or rank > best[0]:
            best = rank, shape
    return best[1] if best is not None else None


def _contradicts(pairs: Sequence[tuple[AnswerStatement, Stated]]) -> bool:
    if any(answer.returned > stated.number for answer, stated in pairs):
        return True
    last = pairs[-_BEFORE:]
    return any(
        narrow.bound > wide.bound and less.number > more.number
        for narrow, less in last
        if len(narrow.bound) > 1
        for wide, more in last
    )


def _is_proved(pairs: Sequence[tuple[AnswerStatement, Stated]]) -> bool:
    held = [(answer, stated) for answer, stated in pairs if answer.returned]
    if any(stated.window for _, stated in held):
        return True
    if len(held) < _AGREEING or len({stated.number for _, stated in held}) < _AGREEING:
        return False
    sizes = [answer.returned for answer, _ in held]
    short = [
        (answer, stated)
        for answer, stated in held
        if answer.read_whole and answer.returned < max(sizes)
    ]
    if short:
        return 2 * sum(answer.returned == stated.number for answer, stated in short) >= len(short)
    return len(held) > _AGREEING or any(answer.returned == stated.number for answer, stated in held)


def total_of(stated: Iterable[Stated], shape: str | None) -> int | None:
    """Returns the number of results that an answer states. Of the numbers `stated` it is the one in
    the line with the text `shape` (see `Stated`). None if there is no such line, or `shape` is None
    because no line has proved to state the total.
    """
    return (
        next((each.number for each in stated if each.shape == shape), None)
        if shape is not None
        else None
    )


NONSENSE_LENGTH = 12


_LETTERS = "bcdfghjklmnpqrstvwxz"


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
