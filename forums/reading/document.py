"""A parsed page as the readers see it: outline, links with their patterns and keys, and every time that it shows."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from datetime import datetime
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from crawlmgr.text.dates import DateContext, Moment, decide_day_first, find_time, parse_time
from crawlmgr.web.bounds import bounded_markup
from crawlmgr.web.encoding import decode
from crawlmgr.web.records import Outline, outline
from forums.reading.addresses import board_key, thread_key
from forums.reading.daytimes import Days, below_days, days_of
from forums.reading.linkusers import board_spaces, leads_to_user
from forums.reading.patterns import leads_to, patterns
from forums.reading.textlines import part_lines
from forums.reading.texttimes import inner_times
from forums.reading.words import class_roles

MAX_LINKS = 8_000
LONGEST_TIME_LINE = 220
_TIME_ATTRIBUTE = re.compile(r"time|date|stamp|created|posted|updated|activity|epoch|publish", re.I)
_CLOCK = re.compile(r"^(?:at |um |à |@ ?)?\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?$", re.I)
_PLURAL_SLUG = re.compile(r"/(?:questions|topics|threads|discussions|conversations)/[^/\d]+/?$", re.I)
_TOOLTIP_ATTRIBUTE = re.compile(r"title|tool-?tip|tippy|tip$", re.I)
_OFFSET = re.compile(r"\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)? ?([+-])(\d\d):?(\d\d)$")
_ID_DIGITS = re.compile(r"[\d]+")
_NUMERIC_DATE = re.compile(r"\b\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})\b")
_SIDE = re.compile(
    r"(?:^|\s)(?!\S*(?:content|main|layout-|message|post|has-|with-|no-))\S*?"
    r"(?:side-?bar|side-?col(?:umn)?|(?:left|right)-?(?:bar|column|col|rail)|(?<!\w)side(?!\w)|(?<![a-z])widgets?)(?:[-_]?(?:left|right|box|inner))?(?=$|\s)",
    re.I,
)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_CHARSET_META = re.compile(r"(<meta[^>]{0,200}?charset\s*=\s*[\"']?)[\w-]+", re.I)


class Link(NamedTuple):
    """A link of the page. `url` is absolute without its fragment, `key` the thread key, `pattern` as in `patterns`."""

    node: int
    url: str
    fragment: str
    text: str
    pattern: str
    key: str
    is_user: bool
    is_local: bool


class Time(NamedTuple):
    """A time that the page shows: where it stands, and whether an attribute (not the text) told it. `label` is what
    stands before its text on the line, `said` what stands before it in its own text."""

    node: int
    piece: int
    line: int
    moment: Moment
    is_attribute: bool
    label: str
    said: str = ""


class Page:
    """One page, parsed. Everything else is worked out when first asked for."""

    def __init__(
        self, html: str | bytes, url: str, fetched_at: datetime, timezone: str = "UTC", day_first: bool | None = None
    ) -> None:
        self.url = url
        self.source = bounded_markup(decode(html)[0] if isinstance(html, bytes) else html)[0]
        self.root = parse(self.source)
        self.base = self._base()
        part_lines(self.root, self.base)
        self.outline: Outline = outline(self.root)
        if day_first is None:
            day_first = decide_day_first(p.text for p in self.outline.pieces if len(p.text) < 90 and _NUMERIC_DATE.search(p.text))
        self.dates = DateContext(fetched_at, timezone, day_first)
        self.key = thread_key(url)
        self.pattern = patterns([url])[url]
        self.board_key = board_key(url)
        asked = "#" in self.pattern.partition("?")[2] and leads_to(self.pattern) == "thread"  # a script given a number
        self.is_thread_address = (" t:" in self.key and not _PLURAL_SLUG.search(urlsplit(url).path)) or asked
        self.offsets: dict[datetime, int] = {}
        self._found: dict[str, Moment | None] = {}
        self._asides: dict[int, bool] = {}

    def _base(self) -> str:
        element = self.root.find(".//base[@href]")
        href = element.get("href", "") if element is not None else ""
        return _join(self.url, href.strip()) or self.url

    def absolute(self, href: str) -> str:
        """The whole address of a link of this page."""
        return _join(self.base, href)

    @cached_property
    def title(self) -> str:
        """The text of `<title>`."""
        element = self.root.find(".//title")
        return " ".join((element.text or "").split()) if element is not None else ""

    @cached_property
    def headings(self) -> list[str]:
        """Texts of the headings, first levels first."""
        page = self.outline
        found = [(page.tags[n], page.text(n)) for n in range(len(page)) if page.tags[n] in ("h1", "h2", "h3")]
        return [text for _, text in sorted(found, key=lambda pair: pair[0]) if text][:12]

    @cached_property
    def own_titles(self) -> set[str]:
        """What the page calls itself: headings of the first level, and others that the document's title contains."""
        page = self.outline
        firsts = {page.text(node) for node in range(len(page)) if page.tags[node] == "h1"}
        return firsts | {text for text in self.headings if len(text) > 8 and text in self.title}

    @cached_property
    def links(self) -> list[Link]:
        """The links to pages, in order. Links within the page, to scripts and to mail are left out."""
        page, raw = self.outline, []
        own = self.url.split("#", 1)[0]
        for node, tag in enumerate(page.tags):
            if tag != "a":
                continue
            href = (page.elements[node].get("href") or "").strip()
            if not href or href[0] == "#" or re.match(r"(?i)(?:javascript|mailto|tel|data|about):", href):
                continue
            address = _join(self.base, href)
            if not address.startswith(("http://", "https://")):
                continue
            url, _, fragment = address.partition("#")
            if url == own and fragment and not fragment.isalnum():
                continue
            raw.append((node, url, fragment))
            if len(raw) >= MAX_LINKS:
                break
        found = patterns(url for _, url, _ in raw)
        host, boards = _host(self.base), board_spaces(page, raw)
        made = []
        for node, url, fragment in raw:
            local = _host(url) == host
            user = local and url not in boards and leads_to_user(url, found[url])
            named = self._heading_in(node)
            made.append(Link(named, url, fragment, page.text(named), found[url], thread_key(url), user, local))
        return made

    def _heading_in(self, node: int) -> int:
        """The heading inside a link that is a whole card: what names the link; else the link itself."""
        page = self.outline
        if page.piece_to[node] - page.piece_from[node] < 2:
            return node
        return next((at for at in range(node + 1, page.ends[node]) if page.tags[at] in _HEADINGS and page.text(at)), node)

    @cached_property
    def link_at(self) -> dict[int, Link]:
        """The link of a node that is one."""
        return {link.node: link for link in self.links}

    @cached_property
    def _link_nodes(self) -> list[int]:
        return [link.node for link in self.links]

    def links_in(self, start: int, end: int) -> list[Link]:
        """The links between two nodes."""
        return self.links[bisect_left(self._link_nodes, start) : bisect_left(self._link_nodes, end)]

    @cached_property
    def piece_link(self) -> dict[int, Link]:
        """The link that a piece of text stands in."""
        inside: dict[int, Link] = {}
        page = self.outline
        for link in self.links:
            for piece in range(page.piece_from[link.node], page.piece_to[link.node]):
                inside[piece] = link
        return inside

    def roles_of(self, node: int) -> frozenset[str]:
        """What the classes and the id of an element hint at."""
        identity = self.outline.elements[node].get("id") or ""
        return class_roles(
            f"{self.outline.classes[node]} {_ID_DIGITS.sub('', identity)}" if identity else self.outline.classes[node]
        )

    def is_aside(self, node: int) -> bool:
        """Whether a node stands in a column beside the page's own matter: an element that is called so and does not
        hold most of the text."""
        page = self.outline
        while node >= 0:
            if node not in self._asides:
                named = page.tags[node] == "aside" or _SIDE.search(f"{page.classes[node]} {page.elements[node].get('id') or ''}")
                self._asides[node] = bool(named) and page.text_length(node) < 0.8 * self.text_total
            if self._asides[node]:
                return True
            node = page.parents[node]
        return False

    def roles_above(self, node: int, top: int) -> str:
        """The classes and data names from `node` up to `top`, nearest first, as one string for `class_roles`."""
        page, found = self.outline, []
        while node >= top:
            if page.classes[node]:
                found.append(page.classes[node])
            node = page.parents[node]
        return " ".join(found)

    @cached_property
    def times(self) -> list[Time]:
        """Every time on the page outside long lines of text, in order; attributes come before the text they stand on."""
        found = self._attribute_times()
        first, end = self.outline.piece_from, self.outline.piece_to
        covered = {piece for time in found for piece in range(first[time.node], end[time.node])}
        found += self._text_times(covered)
        return below_days(self.days, sorted(found, key=lambda time: (time.node, time.piece)))

    @cached_property
    def days(self) -> Days:
        """The headings that name days, and the clock times below them."""
        return days_of(self.outline, self.dates)

    def times_in(self, start: int, end: int) -> list[Time]:
        """The times between two nodes."""
        return self.times[bisect_left(self._time_nodes, start) : bisect_left(self._time_nodes, end)]

    @cached_property
    def _time_nodes(self) -> list[int]:
        return [time.node for time in self.times]

    def _attribute_times(self) -> list[Time]:
        page, found = self.outline, []
        for node, element in enumerate(page.elements):
            names = element.keys()
            if not names or (len(names) == 1 and names[0] in ("class", "href", "id")):
                continue
            moment = self._of_attributes(node, element, names)
            if moment is not None:
                first = page.piece_from[node]
                line = page.pieces[first].line if first < page.piece_to[node] else -1
                found.append(Time(node, first, line, moment, True, self._label(first, line)))
        return [time for time in found if not self._is_inner(time, found)]

    def _is_inner(self, time: Time, found: list[Time]) -> bool:
        above = self.outline.parents[time.node]
        at = bisect_left([other.node for other in found], above) if len(found) < 64 else -1
        return 0 <= at < len(found) and found[at].node == above and found[at].moment == time.moment

    def _of_attributes(self, node: int, element: HtmlElement, names: list[str]) -> Moment | None:
        best: Moment | None = None
        for name in names:
            if (
                name in ("datetime", "content", "aria-label")
                or (name == "title" and element.tag != "img")
                or name.startswith("data-")
                and (_TIME_ATTRIBUTE.search(name) or _TOOLTIP_ATTRIBUTE.search(name))
            ):
                value = element.get(name) or ""
            else:
                continue
            if not 4 <= len(value) <= 80:
                continue
            if name in ("title", "aria-label") and value.isdigit():
                continue
            moment = parse_time(value, self.dates)
            if moment is None and name == "title" and (self.outline.tags[node] != "a" or self._shows_a_time(node)):
                moment = find_time(value, self.dates)
            if moment is not None and (best is None or moment.precision_seconds < best.precision_seconds or name == "datetime"):
                best = moment
                offset = _OFFSET.search(value)
                if offset:
                    seconds = int(offset[2]) * 3600 + int(offset[3]) * 60
                    self.offsets[moment.value] = -seconds if offset[1] == "-" else seconds
        return best

    def _shows_a_time(self, node: int) -> bool:
        """Whether all that a link shows is a time; then a longer one in its title is the same one in full."""
        first, end = self.outline.piece_from[node], self.outline.piece_to[node]
        return end - first == 1 and parse_time(self.outline.pieces[first].text, self.dates) is not None

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """The lines of the page as ranges of pieces."""
        pieces, made, start = self.outline.pieces, [], 0
        for at in range(1, len(pieces) + 1):
            if at == len(pieces) or pieces[at].line != pieces[start].line:
                made.append((start, at))
                start = at
        return made

    @cached_property
    def line_range(self) -> dict[int, tuple[int, int]]:
        """The range of pieces of each line, by its number."""
        return {self.outline.pieces[start].line: (start, end) for start, end in self.lines}

    def _label(self, piece: int, line: int) -> str:
        start = self.line_range.get(line, (piece, piece))[0]
        return " ".join(self.outline.pieces[at].text for at in range(start, piece))[-80:]

    def moment(self, text: str) -> Moment | None:
        """The time inside a short text, remembered."""
        if text not in self._found:
            self._found[text] = find_time(text, self.dates)
        return self._found[text]

    def _text_times(self, covered: set[int]) -> list[Time]:
        pieces, found = self.outline.pieces, []
        for start, end in self.lines:
            if sum(len(pieces[at].text) for at in range(start, end)) > LONGEST_TIME_LINE:
                continue
            at = start
            while at < end:
                moment, used = (None, 1) if at in covered else self._time_at(at, end, covered)
                if moment is not None:
                    label = " ".join(pieces[before].text for before in range(start, at))[-80:]
                    inner = inner_times(pieces[at].text, self.moment) if used == 1 else []
                    for told, said in inner or [(moment, "")]:
                        found.append(Time(pieces[at].node, at, pieces[at].line, told, False, label, said))
                    covered.update(range(end, at + used))
                at += used
        return found

    def _time_at(self, at: int, end: int, covered: set[int]) -> tuple[Moment | None, int]:
        """The time that begins in piece `at`, and how many pieces it takes: "Yesterday" + "10:15" is one time."""
        pieces = self.outline.pieces
        text = pieces[at].text
        if not any(char.isdigit() for char in text) and (len(text) > 30 or not any(char.isalpha() for char in text)):
            return None, 1
        end = self._with_clock_below(at, end)
        moment = self.moment(text) if len(text) <= LONGEST_TIME_LINE else None
        used = 1
        if moment is None or moment.precision_seconds >= 86_400:
            joined = text
            for after in range(at + 1, min(end, at + 4)):
                joined += " " + pieces[after].text
                if (
                    after in covered
                    or len(joined) > 80
                    or not any(char.isdigit() for char in pieces[after].text)
                    and len(pieces[after].text) > 4
                ):
                    break
                whole = parse_time(joined, self.dates) if moment is None else self.moment(joined)
                if whole is not None and (moment is None or whole.precision_seconds < moment.precision_seconds):
                    moment, used = whole, after - at + 1
        return moment, used

    def _with_clock_below(self, at: int, end: int) -> int:
        """The end of a line, or of the next one where a line break inside one element parts a date from its time of day."""
        pieces = self.outline.pieces
        if end == at + 1 < len(pieces) and pieces[end].node == pieces[at].node and _CLOCK.match(pieces[end].text):
            return end + 1
        return end

    @cached_property
    def text_total(self) -> int:
        """Characters of text on the page."""
        return sum(len(piece.text) for piece in self.outline.pieces)

    @cached_property
    def is_dense(self) -> bool:
        """Whether the page is written in a script that says much in few letters, as Chinese, Japanese and Korean do."""
        dense = sum(char >= "\u2e80" for piece in self.outline.pieces for char in piece.text[:200])
        return dense > 0.25 * min(self.text_total, 200 * len(self.outline.pieces))

    @cached_property
    def pattern_counts(self) -> Counter[str]:
        """How many links follow each pattern."""
        return Counter(link.pattern for link in self.links)


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _join(base: str, href: str) -> str:
    try:
        return urljoin(base, href)
    except ValueError:
        return ""


def parse(text: str) -> HtmlElement:
    """The tree of a page; an empty one where there is nothing to parse. Never raises for what the page holds."""
    text = _XML_DECLARATION.sub("", text.replace("\x00", ""), count=1)
    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(text.encode("utf-8", "replace"), parser=parser, ensure_head_body=False)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
        return document_fromstring(b"<html><body></body></html>")
