"""Data types for the contents of a forum page: its boards, threads and posts, and the result of
reading a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from crawlmgr.text.dates import Moment


class PageKind(StrEnum):
    """The kind of a forum page: an index (list of boards), a list of threads, a thread (list of
    posts), or anything else."""

    index = "index"  # type: ignore[assignment]  # str.index is never called on a kind
    threadlist = "threadlist"
    thread = "thread"
    other = "other"


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """One board in an index of boards. `threads` and `posts` are the counts shown for it, `parent`
    is the address of the board that contains it; None if the page does not show them."""

    url: str
    name: str
    threads: int | None = None
    posts: int | None = None
    last_reply: Moment | None = None
    description: str = ""
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """One thread in a list of threads. A field is None if the list does not show it.

    `replies` excludes the first post. `counts_posts` says what the number in the list counts: True
    for posts (`replies` is that number minus one), False for replies, None if unknown (`replies` is
    that number). `created` is the time of the first post, `author` its author; `last_reply`,
    `last_author` and `last_post_url` belong to the newest post. `board_url` and `board_name` are
    set in lists that mix threads of several boards.
    """

    url: str
    title: str
    author: str | None = None
    replies: int | None = None
    counts_posts: bool | None = None
    created: Moment | None = None
    last_reply: Moment | None = None
    pinned: bool = False
    last_author: str | None = None
    last_post_url: str | None = None
    board_url: str | None = None
    board_name: str | None = None
    views: int | None = None
    locked: bool = False


@dataclass(frozen=True, slots=True)
class PostRecord:
    """One post of a thread. `number` is its position in the whole thread as shown on the page (1 is
    the first post), `url` its permalink, `post_id` the site's own id of it. A field is None if the
    page does not show it."""

    author: str | None
    posted: Moment | None
    text: str
    post_id: str | None = None
    url: str | None = None
    number: int | None = None


Records = tuple[BoardRecord, ...] | tuple[ThreadRecord, ...] | tuple[PostRecord, ...]


class Shapes(NamedTuple):
    """Shapes of links (pattern of the address and markup around the link, see `title_shape`) on a
    site's lists of threads: `titles` are the shapes of the title links of threads, `others` those
    of other links, unless a title link has the same shape."""

    titles: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PageReading:
    """The result of `read_page`.

    `records` are of the type that belongs to `kind`. `complete` is False if records may be missing;
    `doubts` are the reasons for doubt in words. `next`, `last` and `pages` are the addresses of the
    next, the last and all linked pages of the same list or thread, `current` is this page's number.
    `next_links` are (source, address) pairs of all links that may lead to the next page; the source
    is `numbers`, `word` or `head` (`<head>` of the document). `numbered` are the pages whose
    numbers are known, as (number, address). `boards` are sub-boards, on an index or above a list of
    threads. `board_url` is the address of the board whose threads the page lists, or of a thread's
    board as linked above its posts. `address` is that of the thread if the page's own address names
    only a post. `confidence` in [0, 1] is the probability that exactly the right records were
    found. `sort` is "last_reply" or "created" if the list's order shows it, otherwise None.
    `evidence` holds short codes of what decided the reading. `utc_offsets` gives, for each time
    written with a UTC offset, that offset in seconds: the site's own time, for display and for
    guessing its zone. `shapes` are the shapes of the links on a list of threads (see `shapes_of`).
    `elsewhere` are the addresses of rows of that list that were left out because they are on
    another host, which may be a former one of the site.
    """

    kind: PageKind
    records: Records = ()
    next: str | None = None
    next_links: tuple[tuple[str, str], ...] = ()
    pages: tuple[str, ...] = ()
    title: str = ""
    confidence: float = 0.0
    complete: bool = True
    doubts: tuple[str, ...] = ()
    engine: str = "unknown"
    sort: str | None = None
    thread_id: str | None = None
    board_url: str | None = None
    address: str | None = None
    last: str | None = None
    current: int | None = None
    boards: tuple[BoardRecord, ...] = ()
    evidence: tuple[str, ...] = ()
    utc_offsets: tuple[tuple[datetime, int], ...] = ()
    shapes: Shapes = Shapes()
    numbered: tuple[tuple[int, str], ...] = ()
    elsewhere: tuple[str, ...] = ()
