"""A select with hundreds of options that costs little: one template for each would be most of its page."""

from __future__ import annotations

from typing import Any

from django.forms import Select
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe


class LongSelect(Select):
    """Without groups and without attributes of single options."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        chosen = set(self.format_value(value))
        mark = {True: mark_safe(" selected"), False: ""}  # noqa: S308 - a fixed word
        pairs = ((str(code), text) for code, text in self.choices)
        cells = ((code, mark[code in chosen], text) for code, text in pairs)
        options = format_html_join("", '<option value="{}"{}>{}</option>', cells)
        return format_html("<select{}>{}</select>", flatatt({"name": name, **self.build_attrs(self.attrs, attrs)}), options)
