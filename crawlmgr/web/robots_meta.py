"""Reads a page's own robots directives: `<meta name=robots>` and the X-Robots-Tag header."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.html import scan

_VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """A page's robots directives: `noindex` (do not use it as a result), `nofollow` (do not follow
    its links), `noarchive` (keep no copy)."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def header_words(lines: Iterable[str], product: str) -> frozenset[str]:
    """Returns the lower-case words of X-Robots-Tag header lines that apply to all robots or to the
    robot `product`; a line may begin with the name of one robot.

    >>> sorted(header_words(["noindex, noarchive", "otherbot: nofollow", "CrawlMgr: none"], \
"crawlmgr"))
    ['noarchive', 'noindex', 'none']
    """
    words: set[str] = set()
    for line in lines:
        name, colon, rest = line.partition(":")
        if colon and "," not in name and name.strip().lower() not in _VALUED:
            if name.strip().lower() != product.lower():
                continue
            line = rest
        words.update(word for word in re.split(r"[\s,]+", line.lower()) if word)
    return frozenset(words)


def directives(response: FetchResponse, product: str) -> PageDirectives:
    """Returns the robots directives of a response, from its header and, for HTML, its meta tags;
    `none` means noindex and nofollow. `product` is the crawler's product name."""
    words = header_words(
        (value for name, value in response.headers if name.lower() == "x-robots-tag"), product
    )
    if "html" in response.content_type.lower() or not response.content_type:
        words |= scan(response.text, response.url).robots_meta
    none = "none" in words
    return PageDirectives(
        none or "noindex" in words, none or "nofollow" in words, "noarchive" in words
    )
