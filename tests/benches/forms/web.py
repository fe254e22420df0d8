"""A local web of search forms of every kind over a set of known records, for measuring harvests."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Mapping
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.benches.forms.kinds import Kind
from tests.benches.forms.pages import FormPages
from tests.benches.forms.records import Record, records_of

HTML = "text/html; charset=utf-8"
MANY_REQUESTS = 15


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


def _page(title: str, body: str, language: str = "en") -> str:
    menu = "".join(
        f'<a href="/{name}">{name.title()}</a> ' for name in ("about", "news", "contact")
    )
    return (
        "<!doctype html><html"
        f' lang="{language}"><head><title>{escape(title)}</title></head><body><nav><a'
        f' href="/">Home</a> {menu}</nav><main>{body}</main><footer><p>The collection, since 1950.'
        " All rights reserved.</p></footer></body></html>"
    )


class FormSite:
    """One site of the local web: a form at /, its answers at /find, each record at /item/N. `asked`
    holds the requests it received, `cut_answers` whether the answer to a query was truncated.
    """

    def __init__(self, kind: Kind, seed: int = 1) -> None:
        self.kind = kind
        self.all: list[Record] = records_of(kind.records, seed, kind.language)
        if kind.also:
            others = records_of(kind.records, seed, kind.also)
            self.all = [
                others[place] if place % 3 == 2 else own for place, own in enumerate(self.all)
            ]
        if kind.language == "zh" and kind.least > 1:
            for place, record in enumerate(self.all):
                record.fields["title"] += _LONG[place % 8] + _LONG[(place // 3) % 8]
        self._held: dict[str, str] = {}
        self.pages = FormPages(kind, self.all)
        self.asked: list[str] = []
        self.cut_answers: dict[str, bool] = {}
        self._tokens: dict[str, str] = {}
        self._lock = threading.Lock()
        self._texts = [record.searched(kind.second is not None) for record in self.all]
        self.words: dict[str, list[int]] = {}
        for place, text in enumerate(self._texts):
            for word in self._words_of(text):
                self.words.setdefault(word, []).append(place)

    def _words_of(self, text: str) -> set[str]:
        """Returns the query terms that find a text: its words; for Chinese, its characters and
        pairs of neighbouring characters.
        """
        runs = re.findall(r"\w+", text)
        if text.isascii():
            return set(runs)
        return {
            run[at : at + size]
            for run in runs
            for size in range(max(1, self.kind.least), max(3, self.kind.least + 1))
            for at in range(len(run) - size + 1)
        }

    # --- matching of records
    def matching(self, given: Mapping[str, str]) -> list[int] | None:
        """Returns the indices of the records that match the submitted values `given` (by input
        name), in the site's order. None if no value was submitted, or none for a required input.
        Some sites (`kind.everything`) answer a query without any value with all records."""
        kind = self.kind
        found: list[int] | None = None
        word = given.get(kind.box, "").strip().lower() if kind.box else ""
        if kind.filters:
            return self._filtered(given)
        if word:
            found = self.finding(word)
        if kind.second and given.get(kind.second[0], "").strip():
            wanted = given[kind.second[0]].strip().lower().split()
            by = [
                p
                for p, r in enumerate(self.all)
                if set(wanted) <= set(str(r.fields[kind.second[1]]).lower().split())
            ]
            found = by if found is None else sorted(set(found) & set(by))
        for select in kind.selects:
            values = [value for value in given.get(select.name, "").split("\n") if value]
            if not values and select.required:
                return None
            if values:
                by = [p for p, r in enumerate(self.all) if r.fields[select.field] in values]
                found = by if found is None else sorted(set(found) & set(by))
        for span in kind.between:
            low, high = given.get(span.low, ""), given.get(span.high, "")
            if low or high:
                by = [
                    p
                    for p, r in enumerate(self.all)
                    if _inside(r.fields[span.field], low, high, span.kind)
                ]
                found = by if found is None else sorted(set(found) & set(by))
        if found is None or (
            kind.box and not word and any(select.required for select in kind.selects)
        ):
            return list(range(len(self.all))) if kind.everything and found is None else None
        return self._ordered(found, repr(sorted(given.items())))

    def _ordered(self, found: list[int], query: str) -> list[int]:
        if self.kind.ranked:
            return found
        salt = sum(map(ord, query))
        return sorted(
            found, key=lambda place: (place * 2_654_435_761 + salt * 40_503) % 4_294_967_291
        )

    def _filtered(self, given: Mapping[str, str]) -> list[int]:
        column, value = given.get("column", ""), given.get("value", "").lower()
        if not column:
            return list(range(len(self.all)))
        same = given.get("op", "exact") == "exact"
        said = [str(r.fields.get(column, "")).lower() for r in self.all]
        return [p for p, text in enumerate(said) if (text == value if same else value in text)]

    def finding(self, word: str) -> list[int]:
        """Returns the indices of the records that match the text `word` entered in the box, by the
        site's manner of matching; empty if it is shorter than the site's minimum."""
        words = re.findall(r"\w+", word)
        if len(word) < self.kind.least or not words:
            return []
        if self.kind.matches == "parts":
            return [place for place, text in enumerate(self._texts) if word in text]
        if self.kind.matches == "phrase":
            said = f" {' '.join(words)} "
            return [place for place, text in enumerate(self._texts) if said in f" {text} "]
        sets = [set(self.words.get(each, ())) for each in words]
        return sorted(set.union(*sets) if self.kind.matches == "or" else set.intersection(*sets))

    # --- answers to requests
    def answer(self, method: str, target: str, body: str, cookie: str) -> Answer:
        """Returns the site's answer to a request. `target` is its path and query, `cookie` its
        Cookie header."""
        parts = urlsplit(target)
        raw = parse_qs(body if method == "POST" else parts.query, keep_blank_values=True)
        given = {name: "\n".join(values) for name, values in raw.items()}
        if parts.path == "/robots.txt":
            return Answer(404, {}, "")
        with self._lock:
            self.asked.append(f"{method} {target} {body}".strip())
            number = len(self.asked)
        if self.kind.busy and number % MANY_REQUESTS == 0:
            return Answer(429, {"retry-after": "1"}, _page("Busy", "<p>Too many requests.</p>"))
        if parts.path.startswith("/item/"):
            return self._item(parts.path)
        if parts.path == "/api/find":
            return self._api(given)
        if parts.path == "/" and not (self.kind.answer == "aspnet" and method == "POST"):
            key, headers = self._session(cookie)
            return Answer(
                200, headers, self._frame("", {}, self.pages.form({}, self._tokens.get(key, "")))
            )
        if parts.path == "/find" or parts.path.startswith("/find/") or parts.path == "/":
            return self._find(method, parts.path, given, cookie)
        return Answer(404, {}, _page("Not found", "<p>There is no such page.</p>"))

    def _session(self, cookie: str) -> tuple[str, dict[str, str]]:
        if not self.kind.token:
            return "", {}
        sent = SimpleCookie(cookie).get("visit")
        key = (
            sent.value if sent is not None and sent.value in self._tokens else secrets.token_hex(8)
        )
        self._tokens.setdefault(key, secrets.token_hex(16))
        return key, {"set-cookie": f"visit={key}; Path=/"}

    def _frame(self, title: str, given: Mapping[str, str], body: str) -> str:
        return _page(title or "Collection", f"<h1>The collection</h1>{body}", self.kind.language)

    def _find(self, method: str, path: str, given: dict[str, str], cookie: str) -> Answer:
        kind = self.kind
        if "show" in given:
            return self._item(given["show"])
        if kind.by_script:
            return Answer(200, {}, self._frame("Results", {}, _SHELL))
        if kind.paging == "held":
            given = self._kept(given)
        key, headers = self._session(cookie)
        token = self._tokens.get(key, "")
        if kind.token and given.get("csrf_token") != token:
            return Answer(
                403, headers, self._frame("Forbidden", given, "<p>Your session has ended.</p>")
            )
        number = self._number(path, given)
        bound = {name: value for name, value in given.items() if name not in _OWN}
        found = self.matching(bound)
        form = self.pages.form(given, token)
        if found is None:
            return Answer(
                200,
                headers,
                self._frame("Find", given, form + "<p class=hint>Please fill in the form.</p>"),
            )
        if kind.box and not kind.filters and 0 < len(given.get(kind.box, "").strip()) < kind.least:
            return Answer(
                200,
                headers,
                self._frame(
                    "Find", given, form + f"<p class=hint>At least {kind.least} letters.</p>"
                ),
            )
        shown = found[: kind.cut] if kind.cut else found
        self.cut_answers[repr(sorted(bound.items()))] = len(shown) < len(found)
        if kind.leads_on and len(found) == 1:
            return Answer(303, {**headers, "location": f"/item/{found[0] + 1}"}, "")
        page = shown[(number - 1) * kind.page_size : number * kind.page_size]
        if given.get("whole"):
            page, number = shown, len(shown)
        if kind.invented and number > 1 and len(page) < kind.page_size:
            listed = self.pages.listed(_invented(number, kind.page_size), True, given, number)
            return Answer(
                200,
                headers,
                self._frame(
                    "Results", given, form + listed + self.pages.pager(given, number, True)
                ),
            )
        if not page:
            said = (
                f"<p class=none>Nothing was found for <b>{escape(given.get(kind.box, ''))}</b>.</p>"
            )
            return Answer(kind.missing, headers, self._frame("Nothing", given, form + said))
        total = (
            f"<p class=count>{kind.states.format(n=f'{len(found):,}')}</p>" if kind.states else ""
        )
        more = number * kind.page_size < len(shown) or kind.invented
        listed = self.pages.listed([self.all[place] for place in page], more, given, number)
        if kind.answer == "aspnet":
            return Answer(
                200,
                headers,
                self._frame(
                    "Results", given, self.pages.form(given, token, total + listed, number, more)
                ),
            )
        return Answer(
            200,
            headers,
            self._frame(
                "Results", given, form + total + listed + self.pages.pager(given, number, more)
            ),
        )

    def _kept(self, given: dict[str, str]) -> dict[str, str]:
        """Returns the values of a request as the site understands it, which keeps the last query of
        its visitor and takes a further page of it by a number alone."""
        if set(given) == {"w"}:
            return {**self._held, **given}
        self._held = dict(given)
        return given

    def _number(self, path: str, given: Mapping[str, str]) -> int:
        kind = self.kind
        if kind.paging == "held":
            return int(given.get("w", "0") or 0) // kind.a_page + 1
        text = given.get("at", "") or given.get("__EVENTARGUMENT", "")
        if kind.paging == "path":
            text = path.removeprefix("/find").strip("/")
        if kind.paging == "offset":
            return int(given.get("offset", "0") or 0) // kind.a_page + 1
        if kind.paging == "cursor" and given.get("after"):
            return int(given["after"][2:]) + 1
        digits = re.sub(r"\D", "", text)
        return max(1, int(digits)) if digits else 1

    def _item(self, path: str) -> Answer:
        place = int(re.sub(r"\D", "", path) or 0) - 1
        if not 0 <= place < len(self.all):
            return Answer(404, {}, _page("Not found", "<p>There is no such item.</p>"))
        record = self.all[place]
        rows = "".join(
            f"<dt>{name.title()}</dt><dd>{escape(str(value))}</dd>"
            for name, value in record.fields.items()
            if name != "title"
        )
        return Answer(
            200,
            {},
            _page(
                record.title, f"<h1>{escape(record.title)}</h1><dl>{rows}</dl>", self.kind.language
            ),
        )

    def _api(self, given: Mapping[str, str]) -> Answer:
        found = self.matching(given) or []
        shown = found[: self.kind.cut] if self.kind.cut else found
        self.cut_answers[repr(sorted(given.items()))] = len(shown) < len(found)
        items = [{**self.all[p].fields, "url": f"/item/{p + 1}"} for p in shown]
        return Answer(
            200,
            {"content-type": "application/json"},
            json.dumps({"total": len(found), "items": items}, default=str),
        )


_LONG = "图书馆藏 世界史话 计算机学 天文学家 中国人口 博物馆志 大江东去 青年文学".split()
_SHELL = (
    "<noscript>Please enable JavaScript.</noscript><div id=results></div>"
    "<script src=/static/find.js></script>"
)


def _invented(number: int, size: int) -> list[Record]:
    """Returns records that a site makes up for a page after the last."""
    said = dict.fromkeys(("author", "genre", "place", "date", "year", "price"), "-")
    return [
        Record(10**6 + at, {**said, "title": f"Lot {at}", "text": f"Details of lot {at} follow."})
        for at in range(number * size, (number + 1) * size)
    ]


_OWN = frozenset(
    (
        "w",
        "whole",
        "ctl00$Top$user",
        "ctl00$Top$pass",
        "csrf_token",
        "at",
        "offset",
        "after",
        "sort",
        "per_page",
        "__VIEWSTATE",
        "__EVENTTARGET",
        "__EVENTARGUMENT",
    )
)


def _inside(value: Any, low: str, high: str, kind: str) -> bool:
    if kind == "date":
        return (not low or str(value) >= low) and (not high or str(value) <= high)
    return (not low or float(value) >= float(low)) and (not high or float(value) <= float(high))


class FormServer:
    """Context manager that serves a FormSite on a free port of the loopback interface; `url` is its
    address."""

    def __init__(self, site: FormSite) -> None:
        self.site = site

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply("GET", "")

            def do_POST(self) -> None:
                self._reply(
                    "POST", self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                )

            def _reply(self, method: str, body: str) -> None:
                said = site.answer(method, self.path, body, self.headers.get("cookie", ""))
                data = said.body.encode()
                self.send_response(said.status)
                for name, value in {
                    "content-type": HTML,
                    **said.headers,
                    "content-length": str(len(data)),
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> FormServer:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
