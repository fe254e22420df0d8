"""A small forum on loopback with known content, which tests can change while it is read."""

from __future__ import annotations

import random
import re
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import escape
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.site import skins
from tests.site.loopback import LoopbackServer

WORDS = (
    "river stone lantern garden winter engine market silver paper harbour copper orchard signal"
    " window bridge summer".split()
)
PEOPLE = ["anna", "bertold", "chen", "dmitri", "elif", "farid", "greta", "hanako"]


LOGIN_FORM = (
    '<form method=post action="/login"><input type=hidden name=token value=t0k><input'
    " name=user><input type=password name=secret><input type=checkbox name=remember value=1><button"
    " name=go value=1>Log in</button></form>"
)


@dataclass
class ForumPost:
    number: int
    author: str
    posted: datetime
    text: str


@dataclass
class ForumThread:
    number: int
    board: int
    title: str
    posts: list[ForumPost]
    pinned: bool = False

    @property
    def last(self) -> datetime:
        return self.posts[-1].posted


@dataclass
class LocalForum:
    """Boards with threads and posts, determined by `seed`; `now` is the time of the newest post."""

    boards: int = 3
    threads: int = 12
    longest: int = 14
    seed: int = 7
    threads_a_page: int = 5
    posts_a_page: int = 4
    days: int = 12
    delay_seconds: float = 0.0
    now: datetime = field(
        default_factory=lambda: datetime.now(UTC).replace(second=0, microsecond=0)
    )
    relative: bool = False
    skin: str = "tables"
    scheme: str = ""  # "moved": boards and threads have other addresses and other numbers
    members_only: bool = False  # lists and threads are for members only; the front page is public
    etags: bool = False  # pages carry an ETag, and an unchanged page is served as 304
    on_request: Callable[[str], tuple[int, dict[str, str], bytes] | None] | None = None

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.lock = threading.RLock()
        self.all: dict[int, ForumThread] = {}
        self.posts = 0
        self.log: list[str] = []
        self.unchanged: list[str] = []  # paths served as 304
        self.sessions: set[str] = set()
        self.posted: list[str] = []
        self.names = {b: f"{WORDS[b].title()} board" for b in range(1, self.boards + 1)}
        for board in self.names:
            for index in range(self.threads):
                start = self.now - timedelta(days=self.random.uniform(0.1, self.days))
                thread = self.open(board, start, pinned=index == 0)
                for _ in range(self.random.choice([0, 1, 2, 3, self.longest])):
                    gap = (self.now - thread.last).total_seconds()
                    self.reply(
                        thread.number,
                        thread.last + timedelta(seconds=self.random.uniform(0, gap / 2)),
                    )

    # --- changes
    def open(self, board: int, at: datetime, pinned: bool = False) -> ForumThread:
        with self.lock:
            number = len(self.all) + 1
            title = " ".join(self.random.sample(WORDS, 4)).capitalize() + f" {number}"
            thread = ForumThread(number, board, title, [], pinned)
            self.all[number] = thread
            self.reply(number, at)
            return thread

    def reply(self, number: int, at: datetime) -> ForumPost:
        with self.lock:
            self.posts += 1
            text = " ".join(self.random.choice(WORDS) for _ in range(12)) + f" {self.posts}"
            post = ForumPost(
                self.posts, self.random.choice(PEOPLE), at.replace(second=0, microsecond=0), text
            )
            self.all[number].posts.append(post)
            return post

    def truth(self) -> set[tuple[str, str, str]]:
        """(thread path, post id, text) of every post."""
        return {
            (f"/topic/{t.number}", str(p.number), p.text)
            for t in self.all.values()
            for p in t.posts
        }

    # --- members
    def answer(
        self, method: str, path: str, cookie: str, body: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Returns status, headers and body of the response to a guest or member; a request of
        /logout ends the session."""
        html = {"content-type": "text/html; charset=utf-8"}
        session = next(
            (part.strip()[4:] for part in cookie.split(";") if part.strip().startswith("sid=")), ""
        )
        inside = session in self.sessions
        place = urlsplit(path).path
        if method == "POST":
            self.posted.append(place)
            sent = parse_qs(body)
            if (
                place == "/login"
                and sent.get("token") == ["t0k"]
                and (sent.get("user"), sent.get("secret")) == (["anna"], ["pass word&1"])
            ):
                made = f"s{len(self.posted)}"
                self.sessions.add(made)
                return 302, {"location": "/", "set-cookie": f"sid={made}; Path=/; HttpOnly"}, b""
            return (
                200,
                html,
                self._frame("Log in", "<p>Wrong user or password.</p>" + LOGIN_FORM).encode(),
            )
        if place == "/logout":
            self.sessions.discard(session)
            return 302, {"location": "/"}, b""
        if place == "/login":
            return 200, html, self._frame("Log in", LOGIN_FORM).encode()
        if not inside and place.startswith(("/board", "/topic")):
            return (
                403,
                html,
                self._frame("Members only", "<p>Please log in.</p>" + LOGIN_FORM).encode(),
            )
        status, headers, page = self.page(path)
        if inside:
            page = page.replace(
                b'<a href="/login">Log in</a>', b'<a href="/logout">Log out [ anna ]</a>'
            )
            page = page.replace(b'<a href="/login">Sign in</a>', b'<a href="/logout">Log out</a>')
        return status, headers, page

    # --- pages
    def page(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if not self.scheme:
            return self._page(path)
        old = _OLD_ADDRESS.match(path)
        if old is None:
            found = _NEW_ADDRESS.match(path)
            name = (
                f"/{'board' if found[1] == 'forums' else 'topic'}/{int(found[2]) - 7000}"
                f"{path[found.end() :]}"
                if found
                else path
            )
            status, headers, page = self._page(name)
            return status, headers, _LINKED.sub(_moved, page.decode()).encode()
        return (
            404,
            {"content-type": "text/html; charset=utf-8"},
            b"<html><title>Not found</title><p>There is no such page.</p></html>",
        )

    def _page(self, path: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(path)
        number = int(parse_qs(parts.query).get("page", ["1"])[0])
        words = parts.path.strip("/").split("/")
        html = {"content-type": "text/html; charset=utf-8"}
        with self.lock:
            if parts.path == "/robots.txt":
                return 200, {"content-type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n"
            if parts.path == "/":
                return 200, html, self._index().encode()
            if words[0] == "board" and len(words) == 2 and int(words[1]) in self.names:
                body = self._board(int(words[1]), number)
            elif words[0] == "topic" and len(words) == 2 and int(words[1]) in self.all:
                body = self._topic(self.all[int(words[1])], number)
            else:
                body = None
        if body is None:
            return 404, html, b"<html><title>Not found</title><p>There is no such page.</p></html>"
        return 200, html, body.encode()

    def _frame(self, title: str, body: str) -> str:
        menu = (
            '<nav><a href="/">Home</a> <a href="/members">Members</a> <a href="/faq">FAQ</a> <a'
            ' href="/login">Log in</a></nav>'
        )
        return (
            f"<!doctype html><html lang=en><head><title>{escape(title)} - Local"
            f" forum</title></head><body>{menu}{body}</body></html>"
        )

    def _time(self, at: datetime) -> str:
        return f'<time datetime="{at.isoformat()}">{at:%b %d, %Y, %H:%M}</time>'

    def _ago(self, at: datetime) -> str:
        minutes = int((datetime.now(UTC) - at).total_seconds() // 60)
        for unit, size in (("day", 1440), ("hour", 60), ("minute", 1)):
            if minutes >= size:
                count = minutes // size
                return f"{count} {unit}{'s' if count != 1 else ''} ago"
        return "just now"

    def _index(self) -> str:
        if self.skin != "tables":
            return skins.index(self)
        rows = []
        for board, name in self.names.items():
            mine = [t for t in self.all.values() if t.board == board]
            last = max(mine, key=lambda t: t.last)
            rows.append(
                "<tr><td class=forum><a class=forumtitle"
                f' href="/board/{board}">{escape(name)}</a><p>All about'
                f" {name.split()[0].lower()}.</p></td><td class=num>{len(mine)}</td><td"
                f" class=num>{sum(len(t.posts) for t in mine)}</td><td class=last><a"
                f' href="/topic/{last.number}">{escape(last.title)}</a> by {last.posts[-1].author}'
                f" {self._time(last.last)}</td></tr>"
            )
        head = "<tr><th>Forum</th><th>Topics</th><th>Posts</th><th>Last post</th></tr>"
        return self._frame(
            "Index", f"<h1>Local forum</h1><table class=forums>{head}{''.join(rows)}</table>"
        )

    def _pager(self, base: str, number: int, pages: int) -> str:
        if pages < 2:
            return ""
        links = [
            f"<strong>{n}</strong>" if n == number else f'<a href="{base}?page={n}">{n}</a>'
            for n in range(1, pages + 1)
        ]
        if number < pages:
            links.append(f'<a rel=next href="{base}?page={number + 1}">Next</a>')
        return f"<div class=pagination>Page {number} of {pages} {' '.join(links)}</div>"

    def _board(self, board: int, number: int) -> str | None:
        mine = sorted(
            (t for t in self.all.values() if t.board == board),
            key=lambda t: (t.pinned, t.last),
            reverse=True,
        )
        pages = -(-len(mine) // self.threads_a_page)
        if number > pages:
            return None
        shown = mine[(number - 1) * self.threads_a_page : number * self.threads_a_page]
        if self.skin != "tables":
            return skins.board(self, board, shown, number, pages)
        rows = []
        for thread in shown:
            pin = (
                '<span class="icon sticky" title="Sticky">Sticky:</span> ' if thread.pinned else ""
            )
            last = self._ago(thread.last) if self.relative else self._time(thread.last)
            mark = f'<a class=lastpost href="/post/{thread.posts[-1].number}">view</a>'
            rows.append(
                f"<tr class=topic><td>{pin}<a class=topictitle"
                f' href="/topic/{thread.number}">{escape(thread.title)}</a><br>by <a class=username'
                f" href=/user/{thread.posts[0].author}>{thread.posts[0].author}</a></td><td"
                f" class=replies>{len(thread.posts) - 1}</td><td"
                f" class=views>{thread.number * 37 % 900 + 12}</td><td class=lastpost>by <a"
                " class=username"
                f" href=/user/{thread.posts[-1].author}>{thread.posts[-1].author}</a> {last}"
                f" {mark}</td></tr>"
            )
        head = "<tr><th>Topic</th><th>Replies</th><th>Views</th><th>Last post</th></tr>"
        name = self.names[board]
        body = (
            f'<h1>{escape(name)}</h1><div class=crumbs><a href="/">Local forum</a> &raquo;'
            f" {escape(name)}</div>"
        )
        return self._frame(
            name,
            f"{body}<table"
            f" class=topics>{head}{''.join(rows)}</table>"
            f"{self._pager(f'/board/{board}', number, pages)}",
        )

    def _topic(self, thread: ForumThread, number: int) -> str | None:
        pages = -(-len(thread.posts) // self.posts_a_page)
        if number > pages:
            return None
        shown = thread.posts[(number - 1) * self.posts_a_page : number * self.posts_a_page]
        if self.skin != "tables":
            return skins.topic(self, thread, shown, number, pages)
        posts = []
        for post in shown:
            posts.append(
                f'<article class=post id="p{post.number}"><header>by <a class=username'
                f' href="/user/{post.author}">{post.author}</a> <a'
                f' href="/topic/{thread.number}?page={number}#p{post.number}">'
                f"{self._time(post.posted)}</a></header><div"
                f" class=content><p>{escape(post.text)}</p></div></article>"
            )
        name = self.names[thread.board]
        crumbs = (
            '<div class=crumbs><a href="/">Local forum</a> &raquo; <a'
            f' href="/board/{thread.board}">{escape(name)}</a></div>'
        )
        body = (
            f"{crumbs}<h1>{escape(thread.title)}</h1>{''.join(posts)}"
            f"{self._pager(f'/topic/{thread.number}', number, pages)}"
        )
        return self._frame(thread.title, body)


class ForumServer(LoopbackServer):
    """Serves a LocalForum on a free loopback port; `log` contains the requested paths in order."""

    def __init__(self, forum: LocalForum) -> None:
        self.forum = self.first = forum
        self.repeats = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                forum = outer.forum
                forum.log.append(self.path)
                special = forum.on_request(self.path) if forum.on_request else None
                if forum.delay_seconds:
                    outer.pause.wait(forum.delay_seconds)
                try:
                    status, headers, body = special or self.answer(forum, "")
                except ValueError:
                    status, headers, body = (
                        404,
                        {"content-type": "text/html"},
                        b"<p>no such page</p>",
                    )
                if forum.etags and status == 200:
                    headers = {**headers, "etag": f'"{zlib.crc32(body):x}"'}
                    if self.headers.get("if-none-match") == headers["etag"]:
                        status, body = 304, b""
                        forum.unchanged.append(self.path)
                self.send(status, headers, body)

            def do_POST(self) -> None:
                forum = outer.forum
                forum.log.append(f"POST {self.path}")
                sent = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                self.send(*self.answer(forum, sent))

            def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
                named = {name.lower() for name in headers}
                self.send_response(status)
                for name, value in (
                    headers
                    if "content-length" in named
                    else headers | {"content-length": str(len(body))}
                ).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def answer(self, forum: LocalForum, sent: str) -> tuple[int, dict[str, str], bytes]:
                if not forum.members_only:
                    return forum.page(self.path)
                return forum.answer(self.command, self.path, self.headers.get("cookie") or "", sent)

            def log_message(self, *args: object) -> None:
                return

        super().__init__(Handler)

    def begin_again(self) -> None:
        """Replaces the forum by a fresh one with the same content, without changes or requests so
        far."""
        self.forum, self.repeats = replace(self.first), True


_OLD_ADDRESS = re.compile(r"/(?:board|topic)/\d+")
_NEW_ADDRESS = re.compile(r"/(forums|discussions)/(\d+)-[a-z]+")
_LINKED = re.compile(r'(?<=href=")/(board|topic)/(\d+)')


def _moved(link: re.Match[str]) -> str:
    return f"/{'forums' if link[1] == 'board' else 'discussions'}/{int(link[2]) + 7000}-name"
