"""Overview pages of a single board: pages between the index and the board's list of threads, which
link to that list.

All boards of a site are built alike: the link has the same form below each board's address, so that
what is found for one board applies to all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from forums.discovery.pages import PageFacts
from forums.discovery.shapes import page_key, sends_or_asks
from forums.reading import PageKind, ThreadRecord

MAX_TRIED = 4  # largest number of links of one overview page that are tried in search of its list
_DIGITS = re.compile(r"\d")


def is_overview(page: PageFacts) -> bool:
    """Tells whether the page at a board's address may be an overview page that only links to the
    board's list of threads: it could be fetched, and was recognised as no kind of forum page."""
    return page.status < 400 and page.kind is PageKind.other


def onward(page: PageFacts) -> list[str]:
    """Returns the endings of the links to addresses below a page's own address: "threads" for a
    link to /board/7/threads on the page /board/7. Endings without digits come first. Links to
    forms, files and the like are left out.
    """
    own = page.key + "/"
    ends = [
        key.removeprefix(own)
        for link in page.links
        if (key := page_key(link.url)).startswith(own) and "?" not in key
    ]
    fit = [end for end in dict.fromkeys(ends) if end and not sends_or_asks(unquote(end))]
    return sorted(fit, key=lambda end: (bool(_DIGITS.search(end)), end.count("/")))


def behind(page: PageFacts, pages: Iterable[PageFacts]) -> PageFacts | None:
    """Returns the list of threads that an overview page links to, if it is in the sample; of
    several the one with a next page and most rows. None if there is none."""
    ends = set(onward(page))
    own = page.key + "/"
    lists = [
        other
        for other in pages
        if other.kind is PageKind.threadlist
        and other.asked_key.removeprefix(own) in ends
        and (other.reading.current or 1) == 1
        and any(isinstance(record, ThreadRecord) for record in other.reading.records)
    ]
    return max(
        lists,
        key=lambda other: (other.reading.next is not None, len(other.reading.records)),
        default=None,
    )


def wanted(overviews: Sequence[PageFacts], pages: Sequence[PageFacts]) -> Iterator[str]:
    """Yields the addresses to fetch in order to find the lists behind overview pages.

    If the sample has a list that an overview page links to, these are the links with the same
    ending (see `onward`) on all overview pages. Otherwise they are up to MAX_TRIED links of the
    overview page with most links, whose endings occur on more than half of the overview pages.

    overviews: overview pages of boards; pages: all pages of the sample.
    """
    if not overviews:
        return
    asked = {page.asked_key for page in pages}
    common = Counter(end for page in overviews for end in onward(page))
    found = [(page, list_) for page in overviews if (list_ := behind(page, pages)) is not None]
    if found:
        page, list_ = found[0]
        end = list_.asked_key.removeprefix(page.key + "/")
        yield from (_address(other, end) for other in overviews if end in onward(other))
        return
    first = max(overviews, key=lambda page: len(onward(page)))
    ends = [end for end in onward(first) if common[end] * 2 > len(overviews)]
    tried = [end for end in ends if f"{first.key}/{end}" in asked]
    if len(tried) < MAX_TRIED:
        yield from (_address(first, end) for end in ends[:MAX_TRIED] if end not in tried)


def _address(page: PageFacts, end: str) -> str:
    """Returns the full address of the link from `page` to the page's own path plus "/" and `end`;
    there must be one."""
    return next(link.url for link in page.links if page_key(link.url) == f"{page.key}/{end}")
