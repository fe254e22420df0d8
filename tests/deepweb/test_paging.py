"""The link to the next page of results, in all the forms in which sites give it."""

from __future__ import annotations

import pytest

from deepweb.paging import Shown, next_page
from deepweb.search_forms import Form, parse_page, read_forms

BOX = "<form action=/s><input name=q><input type=submit></form>"


def follow(
    body: str, url: str, form: Form | None = None, charset: str = "utf-8", **more: object
) -> str | None:
    html = f"<html><body>{BOX}{body}</body></html>"
    root = parse_page(html)
    assert root is not None
    bound = {"q": "river"} if charset == "utf-8" else {"q": "春"}
    options = {"number": 1, "size": 10, "may_post": False, "charset": charset, **more}
    found = next_page(  # type: ignore[arg-type]
        root, url, form or read_forms(html, url)[0], bound, **options
    )
    return (
        None
        if found is None
        else found.submission.url + (f" {found.submission.body}" if found.submission.body else "")
    )


@pytest.mark.parametrize(
    ("body", "url", "wanted"),
    [
        (
            "<a href='/s?q=river&from=21'>More results</a>",
            "http://x.org/s?q=river&go.x=1&go.y=1",
            "http://x.org/s?q=river&from=21",
        ),
        (
            "<a href='/s?q=river&a=1&p=2'>2</a>",
            "http://x.org/s?q=river",
            "http://x.org/s?q=river&a=1&p=2",
        ),
        (
            "<a class=next href=/search/river/2>Older</a>",
            "http://x.org/search/river/1",
            "http://x.org/search/river/2",
        ),
        (
            "<a href=/search/river/page/2>Next</a>",
            "http://x.org/search/river",
            "http://x.org/search/river/page/2",
        ),
        ("<a href=/search/river/2>Next</a>", "http://x.org/search/river/3", None),
        ("<a href=/news/7>Next</a>", "http://x.org/search/river/1", None),
        ("<a href='//other.org/s?q=river&from=21'>Next</a>", "http://x.org/s?q=river", None),
        ("<a href='/item?id=9&q=river'>Red house</a>", "http://x.org/s?q=river", None),
    ],
)
def test_links_that_lead_on(body: str, url: str, wanted: str | None) -> None:
    assert follow(body, url) == wanted


@pytest.mark.parametrize(
    ("body", "url", "wanted"),
    [
        (
            "<a rel=next href='/s?x=river&p=2'>Next</a>",
            "http://x.org/s",
            "http://x.org/s?x=river&p=2",
        ),
        (
            "<a href='/s?from=50&by=name'>next &gt;&gt;</a>",
            "http://x.org/s?q=&by=name&go=Search",
            "http://x.org/s?from=50&by=name",
        ),
        (
            "<a href='/s?start=20'>下一页</a>",
            "http://x.org/s?q=&start=10&all=1",
            "http://x.org/s?start=20",
        ),
        ("<a href='/s?start=0'>next</a>", "http://x.org/s?q=&start=10", None),
        ("<a href='/s?p=2'>next</a> <a href='/s?p=3'>next</a>", "http://x.org/s?q=", None),
        ("<a rel=next href='/news?p=2'>Next</a>", "http://x.org/s?q=", None),
    ],
)
def test_a_next_page_that_does_not_repeat_the_query(
    body: str, url: str, wanted: str | None
) -> None:
    assert follow(body, url) == wanted


def test_the_record_that_follows_is_no_next_page() -> None:
    body, shown = "<a href='/s?{}=5'>Next issue: ring</a>", frozenset(("http://x.org/s?nr=5",))
    of_record = Shown(10, 0, shown)
    assert follow(body.format("nr"), "http://x.org/s?q=", shown=of_record) is None
    assert follow(body.format("w"), "http://x.org/s?q=", shown=of_record) == "http://x.org/s?w=5"


@pytest.mark.parametrize(
    ("body", "url", "wanted"),
    [
        ("<a href='/s?q=river&at=2'>11–20</a>", "http://x.org/s?q=river", "q=river&at=2"),
        ("<a href='/s?q=river&b=10'>…</a>", "http://x.org/s?q=river", "q=river&b=10"),
        ("<a href='/s?row=11'>11</a> <a href='/s?row=21'>21</a>", "http://x.org/s", "row=11"),
        ("<a href='/s?q=river&n=0'>Show all</a>", "http://x.org/s?q=river", "q=river&n=0"),
        ("<a href='/s?q=river&size=a'>alle 34</a>", "http://x.org/s?q=river", "q=river&size=a"),
        ("<a href='/s?q=river&year=1999'>1999</a>", "http://x.org/s?q=river", ""),
        ("<a href='/s?q=stone&at=2'>stone</a>", "http://x.org/s?q=river", ""),
        ("<a href='/s?q=river&at=2&nr=7'>7</a>", "http://x.org/s?q=river", ""),
    ],
)
def test_the_rest_of_a_stated_total_is_sought(body: str, url: str, wanted: str) -> None:
    assert follow(body, url, shown=Shown(10, 34)) == (
        f"http://x.org/s?{wanted}" if wanted else None
    )
    assert follow(body, url, shown=Shown(10, 10)) is None


def test_a_form_that_only_chooses_an_action_does_not_lead_on() -> None:
    body = (
        "<form action=/s><input type=hidden name=id value=start><select name=do><option"
        " value=edit>Edit</select><button type=submit>&gt;</button></form>"
    )
    assert follow(body, "http://x.org/s?q=river") is None


def test_a_pager_in_a_page_wide_form_sends_no_login() -> None:
    body = """<form method=post action=/s.aspx><input type=hidden name=__VIEWSTATE value=abc>
        <input name=q value=river><input name=user value=guest><input type=password name=word>
        <input type=email name=news><input type=submit name=go value=Search>
        <a href="javascript:__doPostBack('list','Page$2')">2</a></form>"""
    sent = follow(body, "http://x.org/s.aspx", may_post=True)
    assert sent == (
        "http://x.org/s.aspx __VIEWSTATE=abc&q=river&__EVENTTARGET=list&__EVENTARGUMENT=Page%242"
    )


def test_a_query_in_the_encoding_of_the_site_is_recognised() -> None:
    body = "<a href='/s?q=%B4%BA&page=2'>下一页</a>"
    assert (
        follow(body, "http://x.org/s?q=%B4%BA&lx=", charset="gbk")
        == "http://x.org/s?q=%B4%BA&page=2"
    )
    assert follow(body, "http://x.org/s?q=%B4%BA&lx=", charset="no-such-encoding") in (
        None,
        "http://x.org/s?q=%B4%BA&page=2",
    )


def test_buttons_are_pressed_where_the_form_may_be_sent() -> None:
    body = (
        "<form method=post action=/s><input type=hidden name=state value=ab12><input type=submit"
        " name=pg value=2></form>"
    )
    assert follow(body, "http://x.org/s", may_post=False) is None
    assert follow(body, "http://x.org/s", may_post=True) == "http://x.org/s state=ab12&pg=2"
