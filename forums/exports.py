"""Exports of the forum crawler: boards, threads, posts and visits, with their columns."""

from __future__ import annotations

from django.db.models import QuerySet

from crawlmgr.exports.exports import Filter, Table, narrowed
from forums.models import Board, Post, Thread, Visit

BOARDS = {
    "url": "url",
    "name": "name",
    "parent": "parent__name",
    "threads": "threads",
    "posts": "posts",
    "site": "site__name",
    "enabled": "enabled",
    "interval_seconds": "interval_seconds",
    "last_visit": "last_visit",
    "next_visit": "next_visit",
}
THREADS = {
    "url": "url",
    "title": "title",
    "board_url": "board__url",
    "author": "author",
    "created": "created",
    "last_reply": "last_reply",
    "replies": "replies",
    "pinned": "pinned",
    "posts": "posts",
    "first_seen": "first_seen",
    "fetched_at": "fetched_at",
    "gone_at": "gone_at",
}
POSTS = {
    "thread_url": "thread__url",
    "post_id": "post_id",
    "author": "author",
    "posted": "posted",
    "text": "text",
    "page": "page",
    "position": "position",
    "url": "url",
    "first_seen": "first_seen",
    "edited_at": "edited_at",
    "gone_at": "gone_at",
}
VISITS = {
    "board_url": "board__url",
    "started": "started",
    "finished": "finished",
    "list_pages": "list_pages",
    "requests": "requests",
    "bytes": "bytes",
    "new": "new",
    "updated": "updated",
    "unchanged": "unchanged",
    "stopped_by": "stopped_by",
    "complete": "complete",
    "fetched": "fetched",
    "changed": "changed",
    "posts_new": "posts_new",
    "failed": "failed",
    "run": "run_id",
}


def _boards(chosen: Filter) -> QuerySet[Board]:
    return narrowed(Board.objects.all(), chosen, site="site_id", run="visits__run_id")


def _threads(chosen: Filter) -> QuerySet[Thread]:
    return narrowed(
        Thread.objects.all(),
        chosen,
        site="site_id",
        run="board__visits__run_id",
        since="fetched_at",
    )


def _posts(chosen: Filter) -> QuerySet[Post]:
    return narrowed(
        Post.objects.all(),
        chosen,
        site="thread__site_id",
        run="thread__board__visits__run_id",
        since="first_seen",
    )


def _visits(chosen: Filter) -> QuerySet[Visit]:
    return narrowed(
        Visit.objects.all(), chosen, site="board__site_id", run="run_id", since="started"
    )


def _kinds(*, times: str, integers: str, booleans: str = "") -> dict[str, str]:
    named = (("time", times), ("integer", integers), ("boolean", booleans))
    return {name: kind for kind, names in named for name in names.split()}


TABLES: dict[str, Table] = {
    "boards": Table(
        tuple(BOARDS),
        _boards,
        tuple(BOARDS.values()),
        column_types=_kinds(
            times="last_visit next_visit",
            integers="threads posts interval_seconds",
            booleans="enabled",
        ),
    ),
    "threads": Table(
        tuple(THREADS),
        _threads,
        tuple(THREADS.values()),
        column_types=_kinds(
            times="created last_reply first_seen fetched_at gone_at",
            integers="replies posts",
            booleans="pinned",
        ),
        day="created",
        site="url",
    ),
    "posts": Table(
        tuple(POSTS),
        _posts,
        tuple(POSTS.values()),
        column_types=_kinds(times="posted first_seen edited_at gone_at", integers="page position"),
        day="posted",
        site="thread_url",
    ),
    "visits": Table(
        tuple(VISITS),
        _visits,
        tuple(VISITS.values()),
        column_types=_kinds(
            times="started finished",
            integers=(
                "list_pages requests bytes new updated unchanged fetched changed posts_new"
                " failed run"
            ),
            booleans="complete",
        ),
        day="started",
        site="board_url",
    ),
}
