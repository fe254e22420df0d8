"""Learns the shapes of links on a site's lists of threads: address pattern and surrounding markup,
of thread titles and of other links separately. By these, even a list with a single thread is
recognised, and menu links on a page without threads are not taken for threads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from lxml.html import HtmlElement

from forums.reading.document import Link, Page
from forums.reading.model import Shapes
from forums.reading.rowgroups import loose_pattern

_LEVELS = 4
_NUMBERED = re.compile(r"\d")
_MOSTLY = 0.8


def markup_shape(element: HtmlElement) -> str:
    """Returns tag, class names and id of an element and of its three nearest ancestors; names with
    digits are left out. "" if no name is left, because unrelated elements would have the same
    shape.

    >>> from lxml.html import fromstring
    >>> page = fromstring('<ul id="list"><li class="topic row2"><h3><a>Hello</a></h3></li></ul>')
    >>> markup_shape(page.find(".//a"))
    'a<h3<li.topic<ul#list'
    """
    parts: list[str] = []
    node: HtmlElement | None = element
    while node is not None and len(parts) < _LEVELS:
        names = sorted(
            name for name in (node.get("class") or "").split() if not _NUMBERED.search(name)
        )
        own = node.get("id") or ""
        named = "#" + own if own and not _NUMBERED.search(own) else ""
        parts.append(str(node.tag) + named + "".join("." + name for name in names))
        node = node.getparent()
    return "<".join(parts) if any("." in part or "#" in part for part in parts) else ""


def title_shape(page: Page, link: Link) -> str:
    """Returns the shape of a link: the form of its address and its `markup_shape`; "" if the latter
    is empty."""
    shape = markup_shape(page.outline.elements[link.node])
    return f"{loose_pattern(link.pattern)} {shape}" if shape else ""


def shapes_of(page: Page, titles: Iterable[Link]) -> Shapes:
    """Returns the link shapes of a page (see `title_shape`). `titles`: the shapes of thread titles,
    except those that other links have too (more than one such link per four titles). `others`: the
    shapes that only other links have.
    """
    titles = list(titles)
    keys = {link.key for link in titles}
    own: dict[str, set[str]] = defaultdict(set)
    for link in titles:
        own[title_shape(page, link)].add(link.key)
    alike: dict[str, set[str]] = defaultdict(set)
    for link in page.links:
        if link.key not in keys:
            alike[title_shape(page, link)].add(link.key)
    few = 1 / _MOSTLY - 1
    titled = frozenset(
        shape for shape, named in own.items() if len(alike.get(shape, ())) <= few * len(named)
    )
    return Shapes(titled - {""}, frozenset(alike.keys() - own.keys() - {""}))
