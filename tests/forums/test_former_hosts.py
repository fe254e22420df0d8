"""A forum whose lists still name a host that redirects to it."""

from __future__ import annotations

import re

import pytest

from forums.discovery import Explorer, ExplorerSettings, FetchedPage, SiteModel
from forums.reading import PageKind, read_page
from tests.forums.little_forum import NOW, SITE, Forum

OLD = "http://old-forum.example"
LISTED = re.compile(r'href="(/[^"]*|http://forum\.example/[^"]*)"')


def with_old(html: str, written: str) -> str:
    """Every second link as `written` by the old host."""
    count = iter(range(10**6))

    def change(found: re.Match[str]) -> str:
        path = found[1].removeprefix(SITE)
        return f'href="{written}{path}"' if next(count) % 2 else found[0]

    return LISTED.sub(change, html)


def explored(
    start: str, written: str, redirects: bool = True
) -> tuple[SiteModel, dict[str, FetchedPage]]:
    forum, fetched = Forum(), {}
    explorer = Explorer(start, ExplorerSettings())
    for _ in range(200):
        wanted = explorer.wanted()
        if not wanted:
            break
        url = wanted[0].url
        own = re.sub(f"{OLD}(?::80)?", SITE, url, flags=re.I)
        status, html = forum.page(own)
        final = own if redirects or url == own else url
        page = FetchedPage(url, final, with_old(html, written), NOW, status)
        fetched[url] = page
        explorer.feed(page)
    return explorer.site(), fetched


def rows(site: SiteModel, fetched: dict[str, FetchedPage]) -> tuple[set[str], set[str]]:
    """Hosts of the threads on the boards' lists, and of the rows left out."""
    taken, left = set(), set()
    for board in site.boards:
        page = fetched.get(board.url)
        if page is None:
            continue
        reading = read_page(
            page.html,
            page.final_url,
            NOW,
            expect=PageKind.threadlist,
            former=frozenset(site.former_hosts),
        )
        taken |= {re.sub(r"(?<=\w)/.*", "", record.url) for record in reading.records}
        left |= {re.sub(r"(?<=\w)/.*", "", url) for url in reading.elsewhere}
    return taken, left


@pytest.mark.parametrize("written", [OLD, "//old-forum.example", "HTTP://Old-Forum.example:80"])
@pytest.mark.parametrize("start", [f"{OLD}/", f"{SITE}/"])
def test_rows_on_a_host_that_redirects_to_the_site_are_its_own(start: str, written: str) -> None:
    site, fetched = explored(start, written)
    assert site.former_hosts == ("old-forum.example",)
    assert len(site.boards) >= 3 and all(board.url.startswith(SITE) for board in site.boards)
    assert rows(site, fetched) == ({SITE}, set())
    assert SiteModel.from_json(site.to_json()) == site


def test_a_host_of_others_stays_one() -> None:
    site, fetched = explored(f"{SITE}/", OLD, redirects=False)
    assert site.former_hosts == () and all(board.url.startswith(SITE) for board in site.boards)
    taken, left = rows(site, fetched)
    assert SITE in taken and OLD in taken | left


def test_a_short_link_to_the_forum_is_no_former_host() -> None:
    explorer = Explorer("http://short.example/x1")
    status, html = Forum().page(f"{SITE}/")
    explorer.feed(FetchedPage("http://short.example/x1", f"{SITE}/", html, NOW, status))
    assert explorer.site().former_hosts == ()
