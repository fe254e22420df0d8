"""Builds posts from the texts that a model chose: finds the element and the time of each post; the
other fields are read as for posts that the rules found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lxml.html import HtmlElement

from crawlmgr.text.dates import Moment
from crawlmgr.web.pages.records import siblings_of_tops
from forums.reading.document import Page
from forums.reading.model import PostRecord
from forums.reading.pagetimes import Time
from forums.reading.postrows import PostRows
from forums.reading.posts_set import PostSet, is_post_time
from forums.reading.posts_spans import Span

_CLIMB = 40  # largest number of levels from a text up to the element of its post
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
        for _ in range(_CLIMB):
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
