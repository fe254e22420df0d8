"""How the titles of a list are marked up and addressed, so that a site's rows are recognised on a page with only one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml.html import HtmlElement

from forums.reading.document import Link, Page
from forums.reading.rowgroups import family

_LEVELS = 4
_NUMBERED = re.compile(r"\d")
_MOSTLY = 0.8


def markup_shape(element: HtmlElement) -> str:
    """Tag, class names and id of an element and of the three around it, names with digits left out. "" if there is no such name,
    since unrelated elements would have the same shape.

    >>> from lxml.html import fromstring
    >>> page = fromstring('<ul id="list"><li class="topic row2"><h3><a>Hello</a></h3></li></ul>')
    >>> markup_shape(page.find(".//a"))
    'a<h3<li.topic<ul#list'
    """
    parts: list[str] = []
    node: HtmlElement | None = element
    while node is not None and len(parts) < _LEVELS:
        names = sorted(name for name in (node.get("class") or "").split() if not _NUMBERED.search(name))
        own = node.get("id") or ""
        named = "#" + own if own and not _NUMBERED.search(own) else ""
        parts.append(str(node.tag) + named + "".join("." + name for name in names))
        node = node.getparent()
    return "<".join(parts) if any("." in part or "#" in part for part in parts) else ""


def title_shape(page: Page, link: Link) -> str:
    """The shape of a link: the pattern of its address and that of its markup; "" if its markup has none."""
    shape = markup_shape(page.outline.elements[link.node])
    return f"{family(link.pattern)} {shape}" if shape else ""


def title_shapes(page: Page, titles: Iterable[Link]) -> frozenset[str]:
    """The shapes of a list's titles that hardly any other link of the page has."""
    titles = list(titles)
    own: dict[str, set[str]] = {}
    for link in titles:
        own.setdefault(title_shape(page, link), set()).add(link.key)
    own.pop("", None)
    families = {family(link.pattern) for link in titles}
    addressed = {pattern for pattern in {link.pattern for link in page.links} if family(pattern) in families}
    alike: dict[str, set[str]] = {}
    for link in page.links:
        if link.pattern in addressed:  # the others cannot have the shape of a title
            alike.setdefault(title_shape(page, link), set()).add(link.key)
    return frozenset(shape for shape, keys in own.items() if len(keys) >= _MOSTLY * len(alike.get(shape, keys)))
