"""Scanning a page for links, text and head: both parsers give the same result, and hostile pages
take little time."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawlmgr.web.pages import html as html_file
from crawlmgr.web.pages.html import (
    MAX_ANCHOR_CHARS,
    MAX_LINKS,
    Link,
    PageScan,
    links,
    page_title,
    scan,
)
from crawlmgr.web.pages.tree import MAX_CHARS
from crawlmgr.web.url import UrlError
from tests.growth import FACTOR, MAX_RATIO, growth

URL = "http://forum.example/a/list.php?f=1"


@pytest.fixture(params=["tree", "stream"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs each test with both parsers."""
    if request.param == "stream":
        monkeypatch.setattr(html_file, "_TREE_CHARS", -1)
    return str(request.param)


def urls(html: str, url: str = URL) -> list[str]:
    return [link.url for link in links(html, url)]


@pytest.mark.usefixtures("way")
class TestScan:
    def test_links_text_and_title(self) -> None:
        page = scan(
            "<title>A\n  list</title><h1>Threads</h1><p>See <a href='t.php?id=3'>the <b>first</b>\n"
            " one</a>, or not.",
            URL,
        )
        assert (
            page.title == "A list"
            and page.text == "Threads See the first one , or not."
            and page.base == URL
        )
        assert page.links == (Link("http://forum.example/a/t.php?id=3", "the first one"),)

    def test_what_is_no_link(self) -> None:
        html = """<a name=x>anchor</a><!-- <a href=/comment> --><script>document.write("\
<a href=/script>")</script>
        <textarea><a href=/textarea>shown as text</a></textarea><template><a href=/template>t</a>\
</template><title><a href=/title></title>
        <style><a href=/style></style><a href="#top">top</a><a href="mailto:a@b">m</a>\
<a href="javascript:go()">j</a><iframe src=/iframe></iframe>
        <a href="http://[::bad">b</a><a href="/yes">yes</a>"""
        assert urls(html) == ["http://forum.example/yes"]

    def test_scripts_styles_and_templates_are_no_text(self) -> None:
        page = scan(
            "<p>a<script>x()</script>b<style>p{}</style><template>hid<a"
            " href=/h>den</a></template><!-- c --><textarea>typed</textarea>",
            URL,
        )
        assert page.text == "a b typed" and page.links == ()

    def test_base_counts_wherever_it_stands_and_only_the_first(self) -> None:
        html = (
            "<a href=x>1</a><base target=_top><base href='/b/'><base href='/c/'><a href=y>2</a><a"
            " href='?q'>3</a>"
        )
        assert urls(html) == [f"http://forum.example/b/{end}" for end in ("x", "y", "?q")]
        assert scan(html, URL).base == "http://forum.example/b/"
        for bad in ("javascript:void(0)", "http://[bad", "data:text/html,x"):
            assert urls(f"<base href='{bad}'><a href=x>1</a>") == ["http://forum.example/a/x"]

    def test_alt_texts_are_part_of_the_anchor(self) -> None:
        html = (
            "<a href=/1><img src=i alt='An image'> of it</a><a href=/2><img src=i></a><a"
            " href=/3><img alt=''></a><img alt='no link'>"
        )
        page = scan(html, URL)
        assert [link.anchor for link in page.links] == [
            "An image of it",
            "",
            "",
        ] and "no link" not in page.text

    def test_links_and_refreshes_in_noscript_count_and_its_text_does_not(self) -> None:
        html = """<head><noscript><meta http-equiv=refresh content="0;url=/nojs"></noscript></head>
        <body>a<noscript>Turn scripts on! <a href=/plain>plain version</a></noscript><a href=/b>b\
</a>"""
        page = scan(html, URL, want_context=True)
        assert page.text == "a b" and page.refresh == "http://forum.example/nojs"
        assert [(link.url, link.anchor, page.context(link)) for link in page.links] == [
            ("http://forum.example/nojs", "", ""),
            ("http://forum.example/b", "b", "a b"),
            ("http://forum.example/plain", "plain version", ""),
        ]

    @pytest.mark.parametrize(
        "content",
        [
            "5; url=/next",
            "0;URL='/next'",
            '0; url = "/next"',
            "0;/next",
            "0 , url=/next",
            ".5 /next",
            "3; url=http://forum.example/next",
        ],
    )
    def test_a_meta_refresh_is_a_link(self, content: str) -> None:
        page = scan(
            (
                f"<meta http-equiv=Refresh content='{content}'>"
                if "'" not in content
                else f'<meta http-equiv=Refresh content="{content}">'
            ),
            URL,
        )
        assert page.refresh == "http://forum.example/next" and page.links == (
            Link(page.refresh, "", tag="meta"),
        )

    @pytest.mark.parametrize("spare", ["", "<p>" * 7_000])  # as a tree and as a stream
    @pytest.mark.parametrize(
        "html",
        [
            "<body><script>go()</script><noscript><META content='0;URL=\"/next\"'"
            " http-equiv='refresh'></noscript>",
            "<noscript><link rel=x href=y><meta http-equiv=refresh content='1 /next'></noscript>",
            "<noscript><p>Old<div><meta http-equiv=refresh content=0;../next></div></noscript>",
        ],
    )
    def test_a_refresh_for_readers_without_scripts_is_a_link(self, html: str, spare: str) -> None:
        assert [one.url for one in scan(html + spare, URL).links] == ["http://forum.example/next"]

    def test_the_header_refresh_comes_before_those_of_the_page(self) -> None:
        html = "<base href=/d/><meta http-equiv=refresh content='0;url=late'>"
        page = scan(html, URL, refresh="0; url=next")
        assert [link.url for link in page.links] == ["http://forum.example/d/next"]
        assert scan("<p>", URL, refresh="5").links == ()

    @pytest.mark.parametrize("content", ["300", "300;", "", "0;url=", "0;url=javascript:x()"])
    def test_a_refresh_of_the_page_itself_is_none(self, content: str) -> None:
        page = scan(f"<meta http-equiv=refresh content='{content}'>", URL)
        assert page.refresh == "" and page.links == ()

    def test_the_head(self) -> None:
        html = """<html lang=" zh-CN "><head><link rel=stylesheet href=/s.css>\
<link rel="shortlink Canonical" href="/c?id=1"><link rel=canonical href=/d>
        <meta name=ROBOTS content="NoIndex,nofollow"><meta name=robots content=noarchive>\
<meta name=description content=none></head>"""
        page = scan(html, URL)
        assert page.canonical == "http://forum.example/c?id=1" and page.lang == "zh-CN"
        assert page.robots_meta == {"noindex", "nofollow", "noarchive"}
        assert scan("<p>", URL).canonical == "" and scan("<p>", URL).robots_meta == frozenset()

    def test_rel_and_other_kinds_of_links(self) -> None:
        html = (
            "<a href=/a rel='ugc NoFollow'>x</a><a href=/n rel=next>y</a><map><area href=/m"
            " alt='the map'></map>"
        )
        assert [(link.rel, link.nofollow, link.tag, link.anchor) for link in links(html, URL)] == [
            ("ugc NoFollow", True, "a", "x"),
            ("next", False, "a", "y"),
            ("", False, "area", "the map"),
        ]
        assert links("<frameset><frame src=menu.html name=menu></frameset>", URL) == (
            Link("http://forum.example/a/menu.html", "menu", tag="frame"),
        )

    def test_titles(self) -> None:
        assert scan("<svg><title>drawing</title></svg><p>x", URL).title == ""
        assert scan("<title> a &amp; b </title><title>c</title>", URL).title == "a & b"
        assert page_title("<p>no title</p>") == "" and page_title("<title>t</title>") == "t"

    def test_context_is_the_text_around(self) -> None:
        before, after = "before " * 100, "after " * 100
        page = scan(
            f"<p>{before}<a href=/1>the anchor</a> {after}<a href=/2>the anchor</a> end",
            URL,
            want_context=True,
        )
        first, second = page.links
        assert page.context(first).startswith("before before") and page.context(first).endswith(
            "after after"
        )
        assert " the anchor " in page.context(first) and 360 < len(page.context(first)) <= 410
        assert page.context(second).endswith("after the anchor end")
        assert all(page.context(link) in page.text for link in page.links)
        plain = scan("<a href=/1>x</a>", URL)
        assert plain.context(plain.links[0]) == ""

    def test_context_without_spaces_is_cut_by_length(self) -> None:
        page = scan(f"<p>{'论' * 500}<a href=/1>主题</a>{'坛' * 500}", URL, want_context=True)
        assert page.context(page.links[0]) == "论" * 199 + " 主题 " + "坛" * 199

    def test_unclosed_and_crossed_elements(self) -> None:
        page = scan(
            "<a href=/1>one<a href=/2>two<b>bold</a> out</b><table><a href=/3>three<tr><td>cell",
            URL,
        )
        assert [(link.url[-2:], link.anchor) for link in page.links[:2]] == [
            ("/1", "one"),
            ("/2", "two bold"),
        ]
        assert page.links[2].url.endswith("/3") and "cell" in page.text

    @pytest.mark.parametrize(
        "html",
        [
            "",
            " ",
            "<",
            "<!--",
            "\0",
            "<a",
            "<a href",
            "<a href=",
            "plain",
            "<?xml version='1.0' encoding='gbk'?>",
            "\ud800",
        ],
    )
    def test_scraps_of_pages(self, html: str) -> None:
        page = scan(html, URL)
        assert page.links == () and page.title == ""

    def test_a_declared_charset_is_no_matter_any_more(self) -> None:
        page = scan(
            "<?xml version='1.0' encoding='gbk'?><meta charset=big5><title>论坛</title><a"
            " href=/题>主题</a>",
            URL,
            want_context=True,
        )
        assert (page.title, page.links[0].anchor, page.text) == ("论坛", "主题", "主题")

    def test_a_page_may_hold_any_character(self) -> None:
        page = scan("<p>a\x01b <a href='/\x01'>x\x01</a> c", URL, want_context=True)
        assert len(page.links) == 1 and page.text

    def test_anchors_and_links_are_bounded(self) -> None:
        page = scan(f"<a href=/1>{'x' * 5000}</a>", URL)
        assert len(page.links[0].anchor) == MAX_ANCHOR_CHARS and len(page.text) == 5000
        assert len(links("<a href=/1>x</a>" * (MAX_LINKS + 10), URL)) == MAX_LINKS

    def test_the_base_must_be_a_web_address(self) -> None:
        with pytest.raises(UrlError):
            scan("<p>", "about:blank")


PIECES = st.sampled_from(
    "<a href=/x> </a> <b> </b> <p> </p> <div> </div> <table> <tr> <td> </table> <template>"
    " </template> <noscript> </noscript> <svg> </svg> <style> </style> <script> </script>"
    " <textarea> </textarea> <title> </title> <base href=/b/> <img alt=i> <!-- --> text &amp; &lt;"
    " <li> <ul> <select> <option> </select> <form> <frameset> <frame src=f> <math> <mi> <iframe>"
    " </iframe> <noframes> <area href=/y> <html lang=x> <head> <body>".split()
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=60).map(" ".join), st.booleans())
@example("<svg><style><style>x</style></svg><noscript><noscript><a href=/x>", True)
def test_no_mixture_of_tags_breaks_it(html: str, want_context: bool) -> None:
    page = scan(html, URL, want_context)
    assert isinstance(page, PageScan) and page.text == " ".join(page.text.split())
    assert all(link.url.startswith("http://forum.example/") for link in page.links)


N = 200_000
Hostile = Callable[[int], str]
LARGE: dict[
    str, Hostile
] = {  # functions that repeat hostile markup n times; with n = N the page has several megabytes
    "nested": lambda n: "<div>" * (2 * n),
    "nested and ended": lambda n: "<div>" * n + "</div>" * n,
    "unclosed links": lambda n: "".join(f"<a href=/{k}>" for k in range(n)),
    "unclosed bold": lambda n: "".join(f"<b c={k}><p>" for k in range(n)),
    "stray ends": lambda n: "<b></p>" * n,
    "links in cells": lambda n: "<a href=/x><table><td>" * n,
    "ended links in cells": lambda n: ("<a href=/x><table><td>" + "x" * 50) * n,
    "attributes": lambda n: "<a " + " ".join(f"a{k}=1" for k in range(n)) + ">",
    "one long attribute": lambda n: f"<a href='{'x' * (25 * n)}'>x</a>",
    "comments": lambda n: "<!--" * n + "<!-- --!>" * n,
    "text": lambda n: "x &amp; " * n,
    "lists": lambda n: "<ul><li>" * n,
    "entities": lambda n: "&" * n + "&#x110000;" * n,
    "many links": lambda n: "".join(
        f"<li><a href='/t/{k}'>thread {k}</a></li>" for k in range(n // 2)
    ),
}
SMALL: dict[
    str, tuple[int, Hostile]
] = {  # expensive pages, just small enough to be parsed into a tree
    "crooked": (
        1400,
        lambda n: "".join(f"<b c={k}><p>" for k in range(n)) + "</i>" * (n * 2500 // 1400),
    ),
    "nested": (1400, lambda n: "<div>" * n + "</i>" * (n * 2500 // 1400)),
    "attributes of a small page": (
        15_000,
        lambda n: "<a " + " ".join(f"a{k}" for k in range(n)) + ">",
    ),
    "attributes of a larger page": (
        55_000,
        lambda n: "<a b='>' " + " ".join(f"a{k}" for k in range(n)) + ">",
    ),
    "many tags of attributes": (
        19,
        lambda n: ("<a " + " ".join(f"a{k}" for k in range(3_300)) + ">") * n,
    ),
    "crooked and larger": (
        1400,
        lambda n: (
            "".join(f"<b c={k}><p>" + "x" * 90 for k in range(n)) + "</i>" * (n * 2500 // 1400)
        ),
    ),
}


def scanned(html: str) -> None:
    page = scan(html, URL, want_context=True)
    assert len(page.links) <= MAX_LINKS
    assert (
        sum(len(page.context(link)) + len(link.anchor) for link in page.links) <= MAX_LINKS * 1_500
    )


@pytest.mark.parametrize("name", LARGE)
def test_hostile_pages_cost_no_more_than_their_length(name: str) -> None:
    assert growth(scanned, LARGE[name](N // FACTOR), LARGE[name](N)) < MAX_RATIO


@pytest.mark.parametrize("name", SMALL)
def test_a_page_too_dear_for_a_tree_is_read_another_way(name: str) -> None:
    size, page = SMALL[name]
    assert growth(scanned, page(size), page(FACTOR * size)) < MAX_RATIO


def test_a_long_page_of_few_tags_reads_as_a_short_one() -> None:
    page = (
        f"<title>t</title><script>{'f(1);' * 60_000}</script><img src='data:{'A' * 30_000}'><p>text"
        " <a href='/1'>one</a>"
    )
    assert scan(page, URL) == scan("<title>t</title><p>text <a href='/1'>one</a>", URL)


def test_a_page_read_as_a_stream_leaves_nothing_of_itself_behind() -> None:
    page = "<p>" + "text " * 100_000
    gc.collect()
    gc.disable()
    try:
        assert scan(page, URL).text.startswith("text text")
        assert not [one for one in gc.get_objects() if isinstance(one, html_file._Page)]
    finally:
        gc.enable()


def test_a_hundred_thousand_links_give_the_first() -> None:
    html = LARGE["many links"](N)
    page = scan(html, URL)
    assert len(html) > MAX_CHARS and page.is_cut
    assert page.links[0] == Link("http://forum.example/t/0", "thread 0")
    assert page.links[-1].url == f"http://forum.example/t/{MAX_LINKS - 1}"
    assert "thread 80000" in page.text
