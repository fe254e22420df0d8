"""Finds the posts of a thread: elements around the times on a page are grouped to sets of records,
and the set is chosen whose records most often have an author, a time and a text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crawlmgr.web.pages.outline import Outline
from crawlmgr.web.pages.records import siblings_of_tops
from forums.reading.document import Page
from forums.reading.page_times import Time
from forums.reading.posts.lone_post import lone
from forums.reading.posts.post_set import PostSet, is_post_time, tells_joining
from forums.reading.posts.record_spans import Span, agree

_MAX_SETS = 6
_OWN_LEVELS = 4
_NUMBER = re.compile(r"\d+")
# Elements at one level around the times are accepted as posts at once if at least this share of
# their text is outside links and buttons; otherwise nested posts are tried too.
_PLAIN_SHARE = 0.2


def _local_shape(page: Outline, node: int) -> tuple[str, ...]:
    shapes = []
    for _ in range(_OWN_LEVELS):
        if node < 0:
            break
        shapes.append(page.shapes[node])
        node = page.parents[node]
    return tuple(shapes)


def post_sets(page: Page, apart: Sequence[tuple[int, int]] = ()) -> list[PostSet]:
    """Returns the sets of records of a page that may be its posts, best first. Each set consists of
    records around times in similar elements. Times inside the node ranges `apart` (start, end;
    ascending) are not used, since these nodes belong to something else."""
    grouped: dict[tuple[str, ...], list[Time]] = defaultdict(list)
    accepted = [
        time for time in page.times if is_post_time(page, time) and not is_within(time.node, apart)
    ]
    for time in _with_edit_times(page, accepted, apart):
        grouped[_local_shape(page.outline, time.node)].append(time)
    ranked = sorted(_merged(page.outline, list(grouped.values())), key=len, reverse=True)[
        :_MAX_SETS
    ]
    made = [candidate for times in ranked for candidate in _sets(page, _distinct(page, times))]
    made.sort(
        key=lambda posts: posts.quality * min(1.0, 0.6 + 0.1 * len(posts.spans)), reverse=True
    )
    inner = next((other for other in made[1:] if _repeats_header(other, made[0])), None)
    return [inner, *(posts for posts in made if posts is not inner)] if inner else _united(made)


def _united(made: list[PostSet]) -> list[PostSet]:
    """Returns the sets of records, best first. The first one is united with all others whose
    elements have ids of the same form, such as "post_7", because replies at different depths form
    separate sets; not if fewer than 70 % of the united records would have an author and a text."""
    first = _id_shape(made[0]) if made else ""
    spans: dict[str, Span] = {}
    rest = []
    for posts in made:
        named = dict(zip(_ids(posts), posts.spans, strict=True))
        if first and _id_shape(posts) == first and spans.keys().isdisjoint(named):
            spans |= named
        else:
            rest.append(posts)
    if len(spans) <= len(made[0].spans if made else ()):
        return made
    ordered = sorted(spans.values(), key=lambda span: span.start)
    whole = PostSet(made[0].page, [_without_inner(span, ordered) for span in ordered])
    return [whole, *rest] if _is_whole(whole) else made


def _ids(posts: PostSet) -> list[str]:
    return [posts.page.outline.elements[span.start].get("id") or "" for span in posts.spans]


def _id_shape(posts: PostSet) -> str:
    """Returns the form that the ids of a set's elements have in common, with # for numbers; "" if
    the ids differ otherwise or contain no number."""
    shapes = {_NUMBER.sub("#", name) for name in _ids(posts)}
    shape = shapes.pop() if len(shapes) == 1 else ""
    return shape if "#" in shape else ""


def _without_inner(span: Span, spans: Sequence[Span]) -> Span:
    inner = tuple(
        (other.start, other.end) for other in spans if span.start < other.start < span.end
    )
    return replace(span, nested=inner)


def _repeats_header(inner: PostSet, outer: PostSet) -> bool:
    """Tells whether a single post `inner` is inside the single post `outer` and repeats its author
    and time: then `inner` is the post without the header around it."""
    if len(inner.spans) != 1 or len(outer.spans) != 1 or not inner.people[0] or not outer.people[0]:
        return False
    one, other = inner.spans[0], outer.spans[0]
    if not (
        other.start < one.start
        and one.end <= other.end
        and agree(one.anchor.moment, other.anchor.moment)
    ):
        return False
    same = inner.people[0][0][0] == outer.people[0][0][0] and one.anchor.node != other.anchor.node
    return same and inner.plain_share >= outer.plain_share and inner.body_lengths[0] > 0


def is_within(node: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Tells whether a node is inside one of several node ranges (start, end), which are in
    ascending order."""
    at = bisect_left(ranges, (node + 1, 0)) - 1
    return at >= 0 and node < ranges[at][1]


_INLINE = frozenset("span em b strong i small font a time abbr u".split())


def _block(page: Outline, node: int) -> int:
    """Returns the nearest ancestor of a node, or the node itself, that is not just formatting (<b>,
    <span> …)."""
    while page.parents[node] >= 0 and page.tags[node] in _INLINE:
        node = page.parents[node]
    return node


def _merged(page: Outline, groups: list[list[Time]]) -> list[list[Time]]:
    """Returns the groups of times, merged if they differ only in formatting elements and never
    occur in the same element: the exact time of recent posts is often in an additional element."""
    kept: dict[tuple[str, ...], list[list[Time]]] = defaultdict(list)
    for group in sorted(groups, key=len, reverse=True):
        blocks = {_block(page, time.node) for time in group}
        shape = _local_shape(page, min(blocks))
        for other in kept[shape]:
            if not blocks & {_block(page, time.node) for time in other}:
                other.extend(group)
                other.sort(key=lambda time: time.node)
                break
        else:
            kept[shape].append(list(group))
    return _with_variants(page, [group for same in kept.values() for group in same])


def _with_variants(page: Outline, groups: list[list[Time]]) -> list[list[Time]]:
    """Merges groups of times that are variants of each other: the ancestors of their elements
    differ only in additional class names of one ancestor, as in posts by moderators or in the first
    post."""
    made: list[list[Time]] = []
    for group in sorted(groups, key=len, reverse=True):
        other = next(
            (known for known in made if _is_variant(page, known[0].node, group[0].node)), None
        )
        if other is None:
            made.append(group)
        else:
            other.extend(group)
            other.sort(key=lambda time: time.node)
    return made


def _is_variant(page: Outline, one: int, other: int) -> bool:
    shapes = []
    for _ in range(_OWN_LEVELS):
        if one < 0 or other < 0 or one == other or page.tags[one] != page.tags[other]:
            return False
        if page.shapes[one] != page.shapes[other]:
            first, second = (set(page.shapes[node].split(".")[1:]) for node in (one, other))
            shapes.append((first < second or second < first) and bool(first & second))
            if page.parents[one] == page.parents[other]:
                return shapes == [True]
        one, other = page.parents[one], page.parents[other]
    return False


def _with_edit_times(
    page: Page, accepted: list[Time], apart: Sequence[tuple[int, int]]
) -> list[Time]:
    """Returns the times `accepted` (possible times of posts) and further times such as those of
    edits, in page order, because some posts show only the time of their last edit. A time is added
    if its element has the tags and classes of an accepted time's element, and its parent contains
    no accepted time. Times in the node ranges `apart` and joining dates are not added.
    """
    outline, kept = page.outline, {id(time) for time in accepted}
    shapes = {_local_shape(outline, time.node) for time in accepted}
    nodes = [time.node for time in accepted]
    lonely = []
    for time in page.times:
        if (
            id(time) in kept
            or is_within(time.node, apart)
            or _local_shape(outline, time.node) not in shapes
            or tells_joining(page, time)
        ):
            continue
        parent = outline.parents[time.node]
        first = bisect_left(nodes, parent)
        if first >= len(nodes) or nodes[first] >= outline.ends[parent]:
            lonely.append(time)
    return sorted(accepted + lonely, key=lambda time: time.node)


def _distinct(page: Page, times: list[Time]) -> list[Time]:
    """Returns the times of posts without repetitions. Two successive times are one if they agree
    and fewer than six characters of text are between them; the more precise one is kept, such as a
    clock time after its date."""
    pieces = page.outline.pieces
    kept: list[Time] = []
    last = 0  # index of the piece of text that follows the previous time
    for time in times:
        between = sum(len(piece.text) for piece in pieces[last : time.piece])
        last = time.piece + 1
        if kept and agree(kept[-1].moment, time.moment):
            finer = time.moment.precision_seconds < kept[-1].moment.precision_seconds
            if between < 6 and (finer or kept[-1].moment == time.moment):
                kept[-1] = time if finer else kept[-1]
                continue
        kept.append(time)
    return kept


def _sets(page: Page, times: list[Time]) -> Iterator[PostSet]:
    outline = page.outline
    if len(times) == 1:
        posts = lone(page, times[0])
        if posts is not None:
            yield posts
        return
    nodes = _origins(outline, times)
    steps = []
    for at, node in enumerate(nodes):
        before = nodes[at - 1] if at else -1
        after = nodes[at + 1] if at + 1 < len(nodes) else len(outline)
        steps.append(_steps(outline, node, before, after))
    spare: PostSet | None = None
    for tried, level in enumerate(sorted(set(steps))):
        if sum(1 for found in steps if found >= level) < 0.5 * len(steps) or tried >= 4:
            break
        posts = _at_level(page, times, level)
        if _is_whole(posts):
            spare = spare or posts
            if posts.plain_share >= _PLAIN_SHARE:
                yield posts
                return
    if spare is None and len(times) == 2:
        spare = _pair(page, times)
    if spare is None or spare.plain_share < _PLAIN_SHARE:
        spare = _nested(page, times, min(steps)) or spare
    if spare is not None:
        yield spare


def _is_whole(posts: PostSet) -> bool:
    """Tells whether at least 70 % of the records have an author and a text."""
    whole = sum(
        1
        for people, length in zip(posts.people, posts.body_lengths, strict=True)
        if people and length
    )
    return whole >= 0.7 * len(posts.spans)


def _nested(page: Page, times: Sequence[Time], level: int) -> PostSet | None:
    """Returns the set of posts for a page on which replies are nested in the posts they reply to:
    the element around each time is `level` + 1 or `level` + 2 levels above it and may contain the
    times of replies. None if less than 70 % of the records thus made have an author and a text, or
    their texts are mostly links."""
    for higher in (level + 1, level + 2):
        posts = _at_level(page, times, higher)
        if len({span.start for span in posts.spans}) < len(posts.spans) or not any(
            span.nested for span in posts.spans
        ):
            return None
        if _is_whole(posts) and posts.plain_share >= 0.5:
            return posts
    return None


def _pair(page: Page, times: Sequence[Time]) -> PostSet | None:
    """Returns a set of two posts, each of which consists of several sibling elements: the first of
    the elements from the first time up to the second, the other of the same number from the second
    time on. None if a post lacks an author or a text.
    """
    outline, tops = page.outline, [time.node for time in times]
    while outline.parents[tops[0]] != outline.parents[tops[1]]:
        tops = [outline.parents[node] for node in tops]
        if tops[0] < 0 or tops[1] < 0:
            return None
    between = 0
    node = outline.ends[tops[0]]
    while node < tops[1] and between <= 8:
        node, between = outline.ends[node], between + 1
    if not 1 <= between <= 8 or outline.shapes[tops[0]] != outline.shapes[tops[1]]:
        return None
    end, last = outline.ends[tops[1]], outline.ends[outline.parents[tops[1]]]
    for _ in range(between):
        end = outline.ends[end] if end < last else end
    posts = PostSet(page, [Span(tops[0], tops[1], times[0]), Span(tops[1], end, times[1])])
    return posts if _is_whole(posts) else None


def _origins(page: Outline, times: Sequence[Time]) -> list[int]:
    """Returns for each time the element at level 0, from which ancestors are counted: the one that
    contains the time. If some times are inside additional formatting elements, it is the first
    ancestor that is not a formatting element.
    """
    own = [time.node for time in times]
    blocks = [_block(page, node) for node in own]
    worn = {page.depths[node] - page.depths[block] for node, block in zip(own, blocks, strict=True)}
    return blocks if len(worn) > 1 and len(set(blocks)) == len(own) else own


def _steps(page: Outline, node: int, before: int, after: int) -> int:
    steps, above = 0, page.parents[node]
    while above >= 0 and above > before and page.ends[above] <= after:
        steps, above = steps + 1, page.parents[above]
    return steps


def _at_level(page: Page, times: Sequence[Time], level: int) -> PostSet:
    outline, tops = page.outline, []
    for node in _origins(outline, times):
        for _ in range(level):
            if outline.parents[node] < 0 or outline.tags[outline.parents[node]] in ("body", "html"):
                break
            node = outline.parents[node]
        tops.append(node)
    records = siblings_of_tops(outline, tops)
    spans = []
    starts = [record[0] for record in records]
    ends = [outline.ends[record[-1]] for record in records]
    for at, time in enumerate(times):
        nested = []
        for other in range(at + 1, len(times)):
            if starts[other] >= ends[at]:
                break
            nested.append((starts[other], min(ends[other], ends[at])))
        spans.append(Span(starts[at], ends[at], time, tuple(nested)))
    return PostSet(page, spans)
