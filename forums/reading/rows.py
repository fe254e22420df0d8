"""Rows of a list: groups of links alike, the record around each, and the items that a row holds."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from crawlmgr.text.dates import parse_time
from crawlmgr.web.records import Record, records_around
from forums.reading.addresses import board_key, names_board
from forums.reading.document import Link, Page, Time
from forums.reading.patterns import leads_to
from forums.reading.values import count, exact_count, inner_counts, pair
from forums.reading.words import NOT_NAMES, class_roles, text_roles

MAX_GROUPS = 40


class Count(NamedTuple):
    """A count in a row: its value, its column, what its surroundings call it, and its node."""

    value: int
    column: str
    roles: frozenset[str]
    node: int


class Row:
    """One record of a list and the link that names it."""

    def __init__(self, page: Page, record: Record, title: Link) -> None:
        self.page = page
        self.record = record
        self.title = title
        self.start = record[0]
        self.end = page.outline.ends[record[-1]]

    def column(self, node: int) -> str:
        """Where a node stands in the row, the same for like rows."""
        at = max(0, bisect_left(self.record, node + 1) - 1)
        return f"{at}:{self.page.outline.relative(node, self.record[at])}"

    @cached_property
    def pieces(self) -> range:
        """Numbers of the texts of the row."""
        page = self.page.outline
        return range(page.piece_from[self.start], page.piece_to[self.record[-1]])

    @cached_property
    def links(self) -> list[Link]:
        """Links of the row, in order."""
        return self.page.links_in(self.start, self.end)

    @cached_property
    def times(self) -> list[Time]:
        """Times of the row outside its title."""
        inside = range(self.title.node, self.page.outline.ends[self.title.node])
        found = [time for time in self.page.times_in(self.start, self.end) if time.node not in inside or time.is_attribute]
        plain = [time for time in found if time.is_attribute or not self._in_title_of_other(time)]
        return plain or found

    def _in_title_of_other(self, time: Time) -> bool:
        """Whether a time is only part of a link's text, as a date in the title of the last thread is."""
        link = self.page.piece_link.get(time.piece)
        return link is not None and parse_time(link.text, self.page.dates) is None

    @cached_property
    def text(self) -> str:
        """All text of the row."""
        return " ".join(self.page.outline.pieces[at].text for at in self.pieces)

    @cached_property
    def counts(self) -> list[Count]:
        """Counts of the row: texts that are numbers, and numbers in short labels like "12 replies"."""
        found: list[Count] = []
        timed = {time.piece for time in self.times if not time.is_attribute}
        page = self.page.outline
        title = range(page.piece_from[self.title.node], page.piece_to[self.title.node])
        for at in self.pieces:
            if at in title:
                continue
            found.extend(self._told_inside(at) if at in timed else self._counts_of(at))
        return found

    def _told_inside(self, at: int) -> list[Count]:
        """Counts in a line with a time, each right beside a word for it: "(3 replies, last 2014-3-1 10:15)"."""
        text, node, _ = self.page.outline.pieces[at]
        found = []
        for value, start, end in inner_counts(text):
            after = re.match(r"\s*([^\W\d_]+)", text[end:])
            before = re.search(r"([^\W\d_]+)\s*[:：(（]?\s*$", text[:start])
            for told in (after, before):
                roles = text_roles(told.group(1)) & _COUNT_ROLES - {"last"} if told else frozenset()
                if roles:
                    found.append(Count(value, f"{self.column(node)}/{'+'.join(sorted(roles))}", roles | {"label"}, node))
                    break
        return found

    def _counts_of(self, at: int) -> list[Count]:
        page = self.page.outline
        text, node, line = page.pieces[at]
        if not any(char.isdigit() for char in text):
            return []
        if len(text) > 60:
            return self._told_inside(at)
        column, top = self.column(node), self._top(node)
        if page.tags[node][:1] == "h" or page.tags[page.parents[node]] in ("h1", "h2", "h3", "h4"):
            return [found for found in self._labelled(text, node, column) if found.roles]  # else a badge beside a name
        value = count(text)
        if value is not None:
            if "pager" in class_roles(self.page.roles_above(node, top)) or self._is_pager(at):
                return []
            exact, title_roles = self._attribute(node, top)
            if exact is not None and (exact == value or len(str(exact)) > len(str(value)) or not text.isdigit()):
                value = exact
            hints = self._roles(node, top) if not title_roles else title_roles | {"label"}  # words say more than class names
            return [Count(value, column, hints | self._beside(at, line), node)]
        both = pair(text)
        if both:
            roles = self._roles(node, top)
            return [Count(both[0], column + "/0", roles, node), Count(both[1], column + "/1", roles, node)]
        if self.page.moment(text) is not None or (at in self.page.piece_link and not text[0].isdigit()):
            return []  # a number in the title of another thread counts nothing
        return self._labelled(text, node, column)

    def _labelled(self, text: str, node: int, column: str) -> list[Count]:
        inner = inner_counts(text)
        if not inner or len(inner) > 3:
            return []
        found, before = [], 0
        leads = text[: inner[0][1]].strip() != "" and bool(text_roles(text[: inner[0][1]]))
        for at, (value, start, end) in enumerate(inner):
            after = inner[at + 1][1] if at + 1 < len(inner) else len(text)
            label = text[before:start] if leads else text[end:after]
            before = end
            roles = text_roles(label) & {"replies", "comments", "posts", "topics", "views"}
            if roles and len(label) <= 40:
                found.append(Count(value, f"{column}/{at}/{'+'.join(sorted(roles))}", roles | {"label"}, node))
            elif len(inner) == 1 and not leads and start == 0 and 0 < len(label.split()) <= 2 and label.strip().isalpha():
                found.append(Count(value, f"{column}/{label.strip()}", frozenset(), node))
        return found

    def _top(self, node: int) -> int:
        return self.record[max(0, bisect_left(self.record, node + 1) - 1)]

    def _attribute(self, node: int, top: int) -> tuple[int | None, frozenset[str]]:
        page = self.page.outline
        while node >= top:
            element = page.elements[node]
            title = element.get("title") or element.get("aria-label") or ""
            if title and len(title) <= 60 and page.piece_to[node] - page.piece_from[node] <= 2:
                roles = text_roles(title) & {"replies", "comments", "posts", "topics", "views"}
                return exact_count(title), roles
            if page.piece_to[node] - page.piece_from[node] > 2:
                break
            node = page.parents[node]
        return None, frozenset()

    def _roles(self, node: int, top: int) -> frozenset[str]:
        """Roles by the classes of the nearest elements; those far above name groups of fields, not this one."""
        page, found, steps = self.page.outline, frozenset[str](), 0
        while node > top and steps < 4 and not found & _COUNT_ROLES:
            found |= class_roles(page.classes[node])
            icons = [child for child in page.children(node) if page.tags[child] in ("i", "svg", "img", "use", "span")]
            for icon in icons[:2]:
                if page.piece_from[icon] == page.piece_to[icon]:
                    element = page.elements[icon]
                    named = " ".join(filter(None, (element.get("title"), element.get("alt"))))
                    found |= (class_roles(page.classes[icon]) & _COUNT_ROLES) | (text_roles(named) & _COUNT_ROLES)
            node = page.parents[node]
            steps += 1
        return found & (_COUNT_ROLES | {"likes", "avatar"})

    def _beside(self, at: int, line: int) -> frozenset[str]:
        """Roles by the texts beside: after on the same line (5 "replies"), below in its own element, before
        ("Replies:" 5)."""
        pieces = self.page.outline.pieces
        if at + 1 in self.pieces and len(pieces[at + 1].text) <= 24:
            roles = text_roles(pieces[at + 1].text) & _COUNT_ROLES
            if roles and (pieces[at + 1].line == line or self._is_beside(at, at + 1)):
                return roles | {"label"}
        if at - 1 in self.pieces and len(pieces[at - 1].text) <= 24:
            roles = text_roles(pieces[at - 1].text) & _COUNT_ROLES
            if roles and (pieces[at - 1].line == line or self._is_term(at - 1)):
                return roles | {"label"}
        return frozenset()

    def _is_term(self, at: int) -> bool:
        page = self.page.outline
        node = page.pieces[at].node
        return page.tags[node] in ("dt", "th", "label", "span", "em", "strong", "b", "i", "small", "div", "dfn")

    def _is_beside(self, at: int, other: int) -> bool:
        """Whether two texts stand in elements of one small parent, as in cards: <b>5</b><span>replies</span>."""
        page = self.page.outline
        mine, its = page.pieces[at].node, page.pieces[other].node
        return page.parents[mine] == page.parents[its] or page.parents[its] == mine

    def _is_pager(self, at: int) -> bool:
        """Whether a number is one of the little pager that stands beside a thread's title."""
        link = self.page.piece_link.get(at)
        if link is None or link.key != self.title.key:
            return False
        parents = self.page.outline.parents
        others = {
            other.url
            for other in self.links
            if other.key == link.key and parents[other.node] == parents[link.node] and count(other.text) is not None
        }
        return len(others) > 1 or bool(_PAGE_MARK.search(link.url))


_PAGE_MARK = re.compile(
    r"[?&;](?:page|start|st|offset|pg|p)=\d|/p(?:age)?[-_/]?\d+|topic[=,]\d+\.\d|-\d+-[2-9]\d*-\d+\.html?", re.I
)
_COUNT_ROLES = frozenset({"replies", "comments", "posts", "topics", "views", "last"})


class Group:
    """Rows whose names are links of one pattern."""

    def __init__(self, page: Page, pattern: str, rows: list[Row]) -> None:
        self.page = page
        self.pattern = pattern
        self.rows = rows

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The ranges of nodes of the rows."""
        return [(row.start, row.end) for row in self.rows]

    @cached_property
    def text_share(self) -> float:
        """Share of the page's text that stands in the rows."""
        return min(1.0, sum(len(row.text) for row in self.rows) / max(1, self.page.text_total))

    def share(self, test: str) -> float:
        """Share of the rows that have at least one of "times", "counts", "links"."""
        return sum(1 for row in self.rows if getattr(row, test)) / len(self.rows)


def _names(link: Link, page: Page) -> bool:
    """Whether a link's text can name a thread or a board."""
    text = link.text
    if not text or count(text) is not None or len(text) > 300:
        return False
    if not any(char.isalpha() for char in text) and (len(text) < 6 or text[0] in "#№"):
        return False
    return len(text) > 60 or page.moment(text) is None or len(text) > 40


def _cell_path(page: Page, node: int) -> tuple[int, str]:
    """The tag path of a node with the column of the table or definition list that it stands in."""
    outline, at, cells = page.outline, node, []
    while at >= 0:
        if outline.tags[at] in ("td", "th", "dd"):
            column = sum(1 for other in outline.children(outline.parents[at]) if other < at)
            cells.append(str(column))
        at = outline.parents[at]
    return outline.paths[node], "/".join(cells)


LONGEST_LONE = 500


def _lone(page: Page) -> Callable[[int], bool]:
    """Whether a node can be the row of a list that has only one: it holds a time, and little text."""

    def enough(node: int) -> bool:
        if page.outline.tags[node] not in ("tr", "li", "article", "dl", "div", "section"):
            return False
        times = page.times_in(node, page.outline.ends[node])
        if page.outline.tags[node] in ("div", "section") and any(enough(above) for above in _row_above(page, node)):
            return False
        keys = {link.key for link in page.links_in(node, page.outline.ends[node]) if not link.is_user and link.text}
        return 1 <= len(times) <= 2 and len(keys) <= 4 and page.outline.text_length(node) <= LONGEST_LONE

    return enough


def _row_above(page: Page, node: int) -> Iterator[int]:
    """The nearest element around a node that markup calls a row or an item, if it is near."""
    for _ in range(6):
        node = page.outline.parents[node]
        if node < 0:
            return
        if page.outline.tags[node] in ("tr", "li", "article"):
            yield node
            return


def _rows(page: Page, links: list[Link]) -> list[Row]:
    anchors = [(link.node, link.key) for link in links]
    names: dict[Hashable, Link] = {}
    for link in links:
        names.setdefault(link.key, link)
    return [Row(page, record, names[key]) for key, record in records_around(page.outline, anchors, _lone(page))]


def groups(page: Page) -> list[Group]:
    """Candidate lists of a page: links of one pattern at one place of the tree, with the record around each."""
    named = [link for link in page.links if _names(link, page)]
    places: dict[tuple[str, str, tuple[int, str]], list[Link]] = defaultdict(list)
    for link in named:
        places[_family(link.pattern), page.outline.shapes[link.node], _cell_path(page, link.node)].append(link)
    ranked = sorted(places.items(), key=lambda item: -len({link.key for link in item[1]}))[:MAX_GROUPS]
    made = []
    for links in (links for _, links in ranked):
        pattern = Counter(link.pattern for link in links).most_common(1)[0][0]
        if not _varied(links) or (len({link.key for link in links}) == 1 and not _can_be_alone(page, links[0])):
            continue
        rows = _joined(page, pattern, _rows(page, links), named)
        if rows and not (len(rows) == 1 and _holds_others(rows[0])):
            made.append(Group(page, pattern, rows))
    return made


def _holds_others(row: Row) -> bool:
    """Whether a supposed lone row holds further links of its kind: then it is no row but their list."""
    family = _family(row.title.pattern)
    return any(
        link.key != row.title.key and not link.is_user and not link.fragment and _family(link.pattern) == family
        for link in row.links
    )


def _sorts(page: Page, link: Link) -> bool:
    """Whether a link leads to the page itself, sorted or filtered otherwise."""
    return link.url.startswith(f"{page.url}&") and not any(char.isdigit() for char in link.url[len(page.url) :])


def _has_id(link: Link) -> bool:
    """Whether an address has an id that tells a thread or board: what a list of one row has to name."""
    return " t:" in link.key or names_board(board_key(link.url)) or leads_to(link.pattern) == "thread"


def _can_be_alone(page: Page, link: Link) -> bool:
    return (_has_id(link) or _in_wide_row(page, link)) and not _sorts(page, link)


def _in_wide_row(page: Page, link: Link) -> bool:
    """Whether a link stands in a row of a table with at least four cells: heads above it may tell what it is."""
    node, outline = link.node, page.outline
    while node >= 0 and outline.tags[node] != "tr":
        node = outline.parents[node]
    return node >= 0 and len(outline.children(node)) >= 4


def _varied(links: list[Link]) -> bool:
    """Whether the links name different things: their texts differ, or they are few."""
    texts = {link.text for link in links}
    keys = {link.key for link in links}
    if len(keys) > 1 and all(text.lower() in NOT_NAMES for text in texts):
        return False  # buttons
    return len(texts) >= 0.5 * len(keys) or (len(texts) >= 4 and all(" t:" in link.key for link in links[:5]))


@lru_cache(maxsize=8_192)
def _family(pattern: str) -> str:
    """A pattern with its slugs alike: words with and without a number in them are one family."""
    return re.sub(r"\*\.html?(?=$|\?)", "*", re.sub(r"\*[-_]#|#[-_]\*", "*", pattern))


def _joined(page: Page, pattern: str, rows: list[Row], named: list[Link]) -> list[Row]:
    """Adds rows of the same level whose link stands deeper or higher in them (bold, with a prefix, as a heading)."""
    outline = page.outline
    levels = {(outline.paths[row.start], outline.depths[row.start]) for row in rows if len(row.record) == 1}
    if not levels or len(rows) < 2:
        return rows
    parents = {outline.parents[row.start] for row in rows}
    taken = {row.start for row in rows}
    keys = {row.title.key for row in rows}
    added = []
    for link in named:
        if _family(link.pattern) != _family(pattern) or link.key in keys:
            continue
        node = link.node
        while node >= 0 and (outline.paths[node], outline.depths[node]) not in levels:
            node = outline.parents[node]
        if node < 0 or node in taken or outline.parents[node] not in parents:
            continue
        taken.add(node)
        keys.add(link.key)
        row = Row(page, (node,), link)
        if not _holds_others(row):
            added.append(row)
    return sorted(rows + added, key=lambda row: row.start) if added else rows
