"""Finds the only post of a page, or the only one with its structure: an element around its time,
extended until it contains an author's name and a text."""

from __future__ import annotations

from crawlmgr.web.pages.outline import Outline
from forums.reading.document import Page
from forums.reading.page_times import Time
from forums.reading.posts.bodies import is_called_text
from forums.reading.posts.post_set import PostSet, is_post_time
from forums.reading.posts.record_spans import Span, agree
from forums.reading.words import class_roles

# a post's element is accepted without looking at larger ones if this share of its text is outside
# links
_PLAIN_SHARE = 0.3


def lone(page: Page, time: Time) -> PostSet | None:
    """Returns a single post that belongs to `time`: the smallest element around the time with an
    author's name and a text. A larger element is used instead if it contains no other post's time
    and yields a text at least 1.3 times as long. None if there is no such element."""
    posts = _smallest(page, time)
    if posts is None:
        return None
    outline, node = page.outline, posts.spans[0].start
    best = _with_text_below(page, posts)
    for step in range(6):
        body = best.bodies[0]
        marked = body is not None and (is_called_text(page, body) or best.body_lengths[0] >= 120)
        if body is not None and marked and not _is_heading(outline, body):
            break
        node = outline.parents[node]
        if node < 0 or outline.tags[node] in ("body", "html"):
            break
        others = _others(page, node, time)
        if (
            len(others) > 1
            or any(is_post_time(page, one) for one in others)
            or step >= 3
            and best.body_lengths[0] >= 12
        ):
            break
        wider = PostSet(page, [Span(node, outline.ends[node], time)])
        if wider.people[0] and wider.body_lengths[0] > 1.3 * best.body_lengths[0]:
            best = wider
    return _with_writer(page, best)


def _smallest(page: Page, time: Time) -> PostSet | None:
    """Returns the smallest element around a time that contains an author's name and a text, as a
    set of one post; None if there is none. If the text is only a link (such as one to the post
    itself in its header), a larger element with plain text is preferred, unless it contains another
    post's time."""
    outline, node = page.outline, time.node
    linked: PostSet | None = None
    for step in range(13):
        node = outline.parents[node] if step else node
        if node < 0 or outline.tags[node] in ("body", "html"):
            break
        if outline.text_length(node) < 12:
            continue
        if linked and any(is_post_time(page, one) for one in _others(page, node, time)):
            break
        posts = PostSet(page, [Span(node, outline.ends[node], time)])
        if posts.people[0] and posts.body_lengths[0]:
            if posts.plain_share >= _PLAIN_SHARE:
                return posts
            linked = linked or posts
    return linked


def _others(page: Page, node: int, time: Time) -> list[Time]:
    """Returns the times in the element `node` that do not belong to the post with the given `time`.
    Repetitions of that time, and its date and clock time in two elements, belong to it."""
    at = time.moment
    return [
        one
        for one in page.times_in(node, page.outline.ends[node])
        if one is not time and not agree(one.moment, at)
    ]


def _with_writer(page: Page, posts: PostSet) -> PostSet:
    """If the single post's author is neither a link to a user nor marked by a class, extends the
    post to the nearest larger element with such an author. Returns it unchanged if that element
    also contains another post's time, or would yield a much shorter text."""
    outline, span = page.outline, posts.spans[0]
    node = span.start
    if span.end != outline.ends[node] or posts.names_writer(0):
        return posts
    for _ in range(5):
        node = outline.parents[node]
        if node < 0 or outline.tags[node] in ("body", "html"):
            break
        if any(is_post_time(page, one) for one in _others(page, node, span.anchor)):
            break
        wider = PostSet(page, [Span(node, outline.ends[node], span.anchor)])
        if wider.people[0] and wider.names_writer(0):
            return wider if wider.body_lengths[0] >= 0.8 * posts.body_lengths[0] else posts
    return posts


def _with_text_below(page: Page, posts: PostSet) -> PostSet:
    """Returns the page's single post, extended if its element contains nothing but a heading: by
    the following siblings up to the first one with a text. Unchanged if none of the next three has
    a text."""
    span, outline = posts.spans[0], page.outline
    body = posts.bodies[0]
    if body is not None and not _is_heading(outline, body):
        return posts
    end, parent = span.end, outline.parents[span.start]
    for _ in range(3):
        if parent < 0 or end >= outline.ends[parent] or page.times_in(end, outline.ends[end]):
            break
        end = outline.ends[end]
        longer = PostSet(page, [Span(span.start, end, span.anchor)])
        below = longer.bodies[0]
        if below is not None and not _is_heading(outline, below) and longer.body_lengths[0] >= 20:
            return longer
    return posts


def _is_heading(outline: Outline, node: int) -> bool:
    return outline.tags[node] in ("h1", "h2", "h3") or "title" in class_roles(outline.classes[node])
