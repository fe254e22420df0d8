"""Preview of a form: its fields as a visitor would see them, without the site's own HTML; and the
roles of the fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _

from deepweb.field_roles import FieldRole
from deepweb.form_roles import ASKED_ROLES
from deepweb.models import Form
from deepweb.search_forms import Form as PageForm
from deepweb.services import forms
from deepweb.templates_informative import inputs_of

_SHOWN_OPTIONS = 6
_UNSEEN = ("hidden",)

ROLES = {
    FieldRole.QUERY: gettext_lazy("search words"),
    FieldRole.OTHER: gettext_lazy("further text"),
    FieldRole.REFINEMENT: gettext_lazy("choice"),
    FieldRole.REQUIRED: gettext_lazy("required choice"),
    FieldRole.DATE: gettext_lazy("date"),
    FieldRole.NUMBER: gettext_lazy("number"),
    FieldRole.PAGE: gettext_lazy("page number"),
    FieldRole.PAGE_SIZE: gettext_lazy("results per page"),
    FieldRole.SORT: gettext_lazy("sort order"),
    FieldRole.FIXED: gettext_lazy("left at its default"),
}
"""The roles of fields that an operator can choose, with their display names."""


@dataclass(frozen=True, slots=True)
class RoleOf:
    """The role of one field (`said` is its display name), who decided it (`by`, "" if it was read
    from the form), and the role set by an operator (`set_by_hand`, "" for none).
    """

    name: str
    label: str
    role: str
    said: str
    by: str
    set_by_hand: str


def roles(form: Form) -> list[RoleOf]:
    """Returns the roles of the fields of a search form that a query can fill or to which an
    operator can assign a role."""
    found = []
    for field in forms.page_form(form).fields:
        if not field.name or field.kind in forms.NEVER_ASKED:
            continue
        by = (
            _("user setting")
            if field.name in form.roles
            else _("query results")
            if field.name in form.learned
            else ""
        )
        said = str(ROLES.get(field.role, field.role.value))
        found.append(
            RoleOf(
                field.name, field.label, field.role.value, said, by, form.roles.get(field.name, "")
            )
        )
    return found


def role_choices() -> list[tuple[str, str]]:
    """Returns, as pairs (value, display name), the roles that an operator can give to a form field
    (what the field is for)."""
    return [(role.value, str(ROLES[role])) for role in ASKED_ROLES]


@dataclass(frozen=True, slots=True)
class Asked:
    """An input on the page where an operator tries a query on a form: name, label, and choices as
    pairs (value, label)."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]


def asked_inputs(form: PageForm, most: int) -> list[Asked]:
    """Returns the first inputs of a form that a query can fill; those without a label are labelled
    by their names."""
    fields = {field.name: field for field in reversed(form.fields)}
    found = []
    for one in inputs_of(form)[:most]:
        field = fields[one.name]
        said = {option.value: option.label.strip() or option.value for option in field.options}
        label = field.label if field.kind != "checkbox" else ""
        found.append(
            Asked(
                one.name,
                label.strip() or one.name,
                tuple((value, said.get(value, value)) for value in one.values),
            )
        )
    return found


def language_name(code: str) -> str:
    """Returns the name of a form's language in the reader's language; the code itself if the
    language is not known."""
    main = code.lower().replace("_", "-").partition("-")[0]
    if main == "zh":
        return _("Chinese")
    try:
        return str(get_language_info(main)["name_translated"])
    except KeyError:
        return code


@dataclass(frozen=True, slots=True)
class Drawn:
    """One field of a form as the preview shows it, with its first options; `more` is the number of
    further options."""

    label: str
    kind: str
    name: str
    role: str
    text: str
    options: tuple[str, ...] = ()
    more: int = 0
    required: bool = False


def picture(form: Form, most: int = 40) -> list[Drawn]:
    """Returns the visible fields of a form, in order, with their contents; at most `most`."""
    return [
        _drawn(field) for field in form.described.get("fields", ()) if field["kind"] not in _UNSEEN
    ][:most]


def _drawn(field: dict[str, Any]) -> Drawn:
    options = [option["label"] or option["value"] for option in field.get("options", ())]
    kind = (
        field["kind"]
        if field["kind"] in ("select", "radio", "checkbox", "textarea", "password", "file")
        else "text"
    )
    if field["kind"] in ("submit", "image", "button", "reset"):
        kind = "button"
    return Drawn(
        label=field["label"] if kind != "button" else "",
        kind=kind,
        name=field["name"],
        role=field["role"],
        text=field["value"] or field["placeholder"] or (field["label"] if kind == "button" else ""),
        options=tuple(options[:_SHOWN_OPTIONS]),
        more=max(0, len(options) - _SHOWN_OPTIONS),
        required=field["required"],
    )
