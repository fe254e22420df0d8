"""Tests of discovery: the patterns (shapes) of addresses, whether lists count posts or replies, and
sites that no longer match their model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from forums.discovery import FetchedPage, recheck
from forums.discovery.evidence import counts_posts
from forums.discovery.pages import PageFacts, facts
from forums.discovery.shapes import is_specific, never_requested, page_key, shape
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord, read_page
from tests.forums.little_forum import NOW, SITE, Forum, explore, marked_reader, names
from tests.growth import FACTOR, MAX_RATIO, growth


def looked(forum: Forum, url: str) -> PageFacts:
    _, html = forum.page(SITE + url)
    return facts(
        FetchedPage(SITE + url, SITE + url, html, NOW), marked_reader(html, SITE + url, NOW)
    )


def test_a_site_that_stays_as_it_was_has_not_changed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    pages = [
        ("threadlist", looked(forum, "/forum/2-general?page=2")),
        ("thread", looked(forum, "/topic/2030-about-no-2030-of-2")),
    ]
    assert recheck(site, pages) is None
    assert recheck(site, []) is None


def test_another_theme_is_noticed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    forum.theme = "night"
    change = recheck(site, [("threadlist", looked(forum, "/forum/2-general"))])
    assert change is not None
    assert change.reasons == ("marks",) and not change.broken
    relearnt, _ = explore(forum)
    assert recheck(relearnt, [("threadlist", looked(forum, "/forum/2-general"))]) is None
    assert names(relearnt) == names(site)


def test_lists_that_no_longer_read_are_noticed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    page = looked(forum, "/forum/2-general")
    unread = replace(page, reading=PageReading(PageKind.other))
    change = recheck(site, [("threadlist", unread), ("threadlist", unread)])
    assert change is not None and change.reasons == ("kind",) and change.broken


def test_fields_that_vanish_and_addresses_written_otherwise_are_noticed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    page = looked(forum, "/forum/2-general")
    rows = page.reading.records
    blind = replace(
        page,
        reading=replace(page.reading, records=tuple(replace(r, last_reply=None) for r in rows)),
    )  # type: ignore[type-var]
    change = recheck(site, [("threadlist", blind), ("threadlist", blind)])
    assert (
        change is not None
        and change.reasons == ("roles",)
        and change.roles == ("last_reply",)
        and not change.broken
    )
    nameless = replace(
        page, reading=replace(page.reading, records=tuple(replace(r, title="") for r in rows))
    )  # type: ignore[type-var, call-arg]
    change = recheck(site, [("threadlist", nameless), ("threadlist", nameless)])
    assert change is not None and "title" in change.roles and change.broken
    moved = tuple(  # type: ignore[type-var, call-arg]
        replace(r, url=f"{SITE}/t.php?id={n}") for n, r in enumerate(rows)
    )
    change = recheck(
        site, [("threadlist", replace(page, reading=replace(page.reading, records=moved)))]
    )  # type: ignore[arg-type]
    assert change is not None and change.reasons == ("addresses",)


def test_threads_of_an_opening_post_alone_without_an_address_of_its_own_are_no_other_layout() -> (
    None
):
    forum = Forum()
    site, _ = explore(forum)
    layouts = tuple(
        replace(one, roles=(*one.roles, "url")) if one.kind == "thread" else one
        for one in site.layouts
    )
    site = replace(site, layouts=layouts)
    page = looked(forum, "/topic/2030-about-no-2030-of-2")
    opening = replace(page.reading.records[0], url=None)  # type: ignore[type-var, call-arg]
    short = replace(  # type: ignore[arg-type]
        page, reading=replace(page.reading, records=(opening,), next=None)
    )
    assert recheck(site, [("thread", short), ("thread", short)]) is None
    cut = replace(
        page, reading=replace(page.reading, records=(opening,), next=f"{SITE}/topic/2030?page=2")
    )  # type: ignore[arg-type]
    change = recheck(site, [("thread", cut), ("thread", cut)])
    assert change is not None and change.reasons == (
        "rows",
    )  # a page with a next one must have more posts


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("http://www.a.org/forum/12-my-board/?page=2", "a.org/forum/#-*"),
        ("http://a.org/viewforum.php?f=3&start=25", "a.org/viewforum.php?f=#"),
        ("http://a.org/forum-36-1.html", "a.org/forum-#-#.html"),
        ("http://a.org/index.php?forums/name.17/", "a.org/index.php/forums/*.#"),
        ("http://a.org/index.php?board=18.20", "a.org/index.php?board=#.#"),
        ("http://a.org/forum.php?mod=forumdisplay&fid=3", "a.org/forum.php?fid=#&mod=forumdisplay"),
        ("http://a.org/f?kw=%E7%88%AC%E8%99%AB", "a.org/f?kw=*"),
        ("http://a.org/c/off-topic/12", "a.org/c/*/#"),
    ],
)
def test_shapes_of_addresses(url: str, form: str) -> None:
    assert shape(url) == form


def test_addresses_that_are_not_asked_for() -> None:
    for url in (
        "/login",
        "/ucp.php?mode=login",
        "/user/7",
        "/search?q=x",
        "/feed.xml",
        "/members/anna.1/",
        "/a.png",
    ):
        assert never_requested(SITE + url), url
    for url in (
        "/forum/5-help",
        "/c/help",
        "/viewforum.php?f=3",
        "/forum.php?mod=forumdisplay&fid=3",
        "/categories/shop",
        "/",
    ):
        assert not never_requested(SITE + url), url
    assert is_specific(shape(SITE + "/forum/5-help")) and not is_specific(shape(SITE + "/help"))
    assert page_key("http://www.a.org/x/?b=1&a=2#c") == page_key("https://a.org/x/?a=2&b=1")


@pytest.mark.parametrize(
    ("page", "size"),
    [
        (lambda size: "<div class=path>" * size, 50_000),
        (
            lambda size: "".join(f'<a href="/x{n}" class="c{n}">{n}</a>' for n in range(size)),
            60_000,
        ),
        (lambda size: "<p title='2026-11-21 04:00'>5 minutes ago</p>" * size, 20_000),
        (lambda size: "\x00\x01<<<>>>&&&"[:size], 12),
    ],
)
def test_hostile_pages_cost_no_more_than_their_length(
    page: Callable[[int], str], size: int
) -> None:
    def look(html: str) -> None:
        found = facts(FetchedPage(SITE, SITE, html, NOW), PageReading(PageKind.other))
        assert len(found.links) <= 3000 and len(found.pairs) <= 100 and len(found.marks) <= 80

    assert growth(look, page(size // FACTOR), page(size)) < MAX_RATIO


@pytest.mark.parametrize(("shown_beside", "told"), [(0, False), (1, True)])
def test_what_the_lists_count_is_learned_from_whole_threads(shown_beside: int, told: bool) -> None:
    def page(url: str, kind: PageKind, records: tuple, **more: object) -> PageFacts:
        return PageFacts(  # type: ignore[arg-type]
            url, url, url, 200, NOW, PageReading(kind, records, **more)
        )

    posts = {7: 3, 8: 5, 9: 30}
    listed = tuple(
        ThreadRecord(f"{SITE}/topic/{key}-x", "x", replies=number - 1 + shown_beside)
        for key, number in posts.items()
    )
    threads = [
        page(
            f"{SITE}/topic/{key}-x",
            PageKind.thread,
            tuple(PostRecord("anna", None, "text") for _ in range(min(number, 10))),
        )
        for key, number in posts.items()
    ]
    lists = page(f"{SITE}/forum/2", PageKind.threadlist, listed)
    assert counts_posts([lists, *threads]) is told
    assert (
        counts_posts([lists, threads[0], threads[2]]) is None
    )  # one thread is too few, and one thread is incomplete
    assert counts_posts([lists]) is None


@pytest.mark.parametrize(("known", "replies"), [(None, 5), (True, 4), (False, 5)])
def test_what_the_lists_count_is_kept_to(known: bool | None, replies: int) -> None:
    rows = "".join(
        f'<tr><td><a href="/topic/{key}-thread">Thread number {key}</a></td><td><a'
        f' href="/user/anna">anna</a></td><td>{key}</td><td>12 Mar 2026 10:{key}0</td></tr>'
        for key in (5, 4, 3, 2)
    )
    html = (
        "<h1>Pumps</h1><table><tr><th>Topic</th><th>By</th><th>Answers or"
        f" so</th><th>Last</th></tr>{rows}</table>"
    )
    reading = read_page(html, f"{SITE}/forum/2-pumps", NOW, counts_posts=known)
    first = reading.records[0]
    assert (
        isinstance(first, ThreadRecord)
        and first.replies == replies
        and (known is None or first.counts_posts is known)
    )
