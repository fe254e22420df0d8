"""A local web of search forms of every make over one table of known records, to harvest and to measure."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from deepweb.benches.form_records import Record, records_of

HTML = "text/html; charset=utf-8"
MANY_REQUESTS = 15


class Select(NamedTuple):
    """A select, or radios or checkboxes, over a field of the records."""

    name: str
    field: str
    kind: str = "select"
    required: bool = False
    label: str = ""


class Between(NamedTuple):
    """Two inputs that are the ends of a range over a field."""

    low: str
    high: str
    field: str
    kind: str = "number"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of form and how its site answers.

    `box` is the name of the input for words ("" for none), `matches` words, parts, or (any word), phrase; `cut` the most
    records it shows, `ranked` whether the same ones rank first for every query. `paging`: link, path, button, post, number,
    offset, more, cursor, postback, data or none. `layout`: list, table, cards, definitions, flat, bare, data. `answer`: page,
    script (the form is a script's, records come as JSON) or aspnet. `extra` is HTML inside the form that chooses no records.
    """

    name: str
    box: str = "q"
    matches: str = "words"
    box_type: str = "text"
    label: str = "Search"
    second: tuple[str, str] | None = None
    selects: tuple[Select, ...] = ()
    between: tuple[Between, ...] = ()
    cut: int | None = None
    ranked: bool = True
    a_page: int = 25
    paging: str = "link"
    layout: str = "list"
    method: str = "get"
    token: bool = False
    answer: str = "page"
    extra: str = ""
    least: int = 0
    states: str = "{n} results"
    busy: bool = False
    missing: int = 200
    leads_on: bool = False
    language: str = "en"
    filters: bool = False
    records: int = 2000
    everything: bool = False

    @property
    def page_size(self) -> int:
        return self.cut or self.a_page if self.paging == "none" else self.a_page


WORDS_CUT = Kind("cut_ranked", cut=50, paging="none")
YEARS = Between("year_from", "year_to", "year")
DATES = Between("date_from", "date_to", "date", "date")
PRICES = Between("price_min", "price_max", "price")
GENRES = Select("genre", "genre")
PLACES = Select("place", "place")
SORTS = (
    '<label>Sort by <select name="sort"><option value="new">Newest</option><option value="title">Title</option></select></label>'
    '<label>Results per page <select name="per_page"><option>25</option><option>50</option></select></label>'
)

KINDS = (
    Kind("plain"),
    WORDS_CUT,
    Kind("cut_unranked", cut=50, ranked=False, paging="none", layout="table"),
    Kind("cut_silent", cut=40, paging="none", states="", layout="cards"),
    Kind("box_p", box="p", label="", layout="table", paging="button"),
    Kind("box_from", box="from", label="Look for", cut=60, paging="none"),
    Kind("box_start", box="start", label="Catalogue", layout="flat"),
    Kind("box_page", box="page", label="Find", cut=50, ranked=False, paging="none"),
    Kind("two_boxes", box="title", second=("author", "author"), label="Title", cut=50, paging="none", layout="table"),
    Kind("required_select", selects=(Select("genre", "genre", required=True),), cut=50, paging="none"),
    Kind("required_unmarked", selects=(Select("place", "place", "radio", required=True),), layout="cards"),
    Kind("text_and_select", selects=(GENRES, PLACES), cut=40, paging="none", layout="cards"),
    Kind("date_range", box="", between=(DATES,), cut=50, paging="none"),
    Kind("number_range", box="", between=(PRICES,), cut=50, paging="none", layout="table"),
    Kind("text_and_dates", between=(DATES,), cut=50, paging="none"),
    Kind("text_and_years", between=(YEARS,), cut=40, paging="none", layout="table", states=""),
    Kind("selects_alone", box="", selects=(GENRES, PLACES), layout="table"),
    Kind("radio_and_text", selects=(Select("genre", "genre", "radio"),), cut=50, paging="none"),
    Kind("checkboxes", selects=(Select("place", "place", "checkbox"),), cut=50, paging="none", layout="definitions"),
    Kind("post_token", method="post", token=True, paging="post"),
    Kind("get_token", token=True, paging="button", layout="table"),
    Kind("data_in_page", layout="data", paging="data"),
    Kind("script_form", answer="script", layout="data", paging="none", cut=50),
    Kind("load_more", paging="more", layout="cards"),
    Kind("cursor", paging="cursor", layout="list"),
    Kind("path_pages", paging="path", layout="table"),
    Kind("typed_page", paging="number", layout="bare"),
    Kind("offsets", paging="offset", layout="list"),
    Kind("least_letters", least=4, cut=50, paging="none"),
    Kind("any_word", matches="or", layout="table", cut=50, paging="none"),
    Kind("phrase", matches="phrase", cut=60, paging="none", layout="flat"),
    Kind("parts_of_words", matches="parts", cut=50, paging="none", layout="list"),
    Kind("busy", busy=True, cut=50, paging="none"),
    Kind("aspnet", box="ctl00$Main$txtFind", answer="aspnet", method="post", paging="postback", layout="table", label=""),
    Kind("sorted", extra=SORTS, cut=50, paging="none", layout="table"),
    Kind("not_found_404", missing=404, leads_on=True, layout="flat"),
    Kind("chinese", language="zh", matches="parts", cut=50, paging="none", label="关键词", states="共{n}条记录"),
    Kind("chinese_pages", language="zh", matches="parts", box="kw", label="检索", states="共有 {n} 条结果", layout="table"),
    Kind("traps", states="ISO 9660 files, {n} records found", layout="cards", cut=50, ranked=False, paging="none"),
    Kind("open_filters", box="value", filters=True, layout="table", everything=True, a_page=100),
)
BY_NAME = {kind.name: kind for kind in KINDS}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


def _page(title: str, body: str, language: str = "en") -> str:
    menu = "".join(f'<a href="/{name}">{name.title()}</a> ' for name in ("about", "news", "contact"))
    return (
        f'<!doctype html><html lang="{language}"><head><title>{escape(title)}</title></head>'
        f'<body><nav><a href="/">Home</a> {menu}</nav>'
        f"<main>{body}</main><footer><p>The collection, since 1950. All rights reserved.</p></footer></body></html>"
    )


class FormSite:
    """One site: a form at /, its answers at /find, each record at /item/N. `asked` are the requests it got."""

    def __init__(self, kind: Kind, seed: int = 1) -> None:
        self.kind = kind
        self.all: list[Record] = records_of(kind.records, seed, kind.language)
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
        """What can be asked to find a text: its words; of Chinese its signs and pairs of neighbours."""
        if self.kind.language != "zh":
            return set(re.findall(r"\w+", text))
        runs = re.findall(r"\w+", text)
        return {run[at : at + size] for run in runs for size in (1, 2) for at in range(len(run) - size + 1)}

    # --- what a query finds
    def matching(self, given: Mapping[str, str]) -> list[int] | None:
        """Places of the records that match, in the site's order; None where the form was not filled as it has to be."""
        kind = self.kind
        found: list[int] | None = None
        word = given.get(kind.box, "").strip().lower() if kind.box else ""
        if kind.filters:
            return self._filtered(given)
        if word:
            found = self.finding(word)
        if kind.second and given.get(kind.second[0], "").strip():
            wanted = given[kind.second[0]].strip().lower().split()
            by = [p for p, r in enumerate(self.all) if set(wanted) <= set(str(r.fields[kind.second[1]]).lower().split())]
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
                by = [p for p, r in enumerate(self.all) if _inside(r.fields[span.field], low, high, span.kind)]
                found = by if found is None else sorted(set(found) & set(by))
        if found is None or (kind.box and not word and any(select.required for select in kind.selects)):
            return list(range(len(self.all))) if kind.everything and found is None else None
        return self._ordered(found, repr(sorted(given.items())))

    def _ordered(self, found: list[int], query: str) -> list[int]:
        if self.kind.ranked:
            return found
        salt = sum(map(ord, query))
        return sorted(found, key=lambda place: (place * 2_654_435_761 + salt * 40_503) % 4_294_967_291)

    def _filtered(self, given: Mapping[str, str]) -> list[int]:
        column, value = given.get("column", ""), given.get("value", "").lower()
        if not column:
            return list(range(len(self.all)))
        same = given.get("op", "exact") == "exact"
        said = [str(r.fields.get(column, "")).lower() for r in self.all]
        return [p for p, text in enumerate(said) if (text == value if same else value in text)]

    def finding(self, word: str) -> list[int]:
        """Places of the records that words in the box find."""
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

    # --- the pages
    def answer(self, method: str, target: str, body: str, cookie: str) -> Answer:
        """What the site says to a request."""
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
            return Answer(200, headers, self._frame("", {}, self._form({}, key)))
        if parts.path == "/find" or parts.path.startswith("/find/") or parts.path == "/":
            return self._find(method, parts.path, given, cookie)
        return Answer(404, {}, _page("Not found", "<p>There is no such page.</p>"))

    def _session(self, cookie: str) -> tuple[str, dict[str, str]]:
        if not self.kind.token:
            return "", {}
        sent = SimpleCookie(cookie).get("visit")
        key = sent.value if sent is not None and sent.value in self._tokens else secrets.token_hex(8)
        self._tokens.setdefault(key, secrets.token_hex(16))
        return key, {"set-cookie": f"visit={key}; Path=/"}

    def _frame(self, title: str, given: Mapping[str, str], body: str) -> str:
        return _page(title or "Collection", f"<h1>The collection</h1>{body}", self.kind.language)

    def _find(self, method: str, path: str, given: dict[str, str], cookie: str) -> Answer:
        kind = self.kind
        key, headers = self._session(cookie)
        if kind.token and given.get("csrf_token") != self._tokens.get(key):
            return Answer(403, headers, self._frame("Forbidden", given, "<p>Your session has ended.</p>"))
        number = self._number(path, given)
        bound = {name: value for name, value in given.items() if name not in _OWN}
        found = self.matching(bound)
        form = self._form(given, key)
        if found is None:
            return Answer(200, headers, self._frame("Find", given, form + "<p class=hint>Please fill in the form.</p>"))
        if kind.box and not kind.filters and 0 < len(given.get(kind.box, "").strip()) < kind.least:
            return Answer(200, headers, self._frame("Find", given, form + f"<p class=hint>At least {kind.least} letters.</p>"))
        shown = found[: kind.cut] if kind.cut else found
        self.cut_answers[repr(sorted(bound.items()))] = len(shown) < len(found)
        if kind.leads_on and len(found) == 1:
            return Answer(303, {**headers, "location": f"/item/{found[0] + 1}"}, "")
        page = shown[(number - 1) * kind.page_size : number * kind.page_size]
        if not page:
            said = f"<p class=none>Nothing was found for <b>{escape(given.get(kind.box, ''))}</b>.</p>"
            return Answer(kind.missing, headers, self._frame("Nothing", given, form + said))
        total = f"<p class=count>{kind.states.format(n=f'{len(found):,}')}</p>" if kind.states else ""
        more = number * kind.page_size < len(shown)
        listed = self._list([self.all[place] for place in page], more, given, number)
        if kind.answer == "aspnet":
            return Answer(200, headers, self._frame("Results", given, self._form(given, key, total + listed, number, more)))
        return Answer(200, headers, self._frame("Results", given, form + total + listed + self._pager(given, number, more, key)))

    def _number(self, path: str, given: Mapping[str, str]) -> int:
        kind = self.kind
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
            f"<dt>{name.title()}</dt><dd>{escape(str(value))}</dd>" for name, value in record.fields.items() if name != "title"
        )
        return Answer(200, {}, _page(record.title, f"<h1>{escape(record.title)}</h1><dl>{rows}</dl>", self.kind.language))

    def _api(self, given: Mapping[str, str]) -> Answer:
        found = self.matching(given) or []
        shown = found[: self.kind.cut] if self.kind.cut else found
        self.cut_answers[repr(sorted(given.items()))] = len(shown) < len(found)
        items = [{**self.all[p].fields, "url": f"/item/{p + 1}"} for p in shown]
        return Answer(200, {"content-type": "application/json"}, json.dumps({"total": len(found), "items": items}, default=str))

    # --- HTML
    def _form(self, given: Mapping[str, str], key: str, inside: str = "", number: int = 1, more: bool = False) -> str:
        kind = self.kind
        inputs = [self._hidden("csrf_token", self._tokens[key])] if key else []
        if kind.filters:
            inputs.append(self._filter_inputs())
        elif kind.box:
            label = f'<label for="box">{kind.label}</label> ' if kind.label else ""
            value = escape(given.get(kind.box, ""))
            inputs.append(f'{label}<input id="box" type="{kind.box_type}" name="{kind.box}" value="{value}">')
        if kind.second:
            inputs.append(f'<label for="two">{kind.second[1].title()}</label> <input id="two" name="{kind.second[0]}">')
        inputs += [self._select(select) for select in kind.selects]
        inputs += [self._between(span) for span in kind.between]
        inputs.append(kind.extra)
        if kind.paging == "number":
            inputs.append('<label>Page <input name="at" size="2"></label>')
        if kind.answer == "script":
            return _SCRIPT_FORM
        if kind.answer == "aspnet":
            return self._aspnet(inputs, inside, number, more)
        button = "检索" if kind.language == "zh" else "Search"
        inside = f'{" ".join(inputs)} <button type="submit">{button}</button>'
        return f'<form class="search" action="/find" method="{kind.method}">{inside}</form>'

    def _filter_inputs(self) -> str:
        columns = "".join(f"<option>{name}</option>" for name in self.all[0].fields)
        return (
            f'<select name="column"><option value="">- column -</option>{columns}</select>'
            '<select name="op"><option value="exact">=</option><option value="contains">contains</option></select>'
            '<input name="value" type="text" placeholder="value">'
        )

    def values(self, field: str) -> list[str]:
        """What the records have in a field, sorted."""
        return sorted({str(record.fields[field]) for record in self.all})

    def _select(self, select: Select) -> str:
        label = select.label or select.name.title()
        values = self.values(select.field)
        if select.kind == "select":
            first = '<option value="">-- choose --</option>' if select.required else '<option value="">All</option>'
            must = " required" if select.required else ""
            options = first + "".join(f"<option>{escape(value)}</option>" for value in values)
            return f"<label>{label} <select name={select.name}{must}>{options}</select></label>"
        boxes = "".join(
            f'<label><input type="{select.kind}" name="{select.name}" value="{escape(v)}"> {escape(v)}</label> ' for v in values
        )
        return f"<fieldset><legend>{label}</legend>{boxes}</fieldset>"

    def _between(self, span: Between) -> str:
        bounds = ' min="0"' if span.kind == "number" else ""
        return (
            f'<label>{span.field.title()} from <input type="{span.kind}" name="{span.low}"{bounds}></label> '
            f'<label>to <input type="{span.kind}" name="{span.high}"{bounds}></label>'
        )

    @staticmethod
    def _hidden(name: str, value: str) -> str:
        return f'<input type="hidden" name="{name}" value="{escape(value)}">'

    def _aspnet(self, inputs: Sequence[str], inside: str, number: int, more: bool) -> str:
        state = secrets.token_hex(40)
        further = f"<a href=\"javascript:__doPostBack('ctl00$Main$grid','Page${number + 1}')\">{number + 1}</a>" if more else ""
        return (
            '<form method="post" action="/" id="aspnetForm">'
            f"{self._hidden('__VIEWSTATE', state)}{self._hidden('__EVENTTARGET', '')}{self._hidden('__EVENTARGUMENT', '')}"
            f'<div id="find">{" ".join(inputs)}<input type="submit" name="ctl00$Main$btnFind" value="Search"></div>'
            f"<div>{inside}{further}</div>"
            '<div id="letter">Newsletter: <input name="ctl00$Foot$txtMail" placeholder="Your e-mail"><input type="submit" '
            'name="ctl00$Foot$btnMail" value="Subscribe"></div></form>'
        )

    def _pager(self, given: Mapping[str, str], number: int, more: bool, key: str) -> str:
        kind = self.kind
        if not more:
            return ""
        kept = {name: value for name, value in given.items() if name not in ("at", "offset", "after")}
        if kind.paging == "link":
            return f'<p class=pager><a href="/find?{urlencode({**kept, "at": number + 1})}">Next</a></p>'
        if kind.paging == "path":
            return f'<p class=pager><a href="/find/{number + 1}?{urlencode(kept)}">{number + 1}</a></p>'
        if kind.paging == "offset":
            return f'<p class=pager><a href="/find?{urlencode({**kept, "offset": number * kind.a_page})}">Next page</a></p>'
        if kind.paging == "cursor":
            return f'<p class=pager><a href="/find?{urlencode({**kept, "after": f"zq{number}"})}">Older</a></p>'
        if kind.paging == "more":
            further = f"/find?{urlencode({**kept, 'at': number + 1})}"
            return f'<button type="button" class="load-more" data-url="{further}">Load more</button>'
        if kind.paging in ("button", "post"):
            hidden = "".join(self._hidden(name, value) for name, value in {**kept, "at": str(number + 1)}.items())
            method = "post" if kind.paging == "post" else "get"
            return f'<form action="/find" method="{method}">{hidden}<button>Next</button></form>'
        return ""

    def _list(self, page: Sequence[Record], more: bool, given: Mapping[str, str], number: int) -> str:
        kind = self.kind
        if kind.layout == "data":
            further = f"/find?{urlencode({**given, 'at': number + 1})}" if more else None
            items = [{**r.fields, "url": f"/item/{r.number}"} for r in page]
            said = json.dumps({"results": items, "next": further}, default=str)
            return f"<div id=app></div><script type=application/json>{said}</script>"
        return LAYOUTS[kind.layout](page)


_OWN = frozenset(("csrf_token", "at", "offset", "after", "sort", "per_page", "__VIEWSTATE", "__EVENTTARGET", "__EVENTARGUMENT"))
_SCRIPT_FORM = """<form id="find" onsubmit="return go()"><input id="words" name="words" placeholder="Search the collection">
<button>Search</button></form><div id="out"></div><script>
function go() {
  const q = document.getElementById('words').value;
  fetch('/api/find?q=' + encodeURIComponent(q)).then(r => r.json()).then(show);
  return false;
}
</script>"""


def _inside(value: Any, low: str, high: str, kind: str) -> bool:
    if kind == "date":
        return (not low or str(value) >= low) and (not high or str(value) <= high)
    return (not low or float(value) >= float(low)) and (not high or float(value) <= float(high))


def _link(record: Record) -> str:
    return f'<a href="/item/{record.number}">{escape(record.title)}</a>'


def _said(record: Record, name: str) -> str:
    return escape(str(record.fields[name]))


def _as_list(page: Sequence[Record]) -> str:
    rows = "".join(
        f"<li class=hit><h3>{_link(r)}</h3><p class=author>{_said(r, 'author')}</p><p class=text>{_said(r, 'text')}</p>"
        f"<span class=date>{_said(r, 'date')}</span></li>"
        for r in page
    )
    return f"<ol class=hits>{rows}</ol>"


def _as_table(page: Sequence[Record]) -> str:
    names = ("author", "year", "genre", "price", "text")
    head = "".join(f"<th>{name.title()}</th>" for name in ("title", *names))
    rows = "".join(f"<tr><td>{_link(r)}</td>{''.join(f'<td>{_said(r, name)}</td>' for name in names)}</tr>" for r in page)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _as_cards(page: Sequence[Record]) -> str:
    return (
        "<div class=grid>"
        + "".join(
            f"<div class=card>{_link(r)}<p>{_said(r, 'text')}</p><p>Author: {_said(r, 'author')}</p>"
            f"<p>Place: {_said(r, 'place')}</p><p>Price: $ {_said(r, 'price')}</p></div>"
            for r in page
        )
        + "</div>"
    )


def _as_definitions(page: Sequence[Record]) -> str:
    return "".join(
        f"<dl class=item><dt>{_link(r)}</dt><dd class=author>{_said(r, 'author')}</dd><dd class=text>{_said(r, 'text')}</dd></dl>"
        for r in page
    )


def _as_flat(page: Sequence[Record]) -> str:
    return "".join(
        f"<h3>{_link(r)}</h3><p>by <i class=author>{_said(r, 'author')}</i></p><p>{_said(r, 'text')}</p><hr>" for r in page
    )


def _as_bare(page: Sequence[Record]) -> str:
    return (
        "<div class=rows>"
        + "".join(
            f"<div class=row><b>{escape(r.title)}</b> <i>{_said(r, 'author')}</i> "
            f"<span class=text>{_said(r, 'text')}</span></div>"
            for r in page
        )
        + "</div>"
    )


LAYOUTS = {
    "list": _as_list,
    "table": _as_table,
    "cards": _as_cards,
    "definitions": _as_definitions,
    "flat": _as_flat,
    "bare": _as_bare,
}


class FormServer:
    """Serves a FormSite on a free loopback port; a context manager that stops with its block."""

    def __init__(self, site: FormSite) -> None:
        self.site = site

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply("GET", "")

            def do_POST(self) -> None:
                self._reply("POST", self.rfile.read(int(self.headers.get("content-length", 0))).decode())

            def _reply(self, method: str, body: str) -> None:
                said = site.answer(method, self.path, body, self.headers.get("cookie", ""))
                data = said.body.encode()
                self.send_response(said.status)
                for name, value in {"content-type": HTML, **said.headers, "content-length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> FormServer:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def small(kind: Kind, records: int) -> Kind:
    """The same kind over fewer records, for tests."""
    return replace(kind, records=records)
