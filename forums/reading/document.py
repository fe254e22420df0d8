"""A parsed page as the page reader uses it: the outline of its elements, its times, and its links
with the patterns and keys of their addresses."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

from lxml.html import Element as new_element
from lxml.html import HtmlElement

from crawlmgr.text.dates import DateContext
from crawlmgr.web.encoding import decode
from crawlmgr.web.pages.outline import Outline, outline
from crawlmgr.web.pages.tree import READ_TAGS, bounded_markup, parse
from crawlmgr.web.url import without_session
from forums.reading.addresses import board_key, names_user, thread_key
from forums.reading.page_times import TimedPage
from forums.reading.patterns import MAX_ADDRESS, leads_to, patterns
from forums.reading.values import declared_language, ends_by, is_day_first, is_name
from forums.reading.words import class_roles, is_profile_line
from forums.reading.wrapping import part_heads, part_lines

# the part of an address pattern that stands for a user's name, possibly with digits in it
_VARIED = re.compile(r"[#*]+(?:[-_.]?[#*]+)*|[a-z]{1,24}#")


_SPACE = re.compile(r"/spaces?/\d+/?")  # a user's own pages on some sites, boards on others


def leads_to_user(url: str, pattern: str) -> bool:
    """Tells whether an address of the page's own site is that of a user's profile. `pattern` is its
    address pattern (see `patterns`)."""
    return names_user(url) and (
        leads_to(pattern) != "thread" or names_user(url.rstrip("/").rsplit("/", 1)[-1])
    )


def board_spaces(page: Outline, links: Sequence[tuple[int, str, str]]) -> frozenset[str]:
    """Returns the addresses of the form `/space/7` that are boards on this page: all addresses of
    that form or none. They are boards if at least three of them, and at least two thirds, are
    linked only once and in a heading. `links` are (node, address, fragment)."""
    found = [(node, url) for node, url, _ in links if _SPACE.fullmatch(urlsplit(url).path)]
    times = Counter(url for _, url in found)
    heading = {url for node, url in found if times[url] == 1 and _in_heading(page, node)}
    return (
        frozenset(times)
        if len(heading) >= 3 and 3 * len(heading) >= 2 * len(times)
        else frozenset()
    )


def called_users(
    page: Outline, links: Sequence[tuple[int, str, str]], found: Mapping[str, str]
) -> frozenset[str]:
    """Finds address patterns of users by words such as "by" before links. A pattern is returned if
    such a word precedes links to at least two of its addresses and at least two fifths of its
    links, and if all its links have as text a name of at most 40 characters. links: (node, address,
    fragment); found: the pattern of each address."""
    said: dict[str, set[str]] = defaultdict(set)
    named: dict[str, list[int]] = defaultdict(list)
    count: Counter[str] = Counter()
    for node, url, _ in links:
        pattern, first = _VARIED.sub("*", found[url]), page.piece_from[node]
        if first == page.piece_to[node]:
            continue  # The link is on an image and has no text.
        named[pattern].append(node)
        if (
            first
            and page.pieces[first - 1].line == page.pieces[first].line
            and ends_by(page.pieces[first - 1].text)
        ):
            said[pattern].add(url)
            count[pattern] += 1
    people = {
        pattern
        for pattern, urls in said.items()
        if len(urls) >= 2
        and 5 * count[pattern] >= 2 * len(named[pattern])
        and leads_to(pattern) != "thread"
        if all(
            1 < len(text) <= 40 and is_name(text) or text.isalpha()
            for text in map(page.text, named[pattern])
        )
    }
    return frozenset(pattern for pattern in found.values() if _VARIED.sub("*", pattern) in people)


def _in_heading(page: Outline, node: int) -> bool:
    return any(page.tags[at] in ("h2", "h3", "h4", "h5") for at in (node, page.parents[node]))


MAX_LINKS = 3_000


_PLURAL_SLUG = re.compile(
    r"/(?:questions|topics|threads|discussions|conversations)/[^/\d]+/?$", re.I
)


_ID_DIGITS = re.compile(r"[\d]+")


_SIDE = re.compile(
    r"(?:^|\s)(?!\S*(?:content|main|layout-|message|post|has-|with-|no-))\S*?"
    r"(?:side-?bar|side-?col(?:umn)?|(?:left|right)-?(?:bar|column|col|rail)|(?<!\w)side(?!\w)"
    r"|(?<![a-z])widgets?)(?:[-_]?(?:left|right|box|inner))?(?=$|\s)",
    re.I,
)


_AUTHORITY = re.compile(r"https?://[^/?#\s]*(?=[/?#]|$)")  # scheme and host of an address


_NO_PAGE = re.compile(r"(?:javascript|mailto|tel|data|about):", re.I)


# Addresses that `urljoin` returns unchanged (_WHOLE), and paths that only need scheme and host
# before them (_ROOTED).
_WHOLE = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?/[^\s?#;\\]*(?:\?[^\s#]+)?(?:#\S+)?")


_ROOTED = re.compile(r"/(?![/.])(?:(?!/\.)[^\s?#;\\])*(?:\?[^\s#]+)?(?:#\S+)?")


_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?=/)")


# if the text of a link is longer (in characters), the link may be a box that contains more than a
# title
_CARD = 12


_TITLE = re.compile(r"(?<![a-z])(?:title|subject)(?![a-z])", re.I)


_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())


class Link(NamedTuple):
    """A link of the page. `node` is the element whose text names the link, `url` its absolute
    address without the fragment, `key` identifies the thread that it leads to (see `thread_key`),
    `pattern` is the form of its address, learned from all addresses of the page (see `patterns`).
    `is_user`: the link leads to a user's profile. `is_local`: it leads to the page's own host."""

    node: int
    url: str
    fragment: str
    text: str
    pattern: str
    key: str
    is_user: bool
    is_local: bool


class Page(TimedPage):
    """One parsed page. Links, times, titles and other derived values are computed when first used.

    `is_cut`: only the beginning is read, because the page exceeds the limits of `bounded_markup`
    or `outline`, or has more links than are used. `key`, `board_key` and `pattern` are those of
    the page's own address (see `thread_key`, `board_key`, `patterns`). `is_thread_address`: that
    address has the form of a thread's.
    """

    def __init__(
        self,
        html: str | bytes,
        url: str,
        fetched_at: datetime,
        timezone: str = "UTC",
        day_first: bool | None = None,
        former: frozenset[str] = frozenset(),
    ) -> None:
        self.url = url
        self.source, self.is_cut = bounded_markup(
            decode(html)[0] if isinstance(html, bytes) else html, READ_TAGS
        )
        root = parse(self.source)
        self.root = new_element("html") if root is None else root
        if former:
            _to_own_host(self.root, url, former)
        self.base = self._base()
        part_lines(self.root, self.base)
        part_heads(self.root)
        shown, language = outline(self.root), declared_language(self.root)
        self.is_cut |= shown.is_cut
        if day_first is None:
            day_first = is_day_first(self.root, shown, language)
        dates = DateContext(fetched_at, timezone, day_first, language=language)
        super().__init__(shown, dates)
        self.key = thread_key(url)
        self.pattern = patterns([url])[url]
        self.board_key = board_key(url)
        # The address is that of a script called with a thread's number, as in viewtopic.php?t=7.
        asked = "#" in self.pattern.partition("?")[2] and leads_to(self.pattern) == "thread"
        self.is_thread_address = (
            " t:" in self.key and not _PLURAL_SLUG.search(urlsplit(url).path)
        ) or asked
        self._asides: dict[int, bool] = {}
        self.row_cells: dict[
            int, list[int]
        ] = {}  # cache of `Heads.cells`: nodes of the cells of a table row, by the row's node
        # cache of `posts_bodies._place`: relation of an element to the text of a post, by node
        self.text_places: dict[int, int] = {}

    def _base(self) -> str:
        element = self.root.find(".//base[@href]")
        href = element.get("href", "") if element is not None else ""
        return _join(self.url, href.strip()) or self.url

    def absolute(self, href: str) -> str:
        """Returns the absolute address of a link of this page; "" for a malformed one."""
        return _join(self.base, href)

    @cached_property
    def title(self) -> str:
        """The text of the page's `<title>` element."""
        element = self.root.find(".//title")
        return " ".join((element.text or "").split()) if element is not None else ""

    @cached_property
    def headings(self) -> list[str]:
        """The texts of up to twelve headings (h1 to h3), those of the highest level first."""
        page = self.outline
        found = [
            (page.tags[n], page.text(n))
            for n in range(len(page))
            if page.tags[n] in ("h1", "h2", "h3")
        ]
        return [text for _, text in sorted(found, key=lambda pair: pair[0]) if text][:12]

    @cached_property
    def own_titles(self) -> set[str]:
        """The page's own titles: the texts of all h1 headings, and of the other headings that the
        document's `<title>` contains."""
        page = self.outline
        firsts = {page.text(node) for node in range(len(page)) if page.tags[node] == "h1"}
        return firsts | {text for text in self.headings if len(text) > 8 and text in self.title}

    @cached_property
    def links(self) -> list[Link]:
        """The first 3,000 links to pages, in order. Left out are links to anchors of this page, to
        scripts and to mail addresses, and addresses of more than 2,048 characters."""
        page, raw = self.outline, []
        own = self.url.split("#", 1)[0]
        for node, tag in enumerate(page.tags):
            if tag != "a":
                continue
            href = (page.elements[node].get("href") or "").strip()
            if not href or href[0] == "#" or _NO_PAGE.match(href):
                continue
            address = _join(self.base, href) if len(href) <= MAX_ADDRESS else ""
            if not address.startswith(("http://", "https://")):
                continue
            url, _, fragment = address.partition("#")
            if url == own and fragment and not fragment.isalnum():
                continue
            raw.append((node, url, fragment))
            if len(raw) >= MAX_LINKS:
                self.is_cut = True
                break
        found = patterns(url for _, url, _ in raw)
        host, boards, called = (
            host_of(self.base),
            board_spaces(page, raw),
            called_users(page, raw, found),
        )
        made = []
        for node, url, fragment in raw:
            local = host_of(url) == host
            user = (
                local
                and url not in boards
                and (found[url] in called or leads_to_user(url, found[url]))
            )
            named = self._heading_in(node)
            made.append(
                Link(
                    named, url, fragment, page.text(named), found[url], thread_key(url), user, local
                )
            )
        return made

    def _heading_in(self, node: int) -> int:
        """Returns the node of the element whose text is the name of a link: the heading, or an
        element with a title class, inside a link that is a box with several texts; the link itself
        if there is none or the link has only one text.
        """
        page = self.outline
        if page.piece_to[node] - page.piece_from[node] < 2:
            return node
        inside = [
            at for at in range(node + 1, page.ends[node]) if page.piece_from[at] < page.piece_to[at]
        ]
        heading = next((at for at in inside if page.tags[at] in _HEADINGS), node)
        if heading == node:
            called = [at for at in inside if _TITLE.search(page.classes[at])]
            is_card = (
                page.text_length(node) > _CARD or called and self._counts_beside(node, called[0])
            )
            heading = called[0] if len(called) == 1 and is_card else node
        return heading

    def _counts_beside(self, node: int, title: int) -> bool:
        """Tells whether all texts inside the link `node` but outside its title (node `title`) are
        numbers; False if there are none."""
        page = self.outline
        own = range(page.piece_from[title], page.piece_to[title])
        rest = [
            page.pieces[at].text
            for at in range(page.piece_from[node], page.piece_to[node])
            if at not in own
        ]
        return bool(rest) and all(text.isdigit() for text in rest)

    @cached_property
    def link_at(self) -> dict[int, Link]:
        """The links of the page by their node."""
        return {link.node: link for link in self.links}

    @cached_property
    def _link_nodes(self) -> list[int]:
        return [link.node for link in self.links]

    def links_in(self, start: int, end: int) -> list[Link]:
        """Returns the links whose nodes are in the range from `start` (included) to `end`
        (excluded)."""
        return self.links[bisect_left(self._link_nodes, start) : bisect_left(self._link_nodes, end)]

    @cached_property
    def piece_link(self) -> dict[int, Link]:
        """The link around each text, by the index of the text in `outline.pieces`; texts outside
        links are left out."""
        inside: dict[int, Link] = {}
        page = self.outline
        for link in self.links:
            for piece in range(page.piece_from[link.node], page.piece_to[link.node]):
                inside[piece] = link
        return inside

    def roles_of(self, node: int) -> frozenset[str]:
        """Returns the roles (fields such as "replies" or "author") that the class names and the id
        of an element suggest."""
        identity = self.outline.elements[node].get("id") or ""
        return class_roles(
            f"{self.outline.classes[node]} {_ID_DIGITS.sub('', identity)}"
            if identity
            else self.outline.classes[node]
        )

    def is_aside(self, node: int) -> bool:
        """Tells whether a node is in a side column: in an element whose tag, class or id names it
        as one and that contains less than 80 % of the page's text."""
        page, climbed = self.outline, []
        while node >= 0 and node not in self._asides:
            climbed.append(node)
            node = page.parents[node]
        found = node >= 0 and self._asides[node]
        for inner in reversed(climbed):
            found = (
                found or self._is_side(inner) and page.text_length(inner) < 0.8 * self.text_total
            )
            self._asides[inner] = found
        return found

    def _is_side(self, node: int) -> bool:
        """Tells whether an element is a side column by its tag or by its classes and id."""
        page = self.outline
        return page.tags[node] == "aside" or _names_side(
            f"{page.classes[node]} {page.elements[node].get('id') or ''}"
        )

    def roles_above(self, node: int, top: int) -> str:
        """Returns the class names of `node` and its ancestors up to node `top`, nearest first,
        joined into one string that can be passed to `class_roles`."""
        page, found = self.outline, []
        while node >= top:
            if page.classes[node]:
                found.append(page.classes[node])
            node = page.parents[node]
        return " ".join(found)

    @cached_property
    def member_lines(self) -> list[int]:
        """The numbers of texts that begin a line and describe a member (number of posts, location
        and the like), in order."""
        pieces = self.outline.pieces
        return [
            at
            for at, piece in enumerate(pieces)
            if pieces[at - 1].line != piece.line and is_profile_line(piece.text)
        ]

    @cached_property
    def text_total(self) -> int:
        """The number of characters of text on the page."""
        return sum(len(piece.text) for piece in self.outline.pieces)

    @cached_property
    def is_dense(self) -> bool:
        """Tells whether at least about a quarter of the page's text is in a script that needs few
        characters, such as Chinese, Japanese or Korean."""
        dense = sum(
            char >= "\u2e80"
            for piece in self.outline.pieces
            if not piece.text.isascii()
            for char in piece.text[:200]
        )
        return dense > 0.25 * min(self.text_total, 200 * len(self.outline.pieces))


@lru_cache(maxsize=8_192)
def _names_side(classes: str) -> bool:
    return _SIDE.search(classes) is not None


def host_of(url: str) -> str:
    """Returns the host of an absolute address without port and "www."; "" for a malformed one."""
    end = _AUTHORITY.match(url)
    return _host_of(end.group() if end else url)


@lru_cache(maxsize=1_024)
def _host_of(start: str) -> str:
    try:
        return (urlsplit(start).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _to_own_host(root: HtmlElement, url: str, former: frozenset[str]) -> None:
    """Replaces the hosts `former` (see `host_of`) in the addresses of links, which redirect to the
    page's own host, by that host: such a link leads to a page of the site under its one address."""
    own = urlsplit(url)
    for element in root.iter("a", "area", "base", "link"):
        href = (element.get("href") or "").strip()
        if host_of(f"{own.scheme}:{href}" if href.startswith("//") else href) in former:
            rest = urlsplit(href)[2:]
            element.set("href", urlunsplit((own.scheme, own.netloc, *rest)))


def _join(base: str, href: str) -> str:
    """Returns the absolute address of a link, without session id; "" for a malformed one. The most
    frequent forms are joined without parsing, for speed."""
    if _WHOLE.fullmatch(href):
        return without_session(href)
    origin = _ORIGIN.match(base) if _ROOTED.fullmatch(href) else None
    if origin:
        return without_session(f"{origin.group()}{href}")
    try:
        return without_session(urljoin(base, href))
    except ValueError:
        return ""
