"""Parts of forms: the base class for lists and forms made by Django's admin, widgets that are cheap
for hundreds of options, presets as buttons, and the history of settings with a button that undoes
the newest change."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import CharField, Select, TextInput
from django.forms.utils import flatatt
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from crawlmgr.models import SettingsChange
from crawlmgr.upkeep import settings_history


class LongSelect(Select):
    """A select element without option groups and without attributes on single options."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        chosen = set(self.format_value(value))
        options = mark_safe(  # noqa: S308
            "".join(_option(str(code), str(text), chosen) for code, text in self.choices)
        )
        return format_html(
            "<select{}>{}</select>",
            flatatt({"name": name, **self.build_attrs(self.attrs, attrs)}),
            options,
        )


def _option(code: str, text: str, chosen: Container[str]) -> str:
    return (
        "<option"
        f' value="{escape(code)}"{" selected" if code in chosen else ""}>{escape(text)}</option>'
    )


class SearchInput(TextInput):
    """A text input that suggests names while the user types."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self.names: Sequence[str] = ()

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        found = f"{name}-names"
        shown = super().render(
            name, value, {**(attrs or {}), "list": found, "autocomplete": "off"}, renderer
        )
        options = format_html_join("", '<option value="{}">', ((text,) for text in self.names))
        return format_html('{}<datalist id="{}">{}</datalist>', shown, found, options)


class NamedField(CharField):
    """A form field for an object that is chosen by its name ("Riverside #3") or its id. The cleaned
    value is the id; None if left empty."""

    widget = SearchInput

    def offer(self, rows: Sequence[tuple[int, str]]) -> None:
        """Sets the objects that can be chosen: (id, name) pairs."""
        self.texts = {pk: f"{name} #{pk}" for pk, name in rows}
        self.widget.names = tuple(self.texts.values())

    texts: dict[int, str] = {}

    def prepare_value(self, value: Any) -> Any:
        return (
            self.texts.get(int(value), value)
            if str(value or "").isascii() and str(value or "").isdigit()
            else value
        )

    def clean(self, value: Any) -> int | None:
        text = str(super().clean(value)).strip()
        if not text:
            return None
        digits = text.rpartition("#")[2] if text in self.texts.values() else text
        if digits.isascii() and digits.isdigit() and len(digits) < 19:
            return int(digits)
        like = [pk for pk, one in self.texts.items() if text.casefold() in one.casefold()]
        if len(like) == 1:
            return like[0]
        raise ValidationError(
            _("Several names contain this text; choose one.")
            if like
            else _("Nothing has this name.")
        )


class DeskModelAdmin(ModelAdmin):
    """A ModelAdmin whose pages have the same heading as all other pages: breadcrumb, then title."""

    list_fullwidth = True
    show_full_result_count = False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "trail": [],
            "title": capfirst(self.opts.verbose_name_plural),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return super().changeform_view(
            request, object_id, form_url, {"trail": self._trail(), **(extra_context or {})}
        )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().delete_view(
            request, object_id, {"trail": self._trail(), **(extra_context or {})}
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().history_view(
            request, object_id, {"trail": self._trail(), **(extra_context or {})}
        )

    def _trail(self) -> list[tuple[str, str]]:
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        return [(capfirst(self.opts.verbose_name_plural), address)]


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
                    name(one.path, change.before if one.new is None else change.after),
                    displayed(value(one.path, one.old)),
                    displayed(value(one.path, one.new)),
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
