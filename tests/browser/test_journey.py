"""First use in a real browser: first login, a forum is added, its run is watched, stopped and
exported; the desk turns dark and Chinese."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import CHROMIUM, LONGEST
from tests.serving import Serve
from tests.site.forum import ForumServer, LocalForum

PASSWORD = "first-password-of-all"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def forum() -> Iterator[ForumServer]:
    """A forum that responds slowly, so that its first crawl can be watched and stopped."""
    with ForumServer(LocalForum(boards=3, threads=30, delay_seconds=0.1)) as server:
        yield server


@pytest.fixture
def desk(installed: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """Starts a separate web server with workers; yields its address."""
    serve = Serve({**installed, "CRAWLMGR_ADMIN_PASSWORD": PASSWORD}, tmp_path / "log")
    serve.start()
    try:
        assert serve.healthy(), serve.told()
        yield serve.address().rstrip("/")
    finally:
        serve.end(signal.SIGTERM)


@pytest.fixture
def page(browser: Any, desk: str) -> Iterator[Any]:
    """A desktop window that records errors of the page and requests to other hosts."""
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    opened.set_default_timeout(LONGEST)
    opened.wrong = []
    opened.on("pageerror", lambda error: opened.wrong.append(str(error)))
    opened.on(
        "console", lambda line: opened.wrong.append(line.text) if line.type == "error" else None
    )
    opened.on(
        "request",
        lambda asked: (
            None
            if asked.url.startswith((desk, f"blob:{desk}", "data:"))
            else opened.wrong.append(asked.url)
        ),
    )
    yield opened
    opened.close()


def login(page: Any, desk: str) -> None:
    page.goto(f"{desk}/admin/")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", PASSWORD)
    page.click("#login-form button[type=submit]")
    page.wait_for_url(f"{desk}/admin/")


def add_forum(page: Any, forum: ForumServer) -> None:
    """Enters the forum's address and waits, without a manual reload, until its boards can be
    selected."""
    page.click("text=Add forum >> nth=0")
    page.fill("#id_address", forum.url)
    page.fill("#id_delay", "0")
    page.check("#id_private")
    page.click("text=Inspect the forum")
    page.wait_for_selector("[data-live]")
    page.wait_for_selector("#id_timezone")


def test_first_login_add_a_forum_watch_its_run_stop_it_export_turn_dark(
    page: Any, desk: str, forum: ForumServer
) -> None:
    login(page, desk)
    assert page.is_visible("text=No forum yet")
    page.wait_for_function("document.querySelector('[data-part=light]')?.classList.contains('ok')")

    add_forum(page, forum)
    boards = page.locator("input[name=board]")
    assert boards.count() == 3 and page.locator("input[name=board]:checked").count() == 3
    page.locator("[data-tick-all]").uncheck()
    assert page.locator("input[name=board]:checked").count() == 0
    page.locator("[data-tick-all]").check()
    page.fill("#id_name", "The local forum")
    page.fill("#id_history", "400")
    forum.forum.delay_seconds = (
        1.5  # slow enough that the visit can be watched and stopped on a slow machine too
    )
    page.click("main button:has-text('Save'), #content button:has-text('Save')")
    page.wait_for_selector("h1:has-text('The local forum')")

    page.click("a:has-text('The visit has read')")
    page.wait_for_selector("#run-story")
    pages = page.locator("dl.facts dd").first
    before = int(pages.inner_text().replace(",", ""))
    page.evaluate("window.opened = true")
    page.wait_for_function(
        f"Number(document.querySelector('dl.facts dd')?.innerText.replace(',', '')) > {before}"
    )
    assert page.evaluate("window.opened"), "the page was loaded anew"
    page.wait_for_selector(
        "dl.facts div:has(dt:text-is('New')) dd:not(:text-is('0'))"
    )  # so that the charts are not empty

    page.on("dialog", lambda dialog: dialog.accept())
    page.click("button:has-text('Stop')")
    page.wait_for_selector("#run-story:has-text('Ended: stopped by a user')")
    assert page.locator("button:has-text('Stop')").count() == 0

    page.click("a:has-text('To the forum')")
    charts_fit(page)
    page.click("summary:has-text('Export')")
    with page.expect_download() as found:
        page.locator(".exports", has_text="threads").locator("a:has-text('JSONL')").click()
    lines = Path(found.value.path()).read_text(encoding="utf-8").splitlines()
    titles = {thread.title for thread in forum.forum.all.values()}
    assert lines and {json.loads(line)["title"] for line in lines} <= titles
    assert page.wrong == []

    dark_and_chinese_stay_and_nothing_is_wider_than_a_phone(page, desk)
    assert page.wrong == []


def charts_fit(page: Any) -> None:
    """Checks that charts fill their boxes at any window width without covering other elements."""
    for width in (1440, 390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "[...document.querySelectorAll('[data-chart]')].every(box => box.dataset.ready &&"
            " Math.abs(box.querySelector('.main-svg').getBoundingClientRect().width -"
            " box.clientWidth) < 2 && box.getBoundingClientRect().right <= window.innerWidth)"
        )
        assert page.locator("[data-chart]").count() >= 1


def dark_and_chinese_stay_and_nothing_is_wider_than_a_phone(page: Any, desk: str) -> None:
    page.goto(f"{desk}/admin/")
    page.click(".desk-side [x-on\\:click='openUserLinks = !openUserLinks']")
    page.click("text=Dark")
    page.wait_for_function("document.documentElement.classList.contains('dark')")
    page.click("text=简体中文")
    page.wait_for_selector("html[lang=zh-hans].dark")
    page.set_viewport_size({"width": 390, "height": 844})
    for path in (
        "",
        "forums/",
        "forums/add/",
        "runs/",
        "hosts/",
        "archive/",
        "workers/",
        "events/",
        "auth/user/add/",
        "django_q/schedule/",
    ):
        page.goto(f"{desk}/admin/{path}")
        page.wait_for_selector("html[lang=zh-hans].dark")
        assert (
            page.evaluate(
                "Math.max(document.documentElement.scrollWidth,"
                " document.querySelector('#content').scrollWidth)"
            )
            <= 390
        ), path
