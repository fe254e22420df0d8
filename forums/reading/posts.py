"""Posts of a thread: the records around the times of a page, chosen by what they hold: somebody, a time, a text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from crawlmgr.web.records import Outline, siblings_of_tops
from forums.reading.document import Page, Time
from forums.reading.values import count, is_name
from forums.reading.words import JOINED, NOT_NAMES, class_roles, text_roles

_MAX_SETS = 6
_OWN_LEVELS = 4


@dataclass(frozen=True)
class Span:
    """The nodes of one post: from `start` to before `end`, without the posts nested in it."""

    start: int
    end: int
    anchor: Time
    nested: tuple[tuple[int, int], ...] = ()

    def holds(self, node: int) -> bool:
        """Whether a node belongs to this post itself."""
        return self.start <= node < self.end and not any(start <= node < end for start, end in self.nested)


class PostSet:
    """Records that may be posts, around times that stand alike."""

    def __init__(self, page: Page, spans: list[Span]) -> None:
        self.page = page
        self.spans = spans

    def column(self, span: Span, node: int) -> str:
        """Where a node stands in its record, the same for like records."""
        outline, top = self.page.outline, span.start
        if not outline.contains(top, node):
            top = node
            while outline.parents[top] != outline.parents[span.start] and outline.parents[top] >= 0:
                top = outline.parents[top]
            between = sum(1 for child in outline.children(outline.parents[span.start]) if span.start <= child < top)
            return f"{between}:{outline.relative(node, top)}"
        return f"0:{outline.relative(node, top)}"

    def nodes(self, span: Span) -> Iterator[int]:
        """The nodes of a post itself."""
        node = span.start
        while node < span.end:
            inner = next((end for start, end in span.nested if start == node), None)
            if inner is not None:
                node = inner
                continue
            yield node
            node += 1

    @cached_property
    def people(self) -> list[list[tuple[str, int]]]:
        """Candidate names of each post: (name, node), best column first."""
        return people_of(self)

    @cached_property
    def bodies(self) -> list[int | None]:
        """The node of each post's text."""
        return bodies_of(self)

    @cached_property
    def body_lengths(self) -> list[int]:
        """Characters of each post's text."""
        return [self.page.outline.text_length(body) if body is not None else 0 for body in self.bodies]

    @cached_property
    def quality(self) -> float:
        """How much the records look like posts, in [0, 1.5]: all of person, time and text, and much of the page."""
        n = len(self.spans)
        whole = sum(1 for people, length in zip(self.people, self.body_lengths, strict=True) if people and length) / n
        bodies = [length for length in self.body_lengths if length]
        unlinked = self.own_words
        share = min(1.0, sum(bodies) / max(1, self.page.text_total))
        fine = sum(1 for span in self.spans if span.anchor.moment.precision_seconds < 86_400) / n
        if n == 1:
            span = self.spans[0]
            whole *= min(1.0, unlinked + 0.2) * (0.5 if len(self.page.times_in(span.start, span.end)) > 5 else 1.0)
        return whole * (0.35 + 0.25 * unlinked + 0.5 * share + 0.15 * fine + 0.1 * min(1.0, n / 3))

    @cached_property
    def own_words(self) -> float:
        """Share of the text of the bodies that stands outside links: posts are written, lists are linked."""
        outline, plain, total = self.page.outline, 0, 0
        for body in self.bodies:
            if body is None:
                continue
            for at in range(outline.piece_from[body], outline.piece_to[body]):
                length = len(outline.pieces[at].text)
                total += length
                plain += 0 if at in self.page.piece_link else length
        return plain / total if total else 0.0


def is_post_time(page: Page, time: Time) -> bool:
    """Whether a time may be that of a post: not when somebody joined, nor when a text was edited."""
    if time.moment.precision_seconds > 366 * 86_400:
        return False
    if _tells_joining(page, time) or "edit" in text_roles(time.label[-24:]):
        return False
    outline = page.outline
    roles = class_roles(" ".join(outline.classes[node] for node in (time.node, max(0, outline.parents[time.node]))))
    if roles & {"edit"} and not roles & {"date", "created"}:
        return False
    own = outline.pieces[time.piece].text if time.piece < len(outline.pieces) else ""
    if not time.is_attribute and "edit" in text_roles(own[:24]):
        return False
    title = outline.elements[time.node].get("title") or ""
    return not ("edit" in text_roles(title[:30]) and not time.is_attribute) and "edit" not in text_roles(title[:8])


def _local_shape(page: Outline, node: int) -> tuple[str, ...]:
    shapes = []
    for _ in range(_OWN_LEVELS):
        if node < 0:
            break
        shapes.append(page.shapes[node])
        node = page.parents[node]
    return tuple(shapes)


def post_sets(page: Page) -> list[PostSet]:
    """The sets of records that may be posts, best first."""
    grouped: dict[tuple[str, ...], list[Time]] = defaultdict(list)
    accepted = [time for time in page.times if is_post_time(page, time)]
    for time in _with_lonely(page, accepted):
        grouped[_local_shape(page.outline, time.node)].append(time)
    ranked = sorted(grouped.values(), key=len, reverse=True)[:_MAX_SETS]
    made = [candidate for times in ranked for candidate in _sets(page, _distinct(page, times))]
    return sorted(made, key=lambda posts: posts.quality * min(1.0, 0.6 + 0.1 * len(posts.spans)), reverse=True)


def _tells_joining(page: Page, time: Time) -> bool:
    own = page.outline.pieces[time.piece].text if time.piece < len(page.outline.pieces) else ""
    return bool(JOINED.search(time.label[-24:]) or JOINED.match(own))


def _with_lonely(page: Page, accepted: list[Time]) -> list[Time]:
    """The times of posts, and times of edits that stand where other posts have theirs with none of their own beside."""
    outline, kept = page.outline, {id(time) for time in accepted}
    shapes = {_local_shape(outline, time.node) for time in accepted}
    nodes = [time.node for time in accepted]
    lonely = []
    for time in page.times:
        if id(time) in kept or _local_shape(outline, time.node) not in shapes or _tells_joining(page, time):
            continue
        parent = outline.parents[time.node]
        first = bisect_left(nodes, parent)
        if first >= len(nodes) or nodes[first] >= outline.ends[parent]:
            lonely.append(time)
    return sorted(accepted + lonely, key=lambda time: time.node)


def _distinct(page: Page, times: list[Time]) -> list[Time]:
    """Times without repetitions: the same moment again with hardly a word between is the same post's."""
    pieces = page.outline.pieces
    kept: list[Time] = []
    for time in times:
        if kept and kept[-1].moment == time.moment:
            between = sum(len(piece.text) for piece in pieces[kept[-1].piece + 1 : time.piece])
            if between < 6:
                continue
        kept.append(time)
    return kept


def _sets(page: Page, times: list[Time]) -> Iterator[PostSet]:
    outline = page.outline
    if len(times) == 1:
        posts = _lone(page, times[0])
        if posts is not None:
            yield posts
        return
    nodes = [time.node for time in times]
    steps = []
    for at, node in enumerate(nodes):
        before = nodes[at - 1] if at else -1
        after = nodes[at + 1] if at + 1 < len(nodes) else len(outline)
        steps.append(_steps(outline, node, before, after))
    for tried, level in enumerate(sorted(set(steps))):
        if sum(1 for found in steps if found >= level) < 0.5 * len(steps) or tried >= 4:
            break
        posts = _at_level(page, times, level)
        good = sum(1 for people, length in zip(posts.people, posts.body_lengths, strict=True) if people and length)
        if good >= 0.7 * len(posts.spans):
            yield posts
            return


def _steps(page: Outline, node: int, before: int, after: int) -> int:
    steps, above = 0, page.parents[node]
    while above >= 0 and above > before and page.ends[above] <= after:
        steps, above = steps + 1, page.parents[above]
    return steps


def _at_level(page: Page, times: Sequence[Time], level: int) -> PostSet:
    outline, tops = page.outline, []
    for time in times:
        node = time.node
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


def _lone(page: Page, time: Time) -> PostSet | None:
    """The only post of a page: the smallest element around the time with somebody's name and a text in it, widened
    where that brings a longer text that is not marked as one."""
    outline, node = page.outline, time.node
    for _ in range(12):
        node = outline.parents[node]
        if node < 0 or outline.tags[node] in ("body", "html"):
            return None
        if outline.text_length(node) < 12:
            continue
        posts = PostSet(page, [Span(node, outline.ends[node], time)])
        if posts.people[0] and posts.body_lengths[0]:
            break
    else:
        return None
    best = _with_text_below(page, posts)
    for _ in range(3):
        body = best.bodies[0]
        marked = body is not None and ("body" in page.roles_of(body) or best.body_lengths[0] >= 120)
        if body is not None and marked and not _is_heading(outline, body):
            break
        node = outline.parents[node]
        if node < 0 or outline.tags[node] in ("body", "html") or len(page.times_in(node, outline.ends[node])) > 2:
            break
        wider = PostSet(page, [Span(node, outline.ends[node], time)])
        if wider.people[0] and wider.body_lengths[0] > 1.3 * best.body_lengths[0]:
            best = wider
    return best


def _with_text_below(page: Page, posts: PostSet) -> PostSet:
    """A post whose element holds only its head: with the siblings after it, up to one that holds a text."""
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


# people




def people_of(posts: PostSet) -> list[list[tuple[str, int]]]:
    """Names in each post, from the column that names people best: links to profiles, classes and microdata that say
    so, and texts that differ between posts and stand near the time."""
    columns: dict[str, dict[int, tuple[str, int]]] = defaultdict(dict)
    points: dict[str, list[float]] = defaultdict(list)
    for at, span in enumerate(posts.spans):
        for name, node, worth in _names_in(posts, span):
            column = posts.column(span, node)
            if at not in columns[column]:
                columns[column][at] = name, node
                points[column].append(worth)
    _add_loose(columns, points)
    n = len(posts.spans)
    scored = []
    for column, found in columns.items():
        names = Counter(name for name, _ in found.values())
        share = len(found) / n
        value = sum(points[column]) / len(points[column]) + 1.5 * share
        if n >= 3 and len(names) == 1 and share > 0.6:
            linked = {link.url for _, node in found.values() if (link := posts.page.link_at.get(node)) is not None}
            value -= 2.5 if len(linked) >= 2 else 0.7  # one word that leads to many places is a button
        if len(names) >= 2:
            value += 0.3
        if column.endswith(_LOOSE):
            value -= 0.2
        scored.append((value, column))
    scored.sort(key=lambda pair: -pair[0])
    enough = 1.6 if n >= 3 else 2.0
    best = [column for value, column in scored if value >= enough][:6]
    if best:
        tail = _ORDINAL.sub("", best[0]).removesuffix(_LOOSE).rsplit("/", 1)[-1].split(".")[-1]
        best += [c for value, c in scored if c not in best and (value >= 1.5 or (tail and tail in c.rsplit("/", 1)[-1]))][:6]
    return [_unique(columns[column][at] for column in best if at in columns[column]) for at in range(n)]


def _unique(people: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return list(dict.fromkeys(people))


_LOOSE = " ~"
_ORDINAL = re.compile(r"#\d+|^\d+:|(?<=/)(?:b|strong|i|em|u|font|span|big|small)/|/(?:b|strong|i|em|u|font|span|big|small)$")


def _add_loose(columns: dict[str, dict[int, tuple[str, int]]], points: dict[str, list[float]]) -> None:
    """Columns without places among siblings: for records with a row or a badge more or less than the others."""
    for column, found in sorted(columns.items(), key=lambda item: min(node for _, node in item[1].values())):
        loose = _ORDINAL.sub("", column) + _LOOSE
        for at, value in found.items():
            if at not in columns[loose] or value[1] < columns[loose][at][1]:
                columns[loose][at] = value
        points[loose].extend(points[column])


_NUMBERED = re.compile(r"^[#№]\s*\d+$|^\d+\s*[#楼樓]$")
_LABELLED = re.compile(r"[:：]\s*[\d,.]+\s*$|^\d+\s+\w+$|^(?:re|aw|antw)\s*:", re.I)


def _names_in(posts: PostSet, span: Span) -> Iterator[tuple[str, int, float]]:
    page, outline = posts.page, posts.page.outline
    seen = 0
    for at in range(outline.piece_from[span.start], last_piece(outline, span)):
        text, node, line = outline.pieces[at]
        if not span.holds(node) or len(text) > 60:
            continue
        name = text.strip(" :：,，»«·•|")
        link = page.piece_link.get(at)
        if (
            not (is_name(name) or (link and link.is_user))
            or (name.lower() in NOT_NAMES and not (link and link.is_user))
            or count(name) is not None
            or text.endswith((":", "："))
        ):
            continue
        if page.moment(text) is not None or name in page.own_titles:
            continue
        if _NUMBERED.match(text) or (not (link and link.is_user) and _LABELLED.search(text)):
            continue
        if (
            not link
            and len(name) < 24
            and text_roles(name) & {"created", "last", "edit", "joined", "replies", "posts", "topics", "views"}
        ):
            continue
        seen += 1
        worth = _worth(page, span, at, node, line) - 0.02 * min(seen, 20)
        if worth > 0:
            yield name, link.node if link and link.text == text else node, worth


def last_piece(outline: Outline, span: Span) -> int:
    """The number after the last text of a post."""
    last = outline.piece_from[span.start]
    node = span.start
    while node < span.end:
        last = max(last, outline.piece_to[node])
        node = outline.ends[node]
    return last


def _worth(page: Page, span: Span, at: int, node: int, line: int) -> float:
    """How much a short text looks like the name of who wrote the post."""
    outline, worth = page.outline, 0.0
    link = page.piece_link.get(at)
    if link is not None:
        if link.is_user:
            worth += 1.6
        elif not link.is_local or link.fragment:
            worth -= 0.5
        else:
            tail = link.url.rstrip("/").rsplit("/", 1)[-1].lower()
            worth += 1.0 if tail == link.text.strip().lower().replace(" ", "-") and len(tail) > 2 else -0.3
    up, steps = node, 0
    while up >= span.start and steps < 4:
        element = outline.elements[up]
        roles = class_roles(outline.classes[up])
        item = f"{element.get('itemprop', '')} {element.get('rel', '')}"
        if "author" in roles and "avatar" not in roles:
            worth += 1.0 / (1 + 0.3 * steps)
        if "author" in item or ("name" in item.split() and steps <= 1):
            worth += 0.8
        foreign = roles & {"body", "signature", "quote", "edit", "tag", "likes"} and not roles & {"author"}
        if foreign and not outline.contains(up, span.anchor.node) and outline.text_length(up) > 80:
            worth -= 1.2
        if outline.tags[up] in ("blockquote", "cite", "button", "form", "label"):
            worth -= 1.5
        if outline.tags[up] in ("b", "strong", "h1", "h2", "h3", "h4", "h5") and steps <= 1:
            worth += 0.2
        up, steps = outline.parents[up], steps + 1
    if line == span.anchor.line:
        worth += 0.3
    if 0 < span.anchor.piece - at <= 3:
        worth += 0.4
    if _is_pictured(page, span, outline.pieces[at].text):
        worth += 0.5
    if len(outline.pieces[at].text) > 32:
        worth -= 0.5
    return worth


def _is_pictured(page: Page, span: Span, name: str) -> bool:
    """Whether a picture of the post carries the name: an avatar."""
    outline = page.outline
    for node in range(span.start, min(span.end, span.start + 40)):
        if outline.tags[node] == "img":
            said = (outline.elements[node].get("alt") or outline.elements[node].get("title") or "").casefold()
            if said and len(said) < 80 and name.casefold() in said and len(name) > 2:
                return True
    return False


# bodies


def bodies_of(posts: PostSet) -> list[int | None]:
    """The node of each post's own text: the column with the most text that holds neither time nor name."""
    outline = posts.page.outline
    people = [{node for _, node in found[:1]} for found in posts.people]
    columns: dict[str, dict[int, int]] = defaultdict(dict)
    for at, span in enumerate(posts.spans):
        quoted = -1
        for node in posts.nodes(span):
            if node < quoted:
                continue
            if outline.tags[node] == "blockquote" or "quote" in class_roles(outline.classes[node]):
                quoted = outline.ends[node]
                continue
            if outline.piece_from[node] == outline.piece_to[node] or outline.tags[node] in (
                "a",
                "b",
                "strong",
                "br",
                "time",
                "i",
                "em",
            ):
                continue
            if outline.contains(node, span.anchor.node) or any(outline.contains(node, other) for other in people[at]):
                continue
            if any(outline.contains(node, start) for start, _ in span.nested):
                continue
            column = posts.column(span, node)
            columns[column].setdefault(at, node)
            loose = _ORDINAL.sub("", column) + _LOOSE
            known = columns[loose].get(at)
            if known is None or outline.text_length(node) > outline.text_length(known):
                columns[loose][at] = node
    best, chosen = 0.0, ""
    for column, found in columns.items():
        value = _body_value(posts, found) * (0.85 if column.endswith(_LOOSE) else 1.0)
        if value > best:
            best, chosen = value, column
    if not chosen:
        return [None] * len(posts.spans)
    chosen = _narrowed(posts, columns, chosen)
    return [_body_at(posts, columns, chosen, at) for at in range(len(posts.spans))]


def _body_value(posts: PostSet, found: dict[int, int]) -> float:
    outline, n = posts.page.outline, len(posts.spans)
    total = sum(min(600, outline.text_length(node)) for node in found.values()) / n
    share = len(found) / n
    texts = {outline.text(node)[:80] for node in found.values()}
    varied = len(texts) / len(found)
    node = next(iter(found.values()))
    roles = posts.page.roles_of(node)
    factor = 1.0
    if (
        roles & {"signature", "edit", "likes", "pager", "avatar"}
        or outline.tags[node] in ("form", "footer", "nav", "blockquote", "button", "ul")
        and len(found) > 1
    ):
        factor *= 0.2
    if "body" in roles:
        factor *= 1.8
    if ("author" in roles or "title" in roles or outline.tags[node][:1] == "h") and "body" not in roles:
        factor *= 0.3
    return total * share * (0.2 + varied) * factor


def _narrowed(posts: PostSet, columns: dict[str, dict[int, int]], column: str) -> str:
    """The innermost column that still has nearly all text of `column` or is marked as the text itself."""
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
            if "body" in posts.page.roles_of(next(iter(found.values()))) and text >= 0.45 * size
        ]
        nearly = [
            (text, name) for text, name, found in inner if text >= 0.92 * size and outline.tags[next(iter(found.values()))] != "p"
        ]
        if marked:
            column = max(marked)[1]
        elif nearly:
            column = max(nearly)[1]
        else:
            return column


def _is_below(name: str, column: str) -> bool:
    if column.endswith(_LOOSE):
        return name.endswith(_LOOSE) and name.startswith(column[: -len(_LOOSE)] + "/")
    return name.startswith(column + "/") and not name.endswith(_LOOSE)


def _body_at(posts: PostSet, columns: dict[str, dict[int, int]], column: str, at: int) -> int | None:
    found = columns[column].get(at)
    if found is not None:
        return found
    outline = posts.page.outline
    shape = column.removesuffix(_LOOSE).rsplit("/", 1)[-1].split("#")[0]
    same = [
        node
        for node in posts.nodes(posts.spans[at])
        if outline.shapes[node] == shape and outline.piece_to[node] > outline.piece_from[node]
    ]
    if same and "." in shape:
        return max(same, key=outline.text_length)
    path = _ORDINAL.sub("", column.removesuffix(_LOOSE))
    empty = [node for node in posts.nodes(posts.spans[at]) if _ORDINAL.sub("", posts.column(posts.spans[at], node)) == path]
    if empty:
        return empty[0]  # a post of pictures only
    others = [nodes[at] for name, nodes in columns.items() if at in nodes]
    value = {node: _body_value(posts, {at: node}) for node in others}
    return max(others, key=lambda node: value[node], default=None)
