"""HTML pages of the benchmarks' local search sites: the search form of each kind of site, the links
to further pages of results, and lists of results in every layout.
"""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import urlencode

from tests.benches.forms.kinds import Between, Kind, Select
from tests.benches.forms.records import Record


class FormPages:
    """Makes the HTML of a site with one kind of form over the given records."""

    def __init__(self, kind: Kind, records: Sequence[Record]) -> None:
        self.kind, self.records = kind, records

    def form(
        self,
        given: Mapping[str, str],
        token: str,
        inside: str = "",
        number: int = 1,
        more: bool = False,
    ) -> str:
        kind = self.kind
        inputs = [self._hidden("csrf_token", token)] if token else []
        if kind.filters:
            inputs.append(self._filter_inputs())
        elif kind.box:
            label = f'<label for="box">{kind.label}</label> ' if kind.label else ""
            value = escape(given.get(kind.box, ""))
            inputs.append(
                f'{label}<input id="box" type="{kind.box_type}" name="{kind.box}" value="{value}">'
            )
        if kind.second:
            inputs.append(
                f'<label for="two">{kind.second[1].title()}</label> <input id="two"'
                f' name="{kind.second[0]}">'
            )
        inputs += [self._select(select) for select in kind.selects]
        inputs += [self._between(span) for span in kind.between]
        inputs.append(kind.extra if kind.answer != "aspnet" else "")
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
        columns = "".join(f"<option>{name}</option>" for name in self.records[0].fields)
        return (
            f'<select name="column"><option value="">- column -</option>{columns}</select><select'
            ' name="op"><option value="exact">=</option><option'
            ' value="contains">contains</option></select><input name="value" type="text"'
            ' placeholder="value">'
        )

    def values(self, field: str) -> list[str]:
        """Returns the distinct values of a field of the records, sorted."""
        return sorted({str(record.fields[field]) for record in self.records})

    def _select(self, select: Select) -> str:
        label = select.label or select.name.title()
        values = self.values(select.field)
        if select.kind == "select":
            first = (
                '<option value="">-- choose --</option>'
                if select.required
                else '<option value="">All</option>'
            )
            must = " required" if select.required else ""
            options = first + "".join(f"<option>{escape(value)}</option>" for value in values)
            return f"<label>{label} <select name={select.name}{must}>{options}</select></label>"
        boxes = "".join(
            f'<label><input type="{select.kind}" name="{select.name}" value="{escape(v)}">'
            f" {escape(v)}</label> "
            for v in values
        )
        return f"<fieldset><legend>{label}</legend>{boxes}</fieldset>"

    def _between(self, span: Between) -> str:
        bounds = ' min="0"' if span.kind == "number" else ""
        return (
            f'<label>{span.field.title()} from <input type="{span.kind}"'
            f' name="{span.low}"{bounds}></label> <label>to <input type="{span.kind}"'
            f' name="{span.high}"{bounds}></label>'
        )

    @staticmethod
    def _hidden(name: str, value: str) -> str:
        return f'<input type="hidden" name="{name}" value="{escape(value)}">'

    def _aspnet(self, inputs: Sequence[str], inside: str, number: int, more: bool) -> str:
        state = secrets.token_hex(40)
        further = (
            f"<a href=\"javascript:__doPostBack('ctl00$Main$grid','Page${number + 1}')\">"
            f"{number + 1}</a>"
            if more
            else ""
        )
        return (
            '<form method="post" action="/" id="aspnetForm">'
            f"{self._hidden('__VIEWSTATE', state)}{self._hidden('__EVENTTARGET', '')}"
            f"{self._hidden('__EVENTARGUMENT', '')}"
            f"{self.kind.extra}"
            f'<div id="find">{" ".join(inputs)}<input type="submit" name="ctl00$Main$btnFind"'
            ' value="Search"></div>'
            f"<div>{inside}{further}</div>"
            '<div id="letter">Newsletter: <input name="ctl00$Foot$txtMail" placeholder="Your'
            ' e-mail"><input type="submit" '
            'name="ctl00$Foot$btnMail" value="Subscribe"></div></form>'
        )

    def pager(self, given: Mapping[str, str], number: int, more: bool) -> str:
        kind = self.kind
        if not more:
            return ""
        kept = {
            name: value for name, value in given.items() if name not in ("at", "offset", "after")
        }
        if kind.paging == "link":
            return (
                "<p class=pager><a"
                f' href="/find?{urlencode({**kept, "at": number + 1})}">Next</a></p>'
            )
        if kind.paging == "path":
            return (
                "<p class=pager><a"
                f' href="/find/{number + 1}?{urlencode(kept)}">{number + 1}</a></p>'
            )
        if kind.paging == "offset":
            return (
                "<p class=pager><a"
                f' href="/find?{urlencode({**kept, "offset": number * kind.a_page})}">Next'
                " page</a></p>"
            )
        if kind.paging == "cursor":
            return (
                "<p class=pager><a"
                f' href="/find?{urlencode({**kept, "after": f"zq{number}"})}">Older</a></p>'
            )
        if kind.paging == "more":
            further = f"/find?{urlencode({**kept, 'at': number + 1})}"
            return (
                f'<button type="button" class="load-more" data-url="{further}">Load more</button>'
            )
        if kind.paging == "held":
            return f"<p class=pager><a rel=next href=/find?w={number * kind.a_page}>Next</a></p>"
        if kind.paging == "ranges":
            further = f"/find?{urlencode({**kept, 'at': number + 1})}"
            first = number * kind.a_page + 1
            return f"<p><a href='{further}'>{first}–{first + kind.a_page - 1}</a></p>"
        if kind.paging == "all":
            return f"<p><a href='/find?{urlencode({**kept, 'whole': 'yes'})}'>Show all</a></p>"
        if kind.paging in ("button", "post"):
            hidden = "".join(
                self._hidden(name, value) for name, value in {**kept, "at": str(number + 1)}.items()
            )
            method = "post" if kind.paging == "post" else "get"
            return f'<form action="/find" method="{method}">{hidden}<button>Next</button></form>'
        return ""

    def listed(
        self, page: Sequence[Record], more: bool, given: Mapping[str, str], number: int
    ) -> str:
        kind = self.kind
        if kind.layout == "data":
            further = f"/find?{urlencode({**given, 'at': number + 1})}" if more else None
            items = [{**r.fields, "url": f"/item/{r.number}"} for r in page]
            said = json.dumps({"results": items, "next": further}, default=str)
            return f"<div id=app></div><script type=application/json>{said}</script>"
        return LAYOUTS[kind.layout](page)


_SCRIPT_FORM = """<form id="find" onsubmit="return go()">\
<input id="words" name="words" placeholder="Search the collection">
<button>Search</button></form><div id="out"></div><script>
function go() {
  const q = document.getElementById('words').value;
  fetch('/api/find?q=' + encodeURIComponent(q)).then(r => r.json()).then(show);
  return false;
}
</script>"""


def _link(record: Record) -> str:
    return f'<a href="/item/{record.number}">{escape(record.title)}</a>'


def _said(record: Record, name: str) -> str:
    return escape(str(record.fields[name]))


def _as_list(page: Sequence[Record]) -> str:
    rows = "".join(
        f"<li class=hit><h3>{_link(r)}</h3><p class=author>{_said(r, 'author')}</p><p"
        f" class=text>{_said(r, 'text')}</p><span class=date>{_said(r, 'date')}</span></li>"
        for r in page
    )
    return f"<ol class=hits>{rows}</ol>"


def _as_table(page: Sequence[Record]) -> str:
    names = ("author", "year", "genre", "price", "text")
    head = "".join(f"<th>{name.title()}</th>" for name in ("title", *names))
    rows = "".join(
        f"<tr><td>{_link(r)}</td>{''.join(f'<td>{_said(r, name)}</td>' for name in names)}</tr>"
        for r in page
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _as_cards(page: Sequence[Record]) -> str:
    return (
        "<div class=grid>"
        + "".join(
            f"<div class=card>{_link(r)}<p>{_said(r, 'text')}</p><p>Author:"
            f" {_said(r, 'author')}</p><p>Place: {_said(r, 'place')}</p><p>Price: $"
            f" {_said(r, 'price')}</p></div>"
            for r in page
        )
        + "</div>"
    )


def _as_definitions(page: Sequence[Record]) -> str:
    return "".join(
        f"<dl class=item><dt>{_link(r)}</dt><dd class=author>{_said(r, 'author')}</dd><dd"
        f" class=text>{_said(r, 'text')}</dd></dl>"
        for r in page
    )


def _as_flat(page: Sequence[Record]) -> str:
    return "".join(
        f"<h3>{_link(r)}</h3><p>by <i"
        f" class=author>{_said(r, 'author')}</i></p><p>{_said(r, 'text')}</p><hr>"
        for r in page
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


def _as_passing(page: Sequence[Record]) -> str:
    ages = itertools.count(secrets.randbelow(40) + 1)
    rows = "".join(
        f"<tr><td><b>{escape(r.title)}</b></td><td>{_said(r, 'author')}</td><td>{_said(r, 'text')}"
        f"</td><td>{next(ages)} minutes ago</td><td>{next(ages)} hits</td></tr>"
        for r in page
    )
    return f"<table class=rows>{rows}</table>"


def _as_one_path(page: Sequence[Record]) -> str:
    rows = "".join(
        f"<dt><a href='/find?show={r.number}'>{escape(r.title)}</a></dt>"
        f"<dd><i class=author>{_said(r, 'author')}</i> <span>{_said(r, 'text')}</span></dd>"
        for r in page
    )
    return f"<dl>{rows}</dl>"


def _as_abroad(page: Sequence[Record]) -> str:
    rows = "".join(
        f"<li><a href='http://www{r.number % 7}.example/{r.number}'>{escape(r.title)}</a>"
        f" <i class=author>{_said(r, 'author')}</i><p>{_said(r, 'text')}</p>"
        f"<a href='/find?genre={_said(r, 'genre')}'>{_said(r, 'genre')}</a></li>"
        for r in page
    )
    return f"<ul>{rows}</ul>"


LAYOUTS = {
    "passing": _as_passing,
    "one_path": _as_one_path,
    "abroad": _as_abroad,
    "list": _as_list,
    "table": _as_table,
    "cards": _as_cards,
    "definitions": _as_definitions,
    "flat": _as_flat,
    "bare": _as_bare,
}
