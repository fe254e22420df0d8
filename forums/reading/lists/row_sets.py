"""Finds the lists of a page that may be its boards or threads: groups of rows, scored by what the
rows contain."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from forums.reading.addresses import board_key, names_board, names_post
from forums.reading.document import Link, Page
from forums.reading.lists.header_cells import Heads
from forums.reading.lists.row_groups import Group, groups
from forums.reading.lists.rows import COUNTED, Row
from forums.reading.patterns import leads_to
from forums.reading.words import class_roles, text_roles

_FORUM_ADDRESS = re.compile(
    r"(?<![a-z])(?:forums?|boards?|viewforum|showforum|forumdisplay|subforums?|bbs|fid|boardid"
    r"|forumid|foren|foros?)(?![a-z])"
)


@dataclass
class RowSet:
    """A candidate list of boards or threads. Each row has a title link, which names the board or
    thread; these links form `group`. `others` are further groups of links in the same rows, such as
    those of authors or last posts.
    """

    page: Page
    group: Group
    others: list[Group]

    @property
    def rows(self) -> list[Row]:
        """The rows of this list, in page order."""
        return self.group.rows

    @cached_property
    def heads(self) -> Heads:
        """The header cells above the rows."""
        return Heads(self.page, self.rows)

    @cached_property
    def is_labelled(self) -> bool:
        """Tells whether words identify the list as a forum's. At least 60 % of the rows must have a
        count. Header cells and labels of counts must name two of: replies, views, topics, posts,
        last reply. One of the first four is enough if, in half of the rows, a word before a time
        marks it as that of the last reply."""
        if self.group.share("counts") < 0.6:
            return False
        named = (self.heads.all_roles | _count_roles(self.rows)) & {
            "replies",
            "views",
            "topics",
            "posts",
            "last",
        }
        return len(named) >= 2 or (len(named) == 1 and "last" not in named and self._says_last)

    @property
    def _says_last(self) -> bool:
        """Tells whether in at least half of the rows a word before a time says that it is the time
        of the last reply."""
        texts = [
            f"{row.text_before(time.piece)} {time.own_label}"[-40:]
            for row in self.rows
            for time in row.times[:2]
        ]
        return sum("last" in text_roles(text) for text in texts if text) * 2 >= len(self.rows)

    @cached_property
    def quality(self) -> float:
        """How likely the rows are records of a forum, as a score in [0, 2), from times, counts,
        users and words in the rows and their number; a list is accepted from `MIN_QUALITY` (0.45).
        """
        group, n = self.group, len(self.rows)
        texts = [len(row.title.text) for row in self.rows]
        named = min(1.0, sum(texts) / n / 25)
        people = sum(1 for row in self.rows if any(link.is_user for link in row.links)) / n
        known = 0.15 if leads_to(group.pattern) in ("board", "thread") else 0.0
        fields = (
            known
            + 0.4 * group.share("times")
            + 0.3 * group.share("counts")
            + 0.15 * people
            + 0.15 * named
        )
        many: float = min(1.0, n / 4) ** 0.5
        place = (
            sum((row.title.node - row.start) / max(1, row.end - row.start) for row in self.rows) / n
        )
        single = 0.4 if place > 0.55 else 1.0
        if sorted(len(row.times) for row in self.rows)[n // 2] > 4:
            single *= (
                0.5  # Rows that contain five or more times are rarely single boards or threads.
            )
        over = self.heads.of(self.rows[0], self.rows[0].title.node)
        if "last" in over and not over & {"topics", "board"} and "board" in self.heads.all_roles:
            # The title links lead to the last posts of boards; the names of the boards are in
            # another cell.
            single *= 0.3
        if self.page.is_aside(self.rows[0].start) and self.page.is_aside(self.rows[-1].start):
            single *= 0.5
        labelled = (
            0.25 * many if self.is_labelled or self.is_titles_only or self.is_minimal_index else 0.0
        )
        return (fields * many + 0.5 * group.text_share * fields + labelled) * single

    @cached_property
    def is_titles_only(self) -> bool:
        """Tells whether the list has at least five rows, which are titles of threads without times
        and counts, and contains at least half of the page's text, as in text-only versions of
        forums for search engines."""
        group, rows = self.group, self.rows
        if len(rows) < 5 or group.share("counts") or group.share("times") or group.text_share < 0.5:
            return False
        return leads_to(group.pattern) == "thread" and all(" t:" in row.title.key for row in rows)

    @cached_property
    def is_minimal_index(self) -> bool:
        """Tells whether this is an index of boards that shows only names: at least three rows
        without times, whose addresses contain a word for forums, outside side columns, on a page
        whose own address is neither a board's nor a thread's.
        """
        page, rows = self.page, self.rows
        if (
            len(rows) < 3
            or self.group.share("times")
            or not _FORUM_ADDRESS.search(self.group.pattern.partition("/")[2])
        ):
            return False
        if (
            page.is_thread_address
            or leads_to(page.pattern) == "board"
            or leads_to(self.group.pattern) != "board"
        ):
            return False
        return self.group.text_share >= 0.15 and not any(
            page.is_aside(row.start) for row in (rows[0], rows[-1])
        )

    @cached_property
    def board_weight(self) -> float:
        """Sum of the evidence that the rows are boards (positive) or threads (negative)."""
        return sum(self.weights.values())

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each piece of evidence, by its name; positive for boards, negative for
        threads. Evidence of weight 0 is left out."""
        rows, n = self.rows, len(self.rows)
        found = {
            "address": (
                {"board": 2.0, "thread": -2.0, "post": -1.0}.get(leads_to(self.group.pattern), 0.0)
            )
        }
        if (
            found["address"] > 0
            and leads_to(self.page.pattern) == "board"
            and self._stand_below_page()
        ):
            # Weak evidence: the word "forum" in /forum/cars/my-car may come from this page,
            # /forum/cars.
            found["address"] = 0.5
        named = self.heads.roles_beside(rows[-1]) | _count_roles(rows)
        if "topics" in named and named & {"posts", "comments"} and not named & {"replies", "views"}:
            found["topics_posts"] = 1.5
        elif named & {"replies", "views"}:
            both = {"replies", "views"} <= named
            found["replies_views"] = 1.5 if self._counts_topics() else -2.2 if both else -1.5
        elif "topics" in named:
            found["topics"] = 0.7
        if sum(map(_offers_feed, rows)) >= 0.6 * n and not self.group.share("times"):
            found["feeds"] = 0.7  # a feed each, and no time of a last reply
        inner = sum(1 for row in rows if self._leads_further(row)) / n
        found["last_thread"] = 1.5 * inner
        if _starts_with_board(self.heads.first_text):
            found["head"] = 0.7
        elif "topics" in text_roles(self.heads.first_text) and "replies" in named:
            found["head"] = -1.0
        order = falling(
            [max(time.moment.value.timestamp() for time in row.times) for row in rows if row.times]
        )
        if n >= 5 and order is not None and order > 0.85:
            found["sorted"] = -1.0
        if n > 40:
            found["many"] = -0.5
        people = sum(len({link.url for link in row.links if link.is_user}) >= 2 for row in rows) / n
        found["people"] = -0.7 * people
        return {name: weight for name, weight in found.items() if weight}

    def _stand_below_page(self) -> bool:
        """Tells whether the addresses of most rows begin with the page's own address and a
        slash."""
        above = self.page.url.partition("?")[0].partition("#")[0].rstrip("/") + "/"
        return 2 * sum(row.title.url.startswith(above) for row in self.rows) > len(self.rows)

    def _counts_topics(self) -> bool:
        """Tells whether one column of counts is named topics, another one replies, posts or
        comments, and none views, as in an index of boards."""
        votes: Counter[str] = Counter()
        for row in self.rows:
            roles_of_counts = [
                found.roles if "label" in found.roles else self.heads.of(row, found.node)
                for found in row.counts
            ]
            votes.update(
                {next(iter(roles)) for each in roles_of_counts if len(roles := each & COUNTED) == 1}
            )
        named = {role for role, number in votes.items() if number * 2 >= len(self.rows)}
        return (
            "topics" in named
            and bool(named & {"replies", "posts", "comments"})
            and "views" not in named
        )

    def _leads_further(self, row: Row) -> bool:
        """Tells whether a row contains, besides its name, a link with the address of a thread or
        post, as the rows of an index do for the last post of each board."""
        for link in row.links:
            if (
                link.key == row.title.key
                or link.is_user
                or not link.is_local
                or link.url.startswith(f"{row.title.url}?")
            ):
                continue
            if leads_to(link.pattern) in ("thread", "post") or (
                "p=#" in link.pattern and link.fragment
            ):
                return True
            if _is_below(link.url, row.title.url):
                return True
        return False


def _offers_feed(row: Row) -> bool:
    """Tells whether a row has a link to a feed below the address of its title link."""
    return any(
        link.url.startswith(row.title.url)
        and _FEED.search(link.url.removeprefix(row.title.url)) is not None
        for link in row.links
    )


_FEED = re.compile(r"(?<![a-z])(?:rss|atom|feeds?|rdf)(?![a-z])", re.I)


def _is_below(url: str, above: str) -> bool:
    """Tells whether `url` is the address `above` with one more path segment that looks like a slug,
    as a thread's address may be below its board's: /cars/ and /cars/my-old-car/."""
    rest = url.removeprefix(above.rstrip("/") + "/").rstrip("/") if "?" not in above else url
    return rest != url and bool(_SLUG.fullmatch(rest))


_SLUG = re.compile(r"[^/?#]*[^\W\d][^/?#]*[-_][^/?#]+")


def _starts_with_board(text: str) -> bool:
    roles = text_roles(text)
    return "board" in roles and "topics" not in roles


def _count_roles(rows: list[Row]) -> frozenset[str]:
    votes = Counter(role for row in rows for found in row.counts for role in found.roles)
    return frozenset(role for role, count in votes.items() if count >= 0.5 * len(rows))


def falling(values: list[float]) -> float | None:
    """Returns the share of pairs of successive values in which the second is not greater than the
    first; None for fewer than three values, or if all are equal."""
    if len(values) < 3 or len(set(values)) < 2:
        return None
    return sum(a >= b for a, b in zip(values, values[1:], strict=False)) / (len(values) - 1)


def _same_rows(a: Group, b: Group) -> bool:
    spans = set(a.spans)
    shared = sum(1 for span in b.spans if span in spans)
    sizes = sorted((len(a.spans), len(b.spans)))
    return shared >= 0.6 * sizes[0] and shared >= 1 and sizes[0] * 2 >= sizes[1]


def _comes_first(group: Group, other: Group) -> bool:
    """Tells whether a group's links, which have addresses of threads or boards, come before those
    of the group `other` in at least 80 % of the rows that the two groups share; False if the group
    has fewer rows than `other`. The first link of a row is usually its title link; a link to a
    board's last thread comes later."""
    if len(group.rows) < len(other.rows) or leads_to(group.pattern) not in ("board", "thread"):
        return False
    places = {row.start: row.title.node for row in other.rows}
    shared = [row for row in group.rows if row.start in places]
    return sum(row.title.node < places[row.start] for row in shared) >= 0.8 * len(shared)


def _is_headed_last(group: Group, other: Group) -> bool:
    """Tells by the list's header row whether, in rows that both groups contain, the links of
    `group` are under the heading "last" and those of `other` in a column of boards. False if the
    links of either group lead to users."""
    places = {row.start: row.title for row in other.rows}
    row = next((row for row in group.rows if row.start in places), None)
    if row is None or row.title.is_user or places[row.start].is_user:
        return False
    heads = RowSet(group.page, group, []).heads
    over, its = heads.of(row, row.title.node), heads.of(row, places[row.start].node)
    return "last" in over and "last" not in its and "board" in its


def _name_score(group: Group) -> float:
    """Returns a score of how well a group's links serve as the title links of their rows: higher
    for long and different texts, early in the row, marked as titles; lower for texts that contain a
    time. It is -1 for names of users.
    """
    page, rows = group.page, group.rows
    n = len(rows)
    if rows[0].title.is_user:
        return -1.0
    marked = sum(1 for row in rows if _is_marked(page, row)) / n
    length = min(1.0, sum(len(row.title.text) for row in rows) / n / 30)
    early = sum((row.title.node - row.start) / max(1, row.end - row.start) for row in rows) / n
    different = len({row.title.text for row in rows}) / n
    known = {"thread": 0.5, "board": 0.4, "post": -0.5}.get(leads_to(group.pattern), 0.0)
    timed = (
        sum(
            1
            for row in rows
            if any(
                time.node >= row.title.node and time.piece in _pieces(page, row.title)
                for time in row.times
            )
        )
        / n
    )
    return (
        0.8 * marked
        + 0.8 * length
        - 1.6 * early
        + different
        + known
        - timed
        + 0.4 * min(1.0, n / 5)
    )


def _pieces(page: Page, link: Link) -> range:
    return range(page.outline.piece_from[link.node], page.outline.piece_to[link.node])


def _is_marked(page: Page, row: Row) -> bool:
    node, outline = row.title.node, page.outline
    for _ in range(4):
        if node < row.start:
            return False
        if outline.tags[node] in ("h1", "h2", "h3", "h4", "h5") or "title" in class_roles(
            outline.classes[node]
        ):
            return True
        node = outline.parents[node]
    return False


def row_sets(page: Page) -> list[RowSet]:
    """Returns the lists of a page that may be boards or threads, highest quality first. Groups of
    links in the same rows form one list; the group with the best `_name_score` holds the title
    links."""
    made: list[RowSet] = []
    found = [group for group in groups(page) if _may_list(group)]
    found.sort(key=_name_score, reverse=True)
    for group in found:
        known = next((rows for rows in made if _same_rows(rows.group, group)), None)
        if known is not None:
            first = _comes_first(group, known.group) and not _is_headed_last(group, known.group)
            if first or _is_headed_last(known.group, group):
                known.group, group = group, known.group
            known.others.append(group)
        elif sum(row.title.is_user for row in group.rows) * 2 < len(group.rows):
            made.append(RowSet(page, group, []))
    return sorted(made, key=lambda rows: rows.quality, reverse=True)


def without_boards(found: RowSet, listed: RowSet | None) -> RowSet | None:
    """Returns a list of threads without rows of boards among them, whose title would be the link to
    the board or to its last post, and without a row of the page itself; None if no row is left, or
    only one of another site. `listed` are the boards that the page lists.

    In the row of a board a link to another board comes first. If most rows have one, the list mixes
    threads of several boards; then only rows whose title link names a post, or has a numbered
    address like the page's own, are left out."""
    page, own = found.page, found.page.board_key
    boards = {
        row.start
        for row in found.rows
        for link in row.links
        if link.node < row.title.node and _leads_to_board(link, own)
    }
    few = 2 * len(boards) <= len(found.rows)
    numbered = page.pattern if "#" in page.pattern else None
    named = [
        row
        for row in (*found.rows, *(listed.rows if listed else ()))
        if row.title.pattern == numbered and _leads_to_board(row.title, own)
    ]
    named += [
        row for row in found.rows if _names_a_board(row.title) and board_key(row.title.url) == own
    ]
    rows = [
        row
        for row in found.rows
        if not any(_holds(board, row, found.rows) for board in named)
        and not (row.start in boards and few)
        and not ((boards or named) and names_post(row.title.url))
    ]
    if not rows or (len(rows) == 1 and not rows[0].title.is_local):
        return None
    if len(rows) == len(found.rows):
        return found
    return RowSet(page, Group(page, found.group.pattern, rows), found.others)


def _holds(board: Row, row: Row, rows: list[Row]) -> bool:
    """Tells whether the title of `row` is in the row of a board, after its name. A name inside
    another of the `rows`, which it does not name, is the label of a thread there, and what follows
    it is no part of it."""
    if not board.title.node <= row.title.node < board.end:
        return False
    return not any(
        other is not row
        and other.title.node != board.title.node
        and other.start <= board.title.node < min(other.end, row.start)
        for other in rows
    )


def _leads_to_board(link: Link, own: str) -> bool:
    return _names_a_board(link) and board_key(link.url) != own


def _names_a_board(link: Link) -> bool:
    """Tells whether a link of the site is to a board; the address of a thread may name its board
    too."""
    return (
        link.is_local
        and " t:" not in link.key
        and leads_to(link.pattern) == "board"
        and names_board(board_key(link.url))
    )


def _may_list(group: Group) -> bool:
    local = sum(row.title.is_local for row in group.rows)
    if local * 2 < len(group.rows):
        return False
    if len(group.rows) >= 2:
        return True
    if group.page.is_thread_address:
        return False
    title, lead = group.rows[0].title, leads_to(group.pattern)
    if title.key == group.page.key or (
        lead == "board" and board_key(title.url) == group.page.board_key
    ):
        return False  # The link leads to this page itself, sorted or filtered differently.
    return lead in ("thread", "board") or RowSet(group.page, group, []).is_labelled
