"""Converts the rows of an index of boards to board records: names, counts, time of the last post,
descriptions, sub-boards."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property

from forums.reading.addresses import board_key
from forums.reading.document import Link
from forums.reading.lists.row_sets import RowSet
from forums.reading.lists.rows import Count, Row, count_columns
from forums.reading.model import BoardRecord
from forums.reading.patterns import leads_to
from forums.reading.values import count, starts_by
from forums.reading.words import class_roles, text_roles

_COUNTED_NAME = re.compile(r"\s*[(\[（]\s*\d[\d.,]*k?\s*[)\]）]$")
_MARK = re.compile(r"[(\[]?(?:new|hot|neu|nouveau|nuevo|новое|新|new!)[)\]]?", re.I)


class BoardRows:
    """Extracts the fields of the boards in an index. The fields are assigned to columns for all
    rows together, because corresponding positions in the rows hold the same field."""

    def __init__(self, rows: RowSet) -> None:
        self.set = rows
        self.page = rows.page
        self.rows = _without_headings(rows.rows)
        self.heads = rows.heads

    @cached_property
    def _columns(self) -> dict[str, dict[int, Count]]:
        return count_columns(self.rows)

    def _roles(self, column: str) -> frozenset[str]:
        cells = self._columns[column]
        votes: Counter[str] = Counter()
        for at, found in cells.items():
            told = found.roles
            if "label" not in told:
                head = self.heads.of(self.rows[at], found.node) & {
                    "topics",
                    "posts",
                    "comments",
                    "replies",
                    "views",
                }
                told = head or told
            votes.update(told)
        return frozenset(role for role, number in votes.items() if number * 2 >= len(cells))

    @cached_property
    def _count_columns(self) -> tuple[list[str], list[str]]:
        by_order = sorted(
            self._columns,
            key=lambda column: min(found.node for found in self._columns[column].values()),
        )
        roles = {column: self._roles(column) for column in by_order}
        threads = [c for c in by_order if "topics" in roles[c] and "posts" not in roles[c]]
        posts = [
            c
            for c in by_order
            if roles[c] & {"posts", "comments", "replies"} and "topics" not in roles[c]
        ]
        both = [c for c in by_order if {"topics", "posts"} <= roles[c]]
        plain = [
            c
            for c in by_order
            if c not in threads + posts and "views" not in roles[c] and self._is_common(c)
        ]
        if both and not threads and not posts:
            plain = both + [c for c in plain if c not in both]
        if not threads and not posts and len(plain) >= 2:
            return [plain[0]], [plain[1]]
        if not threads and not posts and plain:
            return plain[:1], []
        if threads and not posts and len(plain) == 1 and self._exceeds(plain[0], threads[0]):
            # There is only one other column, and its numbers are not smaller than the numbers of
            # threads: it counts posts.
            posts = plain
        if not threads and plain and posts and "views" not in roles[plain[0]] and plain[0] in both:
            threads = plain[:1]
        return threads, posts

    def _exceeds(self, column: str, other: str) -> bool:
        shared = self._columns[column].keys() & self._columns[other].keys()
        more = sum(
            self._columns[column][at].value >= self._columns[other][at].value for at in shared
        )
        return bool(shared) and more >= 0.9 * len(shared)

    def _is_common(self, column: str) -> bool:
        return len(self._columns[column]) >= 0.5 * len(self.rows)

    def _value(self, columns: list[str], at: int) -> int | None:
        return next(
            (self._columns[column][at].value for column in columns if at in self._columns[column]),
            None,
        )

    def _description(self, row: Row) -> str:
        """Returns the description of a board: the longest line after its name that is not a count,
        a time or the last post; "" if there is none."""
        outline = self.page.outline
        title = range(outline.piece_from[row.title.node], outline.piece_to[row.title.node])
        counted = {found.node for found in row.counts}
        timed = {time.line for time in row.times if not time.is_attribute}
        first_time = min((time.piece for time in row.times), default=row.pieces.stop)
        lines: dict[int, list[str]] = defaultdict(list)
        for at in row.pieces:
            text, node, line = outline.pieces[at]
            if at in title or at < title.start or node in counted or line in timed:
                continue
            if at in self.page.piece_link or starts_by(text) or count(text) is not None:
                continue
            roles = class_roles(self.page.roles_above(node, row.start))
            if "last" in roles or (at >= first_time and "excerpt" not in roles):
                continue
            if (
                text_roles(text) & {"topics", "posts", "last", "board", "replies", "views"}
                and len(text) < 24
            ):
                continue
            lines[line].append(text)
        best = max((" ".join(parts) for parts in lines.values()), key=len, default="")
        return best if len(best) > 1 else ""

    @cached_property
    def _names(self) -> list[str]:
        """The names of the boards, parallel to the rows. Counts and words such as "new" in separate
        elements inside a link are left out, and so are counts at the end of its text if most names
        have one: "Boats (7)"."""
        names = [self._name(row) for row in self.rows]
        ended = [_COUNTED_NAME.sub("", name) for name in names]
        return (
            ended
            if sum(a != b for a, b in zip(names, ended, strict=True)) >= 0.6 * max(3, len(names))
            else names
        )

    def _name(self, row: Row) -> str:
        outline = self.page.outline
        pieces = outline.pieces[
            outline.piece_from[row.title.node] : outline.piece_to[row.title.node]
        ]
        kept = [
            p
            for p in pieces
            if p.node == row.title.node
            or not (count(p.text) is not None or _MARK.fullmatch(p.text))
        ]
        return " ".join(piece.text for piece in kept) or row.title.text

    @cached_property
    def _own(self) -> frozenset[str]:
        """The keys (see `thread_key`) of the rows' title links."""
        return frozenset(row.title.key for row in self.rows)

    def _sub_boards(self, row: Row) -> list[Link]:
        pattern = self.set.group.pattern
        return [
            link
            for link in row.links
            if link.key not in self._own
            and link.text
            and not link.is_user
            and count(link.text) is None
            and self.page.moment(link.text) is None
            and (
                link.pattern == pattern
                or (leads_to(link.pattern) == "board" and _host_like(link.pattern, pattern))
            )
        ]

    def records(self) -> list[BoardRecord]:
        """Returns the board records, one per row, in order."""
        threads, posts = self._count_columns
        return [
            BoardRecord(
                url=row.title.url,
                name=self._names[at],
                threads=self._value(threads, at),
                posts=self._value(posts, at),
                last_reply=max(
                    (time.moment for time in row.times),
                    key=lambda moment: moment.value,
                    default=None,
                ),
                description=self._description(row),
            )
            for at, row in enumerate(self.rows)
        ]

    def sub_boards(self) -> list[BoardRecord]:
        """Returns the boards that have no row of their own but are linked inside the row of their
        parent board."""
        found, seen = [], set()
        for row in self.rows:
            for link in self._sub_boards(row):
                key = board_key(link.url)
                if key not in seen and key != board_key(row.title.url):
                    seen.add(key)
                    found.append(BoardRecord(url=link.url, name=link.text, parent=row.title.url))
        return found


def _without_headings(rows: list[Row]) -> list[Row]:
    """Returns the rows without those that only name a category, if at least half of the rows have
    counts or times; otherwise all rows."""
    full = [row for row in rows if row.counts or row.times]
    if len(full) < 0.5 * len(rows):
        return rows
    return [
        row
        for row in rows
        if row.counts or row.times or len(row.text) > 1.5 * len(row.title.text) + 12
    ]


def _host_like(pattern: str, other: str) -> bool:
    return pattern.partition("/")[0] == other.partition("/")[0]
