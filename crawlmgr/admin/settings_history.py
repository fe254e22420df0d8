"""Presets as buttons, the history of settings changes in words, and a button that undoes the newest
change.

An admin view puts `lines(...)` into its template values and includes `desk/settings_history.html`.
Its form includes `desk/settings_presets.html` with `presets`; the buttons send `preset` (apply it),
`keep_preset` with `preset_name` (save the values), or `drop_preset` (delete it)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crawlmgr.models import SettingsChange
from crawlmgr.upkeep import settings_history

Name = Callable[[tuple[str, ...], Mapping[str, Any]], str]
"""Function that returns a setting's name from its path in the settings and all values around it."""
Value = Callable[[tuple[str, ...], Any], Any]
"""Function that returns the display form of a setting's value."""


@dataclass(frozen=True, slots=True)
class Line:
    """One change of the settings: `parts` are (name, old value, new value) as texts; `last` is True
    for the change that can be undone."""

    change: SettingsChange
    parts: Sequence[tuple[str, str, str]]
    last: bool


@dataclass(frozen=True, slots=True)
class PresetButton:
    """A named set of values that a button applies; an `own` one was saved by a user and can be
    deleted."""

    name: str
    title: str
    own: bool = False


def lines(
    kind: str, target: int, name: Name, limit: int = 10, *, value: Value = lambda _way, value: value
) -> list[Line]:
    """Returns the newest changes of the settings of item `target` for display, newest first, at
    most `limit`. `name` returns the name of a setting, given its path and all values after the
    change (those before it if the change removed the setting); `value` returns what is shown for
    its value, given path and value."""
    newest = settings_history.last(kind, target)
    return [
        Line(
            change,
            [
                (
                    name(one.way, change.before if one.new is None else change.after),
                    displayed(value(one.way, one.old)),
                    displayed(value(one.way, one.new)),
                )
                for one in settings_history.differences(change.before, change.after)
            ],
            newest is not None and change.pk == newest.pk,
        )
        for change in settings_history.history(kind, target, limit)
    ]


def buttons(kind: str, built_in: Mapping[str, str]) -> list[PresetButton]:
    """Returns buttons for the built-in presets (name to title), then for those that users saved."""
    shipped = [PresetButton(name, title) for name, title in built_in.items()]
    return [
        *shipped,
        *(PresetButton(one.name, one.name, True) for one in settings_history.presets(kind)),
    ]


def displayed(value: Any) -> str:
    """Formats a settings value for display."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(displayed, value)) or "–"
    return str(value)
