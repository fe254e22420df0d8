"""Finds the candidate lists of a page: links whose addresses have the same pattern and whose
elements have corresponding positions in the tree, each with the row around it. Also learns the
shapes of the links on a site's lists of threads."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property, lru_cache

from lxml.html import HtmlElement

from crawlmgr.web.pages.records import Record, records_around
from forums.reading.addresses import board_key, names_board
from forums.reading.document import Link, Page
from forums.reading.lists.rows import Row
from forums.reading.model import Shapes
from forums.reading.patterns import leads_to
from forums.reading.values import count
from forums.reading.words import NOT_NAMES

MAX_GROUPS = 40


class Group:
    """The rows of one candidate list. Each row has a title link, which names the thread or board;
    most addresses of these links have the pattern `pattern`."""

    def __init__(self, page: Page, pattern: str, rows: list[Row]) -> None:
        self.page = page
        self.pattern = pattern
        self.rows = rows
        for row in rows:
            row.group = self

    @cached_property
    def labels_first(self) -> bool | None:
        """Tells whether labels come before their values in the rows (True) or after them (False);
        None if the first 30 rows have as many of either kind."""
        votes = sum(row.label_votes for row in self.rows[:30])
        return votes > 0 if votes else None

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The node ranges of the rows: (first node, node after the last)."""
        return [(row.start, row.end) for row in self.rows]

    @cached_property
    def text_share(self) -> float:
        """The share of the page's text that is in the rows."""
        return min(1.0, sum(len(row.text) for row in self.rows) / max(1, self.page.text_total))

    def share(self, test: str) -> float:
        """Returns the share of the rows, in [0, 1], that contain at least one of the named items:
        "times", "counts" or "links"."""
        return sum(1 for row in self.rows if getattr(row, test)) / len(self.rows)


def _names(link: Link, page: Page) -> bool:
    """Tells whether a link's text can name a thread or a board: not a number, not a time, at most
    300 characters, with letters."""
    text = link.text
    if not text or count(text) is not None or len(text) > 300:
        return False
    if not any(map(str.isalpha, text)) and (len(text) < 6 or text[0] in "#№"):
        return False
    return len(text) > 60 or page.moment(text) is None or len(text) > 40


def _cell_path(page: Page, node: int) -> tuple[int, str]:
    """Returns a node's position in the tree as two values: the number of its tag path, and the
    column numbers of the cells of tables or definition lists that contain it, innermost first,
    joined by "/"."""
    outline, at, cells = page.outline, node, []
    while at >= 0:
        if outline.tags[at] in ("td", "th", "dd"):
            row = outline.parents[at]
            column = sum(
                1 for other in outline.children(row) if other < at
            ) + outline.rowspan_counts.get(row, 0)
            cells.append(str(column))
        at = outline.parents[at]
    return outline.paths[node], "/".join(cells)


LONGEST_LONE = 500


def _can_be_only_row(page: Page) -> Callable[[int], bool]:
    """Returns a function that tells whether an element can be the only row of a list: by its tag,
    and because it contains one or two times, links to at most four targets and at most LONGEST_LONE
    characters of text."""

    def enough(node: int) -> bool:
        tag = page.outline.tags[node]
        if tag not in ("tr", "li", "article", "dl", "div", "section", "p") and "-" not in tag:
            return False
        times = page.times_in(node, page.outline.ends[node])
        if page.outline.tags[node] in ("div", "section") and any(
            enough(above) for above in _row_above(page, node)
        ):
            return False
        keys = {
            link.key
            for link in page.links_in(node, page.outline.ends[node])
            if not link.is_user and link.text
        }
        return (
            1 <= len(times) <= 2
            and len(keys) <= 4
            and page.outline.text_length(node) <= LONGEST_LONE
        )

    return enough


def _row_above(page: Page, node: int) -> Iterator[int]:
    """Yields the nearest ancestor of a node, within six levels, that is a row or an item by its
    tag; nothing if there is none."""
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
    found = records_around(page.outline, anchors, _can_be_only_row(page))
    return [Row(page, _below_day(page, record, names[key]), names[key]) for key, record in found]


def _below_day(page: Page, record: Record, title: Link) -> Record:
    """Returns the record without day headings such as "Monday, 12 May" before its `title`, as they
    belong to all records of a day."""
    first, at = page.outline.piece_from, 0
    while (
        at + 1 < len(record)
        and first[record[at]] in page.days.headings
        and record[at + 1] <= title.node
    ):
        at += 1
    return record[at:]


def groups(page: Page) -> list[Group]:
    """Returns the candidate lists of a page: links whose addresses have the same pattern and whose
    elements have the same position in the tree, with the record around each link. The 40
    combinations of pattern and position with most targets are examined."""
    timed = {time.node for time in page.times if time.is_attribute}
    named = [link for link in page.links if _names(link, page)]
    places: dict[tuple[str, str, tuple[int, str]], list[Link]] = defaultdict(list)
    for link in named:
        places[
            loose_pattern(link.pattern), page.outline.shapes[link.node], _cell_path(page, link.node)
        ].append(link)
    for key in [key for key in places if "?" in key[0] and "#" in key[0].partition("?")[0]]:
        bare = (key[0].partition("?")[0], *key[1:])
        if bare in places:
            # one list: its addresses may have a query for some threads only, as /thread/7 and
            # /thread/9?lastmod=1234
            places[bare].extend(places.pop(key))
    places = {
        place: kept for place, links in places.items() if (kept := _without_times(links, timed))
    }
    ranked = sorted(places.items(), key=lambda item: -len({link.key for link in item[1]}))[
        :MAX_GROUPS
    ]
    made = []
    for links in (links for _, links in ranked):
        pattern = Counter(link.pattern for link in links).most_common(1)[0][0]
        if not _varied(links) or (
            len({link.key for link in links}) == 1 and not _can_be_alone(page, links[0])
        ):
            continue
        rows = _joined(page, pattern, _rows(page, links), named)
        if rows and not (len(rows) == 1 and _holds_others(rows[0])):
            made.append(Group(page, pattern, rows))
    return made


def _without_times(links: list[Link], timed: set[int]) -> list[Link]:
    """Removes from the links of a candidate list those that show a short time ("2 h ago") instead
    of a title. `timed` are the nodes with a full time in an attribute, such as a tooltip."""
    told = [link for link in links if link.node in timed]
    letters = sum(len(link.text) + sum(char >= "\u2e80" for char in link.text) for link in told)
    if not told or letters >= 14 * len(told):
        return links  # The links are titles that show their creation time as a tooltip.
    return [link for link in links if link.node not in timed or len(link.text) > 24]


def _holds_others(row: Row) -> bool:
    """Tells whether a supposed single row contains more links with the same form of address as its
    title link: then it is itself a list of rows."""
    own = loose_pattern(row.title.pattern)
    return any(
        link.key != row.title.key
        and not link.is_user
        and not link.fragment
        and loose_pattern(link.pattern) == own
        for link in row.links
    )


def _sorts(page: Page, link: Link) -> bool:
    """Tells whether a link's address is the page's own address with further parameters without
    digits, as for sorting and filtering."""
    return link.url.startswith(f"{page.url}&") and not any(
        char.isdigit() for char in link.url[len(page.url) :]
    )


def _has_id(link: Link) -> bool:
    """Tells whether a link's address contains the id of a thread or board or has the form of a
    thread's. A list with a single row is accepted only if its title link does so, or if the row is
    wide (`_in_wide_row`)."""
    return (
        " t:" in link.key or names_board(board_key(link.url)) or leads_to(link.pattern) == "thread"
    )


def _can_be_alone(page: Page, link: Link) -> bool:
    return (_has_id(link) or _in_wide_row(page, link)) and not _sorts(page, link)


def _in_wide_row(page: Page, link: Link) -> bool:
    """Tells whether a link is in a table row with at least four cells, as in tables with a heading
    for each column."""
    node, outline = link.node, page.outline
    while node >= 0 and outline.tags[node] != "tr":
        node = outline.parents[node]
    return node >= 0 and len(outline.children(node)) >= 4


def _varied(links: list[Link]) -> bool:
    """Tells whether the links name different things: at least half as many different texts as
    targets, or at least four different texts and ids of threads in the first five addresses. Always
    False if there are several targets and every text is a known button label, such as "reply"."""
    texts = {link.text for link in links}
    keys = {link.key for link in links}
    if len(keys) > 1 and all(text.lower() in NOT_NAMES for text in texts):
        return False  # A few texts that recur with different targets are buttons.
    return len(texts) >= 0.5 * len(keys) or (
        len(texts) >= 4 and all(" t:" in link.key for link in links[:5])
    )


@lru_cache(maxsize=8_192)
def loose_pattern(pattern: str) -> str:
    """Returns a pattern in which slugs with and without a number, and with and without ".html", are
    written alike, so that patterns that differ only in this are equal."""
    return re.sub(r"\*\.html?(?=$|\?)", "*", re.sub(r"\*[-_]#|#[-_]\*", "*", pattern))


def _joined(page: Page, pattern: str, rows: list[Row], named: list[Link]) -> list[Row]:
    """Adds to the rows of a list those whose title link is nested differently, for example in a
    heading; returns all in page order. An added row has the parent, tag path and depth of a row of
    the list, and contains a link of `named` (links that can be titles) whose address matches
    `pattern`."""
    outline = page.outline
    levels = {
        (outline.paths[row.start], outline.depths[row.start])
        for row in rows
        if len(row.record) == 1
    }
    if not levels or len(rows) < 2:
        return rows
    parents = {outline.parents[row.start] for row in rows}
    taken = {row.start for row in rows}
    keys = {row.title.key for row in rows}
    added = []
    for link in named:
        if loose_pattern(link.pattern) != loose_pattern(pattern) or link.key in keys:
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


_LEVELS = 4


_NUMBERED = re.compile(r"\d")


_MOSTLY = 0.8


def markup_shape(element: HtmlElement) -> str:
    """Returns tag, class names and id of an element and of its three nearest ancestors; names with
    digits are left out. "" if no name is left, because unrelated elements would have the same
    shape.

    >>> from lxml.html import fromstring
    >>> page = fromstring('<ul id="list"><li class="topic row2"><h3><a>Hello</a></h3></li></ul>')
    >>> markup_shape(page.find(".//a"))
    'a<h3<li.topic<ul#list'
    """
    parts: list[str] = []
    node: HtmlElement | None = element
    while node is not None and len(parts) < _LEVELS:
        names = sorted(
            name for name in (node.get("class") or "").split() if not _NUMBERED.search(name)
        )
        own = node.get("id") or ""
        named = "#" + own if own and not _NUMBERED.search(own) else ""
        parts.append(str(node.tag) + named + "".join("." + name for name in names))
        node = node.getparent()
    return "<".join(parts) if any("." in part or "#" in part for part in parts) else ""


def title_shape(page: Page, link: Link) -> str:
    """Returns the shape of a link: the form of its address and its `markup_shape`; "" if the latter
    is empty."""
    shape = markup_shape(page.outline.elements[link.node])
    return f"{loose_pattern(link.pattern)} {shape}" if shape else ""


def shapes_of(page: Page, titles: Iterable[Link]) -> Shapes:
    """Returns the link shapes of a page (see `title_shape`). `titles`: the shapes of thread titles,
    except those that other links have too (more than one such link per four titles). `others`: the
    shapes that only other links have.
    """
    titles = list(titles)
    keys = {link.key for link in titles}
    own: dict[str, set[str]] = defaultdict(set)
    for link in titles:
        own[title_shape(page, link)].add(link.key)
    alike: dict[str, set[str]] = defaultdict(set)
    for link in page.links:
        if link.key not in keys:
            alike[title_shape(page, link)].add(link.key)
    few = 1 / _MOSTLY - 1
    titled = frozenset(
        shape for shape, named in own.items() if len(alike.get(shape, ())) <= few * len(named)
    )
    return Shapes(titled - {""}, frozenset(alike.keys() - own.keys() - {""}))
