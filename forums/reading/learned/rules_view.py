"""What the rules say of a page, as numbers: the qualities and evidence behind their choice, for the models to weigh."""

from __future__ import annotations

from math import log1p

from forums.reading.document import Page
from forums.reading.kinds import Choice, Verdict
from forums.reading.lists import RowSet
from forums.reading.posts_set import PostSet

EVIDENCE = (
    "no-forum-words", "announcements", "threads-in-boards", "board-address", "names-of-posts", "thread-address", "lone-text",
    "articles", "nobody-writes", "front-page", "profile", "registration", "days-of-nobody", "rows-not-posts", "address-only",
)  # fmt: skip
WEIGHTS = ("address", "topics_posts", "replies_views", "last_thread", "head", "sorted", "many", "people")
_NO_ROWS = [0.0] * (11 + len(WEIGHTS))
_NO_POSTS = [0.0] * 12


def rows_view(rows: RowSet | None) -> list[float]:
    """A list in numbers: size, quality, what its rows hold, what speaks for boards."""
    if rows is None:
        return _NO_ROWS
    n = len(rows.rows)
    weights = rows.weights
    return [
        1.0, log1p(n), rows.quality, rows.group.share("times"), rows.group.share("counts"), rows.group.text_share,
        float(rows.told), float(rows.is_bare), sum(any(link.is_user for link in row.links) for row in rows.rows) / n,
        sum(len(row.title.text) for row in rows.rows) / n / 40, sum(len(row.text) for row in rows.rows) / n / 200,
        *(weights.get(name, 0.0) for name in WEIGHTS),
    ]  # fmt: skip


def posts_view(posts: PostSet | None) -> list[float]:
    """Supposed posts in numbers: how many, how whole, how much of the page."""
    if posts is None:
        return _NO_POSTS
    n, spans = len(posts.spans), range(len(posts.spans))
    return [
        1.0, log1p(n), posts.quality, posts.own_words, sum(map(bool, posts.people)) / n, float(posts.links_people),
        sum(posts.is_sure(at) for at in spans) / n, sum(posts.has_byline(at) for at in spans) / n,
        sum(posts.describes_author(at) for at in spans) / n, sum(map(bool, posts.body_lengths)) / n,
        log1p(sum(posts.body_lengths) / n), min(1.0, sum(posts.body_lengths) / max(1, posts.page.text_total)),
    ]  # fmt: skip


def rules_view(page: Page, found: Choice, verdict: Verdict) -> list[float]:
    """All of it: the three readings, how they were weighed, what was noted."""
    return [
        *rows_view(found.threads), *rows_view(found.boards), *posts_view(found.posts), log1p(len(found.others)),
        verdict.threads, verdict.boards, verdict.posts, *(float(name in verdict.evidence) for name in EVIDENCE),
    ]  # fmt: skip
