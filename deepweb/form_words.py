"""Finds concepts (search, login, e-mail …) in the words on forms, in many languages: by word stems,
so that related languages are covered too."""

from __future__ import annotations

import functools
import re
import unicodedata
from importlib import resources

_IDENTIFIER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\W_]+")
_SPACED = re.compile(
    r"^[\x00-\u052f\u1e00-\u20ff]+$"
)  # Latin, Greek and Cyrillic script, which separate words by spaces
_SHORT = 40


def fold(text: str) -> str:
    """Returns the text in lower case, with accents removed and full-width characters replaced by
    ordinary ones.

    >>> fold("Búsqueda ＡＢＣ Поиск")
    'busqueda abc поиск'
    """
    plain = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize(
        "NFC", "".join(c for c in plain if not unicodedata.combining(c))
    ).lower()


def words(text: str) -> str:
    """Returns the folded words of a text or an identifier, separated and surrounded by single
    spaces.

    >>> words("userLoginForm[e-mail]_2")
    ' user login form e mail 2 '
    """
    return " " + _SEPARATORS.sub(" ", fold(_IDENTIFIER.sub(" ", text))).strip() + " "


@functools.cache
def _stems() -> dict[str, tuple[str, ...]]:
    """Returns for each concept the stems of its words, as strings to be searched for in the result
    of `words`."""
    source = resources.files("deepweb").joinpath("form_words.txt").read_text(encoding="utf-8")
    stems: dict[str, list[str]] = {}
    concept: list[str] = []
    for line in source.splitlines():
        if line.startswith("["):
            concept = stems.setdefault(line.strip("[] "), [])
        elif not line.startswith("#"):
            concept += map(_sought, line.split())
    return {name: tuple(dict.fromkeys(found)) for name, found in stems.items()}


def _sought(stem: str) -> str:
    body = words(stem.lstrip("=*"))[1:-1]
    if stem.startswith("="):
        return f" {body} "
    return body if stem.startswith("*") or not _SPACED.match(stem) else f" {body}"


@functools.cache
def _flat() -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Returns two tuples of (stem, concept) pairs: all ASCII stems, and all other stems, which need
    not be searched for in an ASCII text."""
    pairs = [(stem, name) for name, stems in _stems().items() for stem in stems]
    return tuple(pair for pair in pairs if pair[0].isascii()), tuple(
        pair for pair in pairs if not pair[0].isascii()
    )


def concept_names() -> tuple[str, ...]:
    """Returns all concepts, in the order of the list of stems."""
    return tuple(_stems())


@functools.lru_cache(maxsize=20_000)
def concepts_in(text: str) -> frozenset[str]:
    """Returns all concepts that a text or an identifier names; `text` is unprocessed.

    >>> sorted(concepts_in("Mot de passe oublié ?"))
    ['password', 'recover']
    """
    folded = words(text)
    # Short texts are also searched without spaces, to find "sign up" as "signup"; in long ones,
    # joined words could form others.
    if len(folded) < _SHORT:
        folded += folded.replace(" ", "") + " "
    plain, other = _flat()
    found = {name for stem, name in plain if stem in folded}
    if not folded.isascii():
        found.update(name for stem, name in other if stem in folded)
    return frozenset(found)
