"""The picture of a form: its fields as a person would see them, without its site's own markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepweb.models import Form

_SHOWN_OPTIONS = 6
_UNSEEN = ("hidden",)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One field of a picture."""

    label: str
    kind: str
    name: str
    role: str
    text: str
    options: tuple[str, ...] = ()
    more: int = 0
    required: bool = False


def picture(form: Form, most: int = 40) -> list[Drawn]:
    """The visible fields in their order, with what stands in them."""
    return [_drawn(field) for field in form.described.get("fields", ()) if field["kind"] not in _UNSEEN][:most]


def _drawn(field: dict[str, Any]) -> Drawn:
    options = [option["label"] or option["value"] for option in field.get("options", ())]
    kind = field["kind"] if field["kind"] in ("select", "radio", "checkbox", "textarea", "password", "file") else "text"
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
