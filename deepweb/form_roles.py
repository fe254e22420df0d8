"""The roles of a form's fields, decided together: first guessed from names, kinds and labels, then
overridden by what harvests found or operators set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from deepweb.forms.field_roles import FieldRole, concepts_in
from deepweb.forms.templates import choices_of, range_ends
from deepweb.search_forms import Form, FormField

ASKED_ROLES = (
    FieldRole.QUERY,
    FieldRole.OTHER,
    FieldRole.REFINEMENT,
    FieldRole.REQUIRED,
    FieldRole.DATE,
    FieldRole.NUMBER,
    FieldRole.PAGE,
    FieldRole.PAGE_SIZE,
    FieldRole.SORT,
    FieldRole.FIXED,
)
"""Roles that an operator may give to a field of a search form."""

_TEXTS = ("text", "search")
_LOOSE = ("number", "tel", "url")
_KEPT = frozenset(
    (FieldRole.EMAIL, FieldRole.PASSWORD, FieldRole.CAPTCHA, FieldRole.USERNAME, FieldRole.FILE)
)
_OF_PERSONS = frozenset(
    (
        FieldRole.NAME,
        FieldRole.ADDRESS,
        FieldRole.PHONE,
        FieldRole.USERNAME,
        FieldRole.SUBJECT,
        FieldRole.MESSAGE,
        FieldRole.QUANTITY,
    )
)
_OF_LISTS = frozenset((FieldRole.SORT, FieldRole.PAGE_SIZE, FieldRole.PAGE))
_DIRECTION = re.compile(
    r"asc(?:ending)?|desc(?:ending)?|(?:auf|ab)steigend|(?:dé)?croissant|升序|降序|昇順|降順", re.I
)
_STARRED = re.compile(
    r"\*\s*:?\s*$|\((?:required|pflichtfeld|obligatoire|obligatorio|必填|必須)\)", re.I
)
_ONLY = 2
_PAGE_LABEL = re.compile(
    r"(?:go to )?(?:result )?(?:page|seite|page n[o°º]|página|pagina|strona|страница|page"
    r" number|seitennummer)(?: n[o°º]| #)?"
    r"|第?页|页码|頁碼|ページ|페이지",
    re.I,
)


def with_roles(form: Form, known_roles: Mapping[str, str] | None = None) -> Form:
    """Returns the form with the final roles of its fields; `known_roles` holds, by field name, the
    roles proved by harvests or set by an operator, which override those read from the form.

    A single text box is the query whatever its name, because names such as `page`, `from`, `start`
    and `p` only have a meaning if there is another box. Two inputs that are the ends of a range
    have no other role, such as that of a page number. A choice that is marked as required and has
    no "any" option gets the role REQUIRED: every query must set it.
    """
    known_roles = known_roles or {}
    ends = {
        name
        for pair in range_ends(
            [f for f in form.fields if f.kind in (*_TEXTS, *_LOOSE, "date", "month")]
        )
        for name in pair
    }
    roles = {field.name: _alone(field, ends) for field in form.fields if field.name}
    box = _query_box(form.fields, roles, ends)
    if box is not None:
        roles[box] = FieldRole.QUERY
    for name, role in known_roles.items():
        if name in roles and roles[name] not in _KEPT:
            roles[name] = FieldRole(role)
    return replace(
        form, fields=tuple(replace(f, role=roles[f.name]) if f.name else f for f in form.fields)
    )


def asks_for_something_else(form: Form) -> bool:
    """Tells whether a form that looks like a search form wants something other than search words.
    This is so if

    - its boxes are for personal data, an order or a page number, and it has no field for a query or
      for narrowing a search; or
    - none of its boxes has a name, so that only other inputs (such as a poll beside the box) would
      be sent; or
    - it has no box, and its choices only set the order or the length of a list.

    Such forms (naming a filter, tracking an order, "ask a question", "go to page", "sort by") are
    only submitted with an operator's consent. Roles are those read from the form, before
    `with_roles`.
    """
    boxes = [field for field in form.fields if field.kind in (*_TEXTS, *_LOOSE, "textarea")]
    if boxes and not any(field.name for field in boxes):
        return True
    if not boxes:
        choices = form.of_kind("select", "radio", "checkbox")
        return bool(choices) and all(_sets_a_list(field) for field in choices)
    if any(field.role in (FieldRole.QUERY, FieldRole.REFINEMENT) for field in form.fields):
        return False
    is_other = any(
        field.role in _OF_PERSONS or "order" in concepts_in(field.name) for field in boxes
    )
    return is_other or all(_leads_to_page(field, form) for field in boxes)


def only_orders_a_list(form: Form) -> bool:
    """Tells whether a form only sets how a list is shown: its only fields to fill in are selects
    (radio buttons may stand beside them), and each of them sets the order, its direction, the page
    or the number of rows on a page. By the project's specification, such a form is not a search
    form."""
    shown = [
        field
        for field in form.fields
        if field.kind not in ("hidden", "submit", "image", "button", "reset")
    ]
    choices = form.of_kind("select", "radio")
    return (
        bool(form.of_kind("select"))
        and len(choices) == len(shown)
        and all(map(_sets_a_list, choices))
    )


def _sets_a_list(field: FormField) -> bool:
    directions = bool(field.options) and all(
        _DIRECTION.fullmatch(option.label.strip()) for option in field.options
    )
    return (
        field.role in _OF_LISTS
        or directions
        or bool(_PAGE_LABEL.fullmatch(field.label.strip(" :：*.#")))
    )


def _leads_to_page(field: FormField, form: Form) -> bool:
    named = field.role is FieldRole.PAGE and "page" in concepts_in(form.css)
    return named or bool(_PAGE_LABEL.fullmatch(field.label.strip(" :：*.#")))


def _alone(field: FormField, ends: set[str]) -> FieldRole:
    if field.name in ends and field.role not in _KEPT:
        return (
            FieldRole.DATE
            if field.role is FieldRole.DATE or field.kind in ("date", "month")
            else FieldRole.NUMBER
        )
    if field.kind in (*_TEXTS, "number") and _PAGE_LABEL.fullmatch(field.label.strip(" :：*.#")):
        return FieldRole.PAGE if field.role not in _KEPT else field.role
    if (
        field.kind in ("select", "radio")
        and field.role is FieldRole.REFINEMENT
        and _must_choose(field)
    ):
        return FieldRole.REQUIRED
    return field.role


def _must_choose(field: FormField) -> bool:
    chosen = next((option for option in field.options if option.selected), None)
    if chosen is None and field.kind == "select":
        chosen = next(iter(field.options), None)
    is_set = chosen is not None and bool(chosen.value.strip())
    said_so = field.required or bool(_STARRED.search(field.label))
    return said_so and not is_set and len(choices_of(field)) >= _ONLY


def _query_box(
    fields: Sequence[FormField], roles: Mapping[str, FieldRole], ends: set[str]
) -> str | None:
    """Returns the name of the text box to use for query words if no field has the role QUERY by
    itself. None if a field has it, or if there is no suitable box. `ends` are the names of fields
    that are ends of ranges."""
    free = [
        f
        for f in fields
        if f.kind in _TEXTS and f.name and f.name not in ends and roles[f.name] not in _KEPT
    ]
    if any(roles[field.name] is FieldRole.QUERY for field in free):
        return None
    if len(free) == 1:
        return free[0].name
    likely = [
        f
        for f in free
        if roles[f.name]
        not in (FieldRole.PAGE, FieldRole.PAGE_SIZE, FieldRole.DATE, FieldRole.NUMBER)
    ]
    if likely or free:
        return (likely or free)[0].name
    loose = [f for f in fields if f.kind in _LOOSE and f.name and f.name not in ends]
    return loose[0].name if len(loose) == 1 else None
