"""robots.txt under the rules of RFC 9309, matched by the library protego, and a page's own
directives: `<meta name=robots>` and the X-Robots-Tag header. Opens no socket."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from urllib.parse import urlsplit

from protego import Protego

from crawlmgr.web.http.exchange import Failure, FetchResponse
from crawlmgr.web.pages.html import scan
from crawlmgr.web.url import origin

MAX_BYTES = 500 * 1024
LONGEST_CACHE = timedelta(hours=24)
SHORTEST_CACHE = timedelta(minutes=5)
DENIED_CACHE = timedelta(minutes=10)


@dataclass(frozen=True)
class RobotsRules:
    """What the robots.txt of a host allows to the crawler with the product token `agent`.

    `verdict` is "rules" (the file's contents, in `text`, decide), "allow" (everything: there is no
    such file), or "deny" (nothing for now: the server failed or was unreachable). The rules are
    used until `expires_at`.
    """

    text: str | None
    verdict: str
    fetched_at: datetime
    expires_at: datetime
    agent: str = "crawlmgr"

    @cached_property
    def _parsed(self) -> Protego:
        return Protego.parse(self.text or "")

    def allowed(self, url: str) -> bool:
        """Tells whether an address of the host may be fetched; robots.txt itself always may."""
        if urlsplit(url).path == "/robots.txt":
            return True
        if self.verdict != "rules":
            return self.verdict == "allow"
        return bool(self._parsed.can_fetch(url, self.agent))

    @property
    def crawl_delay(self) -> float | None:
        """The Crawl-delay in seconds for `agent`; None if it is absent or not between 0 and
        86,400."""
        if self.verdict != "rules":
            return None
        delay = self._parsed.crawl_delay(self.agent)
        return float(delay) if delay is not None and 0 <= float(delay) < 86400 else None

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Addresses of the sitemaps that the file names."""
        return tuple(self._parsed.sitemaps) if self.verdict == "rules" else ()


def robots_url(url: str) -> str:
    """Returns the address of the robots.txt that applies to a URL.

    >>> robots_url("https://example.org:8443/a/b?c=1")
    'https://example.org:8443/robots.txt'
    """
    return f"{origin(url)}/robots.txt"


def product_token(user_agent: str) -> str:
    """Returns the product name in a User-Agent header, without version and comments; groups of
    rules in robots.txt are matched with it."""
    return user_agent.split("/", 1)[0].split(" ", 1)[0].strip()


def from_response(response: FetchResponse, now: datetime, agent: str = "crawlmgr") -> RobotsRules:
    """Returns the rules from the response to a request for robots.txt, for which up to five
    redirects were followed.

    2xx: the first 500 KiB are the rules. 4xx, or more than five redirects: everything is allowed.
    5xx, 429, or no complete response: nothing is allowed for now. The rules are valid for max-age
    in Cache-Control, limited to between five minutes and 24 hours (default 24 hours); after a
    denial, robots.txt is requested again after ten minutes.
    """
    partial = response.failure is Failure.too_large and bool(response.body)
    if 200 <= response.status < 300 and (response.failure is None or partial):
        text = response.body[:MAX_BYTES].decode("utf-8-sig", "replace")
        return RobotsRules(text, "rules", now, now + _lifetime(response), agent)
    if response.failure in (Failure.too_many_redirects, Failure.redirect_loop):
        # not reached within five redirects: RFC 9309 treats the file as absent
        return RobotsRules(None, "allow", now, now + _lifetime(response), agent)
    if 400 <= response.status < 500 and response.status != 429 and response.failure is None:
        return RobotsRules(None, "allow", now, now + _lifetime(response), agent)
    return RobotsRules(None, "deny", now, now + DENIED_CACHE, agent)


def _lifetime(response: FetchResponse) -> timedelta:
    """Returns how long the rules are valid: max-age in Cache-Control, between five minutes and 24
    hours; 24 hours without it."""
    for part in (response.header("cache-control") or "").lower().split(","):
        name, _, value = part.strip().partition("=")
        if name == "max-age" and value.strip('"').isdigit():
            return min(
                max(timedelta(seconds=int(value.strip('"')[:9])), SHORTEST_CACHE), LONGEST_CACHE
            )
    return LONGEST_CACHE


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
