"""Finds out which columns of a list of threads hold the numbers of replies and of views, and the
times of creation and of the last reply."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property

from crawlmgr.text.dates import Moment
from forums.reading.lists.row_sets import RowSet, falling
from forums.reading.lists.rows import COUNTED, Count, Row, count_columns
from forums.reading.page_times import Time
from forums.reading.values import count
from forums.reading.words import class_roles, text_roles

_POSTED = re.compile(
    r"posted\W*$|发表于\W*$|發表於\W*$", re.I
)  # This word may belong to the first post or to the last one.
_BRACKETED = re.compile(r"[\[(（【]\s*\d[\d,.]*\s*[\])）】]")


class ThreadFields:
    """Assigns the counts and times of a list of threads to fields. This is done for all rows
    together, because corresponding positions hold the same field."""

    def __init__(self, rows: RowSet) -> None:
        self.set = rows
        self.page = rows.page
        self.rows = rows.rows
        self.heads = rows.heads

    @cached_property
    def _columns(self) -> dict[str, dict[int, Count]]:
        found = count_columns(self.rows)
        return {
            name: cells
            for name, cells in found.items()
            if self._is_called(cells) or not (_are_ranks(cells) or self._are_ids(cells))
        }

    def _are_ids(self, cells: dict[int, Count]) -> bool:
        """Tells whether the numbers of a column occur in the addresses of the rows' titles: then
        they are ids, not counts. `cells`: the counts of the column by row."""
        same = sum(
            cells[at].value > 9 and str(cells[at].value) in self.rows[at].title.url for at in cells
        )
        return len(cells) >= 3 and same >= 0.8 * len(cells)

    def _is_called(self, cells: dict[int, Count]) -> bool:
        """Tells whether at least one number of a column is labelled as a count (of replies, views
        …) by a word beside it, its class name or its header cell. `cells`: the column's numbers by
        row index."""
        return any(
            found.roles & COUNTED or self.heads.of(self.rows[at], found.node) & COUNTED
            for at, found in cells.items()
        )

    def _column_roles(self, column: str) -> frozenset[str]:
        cells = self._columns[column]
        votes: Counter[str] = Counter()
        for at, found in cells.items():
            told = found.roles - {"last"}
            if "label" not in told:
                head = self.heads.of(self.rows[at], found.node) & COUNTED
                # A header that names both replies and views is ignored: the order of the numbers
                # decides then.
                if head and not {"replies", "views"} <= head:
                    told = (told - COUNTED) | head
            votes.update(told)
        return frozenset(role for role, number in votes.items() if number * 2 >= len(cells))

    @cached_property
    def _count_columns(self) -> tuple[list[str], list[str], frozenset[str]]:
        """Three values: keys of the columns that hold numbers of replies; keys of those that hold
        numbers of views; and what labels or headers call the numbers of replies (such as "posts",
        if the list counts posts).
        """
        known = {column: self._column_roles(column) for column in self._columns}
        by_order = sorted(
            self._columns,
            key=lambda column: min(found.node for found in self._columns[column].values()),
        )
        replies: list[str] = []
        for wanted in ("replies", "comments", "posts"):
            marked = [
                c
                for c in by_order
                if wanted in known[c] and not (known[c] & {"likes", "avatar"} and wanted == "posts")
            ]
            marked = [c for c in marked if "views" not in known[c]]
            if marked:
                replies = marked
                break
        views = [c for c in by_order if "views" in known[c] and c not in replies]
        if not replies:
            plain = [
                c
                for c in by_order
                if c not in views and not known[c] & {"likes", "avatar"} and self._is_common(c)
            ]
            full = [c for c in plain if len(self._columns[c]) >= 0.9 * len(self.rows)]
            replies, views = self._by_size(
                [c for c in plain if self._follows_title(c)] or full or plain, views
            )
        told = frozenset[str]().union(*(known[c] for c in replies)) if replies else frozenset()
        if any(
            "replies" in self.heads.of(self.rows[at], found.node)
            for c in replies
            for at, found in self._columns[c].items()
        ):
            told |= {"replies"}
        if not views:
            rest = [
                c
                for c in by_order
                if c not in replies
                and self._is_common(c)
                and not known[c] & {"likes", "avatar", "posts", "comments"}
            ]
            views = [c for c in rest if replies and self._exceeds(c, replies[0])][:1]
        return replies, views, told

    def _is_common(self, column: str) -> bool:
        return len(self._columns[column]) >= 0.4 * len(self.rows) or len(self.rows) == 1

    def _follows_title(self, column: str) -> bool:
        """Tells whether the numbers of a column are in brackets after the titles, in the same cell:
        "Old lamp hums [12]"."""
        outline, told = self.page.outline, 0
        for at, found in self._columns[column].items():
            row, title = self.rows[at], self.rows[at].title.node
            beside = found.node >= outline.ends[title] and self.heads.cell(
                row, found.node
            ) == self.heads.cell(row, title)
            told += beside and bool(_BRACKETED.fullmatch(outline.text(found.node)))
        return told >= 0.8 * len(self._columns[column])

    def _by_size(self, plain: list[str], views: list[str]) -> tuple[list[str], list[str]]:
        """Returns (columns of replies, columns of views) for columns without labels: of the first
        two in `plain` the one with the larger numbers is views. If `views` are known, the first of
        `plain` is replies."""
        if len(plain) >= 2 and not views:
            first, second = plain[0], plain[1]
            if self._exceeds(first, second) and not self._exceeds(second, first):
                return [second], [first]
            return [first], [second]
        return plain[:1], views

    def _exceeds(self, column: str, other: str) -> bool:
        shared = [at for at in self._columns[column] if at in self._columns[other]]
        more = sum(
            self._columns[column][at].value >= self._columns[other][at].value for at in shared
        )
        return bool(shared) and more >= 0.8 * len(shared)

    def _value(self, columns: list[str], at: int) -> int | None:
        return next(
            (self._columns[column][at].value for column in columns if at in self._columns[column]),
            None,
        )

    @cached_property
    def counts_posts(self) -> bool | None:
        """What the list counts: True for posts, False for replies, None if it does not show
        which."""
        replies, _, told = self._count_columns
        values = [
            value for at in range(len(self.rows)) if (value := self._value(replies, at)) is not None
        ]
        if not values:
            return None
        if 0 in values:
            return False
        if told & {"replies", "comments"} or self._leaves_out_zero:
            return False
        ones = sum(value == 1 for value in values)
        if told & {"posts"} and min(values) >= 1:
            return True
        if len(values) >= 8 and ones >= 0.1 * len(values):
            return True
        return None

    @cached_property
    def _leaves_out_zero(self) -> bool:
        """Tells whether the list shows no number where a thread has no replies: some rows have no
        count, none shows 0, and the number is not called posts."""
        replies, _, told = self._count_columns
        values = [self._value(replies, at) for at in range(len(self.rows))]
        missing = sum(value is None for value in values)
        enough = missing * 10 >= len(values) or bool(told & {"replies", "comments"})
        return 0 < missing < len(values) and 0 not in values and "posts" not in told and enough

    def _replies(self, at: int) -> int | None:
        """Returns the number of replies of row number `at`, without its first post; None if
        unknown."""
        number = self._value(self._count_columns[0], at)
        if number is None:
            return 0 if self._leaves_out_zero else None
        return max(0, number - 1) if self.counts_posts else number

    @cached_property
    def _time_roles(self) -> dict[str, Counter[str]]:
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self.rows:
            for time in row.times:
                votes[self._time_column(row, time)].update(
                    self._roles_of_time(row, time) or {"": 1}
                )
        return votes

    def _time_column(self, row: Row, time: Time) -> str:
        nth = sum(
            other.piece == time.piece and not other.is_attribute
            for other in row.times[: row.times.index(time)]
        )
        return (
            f"{self.heads.cell(row, time.node)}:{self.page.outline.shapes[time.node]}"
            f":{row.column(time.node)}:{nth}"
        )

    def _roles_of_time(self, row: Row, time: Time) -> frozenset[str]:
        label = self._label(row, time)
        told = text_roles(label[-40:]) & {"last", "created", "edit", "joined"}
        if "last" in told:
            told -= {"created", "edit"}
        if told == {"created"} and self._is_alone_below_last(row, time):
            told = frozenset({"last"})  # "posted" is said of the last post then
        if not told:
            element = self.page.outline.elements[time.node]
            title = (
                (element.get("title") or "")
                if not time.is_attribute or count(element.get("title") or "") is None
                else ""
            )
            told = text_roles(title[:30]) & {"last", "created"}
        if not told:
            told = self.heads.of(row, time.node) & {"last", "created"}
        if not told or told == {"created"} and _POSTED.search(label):
            told = self._roles_by_class(row, time.node) or told
        if (
            not told
            and "author" in self.heads.of(row, time.node)
            and "last" not in self.heads.of(row, time.node)
        ):
            told = frozenset({"created"})
        return told - {"created"} if "last" in told else told

    def _is_alone_below_last(self, row: Row, time: Time) -> bool:
        """Tells whether a time is the only one of its cell, and the header cell names the last
        reply and not the creation."""
        cell = self.heads.cell(row, time.node)
        return self.heads.of(row, time.node) & {"last", "created"} == {"last"} and not any(
            self.heads.cell(row, other.node) == cell for other in row.times if other is not time
        )

    def _label(self, row: Row, time: Time) -> str:
        """Returns the label of a time: the words before it in the same text node if they name a
        role (such as "last"), otherwise those words preceded by the text before that node on the
        line."""
        if time.own_label and text_roles(time.own_label) & {"last", "created", "edit", "joined"}:
            return time.own_label
        before = row.text_before(time.piece) if time.piece in row.pieces else time.label
        return f"{before} {time.own_label}".strip()

    def _roles_by_class(self, row: Row, node: int) -> frozenset[str]:
        told, steps = frozenset[str](), 0
        while node > row.start and steps < 5 and not told:
            told = class_roles(self.page.outline.classes[node]) & {"last", "created"}
            node = self.page.outline.parents[node]
            steps += 1
        return told

    def _role(self, row: Row, time: Time) -> str:
        own = self._roles_of_time(row, time)
        votes = self._time_roles[self._time_column(row, time)]
        best = max(sorted(votes), key=votes.__getitem__, default="")
        if len(own) == 1:
            return next(iter(own))
        return best

    def _times(self, row: Row) -> tuple[Moment | None, Moment | None, Time | None]:
        """Returns the time when a row's thread was created, that of its last reply, and the latter
        time once more as a `Time` with its position on the page; each None if not found."""
        roles = [(time, self._role(row, time)) for time in row.times]
        roles = [(time, role) for time, role in roles if role not in ("edit", "joined")]
        if not roles:
            return None, None, None
        lasts = [time for time, role in roles if role == "last"]
        firsts = [time for time, role in roles if role == "created"]
        plain = [time for time, role in roles if role == ""]
        if not lasts and not firsts and plain:
            if len(plain) == 1:
                return (
                    (plain[0].moment, None, None)
                    if self._alone_is_created
                    else (None, plain[0].moment, plain[0])
                )
            lasts, firsts = [_newest(plain)], [time for time in plain if time is not _newest(plain)]
        elif not lasts and plain:
            lasts = plain
        elif not firsts and plain:
            firsts = [time for time in plain if time.moment.value <= _newest(lasts).moment.value]
        elif not lasts and len(firsts) >= 2 and self._two_times:
            lasts = [_newest(firsts)]
            firsts = [time for time in firsts if time is not lasts[0]]
        created = _oldest(firsts).moment if firsts else None
        if not lasts:
            return created, None, None
        last = _newest(lasts)
        if (
            created is not None
            and created.value > last.moment.value
            and not (created.relative or last.moment.relative)
        ):
            created, last = (
                last.moment,
                (
                    _newest(firsts)
                    if created.precision_seconds <= last.moment.precision_seconds
                    else last
                ),
            )
        return created, last.moment, last

    @cached_property
    def _two_times(self) -> bool:
        return sum(
            len({time.moment.value for time in row.times}) >= 2 for row in self.rows
        ) * 3 >= len(self.rows)

    @cached_property
    def _alone_is_created(self) -> bool:
        """Tells whether a row's only time, if unlabelled, is the thread's creation. Times of last
        replies would descend; here the list has at least eight times, and fewer than 60 % of the
        steps descend."""
        values = [row.times[0].moment.value.timestamp() for row in self.rows if row.times]
        order = falling(values)
        return order is not None and len(values) >= 8 and order < 0.6


def _newest(times: list[Time]) -> Time:
    return max(times, key=lambda time: (time.moment.value, -time.moment.precision_seconds))


def _oldest(times: list[Time]) -> Time:
    return min(times, key=lambda time: (time.moment.value, time.moment.precision_seconds))


def _are_ranks(cells: dict[int, Count]) -> bool:
    """Tells whether the numbers of a column only number the rows: 1, 2, 3 downwards, from 26 on a
    second page, or descending from the total. `cells`: the counts of the column by row."""
    values = [cells[at].value for at in sorted(cells)]
    steps = Counter(b - a for a, b in zip(values, values[1:], strict=False))
    return len(values) >= 4 and max(steps[1], steps[-1]) >= 0.9 * (len(values) - 1)
