"""Forms found on pages: stored as JSON, classified, corrected by operators, and allowed or
forbidden to be submitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.db.models import F

from crawlmgr.web.pages.forms import Option
from crawlmgr.web.url import registered_domain
from deepweb.choice.terms import language_of
from deepweb.form_roles import ASKED_ROLES, asks_for_something_else, with_roles
from deepweb.forms.classifier import Classification, can_be_asked, shipped_model
from deepweb.forms.clustering import words_of_form_page
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.types import FormType
from deepweb.models import Form, Source
from deepweb.search_forms import Form as PageForm
from deepweb.search_forms import FormField
from deepweb.submission import refusal

MAX_KEPT_TEXT = 1_000


def form_to_json(form: PageForm) -> dict[str, Any]:
    """Returns a form as a JSON document. The text inside the form and the text of its links are
    truncated to 1,000 characters each."""
    document = asdict(form)
    for name in ("text", "links"):
        document[name] = document[name][:MAX_KEPT_TEXT]
    return document


def form_from_json(document: Mapping[str, Any]) -> PageForm:
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
    return PageForm(**{**document, "fields": fields})


MAX_FORMS_A_PAGE = 20


MAX_WORDS = 400


PERSONAL = frozenset(
    (
        *(
            FieldRole.EMAIL,
            FieldRole.PASSWORD,
            FieldRole.CAPTCHA,
            FieldRole.USERNAME,
            FieldRole.FILE,
            FieldRole.PHONE,
        ),
    )
)


NEVER_ASKED = frozenset(("password", "file", "submit", "image", "button", "reset", "hidden"))


class ClassifiedForm(NamedTuple):
    """A form of a page with the classifier's classification, and for a search form the words of its
    page ("page") and of the form itself ("form") with their weights.
    """

    form: PageForm
    classification: Classification
    words: dict[str, dict[str, float]]


def classified(forms: Sequence[PageForm], html: str) -> list[ClassifiedForm]:
    """Classifies the forms of a page, at most MAX_FORMS_A_PAGE; the words for clustering are
    extracted for search forms only."""
    found = []
    for form in forms[:MAX_FORMS_A_PAGE]:
        classification = shipped_model().classify(form)
        words: dict[str, dict[str, float]] = {}
        if classification.type is FormType.SEARCH:
            spaces = words_of_form_page(html, form.index)
            words = {"page": _heaviest(spaces.page), "form": _heaviest(spaces.form)}
        found.append(ClassifiedForm(form, classification, words))
    return found


def _heaviest(words: Any) -> dict[str, float]:
    return dict(sorted(words.items(), key=lambda pair: -pair[1])[:MAX_WORDS])


def keep(
    source: Source,
    found: Sequence[ClassifiedForm],
    *,
    depth: int,
    language: str,
    charset: str,
    now: datetime,
) -> list[Form]:
    """Stores the forms of a page and returns their database rows. A form that is stored already
    keeps its row, its type and the operators' corrections. `depth` is the number of clicks from the
    start page of the site to the page.
    """
    kept = []
    for form, classification, words in found:
        row, made = Form.objects.get_or_create(
            source=source,
            signature=form.signature,
            defaults={
                "page_url": form.page_url,
                "action": form.action,
                "method": form.method,
                "type": classification.type.value,
                "confidence": classification.confidence,
                "searchable": classification.searchable,
                "described": form_to_json(form),
                "language": language_of(
                    f"{form.title} {form.headings} {form.text} {' '.join(words.get('page', ()))}",
                    language,
                ),
                "charset": charset[:40],
                "words": words,
                "depth": depth,
                "found": now,
            },
        )
        if not made and depth < row.depth:
            Form.objects.filter(pk=row.pk).update(
                depth=depth, page_url=form.page_url, described=form_to_json(form)
            )
        kept.append(row)
    return kept


def described_form(row: Form) -> PageForm:
    """Returns the form as it was parsed from its page, without the field roles that harvests or
    operators determined later."""
    return form_from_json(row.described)


def page_form(row: Form) -> PageForm:
    """Returns the form with the effective role of each field: set by an operator, otherwise found
    by a harvest, otherwise read from the form.
    """
    return with_roles(described_form(row), {**row.learned, **row.roles})


def learn_roles(row: Form, learned: Mapping[str, str]) -> None:
    """Stores the roles of fields that a harvest found; roles set by an operator still take
    precedence over them."""
    if {**row.learned, **learned} != row.learned:
        row.learned = {**row.learned, **learned}
        Form.objects.filter(pk=row.pk).update(learned=row.learned)


def set_role(row: Form, name: str, role: str) -> None:
    """Stores the role that an operator assigns to a field; an empty one removes the assignment.
    Raises ValueError for an unknown field or role.
    """
    form = described_form(row)
    if name not in {
        field.name for field in form.fields if field.name and field.kind not in NEVER_ASKED
    }:
        raise ValueError(f"{name} is no field of the form")
    if role and role not in ASKED_ROLES:
        raise ValueError(f"{role} is no role of a field")
    kept = {key: value for key, value in row.roles.items() if key != name}
    Form.objects.filter(pk=row.pk).update(roles={**kept, name: role} if role else kept)


def classification_of(row: Form) -> Classification:
    """Returns the effective classification on a form's type: an operator's correction with full
    confidence, otherwise the classifier's.
    """
    kind = FormType(row.kind)
    sure = 1.0 if row.corrected else row.confidence
    form = page_form(row)
    return Classification(kind, sure, kind is FormType.SEARCH and can_be_asked(form), {})


def refusal_code(row: Form) -> str | None:
    """Returns the code of the reason why the form must not be submitted; None if it may be.

    Besides the reasons of `submission.refusal`: "other_site", since a form is never sent to another
    site; and "unsure" for a form whose boxes ask for something other than search words, until an
    operator has confirmed it or a harvest has found its roles.
    """
    form = page_form(row)
    if _site(form.action) != _site(form.page_url):
        return "other_site"
    is_told = bool(row.released or row.corrected or row.roles or row.learned)
    doubt = None if is_told or not asks_for_something_else(described_form(row)) else "unsure"
    return refusal(form, classification_of(row), row.released) or doubt


def _site(url: str) -> str:
    host = urlsplit(url).hostname or ""
    return registered_domain(host) or host


def correct(row: Form, kind: str, user: Any, now: datetime) -> None:
    """Stores the type that an operator assigns to the form; an empty one removes the assignment. A
    form with an assigned type other than search is not submitted. Raises ValueError for an unknown
    type.
    """
    if kind and kind not in {each.value for each in FormType}:
        raise ValueError(f"{kind} is no type of form")
    searchable = (
        kind == FormType.SEARCH and can_be_asked(page_form(row))
        if kind
        else model_classification(row).searchable
    )
    Form.objects.filter(pk=row.pk).update(
        corrected=kind,
        corrected_by=user if kind else None,
        corrected_at=now if kind else None,
        searchable=searchable,
    )


def model_classification(row: Form) -> Classification:
    """Returns the classifier's own classification on a stored form, ignoring corrections."""
    return shipped_model().classify(described_form(row))


def release(row: Form, released: bool) -> None:
    """Allows or forbids submitting a form that needs an operator's consent: it is sent by POST, or
    its type is uncertain."""
    Form.objects.filter(pk=row.pk).update(released=released)


def refreshed(form: PageForm, shown: Sequence[PageForm]) -> PageForm:
    """Returns the form `form` with the hidden values (tokens) of the same form in `shown`, the
    forms of the page just fetched; unchanged if the page does not contain it.
    """
    again = next((other for other in shown if other.signature == form.signature), None)
    if again is None:
        return form
    hidden = {field.name: field.value for field in again.fields if field.kind == "hidden"}
    fields = tuple(
        (
            replace(field, value=hidden.get(field.name, field.value))
            if field.kind == "hidden"
            else field
        )
        for field in form.fields
    )
    return replace(
        form, fields=fields, action=again.action if again.method == "post" else form.action
    )


def count_records(source_id: int, new: int) -> None:
    """Adds `new`, the number of records just found for the first time, to the record counter of a
    source (search site)."""
    if new:
        Source.objects.filter(pk=source_id).update(records=F("records") + new)
