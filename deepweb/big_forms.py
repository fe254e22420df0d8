"""Pages that consist of one big form, as ASP.NET makes them: splits the form into parts, each an
element with a button and something to fill in."""

from __future__ import annotations

from lxml.html import HtmlElement

_NOT_FILLED = frozenset(("hidden", "submit", "image", "button", "reset"))


def parts_of(form: HtmlElement) -> list[HtmlElement]:
    """Returns the parts of a form of ASP.NET: for each button, the smallest element around it that
    contains something to fill in. Empty for other forms, if there are fewer than two parts, if a
    part is the whole form, or if one contains another.
    """
    if not any(
        (control.get("name") or "").startswith("__VIEWSTATE") for control in form.iter("input")
    ):
        return []
    parts: dict[HtmlElement, None] = {}
    for button in form.iter("input", "button"):
        if (button.get("type") or "submit").lower() not in ("submit", "image"):
            continue
        around = next((p for p in button.iterancestors() if p is form or _fillable(p)), form)
        if around is form:
            return []
        parts[around] = None
    nested = any(above in parts for part in parts for above in part.iterancestors())
    return list(parts) if len(parts) > 1 and not nested else []


def _fillable(element: HtmlElement) -> bool:
    typed = (control for control in element.iter("input", "select", "textarea"))
    return any((c.get("type") or "text").lower() not in _NOT_FILLED for c in typed)
