"""From the rows of a list to thread records: who, when, how many, pinned, where the last post is."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple

from crawlmgr.text.dates import Moment
from forums.reading.addresses import board_key, first_page, leads_to
from forums.reading.document import Link, Time
from forums.reading.lists import RowSet, falling
from forums.reading.model import ThreadRecord
from forums.reading.rows import Count, Row
from forums.reading.values import clean_name, count, ends_by, is_name, starts_by
from forums.reading.words import LOCKED, PINNED, class_roles, text_roles

_COARSE = 86_400


class Person(NamedTuple):
    """Somebody named in a row: where, and what the surroundings call them."""

    name: str
    node: int
    roles: frozenset[str]


class ThreadRows:
    """The fields of a list of threads, worked out over all rows together."""

    def __init__(self, rows: RowSet) -> None:
        self.set = rows
        self.page = rows.page
        self.rows = rows.rows
        self.heads = rows.heads

    # counts

    @cached_property
    def _columns(self) -> dict[str, dict[int, Count]]:
        columns: dict[str, dict[int, Count]] = defaultdict(dict)
        for at, row in enumerate(self.rows):
            for found in row.counts:
                columns[found.column].setdefault(at, found)
        return columns

    def _column_roles(self, column: str) -> frozenset[str]:
        cells = self._columns[column]
        votes: Counter[str] = Counter()
        for at, found in cells.items():
            told = found.roles - {"last"}
            if "label" not in told:
                head = self.heads.of(self.rows[at], found.node) & {"replies", "comments", "posts", "views", "topics"}
                told |= head if not {"replies", "views"} <= head else frozenset()  # one head for both: order decides
            votes.update(told)
        return frozenset(role for role, number in votes.items() if number * 2 >= len(cells))

    @cached_property
    def _count_columns(self) -> tuple[list[str], list[str], frozenset[str]]:
        """Columns of replies, columns of views, and what the replies' column calls itself."""
        known = {column: self._column_roles(column) for column in self._columns}
        by_order = sorted(self._columns, key=lambda column: min(found.node for found in self._columns[column].values()))
        replies: list[str] = []
        for wanted in ("replies", "comments", "posts"):
            marked = [c for c in by_order if wanted in known[c] and not (known[c] & {"likes", "avatar"} and wanted == "posts")]
            marked = [c for c in marked if "views" not in known[c]]
            if marked:
                replies = marked
                break
        views = [c for c in by_order if "views" in known[c] and c not in replies]
        if not replies:
            plain = [c for c in by_order if c not in views and not known[c] & {"likes", "avatar"} and self._is_common(c)]
            replies, views = self._by_size(plain, views)
        told = frozenset[str]().union(*(known[c] for c in replies)) if replies else frozenset()
        if any("replies" in self.heads.of(self.rows[at], found.node) for c in replies for at, found in self._columns[c].items()):
            told |= {"replies"}
        if not views:
            rest = [
                c
                for c in by_order
                if c not in replies and self._is_common(c) and not known[c] & {"likes", "avatar", "posts", "comments"}
            ]
            views = [c for c in rest if replies and self._exceeds(c, replies[0])][:1]
        return replies, views, told

    def _is_common(self, column: str) -> bool:
        return len(self._columns[column]) >= 0.4 * len(self.rows) or len(self.rows) == 1

    def _by_size(self, plain: list[str], views: list[str]) -> tuple[list[str], list[str]]:
        """Of two columns without a word, the larger one counts views."""
        if len(plain) >= 2 and not views:
            first, second = plain[0], plain[1]
            if self._exceeds(first, second) and not self._exceeds(second, first):
                return [second], [first]
            return [first], [second]
        return plain[:1], views

    def _exceeds(self, column: str, other: str) -> bool:
        shared = [at for at in self._columns[column] if at in self._columns[other]]
        more = sum(self._columns[column][at].value >= self._columns[other][at].value for at in shared)
        return bool(shared) and more >= 0.8 * len(shared)

    def _value(self, columns: list[str], at: int) -> int | None:
        return next((self._columns[column][at].value for column in columns if at in self._columns[column]), None)

    @cached_property
    def counts_posts(self) -> bool | None:
        """Whether the list counts posts (True), replies (False), or does not say (None)."""
        replies, _, told = self._count_columns
        values = [value for at in range(len(self.rows)) if (value := self._value(replies, at)) is not None]
        if not values:
            return None
        if 0 in values:
            return False
        if "replies" in told:
            return False
        ones = sum(value == 1 for value in values)
        if told & {"posts"} and min(values) >= 1:
            return True
        if len(values) >= 8 and ones >= 0.1 * len(values):
            return True
        return None

    # times

    @cached_property
    def _time_roles(self) -> dict[str, Counter[str]]:
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self.rows:
            for time in row.times:
                votes[self._time_column(row, time)].update(self._roles_of_time(row, time) or {"": 1})
        return votes

    def _time_column(self, row: Row, time: Time) -> str:
        return f"{self.heads.cell(row, time.node)}:{self.page.outline.shapes[time.node]}:{row.column(time.node)}"

    def _roles_of_time(self, row: Row, time: Time) -> frozenset[str]:
        told = text_roles(time.label[-40:]) & {"last", "created", "edit", "joined"}
        if "created" in told and "last" in told:
            told -= {"created"}
        if not told:
            element = self.page.outline.elements[time.node]
            title = (element.get("title") or "") if not time.is_attribute or count(element.get("title") or "") is None else ""
            told = text_roles(title[:30]) & {"last", "created"}
        if not told:
            told = self.heads.of(row, time.node) & {"last", "created"}
        if not told:
            node, steps = time.node, 0
            while node > row.start and steps < 5 and not told:
                told = class_roles(self.page.outline.classes[node]) & {"last", "created"}
                node = self.page.outline.parents[node]
                steps += 1
        if not told and "author" in self.heads.of(row, time.node) and "last" not in self.heads.of(row, time.node):
            told = frozenset({"created"})
        return told

    def _role(self, row: Row, time: Time) -> str:
        own = self._roles_of_time(row, time)
        votes = self._time_roles[self._time_column(row, time)]
        best = votes.most_common(1)[0][0] if votes else ""
        if len(own) == 1:
            return next(iter(own))
        return best

    def _times(self, row: Row) -> tuple[Moment | None, Moment | None, Time | None]:
        """When a thread was opened and last replied to, and where the latter stands."""
        roles = [(time, self._role(row, time)) for time in row.times]
        roles = [(time, role) for time, role in roles if role not in ("edit", "joined")]
        if not roles:
            return None, None, None
        lasts = [time for time, role in roles if role == "last"]
        firsts = [time for time, role in roles if role == "created"]
        plain = [time for time, role in roles if role == ""]
        if not lasts and not firsts and plain:
            if len(plain) == 1:
                return (plain[0].moment, None, None) if self._alone_is_created else (None, plain[0].moment, plain[0])
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
        if created is not None and created.value > last.moment.value and not (created.relative or last.moment.relative):
            created, last = last.moment, _newest(firsts) if created.precision_seconds <= last.moment.precision_seconds else last
        return created, last.moment, last

    @cached_property
    def _two_times(self) -> bool:
        return sum(len({time.moment.value for time in row.times}) >= 2 for row in self.rows) * 3 >= len(self.rows)

    @cached_property
    def _alone_is_created(self) -> bool:
        """Whether the only time of a row, with nothing said about it, is that of its opening: the list is not in its
        order, though longer than chance."""
        values = [row.times[0].moment.value.timestamp() for row in self.rows if row.times]
        order = falling(values)
        return order is not None and len(values) >= 8 and order < 0.6

    # people

    def _people(self, row: Row) -> list[Person]:
        found: list[Person] = []
        whole: dict[str, str] = {}
        for link in row.links:
            if link.is_user and len(link.text) > len(whole.get(link.url, "")):
                whole[link.url] = link.text
        for link in row.links:
            if link.is_user and link.key != row.title.key:
                name = link.text or self._image_name(link.node)
                if len(name) == 1:
                    name = whole[link.url]  # a letter drawn for an avatar
                name = clean_name(name)
                if name and is_name(name) and not self._again(row, found, name, link.node):
                    found.append(Person(name, link.node, self._person_roles(row, link.node)))
        named = [person for person in found if self.page.outline.text_length(person.node)]
        if len({person.name for person in named}) >= len({person.name for person in found}):
            found = named
        cell = self.heads.cell(row, row.title.node)
        if any(self.heads.cell(row, person.node) <= cell for person in found):
            return found
        known = {person.name for person in found}
        others = [person for person in self._unlinked_people(row) if person.name not in known]
        return sorted(found + others, key=lambda person: person.node)

    def _again(self, row: Row, people: list[Person], name: str, node: int) -> bool:
        """Whether a person was already named right before: an avatar beside the name."""
        if not people or people[-1].name != name or node - people[-1].node > 6:
            return False
        return self.heads.cell(row, node) == self.heads.cell(row, people[-1].node)

    def _image_name(self, node: int) -> str:
        outline = self.page.outline
        for inside in range(node, min(outline.ends[node], node + 6)):
            element = outline.elements[inside]
            name = element.get("title") or element.get("alt") or ""
            if name:
                return re.split(r"\s+[-–|]\s+|'s avatar| 的头像|,", name)[0]
        return ""

    def _unlinked_people(self, row: Row) -> list[Person]:
        found = self._said_people(row)
        cell = self.heads.cell(row, row.title.node)
        if self._name_column and not any(self.heads.cell(row, person.node) <= cell for person in found):
            for at in row.pieces:
                text, node, _ = self.page.outline.pieces[at]
                if row.column(node) == self._name_column and self._may_be_name(row, at):
                    return [Person(clean_name(text), node, frozenset()), *found]
        return found

    def _may_be_name(self, row: Row, at: int) -> bool:
        text, node, _ = self.page.outline.pieces[at]
        title = self.page.outline.piece_to[row.title.node]
        if at < title or at in self.page.piece_link or not is_name(text) or len(text) > 30 or count(text) is not None:
            return False
        if any(char in "()[]:" for char in text) or self.page.moment(text) is not None or PINNED.search(text):
            return False
        return not text_roles(text) & {"replies", "views", "posts", "topics", "last"}

    @cached_property
    def _name_column(self) -> str | None:
        """The column of names that nothing calls so: in nearly every row, in the title's cell, different and repeated."""
        names: dict[str, list[str]] = defaultdict(list)
        for row in self.rows:
            seen = set()
            cell = self.heads.cell(row, row.title.node)
            for at in row.pieces:
                node = self.page.outline.pieces[at].node
                column = row.column(node)
                if column not in seen and self._may_be_name(row, at) and self.heads.cell(row, node) == cell:
                    seen.add(column)
                    names[column].append(self.page.outline.pieces[at].text)
        for column, found in names.items():
            if len(found) >= 0.8 * len(self.rows) and len(set(found)) >= min(3, len(self.rows)):
                return column
        return None

    def _said_people(self, row: Row) -> list[Person]:
        outline, found = self.page.outline, []
        timed = {time.piece for time in row.times if not time.is_attribute}
        title = range(outline.piece_from[row.title.node], outline.piece_to[row.title.node])
        for at in row.pieces:
            if at in title:
                continue
            text, node, line = outline.pieces[at]
            previous = outline.pieces[at - 1] if at - 1 in row.pieces and at - 1 not in title else None
            follows = previous is not None and previous.line == line and ends_by(previous.text)
            name = ""
            if follows and at not in timed:
                name = clean_name(text)
            elif ends_by(text):
                continue
            elif starts_by(text):
                name = self._before_time(text)
            elif at not in timed and self._is_person_cell(row, node):
                name = clean_name(text)
            if name and is_name(name) and count(name) is None:
                found.append(Person(name, node, self._person_roles(row, node)))
        return found

    def _is_person_cell(self, row: Row, node: int) -> bool:
        outline, at, steps = self.page.outline, node, 0
        if node in self.page.link_at and leads_to(self.page.link_at[node].pattern):
            return False
        while at >= row.start and steps < 3:
            if class_roles(outline.classes[at]) & {"author"} and outline.text_length(at) <= 60:
                return True
            at = outline.parents[at]
            steps += 1
        head = self.heads.of(row, node)
        return "author" in head and "topics" not in head

    def _before_time(self, text: str) -> str:
        """The name in "by anna » Tue Mar 04" or "Started by anna, 3 days ago"."""
        name = clean_name(text)
        parts = re.split(r"\s*[»«,|·•@(（]\s*|\s+[-–—]\s+|\s+(?:on|am|le|el|at|il|em|op|vor|il y a|hace)\s+(?=\S*\d)", name)
        for end in range(len(parts), 0, -1):
            if end == len(parts) and self.page.moment(name) is not None:
                continue
            return clean_name(parts[0])
        return clean_name(parts[0])

    def _person_roles(self, row: Row, node: int) -> frozenset[str]:
        outline = self.page.outline
        line = self._line_before(node)
        told = text_roles(line) & {"last", "created"}
        if not told:
            told = self.heads.of(row, node) & {"last", "created", "author"}
            if "last" in told:
                told = frozenset({"last"})
        if not told:
            at, steps = node, 0
            while at > row.start and steps < 6 and not told:
                told = class_roles(outline.classes[at]) & {"last", "created"}
                at = outline.parents[at]
                steps += 1
        return frozenset({"last"}) if "last" in told else told

    def _line_before(self, node: int) -> str:
        outline = self.page.outline
        first = outline.piece_from[node]
        if first >= len(outline.pieces):
            return ""
        start, _ = self.page.line_range.get(outline.pieces[first].line, (first, first))
        return " ".join(piece.text for piece in outline.pieces[start:first])[-40:]

    def _names(self, row: Row, last: Time | None) -> tuple[str | None, str | None]:
        """Who opened a thread and who wrote last."""
        people = self._people(row)
        if not people:
            return None, None
        lasts = [person for person in people if "last" in person.roles]
        firsts = [person for person in people if "last" not in person.roles]
        if last is not None and len(firsts) > 1 and not lasts:
            near = [p for p in firsts if self.heads.cell(row, p.node) == self.heads.cell(row, last.node) and p is not firsts[0]]
            lasts = near or [firsts[-1]]
            firsts = [person for person in firsts if person not in lasts]
        elif last is not None and len(firsts) == 1 and not lasts and not firsts[0].roles:
            person = firsts[0]
            title_cell = self.heads.cell(row, row.title.node)
            cell = self.heads.cell(row, person.node)
            if cell == self.heads.cell(row, last.node) != title_cell and self._role(row, last) == "last":
                firsts, lasts = [], [person]
        return (firsts[0].name if firsts else None), (lasts[0].name if lasts else None)

    # marks

    def _words(self, row: Row) -> str:
        """What classes, icons and badges of a row say, without its title, names and numbers."""
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
                if value and len(value) <= (200 if name == "src" else 40) and value != row.title.text:
                    found.append(value.rsplit("/", 1)[-1] if name == "src" else value)
        for at in row.pieces:
            text, node, _ = outline.pieces[at]
            if node not in title and len(text) <= 16 and node not in self.page.link_at:
                found.append(text)
        return re.sub(r"[-_./]", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", " | ".join(found)))

    @cached_property
    def _marks(self) -> tuple[list[bool], list[bool]]:
        words = [self._words(row) for row in self.rows]
        return _marked(words, PINNED), _marked(words, LOCKED)

    @cached_property
    def _sections(self) -> list[bool]:
        """Rows below a heading like "Announcements" or "Sticky threads", up to the next heading among the rows."""
        outline, flags, state = self.page.outline, [], False
        for at, row in enumerate(self.rows):
            start = self.rows[at - 1].end if at else max(0, row.start - 40)
            between = [
                outline.pieces[i].text
                for i in range(outline.piece_from[start] if start < len(outline) else 0, outline.piece_from[row.start])
                if len(outline.pieces[i].text) <= 40 and i < outline.piece_from[row.start]
            ]
            if between:
                text = " ".join(between[-12:])
                heads = [t for t in between if PINNED.search(t)]
                if heads:
                    state = True
                elif at and any(text_roles(t) & {"topics", "posts"} for t in between) and len(text) < 200:
                    state = False
            flags.append(state)
        return flags if 0 < sum(flags) < len(flags) else [False] * len(flags)

    def _by_order(self, lasts: list[Moment | None], marked: list[bool]) -> list[bool]:
        """Rows at the top that are older than the rows after them, which fall in time: pinned, said by nothing else."""
        flags = [False] * len(lasts)
        spans = [_span(moment) if moment else None for moment in lasts]
        rest = [at for at, span in enumerate(spans) if span is not None and not marked[at]]
        for lead in range(1, min(len(rest) - 4, len(rest) // 3 + 1, 12)):
            tail = [span for at in rest[lead:] if (span := spans[at]) is not None]
            if not all(a[1] >= b[0] for a, b in zip(tail, tail[1:], strict=False)):
                continue
            newest = max(span[0] for span in tail)
            older = [at for at in rest[:lead] if (span := spans[at]) is not None and span[1] < newest]
            if len(older) == lead:
                for at in older:
                    flags[at] = True
            break
        return flags

    # the rest of a row

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
                self.page.outline.contains(link.node, last.node) or self.page.outline.contains(last.node, link.node)
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
            r"goto=(?:last|new)|last_?post|getlastpost|/latest|action=last|view=(?:last|getlast)|[?&](?:p|pid|post)=\d|msg\d+|#(?:latest|last|new)",
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
        """The pattern of links to the thread's board, in lists that mix boards."""
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
            value = share + (1.0 if known else 0.0) + (0.3 if repeats else 0.0) - (0.8 if "tag" in pattern else 0.0)
            if share >= 0.5 and (known or (repeats and len(self.rows) >= 8)) and value > points:
                best, points = pattern, value
        return best

    def _may_be_board(self, row: Row, link: Link) -> bool:
        if link.is_user or not link.is_local or link.key == row.title.key or not link.text or count(link.text) is not None:
            return False
        if leads_to(link.pattern) in ("thread", "post") or link.fragment:
            return False
        return self.page.moment(link.text) is None and len(link.text) <= 80

    def _board(self, row: Row) -> Link | None:
        pattern = self._board_pattern
        if pattern is None:
            return None
        return next((link for link in row.links if link.pattern == pattern and self._may_be_board(row, link)), None)

    def records(self) -> list[ThreadRecord]:
        """The thread records, one a row, in order."""
        replies, views, _ = self._count_columns
        times = [self._times(row) for row in self.rows]
        marked, locked = self._marks
        sections = self._sections
        flags = [a or b for a, b in zip(marked, sections, strict=True)]
        ordered = self._by_order([last or created for created, last, _ in times], flags)
        made = []
        for at, row in enumerate(self.rows):
            created, last, where = times[at]
            author, last_author = self._names(row, where)
            number = self._value(replies, at)
            if number is not None and self.counts_posts:
                number = max(0, number - 1)
            if last is None and created is not None and number == 0:
                last = created
            board = self._board(row)
            made.append(
                ThreadRecord(
                    url=row.title.url,
                    title=self._title(row),
                    author=author,
                    replies=number,
                    counts_posts=self.counts_posts if number is not None else None,
                    created=created,
                    last_reply=last,
                    pinned=flags[at] or ordered[at],
                    last_author=last_author,
                    last_post_url=self._last_post(row, where),
                    board_url=board.url if board else None,
                    board_name=board.text if board else None,
                    views=self._value(views, at),
                    locked=locked[at],
                )
            )
        return made

    def _title(self, row: Row) -> str:
        text = row.title.text
        if text.endswith(("…", "...")):
            whole = self.page.outline.elements[row.title.node].get("title") or ""
            if whole.startswith(text.rstrip("….").strip()):
                return " ".join(whole.split())
        return text


def _span(moment: Moment) -> tuple[float, float]:
    """The first and last second that a moment can mean."""
    at = moment.value.timestamp()
    return (at - moment.precision_seconds, at) if moment.relative else (at, at + moment.precision_seconds)


def _newest(times: list[Time]) -> Time:
    return max(times, key=lambda time: (time.moment.value, -time.moment.precision_seconds))


def _oldest(times: list[Time]) -> Time:
    return min(times, key=lambda time: (time.moment.value, time.moment.precision_seconds))


def _marked(words: list[str], pattern: re.Pattern[str]) -> list[bool]:
    """Rows that say a word which not all rows say."""
    found = [{word.lower() for word in pattern.findall(text)} for text in words]
    everywhere = set.intersection(*found) if len(found) >= 3 and found else set()
    return [bool(own - everywhere) for own in found]


def sort_of(records: list[ThreadRecord]) -> str | None:
    """The order of a list: "last_reply", "created", or None where it shows none. Times that can be the same, as coarse
    ones often are, do not speak against an order."""
    for name in ("last_reply", "created"):
        moments = [moment for record in records if not record.pinned and (moment := getattr(record, name)) is not None]
        spans = [_span(moment) for moment in moments]
        if len(spans) < 0.7 * sum(not record.pinned for record in records) or not spans:
            continue
        falls = sum(a[1] >= b[0] for a, b in zip(spans, spans[1:], strict=False))
        if falls >= 0.9 * (len(spans) - 1) and (len(spans) > 2 or name == "last_reply"):
            return name
    return None


def board_address(urls: list[str]) -> str | None:
    """The address of the one board that all rows name; None for mixed lists."""
    keys = {board_key(url) for url in urls}
    return first_page(urls[0]) if len(keys) == 1 and urls else None
