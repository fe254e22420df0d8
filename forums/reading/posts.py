"""Posts of a thread: the records around the times of a page, chosen by what they hold: somebody, a time, a text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from crawlmgr.web.records import Outline, siblings_of_tops
from forums.reading.document import Link, Page, Time
from forums.reading.posts_bodies import bodies_of, is_called_text
from forums.reading.posts_links import repeats, spells, writers
from forums.reading.posts_people import heads_profile, people_of
from forums.reading.posts_spans import PostSpans, Span
from forums.reading.words import JOINED, class_roles, text_roles

_WRITER = re.compile(r"author|user-?name|poster(?![a-z])|nick|(?:^|[\s_-])name(?:$|\s)", re.I)
_MEMBER = re.compile(
    r"(?:joined?|join(?:ed)? date|registered|member since|registriert|dabei seit|mitglied seit|inscrit|membre depuis|registrado|"
    r"registro|iscritto|регистрация|зарегистрирован|dołączył|注册|註冊|登録日|가입)(?![^\W\d_])",
    re.I,
)
_MAX_SETS = 6
_OWN_LEVELS = 4


class PostSet(PostSpans):
    """Records that may be posts, and what they hold."""

    @cached_property
    def people(self) -> list[list[tuple[str, int]]]:
        """Candidate names of each post: (name, node), best column first."""
        return people_of(self)

    @cached_property
    def bodies(self) -> list[int | None]:
        """The node of each post's text."""
        return bodies_of(self, self.people)

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
        if self.page.is_aside(self.spans[0].start):
            whole *= 0.5
        return whole * (0.35 + 0.25 * unlinked + 0.5 * share + 0.15 * fine + 0.1 * min(1.0, n / 3))

    def describes_author(self, at: int) -> bool:
        """Whether lines about a member follow the name of a post's author."""
        name = self.people[at][0][0] if self.people[at] else None
        first = self.page.outline.piece_from[self.spans[at].start]
        pieces = range(first, self.last_piece(self.spans[at]))
        return any(self.page.outline.pieces[p].text == name and heads_profile(self, p, self.spans[at]) for p in pieces)

    def names_writer(self, at: int) -> bool:
        """Whether the name of a post's author is a link to a person, or stands in an element called author, nick or name."""
        span, (name, node) = self.spans[at], self.people[at][0]
        if any(link.is_user and link.text == name for link in self.page.links_in(span.start, span.end)):
            return True
        return bool(_WRITER.search(self.page.roles_above(node, max(span.start, node - 6))))

    def is_sure(self, at: int) -> bool:
        """Whether a text is surely somebody's post: its author is linked or described, its time told to the hour."""
        moment = self.spans[at].anchor.moment
        if not self.people[at] or (moment.precision_seconds >= 86_400 and not moment.relative):
            return False
        linked = self.links_people and self.writers[at] is not None
        return linked or self.names_writer(at) or self.describes_author(at)

    def has_byline(self, at: int) -> bool:
        """Whether a post's name stands right by its time, told to the minute, with hardly a word beside them: on one line, "anna
        (12.3.2026 10:15)", or on the lines around it."""
        anchor, outline = self.spans[at].anchor, self.page.outline
        if not self.people[at] or anchor.moment.precision_seconds > 60:
            return False
        name, node = self.people[at][0]
        first = outline.piece_from[node]
        low, high = sorted((first, anchor.piece))
        if high - low > 4 or first >= len(outline.pieces) or anchor.piece >= len(outline.pieces):
            return False
        start = self.page.line_range.get(outline.pieces[low].line, (low, low))[0]
        end = self.page.line_range.get(outline.pieces[high].line, (high, high))[1]
        return sum(len(piece.text) for piece in outline.pieces[start:end]) < len(name) + 60

    def tells_joining(self, at: int) -> bool:
        """Whether a post tells when its author joined, as it does of members and of nothing else."""
        pieces = self.page.outline.pieces
        return any(
            len(pieces[piece].text) <= 40 and _MEMBER.match(pieces[piece].text)
            for piece in range(self.page.outline.piece_from[self.spans[at].start], self.last_piece(self.spans[at]))
        )

    @cached_property
    def writers(self) -> list[Link | None]:
        """The link on the name of each post's author."""
        return writers(self.page, self.people)

    @cached_property
    def links_people(self) -> bool:
        """Whether the links on the authors' names lead to people: they come again with the same name, or spell it."""
        links = [link for link in self.writers if link is not None]
        if 2 * len(links) < len(self.spans):
            return False
        if len(self.spans) == 1:
            return spells(links[0]) and self.has_byline(0)
        return repeats(links) or 2 * sum(spells(link) for link in links) > len(links)

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
    ranked = sorted(_merged(page.outline, list(grouped.values())), key=len, reverse=True)[:_MAX_SETS]
    made = [candidate for times in ranked for candidate in _sets(page, _distinct(page, times))]
    return sorted(made, key=lambda posts: posts.quality * min(1.0, 0.6 + 0.1 * len(posts.spans)), reverse=True)


_INLINE = frozenset("span em b strong i small font a time abbr u".split())


def _block(page: Outline, node: int) -> int:
    """The nearest element around a node that is not mere formatting."""
    while page.parents[node] >= 0 and page.tags[node] in _INLINE:
        node = page.parents[node]
    return node


def _merged(page: Outline, groups: list[list[Time]]) -> list[list[Time]]:
    """Groups of times put together where they differ in formatting only and never stand in one element: recent posts
    often wear their exact time in a further element."""
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
    return [group for same in kept.values() for group in same]


_HAS_VALUE = re.compile(r"\d|[:：]\s*\w")


def _tells_joining(page: Page, time: Time) -> bool:
    own = page.outline.pieces[time.piece].text if time.piece < len(page.outline.pieces) else ""
    before = page.outline.pieces[time.piece - 1].text if not time.label and time.piece else ""
    named = len(before) <= 24 and JOINED.match(before) and not _HAS_VALUE.search(before)  # "Location: Ulm" is whole in itself
    ends = not time.label and any(
        found.end() == len(before.rstrip(" :：")) for found in JOINED.finditer(before[-40:].rstrip(" :："))
    )
    return bool(JOINED.search(time.label[-24:]) or JOINED.match(own) or named or ends)


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
    spare: PostSet | None = None
    for tried, level in enumerate(sorted(set(steps))):
        if sum(1 for found in steps if found >= level) < 0.5 * len(steps) or tried >= 4:
            break
        posts = _at_level(page, times, level)
        if _is_whole(posts):
            spare = spare or posts
            if posts.own_words >= 0.2:
                yield posts
                return
    if spare is None and len(times) == 2:
        spare = _pair(page, times)
    spare = spare or _nested(page, times, min(steps))
    if spare is not None:
        yield spare


def _is_whole(posts: PostSet) -> bool:
    """Whether most records have somebody and a text."""
    whole = sum(1 for people, length in zip(posts.people, posts.body_lengths, strict=True) if people and length)
    return whole >= 0.7 * len(posts.spans)


def _nested(page: Page, times: Sequence[Time], level: int) -> PostSet | None:
    """Posts that hold the answers to them beside their own text: elements around each time that hold other times too."""
    for higher in (level + 1, level + 2):
        posts = _at_level(page, times, higher)
        if len({span.start for span in posts.spans}) < len(posts.spans) or not any(span.nested for span in posts.spans):
            return None
        if _is_whole(posts) and posts.own_words >= 0.5:
            return posts
    return None


def _pair(page: Page, times: Sequence[Time]) -> PostSet | None:
    """Two posts of several siblings each: what stands between the two times' own belongs to the first, as much after the
    second to that. Of two alone nothing else tells how many siblings make a post."""
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
    for step in range(6):
        body = best.bodies[0]
        marked = body is not None and (is_called_text(page, body) or best.body_lengths[0] >= 120)
        if body is not None and marked and not _is_heading(outline, body):
            break
        node = outline.parents[node]
        if node < 0 or outline.tags[node] in ("body", "html"):
            break
        times = page.times_in(node, outline.ends[node])
        others = sum(is_post_time(page, one) for one in times) > 1
        if len(times) > 2 or others and best.body_lengths[0] >= 12 or step >= 3 and (best.body_lengths[0] >= 12 or others):
            break
        wider = PostSet(page, [Span(node, outline.ends[node], time)])
        if wider.people[0] and wider.body_lengths[0] > 1.3 * best.body_lengths[0]:
            best = wider
    return _with_writer(page, best)


def _with_writer(page: Page, posts: PostSet) -> PostSet:
    """A lone post whose supposed author nothing tells from other short texts: widened up to a name that is linked or
    called so, where nobody else's post stands between."""
    outline, span = page.outline, posts.spans[0]
    node = span.start
    if span.end != outline.ends[node] or posts.names_writer(0):
        return posts
    for _ in range(5):
        node = outline.parents[node]
        if node < 0 or outline.tags[node] in ("body", "html"):
            break
        if sum(is_post_time(page, one) for one in page.times_in(node, outline.ends[node])) > 1:
            break
        wider = PostSet(page, [Span(node, outline.ends[node], span.anchor)])
        if wider.people[0] and wider.names_writer(0):
            return wider if wider.body_lengths[0] >= 0.8 * posts.body_lengths[0] else posts
    return posts


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
