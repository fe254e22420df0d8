"""Pagination recognised from addresses alone: bare numbers in paths, parameters in paths, flags
beside the page number."""

from __future__ import annotations

import pytest

from crawlmgr.web.next_page.pagination import find_pages
from tests.crawlmgr.web.next_page.test_pagination import SITE, read, tree

_BARE = (
    '<nav><a rel="prev" title="Previous page" href="{prev}">&lsaquo;</a><a rel="next" title="Next'
    ' page" href="{next}">&rsaquo;</a></nav>'
)


@pytest.mark.parametrize(
    ("url", "prev", "following", "follow"),
    [
        ("/t/some-title/19/", "/", "/t/some-title/19/2/", "/t/some-title/19/2/"),
        ("/t/some-title/19/2/", "/t/some-title/19/", "/t/some-title/19/3/", "/t/some-title/19/3/"),
        ("/t/some-title/19/", "/", "/t/other-title/20/", None),
        ("/t/some-title/19/", "/", "/t/some-title/19/7/", None),
        ("/entry/19/", "/entry/", "/entry/20/", None),  # another entry, not a page
    ],
)
def test_a_next_link_may_add_a_bare_number_to_the_path(
    url: str, prev: str, following: str, follow: str | None
) -> None:
    site = "http://forum.test"
    root = tree(f"<html><body>{_BARE.format(prev=prev, next=following)}</body></html>")
    assert find_pages(root, site + url).next == (follow and site + follow)


_ICONS = (
    '<nav><a title="Go to first page" href="{base}"><span class="icon">first_page</span></a><a'
    ' rel="prev" title="Go to previous page" href="{prev}"><span'
    ' class="icon">chevron_left</span></a><a rel="next" title="Go to next page"'
    ' href="{base}{n}/"><span class="icon">chevron_right</span></a></nav>'
)


@pytest.mark.parametrize("own", [2, 3, 10])
def test_the_first_page_may_be_linked_by_an_icon_only(own: int) -> None:
    base = "/t/some-title/19/"
    html = _ICONS.format(base=base, prev=base if own == 2 else f"{base}{own - 1}/", n=own + 1)
    root = tree(f"<html><body>{html}</body></html>")
    assert (
        find_pages(root, f"http://forum.test{base}{own}/").next
        == f"http://forum.test{base}{own + 1}/"
    )
    other = tree(f'<a rel="next" href="{base}{own + 1}/">&gt;</a>')
    assert (
        find_pages(other, f"http://forum.test{base}{own}/").next is None
    )  # no link shows that `base` without a number is a page


@pytest.mark.parametrize(
    ("url", "following", "leads"),
    [
        ("topic/10/", "/topic/10/?page=2&v=0", True),
        ("topic/10/?page=2&v=0", "/topic/10/?page=3&v=0", True),
        ("topic/10/", "/topic/10/?page=2&reply=17", False),  # the view of a single reply
        ("show.php", "/show.php?page=2&topic=1", False),  # another topic of the same script
    ],
)
def test_a_flag_beside_the_count_is_no_other_list(url: str, following: str, leads: bool) -> None:
    arrow = (
        '<ul class="pagination"><li><a href="#">Page 1 of 9</a></li><li><a'
        f' href="{following}">Next</a></li></ul>'
    )
    assert (read(url, arrow).next is not None) == leads


def test_parameters_named_in_the_path_count_like_a_query() -> None:
    base = "/questions/scope:all/sort:age-desc/"
    tags = "".join(f'<a href="/questions/scope:all/tags:t{n}/page:1/">t{n}</a>' for n in range(4))
    icon = '<a class="next-page" href="{base}page:{n}/" aria-label="next page"></a>'
    pager = (
        '<div class="pager"><a class="now">1</a> <a'
        f' href="{base}page:2/">2</a>{icon.format(base=base, n=2)}</div>'
    )
    first = read("questions/", tags + pager)
    assert (first.next, first.current) == (f"{SITE}{base[1:]}page:2/", 1)
    pager = (
        f'<div class="pager"><a href="{base}page:1/">1</a> <a class="now">2</a> <a'
        f' href="{base}page:3/">3</a></div>'
    )
    second = read(f"{base[1:]}page:2/", tags + pager)
    assert (second.next, second.current) == (f"{SITE}{base[1:]}page:3/", 2)


@pytest.mark.parametrize(
    ("url", "links", "follow"),
    [
        ("read/10", '<a href="/read/10/2">下一页</a>', "read/10/2"),
        ("read/10/2", '<a href="/read/10">上一页</a> <a href="/read/10/3">下一页</a>', "read/10/3"),
        ("read/10", '<a href="/read/11">下一页</a>', None),  # the thread after this one
        ("read/10", '<a href="/read/10/4">Next</a>', None),  # not the second page
        ("read/10/3", '<a href="/read/10">1</a> <a href="/read/10/2">Prev</a>', None),
    ],
)
def test_a_word_alone_leads_to_a_number_behind_the_id_of_a_thread(
    url: str, links: str, follow: str | None
) -> None:
    assert read(url, links).next == (follow and SITE + follow)
