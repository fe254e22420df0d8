"""Addresses of possible overview sources other than pages: feeds that the front pages link, and
JSON lists of known forum software.

Which boards such a source shows, if any, is known only after its first reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urljoin

from forums.discovery.candidates import all_boards
from forums.discovery.model import SourceFound
from forums.discovery.pages import PageFacts
from forums.discovery.shapes import host, page_key
from forums.reading import PageKind
from forums.reading.apis import api_address

FEED, API = "feed", "api"
MAX_FEEDS = 3
# for each forum software, the paths of two pages whose JSON guests may read: the boards, the
# threads of all boards
_LISTS = {
    "discourse": ("categories", "latest"),
    "nodebb": ("categories", "recent"),
    "flarum": ("tags", "all"),
}


def candidates(pages: Iterable[PageFacts], root: str, engine: str) -> tuple[SourceFound, ...]:
    """Returns up to MAX_FEEDS feeds linked by the root page or by pages that show several boards,
    those of the root page first, and the JSON lists of the forum software `engine`.

    A feed linked by the page of one board is left out, because it covers that board only, and so is
    any feed on another host.
    """
    fronts = [
        page
        for page in pages
        if page.kind is PageKind.index or all_boards(page) or page.key == page_key(root)
    ]
    fronts.sort(key=lambda page: page.key != page_key(root))
    feeds = {
        page_key(url): url
        for page in reversed(fronts)
        for url in reversed(page.feeds)
        if host(url) == host(root)
    }
    found = [SourceFound(url, FEED) for url in list(feeds.values())[::-1][:MAX_FEEDS]]
    return (*found, *(SourceFound(url, API) for url in _lists(root, engine)))


def _lists(root: str, engine: str) -> Iterator[str]:
    top = root if root.endswith("/") else root + "/"
    for name in _LISTS.get(engine, ()):
        address = api_address(engine, urljoin(top, name), root)
        if address is not None:
            yield address
