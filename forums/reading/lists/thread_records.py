"""Converts the rows of a list of threads to thread records: authors, times, counts, pinned and
locked flags, address of the last post."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property, lru_cache

from crawlmgr.text.dates import Moment
from forums.reading.addresses import board_key, first_page
from forums.reading.document import Link
from forums.reading.lists.rows import Row
from forums.reading.lists.thread_people import ThreadPeople
from forums.reading.model import ThreadRecord
from forums.reading.page_times import Time
from forums.reading.patterns import leads_to
from forums.reading.values import count
from forums.reading.words import LOCKED, PINNED, text_roles

# if most titles lead to other sites, the addresses of separate links to discussions ("12 comments")
# are used instead, provided that there are at least this many different ones per row
_TALKED = 0.6
_BULLETS = "●•◆■□▪►▶◇○·» "  # symbols that some forums put before a title


class ThreadRows(ThreadPeople):
    """Makes the thread records of a list of threads from its rows. Each position (column) of the
    rows is assigned to a field for all rows together, because corresponding positions hold the same
    field."""

    def _words(self, row: Row) -> list[str]:
        """Returns the texts that may say that a row is pinned or locked: its class names,
        attributes and file names of icons, and badges, without its title and other links."""
        outline, found = self.page.outline, []
        title = range(row.title.node, outline.ends[row.title.node])
        for node in range(row.start, row.end):
            if node - row.start > 400:
                break
            element = outline.elements[node]
            if outline.classes[node] and (node not in title or node == row.title.node):
                found.append(outline.classes[node])
            for name in (
                ("alt", "title", "aria-label", "src")
                if outline.tags[node] in ("img", "i", "span", "svg", "use", "td", "div", "a")
                else ()
            ):
                value = element.get(name)
                if (
                    value
                    and len(value) <= (200 if name == "src" else 40)
                    and value != row.title.text
                ):
                    found.append(value.rsplit("/", 1)[-1] if name == "src" else value)
        for at in row.pieces:
            text, node, _ = outline.pieces[at]
            if node not in title and len(text) <= 16 and node not in self.page.link_at:
                found.append(text)
        return found

    @cached_property
    def _marks(self) -> tuple[list[bool], list[bool]]:
        words = [self._words(row) for row in self.rows]
        return _marked(words, PINNED), _marked(words, LOCKED)

    @cached_property
    def _sections(self) -> list[bool]:
        """One flag per row: whether the row is below a heading such as "Announcements" or "Sticky
        threads", up to the next heading."""
        outline, flags, state = self.page.outline, [], False
        for at, row in enumerate(self.rows):
            start = self.rows[at - 1].end if at else max(0, row.start - 40)
            between = [
                outline.pieces[i].text
                for i in range(
                    outline.piece_from[start] if start < len(outline) else 0,
                    outline.piece_from[row.start],
                )
                if len(outline.pieces[i].text) <= 40 and i < outline.piece_from[row.start]
            ]
            if between:
                text = " ".join(between[-12:])
                heads = [t for t in between if PINNED.search(t)]
                if heads:
                    state = True
                elif (
                    at
                    and any(text_roles(t) & {"topics", "posts"} for t in between)
                    and len(text) < 200
                ):
                    state = False
            flags.append(state)
        return flags if 0 < sum(flags) < len(flags) else [False] * len(flags)

    def _by_order(self, lasts: list[Moment | None], marked: list[bool]) -> list[bool]:
        """Returns one flag per row: whether the row is pinned although not marked as such, because
        it is at the top and older than the rows after it, which are in descending order. `lasts`:
        last reply of each row, None if unknown; `marked`: the rows marked as pinned."""
        flags = [False] * len(lasts)
        spans = [_span(moment) if moment else None for moment in lasts]
        rest = [at for at, span in enumerate(spans) if span is not None and not marked[at]]
        for lead in range(1, min(len(rest) - 4, len(rest) // 3 + 1, 12)):
            tail = [span for at in rest[lead:] if (span := spans[at]) is not None]
            if not all(a[1] >= b[0] for a, b in zip(tail, tail[1:], strict=False)):
                continue
            newest = max(span[0] for span in tail)
            older = [
                at for at in rest[:lead] if (span := spans[at]) is not None and span[1] < newest
            ]
            if len(older) == lead:
                for at in older:
                    flags[at] = True
            break
        return flags

    def _last_post(self, row: Row, last: Time | None) -> str | None:
        cell = self.heads.cell(row, last.node) if last is not None else None
        best: tuple[float, str] | None = None
        for link in row.links:
            if link.is_user or not link.is_local or link.node == row.title.node:
                continue
            points = self._post_points(row, link)
            if points <= 0:
                continue
            if cell is not None and self.heads.cell(row, link.node) == cell:
                points += 1.0
            if last is not None and (
                self.page.outline.contains(link.node, last.node)
                or self.page.outline.contains(last.node, link.node)
            ):
                points += 1.0
            url = f"{link.url}#{link.fragment}" if link.fragment else link.url
            if best is None or points > best[0]:
                best = points, url
        return best[1] if best else None

    def _post_points(self, row: Row, link: Link) -> float:
        address = link.url.lower()
        same = link.key == row.title.key
        points = 0.0
        if re.search(r"\d", link.fragment) or re.search(
            r"goto=(?:last|new)|last_?post|getlastpost|/latest|action=last|view=(?:last|getlast)"
            r"|[?&](?:p|pid|post)=\d|msg\d+|#(?:latest|last|new)",
            address + "#" + link.fragment,
        ):
            points += 1.0
        if re.search(r"unread|newpost|getnew|goto=new|first", address):
            points -= 0.6
        if (
            leads_to(link.pattern) == "post"
            or re.search(r"[?&]p=\d+", address)
            or re.search(r"/(?:post|posts|comment|findpost)s?/", address)
        ):
            points += 0.7
        if not same and points < 0.7:
            return 0.0
        if same and link.url == row.title.url and not link.fragment:
            return 0.2 if not link.text else 0.0
        return points

    @cached_property
    def _board_pattern(self) -> str | None:
        """The pattern of links to the threads' boards, in lists that mix threads of several boards;
        None if there are no such links."""
        urls: dict[str, set[str]] = defaultdict(set)
        rows: Counter[str] = Counter()
        for row in self.rows:
            for pattern in {link.pattern for link in row.links if self._may_be_board(row, link)}:
                rows[pattern] += 1
            for link in row.links:
                if self._may_be_board(row, link):
                    urls[link.pattern].add(link.url)
        best, points = None, 0.0
        for pattern, number in rows.items():
            share = number / len(self.rows)
            known = leads_to(pattern) == "board"
            repeats = len(urls[pattern]) < 0.7 * number
            value = (
                share
                + (1.0 if known else 0.0)
                + (0.3 if repeats else 0.0)
                - (0.8 if "tag" in pattern else 0.0)
            )
            if share >= 0.5 and (known or (repeats and len(self.rows) >= 8)) and value > points:
                best, points = pattern, value
        return best

    def _may_be_board(self, row: Row, link: Link) -> bool:
        if (
            link.is_user
            or not link.is_local
            or link.key == row.title.key
            or not link.text
            or count(link.text) is not None
        ):
            return False
        if leads_to(link.pattern) in ("thread", "post") or link.fragment:
            return False
        return self.page.moment(link.text) is None and len(link.text) <= 80

    def _board(self, row: Row) -> Link | None:
        pattern = self._board_pattern
        if pattern is None:
            return None
        return next(
            (
                link
                for link in row.links
                if link.pattern == pattern and self._may_be_board(row, link)
            ),
            None,
        )

    def _boards(self, people: list[tuple[str | None, str | None]]) -> list[Link | None]:
        """Returns for each row the link to the thread's board, or None if it has none. `people`
        holds the (author, last author) names of each row: if most links have such a name as their
        text, they lead to users, and all are None.
        """
        boards = [self._board(row) for row in self.rows]
        named = sum(
            board is not None and board.text in names
            for board, names in zip(boards, people, strict=True)
        )
        return (
            boards
            if named * 2 < sum(board is not None for board in boards) + 1
            else [None] * len(boards)
        )

    @cached_property
    def _addresses(self) -> list[str]:
        """The address of each row's thread, normally that of the title. If at least half of the
        titles lead to other sites (on link-sharing sites), it is the address of the row's link to
        its discussion (see `_talk_pattern`), provided that there are at least 0.6 different such
        addresses per row."""
        own = [row.title.url for row in self.rows]
        if 2 * sum(row.title.is_local for row in self.rows) > len(self.rows):
            return own
        pattern = self._talk_pattern()
        found = [
            next(
                (link.url for link in row.links if link.pattern == pattern and not link.is_user), ""
            )
            for row in self.rows
        ]
        distinct = len(set(found) - {""})
        return (
            own
            if distinct < _TALKED * len(self.rows)
            else [url or title for url, title in zip(found, own, strict=True)]
        )

    def _talk_pattern(self) -> str:
        """Returns the pattern of those links to the own site whose texts most often mention
        comments or replies; "" if there are none."""
        told: Counter[str] = Counter()
        for row in self.rows:
            told.update(
                {
                    link.pattern
                    for link in row.links
                    if link.is_local and text_roles(link.text) & {"comments", "replies"}
                }
            )
        return told.most_common(1)[0][0] if told else ""

    def records(self) -> list[ThreadRecord]:
        """Returns the thread records, one per row, in order."""
        _, views, _ = self._count_columns
        times = [self._times(row) for row in self.rows]
        marked, locked = self._marks
        sections = self._sections
        flags = [a or b for a, b in zip(marked, sections, strict=True)]
        ordered = self._by_order([last or created for created, last, _ in times], flags)
        people = [
            self._names(row, where) for row, (_, _, where) in zip(self.rows, times, strict=True)
        ]
        boards = self._boards(people)
        made = []
        for at, row in enumerate(self.rows):
            created, last, _ = times[at]
            author, last_author = people[at]
            number = self._replies(at)
            if last is None and created is not None and number == 0:
                last = created
            board = boards[at]
            made.append(
                ThreadRecord(
                    url=self._addresses[at],
                    title=self._title(row),
                    author=author,
                    replies=number,
                    counts_posts=self.counts_posts if number is not None else None,
                    created=created,
                    last_reply=last,
                    pinned=flags[at] or ordered[at],
                    last_author=last_author,
                    last_post_url=self._last_post(row, times[at][2]),
                    board_url=board.url if board else None,
                    board_name=board.text if board else None,
                    views=self._value(views, at),
                    locked=locked[at],
                )
            )
        return made

    def _title(self, row: Row) -> str:
        text = row.title.text.lstrip(_BULLETS) or row.title.text
        if text.endswith(("…", "...")):
            whole = self.page.outline.elements[row.title.node].get("title") or ""
            if whole.startswith(text.rstrip("….").strip()):
                return " ".join(whole.split())
        return text


def _span(moment: Moment) -> tuple[float, float]:
    """Returns the first and the last second, as epoch seconds, of the period that the time can mean
    by its precision."""
    at = moment.value.timestamp()
    return (
        (at - moment.precision_seconds, at)
        if moment.relative
        else (at, at + moment.precision_seconds)
    )


@lru_cache(maxsize=8_192)
def _marks_in(text: str, pattern: re.Pattern[str]) -> frozenset[str]:
    parted = re.sub(r"[-_./]", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", text))
    return frozenset(word.lower() for word in pattern.findall(parted))


def _marked(words: list[list[str]], pattern: re.Pattern[str]) -> list[bool]:
    """Returns one flag per row: whether a text of the row contains a word that matches `pattern`
    and that not all rows contain. `words`: the texts of each row."""
    found = [
        frozenset[str]().union(*(_marks_in(text, pattern) for text in texts)) for texts in words
    ]
    everywhere = frozenset.intersection(*found) if len(found) >= 2 else frozenset()
    return [bool(own - everywhere) for own in found]


def sort_of(records: list[ThreadRecord]) -> str | None:
    """Returns the order of a list of threads: "last_reply" or "created", if at least 70 % of the
    threads have this time and at least 90 % of the successive times do not increase; None if the
    list shows no order. Pinned threads are ignored; times too coarse to be compared count as equal.
    """
    for name in ("last_reply", "created"):
        moments = [
            moment
            for record in records
            if not record.pinned and (moment := getattr(record, name)) is not None
        ]
        spans = [_span(moment) for moment in moments]
        if len(spans) < 0.7 * sum(not record.pinned for record in records) or not spans:
            continue
        falls = sum(a[1] >= b[0] for a, b in zip(spans, spans[1:], strict=False))
        if falls >= 0.9 * (len(spans) - 1) and (len(spans) > 2 or name == "last_reply"):
            return name
    return None


def board_address(urls: list[str]) -> str | None:
    """Returns the address of the board if all `urls` (one per thread) lead to the same board; None
    otherwise."""
    keys = {board_key(url) for url in urls}
    return first_page(urls[0]) if len(keys) == 1 and urls else None
