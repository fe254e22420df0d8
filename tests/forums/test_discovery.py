"""Discovery of a forum's structure from a sample of pages: its boards, their names, and the
addresses of further pages."""

from __future__ import annotations

import json
from datetime import datetime
from html import escape
from urllib.parse import unquote, urlsplit

import pytest

from forums.discovery import Explorer, FetchedPage, SiteModel
from forums.discovery.model import PageNumbering
from forums.reading import read_page
from tests.forums.little_forum import (
    ALL,
    BOARDS,
    NOW,
    SCHEMES,
    SITE,
    Board,
    Forum,
    explore,
    marked_reader,
    names,
)


def test_all_boards_of_an_index_by_name_and_no_others() -> None:
    forum = Forum()
    site, explorer = explore(forum)
    assert names(site) == ALL
    assert site.root == SITE + "/"
    by_name = {board.name: board for board in site.boards}
    assert by_name["Keyboards"].parent_url == by_name["Hardware & Networking"].url
    assert [board.name for board in site.boards if board.parent_url] == ["Keyboards"]
    assert [board.name for board in site.boards] == [
        "General",
        "Hardware & Networking",
        "Keyboards",
        "二手市场",
        "Help",
    ]
    assert by_name["General"].threads_seen == 20 and by_name["General"].per_page == 20
    assert by_name["General"].has_last_reply and by_name["General"].sort == "last_reply"
    assert len(forum.asked) == len(set(forum.asked)) <= 20
    assert not any("members" in url or "search" in url or "rss" in url for url in forum.asked)
    assert explorer.asked == len(forum.asked)


@pytest.mark.parametrize(
    "start",
    [
        "/forum/3-hardware-networking",
        "/forum/7-keyboards",
        "/topic/2005-about-no-2005-of-2",
        "/topic/7001-about-no-7001-of-7",
    ],
)
@pytest.mark.parametrize("front", ["index", "portal"])
def test_any_address_of_the_forum_leads_to_its_index(start: str, front: str) -> None:
    forum = Forum(front=front)
    site, _ = explore(forum, start)
    assert names(site) == ALL
    if front == "index":
        assert site.root == SITE + "/"


def test_a_portal_leads_to_the_forum() -> None:
    site, _ = explore(Forum(front="portal"))
    assert names(site) == ALL
    assert site.root == SITE + "/board/"


def test_a_list_inside_a_forum_without_crumbs() -> None:
    site, _ = explore(Forum(crumbs=False), "/forum/2-general")
    assert names(site) == ALL


@pytest.mark.parametrize("crumbs", [True, False])
def test_boards_of_one_mixed_list_stand_in_its_rows(crumbs: bool) -> None:
    site, _ = explore(Forum(front="mixed", crumbs=crumbs))
    assert names(site) == ALL
    assert site.root == SITE + "/"
    if crumbs:
        parents = {board.name for board in site.boards if board.parent_url}
        assert parents == {"Keyboards"}


def test_a_thread_of_a_forum_with_a_mixed_front_page() -> None:
    site, _ = explore(Forum(front="mixed"), "/topic/4003-about-no-4003-of-4")
    assert names(site) >= {"二手市场"}
    assert names(site) <= ALL


@pytest.mark.parametrize("front", ["index", "mixed"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_however_addresses_are_written(scheme: str, front: str) -> None:
    boards = [board for board in BOARDS if scheme != "slugs" or board.name != "二手市场"]
    forum = Forum(boards=boards, scheme=scheme, front=front)
    site, _ = explore(forum)
    assert names(site) == {board.name for board in boards}
    first, second = (
        unquote(urlsplit(forum.url_of(boards[0], n)).query or forum.url_of(boards[0], n))
        for n in (1, 2)
    )
    assert first != second and site.list_flip is not None and not site.list_flip.cursor
    assert site.shapes("list") and not set(site.shapes("list")) & set(site.shapes("thread"))
    from_thread, _ = explore(
        Forum(boards=boards, scheme=scheme, front=front),
        forum.url_of_thread(2005).replace("&amp;", "&"),
    )
    assert names(from_thread) == {board.name for board in boards}
    assert forum.asked == list(dict.fromkeys(forum.asked))


@pytest.mark.parametrize("front", ["index", "mixed"])
@pytest.mark.parametrize("scheme", ["slash", "phpbb", "discuz", "smf"])
def test_with_the_reader_of_the_product(scheme: str, front: str) -> None:
    site, explorer = explore(Forum(scheme=scheme, front=front, zone_hours=8), reader=read_page)
    assert names(site) == ALL
    assert explorer.asked <= 20
    assert site.timezone == "Etc/GMT-8"
    assert all(board.has_last_reply for board in site.boards if board.threads_seen > 1)


def test_an_empty_board_that_the_index_names_is_a_board() -> None:
    boards = [*BOARDS, Board(9, "Nothing yet", 0)]
    site, _ = explore(Forum(boards=boards))
    assert names(site) == ALL | {"Nothing yet"}
    assert next(board for board in site.boards if board.name == "Nothing yet").threads_seen == 0


def test_many_boards_stay_within_the_bounds() -> None:
    boards = [Board(n, f"Board {chr(65 + n % 26)}{n}", 5) for n in range(2, 122)]
    forum = Forum(boards=boards)
    site, explorer = explore(forum, most_pages=40)
    assert explorer.asked <= 40
    assert any("/topic/" in url for url in forum.asked)
    assert names(site) == {board.name for board in boards}


def test_pages_that_fail_are_not_asked_for_again() -> None:
    explorer = Explorer(SITE + "/", reader=marked_reader)
    explorer.feed(FetchedPage(SITE + "/", SITE + "/", Forum().page(SITE + "/")[1], NOW))
    first = explorer.wanted()[0]
    explorer.failed(first.url, "timeout")
    assert first.url not in {wanted.url for wanted in explorer.wanted()}
    dead = Explorer(SITE + "/", reader=marked_reader)
    dead.failed(SITE + "/", "dns")
    assert dead.done and dead.site().boards == ()


def test_a_board_that_guests_may_not_read_is_none() -> None:
    forum = Forum()
    explorer = Explorer(SITE + "/", reader=marked_reader)
    while wanted := explorer.wanted():
        status, html = forum.page(wanted[0].url)
        status = 403 if "/forum/5-" in wanted[0].url else status
        explorer.feed(FetchedPage(wanted[0].url, wanted[0].url, html, NOW, status))
    assert names(explorer.site()) == ALL - {"Help"}


def test_the_same_pages_lead_to_the_same_plan() -> None:
    _, explorer = explore(Forum())
    again = Explorer(SITE + "/", reader=marked_reader)
    forum = Forum()
    for url in explorer._pages:
        full = f"http://{url}" if url != "forum.example" else SITE + "/"
        again.feed(FetchedPage(full, full, forum.page(full)[1], NOW))
        again.feed(FetchedPage(full, full, "", NOW))  # reading the page again changes nothing
    assert again.done
    assert again.site().boards == explorer.site().boards


def test_the_zone_is_guessed_from_exact_beside_relative_times() -> None:
    site, _ = explore(Forum(zone_hours=8))
    assert (site.timezone, site.timezone_evidence) == ("Etc/GMT-8", "pairs")
    newest = site.boards[0].rows[0]["last_reply"]
    assert datetime.fromisoformat(newest) <= NOW
    told = Explorer(SITE + "/", timezone="Asia/Shanghai", reader=marked_reader)
    assert told.site().timezone == "Asia/Shanghai"


def test_the_model_tells_how_addresses_are_written() -> None:
    site, _ = explore(Forum())
    assert site.list_flip == PageNumbering("?page={n}", 1, 1)
    assert site.thread_flip == PageNumbering("?page={n}", 1, 1)
    assert site.shapes("list") == ("forum.example/forum/#-*",)
    assert site.shapes("thread") == ("forum.example/topic/#-*",)
    assert site.posts_per_page == 20
    assert site.name == "Little Forum"
    assert site.day_first is None


def test_the_model_survives_json() -> None:
    site, _ = explore(Forum())
    assert SiteModel.from_json(json.loads(json.dumps(site.to_json()))) == site
    with pytest.raises(ValueError, match="version"):
        SiteModel.from_json({**site.to_json(), "version": 99})


FRAMES = "<frameset rows='80,*'><frame src=/top><frame src='{}'></frameset>"


@pytest.mark.parametrize(
    ("pages", "refresh"),
    [
        pytest.param({"/start": FRAMES.format("/")}, "", id="frames"),
        pytest.param(
            {"/start": FRAMES.format("/in"), "/in": FRAMES.format("/")}, "", id="frames in frames"
        ),
        pytest.param({"/start": "<p>moved"}, "0; url=/", id="header"),
        pytest.param(
            {
                "/start": "<script></script><noscript><meta http-equiv=refresh content='0;url=/in'>"
                "</noscript>",
                "/in": "<meta content='2; URL=../' http-equiv=REFRESH>Welcome",
            },
            "",
            id="refresh for readers without scripts, then another one",
        ),
        pytest.param(
            {"/start": "<meta http-equiv=refresh content=0;/start>" + FRAMES.format("/")},
            "",
            id="refresh of itself",
        ),
    ],
)
def test_a_start_page_that_only_leads_on_is_followed(pages: dict[str, str], refresh: str) -> None:
    forum = Forum()
    explorer = Explorer(SITE + "/start", reader=marked_reader)
    while wanted := explorer.wanted():
        url = wanted[0].url
        path = url.removeprefix(SITE)
        status, html = (200, pages[path]) if path in pages else forum.page(url)
        told = refresh if path == "/start" else ""
        explorer.feed(FetchedPage(url, url, html, NOW, status, told))
    assert names(explorer.site()) == ALL


def test_pages_that_lead_to_each_other_end() -> None:
    explorer = Explorer(SITE + "/0", reader=marked_reader)
    asked = 0
    while wanted := explorer.wanted():
        asked += 1
        assert asked < 40
        url = wanted[0].url
        number = url.rpartition("/")[2]
        html = (
            f"<meta http-equiv=refresh content='0;/{int(number) + 1 if number.isdigit() else 0}'>"
        )
        explorer.feed(FetchedPage(url, url, html, NOW))
    assert not explorer.site().boards


@pytest.mark.parametrize("scheme", ["discuz", "phpbb", "xenforo", "smf"])
@pytest.mark.parametrize(
    "page",
    [
        "<pre>{0}</pre><a href='/help'>help</a>",
        "<nav><a href='/members'>All</a> {0}</nav><p>Welcome</p>",
        "<table><tr><th>Vem<tr><td>{0}</table>",
    ],
)
def test_boards_that_only_a_plain_page_links_are_found_by_what_is_behind(
    scheme: str, page: str
) -> None:
    forum = Forum(scheme=scheme, crumbs=False)
    links = " ".join(
        f'<a href="{forum.url_of(board, 1)}">{escape(board.name)}</a>' for board in forum.boards
    )
    # Nothing else of the site leads to the boards.
    forum.routes.pop("/")
    explorer = Explorer(SITE + "/plain", reader=marked_reader)
    while wanted := explorer.wanted():
        url = wanted[0].url
        status, html = (200, page.format(links)) if url == SITE + "/plain" else forum.page(url)
        explorer.feed(FetchedPage(url, url, html, NOW, status))
    assert names(explorer.site()) == ALL
    assert explorer.asked < 60


def test_a_plain_page_without_a_forum_costs_few_requests() -> None:
    explorer = Explorer(SITE + "/plain", reader=marked_reader)
    page = "".join(f'<a href="/{word}/{n}">a {word}</a>' for n in range(9) for word in "abcdefgh")
    while wanted := explorer.wanted():
        explorer.feed(FetchedPage(wanted[0].url, wanted[0].url, page, NOW))
    assert not explorer.site().boards and explorer.asked <= 12


@pytest.mark.parametrize("scheme", ["discuz", "phpbb", "xenforo", "smf"])
def test_boards_in_the_menu_of_a_list_of_all_threads(scheme: str) -> None:
    forum = Forum(scheme=scheme, crumbs=False)
    links = " ".join(
        f'<a href="{forum.url_of(board, 1)}">{escape(board.name)}</a>' for board in forum.boards
    )
    # The rows do not name their boards.
    threads = [thread for board in forum.boards for thread in forum.threads_of(board)[:3]]
    rows = "".join(forum.row(forum.boards[0], thread) for thread in threads)
    page = f'<nav>{links}</nav><main data-kind="threadlist"><h1>Active</h1>{rows}</main>'
    forum.routes.pop("/")
    explorer = Explorer(SITE + "/", reader=marked_reader)
    while wanted := explorer.wanted():
        url = wanted[0].url
        status, html = (200, page) if url == SITE + "/" else forum.page(url)
        explorer.feed(FetchedPage(url, url, html, NOW, status))
    assert names(explorer.site()) == ALL
    assert explorer.asked < 60
