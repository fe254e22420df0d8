"""Form widgets that are cheap for hundreds of options: Django would render a template for each
option, which takes longer than the rest of the page."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import CharField, Select, TextInput
from django.forms.utils import flatatt
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _


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
