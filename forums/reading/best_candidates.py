"""Finds the best reading of a page as a list of boards, a list of threads and a set of posts; where
the same elements could be two of these, one reading is kept."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from crawlmgr.web.pages.outline import Outline
from forums.reading.document import Page
from forums.reading.lists.row_sets import RowSet, row_sets
from forums.reading.patterns import leads_to
from forums.reading.posts.authors import are_short, repeats
from forums.reading.posts.post_set import PostSet
from forums.reading.posts.post_sets import is_within, post_sets
from forums.reading.words import class_roles

# smallest quality (see `RowSet.quality`, `PostSet.quality`) with which rows or posts are accepted
MIN_QUALITY = 0.45


@dataclass
class BestCandidates:
    """The best candidate of a page for each reading, None where there is none: `threads` as a list
    of threads, `boards` as a list of boards, `posts` as the posts of a thread. `others` are the
    further sets of records that could be posts, best first.
    """

    threads: RowSet | None = None
    boards: RowSet | None = None
    posts: PostSet | None = None
    others: tuple[PostSet, ...] = ()


def best_candidates(page: Page) -> BestCandidates:
    """Returns the best set of posts of a page, and the best lists of threads and of boards that do
    not belong to these posts."""
    posts = post_sets(page)
    found = best_lists(page, posts[0] if posts else None)
    if (
        found.threads
        and page.is_thread_address
        and (not posts or _takes_rows(posts[0], found.threads))
    ):
        apart = post_sets(page, sorted(found.threads.group.spans))
        posts = apart if apart and _are_posts_above(apart[0], found.threads) else posts
    return BestCandidates(
        found.threads, found.boards, posts[0] if posts else None, tuple(posts[1:])
    )


def best_lists(page: Page, posts: PostSet | None = None) -> BestCandidates:
    """Returns the best lists of threads and of boards of a page (without posts). Lists whose links
    are inside the texts of `posts`, or are the names of their authors, are excluded."""
    sets = [
        rows
        for rows in row_sets(page)
        if not (_name_themselves(rows) or posts and _belong_to(rows, posts))
    ]
    threads = [rows for rows in sets if rows.board_weight <= 0 and not rows.rows[0].title.is_user]
    boards = [
        rows
        for rows in sets
        if rows.board_weight > 0 and not any(_labels(rows, other) for other in threads)
    ]
    return BestCandidates(_best(threads), _best(boards))


def _takes_rows(posts: PostSet, rows: RowSet) -> bool:
    """Tells whether some of the supposed posts are really rows of the list `rows`: the posts inside
    these rows consist mostly of links, or are on average shorter than the titles of the rows."""
    spans = sorted(rows.group.spans)
    within = [span for span in posts.spans if is_within(span.anchor.node, spans)]
    if not within:
        return False
    taken, titles = (
        PostSet(posts.page, within),
        sum(len(row.title.text) for row in rows.rows) / len(rows.rows),
    )
    return taken.plain_share < 0.5 or sum(taken.body_lengths) < titles * len(within)


def _are_posts_above(posts: PostSet, rows: RowSet) -> bool:
    """Tells whether all `posts` come before the list `rows` and are credible: at least a third
    certainly have an author, and 80 % of their text is outside links. Then they are a thread's
    posts, and the list names related threads.
    """
    above = max(span.end for span in posts.spans) <= min(start for start, _ in rows.group.spans)
    return above and posts.plain_share >= 0.8 and has_people(posts)


def _belong_to(rows: RowSet, posts: PostSet) -> bool:
    return _in_texts(rows, posts) or _are_writers(rows, posts)


def _name_themselves(rows: RowSet) -> bool:
    """Tells whether the rows' title links lead to anchors inside their own rows (at least two of
    them, and 80 %): then the links are permalinks of posts, such as linked subjects, and the rows
    are no list."""
    elements, own = rows.page.outline.elements, 0
    for row in rows.rows:
        place = row.title.fragment
        inside = elements[row.start : row.end] if place else []
        own += any(place in (element.get("id"), element.get("name")) for element in inside)
    return own >= 2 and own >= 0.8 * len(rows.rows)


def _best(sets: list[RowSet]) -> RowSet | None:
    """Returns the first (best) of several lists of one kind, or a list inside it that has more
    rows, the same kind of addresses and at least 60 % of its quality; None if `sets` is empty."""
    if not sets:
        return None
    best = sets[0]
    for other in sets[1:]:
        if other.quality < 0.6 * best.quality or len(other.rows) <= len(best.rows):
            continue
        inside = sum(
            any(start <= row.start and row.end <= end for start, end in best.group.spans)
            for row in other.rows
        )
        if inside >= 0.6 * len(other.rows) and leads_to(other.group.pattern) == leads_to(
            best.group.pattern
        ):
            best = other
    return best


def _in_texts(rows: RowSet, posts: PostSet) -> bool:
    """Tells whether most title links of the rows are inside or after the texts of posts: then they
    are links written by users."""
    if rows.is_labelled or posts.quality < 0.7 or posts.plain_share < 0.6:
        return False
    if len(posts.spans) < 2 and not rows.page.is_thread_address:
        return False
    within, page = 0, rows.page.outline
    for row in rows.rows:
        at = bisect_left([span.start for span in posts.spans], row.title.node + 1) - 1
        body = posts.bodies[at] if at >= 0 else None
        if body is None or not posts.spans[at].holds(row.title.node):
            continue
        node, inside = row.title.node, page.contains(body, row.title.node)
        if (
            inside
            and (page.piece_from[node] > page.piece_from[body] or _is_quoted(page, node, body))
            or not inside
            and node > body
            and rows.page.is_thread_address
        ):
            within += 1
    return within >= 0.6 * len(rows.rows)


def _are_writers(rows: RowSet, posts: PostSet) -> bool:
    """Tells whether most title links of the rows are the names of the posts' authors, and another
    sign confirms it: names recur, most posts show when their author joined, the page's address is a
    thread's, or names are short and posts longer. If words mark the rows as a forum's list
    (`RowSet.is_labelled`), the last two signs count only if the posts describe their authors, and
    rows that lead to threads give False."""
    if rows.is_labelled and leads_to(rows.group.pattern) == "thread":
        return False
    nodes = {link.node for link in posts.writers if link is not None}
    if 2 * sum(row.title.node in nodes for row in rows.rows) <= len(rows.rows):
        return False
    if posts.plain_share < 0.5 or posts.quality < MIN_QUALITY:
        return False
    if repeats(posts.writers) or 2 * sum(
        posts.shows_joining_date(at) for at in range(len(posts.spans))
    ) > len(posts.spans):
        return True
    if rows.is_labelled and not describe_authors(posts):
        return False
    if rows.page.is_thread_address:
        return True
    longer = sum(posts.body_lengths) > sum(len(row.title.text) for row in rows.rows)
    return rows.board_weight <= 0 and longer and are_short(posts.writers)


def _is_quoted(page: Outline, node: int, body: int) -> bool:
    """Tells whether a node is in a quote inside a post's text; `body` is the node of that text."""
    while node > body:
        if page.tags[node] == "blockquote" or "quote" in class_roles(page.classes[node]):
            return True
        node = page.parents[node]
    return False


def _labels(boards: RowSet, threads: RowSet) -> bool:
    """Tells whether supposed boards are only labels in the rows of a list of threads: at least 60 %
    of the rows have such a link, and either two of them link to the same board, or all these links
    come after the titles."""
    if len(threads.rows) < 2 or threads.quality < MIN_QUALITY or not inside(boards, threads):
        return False
    keys, after, named = set(), 0, 0
    for row in threads.rows:
        link = next((link for link in row.links if link.pattern == boards.group.pattern), None)
        if link is not None:
            named += 1
            keys.add(link.key)
            after += link.node > row.title.node
    return named >= 0.6 * len(threads.rows) and (
        len(keys) < named or (after == named and len(boards.rows) <= len(threads.rows))
    )


def inside(inner: RowSet, outer: RowSet) -> bool:
    """Tells whether at least 70 % of the title links of the list `inner` are in the rows of the
    list `outer`."""
    spans = outer.group.spans
    within = sum(any(start <= row.title.node < end for start, end in spans) for row in inner.rows)
    return within >= 0.7 * len(inner.rows)


def has_people(posts: PostSet) -> bool:
    """Tells whether at least a third of the supposed posts certainly have an author (see
    `PostSet.is_sure`)."""
    return sum(posts.is_sure(at) for at in range(len(posts.spans))) * 3 >= len(posts.spans)


def describe_authors(posts: PostSet) -> bool:
    """Tells whether more than half of the supposed posts contain lines that describe their author
    (date of joining, number of posts …), as posts do and rows of lists do not."""
    return sum(posts.describes_author(at) for at in range(len(posts.spans))) * 2 > len(posts.spans)
