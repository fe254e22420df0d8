"""What stands after the end of the body or the document belongs to the page, for every reader."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawlmgr.web.pages.html import scan
from crawlmgr.web.pages.tree import parse
from deepweb.search_forms import read_forms
from forums.discovery.pages import FetchedPage, facts
from forums.reading import PageKind, PageReading, read_page
from forums.sites.login_pages import login_form

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
URL = "http://forum.example/t/1"
HEAD = (
    '<!DOCTYPE html><html lang="en"><head><title>Pier lamp</title></head><body><div class="crumbs">'
    '<a href="/">Home</a> &raquo; <a href="/board/4">Harbour</a></div><h1>Pier lamp</h1>'
)
POST = (
    '<article class="message" id="post-{0}"><a class="user" href="/member/{0}">Orla{0}</a>'
    ' <a href="#post-{0}">2026-03-0{0} 10:10</a><div class="text"><p>The old pier lamp was lit'
    " again last night and all boats came home safely. Entry {0}.</p></div></article>"
)
POSTS = [POST.format(number) for number in range(1, 9)]
ENDS = [
    pytest.param("</body></html>", id="both"),
    pytest.param("</body >\n", id="body"),
    pytest.param("</HTML\n><!-- cached -->", id="html"),
    pytest.param("</html></body></html>", id="again and again"),
    pytest.param(
        "</body></html><html><head><title>ad</title></head><body class=x>", id="another document"
    ),
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("at", [0, 4, 7])
def test_all_posts_of_a_thread_are_read(end: str, at: int) -> None:
    posts = "".join([*POSTS[:at], end, *POSTS[at:]])
    page = read_page(f"{HEAD}{posts}</body></html>", URL, NOW)
    assert page.kind is PageKind.thread and page.title == "Pier lamp"
    assert [record.text[-8:] for record in page.records] == [f"Entry {n}." for n in range(1, 9)]


@pytest.mark.parametrize("end", ENDS)
def test_what_is_open_stays_open(end: str) -> None:
    root = parse(f"<body><div id=a><p>one{end}<p>two</div><p>three")
    assert root is not None
    assert [p.getparent().get("id") for p in root.iter("p") if p.text != "Buy"] == ["a", "a", None]


@pytest.mark.parametrize("end", ENDS)
def test_links_and_forms_behind_the_end_are_found(end: str) -> None:
    html = (
        f'<head><base href="/other/"></head><body><p>Text{end}<a href="more">More</a>'
        '<form action="find"><input name="q"></form>'
        '<form method=post action=in><input name="user"><input type=password name="p"></form>'
    )
    assert [form.action for form in read_forms(html, URL)] == [
        "http://forum.example/other/find",
        "http://forum.example/other/in",
    ]
    login = login_form(html, URL)
    assert login is not None and login.action == "http://forum.example/other/in"
    told = facts(FetchedPage(URL, URL, html, NOW), PageReading(PageKind.other))
    for spare in ("", "<p>" * 7_000):  # as a tree and as a stream
        page = scan(html + spare, URL)
        assert [link.url for link in page.links] == ["http://forum.example/other/more"]
        assert "More" in page.text
    assert [link.url for link in told.links] == ["http://forum.example/other/more"]


@pytest.mark.parametrize("html", ["", " \n", "\x00", "<?xml version='1.0' encoding='utf-16'?>"])
def test_nothing_has_no_tree(html: str) -> None:
    assert parse(html) is None
    assert not read_page(html, URL, NOW).records
