"""The pages of the demonstration's forum: index, lists of threads, threads, and other pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from html import escape
from urllib.parse import parse_qs, quote, unquote, urlsplit

from crawlmgr.demo.forum import BOARDS, Board, Forum, Thread
from crawlmgr.demo.rhythm import ZONE
from crawlmgr.demo.site import Answer, frame

NAME = "Riverside forum 河畔论坛"
THREADS_A_PAGE, POSTS_A_PAGE = 25, 20
MENU = '<a href="/">Home 首页</a> <a href="/about">About 关于</a> <a href="/login">Log in 登录</a>'
LOGIN = (
    '<form action="/login" method="post"><label>User name <input'
    ' name="user"></label><label>Password <input type="password"'
    ' name="password"></label><button>Log in</button></form>'
)


class ForumPages:
    """Answers requests for the forum's paths, with the posts up to the time that `clock()`
    returns."""

    def __init__(self, forum: Forum, clock: Callable[[], datetime]) -> None:
        self.forum, self.clock = forum, clock

    def __call__(self, path: str) -> Answer | None:
        """Returns the page at a path with query; None if there is none."""
        parts = urlsplit(path)
        kind, _slash, number = parts.path.strip("/").partition("/")
        page = parse_qs(parts.query).get("page", ["1"])[0]
        at = int(page) if page.isdecimal() else 0
        with self.forum.lock:
            self.forum.until(self.clock())
            if kind == "board" and number.isdecimal():
                board = next((board for board in BOARDS if board.number == int(number)), None)
                body = self._list(board, at) if board is not None else None
            elif kind == "topic" and number.isdecimal():
                thread = self.forum.threads.get(int(number))
                body = self._thread(thread, at) if thread is not None else None
            else:
                return self._other(parts.path)
        return Answer(body) if body is not None else None

    def _other(self, path: str) -> Answer | None:
        if path == "/":
            return Answer(self._index())
        if path == "/about":
            return Answer(
                _page(
                    "About 关于",
                    "<h1>About</h1><p>A made-up forum for the demonstration. Times are UTC+8.</p>",
                )
            )
        if path == "/login":
            return Answer(_page("Log in 登录", f"<h1>Log in</h1>{LOGIN}"))
        if path.startswith("/user/"):
            name = escape(unquote(path.removeprefix("/user/")))
            return Answer(_page(name, f"<h1>{name}</h1><p>Writes here now and then.</p>"))
        return None

    def _index(self) -> str:
        rows = []
        for board in BOARDS:
            mine = [
                thread
                for thread in self.forum.threads.values()
                if thread.board.number == board.number
            ]
            last = max(mine, key=lambda thread: thread.last)
            rows.append(
                '<tr><td class="forum"><a class="forumtitle"'
                f' href="/board/{board.number}">{escape(board.name)}</a><p>{escape(board.about)}'
                f"</p></td><td"
                f' class="num">{len(mine)}</td><td'
                f' class="num">{sum(len(thread.posts) for thread in mine)}</td><td class="last"><a'
                f' href="/topic/{last.number}">{escape(last.title)}</a> by'
                f" {escape(last.posts[-1].author)} {_time(last.last)}</td></tr>"
            )
        head = "<tr><th>Forum</th><th>Topics</th><th>Posts</th><th>Last post</th></tr>"
        return _page("Index", f'<h1>{NAME}</h1><table class="forums">{head}{"".join(rows)}</table>')

    def _list(self, board: Board, number: int) -> str | None:
        threads = self.forum.of_board(board.number)
        shown = threads[max(0, number - 1) * THREADS_A_PAGE : number * THREADS_A_PAGE]
        if not shown:
            return None
        head = "<tr><th>Topic</th><th>Replies</th><th>Last post</th></tr>"
        table = f'<table class="topics">{head}{"".join(_row(thread) for thread in shown)}</table>'
        crumbs = f'<div class="crumbs"><a href="/">{NAME}</a> &raquo; {escape(board.name)}</div>'
        pager = _pager(f"/board/{board.number}", number, -(-len(threads) // THREADS_A_PAGE))
        return _page(
            board.name, f"{crumbs}<h1>{escape(board.name)}</h1>{table}{pager}", board.language
        )

    def _thread(self, thread: Thread, number: int) -> str | None:
        shown = thread.posts[max(0, number - 1) * POSTS_A_PAGE : number * POSTS_A_PAGE]
        if not shown:
            return None
        here = f"/topic/{thread.number}"
        posts = "".join(
            f'<article class="post" id="p{post.number}"><header>by {_user(post.author)}'
            f' <a href="{here}?page={number}#p{post.number}">{_time(post.posted)}</a></header>'
            f'<div class="content"><p>{escape(post.text)}</p></div></article>'
            for post in shown
        )
        board = thread.board
        crumbs = (
            f'<div class="crumbs"><a href="/">{NAME}</a> &raquo; <a'
            f' href="/board/{board.number}">{escape(board.name)}</a></div>'
        )
        pager = _pager(here, number, -(-len(thread.posts) // POSTS_A_PAGE))
        return _page(
            thread.title, f"{crumbs}<h1>{escape(thread.title)}</h1>{posts}{pager}", board.language
        )


def _row(thread: Thread) -> str:
    pin = '<span class="icon sticky" title="Sticky">Sticky:</span> ' if thread.pinned else ""
    first, last = thread.posts[0], thread.posts[-1]
    return (
        f'<tr class="topic"><td>{pin}<a class="topictitle"'
        f' href="/topic/{thread.number}">{escape(thread.title)}</a><br>by'
        f' {_user(first.author)}</td><td class="replies">{len(thread.posts) - 1}</td><td'
        f' class="lastpost">by {_user(last.author)} {_time(thread.last)}</td></tr>'
    )


def _user(name: str) -> str:
    return f'<a class="username" href="/user/{quote(name)}">{escape(name)}</a>'


def _pager(base: str, number: int, pages: int) -> str:
    if pages < 2:
        return ""
    links = [
        f"<strong>{n}</strong>" if n == number else f'<a href="{base}?page={n}">{n}</a>'
        for n in range(1, pages + 1)
    ]
    if number < pages:
        links.append(f'<a rel="next" href="{base}?page={number + 1}">Next</a>')
    return f'<div class="pagination">Page {number} of {pages} {" ".join(links)}</div>'


def _time(at: datetime) -> str:
    local = at.astimezone(ZONE)
    return f'<time datetime="{local.isoformat()}">{local:%Y-%m-%d %H:%M}</time>'


def _page(title: str, body: str, language: str = "en") -> str:
    return frame(f"{title} - {NAME}", "zh-CN" if language == "zh" else "en", body, MENU)
