"""The request of a form that was filled in, and whether the form may be submitted at all."""

from __future__ import annotations

from collections.abc import Mapping

from crawlmgr.web.pages.forms import Submission, default_button, entries, submission
from deepweb.forms.classifier import Classification
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.types import FormType
from deepweb.search_forms import Form, FormField

POST_CONFIDENCE = 0.8
SURE = 0.7
"""Confidence from which a form classified as search is submitted without an operator's consent."""
_PERSONAL = frozenset((FieldRole.EMAIL, FieldRole.PASSWORD, FieldRole.FILE, FieldRole.CAPTCHA))


def fill(
    form: Form, bound: Mapping[str, str], charset: str = "utf-8", pressed: FormField | None = None
) -> Submission:
    """Returns the request that a browser would send for the form, with its default values except
    for the inputs in `bound` (value by input name), by the button `pressed`, or by the first one
    that is not disabled.

    GET replaces the query string of the action, as browsers do; `charset` is the encoding of the
    form's page. Raises KeyError for a name in `bound` that the form does not have.
    """
    unknown = set(bound) - {field.name for field in form.fields}
    if unknown:
        raise KeyError(f"the form has no field {sorted(unknown)}")
    button = pressed or default_button(form.fields)
    action, method = form.action, form.method
    if pressed is not None:
        action, method = pressed.action or action, pressed.method or method
    charset = form.charset or charset
    return submission(method, action, entries(form.fields, bound, button, charset), charset)


def refusal(form: Form, classification: Classification, released: bool) -> str | None:
    """Returns the code of the reason why a form must not be submitted; None if it may be.
    Conditions:

    - It is classified as search with a confidence of at least 0.7, or of less if the operator
      released it.
    - It has a field to query, and no password, file, e-mail or captcha field.
    - A POST form is released, has a confidence of at least 0.8, no text area and the usual
      encoding.
    """
    if classification.type is not FormType.SEARCH:
        return "not_search"
    if form.of_kind("password", "file") or any(field.role in _PERSONAL for field in form.fields):
        return "personal_fields"
    if not classification.searchable:
        return "nothing_to_fill"
    if classification.confidence < SURE and not released:
        return "unsure"
    if form.method == "post":
        if form.of_kind("textarea"):
            return "post_textarea"
        if classification.confidence < POST_CONFIDENCE:
            return "post_unsure"
        if "urlencoded" not in form.enctype:
            return "post_encoding"
        if not released:
            return "post_not_released"
    return None
