"""The settings control: presets as buttons, the history of changes in words, one button that takes the last one back.

A room puts `lines(...)` into its context and includes `desk/settings_history.html`; inside its form, `desk/settings_presets.html`
with `presets`, names of sets of values: their buttons send `preset`, `keep_preset` with `preset_name`, and `drop_preset`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crawlmgr.models import SettingsChange
from crawlmgr.services import settings_history

Name = Callable[[tuple[str, ...], Mapping[str, Any]], str]
"""The name of a value by its way and all values that it stands among."""


@dataclass(frozen=True, slots=True)
class Line:
    """One change: `parts` are (name, old, new) in words; `last` is the one that can be undone."""

    change: SettingsChange
    parts: Sequence[tuple[str, str, str]]
    last: bool


@dataclass(frozen=True, slots=True)
class PresetButton:
    """A set of values to take over; `own` ones were kept by somebody and can be dropped."""

    name: str
    title: str
    own: bool = False


def lines(kind: str, target: int, name: Name, limit: int = 10) -> list[Line]:
    """The newest changes in words."""
    newest = settings_history.last(kind, target)
    return [
        Line(
            change,
            [
                (name(one.way, change.after or change.before), said(one.old), said(one.new))
                for one in settings_history.differences(change.before, change.after)
            ],
            newest is not None and change.pk == newest.pk,
        )
        for change in settings_history.history(kind, target, limit)
    ]


def buttons(kind: str, built_in: Mapping[str, str]) -> list[PresetButton]:
    """Presets that come with the program (name to title), then those that people kept."""
    shipped = [PresetButton(name, title) for name, title in built_in.items()]
    return [*shipped, *(PresetButton(one.name, one.name, True) for one in settings_history.presets(kind))]


def said(value: Any) -> str:
    """A value in words."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(said, value)) or "–"
    return str(value)
