"""A small search site on loopback with known records, all kinds of forms, and typical faults of
real sites."""

from __future__ import annotations

import json
import random
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, quote, urlsplit

from tests.site.loopback import LoopbackServer

WORDS = (
    "river stone lantern garden winter engine market silver paper harbour copper orchard signal"
    " window bridge summer thunder violin meadow castle anchor basket candle desert eagle feather"
    " glacier hammer island jungle kettle ladder mirror needle ocean pepper"
).split()
PEOPLE = (
    "Anna Berg",
    "Bertold Huang",
    "Chen Wei",
    "Dmitri Orlov",
    "Elif Kaya",
    "Farid Haddad",
    "Greta Lind",
)
KINDS = ("atlas", "diary", "manual", "novel")
HTML = {"content-type": "text/html; charset=utf-8"}
Reply = tuple[int, dict[str, str], str]


@dataclass
class Book:
    number: int
    title: str
    author: str
    year: int
    kind: str
    note: str

    def says(self, word: str, apart: bool = False) -> bool:
        own = f"{self.title} {self.note}".lower().split()
        return all(each in own for each in word.lower().split()) if apart else word.lower() in own


@dataclass
class SearchSite:
    """Books behind a form at /search. `submitted` lists submissions of forms that are not search
    forms. Options:

    - `layout`: table, list, flat, bare (no detail pages), ranked (links contain query and position)
      or data (JSON for a script)
    - `paging`: link, button, number or none; `method`: get or post (needs the page's token and
      session)
    - `asks`: words (a box and a select), word (a box), choices (two selects) or years (a range)
    - `leads_on`: the site redirects to a single result; `cut`: maximum number of results shown, 0
      for all
    - `conjunction`: several words find books that contain all of them; otherwise they are searched
      as one text
    - `failing`: by path, a function from the request's number to the response sent instead, or None
    """

    books: int = 120
    seed: int = 3
    a_page: int = 10
    layout: str = "table"
    paging: str = "link"
    asks: str = "words"
    method: str = "get"
    cut: int = 0
    states_total: bool = True
    leads_on: bool = False
    conjunction: bool = False
    delay_seconds: float = 0.0
    failing: dict[str, Callable[[int], Reply | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)
        self.all = {}
        for number in range(1, self.books + 1):
            title = " ".join(draw.sample(WORDS, 3)).capitalize()
            note = " ".join(draw.choice(WORDS) for _ in range(6))
            self.all[number] = Book(
                number,
                title,
                draw.choice(PEOPLE),
                draw.randint(1950, 2020),
                draw.choice(KINDS),
                note,
            )
        self.lock = threading.Lock()
        self.log: list[str] = []
        self.posts: list[str] = []
        self.submitted: list[str] = []
        self.sessions: dict[str, str] = {}

    # --- pages
    def answer(self, method: str, path: str, body: str, cookie: str) -> Reply:
        parts = urlsplit(path)
        with self.lock:
            self.log.append(f"{method} {path}")
            if method == "POST":
                self.posts.append(f"{parts.path} {body}")
            wanted = self.failing.get(parts.path)
            told = wanted(len(self.log)) if wanted else None
            if told is not None:
                return told
            return self._page(
                method, parts.path, parse_qs(parts.query if method == "GET" else body), cookie
            )

    def _page(self, method: str, path: str, given: dict[str, list[str]], cookie: str) -> Reply:
        if path == "/robots.txt":
            return 200, {"content-type": "text/plain"}, "User-agent: *\nDisallow: /private/\n"
        if path == "/":
            return (
                200,
                HTML,
                self._frame("Book house", "<h1>Book house</h1><p>All about old books.</p>"),
            )
        if path in _OTHER_FORMS:
            return 200, HTML, self._frame(path.strip("/").title(), _OTHER_FORMS[path])
        if path.startswith("/do/"):
            self.submitted.append(path)
            return 200, HTML, self._frame("Done", "<p>Thank you.</p>")
        if path == "/search":
            return self._search(method, given, cookie)
        if (
            path == "/book"
            and given.get("id", [""])[0].isdecimal()
            and int(given["id"][0]) in self.all
        ):
            return 200, HTML, self._detail(self.all[int(given["id"][0])])
        return 404, HTML, self._frame("Not found", "<p>There is no such page.</p>")

    def _frame(self, title: str, body: str) -> str:
        menu = "".join(
            f'<a href="{path}">{path.strip("/").title()}</a> '
            for path in (*_OTHER_FORMS, "/search", "/private/x")
        )
        return (
            f"<!doctype html><html lang=en><head><title>{escape(title)}</title></head><body><nav><a"
            f" href=/>Home</a> {menu}</nav><main>{body}</main><footer><p>Book house, since"
            " 1950</p></footer></body></html>"
        )

    def _form(self, word: str, token: str) -> str:
        kinds = "".join(f"<option value={kind}>{kind.title()}</option>" for kind in KINDS)
        hidden = f'<input type=hidden name=csrf_token value="{token}">' if token else ""
        number = (
            "<label for=page>Page</label> <input id=page name=page size=2>"
            if self.paging == "number"
            else ""
        )
        if self.asks == "choices":
            people = "".join(f"<option>{name}</option>" for name in PEOPLE)
            return (
                "<form action=/search>Kind: <select name=kind><option value=''>All"
                f" kinds</option>{kinds}</select> Author: <select name=author><option value=''>--"
                f" any --</option>{people}</select><input type=submit value='Find books'></form>"
            )
        if self.asks == "years":
            return (
                "<form action=/search><fieldset><legend>Search books</legend>Year from <input"
                " type=number name=year_from min=1900> to <input type=number name=year_to"
                " max=2030></fieldset><button>Search</button></form>"
            )
        kind = (
            '<label for=kind>Kind</label><select id=kind name=kind><option value="">All'
            f" kinds</option>{kinds}</select>"
        )
        kind = kind if self.asks == "words" else ""
        return (
            f"<form class=search action=/search method={self.method}>{hidden}<label for=q>Search"
            " for</label>"
            f'<input id=q name=q value="{escape(word)}">{kind}{number}<input type=submit'
            " value=Search></form>"
        )

    def _search(self, method: str, given: dict[str, list[str]], cookie: str) -> Reply:
        word, kind = given.get("q", [""])[0].strip(), given.get("kind", [""])[0]
        number = int(given.get("page", ["1"])[0] or 1)
        headers = dict(HTML)
        token = ""
        if self.method == "post":
            session = SimpleCookie(cookie).get("session")
            key = (
                session.value
                if session is not None and session.value in self.sessions
                else secrets.token_hex(8)
            )
            if method == "POST" and given.get("csrf_token", [""])[0] != self.sessions.get(key, "-"):
                return (
                    403,
                    HTML,
                    self._frame("Forbidden", "<p>The session has ended. Load the page again.</p>"),
                )
            token = self.sessions[key] = secrets.token_hex(16)
            headers["set-cookie"] = f"session={key}; Path=/"
        author, years = (
            given.get("author", [""])[0],
            [given.get(name, [""])[0] for name in ("year_from", "year_to")],
        )
        if not (word or kind or author or any(years)):
            return 200, headers, self._frame("Search", self._form("", token))
        low, high = int(years[0] or 0), int(years[1] or 9_999)
        found = [
            book for book in self.all.values() if not word or book.says(word, self.conjunction)
        ]
        found = [book for book in found if not kind or book.kind == kind]
        found = [
            book
            for book in found
            if (not author or book.author == author) and low <= book.year <= high
        ]
        shown = found[: self.cut] if self.cut else found
        page = shown[(number - 1) * self.a_page : number * self.a_page] if not self.cut else shown
        if self.leads_on and len(found) == 1:
            return 303, {**headers, "location": f"/book?id={found[0].number}"}, ""
        if self.layout == "data":
            return (
                200,
                headers,
                self._frame(
                    f"Search: {word}",
                    self._form(word, token) + self._data(word, page, number, shown),
                ),
            )
        if not page:
            body = f"<p class=none>Nothing was found for <b>{escape(word)}</b>.</p>"
        else:
            total = (
                f"<p class=count>{len(found)} results for {escape(word)}</p>"
                if self.states_total
                else ""
            )
            more = number * self.a_page < len(shown) and not self.cut
            body = (
                total + self._list(page) + (self._pager(word, kind, number, token) if more else "")
            )
        return 200, headers, self._frame(f"Search: {word}", self._form(word, token) + body)

    def _pager(self, word: str, kind: str, number: int, token: str) -> str:
        if self.paging == "link":
            return (
                "<div class=pager><a"
                f' href="/search?q={quote(word)}&amp;kind={kind}&amp;page={number + 1}">Next</a>'
                f"</div>"
            )
        if self.paging == "button":
            hidden = f"<input type=hidden name=csrf_token value={token}>" if token else ""
            return (
                f"<form action=/search method={self.method}>{hidden}<input type=hidden name=q"
                f' value="{escape(word)}"><input type=hidden name=kind value={kind}><input'
                f" type=hidden name=page value={number + 1}><input type=submit name=go"
                " value=Next></form>"
            )
        return ""

    def _data(self, word: str, page: list[Book], number: int, shown: list[Book]) -> str:
        more = (
            f"/search?q={quote(word)}&kind=&page={number + 1}"
            if number * self.a_page < len(shown)
            else None
        )
        results = [
            {
                "title": b.title,
                "author": {"name": b.author},
                "year": b.year,
                "url": f"/book?id={b.number}",
            }
            for b in page
        ]
        menu = [{"label": "Home", "href": "/"}, {"label": "Order", "href": "/order"}]
        shell = {"menu": menu, "total": len(shown), "results": results, "next": more}
        return f"<div id=app></div><script type=application/json>{json.dumps(shell)}</script>"

    def _list(self, page: list[Book]) -> str:
        link = '<a href="/book?id={0.number}">{0.title}</a>'
        if self.layout == "table":
            rows = "".join(
                f"<tr><td>{link.format(b)}</td><td>{b.author}</td><td>{b.year}</td></tr>"
                for b in page
            )
            return f"<table><tr><th>Title</th><th>Author</th><th>Year</th></tr>{rows}</table>"
        if self.layout == "list":
            rows = "".join(
                f"<li class=hit><h3>{link.format(b)}</h3><p class=author>{b.author}</p><p"
                f" class=year>{b.year}</p></li>"
                for b in page
            )
            return f"<ul class=hits>{rows}</ul>"
        if self.layout == "ranked":
            said = f"hl={quote(self.log[-1].rpartition('q=')[2].partition('&')[0])}"
            return "".join(
                f'<p><a href="/book?id={b.number}&amp;{said}&amp;pos={at}">{b.title}</a></p>'
                for at, b in enumerate(page, 1)
            )
        if self.layout == "flat":
            return "".join(
                f"<h3>{link.format(b)}</h3><p>by <span class=author>{b.author}</span></p><hr>"
                for b in page
            )
        rows = "".join(
            f"<div class=row><b>{b.title}</b> <i>{b.author}</i> <span"
            f" class=note>{b.note}</span></div>"
            for b in page
        )
        return f"<div class=rows>{rows}</div>"

    def _detail(self, book: Book) -> str:
        pairs = (
            ("Author", book.author),
            ("Year", book.year),
            ("Kind", book.kind),
            ("Note", book.note),
        )
        rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in pairs)
        return self._frame(book.title, f"<h1>{book.title}</h1><dl>{rows}</dl>")


_OTHER_FORMS = {
    "/login": (
        "<form action=/do/login method=post><label>User name <input"
        " name=user></label><label>Password <input type=password name=password></label><input"
        " type=submit value='Log in'></form>"
    ),
    "/register": (
        "<form action=/do/register method=post><label>User name <input"
        " name=username></label><label>E-mail <input type=email name=email></label><label>Password"
        " <input type=password name=p1></label><label>Again <input type=password"
        " name=p2></label><input type=submit value='Create account'></form>"
    ),
    "/newsletter": (
        "<form action=/do/newsletter method=post><label>Your e-mail <input name=email></label>"
        "<input type=submit value=Subscribe></form>"
    ),
    "/contact": (
        "<form action=/do/contact method=post><label>Your name <input"
        " name=name></label><label>E-mail <input name=email></label><textarea"
        " name=message></textarea><input type=submit value='Send message'></form>"
    ),
    "/order": (
        "<form action=/do/order method=post><label>Quantity <input name=quantity value=1></label>"
        "<input type=hidden name=product value=7><input type=submit value='Add to cart'></form>"
    ),
}


class SearchServer(LoopbackServer):
    """Serves a SearchSite on a free loopback port."""

    def __init__(self, site: SearchSite) -> None:
        self.site = site
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply("GET", "")

            def do_POST(self) -> None:
                self._reply(
                    "POST", self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                )

            def _reply(self, method: str, body: str) -> None:
                status, headers, text = site.answer(
                    method, self.path, body, self.headers.get("cookie", "")
                )
                if site.delay_seconds:
                    outer.pause.wait(site.delay_seconds)
                data = text.encode()
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                return

        super().__init__(Handler)
