"""The visible text of elements inside and around forms."""

from __future__ import annotations

import re

from lxml.html import HtmlElement

_BLOCKS = {
    "p",
    "div",
    "li",
    "tr",
    "td",
    "th",
    "br",
    "h1",
    "h2",
    "h3",
    "h4",
    "fieldset",
    "legend",
    "label",
    "ul",
    "table",
    "dt",
    "dd",
}
_SPACES = re.compile(r"\s+")


def visible_text(element: HtmlElement) -> str:
    """Returns the text of an element with its images' alternative texts; scripts and the options of
    selects are left out."""
    parts: list[str] = []
    for node in element.iter():
        if not isinstance(node.tag, str) or node.tag in ("script", "style"):
            continue
        if node.tag == "option" and element.tag != "option":
            continue
        parts.append(node.text or "")
        if node.tag == "img":
            parts.append(node.get("alt") or "")
        if node is not element:
            parts.append(" " + (node.tail or "") if node.tag in _BLOCKS else node.tail or "")
    return squeezed("".join(parts))


def squeezed(text: str) -> str:
    """Returns a text with runs of white space as one space, and none at the ends."""
    return _SPACES.sub(" ", text).strip()
