"""The role of one form field (query, date, password …), from its kind and the words around it."""

from __future__ import annotations

import re
from enum import StrEnum

from deepweb.form_words import concepts_in


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
    ("captcha", FieldRole.CAPTCHA),
    ("address", FieldRole.ADDRESS),
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
