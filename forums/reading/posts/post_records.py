"""Converts the records of a thread to posts: text without quotes and signature, ids, numbers; and
finds a first post whose structure differs from the replies'."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property

from lxml.html import HtmlElement

from crawlmgr.text.dates import Moment
from forums.reading.document import Page
from forums.reading.model import PostRecord
from forums.reading.page_times import Time
from forums.reading.patterns import leads_to
from forums.reading.posts.bodies import is_called_text, paragraphs
from forums.reading.posts.post_set import PostSet, is_post_time
from forums.reading.posts.quotes import left_out
from forums.reading.posts.record_spans import Span
from forums.reading.posts.texts import own_lines, text_of, without_last_of_all
from forums.reading.words import ADVERTISERS

_POST_PREFIX = re.compile(
    r"^(?:p|pid|post|msg|message|comment|c|reply|entry|m|item|node|postid|post_message|pcr?|r|floor"
    r"|tid|id|t)$",
    re.I,
)
_ID = re.compile(r"^(.*?)[-_]?(\d{1,19})$")
_UUID = re.compile(r"^(.*?)[-_]?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})$", re.I)
_OPAQUE = re.compile(r"^(?:[a-z]+[-_])?(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{6,40}$")
_NUMBER = re.compile(
    r"^(?:#|№|nr\.?|no\.?|post\s*#?|reply\s*#?|message\s*#?|第)\s*(\d{1,7})\s*(?:楼|樓|#)?$"
    r"|^(\d{1,7})\s*(?:楼|樓|#|F)$",
    re.I,
)


class PostRows:
    """Extracts the fields of the posts of a page. Ids and numbers are chosen for all posts
    together, because every post has them in the same place of its markup."""

    def __init__(self, posts: PostSet) -> None:
        self.posts = posts
        self.page: Page = posts.page
        self.spans = posts.spans

    @cached_property
    def _authors(self) -> frozenset[str]:
        return frozenset(people[0][0] for people in self.posts.people if people)

    def text(self, at: int) -> str:
        """Returns the text of post number `at` on the page, without quotes unless nothing else
        remains; "" if it has none."""
        body = self.posts.bodies[at]
        if body is None:
            return ""
        people = self.posts.people[at]
        nodes = paragraphs(self.posts, at, body, people[0][1] if people else None)
        parts = [
            (self.page.outline.elements[node], *left_out(self.page, node, self._authors))
            for node in nodes
        ]
        own = own_lines(
            "\n".join(
                filter(
                    None, (text_of(element, others, quotes) for element, quotes, others in parts)
                )
            )
        )
        if not own.strip() and any(quotes for _, quotes, _ in parts):
            own = own_lines("\n".join(text_of(element, others) for element, _, others in parts))
        first, _, rest = own.partition("\n")
        return rest if rest and self.posts.is_title(first) else own

    def _time(self, at: int) -> Moment | None:
        return self.spans[at].anchor.moment

    @cached_property
    def _ids(self) -> list[tuple[str, str] | None]:
        """For each post a pair: its id with the text before it in the attribute ("post|123"), and
        the id alone ("123"). All are from the one attribute (or link) that looks most like an id,
        which at least half of the posts have, each with a different value. None for posts without
        it."""
        found: dict[str, dict[int, str]] = defaultdict(dict)
        for at, span in enumerate(self.spans):
            for prefix, value in self._id_candidates(span):
                found[prefix].setdefault(at, value)
        n = len(self.spans)
        best, points = "", 0.0
        for prefix, values in found.items():
            if len(set(values.values())) < len(values) or len(values) * 2 < n:
                # An attribute of less than half of the posts, or with repeated values, is not their
                # id.
                continue
            name = prefix.partition(":")[2]
            digits = sum(value.isdigit() for value in values.values())
            score = (
                2.0 * len(values) / n
                + (0.5 if _POST_PREFIX.match(name.strip("-_")) else 0.0)
                + 0.3 * digits / len(values)
            )
            if sequential(list(values.values()), not prefix.startswith("data")):
                score -= 1.2
            if "number" in name or "index" in name:
                score -= 1.0
            score += 0.4 * min(1.0, sum(len(v) for v in values.values()) / len(values) / 6) + (
                0.2 if prefix.startswith("id") else 0.8 if prefix.startswith("data") else 0.0
            )
            if score > points:
                best, points = prefix, score
        name = best.partition(":")[2]
        rest = [found[best].get(at) for at in range(n)] if best else [None] * n
        return [(f"{name}|{value}", value) if value else None for value in rest]

    def _id_candidates(self, span: Span) -> Iterator[tuple[str, str]]:
        outline = self.page.outline
        nodes = list(self.posts.nodes(span))[:120]
        node = outline.parents[span.start]
        for _ in range(2):
            if node < 0 or any(
                other is not span and node <= other.start < outline.ends[node]
                for other in self.spans
            ):
                break
            nodes.insert(0, node)
            node = outline.parents[node]
        for node in nodes:
            element = outline.elements[node]
            for attribute in (
                "id",
                "name",
                "data-post-id",
                "data-pk",
                "data-id",
                "data-pid",
                "data-comment-id",
                "data-message-id",
                "data-number",
            ):
                value = element.get(attribute)
                if not value or (attribute == "name" and element.tag != "a"):
                    continue
                match = _UUID.match(value) or _ID.match(value)
                kind = "id" if attribute in ("id", "name") else attribute
                if match:
                    yield f"{kind}:{match.group(1)}", match.group(2)
                elif attribute == "id" and _OPAQUE.match(value):
                    yield "id:", value
        for link in self.page.links_in(span.start, span.end):
            if span.holds(link.node):
                match = _UUID.match(link.fragment) or _ID.match(link.fragment)
                if match:
                    yield f"link:{match.group(1)}", match.group(2)
                match = re.search(
                    r"(?:[?&](?:p|pid|post|postid)=|/(?:posts?|comments?|findpost|message)/)(\d+)",
                    link.url,
                )
                if match and not link.is_user:
                    yield "link:post", match.group(1)

    def _permalink(self, at: int, post_id: str | None) -> str | None:
        """Returns the address of post number `at` on the page: of the links outside its text, the
        one that looks most like a permalink. The signs are: its address contains the post's id
        (`post_id`), it is on the post's time, its text is the post's number or "permalink", its
        address has the form of a post's. None if no link has enough of them.
        """
        span, outline = self.spans[at], self.page.outline
        best, points = None, 0.0
        body = self.posts.bodies[at]
        for link in self.page.links_in(span.start, span.end):
            if not span.holds(link.node) or link.is_user or not link.is_local:
                continue
            if body is not None and outline.contains(body, link.node):
                continue
            whole = f"{link.url}#{link.fragment}" if link.fragment else link.url
            value = 0.0
            if post_id and re.search(rf"(?<!\d){re.escape(post_id)}(?!\d)", whole):
                value += 1.0
            if outline.contains(link.node, span.anchor.node) or outline.contains(
                span.anchor.node, link.node
            ):
                value += 1.0
            if _NUMBER.match(link.text) or link.text in (
                "#",
                "¶",
                "permalink",
                "Permalink",
                "link",
            ):
                value += 0.7
            if link.key == self.page.key and link.fragment:
                value += 0.4
            if re.search(
                r"reply|quote|report|edit|delete|posting|action=|mode=|like|share|vote",
                link.url,
                re.I,
            ):
                value -= 1.5
            if leads_to(link.pattern) == "post":
                value += 0.3
            if value > points:
                best, points = whole, value
        return best if points >= 1.0 else None

    @cached_property
    def _numbers(self) -> list[int | None]:
        outline, found = self.page.outline, []
        for at, span in enumerate(self.spans):
            number = None
            body = self.posts.bodies[at]
            for piece in range(outline.piece_from[span.start], self.posts.last_piece(span)):
                text, node, _ = outline.pieces[piece]
                if (
                    len(text) > 16
                    or not span.holds(node)
                    or (body is not None and outline.contains(body, node))
                ):
                    continue
                match = _NUMBER.match(text)
                if match:
                    number = int(match.group(1) or match.group(2))
                    break
            if number is None:
                value = next(
                    (
                        outline.elements[n].get("data-number") or ""
                        for n in self.posts.nodes(span)
                        if outline.elements[n].get("data-number")
                    ),
                    "",
                )
                number = int(value) if value.isdigit() and len(value) < 8 else None
            found.append(number)
        known = [number for number in found if number is not None]
        return found if len(set(known)) == len(known) else [None] * len(found)

    def records(self) -> list[tuple[HtmlElement, PostRecord]]:
        """Returns the posts in page order, each as (element that contains most of it, record).
        Posts of advertisers are left out."""
        made = []
        texts = without_last_of_all([self.text(at) for at in range(len(self.spans))])
        for at in range(len(self.spans)):
            people = self.posts.people[at]
            if people and people[0][0].strip().lower() in ADVERTISERS:
                continue
            identity = self._ids[at]
            post_id = identity[1] if identity else None
            record = PostRecord(
                author=people[0][0] if people else None,
                posted=self._time(at),
                text=texts[at],
                post_id=post_id,
                url=self._permalink(at, post_id),
                number=self._numbers[at],
            )
            made.append((self.page.outline.elements[self.blocks[at]], record))
        return made

    @cached_property
    def blocks(self) -> list[int]:
        """The node of each post's element; the largest of several siblings, such as an anchor and
        the post after it. If most of these elements have the same tag and class, a post whose
        element differs gets its nearest ancestor with that tag and class, unless the ancestor
        contains another post."""
        outline = self.page.outline
        blocks = [self._largest(span) for span in self.spans]
        looks = [self._look(node) for node in blocks]
        usual, count = Counter(looks).most_common(1)[0] if looks else (None, 0)
        if usual is None or count * 2 <= len(looks):
            return blocks
        taken = sorted(set(blocks))
        for at, node in enumerate(blocks):
            up = node
            while looks[at] != usual and outline.parents[up] >= 0 and self._look(up) != usual:
                up = outline.parents[up]
            # number of posts inside element `up`; the post itself is one of them
            inside = bisect_left(taken, outline.ends[up]) - bisect_right(taken, up)
            if up != node and self._look(up) == usual and inside == 1:
                blocks[at] = up
        return blocks

    def _look(self, node: int) -> tuple[str, str]:
        return self.page.outline.tags[node], self.page.outline.elements[node].get("class") or ""

    def _largest(self, span: Span) -> int:
        outline = self.page.outline
        if outline.ends[span.start] >= span.end or outline.parents[span.start] < 0:
            return span.start
        beside = [
            node
            for node in outline.children(outline.parents[span.start])
            if span.start <= node < span.end
        ]
        return max(beside, key=lambda node: (outline.ends[node] - node, -node), default=span.start)


def sequential(values: list[str], is_place: bool) -> bool:
    """Tells whether ids only number the posts on the page: 1, 2, 3 … or, if the attribute may hold
    a position (`is_place`), at least three successive numbers from one that ends in 1: 21, 22, 23 …
    """
    numbers = [int(value) for value in values if value.isdigit()]
    return (
        len(numbers) == len(values)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        and (numbers[0] == 1 or (is_place and numbers[0] % 10 == 1 and len(numbers) > 2))
    )


def _repeats(page: Page, other: PostSet, posts: PostSet) -> bool:
    """Tells whether the supposed first post `other` is not a post of its own: its text is only a
    title of the page, or it has the author and time (within a minute) of the first of `posts`."""
    text = page.outline.text(other.bodies[0]) if other.bodies[0] is not None else ""
    if text and any(
        text.casefold() == heading.casefold() for heading in (*page.headings, page.title)
    ):
        return True
    first, announced = posts.spans[0].anchor.moment.value, other.spans[0].anchor.moment.value
    same = bool(
        posts.people[0] and other.people[0] and posts.people[0][0][0] == other.people[0][0][0]
    )
    return same and abs((first - announced).total_seconds()) < 60


_PICTURE_NAME = re.compile(r"[a-z]+(?:_[a-z]+)*")


def _written(page: Page, body: int | None) -> int:
    """Returns the number of letters in the text in element `body`, without icons: those of icon
    fonts are written as names such as "chat_bubble_outline". 0 if `body` is None."""
    outline, letters = page.outline, 0
    for text, node, _ in (
        outline.pieces[outline.piece_from[body] : outline.piece_to[body]]
        if body is not None
        else ()
    ):
        if not (
            _PICTURE_NAME.fullmatch(text)
            and ("_" in text or "icon" in outline.classes[node].lower())
        ):
            letters += sum(map(str.isalpha, text))
    return letters


# least length in characters of a first post, if its element's class or id names it as a post's text
_FEWEST = 6


def opening_post(page: Page, posts: PostSet) -> PostSet | None:
    """Returns the first post of a thread if its markup differs from that of the replies `posts`;
    None if no such post is found.

    It is the element with the longest text among those that contain a time and an author and come
    before the replies; if there is none, a text apart from the row that holds the post's author
    and time (see `_beside_byline`).
    """
    first, outline = posts.spans[0], page.outline
    best: PostSet | None = None
    least = 8 if page.is_dense else 20
    for time in page.times_in(0, first.start):
        if not is_post_time(page, time) or _is_after(time, posts):
            continue
        node = time.node
        while (above := outline.parents[node]) >= 0 and not outline.contains(
            above, first.anchor.node
        ):
            node = above
            if outline.text_length(node) < least or node > time.node:
                continue
            if best is not None and outline.text_length(node) <= 1.1 * best.body_lengths[0]:
                # To replace the longest text so far, a text must be more than 10 % longer.
                continue
            other = PostSet(page, [Span(node, outline.ends[node], time)])
            if not other.people[0]:
                continue
            longer = best is None or other.body_lengths[0] > 1.1 * best.body_lengths[0]
            body = other.bodies[0]
            enough = _FEWEST if body is not None and is_called_text(page, body) else least
            if (
                longer
                and other.body_lengths[0] >= enough
                and other.plain_share >= 0.5
                and _written(page, body) >= enough // 2
                and not _repeats(page, other, posts)
            ):
                best = other
    return best or _beside_byline(page, posts, least)


def _is_after(time: Time, posts: PostSet) -> bool:
    """Tells whether a time is later than all `posts`, as the clock in the head of a page is: then
    it is not that of the post they reply to. Times are compared as finely as both are known."""
    newest = max(posts.spans, key=lambda span: span.anchor.moment.value).anchor.moment
    unknown = max(newest.precision_seconds, time.moment.precision_seconds)
    return (time.moment.value - newest.value).total_seconds() > unknown


def _beside(page: Page, node: int, end: int, time: Time) -> Iterator[Span]:
    """Yields the nodes from the element `node`, which holds a time, to `end`, and those of the
    element before it, if this holds no time, and of itself."""
    yield Span(node, end, time)
    outline = page.outline
    before = [child for child in page.outline.children(outline.parents[node]) if child < node]
    if before and not page.times_in(before[-1], node):
        yield Span(before[-1], outline.ends[node], time)


def _beside_byline(page: Page, posts: PostSet, least: int) -> PostSet | None:
    """Returns the first post of a thread if its author and time are in a header or row of their own
    and its text comes separately, before the first reply: below the header, or in the element just
    above the row; None if there is none. `least`: smallest number of characters of the text."""
    first, outline = posts.spans[0], page.outline
    for time in page.times_in(0, first.start):
        apart = abs((first.anchor.moment.value - time.moment.value).total_seconds()) >= 60
        if not apart or not is_post_time(page, time) or page.is_aside(time.node):
            continue
        if _is_after(time, posts):
            continue
        node = time.node
        for _ in range(4):
            for span in _beside(page, node, first.start, time):
                other = PostSet(page, [span])
                if (
                    other.people[0]
                    and other.has_byline(0)
                    and other.body_lengths[0] >= least
                    and _written(page, other.bodies[0]) >= least // 2
                    and other.plain_share >= 0.8
                    and not _repeats(page, other, posts)
                ):
                    return other
            node = outline.parents[node]
            if node < 0 or outline.contains(node, first.anchor.node):
                break
    return None
