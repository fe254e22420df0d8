"""Sitemaps and feeds: all formats with their dates, and damaged, huge or hostile files."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.web import sitemap
from crawlmgr.web.sitemap import Sitemap, SitemapEntry, parse_moment, parse_sitemap
from tests.growth import FACTOR, MAX_RATIO, growth

URL = "http://forum.example/maps/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def urls(found: Sitemap) -> list[str]:
    return [entry.url for entry in found.entries]


def test_a_sitemap_with_dates() -> None:
    body = f"""<?xml version="1.0" encoding="UTF-8"?>
      <urlset {NS}>
        <url><loc> http://forum.example/t?id=1&amp;p=2 </loc><lastmod>2026-03-01</lastmod>\
<priority>1</priority></url>
        <!-- a note --><url><loc>http://forum.example/论坛</loc></url>
        <url><loc>mailto:x@forum.example</loc></url><url><loc></loc></url><url/>
        <url><loc>http://forum.example/t?id=1&amp;p=2</loc><lastmod>2020-01-01</lastmod></url>
      </urlset>"""
    found = parse_sitemap(body.encode(), URL)
    assert found == Sitemap(
        "urlset",
        (
            SitemapEntry("http://forum.example/t?id=1&p=2", DAY),
            SitemapEntry("http://forum.example/论坛"),
        ),
    )
    assert parse_sitemap(gzip.compress(body.encode()), URL + ".gz") == found
    assert (
        parse_sitemap(("\ufeff" + body.replace("UTF-8", "UTF-16")).encode("utf-16-le"), URL).entries
        == found.entries
    )


def test_an_index_lists_sitemaps() -> None:
    body = (
        "<sitemapindex"
        f" {NS}><sitemap><loc>/a.xml.gz</loc><lastmod>2026-03-01T08:00:00+08:00</lastmod></sitemap>"
        f"</sitemapindex>"
    )
    assert parse_sitemap(body.encode(), URL) == Sitemap(
        "index", (SitemapEntry("http://forum.example/a.xml.gz", DAY),)
    )


def test_feeds() -> None:
    rss = b"""<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>\
<link>http://forum.example/</link>
      <item><title>a</title><link>http://forum.example/1</link>\
<pubDate>Sun, 01 Mar 2026 00:00:00 GMT</pubDate></item>
      <item><guid>http://forum.example/2</guid><dc:date>2026-03-01</dc:date></item>
      <item><guid isPermaLink="false">tag:7</guid></item></channel></rss>"""
    assert parse_sitemap(rss, URL) == Sitemap(
        "rss",
        (
            SitemapEntry("http://forum.example/1", DAY, "a"),
            SitemapEntry("http://forum.example/2", DAY),
        ),
    )
    rdf = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" \
xmlns="http://purl.org/rss/1.0/">
      <item><link>http://forum.example/3</link></item></rdf:RDF>"""
    assert urls(parse_sitemap(rdf, URL)) == ["http://forum.example/3"]
    atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="/self"/>
      <entry><link rel="replies" href="/4/replies"/><link href="/4"/><published>2020-01-01\
</published><updated>2026-03-01</updated></entry>
      <entry><link rel="alternate" href="../5"/><updated>soon</updated></entry></feed>"""
    assert parse_sitemap(atom, URL) == Sitemap(
        "atom",
        (SitemapEntry("http://forum.example/4", DAY), SitemapEntry("http://forum.example/5")),
    )


def test_plain_lists() -> None:
    body = (
        b"http://forum.example/1\r\n\r\n  https://forum.example/2  \nftp://forum.example/3\n#"
        b" note\n"
    )
    assert urls(parse_sitemap(body, URL)) == ["http://forum.example/1", "https://forum.example/2"]
    assert parse_sitemap(body, URL).kind == "text"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b"hello",
        b"<html><a href='/x'>x</a></html>",
        b"<",
        b"<>",
        b"<?xml?>",
        b"\x1f\x8b",
        b"{}",
    ],
)
def test_what_is_no_sitemap(body: bytes) -> None:
    found = parse_sitemap(body, URL)
    assert found.kind == "unknown" and found.entries == ()


def test_a_broken_file_gives_what_stood_before() -> None:
    rows = "".join(f"<url><loc>http://forum.example/{n}</loc></url>" for n in range(500))
    whole = f"<urlset {NS}>{rows}</urlset>".encode()
    for end in range(len(whole) // 2, len(whole) // 2 + 60):
        found = parse_sitemap(whole[:end], URL)
        expected = [f"http://forum.example/{n}" for n in range(whole[:end].count(b"</url>"))]
        assert found.kind == "urlset" and found.truncated and urls(found) == expected
    packed = parse_sitemap(gzip.compress(whole)[:-200], URL)
    assert (
        packed.truncated
        and len(packed.entries) > 100
        and set(urls(packed)) < {f"http://forum.example/{n}" for n in range(500)}
    )


def test_slips_of_those_who_write_sitemaps() -> None:
    body = (
        b"<urlset><url><loc>http://forum.example/?a=1&b=2&copy=3&#38;d</loc></url><url><loc>"
        b"/2&nbsp;</loc></url></urlset>"
    )
    assert urls(parse_sitemap(body, URL)) == [
        "http://forum.example/?a=1&b=2&copy=3&d",
        "http://forum.example/2&nbsp;",
    ]
    for body in (
        b"<URLSET><URL><LOC>/1</LOC></URL><URL><LOC> /2 </LOC></URL></URLSET>",
        b"<urlset><loc>/1</loc><loc>/2</loc></urlset>",
        b"<urlset><url><loc>/1</loc></url><loc>/2</loc></urlset>",
    ):
        assert urls(parse_sitemap(body, URL)) == [
            "http://forum.example/1",
            "http://forum.example/2",
        ]
    open_end = parse_sitemap(b"<urlset><url><loc>/1</loc></url><url><loc>/2</loc></url>", URL)
    assert (
        urls(open_end) == ["http://forum.example/1", "http://forum.example/2"]
        and open_end.truncated
    )


def test_no_more_entries_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MAX_ENTRIES", 10)
    body = (
        b"<urlset>" + b"".join(b"<url><loc>/%d</loc></url>" % n for n in range(11)) + b"</urlset>"
    )
    found = parse_sitemap(body, URL)
    assert len(found.entries) == 10 and found.truncated
    assert not parse_sitemap(body.replace(b"<url><loc>/10</loc></url>", b""), URL).truncated


def test_hostile_files_end_soon() -> None:
    lol = (
        b'<!DOCTYPE x [<!ENTITY a "'
        + b"ha" * 50
        + b'">'
        + b"".join(b'<!ENTITY %c "%s">' % (99 + n, b"&%c;" % (98 + n) * 50) for n in range(8))
    )
    lol = (
        lol.replace(b"ENTITY a", b"ENTITY b")
        + b"]><urlset><url><loc>http://forum.example/&j;</loc></url></urlset>"
    )
    outside = (
        b"<!DOCTYPE x [<!ENTITY b SYSTEM"
        b' "file:///etc/passwd">]><urlset><url><loc>http://h.example/&b;</loc></url></urlset>'
    )
    assert parse_sitemap(lol, URL).entries == parse_sitemap(outside, URL).entries == ()
    assert parse_sitemap(lol.decode().encode("utf-16"), URL).entries == ()
    bomb = gzip.compress(b"<urlset>" + b" " * 200_000_000, 1)
    tracemalloc.start()
    assert parse_sitemap(bomb, URL).entries == ()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * sitemap.MAX_BYTES


@pytest.mark.parametrize(
    ("begin", "piece", "size"),
    [(b"", b"<url>", 200_000), (b"<url><loc>http://h.example/", b"x", 5_000_000)],
)
def test_hostile_files_cost_no_more_than_their_length(
    begin: bytes, piece: bytes, size: int
) -> None:
    def read(body: bytes) -> None:
        assert parse_sitemap(body, URL).entries == ()

    start = b"<urlset>" + begin
    assert growth(read, start + piece * (size // FACTOR), start + piece * size) < MAX_RATIO


@given(
    st.binary(max_size=300)
    | st.text(alphabet="<>/&;! urlsetocfdinkmh:.?=\"'", max_size=200).map(str.encode)
)
def test_nothing_makes_it_raise(body: bytes) -> None:
    for data in (body, b"<urlset>" + body, b"<rss>" + body + b"</rss>"):
        assert all(
            entry.url.startswith(("http://", "https://"))
            for entry in parse_sitemap(data, URL).entries
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", DAY),
        ("2026-03", DAY),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-03-01T00:00:00Z", DAY),
        ("2026-03-01T01:00:00.000+01:00", DAY),
        ("Sun, 01 Mar 2026 08:00:00 +0800", DAY),
        ("2026-13-01", None),
        ("yesterday", None),
        ("", None),
        ("0000", None),
    ],
)
def test_dates(text: str, expected: datetime | None) -> None:
    assert parse_moment(text) == expected


@pytest.mark.parametrize(
    "lead",
    [b"\n\n", b"<!-- made at noon -->\n", b"Warning: cache is old\n<br>", b"\xef\xbb\xbf \r\n"],
)
def test_what_stands_before_the_declaration_does_not_matter(lead: bytes) -> None:
    whole = b'<?xml version="1.0"?><urlset><url><loc>http://a.example/1</loc></url></urlset>'
    assert [entry.url for entry in parse_sitemap(lead + whole, URL).entries] == [
        "http://a.example/1"
    ]


TWO = (
    b"<urlset><url><loc>http://a.example/1</loc></url>"
    b"<url><loc>http://a.example/%s</loc></url></urlset>"
)
DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>\n'


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(gzip.compress(DECLARED + TWO % b"n")),
        zlib.compress(DECLARED + TWO % b"n"),
        gzip.compress(zlib.compress(DECLARED + TWO % b"n")),
        (TWO % b"n")
        .upper()
        .replace(b"HTTP://A.EXAMPLE/", b"http://a.example/")
        .replace(b"/N", b"/n"),
        DECLARED + TWO % b"n\x0b",
        b"<?xml version='1.0'?>" + (TWO % b"n</loc><note>B\xe4r</note><loc>"),
        DECLARED
        + (TWO % b"n").replace(
            b"</url>", b"<note>\xc1\xe5\xeb\xfb\xe9 \xf4\xee\xed\xe0\xf0\xfc</note></url>"
        ),
        (DECLARED.replace(b"UTF-8", b"iso-8859-1") + TWO % b"n").replace(
            b"</url>", b"<a>\xe4</a></url>"
        ),
    ],
    ids=[
        "twice compressed",
        "zlib",
        "zlib in gzip",
        "capitals",
        "control",
        "undeclared",
        "declared wrong",
        "declared",
    ],
)
def test_nothing_is_lost_to_bytes_that_xml_does_not_allow(body: bytes) -> None:
    found = parse_sitemap(body, "http://a.example/sitemap.xml")
    assert [entry.url for entry in found.entries] == ["http://a.example/1", "http://a.example/n"]
    assert not found.truncated


def test_an_address_in_another_encoding_is_read() -> None:
    body = b"<?xml version='1.0'?>" + TWO % "Bär".encode("latin-1")
    found = parse_sitemap(body, "http://a.example/sitemap.xml")
    assert found.entries[1].url == "http://a.example/Bär"
