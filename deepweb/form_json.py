"""Converts forms to JSON for the database, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from crawlmgr.web.document.forms import Option
from deepweb.field_roles import FieldRole
from deepweb.search_forms import Form, FormField

MAX_KEPT_TEXT = 1_000


def form_to_json(form: Form) -> dict[str, Any]:
    """Returns a form as a JSON document. The text inside the form and the text of its links are
    truncated to 1,000 characters each."""
    document = asdict(form)
    for name in ("text", "links"):
        document[name] = document[name][:MAX_KEPT_TEXT]
    return document


def form_from_json(document: Mapping[str, Any]) -> Form:
    """Restores a form that `form_to_json` wrote."""
    fields = tuple(
        FormField(
            **{
                **field,
                "role": FieldRole(field["role"]),
                "options": tuple(Option(**option) for option in field["options"]),
            }
        )
        for field in document["fields"]
    )
    return Form(**{**document, "fields": fields})
