"""One row of a list: the elements around its title link, and the counts, times and links inside
these elements."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple, Protocol

from crawlmgr.text.dates import parse_time
from crawlmgr.web.pages.records import Record
from forums.reading.document import Link, Page
from forums.reading.page_times import Time, time_words
from forums.reading.values import count, exact_count, inner_counts, pair
from forums.reading.words import class_roles, text_roles

COUNTED = frozenset({"replies", "comments", "posts", "topics", "views"})
"""The roles (fields) that numbers in a row can have."""


class Count(NamedTuple):
    """A number in a row that counts something: the value, its column (key of its position in the
    row), the roles that its surroundings suggest, and its node. The roles include "label" if words
    beside the number, not only class names, suggest them."""

    value: int
    column: str
    roles: frozenset[str]
    node: int


class RowList(Protocol):
    """What a row needs of the candidate list that contains it (`rowgroups.Group`)."""

    @property
    def labels_first(self) -> bool | None: ...


def count_columns(rows: list[Row]) -> dict[str, dict[int, Count]]:
    """Groups the counts of all rows by column: {column: {index of the row: count}}.

    If most rows label a count with the same role, the role becomes part of its column's key: an
    icon before the count, as in pinned rows, changes its position but not its label.
    """
    told = [
        [(found, found.roles & _COUNT_ROLES - {"last"}) for found in row.counts] for row in rows
    ]
    labels = [
        {next(iter(roles)) for found, roles in each if "label" in found.roles and len(roles) == 1}
        for each in told
    ]
    votes = Counter(role for roles in labels for role in roles)
    columns: dict[str, dict[int, Count]] = defaultdict(dict)
    for at, each in enumerate(told):
        for found, roles in each:
            role = next(iter(roles)) if "label" in found.roles and len(roles) == 1 else ""
            usual = role and votes[role] * 2 >= len(rows)
            columns[f"{found.column}={role}" if usual else found.column].setdefault(at, found)
    for inner in sorted(columns, key=len):
        outer = inner
        while (shorter := _INSIDE.sub("", outer)) != outer:
            outer = shorter
            if outer in columns and not columns[outer].keys() & columns[inner].keys():
                # In some rows the number is inside an additional element, for example a rounded
                # one: these rows belong to the same column.
                columns[outer].update(columns.pop(inner))
                break
    return columns


_INSIDE = re.compile(r"/(?:span|b|strong|em|i|a|font|abbr|small|bdi)\b[^/]*$")


class Row:
    """One row of a list: the sibling elements `record` (usually one) and the title link `title`,
    which names the thread or board. `start` and `end` are the range of its nodes; `group` is the
    candidate list that contains the row.
    """

    def __init__(self, page: Page, record: Record, title: Link) -> None:
        self.page = page
        self.record = record
        self.title = title
        self.group: RowList | None = None
        self.start = record[0]
        self.end = page.outline.ends[record[-1]]

    def column(self, node: int) -> str:
        """Returns the column of a node: a key for its position in the row, equal for corresponding
        nodes of rows with the same markup."""
        at = max(0, bisect_left(self.record, node + 1) - 1)
        return f"{at}:{self.page.outline.relative(node, self.record[at])}"

    @cached_property
    def pieces(self) -> range:
        """The range of numbers, in page order, of the texts that the row contains."""
        page = self.page.outline
        return range(page.piece_from[self.start], page.piece_to[self.record[-1]])

    @cached_property
    def links(self) -> list[Link]:
        """Links of the row, in order."""
        return self.page.links_in(self.start, self.end)

    @cached_property
    def times(self) -> list[Time]:
        """The times in the row outside its title. Times inside the text of another link, such as a
        date in the title of a board's last thread, are used only if there is no other time."""
        inside = range(self.title.node, self.page.outline.ends[self.title.node])
        found = [
            time
            for time in self.page.times_in(self.start, self.end)
            if time.node not in inside or time.is_attribute
        ]
        plain = [time for time in found if time.is_attribute or not self._in_title_of_other(time)]
        return plain or found

    def _in_title_of_other(self, time: Time) -> bool:
        """Tells whether a time is only part of the text of a link, such as a date in the title of a
        board's last thread."""
        link = self.page.piece_link.get(time.piece)
        return link is not None and parse_time(link.text, self.page.dates) is None

    @cached_property
    def text(self) -> str:
        """All text of the row, as one string."""
        return " ".join(self.page.outline.pieces[at].text for at in self.pieces)

    @cached_property
    def counts(self) -> list[Count]:
        """The counts of the row outside its title: texts that are numbers, and numbers in short
        labels such as "12 replies"."""
        found: list[Count] = []
        timed = {time.piece for time in self.times if not time.is_attribute}
        page = self.page.outline
        title = range(page.piece_from[self.title.node], page.piece_to[self.title.node])
        for at in self.pieces:
            if at in title:
                continue
            found.extend(self._labelled_counts(at) if at in timed else self._counts_of(at))
        return found

    def _labelled_counts(self, at: int) -> list[Count]:
        """Returns the counts inside text number `at` that have a word for their role directly
        before or after them, as in "(3 replies, last 2014-3-1 10:15)". Digits of the text's time
        are left out."""
        text, node, _ = self.page.outline.pieces[at]
        found = []
        taken = time_words(text, self.page.moment) or (0, 0)
        for value, start, end in inner_counts(text):
            if taken[0] <= start < taken[1]:
                continue
            after = re.match(r"\s*([^\W\d_]+)", text[end:])
            before = re.search(r"([^\W\d_]+)\s*[:：(（]?\s*$", text[:start])
            for told in (after, before):
                roles = text_roles(told.group(1)) & _COUNT_ROLES - {"last"} if told else frozenset()
                if roles:
                    found.append(
                        Count(
                            value,
                            f"{self.column(node)}/{'+'.join(sorted(roles))}",
                            roles | {"label"},
                            node,
                        )
                    )
                    break
        return found

    def _counts_of(self, at: int) -> list[Count]:
        page = self.page.outline
        text, node, _ = page.pieces[at]
        if not any(map(str.isdigit, text)):
            return []
        if len(text) > 60:
            return self._labelled_counts(at)
        column, top = self.column(node), self._top(node)
        if page.tags[node][:1] == "h" or page.tags[page.parents[node]] in ("h1", "h2", "h3", "h4"):
            # In headings, numbers without a named role are badges beside a name, not counts.
            return [found for found in self._labelled(text, node, column) if found.roles]
        value = count(text)
        if value is not None:
            link = self.page.piece_link.get(at)
            if self._is_pager(at) or link is not None and link.is_user:
                return []
            exact, title_roles = self._attribute(node, top)
            tooltip: list[Count] = []
            if (
                title_roles
                and exact is not None
                and text.isdigit()
                and not str(exact).startswith(text)
            ):
                # A tooltip such as "Views: 6877" on the number of replies describes the number
                # inside it, not the one displayed.
                tooltip = [Count(exact, f"{column}/title", title_roles | {"label"}, node)]
                exact, title_roles = None, frozenset()
            if exact is not None and (
                exact == value or len(str(exact)) > len(str(value)) or not text.isdigit()
            ):
                value = exact
            # Words in a tooltip take precedence over class names.
            hints = self._roles(node, top) if not title_roles else title_roles | {"label"}
            told = self._beside(at)
            if told & COUNTED:
                # Adjacent words take precedence over class names, which may apply to all counts of
                # the row.
                hints -= COUNTED
            return [Count(value, column, hints | told, node), *tooltip]
        both = pair(text)
        if both:
            roles = self._roles(node, top)
            return [
                Count(both[0], column + "/0", roles, node),
                Count(both[1], column + "/1", roles, node),
            ]
        if self.page.moment(text) is not None or (
            at in self.page.piece_link and not text[0].isdigit()
        ):
            return []  # Numbers in the title of another thread are not counts.
        return self._labelled(text, node, column)

    def _labelled(self, text: str, node: int, column: str) -> list[Count]:
        inner = inner_counts(text)
        if not inner or len(inner) > 3:
            return []
        found, before = [], 0
        leads = text[: inner[0][1]].strip() != "" and bool(text_roles(text[: inner[0][1]]))
        for at, (value, start, end) in enumerate(inner):
            after = inner[at + 1][1] if at + 1 < len(inner) else len(text)
            label = text[before:start] if leads else text[end:after]
            before = end
            roles = text_roles(label) & COUNTED
            if roles and len(label) <= 40:
                found.append(
                    Count(
                        value, f"{column}/{at}/{'+'.join(sorted(roles))}", roles | {"label"}, node
                    )
                )
            elif (
                len(inner) == 1
                and not leads
                and start == 0
                and 0 < len(label.split()) <= 2
                and label.strip().isalpha()
            ):
                found.append(Count(value, f"{column}/{label.strip()}", frozenset(), node))
        return found

    def _top(self, node: int) -> int:
        return self.record[max(0, bisect_left(self.record, node + 1) - 1)]

    def _attribute(self, node: int, top: int) -> tuple[int | None, frozenset[str]]:
        page = self.page.outline
        while node >= top:
            element = page.elements[node]
            title = element.get("title") or element.get("aria-label") or ""
            if title and len(title) <= 60 and page.piece_to[node] - page.piece_from[node] <= 2:
                roles = text_roles(title) & COUNTED
                return exact_count(title), roles
            if page.piece_to[node] - page.piece_from[node] > 2:
                break
            node = page.parents[node]
        return None, frozenset()

    def _roles(self, node: int, top: int) -> frozenset[str]:
        """Returns what a number in the element `node` may count (roles such as "replies" or
        "views"), by the class names and icons of `node` and its ancestors below node `top`. The
        search upwards ends at the first element that suggests a role, after four elements at most,
        since higher ancestors name groups of fields."""
        page, found, steps = self.page.outline, frozenset[str](), 0
        while node > top and steps < 4 and not found & _COUNT_ROLES:
            hints = class_roles(page.classes[node])
            # "post_subject" is a class of a title's cell and does not mean a count of posts.
            found |= hints - _TITLED if "title" in hints else hints
            icons = [
                child
                for child in page.children(node)
                if page.tags[child] in ("i", "svg", "img", "use", "span")
            ]
            for icon in icons[:2]:
                if page.piece_from[icon] == page.piece_to[icon]:
                    element = page.elements[icon]
                    named = " ".join(filter(None, (element.get("title"), element.get("alt"))))
                    found |= (class_roles(page.classes[icon]) & _COUNT_ROLES) | (
                        text_roles(named) & _COUNT_ROLES
                    )
            node = page.parents[node]
            steps += 1
        return found & (_COUNT_ROLES | {"likes", "avatar"})

    def _beside(self, at: int) -> frozenset[str]:
        """Returns the roles named by the label of the value in text number `at`, and also "label";
        empty if there is no label.

        A label is a text before the value ("Replies:" 5) or after it (5 "replies"), see `labels`.
        If there are both, the markup decides (see `_pairs_first`), otherwise the side on which most
        labels of the list are.
        """
        before, after = self.labels(at)
        if before and after:
            first = self._pairs_first(at)
            if first is None and self.group is not None:
                first = self.group.labels_first
            return (before if first else after) | {"label"}
        told = before or after
        return told | {"label"} if told else told

    def labels(self, at: int) -> tuple[frozenset[str], frozenset[str]]:
        """Returns the roles of the labels before and after text number `at`, as (before, after). A
        label is a short adjacent text that names a kind of count, such as "Replies"; without one
        the set is empty."""
        pieces, ends = self.page.outline.pieces, self.page.outline.piece_to
        before = after = frozenset[str]()
        if at - 1 in self.pieces and len(pieces[at - 1].text) <= 24 and at != ends[self.title.node]:
            roles = text_roles(pieces[at - 1].text) & _COUNT_ROLES
            beside = pieces[at - 1].line == pieces[at].line or self._is_term(at - 1)
            if roles and beside and not self._is_taken(at):
                before = roles
        if (
            at + 1 in self.pieces
            and len(pieces[at + 1].text) <= 24
            and not any(map(str.isdigit, pieces[at + 1].text))
        ):
            roles = text_roles(pieces[at + 1].text) & _COUNT_ROLES
            if roles and (pieces[at + 1].line == pieces[at].line or self._is_beside(at, at + 1)):
                after = roles
        return before, after

    def _is_taken(self, at: int) -> bool:
        """Tells whether the text before text number `at` labels another value: an element that does
        not contain `at` holds only that text and the number before it."""
        page = self.page.outline
        if at - 2 not in self.pieces or count(page.pieces[at - 2].text) is None:
            return False
        node = self._common(page.pieces[at - 2].node, page.pieces[at - 1].node)
        return page.piece_to[node] - page.piece_from[node] == 2

    @property
    def label_votes(self) -> int:
        """The number of counts and times in the row with a label before them, minus the number of
        those with a label after them."""
        votes, timed = 0, {time.piece for time in self.times}
        for at in self.pieces:
            if at in timed or count(self.page.outline.pieces[at].text) is not None:
                wanted = frozenset({"last"}) if at in timed else _COUNT_ROLES - {"last"}
                before, after = self.labels(at)
                votes += bool(before & wanted) - bool(after & wanted)
        return votes

    def _pairs_first(self, at: int) -> bool | None:
        """Tells whether the label of the value in text number `at` is the text before it (True) or
        after it (False), by markup alone: a <dt> or <th>, a colon at its end, or an element that
        contains only the two texts. None if the markup does not show it."""
        page = self.page.outline
        label, value = page.pieces[at - 1], page.pieces[at]
        if page.tags[label.node] in ("dt", "th") or label.text.endswith((":", "：")):
            return True
        for other, first in ((at + 1, False), (at - 1, True)):
            node = self._common(page.pieces[other].node, value.node)
            if page.piece_to[node] - page.piece_from[node] == 2:
                return first
        return None

    def _common(self, node: int, other: int) -> int:
        """Returns the lowest element of the page that contains the two nodes."""
        page = self.page.outline
        while node > 0 and not page.contains(node, other):
            node = page.parents[node]
        return node

    def text_before(self, at: int) -> str:
        """Returns the text that precedes text number `at` on the same line, at most its last 80
        characters. It begins after the row's title and after the nearest preceding time. If it is
        empty, returns text number `at` - 1 if that has at most 30 characters and is the label of
        text `at` (see `_is_named_by`), otherwise ""."""
        page, title = self.page.outline, self.page.outline.piece_to[self.title.node]
        first, _ = self.page.line_range.get(page.pieces[at].line, (at, at))
        first = max(first, self.pieces.start, title if title <= at else 0)
        first = max([first, *(end for time in self.times if (end := self.time_end(time)) <= at)])
        if first < at:
            return " ".join(page.pieces[before].text for before in range(first, at))[-80:]
        if (
            at - 1 in self.pieces
            and at - 1 >= title
            and len(page.pieces[at - 1].text) <= 30
            and self._is_named_by(at)
        ):
            return page.pieces[at - 1].text
        return ""

    def time_end(self, time: Time) -> int:
        """Returns the number of the first text after a time."""
        return (
            max(time.piece, self.page.outline.piece_to[time.node])
            if time.is_attribute
            else time.piece + 1
        )

    def _is_named_by(self, at: int) -> bool:
        """Tells whether the text before text number `at` is its label, because the two are in
        adjacent elements such as a term and its definition."""
        page = self.page.outline
        term, node = page.pieces[at - 1].node, page.pieces[at].node
        if page.tags[term] in ("dt", "th"):
            return True
        parent = page.parents[term]
        beside = page.parents[node] == parent and page.ends[term] == node
        return beside and (
            page.piece_to[parent] - page.piece_from[parent] == 2
            or bool(self.group and self.group.labels_first)
        )

    def _is_term(self, at: int) -> bool:
        page = self.page.outline
        node = page.pieces[at].node
        return page.pieces[at].text.endswith((":", "：")) or page.tags[node] in _TERMS

    def _is_beside(self, at: int, other: int) -> bool:
        """Tells whether text number `other` has the same parent element as text `at`, or is in a
        child or the parent of its element, as in <b>5</b><span>replies</span>."""
        page = self.page.outline
        mine, its = page.pieces[at].node, page.pieces[other].node
        return (
            its == page.parents[mine]
            or mine == page.parents[its]
            or (page.parents[mine] == page.parents[its])
        )

    def _is_pager(self, at: int) -> bool:
        """Tells whether the number in text `at` belongs to the short list of page links beside a
        thread's title."""
        page, node = self.page.outline, self.page.outline.pieces[at].node
        while node > self.start and not page.contains(node, self.title.node):
            if "pager" in class_roles(page.classes[node]):
                return True
            node = page.parents[node]
        link = self.page.piece_link.get(at)
        if link is None or link.key != self.title.key:
            return False
        parents = self.page.outline.parents
        others = {
            other.url
            for other in self.links
            if other.key == link.key
            and parents[other.node] == parents[link.node]
            and count(other.text) is not None
        }
        return len(others) > 1 or bool(_PAGE_MARK.search(link.url))


_PAGE_MARK = re.compile(
    r"[?&;](?:page|start|st|offset|pg|p)=\d|/p(?:age)?[-_/]?\d+|topic[=,]\d+\.\d"
    r"|-\d+-[2-9]\d*-\d+\.html?",
    re.I,
)
_TERMS = frozenset("dt th label span em strong b i small div dfn".split())
_COUNT_ROLES = COUNTED | {"last"}
_TITLED = frozenset({"posts", "topics"})
