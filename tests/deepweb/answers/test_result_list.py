"""Which links of a result page are records, and when two records are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawlmgr.web.pages.outline import outline
from deepweb.answers.result_list import FoundRecord, PageTemplate, read_results
from deepweb.search_forms import parse_page

CASES = Path(__file__).resolve().parents[4] / "shared" / "data" / "cases" / "deepweb"


def records(html: str, url: str, **echo: str) -> list[str]:
    root = parse_page(html)
    assert root is not None
    found = read_results(outline(root), url, tuple(echo.items()), PageTemplate())
    return [record.url for record in found.records]


def rows(*links: str) -> str:
    return "<ul>" + "".join(
        f"<li><a href='{link}'>Record number {place}, a title</a><p>Some words about it</li>"
        for place, link in enumerate(links)
    )


@pytest.mark.parametrize(
    ("own", "link"),
    [
        ("/doku.php?do=search&id=start&q=river", "/doku.php?id=games:n{}"),
        ("/index.php?action=search&q=river", "/index.php?action=show&record={}"),
        ("/view?id=0&q=river&lang=en", "/view?id=1{}&lang=en"),
        ("/?q=river", "/?p={}"),
        ("/s?q=river", "http://other.org/page/{}"),
    ],
)
def test_lists_and_records_at_one_path(own: str, link: str) -> None:
    links = [link.format(number) for number in range(4, 9)]
    found = records(rows(*links), f"http://x.org{own}", q="river")
    assert len(found) == 5 and len(set(found)) == 5


@pytest.mark.parametrize("word", ["river", "qt", "7"])
def test_a_record_has_one_address_whatever_word_is_highlighted_in_it(word: str) -> None:
    links = [f"/doku.php?id=n{number}&s[]={word}" for number in range(4, 9)]
    root = parse_page(rows(*links))
    assert root is not None
    url = f"http://x.org/doku.php?do=search&q={word}"
    found = read_results(outline(root), url, (("q", word),), PageTemplate())
    assert [record.url for record in found.records] == [
        f"http://x.org/doku.php?id=n{number}" for number in range(4, 9)
    ]
    alone = parse_page(rows(f"/doku.php?id=n4&s[]={word}"))
    assert alone is not None and found.shape is not None
    lone = read_results(outline(alone), url, (("q", word),), PageTemplate(), found.shape)
    assert [record.url for record in lone.records] == ["http://x.org/doku.php?id=n4"]


def test_a_value_that_the_query_only_happens_to_name_stays() -> None:
    links = ["/r?cat=it&id=1", "/r?cat=it&id=2", "/r?cat=en&id=3"]
    found = records(rows(*links), "http://x.org/s?q=it", q="it")
    assert found == [f"http://x.org{link}" for link in links]
    links = ["/r?cat=it", "/r?cat=en", "/r?cat=it&of=en"]
    found = records(rows(*links), "http://x.org/s?q=it", q="it")
    assert found == [f"http://x.org{link}" for link in links]


@pytest.mark.parametrize(
    "link", ["/s?q=river&cat={}", "/s?q=river{}", "/s?id=0&page={}", "/s?id=0&sort_by=n{}", "/s"]
)
def test_other_views_of_a_list_are_no_records(link: str) -> None:
    views = "".join(f"<a href='{link.format(number)}'>View {number}</a> " for number in range(4, 9))
    html = f"<nav2>{views}</nav2>" + rows("/r/1", "/r/2", "/r/3")
    found = records(html, "http://x.org/s?id=0&q=river", q="river")
    assert found == [f"http://x.org/r/{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (
            {"title": "Ring", "seen": "12 minutes ago"},
            {"title": "Ring", "seen": "2 hours ago"},
            True,
        ),
        ({"title": "Ring", "seen": "3 天前"}, {"title": "Ring", "seen": "昨天 10:15"}, True),
        ({"title": "Ring", "hits": "7"}, {"title": "Ring", "hits": "1,204"}, True),
        ({"title": "Ring", "count": "3 Hits"}, {"title": "Ring", "count": "4 Hits"}, True),
        ({"title": "Ring", "Relevance": "97 %"}, {"title": "Ring", "Relevance": "12 %"}, True),
        ({"title": "Ring", "made": "2026-11-01"}, {"title": "Ring", "made": "2026-11-02"}, False),
        ({"title": "Ring", "pages": "7"}, {"title": "Ring", "pages": "8"}, False),
        ({"when": "2 hours ago"}, {"when": "3 hours ago"}, False),
    ],
)
def test_a_record_without_an_address_is_its_stable_fields(
    first: dict[str, str], second: dict[str, str], same: bool
) -> None:
    assert (FoundRecord("", first).key == FoundRecord("", second).key) is same


@pytest.mark.parametrize(
    "cells", ["{t}|{a}|{n} minutes ago|{n} hits", "{n} hits|{t}|{a}|{n} 分钟前"]
)
def test_cells_without_a_header_are_fields_of_their_own(cells: str) -> None:
    def keys(seen: int) -> list[str]:
        rows = "".join(
            "<tr>" + "".join(f"<td>{one}" for one in cells.format(t=t, a=a, n=seen + n).split("|"))
            for n, (t, a) in enumerate((("Ring", "Ada"), ("Bell", "Lin"), ("Drum", "Ada")))
        )
        root = parse_page(f"<table>{rows}</table>")
        assert root is not None
        found = read_results(outline(root), "http://x.org/s?q=a", (("q", "a"),), PageTemplate())
        return [record.key for record in found.records]

    assert len(set(keys(11))) == 3 and keys(11) == keys(27)


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared result pages are not here")
def test_records_of_a_wiki_have_their_addresses() -> None:
    html = (CASES / "dokuwiki_result.html").read_text(encoding="utf-8")
    host = "http://127.0.0.1:8501"
    found = records(html, f"{host}/doku.php?id=start&do=search&q=othello", q="othello")
    assert found == [f"{host}/doku.php?id=games%3An{number}" for number in (15, 84, 185)]


@pytest.mark.parametrize(
    "row",
    [
        "<li><a href='http://site{0}.org/p'>Old maps, sheet {0}</a> <a href='/s?genre={1}'>{1}</a>",
        "<li><a href='http://site{0}.org/p'>Old maps, sheet {0}</a> <a href='/s?tag={0}a'>a{0}</a>"
        " <a href='/s?tag={0}b'>b{0}</a><p>Some words",
        "<li><p><a href='http://site{0}.org/p'>Old maps, sheet {0}</a> <i>notes</i></p><p"
        " class=tags><a href='/tag/{0}x'>x{0}</a> <a href='/tag/{0}y'>y{0}</a> <a"
        " href='/tag/z'>z</a></p>",
        "<li><a href='/out/{0}'>Old maps, sheet {0}</a> <a href='/by/{1}'>{1}</a> <a"
        " href='/by/all'>all</a>",
    ],
)
def test_titles_that_lead_off_the_site_are_records_and_filters_are_none(row: str) -> None:
    html = "<ul>" + "".join(row.format(n, "atlas" if n % 2 else "diary") for n in range(6))
    assert records(html, "http://x.org/s?q=maps", q="maps") == [
        f"http://x.org/out/{n}" if "/out" in row else f"http://site{n}.org/p" for n in range(6)
    ]


@pytest.mark.parametrize("tag", ["header", "footer"])
def test_a_header_of_each_result_is_no_header_of_the_page(tag: str) -> None:
    row = f"<div class=hit><{tag}><h3><a href='http://site{{0}}.org/'>Sheet {{0}}</a></h3></{tag}>"
    html = "<main>" + "".join(row.format(n) + "<p>Words of it</div>" for n in range(5))
    assert len(records(html, "http://x.org/s?q=maps", q="maps")) == 5


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (
            "<li><a href='http://s{0}.org/'>Map {0}</a> <i class=author>Ada</i><p>Words {0}</p>"
            "<a href='/s?genre={1}'>{1}</a>",
            ("title", "link 2"),
        ),
        (
            "<li><a href='/item/{0}'>Map {0}</a> <a href='/by/{1}'>{1}</a> <a href='/y/{2}'>{2}</a>"
            "<p>Some words {0}</p>",
            ("title", "link 2", "link 3"),
        ),
        (
            "<div><h3>No. {0}</h3><a href='/doc/{0}'>Map {0}</a><a href='/s?g={1}'>{1}</a><p>Old"
            " words {0}</p></div>",
            ("link", "link 2"),
        ),
    ],
)
def test_links_at_one_place_are_columns_if_each_record_has_as_many(
    row: str, wanted: tuple[str, ...]
) -> None:
    said = [(n, "atlas" if n % 2 else "diary", 1990 + n % 3) for n in range(6)]
    root = parse_page("<ul>" + "".join(row.format(*each) for each in said))
    assert root is not None
    found = read_results(outline(root), "http://x.org/s?q=map", (("q", "map"),), PageTemplate())
    assert [tuple(record.fields.get(name) for name in wanted) for record in found.records] == [
        (f"Map {n}", kind, str(year))[: len(wanted)] for n, kind, year in said
    ]


def test_links_at_one_place_are_one_field_if_records_have_different_numbers_of_them() -> None:
    tags = [" ".join(f"<a href='/t/{m}'>tag{m}</a>" for m in range(n % 3 + 1)) for n in range(6)]
    html = "".join(f"<li><a href='/d/{n}'>Map {n}</a> {tag}<p>W {n}" for n, tag in enumerate(tags))
    root = parse_page(f"<ul>{html}</ul>")
    assert root is not None
    found = read_results(outline(root), "http://x.org/s?q=map", (("q", "map"),), PageTemplate())
    assert {name for record in found.records for name in record.fields} == {"title", "text"}
