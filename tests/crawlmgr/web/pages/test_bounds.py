"""Pathological markup is truncated before it is parsed; ordinary markup stays unchanged."""

from __future__ import annotations

import pytest

from crawlmgr.web.pages.tree import MAX_CHARS, MAX_OPEN, MAX_TAGS, bounded_markup


def test_ordinary_pages_stay_as_they_are() -> None:
    rows = "<table>" + "<tr><td>a<td><a href='/x'>b</a><br>" * 9_000 + "</table>"
    lists = "<ul>" + "<li>one<p>two" * 9_000 + "</ul>"
    pictures = f"<p><img src='data:image/png;base64,{'A' * 90_000}=='></p>" * 3
    for html in ("", "<p>one</p>", rows, lists, pictures):
        assert bounded_markup(html) == (html, False)


@pytest.mark.parametrize("tag", ["div", "a", "b", "font", "table", "ul", "x-y"])
def test_depth_ends(tag: str) -> None:
    html, cut = bounded_markup(f"<{tag}>x" * 40_000)
    assert cut and html.count("<") == MAX_OPEN + 1
    again, cut = bounded_markup(f"<{tag}>x</{tag}>" * 40_000)
    assert not cut and again.count("</") == 40_000


def test_length_number_of_tags_and_of_attributes_end() -> None:
    assert len(bounded_markup("x" * (MAX_CHARS + 5))[0]) == MAX_CHARS
    html, cut = bounded_markup("<i></i>" * MAX_TAGS)
    assert cut and html.count("<") == MAX_TAGS
    html, cut = bounded_markup("<p>before</p><p " + "a=1 " * 9_000 + ">inside</p><p>after</p>")
    assert cut and html == "<p>before</p></p><p>after</p>"
