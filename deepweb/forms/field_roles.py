"""The role of one form field (query, date, password …), from its kind and from concepts (search,
login, e-mail …) in the words around it, which are found in many languages by word stems."""

from __future__ import annotations

import functools
import re
import unicodedata
from enum import StrEnum
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


class FieldRole(StrEnum):
    """What a visitor is expected to enter into a field."""

    QUERY = "query"
    REFINEMENT = "refinement"
    REQUIRED = "required"
    SORT = "sort"
    PAGE = "page"
    PAGE_SIZE = "page_size"
    DATE = "date"
    NUMBER = "number"
    USERNAME = "username"
    PASSWORD = "password"  # noqa: S105 - a role, not a secret
    EMAIL = "email"
    NAME = "name"
    PHONE = "phone"
    ADDRESS = "address"
    SUBJECT = "subject"
    MESSAGE = "message"
    CAPTCHA = "captcha"
    TERMS = "terms"
    REMEMBER = "remember"
    QUANTITY = "quantity"
    FILE = "file"
    TOKEN = "token"  # noqa: S105 - a role, not a secret
    FIXED = "fixed"
    SUBMIT = "submit"
    RESET = "reset"
    OTHER = "other"


_TOKEN = re.compile(
    r"csrf|xsrf|token|nonce|viewstate|eventvalidation|authenticity|formhash|form_?build_?id"
    r"|sess(ion)?_?id|_key$",
    re.I,
)


_PAGE = re.compile(
    r"^(page|p|pg|pn|pageno|page_?num(ber)?|paged|offset|start|from|skip|seite|pagina)$", re.I
)


_PAGE_SIZE = re.compile(
    r"per_?page|page_?size|^(limit|rows|count|num|hits|results|size|n)$|_size$", re.I
)


_BY_KIND = {
    "password": FieldRole.PASSWORD,
    "email": FieldRole.EMAIL,
    "search": FieldRole.QUERY,
    "tel": FieldRole.PHONE,
    "file": FieldRole.FILE,
    "submit": FieldRole.SUBMIT,
    "image": FieldRole.SUBMIT,
    "button": FieldRole.SUBMIT,
    "reset": FieldRole.RESET,
    "textarea": FieldRole.MESSAGE,
    "date": FieldRole.DATE,
    "datetime-local": FieldRole.DATE,
    "month": FieldRole.DATE,
    "week": FieldRole.DATE,
    "time": FieldRole.DATE,
}


# The first concept found in the words of a text field decides; specific concepts come before vague
# ones.
_TEXT_ORDER = (
    ("password", FieldRole.PASSWORD),
    ("email", FieldRole.EMAIL),
    ("search", FieldRole.QUERY),
    ("quantity", FieldRole.QUANTITY),
    ("username", FieldRole.USERNAME),
    ("phone", FieldRole.PHONE),
    ("address", FieldRole.ADDRESS),
    ("captcha", FieldRole.CAPTCHA),
    ("name", FieldRole.NAME),
    ("subject", FieldRole.SUBJECT),
    ("birth", FieldRole.DATE),
    ("contact", FieldRole.MESSAGE),
)


_CHOICE_ORDER = (
    ("remember", FieldRole.REMEMBER),
    ("terms", FieldRole.TERMS),
    ("sort", FieldRole.SORT),
    ("quantity", FieldRole.QUANTITY),
    ("address", FieldRole.ADDRESS),
    ("birth", FieldRole.DATE),
)


_CAPTCHA = re.compile(r"captcha|验证码|驗證碼|капч|seccode|vcode", re.I)


def role_of(kind: str, name: str, described: str, choices: int) -> FieldRole:
    """Returns the role of a field by its kind, its name, and the texts and identifiers that
    describe it (`described`: label, placeholder, class names).

    `choices` is the number of options of a select, radio group or checkbox group. The name is
    examined before the other words, because a label can apply to a whole row, a name to one field
    only.

    >>> role_of("text", "q", "Stichwort", 0), role_of("select", "cat", "Rubrik", 12)
    (<FieldRole.QUERY: 'query'>, <FieldRole.REFINEMENT: 'refinement'>)
    """
    if kind == "hidden":
        return FieldRole.TOKEN if _TOKEN.search(name) else FieldRole.FIXED
    if kind == "textarea" and _CAPTCHA.search(name):
        return FieldRole.CAPTCHA
    if kind in _BY_KIND and not (kind == "textarea" and "search" in concepts_in(name)):
        return _BY_KIND[kind]
    if kind in ("select", "radio", "checkbox"):
        return _choice(name, described, choices)
    if kind in ("number", "range") or _PAGE.match(name):
        if _PAGE.match(name):
            return FieldRole.PAGE
        return (
            FieldRole.QUANTITY
            if "quantity" in concepts_in(f"{name} {described}")
            else FieldRole.NUMBER
        )
    for words in (name, described):
        found = concepts_in(words)
        if _CAPTCHA.search(words):
            return FieldRole.CAPTCHA
        for concept, role in _TEXT_ORDER:
            if concept in found:
                return role
    return FieldRole.OTHER


def _choice(name: str, described: str, choices: int) -> FieldRole:
    if _PAGE_SIZE.search(name):
        return FieldRole.PAGE_SIZE
    for words in (name, described):
        found = concepts_in(words)
        for concept, role in _CHOICE_ORDER:
            if concept in found:
                return role
    return FieldRole.REFINEMENT if choices > 1 else FieldRole.OTHER
