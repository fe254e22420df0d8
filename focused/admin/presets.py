"""Presets of a strategy's parameters on the form of a run: applying, saving under a name,
deleting."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from crawlmgr.admin import settings_history as control
from crawlmgr.services import settings_history
from focused.admin import titles
from focused.services import tuning

BUTTONS = ("preset", "keep_preset", "drop_preset")


def buttons(strategy: str) -> list[control.PresetButton]:
    """Returns the buttons for a strategy's presets: built-in ones, then those saved by users."""
    return control.buttons(
        tuning.preset_kind(strategy),
        {name: titles.preset(name) for name in tuning.built_in(strategy)},
    )


def wanted(request: HttpRequest) -> bool:
    """Tells whether the form was submitted by one of the buttons for presets."""
    return any(name in request.POST for name in BUTTONS)


def carry_out(
    request: HttpRequest, strategy: str, values: dict[str, Any], wrong: Mapping[str, str]
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Applies, saves or deletes a preset of the parameters, depending on the button that was
    pressed, and shows a message. `values` and `wrong` are the submitted parameter values and the
    error messages by name. Returns the values and messages to show in the form: those of an applied
    preset, otherwise the submitted ones."""
    kind = tuning.preset_kind(strategy)
    if "preset" in request.POST:
        found = tuning.preset(strategy, request.POST["preset"])
        if found is None:
            messages.error(request, _("There is no such preset."))
            return values, wrong
        return found, {}
    if "drop_preset" in request.POST:
        if settings_history.drop_preset(kind, request.POST["drop_preset"]):
            messages.success(request, _("The preset is removed."))
    elif not wrong:
        try:
            kept = settings_history.keep_preset(
                kind,
                request.POST.get("preset_name", ""),
                values,
                now=datetime.now(UTC),
                user=request.user,
            )
            messages.success(
                request, _("The values are saved as the preset %(name)s.") % {"name": kept.name}
            )
        except ValueError as error:
            messages.error(request, str(error))
    return values, wrong
