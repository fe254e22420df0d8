"""Finds the text of each post: the elements in corresponding positions (a column) that hold most
text and contain neither time nor name."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import lru_cache
from itertools import groupby

from forums.reading.document import Page
from forums.reading.posts.authors import LOOSE, NUMBERED, ORDINAL
from forums.reading.posts.quotes import (
    ATTACHED,
    class_and_role,
    is_edit_line,
    is_own_blockquote,
)
from forums.reading.posts.record_spans import PostSpans
from forums.reading.values import count
from forums.reading.words import FOOTER, class_roles, is_profile_line, text_roles


def bodies_of(posts: PostSpans, names: list[list[tuple[str, int]]]) -> list[int | None]:
    """Returns the node of each post's own text; None for a post without one. names: (name, node)
    candidates of each post, best first."""
    people = [{node for _, node in found[:1]} for found in names]
    columns = _columns(posts, people)
    chosen = _most_like_text(posts, columns)
    if not chosen:
        return [None] * len(posts.spans)
    chosen = _narrowed(posts, columns, chosen)
    return [
        _whole(posts, at, _body_at(posts, columns, chosen, at), people[at])
        for at in range(len(posts.spans))
    ]


def _columns(posts: PostSpans, people: list[set[int]]) -> dict[str, dict[int, int]]:
    """Returns the elements that may be a post's text, by column (key of a position in a post) and
    number of the post. Elements that contain the post's time or name are left out. people: the
    nodes of the names of each post.

    An element is listed under its exact column and under the column without sibling indices (its
    key ends in LOOSE), because additional elements shift the positions in some posts.
    """
    places, ends = posts.page.text_places, posts.page.outline.ends
    columns: dict[str, dict[int, int]] = defaultdict(dict)
    for at, span in enumerate(posts.spans):
        quoted, kept_out = -1, (span.anchor.node, *people[at], *(start for start, _ in span.nested))
        for node in posts.nodes(span):
            if node < quoted or node <= kept_out[0] < ends[node]:
                continue
            place = places.get(node)
            if place is None:
                place = places[node] = _place(posts, node)
            if place == _APART:
                quoted = ends[node]
            if place != _TEXT or any(node <= other < ends[node] for other in kept_out):
                continue
            column = posts.column(span, node)
            columns[column].setdefault(at, node)
            loose = _loose(column)
            known = columns[loose].get(at)
            if known is None or _is_rather_text(posts, node, known):
                columns[loose][at] = node
    return columns


_APART, _NONE, _TEXT = range(3)


def _place(posts: PostSpans, node: int) -> int:
    """Returns how a node is related to the text of a post: `_TEXT` if it may be the text, `_NONE`
    if it is not but elements inside it may be, `_APART` if nothing in it is (quote, signature,
    attachments). The result is the same for every post that contains the node."""
    page, outline = posts.page, posts.page.outline
    if _is_apart(outline.tags[node], class_and_role(page, node)):
        return _APART
    if outline.piece_from[node] == outline.piece_to[node] or outline.tags[node] in _IN_TEXTS:
        return _NONE
    length = outline.text_length(node)
    if length > _LONGEST_LINE:
        return _TEXT
    if outline.piece_from[node] in page.date_parts and length <= _LONGEST_DATE:
        return _NONE
    text = outline.text(node)
    is_none = length <= 40 and _is_label(posts, node) or posts.is_title(text) or _is_foot(text)
    # the text of a post may be a number
    told = is_none and not any(map(str.isalpha, text)) and is_called_text(page, node)
    return _NONE if is_none and not (told and page.moment(text) is None) else _TEXT


def _most_like_text(posts: PostSpans, columns: dict[str, dict[int, int]]) -> str:
    """Returns the column (elements at one position of all posts) that looks most like the texts of
    posts, the first in ties; "" if there are no columns. Columns are scored by decreasing length of
    text, until no other can reach the best score.
    """
    weights = [0.85 if column.endswith(LOOSE) else 1.0 for column in columns]
    texts = [_text_value(posts, found) for found in columns.values()]
    names, order = (
        list(columns),
        sorted(range(len(columns)), key=lambda at: -texts[at] * weights[at]),
    )
    best, chosen = 0.0, -1
    for at in order:
        if texts[at] * weights[at] * _MAX_FACTOR < best:
            break
        value = _body_value(posts, columns[names[at]]) * weights[at]
        if value > best or (value == best and 0 <= at < chosen):
            best, chosen = value, at
    return names[chosen] if chosen >= 0 else ""


@lru_cache(maxsize=8_192)
def _loose(column: str) -> str:
    return ORDINAL.sub("", column) + LOOSE


@lru_cache(maxsize=8_192)
def _is_foot(text: str) -> bool:
    return "©" in text or bool(FOOTER.match(text))


_PARTS = frozenset({"span", "font"})


def _whole(posts: PostSpans, at: int, body: int | None, names: set[int]) -> int | None:
    """Returns the node of the whole text of post number `at`: if its parts before and after a quote
    or signature are in separate formatting elements, the element around them; otherwise `body`,
    which may be None. names: the nodes of the post's names.
    """
    outline, span = posts.page.outline, posts.spans[at]
    if body is None or outline.tags[body] not in _PARTS or outline.parents[body] < span.start:
        return body
    around = outline.parents[body]
    if (
        outline.ends[around] > span.end
        or sum(outline.shapes[node] == outline.shapes[body] for node in outline.children(around))
        < 2
    ):
        return body
    apart = span.anchor.node, *names, *(start for start, _ in span.nested)
    return body if any(outline.contains(around, node) for node in apart) else around


_LONGEST_DATE, _LONGEST_LINE = (
    30,
    150,
)  # largest numbers of characters of a date, and of a title or footer line
# labelled counts: "Number of replies: 0", "4 replies"
_COUNTED = re.compile(r"^(?:([^\d:：]{3,30})[:：]\s*[\d.,]+|[\d.,]+k? ?([^\W\d_]{2,20}))$")
# lines of counts: "705 views · 2 likes"
_COUNTS = re.compile(r"^\W*\d[\d.,]*\s*[^\d∙·•|]{1,16}(?:[∙·•|]\W*\d[\d.,]*\s*[^\d∙·•|]{1,16})+$")
_IN_TEXTS = frozenset("a b strong br time i em".split())
_LOOKS = re.compile(
    r"(?<!\S)text-(?!body|content|block|wrap|post|main)\S+"
)  # classes for the look of a text, such as text-right and text-muted


def is_called_text(page: Page, node: int) -> bool:
    """Tells whether the class or id of an element says that it is the text of a post (body,
    content, message …)."""
    return "body" in page.roles_of(node) and (
        "text-" not in page.outline.classes[node] or _is_text_apart_from_looks(page, node)
    )


def _is_text_apart_from_looks(page: Page, node: int) -> bool:
    identity = page.outline.elements[node].get("id") or ""
    return "body" in class_roles(_LOOKS.sub("", f"{page.outline.classes[node]} {identity}"))


@lru_cache(maxsize=8_192)
def _is_apart(tag: str, classes: str) -> bool:
    """Tells whether an element is not the author's text, by its tag and class names: a quote, a
    signature, a list of files. Some forums put the post itself into a blockquote whose class says
    so: `<blockquote class="postMessage">`.
    """
    roles = class_roles(classes)
    if tag == "blockquote" and is_own_blockquote(classes):
        return False
    return (
        "quote" in roles
        or "signature" in roles
        and "body" not in roles
        or tag == "blockquote"
        or bool(ATTACHED.search(classes))
    )


def _is_label(posts: PostSpans, node: int) -> bool:
    """Tells whether the short text of an element is a time, a count, or labels of fields, so that
    it is not the text of a post. False if it consists of the user's own words and a note of an edit
    (see `_has_words`)."""
    text = posts.page.outline.text(node)
    return (_is_field(text) or posts.page.moment(text) is not None) and not _has_words(posts, node)


def _has_words(posts: PostSpans, node: int) -> bool:
    """Tells whether the short text of an element consists of a note of an edit and, on separate
    lines, words of the user."""
    outline = posts.page.outline
    pieces = outline.pieces[outline.piece_from[node] : outline.piece_to[node]]
    lines = [
        " ".join(piece.text for piece in line)
        for _, line in groupby(pieces, key=lambda piece: piece.line)
    ]
    own = [line for line in lines if not is_edit_line(line)]
    if not own or len(own) == len(lines) or is_profile_line(own[0]) or _is_field(own[0]):
        return False
    return posts.page.moment(own[0]) is None and len(own[0]) >= (4 if posts.page.is_dense else 8)


@lru_cache(maxsize=16_384)
def _is_field(text: str) -> bool:
    numbered = NUMBERED.match(text) and any(map(str.isdigit, text))
    labelled = _COUNTED.match(text)
    if labelled and text_roles(labelled[1] or labelled[2]) & {
        "replies",
        "comments",
        "posts",
        "topics",
        "views",
    }:
        return True
    if FOOTER.match(text) or count(text) is not None or numbered or not any(map(str.isalnum, text)):
        return True
    return len(text_roles(text)) >= 3 or bool(_COUNTS.match(text))


def _describes(posts: PostSpans, node: int) -> bool:
    """Tells whether an element contains lines that describe a member, such as the date of
    joining."""
    outline, lines = posts.page.outline, posts.page.member_lines
    at = bisect_left(lines, outline.piece_from[node])
    return at < len(lines) and lines[at] < outline.piece_to[node]


def _is_rather_text(posts: PostSpans, node: int, known: int) -> bool:
    """Tells whether `node` is a better candidate for the text of a post than `known`, which has the
    same position in the markup. If `node` comes after `known` and exactly one of them contains
    lines that describe a member, the one without such lines is better; otherwise the one with the
    longer text."""
    outline = posts.page.outline
    if outline.ends[known] <= node:
        facts, known_facts = _describes(posts, node), _describes(posts, known)
        if facts != known_facts:
            return known_facts
    return outline.text_length(node) > outline.text_length(known)


_CALLED_TEXT = 1.8
_VARIED, _ALIKE = 1.0, 0.2
_MAX_FACTOR = (_ALIKE + _VARIED) * _CALLED_TEXT * 1.000001
"""Upper bound of the ratio of a column's value to its `_text_value`."""


def _text_value(posts: PostSpans, found: dict[int, int]) -> float:
    """Returns how much text a column holds: the mean length of its texts (each counted up to 600
    characters) times the share of posts that have one. found: the column's nodes by number of the
    post."""
    n = len(posts.spans)
    return (
        sum(min(600, posts.page.outline.text_length(node)) for node in found.values())
        / n
        * (len(found) / n)
    )


def _body_value(posts: PostSpans, found: dict[int, int]) -> float:
    """Returns a score of how much a column looks like the texts of posts. found: the column's nodes
    by number of the post."""
    outline = posts.page.outline
    texts = {outline.text(node)[:80] for node in found.values()}
    varied = _VARIED * len(texts) / len(found)
    node = next(iter(found.values()))
    roles = posts.page.roles_of(node)
    factor = 1.0
    if (
        roles & {"signature", "edit", "likes", "pager", "avatar"}
        or outline.tags[node] in ("form", "footer", "nav", "blockquote", "button", "ul")
        and not (outline.tags[node] == "blockquote" and "body" in roles)
        and len(found) > 1
    ):
        factor *= 0.2
    if is_called_text(posts.page, node):
        factor *= _CALLED_TEXT
    if "input" in outline.tags[node : min(outline.ends[node], node + 400)]:
        factor *= 0.2  # An input form is not the text of a post.
    if sum(_describes(posts, inner) for inner in found.values()) >= 0.6 * len(found):
        factor *= 0.2  # Lines that describe a member are not the text of a post.
    if (
        "author" in roles or "title" in roles or outline.tags[node][:1] == "h"
    ) and "body" not in roles:
        factor *= 0.3
    return _text_value(posts, found) * (_ALIKE + varied) * factor


def _narrowed(posts: PostSpans, columns: dict[str, dict[int, int]], column: str) -> str:
    """Returns the innermost column below `column` that holds nearly all (92 %) of its text, or at
    least 45 % if its class names mark it as the text of a post; `column` itself if there is none.
    columns: by key, the nodes at one position of all posts.
    """
    outline = posts.page.outline
    while True:
        size = sum(outline.text_length(node) for node in columns[column].values())
        inner = [
            (sum(outline.text_length(node) for node in found.values()), name, found)
            for name, found in columns.items()
            if _is_below(name, column) and len(found) >= 0.7 * len(columns[column])
        ]
        if not inner:
            return column
        marked = [
            (text, name)
            for text, name, found in inner
            if is_called_text(posts.page, next(iter(found.values()))) and text >= 0.45 * size
        ]
        nearly = [
            (text, name)
            for text, name, found in inner
            if text >= 0.92 * size and outline.tags[next(iter(found.values()))] != "p"
        ]
        if marked:
            column = max(marked)[1]
        elif nearly:
            column = max(nearly)[1]
        else:
            return column


def _is_below(name: str, column: str) -> bool:
    if column.endswith(LOOSE):
        return name.endswith(LOOSE) and name.startswith(column[: -len(LOOSE)] + "/")
    return name.startswith(column + "/") and not name.endswith(LOOSE)


def _body_at(
    posts: PostSpans, columns: dict[str, dict[int, int]], column: str, at: int
) -> int | None:
    found = columns[column].get(at)
    if found is not None:
        return found
    outline = posts.page.outline
    shape = column.removesuffix(LOOSE).rsplit("/", 1)[-1].split("#")[0]
    same = [
        node
        for node in posts.nodes(posts.spans[at])
        if outline.shapes[node] == shape and outline.piece_to[node] > outline.piece_from[node]
    ]
    if same and "." in shape:
        return max(same, key=outline.text_length)
    path = ORDINAL.sub("", column.removesuffix(LOOSE))
    empty = [
        node
        for node in posts.nodes(posts.spans[at])
        if ORDINAL.sub("", posts.column(posts.spans[at], node)) == path
    ]
    if empty:
        return empty[0]  # The post's text consists only of images.
    others = [nodes[at] for name, nodes in columns.items() if at in nodes]
    others = [node for node in others if not _describes(posts, node)] or others
    value = {node: _body_value(posts, {at: node}) for node in others}
    return max(others, key=lambda node: value[node], default=None)


_WITHIN_TEXTS = frozenset({"p", "ul", "ol", "pre"})


def paragraphs(posts: PostSpans, at: int, body: int, name: int | None) -> list[int]:
    """Returns the nodes of the text of post number `at`: only `body`, unless this is one of several
    paragraphs without an element around them. Then similar siblings belong to it too, in both
    directions up to the first that is no paragraph or contains the post's time or its author's name
    (node `name`); quotes are left out."""
    outline, span = posts.page.outline, posts.spans[at]
    if outline.tags[body] != "p" or not span.start < body:
        return [body]
    beside = [
        node
        for node in outline.children(outline.parents[body])
        if span.holds(node) and outline.ends[node] <= span.end
    ]
    own = beside.index(body)
    found = [body]
    for way in (beside[:own][::-1], beside[own + 1 :]):
        for node in way:
            if outline.tags[node] == "blockquote":
                continue
            if not _is_paragraph(posts, node, body) or outline.contains(node, span.anchor.node):
                break
            if name is not None and outline.contains(node, name):
                break
            found.append(node)
    return sorted(found)


def _is_paragraph(posts: PostSpans, node: int, body: int) -> bool:
    outline = posts.page.outline
    if outline.tags[node] not in _WITHIN_TEXTS or outline.classes[node] != outline.classes[body]:
        return False
    pieces = range(outline.piece_from[node], outline.piece_to[node])
    if pieces and all(piece in posts.page.piece_link for piece in pieces):
        return False
    return outline.text_length(node) > 40 or not _is_label(posts, node)
