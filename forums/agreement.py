"""Comparison of a site model newly learned after a layout change with the old model and with stored
data: only if they agree may the new one replace the old one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from forums.discovery import SiteModel
from forums.reading import board_key, thread_key

BOARDS_FOUND = 0.8
THREADS_KNOWN = 0.5
POSTS_KNOWN = 0.5
_CORE = {
    "threadlist": frozenset(("url", "title", "replies", "last_reply")),
    "thread": frozenset(("author", "posted", "text")),
}


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored data of a site that a sample of its pages can be compared with.

    `boards` maps the keys of the boards in use to their names; `visited` does so for boards with at
    least one completed visit. `threads` are the keys of those threads listed in the sample that are
    stored (a thread stored under another address counts if it is certainly the same). `posts_known`
    is the share of the sample's posts that are stored, counted over threads that have stored posts;
    None if there are none.
    """

    boards: Mapping[str, str]
    visited: Mapping[str, str]
    threads: Collection[str]
    posts_known: float | None


def listed(model: SiteModel, visited: Mapping[str, str]) -> set[str]:
    """Returns the keys of the threads in the first rows of a model's boards. Only boards whose key
    or name is in `visited` (names of boards by key) are included, because the threads of others
    need not be stored."""
    names = {name.casefold() for name in visited.values()}
    boards = [
        board
        for board in model.boards
        if board_key(board.url) in visited or board.name.casefold() in names
    ]
    return {thread_key(str(row["url"])) for board in boards for row in board.rows if row.get("url")}


def disagreements(old: SiteModel, new: SiteModel, stored: Stored) -> tuple[str, ...]:
    """Returns codes of reasons against the new model; empty if it agrees with the old model and the
    stored data.

    `nothing_read`: no list of threads could be read. `boards_lost`: less than 80 % of the stored
    boards were found, by the site's own id or by name. `threads_unknown`: fewer than half of the
    listed threads are stored. `posts_differ`: fewer than half of the posts are stored.
    `roles_lost`: a field that is needed to detect changes or to identify threads is no longer read.
    """
    if not new.boards or not any(layout.kind == "threadlist" for layout in new.layouts):
        return ("nothing_read",)
    found = {board_key(board.url) for board in new.boards}
    names = {board.name.casefold() for board in new.boards}
    kept = sum(key in found or name.casefold() in names for key, name in stored.boards.items())
    codes = []
    if kept < BOARDS_FOUND * len(stored.boards):
        codes.append("boards_lost")
    rows = listed(new, stored.visited)
    if rows and len(rows & set(stored.threads)) < THREADS_KNOWN * len(rows):
        codes.append("threads_unknown")
    if stored.posts_known is not None and stored.posts_known < POSTS_KNOWN:
        codes.append("posts_differ")
    layouts = {layout.kind: frozenset(layout.roles) for layout in new.layouts}
    for layout in old.layouts:
        needed = frozenset(layout.roles) & _CORE.get(layout.kind, frozenset())
        if layout.kind in layouts and needed - layouts[layout.kind]:
            codes.append("roles_lost")
            break
    return tuple(codes)


def merged(old: SiteModel, new: SiteModel) -> SiteModel:
    """Returns the new model, completed from the old one where a small sample of pages need not show
    it: the time zone and its evidence, the name, the order of dates, and kinds of addresses and
    pagination that are missing in the new one.
    """
    kinds = {kind for kind, _shapes in new.patterns}
    kept: dict[str, Any] = {
        name: getattr(old, name)
        for name in ("day_first", "list_flip", "thread_flip", "posts_per_page", "counts_posts")
        if hasattr(old, name) and getattr(new, name) is None
    }
    layouts = {layout.kind for layout in new.layouts}
    return replace(
        new,
        name=old.name,
        engine=old.engine if new.engine == "unknown" else new.engine,
        timezone=old.timezone,
        timezone_evidence=old.timezone_evidence,
        timezone_confidence=old.timezone_confidence,
        patterns=(*new.patterns, *(pair for pair in old.patterns if pair[0] not in kinds)),
        layouts=(*new.layouts, *(layout for layout in old.layouts if layout.kind not in layouts)),
        pagers=new.pagers or old.pagers,
        **kept,
    )
