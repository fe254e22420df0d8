"""A forum served on loopback that replays an event log: at any time it shows the posts that the log
contains up to that time."""

from __future__ import annotations

import threading
from collections import defaultdict
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

import numpy as np

from crawlmgr.clock import Clock
from forums.schedule.events import Events

THREADS_A_PAGE, POSTS_A_PAGE = 25, 20
NEWEST_SHOWN = 40


class ReplayForum:
    """Generates the forum's pages from the events: thread lists sorted by last reply, numbered
    posts, times to the second."""

    def __init__(self, events: Events, clock: Clock) -> None:
        self.clock = clock
        self.names = [f"Board {name}" for name in events.boards]
        order = np.lexsort((events.times, events.thread))
        self.times = events.times[order]
        thread = events.thread[order]
        ids = np.unique(thread)
        self.first = dict(zip(ids.tolist(), np.searchsorted(thread, ids).tolist(), strict=True))
        self.stop = dict(
            zip(ids.tolist(), np.searchsorted(thread, ids, side="right").tolist(), strict=True)
        )
        self.board_of = dict(zip(events.thread.tolist(), events.board.tolist(), strict=True))
        self.threads: dict[int, list[int]] = defaultdict(list)
        for number in ids.tolist():
            self.threads[self.board_of[number]].append(number)
        self.requests = 0

    def _posts(self, thread: int, now: float) -> int:
        """Returns the number of posts that a thread has at the time `now`."""
        first, stop = self.first[thread], self.stop[thread]
        return int(np.searchsorted(self.times[first:stop], now, side="right"))

    def page(self, path: str) -> str | None:
        """Returns the HTML of the page at a path; None if no such page exists yet."""
        self.requests += 1
        parts = urlsplit(path)
        number = int(parse_qs(parts.query).get("page", ["1"])[0])
        words = parts.path.strip("/").split("/")
        now = self.clock.now().timestamp()
        if parts.path == "/":
            return self._index(now)
        if parts.path == "/newest":
            return self._newest(now)
        if len(words) == 2 and words[1].isdigit():
            if words[0] == "board" and int(words[1]) < len(self.names):
                return self._board(int(words[1]), number, now)
            if words[0] == "topic" and int(words[1]) in self.first:
                return self._topic(int(words[1]), number, now)
        return None

    def _alive(self, board: int, now: float) -> list[tuple[float, int, int]]:
        """Returns (time of the last post, thread number, number of posts) of each thread of a board
        that has posts at `now`, the most recently posted in first; later posts do not count."""
        counts = [(thread, self._posts(thread, now)) for thread in self.threads[board]]
        alive = [
            (float(self.times[self.first[thread] + posts - 1]), thread, posts)
            for thread, posts in counts
            if posts
        ]
        return sorted(alive, reverse=True)

    def _index(self, now: float) -> str:
        rows = []
        for number, name in enumerate(self.names):
            alive = self._alive(number, now)
            posts, last = sum(one[2] for one in alive), _time(alive[0][0]) if alive else ""
            rows.append(
                f'<tr class=forum><td><a class=forumtitle href="/board/{number}">{name}</a></td><td'
                f" class=topics>{len(alive)}</td><td class=posts>{posts}</td><td"
                f" class=lastpost>{last}</td></tr>"
            )
        head = "<tr><th>Forum</th><th>Topics</th><th>Posts</th><th>Last post</th></tr>"
        return _frame("Index", f"<h1>Replay</h1><table class=forums>{head}{''.join(rows)}</table>")

    def _newest(self, now: float) -> str:
        """Returns the page of the newest threads of all boards, each with its board."""
        alive = sorted(
            ((one, board) for board in range(len(self.names)) for one in self._alive(board, now)),
            reverse=True,
        )
        rows = [
            f'<tr class=topic><td><a class=topictitle href="/topic/{thread}">Thread about subject'
            f" {thread}</a><br>by <a class=username href=/user/u{thread % 17}>u{thread % 17}</a> in"
            f' <a class=forumtitle href="/board/{board}">{self.names[board]}</a></td><td'
            f" class=replies>{posts - 1}</td><td class=views>{thread * 37 % 900 + 12}</td><td"
            f" class=lastpost>by <a class=username href=/user/u{posts % 13}>u{posts % 13}</a>"
            f" {_time(last)}</td></tr>"
            for (last, thread, posts), board in alive[:NEWEST_SHOWN]
        ]
        head = "<tr><th>Topic</th><th>Replies</th><th>Views</th><th>Last post</th></tr>"
        return _frame(
            "Newest topics",
            f"<h1>Newest topics</h1><table class=topics>{head}{''.join(rows)}</table>",
        )

    def _board(self, board: int, number: int, now: float) -> str | None:
        alive = self._alive(board, now)
        pages = max(1, -(-len(alive) // THREADS_A_PAGE))
        if number > pages:
            return None
        rows = [
            f'<tr class=topic><td><a class=topictitle href="/topic/{thread}">Thread about subject'
            f" {thread}</a><br>by <a class=username"
            f" href=/user/u{thread % 17}>u{thread % 17}</a></td><td"
            f" class=replies>{posts - 1}</td><td class=views>{thread * 37 % 900 + 12}</td><td"
            f" class=lastpost>by <a class=username href=/user/u{posts % 13}>u{posts % 13}</a>"
            f" {_time(last)}</td></tr>"
            for last, thread, posts in alive[
                (number - 1) * THREADS_A_PAGE : number * THREADS_A_PAGE
            ]
        ]
        head = "<tr><th>Topic</th><th>Replies</th><th>Views</th><th>Last post</th></tr>"
        name = self.names[board]
        table = f"<table class=topics>{head}{''.join(rows)}</table>"
        return _frame(name, f"<h1>{name}</h1>{table}{_pager(f'/board/{board}', number, pages)}")

    def _topic(self, thread: int, number: int, now: float) -> str | None:
        posts, first = self._posts(thread, now), self.first[thread]
        pages = -(-posts // POSTS_A_PAGE)
        if number > pages:
            return None
        shown = range((number - 1) * POSTS_A_PAGE, min(posts, number * POSTS_A_PAGE))
        articles = [
            f'<article class=post id="p{first + n}"><header>by <a class=username'
            f' href="/user/u{n % 13}">u{n % 13}</a> <a'
            f' href="/topic/{thread}?page={number}#p{first + n}">{_time(self.times[first + n])}</a>'
            f"</header><div"
            f" class=content><p>What was written as number {n} of subject {thread}, at some"
            " length.</p></div></article>"
            for n in shown
        ]
        crumbs = (
            '<div class=crumbs><a href="/">Replay</a> &raquo; <a'
            f' href="/board/{self.board_of[thread]}">Board</a></div>'
        )
        title = f"Thread about subject {thread}"
        return _frame(
            title,
            f"{crumbs}<h1>{title}</h1>{''.join(articles)}"
            f"{_pager(f'/topic/{thread}', number, pages)}",
        )


def _frame(title: str, body: str) -> str:
    return (
        f"<!doctype html><html lang=en><head><title>{title} -"
        f" Replay</title></head><body>{body}</body></html>"
    )


def _time(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return f'<time datetime="{at.isoformat()}">{at:%b %d, %Y, %H:%M:%S}</time>'


def _pager(base: str, number: int, pages: int) -> str:
    if pages < 2:
        return ""
    shown = sorted({1, number - 1, number, number + 1, pages} & set(range(1, pages + 1)))
    links = [
        f"<strong>{n}</strong>" if n == number else f'<a href="{base}?page={n}">{n}</a>'
        for n in shown
    ]
    if number < pages:
        links.append(f'<a rel=next href="{base}?page={number + 1}">Next</a>')
    return f"<div class=pagination>Page {number} of {pages} {' '.join(links)}</div>"


class ReplayServer:
    """Context manager that serves a ReplayForum on a free loopback port."""

    def __init__(self, forum: ReplayForum) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                text = forum.page(self.path) if self.path != "/robots.txt" else ""
                body = (text or "").encode()
                self.send_response(404 if text is None else 200)
                self.send_header(
                    "content-type",
                    "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8",
                )
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self) -> ReplayServer:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
