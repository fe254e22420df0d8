"""Reads RSS and Atom feeds and sitemaps as lists of threads: one small response shows what is new
on a whole forum."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from itertools import islice
from urllib.parse import urljoin, urlsplit

from lxml import etree

from crawlmgr.text.dates import Moment
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.url import without_session
from forums.reading.apis.fields import moment, number, text
from forums.reading.model import PageKind, PageReading, ThreadRecord

MAX_ITEMS = 5_000  # read of a feed; the largest real ones have some hundred
_ITEMS = {"item", "entry"}
_WRITTEN = ("pubDate", "published", "issued")
_CHANGED = ("updated", "modified", "date", "lastBuildDate")


def read(body: bytes, url: str) -> PageReading | None:
    """Returns the threads of a feed or sitemap, in its order, as the reading of a list of threads;
    None if the body is neither or is empty. `url` is its own address.

    A feed hardly ever contains the whole list: the reading has no next page, and "feed" or
    "sitemap" as evidence; of a feed with more than 5,000 items the rest is "cut". `created` is the
    time at which an item was published, `last_reply` the time at which it was updated; a single
    time is taken as `created`. An item's first category is its board: the text is the board's
    name, the scheme or domain its address. A sitemap's `lastmod` is the last reply, and its titles
    are empty.
    """
    listed = parse_sitemap(body, url)
    if listed.kind == "urlset":
        threads = tuple(
            ThreadRecord(
                entry.url, "", last_reply=Moment(entry.lastmod, 1) if entry.lastmod else None
            )
            for entry in listed.entries
        )
        return PageReading(PageKind.threadlist, threads, evidence=("sitemap",)) if threads else None
    if listed.kind not in ("rss", "atom") or listed.truncated:
        return None
    try:
        root = etree.fromstring(
            body, etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        )
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None:
        return None
    threads = tuple(islice(_threads(root, url), MAX_ITEMS + 1))
    cut = ("cut",) if len(threads) > MAX_ITEMS else ()
    return (
        PageReading(
            PageKind.threadlist,
            threads[:MAX_ITEMS],
            complete=not cut,
            title=_title(root),
            evidence=("feed", *cut),
        )
        if threads
        else None
    )


def _local(element: etree._Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _title(root: etree._Element) -> str:
    return next((text(found.text) for found in root.iter() if _local(found) == "title"), "")


def _time(fields: dict[str, str], names: tuple[str, ...]) -> Moment | None:
    for name in names:
        told = fields.get(name, "")
        found = moment(told) if told else None
        if found is None and told:
            try:
                found = moment(parsedate_to_datetime(told).isoformat())
            except (TypeError, ValueError):
                continue
        if found:
            return found
    return None


def _board_url(scheme: str, url: str) -> str | None:
    """Returns `scheme`, the value of the attribute "scheme" (Atom) or "domain" (RSS) of an item's
    category, as an absolute address if it has the host of `url`, the feed's address, and is not its
    start page; otherwise None.
    """
    try:
        found = urlsplit(urljoin(url, scheme))
    except ValueError:
        return None
    own = found.netloc == urlsplit(url).netloc and found.scheme in ("http", "https")
    return found.geturl() if own and scheme and (found.path.strip("/") or found.query) else None


def _threads(root: etree._Element, url: str) -> Iterator[ThreadRecord]:
    for item in root.iter():
        if _local(item) not in _ITEMS:
            continue
        fields: dict[str, str] = {}
        for child in item:
            name, told = _local(child), " ".join("".join(child.itertext()).split())
            if name == "link":
                told = (
                    (child.get("href") or told)
                    if child.get("rel", "alternate") == "alternate"
                    else ""
                )
            elif name == "category":
                told = told or child.get("label") or child.get("term") or ""
                fields.setdefault("board", child.get("scheme") or child.get("domain") or "")
            elif name == "author":
                told = next((text(part.text) for part in child if _local(part) == "name"), told)
            if told:
                fields.setdefault(name, told)
        if not fields.get("link"):
            continue
        yield ThreadRecord(
            without_session(urljoin(url, fields["link"])),
            text(fields.get("title")),
            author=text(fields.get("creator")) or text(fields.get("author")) or None,
            replies=(
                number(fields.get("comments")) if fields.get("comments", "").isdecimal() else None
            ),
            created=_time(fields, _WRITTEN) or _time(fields, _CHANGED),
            last_reply=_time(fields, _CHANGED) if _time(fields, _WRITTEN) else None,
            board_url=_board_url(fields.get("board", ""), url),
            board_name=text(fields.get("category")) or None,
        )
