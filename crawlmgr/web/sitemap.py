"""Reads sitemaps, sitemap indexes, RSS, Atom and plain lists of addresses, in bounded time and
memory. Opens no socket."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from lxml import etree

from crawlmgr.web.encoding import decode
from crawlmgr.web.http.exchange import InflateError, inflate, packed_as
from crawlmgr.web.url import Resolver

# at most this many bytes are read, after decompression; the limit of the sitemap protocol, like
# MAX_ENTRIES
MAX_BYTES = 52_428_800
MAX_ENTRIES = 50_000
_MAX_FIELD_CHARS = 2_048
MAX_TITLE_CHARS = 500
_KINDS = {"urlset": "urlset", "sitemapindex": "index", "rss": "rss", "rdf": "rss", "feed": "atom"}
_ITEMS = {"url": "urlset", "sitemap": "index", "item": "rss", "entry": "atom"}
_DATES = {"lastmod", "pubdate", "updated", "published", "date"}
_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)(?!\0)")
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}\?>\s*<|<(?:[\w-]+:)?(?:urlset|sitemapindex)\b")
_LEAD_BYTES = 4_096
"""Bytes in which the beginning of an XML document is searched for."""
_W3C = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """An address that a sitemap or feed lists, the time of its last change (None if the file gives
    none), and its title, which only feeds give."""

    url: str
    lastmod: datetime | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The contents of a sitemap or feed. `kind` is "urlset", "index" (its entries are sitemaps),
    "rss", "atom", "text" or "unknown"; `truncated` is True if reading ended early, at a limit or at
    damage."""

    kind: str
    entries: tuple[SitemapEntry, ...] = ()
    truncated: bool = False


_LAYERS = 2  # times that a file may be compressed: in itself, and once more by a careless server
_CONTROLS = bytes(set(range(32)) - {9, 10, 13})
_ENCODED = re.compile(rb"<\?xml\b[^>]*\bencoding\s*=\s*[\"'](?!utf-?8)", re.IGNORECASE)


def parse_sitemap(body: bytes, url: str) -> Sitemap:
    """Parses the body of a sitemap or feed that was fetched from `url`, compressed or not; never
    raises for its contents.

    Entries are distinct absolute http(s) addresses, at most 50,000 from at most 50 MiB. XML
    documents that declare their own entities are not read: sitemaps need none, and XML bombs
    consist of them.
    """
    truncated = False
    for _ in range(_LAYERS):
        if not (coding := packed_as(body)):
            break
        try:
            body = inflate(body, coding, MAX_BYTES)
        except InflateError as error:
            body, truncated = error.partial, True
    if len(body) > MAX_BYTES:
        body, truncated = body[:MAX_BYTES], True
    start = body.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0")[:1]
    if start == b"<" or _DECLARED.search(body[:_LEAD_BYTES]):
        return _from_xml(body, url, truncated)
    return (
        _collect("text", ((line, "", "") for line in decode(body)[0].splitlines()), url, truncated)
        if start
        else Sitemap("unknown")
    )


def _from_xml(body: bytes, url: str, truncated: bool) -> Sitemap:
    """Parses an XML sitemap or feed. `truncated`: `body` is already truncated."""
    if (
        b"<!ENTITY" in body
        or b"<\0!\0E\0N\0T\0I\0T\0Y\0" in body
        or b"\0<\0!\0E\0N\0T\0I\0T\0Y" in body
    ):
        return Sitemap("unknown", truncated=True)
    # Servers put blank lines, notices or markup of their own before the declaration.
    declared = body.find(b"<?xml")
    body = body[declared:] if declared > 0 else body
    body = _readable(body)
    # An unescaped & is common in practice, and the parser would cut the address there.
    body = _BARE_AMPERSAND.sub(b"&amp;", body)
    reader = etree.iterparse(
        io.BytesIO(body),
        events=("start", "end"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )
    try:
        kind = _KINDS.get(_local(next(reader)[1]), "unknown")
        return (
            _collect(kind, _items(reader, kind), url, truncated)
            if kind != "unknown"
            else Sitemap(kind)
        )
    except (etree.XMLSyntaxError, StopIteration):
        return Sitemap("unknown", truncated=True)


def _readable(body: bytes) -> bytes:
    """Returns an XML file without control characters and, if its bytes are not in the encoding that
    it declares (UTF-8 where it declares none), in UTF-8."""
    if b"\0" in body[:_LEAD_BYTES]:
        return body  # UTF-16
    body = body.translate(None, _CONTROLS)
    if body.isascii() or _ENCODED.search(body[:_LEAD_BYTES]):
        return body
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        end = body.find(b"?>") + 2 if body.startswith(b"<?xml") else 0
        return decode(body[end:])[0].encode()
    return body


def _local(element: etree._Element) -> str:
    """Returns an element's name in lower case, without its namespace; "" for comments and
    processing instructions."""
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _items(reader: etree.iterparse, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yields (address, date text, title) of each item of a file of this `kind` (see `Sitemap`);
    elements are freed after reading, so that memory does not grow with the file."""
    for event, element in reader:
        name, parent = _local(element), element.getparent()
        # some files list addresses without an element around each
        bare = name == "loc" and parent is not None and parent.getparent() is None
        if event != "end" or not (bare or _ITEMS.get(name) == kind):
            continue
        yield ((element.text or "").strip(), "", "") if bare else _fields(element, kind)
        element.clear()
        while parent is not None and element.getprevious() is not None:
            del parent[0]


def _fields(item: etree._Element, kind: str) -> tuple[str, str, str]:
    """Returns (address, date text, title) of an item of a sitemap, RSS or Atom file, each "" if
    missing. A permalink in `guid` replaces a missing address."""
    address = permalink = date = title = ""
    for child in item:
        name = _local(child)
        text = (child.text or "").strip()
        if name == "loc" or (name == "link" and kind == "rss"):
            address = address or text
        elif (
            name == "link"
        ):  # Atom: only the link to the page itself, not those to its comments or enclosures
            if child.get("rel", "alternate") == "alternate":
                address = address or child.get("href", "")
        elif name == "guid" and child.get("isPermaLink", "true") != "false":
            permalink = text
        elif name in _DATES and (not date or name in ("lastmod", "updated")):
            date = text
        elif name == "title" and not title:
            title = " ".join("".join(child.itertext()).split())[:MAX_TITLE_CHARS]
    return address or permalink, date, title


def _collect(
    kind: str, items: Iterator[tuple[str, str, str]], url: str, truncated: bool
) -> Sitemap:
    """Makes a Sitemap from `items`, (address, date text, title), without duplicates; addresses are
    resolved against `url`. If an XML file is damaged, the entries before the damage are kept.
    `kind` and `truncated` (the input is truncated): as in `Sitemap`.
    """
    resolver = Resolver(url)
    found: dict[str, SitemapEntry] = {}
    try:
        for address, date, title in items:
            if not address.strip() or len(address) > _MAX_FIELD_CHARS:
                continue
            if kind == "text" and not address.lstrip().lower().startswith(("http://", "https://")):
                continue
            target = resolver.absolute(address)
            if target is None or target in found:
                continue
            if len(found) >= MAX_ENTRIES:
                truncated = True
                break
            found[target] = SitemapEntry(target, parse_moment(date), title)
    except etree.XMLSyntaxError:
        truncated = True
    return Sitemap(kind if found or kind != "text" else "unknown", tuple(found.values()), truncated)


def parse_moment(text: str) -> datetime | None:
    """Returns a date of a sitemap or feed as a time in UTC; None for an invalid one. Accepted are
    the W3C format, down to a year alone, and the format of RFC 2822.

    >>> parse_moment("2026-03-01T10:00:00+08:00").isoformat(), parse_moment("2026-03").isoformat()
    ('2026-03-01T02:00:00+00:00', '2026-03-01T00:00:00+00:00')
    """
    text = text.strip()[:64]
    if not text:
        return None
    try:
        whole = _W3C.fullmatch(text)
        if whole is not None:
            moment = datetime(int(whole[1]), int(whole[2] or 1), int(whole[3] or 1), tzinfo=UTC)
        elif text[:4].isdigit():
            moment = datetime.fromisoformat(text)
        else:
            moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
