"""The links of a page that flip to its other pages: next, all, last."""

from __future__ import annotations

from typing import NamedTuple

from lxml.html import HtmlElement


class PageLinks(NamedTuple):
    """Absolute addresses of the other pages of the list or thread that a page is one of, and its own number."""

    next: str | None = None
    pages: tuple[str, ...] = ()
    last: str | None = None
    current: int | None = None


def find_pages(root: HtmlElement, url: str) -> PageLinks:
    """The pager of the page at `url`; empty where there is none."""
    return PageLinks()
