"""The contents of a forum page as values: boards, threads and posts, with the reader's confidence in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from crawlmgr.text.dates import Moment


class PageKind(StrEnum):
    """The kind of a forum page."""

    index = "index"  # type: ignore[assignment]  # str.index is never called on a kind
    threadlist = "threadlist"
    thread = "thread"
    other = "other"


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """A row of a board index. `parent` is the address of the parent board, if the page shows one."""

    url: str
    name: str
    threads: int | None = None
    posts: int | None = None
    last_reply: Moment | None = None
    description: str = ""
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """A row of a list of threads.

    `replies` excludes the first post. `counts_posts`: whether the list counts posts (True; `replies` is the number shown minus
    one) or replies (False); None if unknown (`replies` is the number shown).
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
    """A post of a thread. `number` is its position in the thread as shown on the page (1 is the first post)."""

    author: str | None
    posted: Moment | None
    text: str
    post_id: str | None = None
    url: str | None = None
    number: int | None = None


Records = tuple[BoardRecord, ...] | tuple[ThreadRecord, ...] | tuple[PostRecord, ...]


class Shapes(NamedTuple):
    """Link shapes (forms of address and markup, see `title_shape`) on a site's lists of threads: those of titles, and those that
    only links beside the rows have."""

    titles: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PageReading:
    """The result of `read_page`.

    `records` are of the type that belongs to `kind`. `complete` is false if records may be missing; `doubts` are the reasons for
    doubt in words. `rivals` are all addresses that may be the next page, each with the position of its link (`numbers`, `word`,
    `head`). `boards` are sub-boards on a list of threads. `confidence` in [0, 1] is the probability that exactly the right
    records were found. `sort` is "last_reply" or "created" if the list's order shows it. `evidence` holds short codes of what
    decided the reading. `utc_offsets` gives, for each time written with a UTC offset, that offset in seconds: the site's own
    time, for display and for guessing its zone. `shapes` are the shapes of a list's links (see `shapes_of`).
    """

    kind: PageKind
    records: Records = ()
    next: str | None = None
    rivals: tuple[tuple[str, str], ...] = ()
    pages: tuple[str, ...] = ()
    title: str = ""
    confidence: float = 0.0
    complete: bool = True
    doubts: tuple[str, ...] = ()
    engine: str = "unknown"
    sort: str | None = None
    thread_id: str | None = None
    board_url: str | None = None
    last: str | None = None
    current: int | None = None
    boards: tuple[BoardRecord, ...] = ()
    evidence: tuple[str, ...] = ()
    utc_offsets: tuple[tuple[datetime, int], ...] = ()
    shapes: Shapes = Shapes()
