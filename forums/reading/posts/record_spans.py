"""Records of a page that may be posts: where each begins and ends, and which nodes have the same
position in different records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from crawlmgr.text.dates import Moment
from forums.reading.document import Page
from forums.reading.page_times import Time

REPLY = re.compile(r"^(?:re|aw|antw|sv|odp|回复|回覆|ответ)(?:\[\d+\])?\s*[:：]\s*", re.I)
_TITLE_MARKS = re.compile(r"\s+[-–—|·•:»«>/]+\s+|\s*[|»«]\s*|:\s+")


@lru_cache(maxsize=64)
def title_parts(title: str) -> frozenset[str]:
    """Returns the parts of a document's title, such as the thread's subject, its board and its
    site, which are not names of users."""
    return frozenset(_TITLE_MARKS.split(title)) if title else frozenset()


def agree(one: Moment, other: Moment) -> bool:
    """Tells whether two times may be the same: less than a minute apart, or on the same day if one
    has no time of day."""
    days = max(one.precision_seconds, other.precision_seconds) >= 86_400
    return (
        one.value.date() == other.value.date()
        if days
        else abs((one.value - other.value).total_seconds()) < 60
    )


@dataclass(frozen=True)
class Span:
    """The nodes of one post: from `start` (included) to `end` (excluded), without the posts nested
    in it, whose node ranges are `nested`; `anchor` is the time of the post."""

    start: int
    end: int
    anchor: Time
    nested: tuple[tuple[int, int], ...] = ()

    def holds(self, node: int) -> bool:
        """Tells whether a node belongs to this post, not to a post nested in it."""
        return self.start <= node < self.end and not (
            self.nested and any(start <= node < end for start, end in self.nested)
        )


class PostSpans:
    """A set of records around times in corresponding positions of a page, which may be posts.
    Author and text are found by `PostSet`."""

    def __init__(self, page: Page, spans: list[Span]) -> None:
        self.page = page
        self.spans = spans
        self._last_pieces: dict[tuple[int, int], int] = {}

    def column(self, span: Span, node: int) -> str:
        """Returns the column of a node: a key for its position inside its record, equal for
        corresponding nodes of similar records."""
        outline, top = self.page.outline, span.start
        if not outline.contains(top, node):
            top = node
            while outline.parents[top] != outline.parents[span.start] and outline.parents[top] >= 0:
                top = outline.parents[top]
            between = sum(
                1
                for child in outline.children(outline.parents[span.start])
                if span.start <= child < top
            )
            return f"{between}:{outline.relative(node, top)}"
        return f"0:{outline.relative(node, top)}"

    def is_title(self, text: str) -> bool:
        """Tells whether a text is a title of the page, or a part of it, possibly after "Re:": then
        it is the subject line of a post."""
        bare = REPLY.sub("", text).strip() if ":" in text[:14] or "：" in text[:14] else text
        if bare in self.page.own_titles:
            return True
        if len(bare) < (4 if self.page.is_dense else 8):
            return False
        return (
            self.page.title.startswith(bare)
            or self.page.title.endswith(bare)
            or bare in title_parts(self.page.title)
        )

    def nodes(self, span: Span) -> Iterator[int]:
        """Yields the nodes whose elements are wholly inside a post, without those of posts nested
        in it."""
        ends, node = self.page.outline.ends, span.start
        if not span.nested:
            yield from (node for node in range(span.start, span.end) if ends[node] <= span.end)
            return
        while node < span.end:
            inner = next((end for start, end in span.nested if start == node), None)
            if inner is not None:
                node = inner
                continue
            if ends[node] <= span.end:
                yield node
            node += 1

    def last_piece(self, span: Span) -> int:
        """Returns the number of the first text after a post."""
        known = self._last_pieces.get((span.start, span.end))
        if known is not None:
            return known
        outline = self.page.outline
        last = outline.piece_from[span.start]
        node = span.start
        while node < span.end:
            if outline.ends[node] > span.end:
                node += 1  # The element begins in the post and continues after it.
                continue
            last = max(last, outline.piece_to[node])
            node = outline.ends[node]
        self._last_pieces[span.start, span.end] = last
        return last
