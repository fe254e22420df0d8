"""The demonstration's searchable database: a catalogue of instruments behind a form that shows only
the first hits; and a login form."""

from __future__ import annotations

import random
import re
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from crawlmgr.demo.site import Answer, frame

RECORDS = 420
A_PAGE, AT_MOST = (
    20,
    40,
)  # number of results per page, and maximum number of results shown for a query
SEED = 9
KINDS = ("string", "wind", "percussion", "keyboard")
NAMES = {
    "string": "lute violin zither fiddle harp cittern erhu pipa".split(),
    "wind": "flute oboe horn bagpipe shawm recorder ocarina bassoon".split(),
    "percussion": "drum gong cymbal marimba rattle tambourine bell xylophone".split(),
    "keyboard": "clavichord harpsichord organ celesta spinet harmonium virginal pianoforte".split(),
}
MATERIALS = (
    "maple walnut spruce ebony boxwood brass silver copper ivory bamboo rosewood leather pearwood"
    " bronze".split()
)
PLACES = (
    "Lisbon Antwerp Cremona Suzhou Kyoto Leipzig Prague Dublin Seville Malmo Tallinn Xian Vienna"
    " Bergen".split()
)
MAKERS = (
    "Alder Brandt Castel Deng Eriksen Fontaine Gruber Haas Ito Jansen Keller Lindqvist Moreau Novak"
).split()
MARKS = (
    "carved painted gilded repaired travelling miniature processional double early folding"
    " ornamented plain signed".split()
)
FAMILIES = [
    a + b
    for a in "Hart Wald Stein Linden Falken Oster Winter Rosen Eichen Brunn".split()
    for b in "mann berg hof sen dal wick".split()
]
TOWNS = [
    a + b
    for a in "Nord Sund Alten Mar Kirch Elster Grau Sel".split()
    for b in "burg ham stad feld furt mar".split()
]

FORM = (
    '<form class="search" action="/search" method="get"><label for="q">Search the catalogue</label>'
    ' <input id="q" name="q" value="{word}"> <label for="kind">Kind</label> <select id="kind"'
    ' name="kind"><option value="">All kinds</option>{kinds}</select> <input type="submit"'
    ' value="Search"></form>'
)
LOGIN = (
    '<form action="/login" method="post"><label>User name <input name="user"></label>'
    ' <label>Password <input type="password" name="password"></label> <input type="submit"'
    ' value="Log in"></form>'
)
WELCOME = (
    "<h1>Museum of instruments</h1><p>Flute and lute, drum and harpsichord, from Antwerp to Suzhou:"
    " the catalogue can be searched, but it is listed nowhere. This month the hall shows a gilded"
    " horn, a painted spinet and silver bells.</p>"
)
HINT = "<p>By instrument, maker, place or material: try flute, walnut or Antwerp.</p>"
MENU = (
    '<a href="/">Museum</a> <a href="/search">Search the catalogue</a> <a href="/login">Staff'
    " login</a>"
)


class Instrument(NamedTuple):
    """One record of the demonstration's database, a catalogue of musical instruments."""

    number: int
    title: str
    kind: str
    maker: str
    place: str
    year: int
    material: str
    note: str

    def words(self) -> set[str]:
        """Returns the words by which the search form finds the record."""
        return set(
            re.findall(
                r"\w+",
                f"{self.title} {self.maker} {self.place} {self.material} {self.note}".lower(),
            )
        )


class Database:
    """The catalogue of records and its pages; the same seed gives the same catalogue."""

    def __init__(self, seed: int = SEED) -> None:
        draw = random.Random(seed)  # noqa: S311 - made-up records
        self.records = [self._record(number, draw) for number in range(1, RECORDS + 1)]
        self._words = [(record, record.words()) for record in self.records]

    def _record(self, number: int, draw: random.Random) -> Instrument:
        kind = draw.choices(KINDS, (5, 4, 3, 2))[0]
        mark, name = draw.choice(MARKS), draw.choices(NAMES[kind], range(8, 0, -1))[0]
        note = (
            f"{draw.choice(MARKS)} case, {draw.choice(MATERIALS)} inlay; of {draw.choice(FAMILIES)}"
            f" in {draw.choice(TOWNS)}"
        )
        title = f"{mark.capitalize()} {name} {draw.choice(FAMILIES)}"
        made = (
            draw.choice(MAKERS),
            draw.choice(PLACES),
            draw.randint(1580, 1920),
            draw.choice(MATERIALS),
        )
        return Instrument(number, title, kind, *made, note)

    def __call__(self, path: str) -> Answer | None:
        """Returns the page at a path with query; None if there is none."""
        parts = urlsplit(path)
        if parts.path == "/":
            return _page("Museum of instruments", WELCOME)
        if parts.path == "/login":
            return _page("Staff login", f"<h1>Staff login</h1>{LOGIN}")
        if parts.path == "/search":
            return self._search(parse_qs(parts.query))
        number = parts.path.removeprefix("/instrument/")
        if number.isdecimal() and 1 <= int(number) <= len(self.records):
            return _detail(self.records[int(number) - 1])
        return None

    def _search(self, given: dict[str, list[str]]) -> Answer:
        word, kind, page = (
            given.get(name, [usual])[0].strip()
            for name, usual in (("q", ""), ("kind", ""), ("page", "1"))
        )
        form = FORM.format(
            word=escape(word),
            kinds="".join(
                "<option"
                f' value="{one}"{" selected" if one == kind else ""}>{one.capitalize()}</option>'
                for one in KINDS
            ),
        )
        if not word and not kind:
            return _page("Search the catalogue", f"<h1>Search the catalogue</h1>{form}{HINT}")
        wanted = set(re.findall(r"\w+", word.lower()))
        found = [
            record for record, words in self._words if wanted <= words and kind in ("", record.kind)
        ]
        found = found if wanted or not word else []
        at = int(page) if page.isdecimal() else 1
        shown = found[:AT_MOST]
        here = shown[max(0, at - 1) * A_PAGE : at * A_PAGE]
        if not here:
            return _page(
                f"Search: {word}", f"{form}<p>Nothing was found for <b>{escape(word)}</b>.</p>"
            )
        cut = f"; only the first {AT_MOST} are shown" if len(found) > AT_MOST else ""
        rows = "".join(
            "<tr><td><a"
            f' href="/instrument/{one.number}">{escape(one.title)}</a></td><td>{one.maker}</td><td>'
            f"{one.place}</td>"
            f"<td>{one.year}</td><td>{one.material}</td></tr>"
            for one in here
        )
        head = (
            "<tr><th>Instrument</th><th>Maker</th><th>Place</th><th>Year</th><th>Material</th></tr>"
        )
        more = ""
        if at * A_PAGE < len(shown):
            after = f"/search?q={quote(word)}&amp;kind={quote(kind)}&amp;page={at + 1}"
            more = f'<p class="pager"><a rel="next" href="{after}">Next</a></p>'
        return _page(
            f"Search: {word}",
            f"{form}<p>{len(found)} instruments found{cut}.</p><table>{head}{rows}</table>{more}",
        )


def _detail(one: Instrument) -> Answer:
    pairs = (
        ("Kind", one.kind),
        ("Maker", one.maker),
        ("Place", one.place),
        ("Year", one.year),
        ("Material", one.material),
        ("Note", one.note),
    )
    rows = "".join(f"<dt>{name}</dt><dd>{escape(str(value))}</dd>" for name, value in pairs)
    return _page(one.title, f"<h1>{escape(one.title)}</h1><dl>{rows}</dl>")


def _page(title: str, body: str) -> Answer:
    return Answer(frame(title, "en", body, MENU))
