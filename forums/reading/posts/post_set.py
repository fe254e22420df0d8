"""A set of records that may be the posts of a page, with author and text of each, and a score of
how much they look like a thread."""

from __future__ import annotations

import re
from functools import cached_property

from forums.reading.document import Link, Page
from forums.reading.page_times import Time
from forums.reading.posts.authors import (
    address_ends_in_name,
    heads_profile,
    people_of,
    repeats,
    writers,
)
from forums.reading.posts.bodies import bodies_of
from forums.reading.posts.quotes import is_edit_line
from forums.reading.posts.record_spans import PostSpans
from forums.reading.words import JOINED, class_roles, text_roles

_WRITER = re.compile(r"author|user-?name|poster(?![a-z])|nick|(?:^|[\s_-])name(?:$|\s)", re.I)
_MEMBER = re.compile(
    r"(?:joined?|join(?:ed)? date|registered|member since|registriert|anmeld(?:e|ungs)datum|"
    r"dabei seit|mitglied seit|inscrit|membre depuis|registrado|"
    r"registro|iscritto|регистрация|зарегистрирован|dołączył|注册|註冊|登録日|가입)(?![^\W\d_])",
    re.I,
)


class PostSet(PostSpans):
    """A set of records that may be the posts of a page, with author, time and text of each. The
    lists are parallel to `spans`."""

    @cached_property
    def people(self) -> list[list[tuple[str, int]]]:
        """The candidates for the author of each post, as lists of (name, node), best first; empty
        if there is none."""
        return people_of(self)

    @cached_property
    def bodies(self) -> list[int | None]:
        """The node of the element with each post's text; None for a post without text."""
        return bodies_of(self, self.people)

    @cached_property
    def body_lengths(self) -> list[int]:
        """The number of characters of each post's text; 0 without one."""
        return [
            self.page.outline.text_length(body) if body is not None else 0 for body in self.bodies
        ]

    @cached_property
    def quality(self) -> float:
        """The quality of the records as posts, in [0, 1.35]: higher if each has an author, a text
        and an exact time, and if their texts are outside links and a large part of the page."""
        n = len(self.spans)
        whole = (
            sum(
                1
                for people, length in zip(self.people, self.body_lengths, strict=True)
                if people and length
            )
            / n
        )
        bodies = [length for length in self.body_lengths if length]
        unlinked = self.plain_share
        share = min(1.0, sum(bodies) / max(1, self.page.text_total))
        fine = sum(1 for span in self.spans if span.anchor.moment.precision_seconds < 86_400) / n
        if n == 1:
            span = self.spans[0]
            whole *= min(1.0, unlinked + 0.2) * (
                0.5 if len(self.page.times_in(span.start, span.end)) > 5 else 1.0
            )
        if self.page.is_aside(self.spans[0].start):
            whole *= 0.5
        return whole * (0.35 + 0.25 * unlinked + 0.5 * share + 0.15 * fine + 0.1 * min(1.0, n / 3))

    def describes_author(self, at: int) -> bool:
        """Tells whether lines that describe a member (date of joining and the like) follow the name
        of the author of post number `at`."""
        name = self.people[at][0][0] if self.people[at] else None
        first = self.page.outline.piece_from[self.spans[at].start]
        pieces = range(first, self.last_piece(self.spans[at]))
        return any(
            self.page.outline.pieces[p].text == name and heads_profile(self, p, self.spans[at])
            for p in pieces
        )

    def names_writer(self, at: int) -> bool:
        """Tells whether the name of the author of post number `at` is a link to a user, or is in an
        element whose class is author, nick or name."""
        span, (name, node) = self.spans[at], self.people[at][0]
        if any(
            link.is_user and link.text == name for link in self.page.links_in(span.start, span.end)
        ):
            return True
        return bool(_WRITER.search(self.page.roles_above(node, max(span.start, node - 6))))

    def is_sure(self, at: int) -> bool:
        """Tells whether record number `at` is certainly a post: its author is linked, marked or
        described as a user, and its time is more precise than a day or relative ("3 days ago")."""
        moment = self.spans[at].anchor.moment
        if not self.people[at] or (moment.precision_seconds >= 86_400 and not moment.relative):
            return False
        linked = self.links_people and self.writers[at] is not None
        return linked or self.names_writer(at) or self.describes_author(at)

    def has_byline(self, at: int) -> bool:
        """Tells whether the name and the time (to the minute) of post number `at` are next to each
        other, with fewer than 60 characters besides the name: on one line, "anna (12.3.2026
        10:15)", or on adjacent lines."""
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

    def shows_joining_date(self, at: int) -> bool:
        """Tells whether post number `at` shows when its author joined the forum, which lists of
        threads do not show."""
        pieces = self.page.outline.pieces
        return any(
            len(pieces[piece].text) <= 40 and _MEMBER.match(pieces[piece].text)
            for piece in range(
                self.page.outline.piece_from[self.spans[at].start], self.last_piece(self.spans[at])
            )
        )

    @cached_property
    def writers(self) -> list[Link | None]:
        """The link on the name of each post's author; None where there is no author or link."""
        return writers(self.page, self.people)

    @cached_property
    def links_people(self) -> bool:
        """Tells whether the links on the authors' names lead to users: links with the same address
        and name recur, or the addresses end in the names."""
        links = [link for link in self.writers if link is not None]
        if 2 * len(links) < len(self.spans):
            return False
        if len(self.spans) == 1:
            return address_ends_in_name(links[0]) and self.has_byline(0)
        return repeats(links) or 2 * sum(address_ends_in_name(link) for link in links) > len(links)

    @cached_property
    def plain_share(self) -> float:
        """The share of the posts' text that is outside links and buttons, in [0, 1]: texts of posts
        are mostly plain text, lists are links."""
        outline, plain, total = self.page.outline, 0, 0
        for body in self.bodies:
            if body is None:
                continue
            for at in range(outline.piece_from[body], outline.piece_to[body]):
                text = outline.pieces[at].text
                # Short punctuation such as "(" is not counted.
                length = len(text) if len(text) > 3 or any(map(str.isalnum, text)) else 0
                total += length
                plain += (
                    0
                    if at in self.page.piece_link
                    or outline.tags[outline.pieces[at].node] in ("a", "button")
                    else length
                )
        return plain / total if total else 0.0


def is_post_time(page: Page, time: Time) -> bool:
    """Tells whether a time may be that of a post. It is not if it is only a year, or if words or
    class names beside it say that it is the time of joining the forum or of an edit."""
    if time.moment.precision_seconds > 366 * 86_400:
        return False
    if tells_joining(page, time) or "edit" in text_roles(time.label[-24:]):
        return False
    outline = page.outline
    roles = class_roles(
        " ".join(outline.classes[node] for node in (time.node, max(0, outline.parents[time.node])))
    )
    if roles & {"edit"} and not roles & {"date", "created"}:
        return False
    own = outline.pieces[time.piece].text if time.piece < len(outline.pieces) else ""
    if not time.is_attribute and ("edit" in text_roles(own[:24]) or is_edit_line(own)):
        return False
    title = outline.elements[time.node].get("title") or ""
    return not (
        "edit" in text_roles(title[:30]) and not time.is_attribute
    ) and "edit" not in text_roles(title[:8])


_HAS_VALUE = re.compile(r"\d|[:：]\s*\w")


def tells_joining(page: Page, time: Time) -> bool:
    own = page.outline.pieces[time.piece].text if time.piece < len(page.outline.pieces) else ""
    before = page.outline.pieces[time.piece - 1].text if not time.label and time.piece else ""
    # A label such as "Joined" followed by a number or a value on the same line ("Joined: 2009")
    # does not belong to this time.
    named = len(before) <= 24 and JOINED.match(before) and not _HAS_VALUE.search(before)
    ends = not time.label and any(
        found.end() == len(before.rstrip(" :："))
        for found in JOINED.finditer(before[-40:].rstrip(" :："))
    )
    return bool(JOINED.search(time.label[-24:]) or JOINED.match(own) or named or ends)
