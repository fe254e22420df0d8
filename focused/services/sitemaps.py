"""Sitemaps of the seeds' hosts. If the run's options ask for it, they are requested after the first
page of a host, and the addresses that they list become candidates of the crawl. The addresses taken
are stored with the run's steps, so that processing the stored steps again yields the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Url
from crawlmgr.web import robots
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.url import UrlError, canonical, host_key
from focused import loop
from focused.services import pages
from focused.services.sessions import Session

WHOLE, PART = "sitemap", "sitemap-part"
KINDS = (WHOLE, PART)
TYPES = ("application/x-gzip", "application/gzip", "application/octet-stream")
"""Media types with which servers send compressed sitemaps; no page has them."""
MAX_SITEMAPS = (
    2  # maximum number of sitemaps of a host that are requested; its robots.txt may name more
)
MAX_PARTS = (
    3  # maximum number of sitemaps requested from a sitemap index: the most recently changed ones
)
MAX_ADDRESSES = (
    500  # maximum number of addresses taken from one sitemap, those with the most relevant words
)
FIRST = 1e6  # priority of requests for sitemaps, above that of pages
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Listing:
    """The contents of a sitemap: addresses of pages or, for a sitemap index, of further sitemaps,
    the last changed first."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


def wanted(session: Session, item: Url) -> list[NewUrl]:
    """Returns the sitemaps that the robots.txt of a host names, as links to request. Called after
    each page of the host; only the first call returns any. [] if the run's options ask for no
    sitemaps, the host has no seed, or its robots.txt was not read.
    """
    if not session.options.sitemaps:
        return []
    key = host_key(item.url)
    if key in session.listed or key not in {host_key(url) for url in session.topic.seeds}:
        return []
    session.listed.add(key)
    host = item.host
    host.refresh_from_db(
        fields=["robots_text", "robots_verdict", "robots_fetched_at", "robots_expires_at"]
    )
    if host.robots_fetched_at is None or host.robots_expires_at is None:
        return []
    rules = robots.RobotsRules(
        host.robots_text, host.robots_verdict, host.robots_fetched_at, host.robots_expires_at
    )
    return _links(_of_host(rules.sitemaps, key), MAX_SITEMAPS, WHOLE)


def read(response: FetchResponse) -> Listing:
    """Reads the response to a request for a sitemap. Returns an empty Listing if it is not a
    sitemap."""
    found = parse_sitemap(response.body, response.url)
    if found.kind == "index":
        newest = sorted(found.entries, key=lambda entry: entry.lastmod or _LONG_AGO, reverse=True)
        return Listing(sitemaps=tuple(entry.url for entry in newest))
    return Listing(
        tuple(entry.url for entry in found.entries) if found.kind in ("urlset", "text") else ()
    )


def store(session: Session, item: Url, listing: Listing, now: datetime) -> list[NewUrl]:
    """Stores the contents of a sitemap, `listing`: queues those of its addresses that the scope
    allows and whose words are most similar to the topic; returns the further sitemaps that it names
    as links to request."""
    key, refused, allowed = host_key(item.url), Counter[str](), []
    for url in dict.fromkeys(_of_host(listing.pages, key)):
        reason = session.scope.refusal(url, 1)
        if reason:
            refused[reason] += 1
        else:
            allowed.append(url)
    session.row.refused = dict(Counter(session.row.refused) + refused)
    if allowed:
        found = loop.best_listed(session.walk, session.parser, allowed, MAX_ADDRESSES)
        pages.edited(session, {"listed": {"url": item.url, "addresses": found}}, now)
    return _links(_of_host(listing.sitemaps, key), MAX_PARTS, PART) if item.kind == WHOLE else []


def _of_host(urls: Sequence[str], key: str) -> Iterator[str]:
    """Yields those of the addresses that are on the host `key`, in canonical form; a sitemap may
    only list addresses of its own host.
    """
    for given in urls:
        try:
            url = canonical(given)
        except UrlError:
            continue
        if host_key(url) == key:
            yield url


def _links(urls: Iterator[str], most: int, kind: str) -> list[NewUrl]:
    return [
        NewUrl(url, kind, priority=FIRST)
        for url, _ in zip(dict.fromkeys(urls), range(most), strict=False)
    ]
