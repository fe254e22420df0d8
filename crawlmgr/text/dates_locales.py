"""Words of times in about 200 languages, from the data files of the library dateparser (taken from
CLDR), with the codes of `dates_words`. The library itself is not imported: it would count relative
times from now, and takes a second to load.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from crawlmgr.text.dates_words import PHRASES, SHORT_UNITS, UNIT_SECONDS, VOCABULARY, fold, plain

_MONTHS = tuple(
    "january february march april may june july august september october november december".split()
)
_WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
_NUMBER = r"(\d++[.,]?\d*+)"  # how the data files write a number
_AGO = re.compile(r"(?:\\1|(\d+)) (\w+) ago")
_OLD_NAMES = {"no": "nb", "iw": "he", "in": "id"}
# The lists of `dates_words` are made for these; the data files take their single characters
# (day, month, year) for whole words.
_OURS = frozenset(("en", "zh", "ja", "ko", "yue"))
WORD = re.compile(r"[^\W\d_]+")
# languages written without spaces between words: Thai, Lao, Khmer, Burmese
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
# languages suggested by a range of letters, for pages that do not declare theirs
_BY_LETTERS = (
    ("\u0370", "\u03ff", ("el",)),
    ("\u0400", "\u052f", ("uk", "bg")),
    ("\u0590", "\u05ff", ("he",)),
    ("\u0600", "\u06ff", ("ar", "fa")),
    ("\u0e00", "\u0e7f", ("th",)),
)


class Words(NamedTuple):
    """The words of one language and their codes. `units` holds the words that are a unit of time
    only after a number; `pattern` finds words and phrases of several words; `changes` are pairs of
    an expression and its replacement, applied to a text first; `is_ours`: there are no words beyond
    those of `dates_words`."""

    codes: Mapping[str, str]
    units: Mapping[str, str]
    pattern: re.Pattern[str]
    changes: tuple[tuple[re.Pattern[str], str], ...] = ()
    is_ours: bool = False

    def code(self, word: str) -> str | None:
        """Returns the code of a word or phrase, with or without its accents; None if unknown."""
        found = self.codes.get(word)
        return self.codes.get(plain(word)) if found is None and not word.isascii() else found


def date_order(language: str) -> str:
    """Returns the usual order of day, month and year in a language, such as "DMY"; "" if unknown.

    >>> date_order("hr"), date_order("hu"), date_order("xx")
    ('DMY', 'YMD', '')
    """
    return next((str(info.get("date_order") or "") for info in _data(language)), "")


def by_letters(text: str) -> tuple[str, ...]:
    """Returns the languages that the letters of a text suggest, besides those of `dates_words`."""
    for first, last, names in _BY_LETTERS:
        if any(first <= character <= last for character in text):
            return names
    if "tháng" in text.lower():
        return ("vi",)
    return ("hu", "cs") if set("áéíóúőűěřžýů") & set(text) else ("ro", "sv")


@lru_cache(maxsize=64)
def words_of(language: str) -> Words:
    """Returns the words of a language (a tag such as "hr" or "pt-BR"): those of its data files,
    then those of `dates_words`. A few milliseconds on first use."""
    data = [] if language.partition("-")[0] in _OURS else list(_data(language))
    codes: dict[str, str] = {}
    units: dict[str, str] = {}
    for info in data:
        for code, text in _named(info):
            # "mar" is a month or a weekday, decided by the codes beside it
            if VOCABULARY.get(text) not in ("N", "Q", "a"):
                codes.setdefault(text, code)
        # with "ago" first: "timer siden" stands also in "for N timer siden"
        for code, text in sorted(_unit_words(info), key=lambda pair: "G" not in pair[0]):
            if len(text) > 1 or text not in VOCABULARY:
                units.setdefault(text, code)
    phrases = [text for text in (*codes, *units, *PHRASES) if not WORD.fullmatch(text)]
    return Words(
        {**{plain(text): code for text, code in codes.items()}, **VOCABULARY, **PHRASES, **codes},
        {"mo": f"U{SHORT_UNITS['mo']};", "y": f"U{SHORT_UNITS['y']};", **units},
        _pattern(phrases, [*codes, *units]),
        tuple(change for info in data for change in _changes(info)),
        not data,
    )


@lru_cache(maxsize=64)
def _data(language: str) -> Sequence[Mapping[str, Any]]:
    """Returns the contents of the data files of a language, also those of its scripts (sr-Latn) and
    countries; none for an unknown language."""
    name = language.partition("-")[0]
    name = _OLD_NAMES.get(name, name)
    spec = find_spec("dateparser")
    if spec is None or not name.isalpha():
        return ()
    folder = Path(next(iter(spec.submodule_search_locations or ())))
    files = sorted((folder / "data" / "date_translation_data").glob(f"{name}*.py"))
    found = [
        runpy.run_path(str(file))["info"] for file in files if file.stem.partition("-")[0] == name
    ]
    # the countries' own words, such as the Syrian months, after those of the language
    return [*found, *(each for info in found for each in info["locale_specific"].values())]


def _named(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (code, word) of the words and phrases that mean the same everywhere in a text."""
    for key, texts in info.get("relative-type", {}).items():
        yield from ((code, text) for code in _relative(key) for text in _folded(texts))
    yield from (("G", before) for _, before, _ in _around_numbers(info) if before)
    for number, name in enumerate(_MONTHS, 1):
        yield from ((f"M{number:02d}", text) for text in _folded(info.get(name, ())))
    for number, name in enumerate(_WEEKDAYS, 1):
        yield from ((f"W{number}", text) for text in _folded(info.get(name, ())))
    yield from (("G", text) for text in _folded(info.get("ago", ())))
    for code, name in (("A", "am"), ("P", "pm")):
        yield from ((code, text) for text in _folded(info.get(name, ())))
    for name in ("skip", "pertain"):
        texts = (text.strip(" .-") for text in _folded(info.get(name, ())))
        yield from (("", text) for text in texts if WORD.search(text))
    # of a time to come, such as "in 3 days"
    coming = [text for key, texts in _with_numbers(info) if key.startswith("in ") for text in texts]
    befores = [text.partition(_NUMBER)[0].strip() for text in coming]
    yield from (("?", text) for text in _folded([*info.get("in", ()), *befores]))


def _relative(key: str) -> Iterator[str]:
    """Yields the code of a key such as "1 day ago" or "0 second ago"; none for "0 week ago" (this
    week), which is no point in time, and for times to come."""
    found = _AGO.fullmatch(key)
    if not found or not found[1] or found[2] not in UNIT_SECONDS:
        return
    if found[2] == "day":
        yield f"R{-int(found[1])};"
    elif found[1] != "0":
        yield f"{found[1]}U{UNIT_SECONDS[found[2]]};G"
    elif found[2] == "second":
        yield "J"


def _with_numbers(info: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[str]]]:
    """Returns the phrases with a number, by keys such as "\\1 hour ago"."""
    found: Mapping[str, Sequence[str]] = info.get("relative-type-regex", {})
    return found.items()


def _around_numbers(info: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yields, for phrases such as "prije N sati" and "N saat önce", the seconds of the unit and
    what stands before and after the number."""
    for key, texts in _with_numbers(info):
        found = _AGO.fullmatch(key)
        if found and found[2] in UNIT_SECONDS:
            for text in texts:
                before, _, after = text.replace(r"\s*", " ").partition(_NUMBER)
                yield UNIT_SECONDS[found[2]], fold(before).strip(), fold(after).strip()


def _unit_words(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (code, word) of the units of time, some with "ago" in them."""
    for seconds, before, after in _around_numbers(info):
        if after:
            yield f"U{seconds};" + ("" if before else "G"), after
    for name, seconds in UNIT_SECONDS.items():
        yield from ((f"U{seconds};", text) for text in _folded(info.get(name, ())))


def _changes(info: Mapping[str, Any]) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yields the replacements of a data file, such as those of number words by numbers."""
    for change in info.get("simplifications", ()):
        for pattern, replacement in change.items():
            # look-behinds are for the module regex only; clock times are read as they are
            if "(?<" not in pattern and r"\1:" not in replacement:
                yield re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I), fold(str(replacement))


def _folded(texts: Sequence[str]) -> list[str]:
    return [word for text in texts if (word := fold(text))]


def _pattern(phrases: Sequence[str], words: Sequence[str]) -> re.Pattern[str]:
    """Returns an expression for the phrases, longest first, and for single words; in languages
    without spaces, for all words wherever they stand."""
    unspaced = {text for text in words if _UNSPACED.search(text)}
    apart, inside = (
        "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
        for texts in (set(phrases) - unspaced, unspaced)
    )
    within = f"{inside}|" if inside else ""
    return re.compile(rf"(?<!\w)(?:{apart})(?!\w)|{within}{WORD.pattern}")


OURS = words_of("en")
