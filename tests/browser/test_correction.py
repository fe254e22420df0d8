"""A correction in a real browser: a field is clicked and assigned, the effect is previewed, saved
and undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from crawlmgr.frontier import hosts
from forums.models import Site
from tests.browser.test_journey import CHROMIUM, PASSWORD, login, page
from tests.forums.test_crawl import read_once
from tests.site.forum import ForumServer, LocalForum

__all__ = ["page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(boards=2, threads=8)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


@pytest.fixture
def desk(
    live_server: Any, server: ForumServer, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A desk with one visited forum and no workers, because only its pages are needed."""
    monkeypatch.setenv(
        "DJANGO_ALLOW_ASYNC_UNSAFE",
        "1",
        # Playwright keeps an event loop in the test's thread, in which Django refuses database
        # access by default
    )
    settings.CONTACT = "me@example.org"
    Site.objects.filter(pk=read_once(server).pk).update(name="The local forum")
    User.objects.create_superuser("admin", password=PASSWORD)
    return str(live_server.url)


def home(desk: str) -> str:
    """The address of the forum's page."""
    return f"{desk}/admin/forums/site/{Site.objects.get().pk}/"


# the fixture
def test_a_field_is_corrected_by_a_click_and_put_back(page: Any, desk: str) -> None:
    login(page, desk)
    page.goto(home(desk))
    page.click("a:has-text('Model')")
    page.click("a:has-text('Correct a page') >> nth=0")
    page.wait_for_selector("article.anatomy")
    views = page.locator("article.anatomy a.piece[title=views]").first
    shown = views.inner_text()
    views.click()
    page.wait_for_selector(".chips")
    page.click(".chips button:text-is('replies')")
    page.wait_for_selector("#effects")
    assert page.locator("#effects tbody tr").count() == 2 and f"→ {shown}" in page.inner_text(
        "#effects"
    )
    page.click("button:has-text('Save the correction') >> nth=0")
    page.wait_for_selector("text=The correction is saved as version 2 of the model.")
    assert page.is_visible("text=list of threads: replies")

    page.click("button:has-text('Undo')")
    page.wait_for_selector("text=The correction is undone.")
    page.click("tr:has-text('a correction') button:has-text('Restore this version') >> nth=-1")
    page.wait_for_selector(
        "text=The model now has the content of version 2, saved as a new version."
    )
    assert page.is_visible("text=list of threads: replies")

    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("model/", "correct/", "correct/?kind=thread", "edit/", "login/"):
        page.goto(home(desk) + path)
        assert (
            page.evaluate(
                "Math.max(document.documentElement.scrollWidth,"
                " document.querySelector('#content').scrollWidth)"
            )
            <= 390
        ), path
    assert page.wrong == []


# the fixture
def test_what_is_wrong_in_the_settings_is_told_beside_its_field(page: Any, desk: str) -> None:
    login(page, desk)
    page.goto(home(desk))
    page.click("a:has-text('Edit')")
    page.fill("#id_proxy", "nonsense")
    page.click("#content button:has-text('Save')")
    page.wait_for_selector(".wrong:has-text('not a proxy address')")
    page.fill("#id_proxy", "")
    page.fill("#id_name", "Another name")
    page.click("#content button:has-text('Save')")
    page.wait_for_selector("h1:has-text('Another name')")


# the fixture
def test_a_visit_is_started_and_a_list_walked_without_a_mouse(page: Any, desk: str) -> None:
    login(page, desk)
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/admin/forums/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('The local forum')")
    page.wait_for_selector(".plot[data-ready]")
    figures = page.evaluate(
        "JSON.parse(document.getElementById(document.querySelector('.plot[data-ready]')"
        ".dataset.chart).textContent)"
    )
    for what, begins in (("csv", b"\xef\xbb\xbf"), ("svg", b"<svg"), ("png", b"\x89PNG")):
        page.click("details.menu summary[title='Download'] >> nth=0")
        with page.expect_download() as taken:
            page.click(f"[data-take={what}] >> nth=0")
        content = Path(taken.value.path()).read_bytes()
        assert content.startswith(begins) and taken.value.suggested_filename.endswith(f".{what}")
        if what == "csv":
            assert content.decode("utf-8-sig").splitlines()[0].count(",") == len(figures["data"])
    page.keyboard.press("Control+k")
    page.keyboard.type("crawl now local")
    page.wait_for_selector("#palette li[aria-selected=true]:has-text('Crawl now: The local forum')")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=A visit has started. >> visible=true")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.wait_for_selector("#palette[open] li")
    page.keyboard.type("no such thing at all")
    page.wait_for_selector("text=Nothing matches.")
    assert page.wrong == []
