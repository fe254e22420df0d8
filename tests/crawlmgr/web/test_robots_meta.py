"""Robots directives of a page in meta tags and headers."""

from __future__ import annotations

import pytest

from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.robots import PageDirectives, directives, header_words


def answer(html: str = "", *headers: str, kind: str = "text/html") -> FetchResponse:
    lines = tuple(("X-Robots-Tag", line) for line in headers)
    return FetchResponse(
        "http://a.example/",
        "http://a.example/",
        status=200,
        headers=lines,
        body=html.encode(),
        content_type=kind,
    )


@pytest.mark.parametrize(
    ("html", "headers", "told"),
    [
        ("", (), PageDirectives()),
        ('<meta name=robots content="noindex, follow">', (), PageDirectives(noindex=True)),
        ('<meta name="ROBOTS" content="none">', (), PageDirectives(noindex=True, nofollow=True)),
        ('<meta name=robots content="index">', ("noarchive",), PageDirectives(noarchive=True)),
        ("", ("googlebot: noindex", "crawlmgr: nofollow"), PageDirectives(nofollow=True)),
        (
            "",
            ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex",),
            PageDirectives(noindex=True),
        ),
        ('<meta name=description content="noindex">', (), PageDirectives()),
    ],
)
def test_wishes_of_a_page(html: str, headers: tuple[str, ...], told: PageDirectives) -> None:
    assert (
        directives(answer(f"<html><head>{html}</head><body></body></html>", *headers), "crawlmgr")
        == told
    )


def test_a_meta_tag_in_what_is_no_html_says_nothing() -> None:
    assert (
        directives(answer('<meta name=robots content="none">', kind="text/plain"), "crawlmgr")
        == PageDirectives()
    )


def test_words_for_another_robot_are_passed_over() -> None:
    assert header_words(["otherbot: none"], "crawlmgr") == frozenset()
