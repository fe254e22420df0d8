"""The request of a form that was filled in, and whether the form may be submitted at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit, urlunsplit

from deepweb.classifier import Verdict
from deepweb.field_roles import FieldRole
from deepweb.form_types import FormType
from deepweb.search_forms import Form

POST_CONFIDENCE = 0.8
SURE = 0.7
"""Confidence from which a form classified as search is submitted without an operator's consent."""
_NEVER_SENT = frozenset(("button", "reset", "file"))
_PERSONAL = frozenset((FieldRole.EMAIL, FieldRole.PASSWORD, FieldRole.FILE, FieldRole.CAPTCHA))


@dataclass(frozen=True, slots=True)
class Submission:
    """One request: method, address, body (empty for GET) and content type of the body."""

    method: str
    url: str
    body: str
    content_type: str


def fill(form: Form, bound: Mapping[str, str], charset: str = "utf-8") -> Submission:
    """Returns the request that a browser would send for the form, with its default values except
    for the inputs in `bound` (value by input name), and with the first submit button pressed.

    GET replaces the query string of the action, as browsers do; `charset` is the encoding of the
    form's page. Raises KeyError for a name in `bound` that the form does not have.
    """
    unknown = set(bound) - {field.name for field in form.fields}
    if unknown:
        raise KeyError(f"the form has no field {sorted(unknown)}")
    pairs: list[tuple[str, str]] = []
    pressed = False
    for field in form.fields:
        if not field.name or field.kind in _NEVER_SENT:
            continue
        if field.kind in ("submit", "image"):
            if not pressed:
                pressed = True
                pairs += (
                    [(field.name, field.value)]
                    if field.kind == "submit"
                    else [(f"{field.name}.x", "1"), (f"{field.name}.y", "1")]
                )
        elif field.name in bound:
            pairs.append((field.name, bound[field.name]))
        elif field.kind in ("radio", "checkbox"):
            pairs += [(field.name, option.value) for option in field.options if option.selected]
        elif field.kind == "select":
            pairs += _selected(form, field.name)
        else:
            pairs.append((field.name, field.value))
    encoded = urlencode(pairs, encoding=charset, errors="xmlcharrefreplace")
    if form.method == "post":
        return Submission("POST", form.action, encoded, "application/x-www-form-urlencoded")
    parts = urlsplit(form.action)
    return Submission(
        "GET", urlunsplit((parts.scheme, parts.netloc, parts.path, encoded, "")), "", ""
    )


def _selected(form: Form, name: str) -> list[tuple[str, str]]:
    field = next(each for each in form.fields if each.name == name and each.kind == "select")
    chosen = [(name, option.value) for option in field.options if option.selected]
    return chosen or (
        [(name, field.options[0].value)] if field.options and not field.multiple else []
    )


def refusal(form: Form, verdict: Verdict, released: bool) -> str | None:
    """Returns the code of the reason why a form must not be submitted; None if it may be.
    Conditions:

    - It is classified as search with a confidence of at least 0.7, or of less if the operator
      released it.
    - It has a field to query, and no password, file, e-mail or captcha field.
    - A POST form is released, has a confidence of at least 0.8, no text area and the usual
      encoding.
    """
    if verdict.type is not FormType.SEARCH:
        return "not_search"
    if form.of_kind("password", "file") or any(field.role in _PERSONAL for field in form.fields):
        return "personal_fields"
    if not verdict.searchable:
        return "nothing_to_fill"
    if verdict.confidence < SURE and not released:
        return "unsure"
    if form.method == "post":
        if form.of_kind("textarea"):
            return "post_textarea"
        if verdict.confidence < POST_CONFIDENCE:
            return "post_unsure"
        if "urlencoded" not in form.enctype:
            return "post_encoding"
        if not released:
            return "post_not_released"
    return None
