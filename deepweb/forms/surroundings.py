"""The surroundings of a form on its page: the heading above it, and the ids and classes of the
elements around it."""

from __future__ import annotations

import re
from itertools import islice

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


MAX_LETTERS = 120


PARENTS = 3


_HEADINGS = ("h1", "h2", "h3", "h4", "legend")


def headings_above(root: HtmlElement) -> list[str]:
    """Returns for each form of a page the nearest heading before it that is outside all forms, with
    no other form in between; "" if there is none."""
    inside = {heading for form in root.iter("form") for heading in form.iter(*_HEADINGS)}
    found: list[str] = []
    heading = ""
    for element in root.iter("form", *_HEADINGS):
        if element.tag == "form":
            found.append(heading)
            heading = ""
        elif element not in inside:
            heading = squeezed(visible_text(element))[:MAX_LETTERS]
    return found


def around_of(element: HtmlElement) -> str:
    """Returns the ids and classes of an element's three nearest ancestors, as one string."""
    names = (
        f"{parent.get('id') or ''} {parent.get('class') or ''}"
        for parent in islice(element.iterancestors(), PARENTS)
    )
    return squeezed(" ".join(names))[:200]
