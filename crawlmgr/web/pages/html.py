"""Extracts links, text and head elements of a page in one pass, in bounded time and memory even for
hostile pages. No Django. Ordinary pages are parsed to a tree by selectolax's lexbor, which is fast,
but extremely slow on thousands of unclosed elements. Larger or badly formed pages are read as a
stream of events by libxml2's parser, whose cost is linear in the length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from crawlmgr.web.pages.tree import MAX_CHARS, without_ends
from crawlmgr.web.url import Resolver

MAX_LINKS = 20_000
MAX_ANCHOR_CHARS = 1_000
CONTEXT_CHARS = 200

# Pages of up to this many characters are parsed to a tree; the worst known page of this size takes
# lexbor about half a second.
_TREE_CHARS = 400_000
# Shorter pages are not checked for tags with thousands of attributes (`_has_endless_tag`), which
# cost little in them.
_UNCHECKED_CHARS = 100_000
_TAG_CHARS = 20_000
_WHOLE_TAG = re.compile(rf"!--|(?:[^\"'>]|\"[^\"]*\"|'[^']*'){{0,{_TAG_CHARS}}}+>")
_TREE_TAGS, _TREE_UNCLOSED = 6_000, 1_500
# beginning of the page in which its title is searched for if it is not parsed to a tree
_HEAD_CHARS = 100_000
_FEED_BYTES = 1 << 14
# reading a stream stops when more elements are open: libxml2 may search them all at each end tag
_MAX_DEPTH = 1_000

_UNSEEN = ["script", "style", "template", "iframe", "noembed", "noframes"]
_HIDDEN = frozenset(_UNSEEN)
_QUERY = "html,title,base[href],meta,link[rel],a[href],area[href],frame[src]"
_MARK = "\x01"  # marker character inserted before each link to find its position in the text
_REFRESH = re.compile(
    r"\s*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?+(?:\"([^\"]*)|'([^']*)|(\S+))", re.IGNORECASE
)


class Link(NamedTuple):
    """A link of a page. `url` is absolute, with its fragment. `anchor` is the link's text including
    the alt texts of its images, at most 1,000 characters. `at` is its offset in the page's text,
    used by `PageScan.context`; None inside noscript, or if contexts were not requested. `nofollow`
    tells whether the link's own rel contains that word. `tag` is "a", "area", "frame", or "meta"
    for a refresh that leads to another page."""

    url: str
    anchor: str
    rel: str = ""
    at: int | None = None
    nofollow: bool = False
    tag: str = "a"


@dataclass(frozen=True, slots=True)
class PageScan:
    """The links, text and head of a page; "" for anything missing. `text` is the body's text with
    white space collapsed, without scripts, templates and noscript content. `base` is the address
    that relative links are resolved against. `canonical` is the address in `<link rel=canonical>`,
    `refresh` the target of a meta refresh, both absolute. `robots_meta` holds the words of `<meta
    name=robots>` in lower case."""

    title: str
    text: str
    links: tuple[Link, ...]
    base: str
    canonical: str = ""
    refresh: str = ""
    robots_meta: frozenset[str] = frozenset()
    lang: str = ""
    is_cut: bool = False

    def context(self, link: Link) -> str:
        """Returns the text around a link of the page (see `around`), including its own; "" if the
        link's `at` is None."""
        return "" if link.at is None else around(self.text, link.at, len(link.anchor))


def around(text: str, at: int, length: int) -> str:
    """Returns the `length` characters at offset `at` of `text` with up to 200 characters on each
    side, shortened to the next space so that no word is cut (unless it has more than 30
    characters)."""
    start, end = at - CONTEXT_CHARS, at + length + CONTEXT_CHARS
    start = text.find(" ", start, start + 30) + 1 or start if start > 0 else 0
    if end < len(text):
        space = text.rfind(" ", end - 30, end)
        end = space if space >= 0 else end
    return text[start:end]


def scan(html: str, base_url: str, want_context: bool = False, refresh: str = "") -> PageScan:
    """Returns links, text and head of a page. Links are in document order, except that a refresh
    comes first (a meta refresh in noscript is one too) and links in noscript come last. Nothing is
    taken from comments, templates, scripts or text areas. `<base href>` is honoured wherever it is.
    Links within the page ("#top"), links to anything but http(s) and links after the first 20,000
    are left out. A page too expensive for a tree is read as a stream, up to 4,000,000 characters
    or 1,000 open elements.
    `want_context` sets the links' offsets in the text; `refresh` is the value of the response's
    header Refresh, which comes before the refreshes in the page. Raises UrlError if `base_url`, the
    page's address, is not an http(s) address.
    """
    page = _Page(base_url, want_context)
    page.head("meta", {"http-equiv": "refresh", "content": refresh})
    tree = _tree(html)
    if tree is None:
        page.is_cut = len(html) > MAX_CHARS
        _scan_stream(html[:MAX_CHARS], page)
    else:
        _scan_tree(tree, page)
    return page.result()


def links(html: str, base_url: str, want_context: bool = False) -> tuple[Link, ...]:
    """Returns only the links of a page (see `scan`)."""
    return scan(html, base_url, want_context).links


def page_title(html: str) -> str:
    """Returns the page's title with white space collapsed; "" if there is none.

    >>> page_title("<title>A\\n page</title>")
    'A page'
    """
    tree = _tree(html)
    if tree is None:
        return scan(html[:_HEAD_CHARS], "http://localhost/").title
    return next((_collapse(node.text()) for node in tree.css("title") if not _is_drawn(node)), "")


def _collapse(text: str) -> str:
    """Returns the text with every run of white space replaced by one space, and none at the
    ends."""
    return " ".join(text.split())


def _tree(html: str) -> LexborHTMLParser | None:
    """Parses the page to a tree; returns None for a page so large or badly formed that it must be
    read as a stream of events."""
    tags = html.count("<")
    if len(html) > _TREE_CHARS or (len(html) > _UNCHECKED_CHARS and _has_endless_tag(html)):
        return None
    if tags > _TREE_TAGS or (
        tags > _TREE_UNCLOSED and tags - 2 * html.count("</") > _TREE_UNCLOSED
    ):
        return None
    try:
        return LexborHTMLParser(html.encode("utf-8", "replace"))
    except SelectolaxError:
        return None


def _has_endless_tag(html: str) -> bool:
    """Tells whether a tag has more than 20,000 characters: if these are attributes, lexbor compares
    each with all before it."""
    return any(
        len(piece) > _TAG_CHARS and _WHOLE_TAG.match(piece) is None for piece in html.split("<")
    )


_Found = tuple[str, str, str, str, int | None]
"""A link as found in the page, not yet absolute: (href, anchor text, rel, tag, offset in the page's
text or None if unknown)."""


class _Page:
    """Collects what was found in a page so far, by `_scan_tree` or by the stream of events."""

    def __init__(self, url: str, want_context: bool) -> None:
        self.url = url
        self.want_context = want_context
        self.resolver = Resolver(url)
        self.based = False
        self.title: str | None = None
        self.text = ""
        self.is_cut = False
        self.found: list[_Found] = []
        self.canonical = ""
        self.refresh = ""
        self.robots: set[str] = set()
        self.lang = ""

    def head(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        """Takes what is needed from a base, meta, link or html element, for example the address of
        a meta refresh."""
        if tag == "base":
            if not self.based:  # as in browsers, only the first <base> counts
                self.based = True
                base = self.resolver.absolute(attributes.get("href") or "")
                if base is not None:
                    self.resolver = Resolver(base)
        elif tag == "meta":
            content = attributes.get("content") or ""
            if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
                target = _REFRESH.match(content[:4000])
                if target is not None and not self.refresh:
                    self.refresh = next((part for part in target.groups() if part), "").strip()
            elif (attributes.get("name") or "").strip().lower() == "robots":
                self.robots.update(
                    word for word in re.split(r"[\s,]+", content[:1000].lower()) if word
                )
        elif tag == "link":
            if not self.canonical and "canonical" in (attributes.get("rel") or "").lower().split():
                self.canonical = attributes.get("href") or ""
        elif tag == "html":
            self.lang = (
                self.lang or (attributes.get("lang") or attributes.get("xml:lang") or "").strip()
            )

    def result(self) -> PageScan:
        """Returns the finished scan. Links are made absolute only here, because a `<base>` may
        follow the first links."""
        absolute = self.resolver.absolute
        out: list[Link] = []
        refresh = absolute(self.refresh) if self.refresh else None
        if refresh is not None and refresh != self.url:
            out.append(Link(refresh, "", tag="meta"))
        for href, anchor, rel, tag, at in self.found:
            url = absolute(href) if href[:1] != "#" else None
            if url is not None:
                out.append(
                    Link(url, anchor, rel, at, rel != "" and "nofollow" in rel.lower().split(), tag)
                )
        return PageScan(
            title=self.title or "",
            text=self.text,
            links=tuple(out),
            base=self.resolver.base,
            canonical=(absolute(self.canonical) or "") if self.canonical else "",
            refresh=refresh or "",
            robots_meta=frozenset(self.robots),
            lang=self.lang,
            is_cut=self.is_cut or len(self.found) >= MAX_LINKS,
        )


def _is_drawn(title: LexborNode) -> bool:
    """Tells whether a title element belongs to an SVG drawing and not to the page."""
    return title.parent is not None and title.parent.tag == "svg"


def _scan_tree(tree: LexborHTMLParser, page: _Page) -> None:
    """Fills `page` from a parsed tree, from which it removes scripts, templates and noscript
    elements."""
    tree.strip_tags(_UNSEEN)
    aside, metas = _unscripted(tree)
    places: list[LexborNode] = []
    found = page.found
    for node in tree.css(_QUERY):
        tag = node.tag or ""
        if tag in ("a", "area", "frame"):
            if len(found) < MAX_LINKS:
                found.append(_found(node, tag))
                places.append(node)
        elif tag == "title":
            if page.title is None and not _is_drawn(node):
                page.title = _collapse(node.text())
        else:
            page.head(tag, node.attributes)
    for attributes in metas:
        page.head("meta", attributes)
    body = tree.body
    if body is not None:
        if page.want_context:
            _place(body, places, page)
        else:
            page.text = _collapse(body.text(separator=" "))
    page.found += aside[: MAX_LINKS - len(page.found)]


def _unscripted(
    tree: LexborHTMLParser,
) -> tuple[list[_Found], list[Mapping[str, str | None]]]:
    """Takes the noscript elements out of a tree and returns their links, and the attributes of
    their meta elements. The alternative texts of images in links become text of the tree."""
    aside: list[_Found] = []
    metas: list[Mapping[str, str | None]] = []
    unscripted = False
    for node in tree.css("a img[alt],noscript"):
        if node.tag == "noscript":
            unscripted = True
        else:
            node.insert_before(node.attributes.get("alt") or "")
    if unscripted:
        for node in tree.css("noscript a[href],noscript area[href]")[:MAX_LINKS]:
            aside.append(_found(node, node.tag or ""))
        metas = [node.attributes for node in tree.css("noscript meta")]
        tree.strip_tags(["noscript"])
    return aside, metas


def _found(node: LexborNode, tag: str) -> _Found:
    """Returns the link of an a, area or frame element of the tree, without its offset in the
    text."""
    attributes = node.attributes
    if tag != "a":
        return _shape(tag, attributes, None)
    anchor = " ".join(node.text(separator=" ").split())[:MAX_ANCHOR_CHARS]
    return attributes.get("href") or "", anchor, attributes.get("rel") or "", tag, None


def _shape(tag: str, attributes: Mapping[str, str | None], at: int | None) -> _Found:
    """Returns the link of an `area` (of an image map) or `frame` element, whose anchor text comes
    from its attributes."""
    words = (
        attributes.get("alt") or attributes.get("title") or ""
        if tag == "area"
        else attributes.get("name") or ""
    )
    href = attributes.get("src" if tag == "frame" else "href") or ""
    return href, _collapse(words)[:MAX_ANCHOR_CHARS], attributes.get("rel") or "", tag, at


def _place(body: LexborNode, places: list[LexborNode], page: _Page) -> None:
    """Sets the page's text and the offset of each link in it: inserts a marker character before
    each link element of `places` (parallel to `page.found`), then splits the text at the markers.
    """
    for node in places:
        node.insert_before(_MARK)
    segments = [_collapse(segment) for segment in body.text(separator=" ").split(_MARK)]
    if (
        len(segments) == len(places) + 1
    ):  # False if the page contains the marker character itself: then the offsets stay None
        at, begins = 0, []
        for segment in segments:
            begins.append(at)
            at += len(segment) + 1 if segment else 0
        pairs = zip(page.found, begins[1:], strict=True)
        page.found = [(href, anchor, rel, tag, at) for (href, anchor, rel, tag, _), at in pairs]
    page.text = " ".join(segment for segment in segments if segment)


class _Stream:
    """Parser target for libxml2: receives start, end and text events, and keeps text and links
    without building a tree."""

    def __init__(self, page: _Page) -> None:
        self.page = page
        self.depth = 0
        self.hidden = 0  # number of open script, style, template and similar elements
        self.aside = 0  # number of open noscript elements
        self.heading = False  # True inside the title element from which the page's title is taken
        self.drawn = 0  # number of open svg elements
        self.buffer: list[str] = []
        self.parts: list[str] = []
        self.length = 0  # length of the page's text so far: all parts with a space after each
        self.open: tuple[str, str, int | None] | None = (
            None  # href, rel and offset of the open link
        )
        self.words: list[str] = []  # parts of the open link's anchor text
        self.late: list[_Found] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._flush()
        self.depth += 1
        page = self.page
        if tag in _HIDDEN:
            self.hidden += 1
        elif self.hidden:
            return
        elif tag == "noscript":
            self.aside += 1
        elif tag == "a" or tag == "area":
            self._open_link(tag, attributes)
        elif tag == "img":
            if self.open is not None:
                self.buffer.append(attributes.get("alt", ""))
                self._flush()
        elif self.aside and tag != "meta":
            return
        elif tag == "frame":
            if attributes.get("src") and len(page.found) < MAX_LINKS:
                page.found.append(_shape(tag, attributes, None))
        else:
            self._start_other(tag, attributes)

    def _start_other(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "svg":
            self.drawn += 1
        elif tag == "title":
            self.heading = self.page.title is None and not self.drawn
        elif tag in ("base", "meta", "link", "html") and (tag != "base" or "href" in attributes):
            self.page.head(tag, attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag == "title" and self.heading:
            self.page.title = _collapse("".join(self.buffer))
            self.buffer.clear()
            self.heading = False
        self._flush()
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag == "noscript":
            self.aside = max(0, self.aside - 1)
        elif tag == "svg":
            self.drawn = max(0, self.drawn - 1)
        elif tag == "a":
            self._close_link()

    def data(self, data: str) -> None:
        if not self.hidden:
            self.buffer.append(data)

    def close(self) -> None:
        self._flush()
        self._close_link()
        self.page.text = " ".join(self.parts)
        self.page.found += self.late

    def _flush(self) -> None:
        """Adds the text since the last tag to the page's text, and to the anchor text of the open
        link."""
        if not self.buffer:
            return
        text = _collapse("".join(self.buffer))
        self.buffer.clear()
        if not text or self.hidden or self.heading:
            return
        if self.open is not None:
            self.words.append(text)
        if not self.aside:
            self.parts.append(text)
            self.length += len(text) + 1

    def _open_link(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begins an `a` element's link, whose anchor text follows, or records an `area` element's
        link."""
        if tag == "a":
            self._close_link()
        if "href" not in attributes or len(self.page.found) + len(self.late) >= MAX_LINKS:
            return
        at = self.length if self.page.want_context and not self.aside else None
        if tag == "a":
            self.open = (attributes["href"], attributes.get("rel", ""), at)
        else:
            (self.late if self.aside else self.page.found).append(_shape(tag, attributes, at))

    def _close_link(self) -> None:
        """Records the open link with the anchor text collected since it was opened."""
        if self.open is None:
            return
        href, rel, at = self.open
        anchor = " ".join(self.words)[:MAX_ANCHOR_CHARS]
        (self.late if self.aside else self.page.found).append((href, anchor, rel, "a", at))
        self.open = None
        self.words.clear()


def _scan_stream(html: str, page: _Page) -> None:
    """Fills `page` from libxml2's parsing events; stops as soon as more than _MAX_DEPTH elements
    are open."""
    data = without_ends(html).encode("utf-8", "replace")
    stream = _Stream(page)
    parser = etree.HTMLParser(target=stream, encoding="utf-8", huge_tree=True)
    try:
        for begin in range(0, len(data), _FEED_BYTES):
            parser.feed(data[begin : begin + _FEED_BYTES])
            if stream.depth > _MAX_DEPTH:
                page.is_cut = True
                break
        parser.close()
    except etree.LxmlError:  # libxml2 gave up: keep what it had read until then
        return
    finally:
        vars(
            stream
            # break the reference cycle between lxml's parser and target, which would keep the text
            # in memory
        ).clear()
