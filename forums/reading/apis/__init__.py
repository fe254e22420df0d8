"""Forums that give guests JSON or feeds: the address to request instead of a page, and the reading
of the response, in the same form as that of a page.

The frontier, the boards and the threads keep the addresses of pages; only the request goes
elsewhere. A caller gets the address for a page from `api_address`, fetches it and passes the body
to `read_api`. If the response is refused (403, 404, 429) or its reading is of kind `other`, the
caller fetches the page itself and does not use the API again in this visit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from forums.reading.apis import discourse, feeds, flarum, nodebb
from forums.reading.model import PageKind, PageReading

MAX_BYTES = 20_000_000
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_Address = Callable[[str, str, str], str | None]
_Read = Callable[[Mapping[str, Any], str], PageReading | None]
_ENGINES: dict[str, tuple[_Address, _Read]] = {
    "discourse": (discourse.address, discourse.read),
    "nodebb": (nodebb.address, nodebb.read),
    "flarum": (flarum.address, flarum.read),
}


def api_address(engine: str, url: str, root: str) -> str | None:
    """Returns the address of the JSON that corresponds to the page `url`; None if the forum
    software has none for it.

    `engine` and `root` come from the site's model: the name of the forum software and the address
    of the forum's front page. Each further page (`?page=3`) has a JSON address of its own; single
    posts, searches and profiles have none.

    >>> api_address("discourse", "https://a.org/t/some-title/12?page=2", "https://a.org/")
    'https://a.org/t/12.json?page=2'
    """
    if engine not in _ENGINES:
        return None
    try:
        parts = urlsplit(url)
        found = _ENGINES[engine][0](parts.path or "/", parts.query, urlsplit(root).path or "/")
    except ValueError:
        return None
    if found is None:
        return None
    path, _, query = found.partition("?")
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))


def read_api(body: str | bytes, url: str) -> PageReading:
    """Returns the reading of a response fetched from `url` (the address of the API or feed, not of
    the page), in the form of `read_page`'s result.

    Addresses in the reading (records, `next`, `pages`, `last`, `board_url`) are those of pages, so
    that API and page give the same keys; to continue through the API, pass `next` to `api_address`.
    An unknown body (an error message, an HTML page, damaged or more than 20 MB) gives kind `other`
    with the evidence "no_api". Never raises.
    """
    if len(body) > MAX_BYTES:
        return PageReading(PageKind.other, evidence=("no_api", "too_large"))
    if body[:200].lstrip()[:1] in ("<", b"<"):
        fed = feeds.read(
            _XML_DECLARATION.sub("", body).encode() if isinstance(body, str) else body, url
        )
        return fed or PageReading(PageKind.other, evidence=("no_api",))
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return PageReading(PageKind.other, evidence=("no_api",))
    if isinstance(answer, dict):
        for engine, (_, read) in _ENGINES.items():
            reading = read(answer, url)
            if reading is not None:
                return replace(reading, engine=engine, confidence=1.0, evidence=("api",))
    return PageReading(PageKind.other, evidence=("no_api",))
