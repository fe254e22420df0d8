"""A cheap select widget for hundreds of options: rendering a template for each option would make up most of the page."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from django.forms import Select
from django.forms.utils import flatatt
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe


class LongSelect(Select):
    """A select without option groups and without attributes on single options."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        chosen = set(self.format_value(value))
        options = mark_safe("".join(_option(str(code), str(text), chosen) for code, text in self.choices))  # noqa: S308 - escaped there
        return format_html("<select{}>{}</select>", flatatt({"name": name, **self.build_attrs(self.attrs, attrs)}), options)


def _option(code: str, text: str, chosen: Container[str]) -> str:
    return f'<option value="{escape(code)}"{" selected" if code in chosen else ""}>{escape(text)}</option>'
