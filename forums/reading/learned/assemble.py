"""Builds the rows of a list from the links that a model chose as titles, and posts from the texts
that it chose: finds the record around each, whatever its address and position."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from lxml.html import HtmlElement

from crawlmgr.text.dates import Moment, parse_time
from crawlmgr.web.pages.records import Record, records_around, siblings_of_tops
from forums.reading.document import Link, Page
from forums.reading.lists.row_groups import Group
from forums.reading.lists.row_sets import RowSet
from forums.reading.lists.rows import Row
from forums.reading.model import PostRecord
from forums.reading.page_times import Time
from forums.reading.posts.post_records import PostRows
from forums.reading.posts.post_set import PostSet, is_post_time
from forums.reading.posts.record_spans import Span
from forums.reading.values import count

_REST = 8  # a row may consist of several sibling elements, at most this many


_CLIMB = 12


_WHOLE = frozenset("body html table tbody main".split())


# an ancestor of the title link with more characters is too large to be a row that has no sibling
# rows
_LONGEST = 700


def _alone(page: Page, node: int) -> bool:
    """Tells whether an element can be the only row of a list: it is a table row, a list item, an
    article or a definition list by its tag, or contains a time."""
    outline = page.outline
    return outline.tags[node] in ("tr", "li", "article", "dl") or bool(
        page.times_in(node, outline.ends[node])
    )


def _held(page: Page, nodes: list[int], record: Record) -> int:
    """Returns the number of chosen links (`nodes`, ascending) inside a record."""
    return bisect_left(nodes, page.outline.ends[record[-1]]) - bisect_left(nodes, record[0])


def _with_rest(page: Page, record: Record, nodes: list[int]) -> Record:
    """Returns the record with the siblings after it added, up to the first that contains one of the
    links chosen as titles (`nodes`, ascending), because a row may consist of several siblings.
    Unchanged if that would add more than seven.
    """
    outline, made = page.outline, list(record)
    parent = outline.parents[record[-1]]
    while len(made) <= _REST:
        node = outline.ends[made[-1]]
        if parent < 0 or node >= outline.ends[parent] or _held(page, nodes, (node,)):
            break
        made.append(node)
    return tuple(made) if len(made) <= _REST else record


def _between(page: Page, node: int, before: int, after: int) -> Record:
    """Returns the record of the link `node`: the largest element around it that lies after the link
    `before`, ends before the link `after` (node numbers of other chosen links), and is no whole
    page or table. Of elements with more than 700 characters, only the link's own parent is taken.
    """
    outline, best, above = page.outline, node, page.outline.parents[node]
    for _ in range(_CLIMB):
        if (
            above <= before
            or above < 0
            or outline.ends[above] > after
            or outline.tags[above] in _WHOLE
        ):
            break
        if outline.text_length(above) > _LONGEST and best != node:
            break
        best, above = above, outline.parents[above]
    return (best,)


# if links with the same key have at least this number of different texts, the key does not identify
# their target
_DIFFERENT = 4


def identities(links: Sequence[Link]) -> list[str]:
    """Returns for each link of a list a string that identifies its target: the link's key, or its
    address if links with many different texts have the same key."""
    said: dict[str, set[str]] = defaultdict(set)
    for link in links:
        if count(link.text) is None:
            said[link.key].add(link.text)
    return [link.url if len(said[link.key]) >= _DIFFERENT else link.key for link in links]


def rows_of(page: Page, links: list[Link]) -> list[Row]:
    """Returns the rows whose title links are `links`, one for each different target, in page order.
    Most rows are elements at one level of the tree; for a link without such an element, the row is
    the largest element around it without another of the links."""
    links = sorted(links, key=lambda link: link.node)
    names: dict[Hashable, Link] = {}
    anchors = []
    for key, link in zip(identities(links), links, strict=True):
        names.setdefault(key, link)
        anchors.append((link.node, key))
    if len(names) == 1:
        only, link = next(iter(names.items()))
        found = records_around(page.outline, [(link.node, only)], lambda node: _alone(page, node))
    else:
        found = records_around(page.outline, anchors)
    records: dict[Hashable, Record] = dict(found)
    nodes = sorted(link.node for link in names.values())
    for name, link in names.items():
        record = records.get(name)
        if record is None or record == (link.node,) or _held(page, nodes, record) > 1:
            at = bisect_left(nodes, link.node)
            after = nodes[at + 1] if at + 1 < len(nodes) else len(page.outline)
            records[name] = _with_rest(
                page, _between(page, link.node, nodes[at - 1] if at else -1, after), nodes
            )
    made = sorted(
        (Row(page, records[name], link) for name, link in names.items()),
        key=lambda row: row.title.node,
    )
    return _titled(page, made)


def _is_title(page: Page, link: Link) -> bool:
    return (
        not link.is_user
        and any(map(str.isalpha, link.text))
        and parse_time(link.text, page.dates) is None
    )


def _titled(page: Page, rows: list[Row]) -> list[Row]:
    """Returns the rows, with other title links if most of the present ones are only a time, a
    number or a user's name.

    The new title links share one position in the rows. It must hold a possible title in most rows;
    of several, the one with most text is taken. A row without a link there keeps its title link.
    Without such a position nothing changes.
    """
    if 2 * sum(_is_title(page, row.title) for row in rows) >= len(rows):
        return rows
    said: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        for column, link in {
            row.column(link.node): link for link in row.links if _is_title(page, link)
        }.items():
            said[column].append(len(link.text))
    steady = {
        column: sum(lengths) for column, lengths in said.items() if 2 * len(lengths) > len(rows)
    }
    if not steady:
        return rows
    best = max(steady, key=lambda column: steady[column])
    found = [
        next((link for link in row.links if row.column(link.node) == best), row.title)
        for row in rows
    ]
    return [Row(page, row.record, link) for row, link in zip(rows, found, strict=True)]


def row_set(page: Page, links: list[Link]) -> RowSet | None:
    """Returns the list of rows whose title links are `links`; None if there are no links."""
    if not links:
        return None
    pattern = Counter(link.pattern for link in links).most_common(1)[0][0]
    return RowSet(page, Group(page, pattern, rows_of(page, links)), [])


_CLIMB_OF_POST = 40  # largest number of levels from a text up to the element of its post


_LONGEST_SPAN = 40  # largest number of sibling elements that one post can consist of


def _tops(page: Page, bodies: list[int]) -> list[int]:
    """Returns for each chosen text (`bodies`, in page order) the highest element around it that
    contains no other chosen text. A single text has no such limit: its element is the lowest one
    that contains a time and whose parent has much more text than the post (see `_is_much`)."""
    outline, tops = page.outline, []
    for at, body in enumerate(bodies):
        before = bodies[at - 1] if at else -1
        after = bodies[at + 1] if at + 1 < len(bodies) else len(outline)
        best, above = body, outline.parents[body]
        for _ in range(_CLIMB_OF_POST):
            if (
                above <= before
                or above < 0
                or outline.ends[above] > after
                or outline.tags[above] in ("body", "html")
            ):
                break
            if (
                len(bodies) == 1
                and page.times_in(best, outline.ends[best])
                and _is_much(page, above, body)
            ):
                break
            best, above = above, outline.parents[above]
        tops.append(best)
    return tops


def _is_much(page: Page, node: int, body: int) -> bool:
    """Tells whether the element `node` contains much more text than the element `body` of the
    post's text: more than three times its number of characters plus 400."""
    return page.outline.text_length(node) > 3 * page.outline.text_length(body) + 400


def _leveled(page: Page, tops: list[int], bodies: list[int]) -> list[int]:
    """Returns for each post the element in `tops`, or, if it is higher in the tree than their
    median depth, its descendant at that depth that contains the text in `bodies`. The first and the
    last post need this: their elements are often too large.
    """
    outline = page.outline
    if len(tops) < 3:
        return tops
    depths = sorted(outline.depths[top] for top in tops)
    usual = depths[len(depths) // 2]
    made = []
    for top, body in zip(tops, bodies, strict=True):
        node = body
        while outline.depths[node] > max(usual, outline.depths[top]) and outline.parents[node] >= 0:
            node = outline.parents[node]
        made.append(node)
    return made


def _time_of(page: Page, start: int, end: int, body: int) -> Time | None:
    """Returns the time of a post that consists of the nodes from `start` (included) to `end`
    (excluded): the first time before its text `body`, otherwise the first one after it; None if
    there is none."""
    inside = range(body, page.outline.ends[body])
    found = [
        time
        for time in page.times_in(start, end)
        if time.node not in inside and is_post_time(page, time)
    ]
    before = [time for time in found if time.node < body]
    return next(iter(before or found), None)


class LearnedPosts:
    """The posts around the texts that a model chose; `bodies` are the nodes of these texts. The
    attribute `posts` is the set of all posts; `untimed` holds the positions in `bodies` of those
    for which no time was found.
    """

    def __init__(self, page: Page, bodies: list[int]) -> None:
        self.page = page
        outline = page.outline
        records = siblings_of_tops(outline, _leveled(page, _tops(page, bodies), bodies))
        spans, self.untimed = [], set[int]()
        for at, (record, body) in enumerate(zip(records, bodies, strict=True)):
            start, end = record[0], outline.ends[record[-1]]
            if len(record) > _LONGEST_SPAN:
                start, end = body, outline.ends[body]
            anchor = _time_of(page, start, end, body)
            if anchor is None:
                self.untimed.add(at)
                piece = outline.piece_from[start]
                line = outline.pieces[piece].line if piece < len(outline.pieces) else -1
                anchor = Time(
                    start, piece, line, Moment(page.dates.fetched_at, 60, False), False, ""
                )
            spans.append(Span(start, end, anchor))
        self.posts = PostSet(page, spans)
        self.posts.__dict__["bodies"] = list(bodies)

    def records(self) -> Iterator[tuple[HtmlElement, PostRecord]]:
        """Yields the posts in page order as (element that contains most of the post, record)."""
        rows = PostRows(self.posts)
        untimed = {id(self.page.outline.elements[rows.blocks[at]]) for at in self.untimed}
        for element, record in rows.records():
            yield element, replace(record, posted=None) if id(element) in untimed else record
