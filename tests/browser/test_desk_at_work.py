"""Tasks of an operator, each from the home page to its result, in English and in Chinese.

One browser and one server serve all tests; each test has its own database and window. No workers
run: a test runs the work itself at the step where a worker would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import LazySettings
from django.utils import translation
from django.utils.translation import gettext

from crawlmgr import engine
from crawlmgr.models import Hold, Host, Run, RunState
from forums.models import Board, BoardHour, Plan, Site, Thread
from tests.browser.chromium import CHROMIUM, LONGEST
from tests.crawlmgr.admin.rows import user
from tests.site.forum import ForumServer, LocalForum

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SLICES = 40
pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
Say = Callable[..., str]


@pytest.fixture(params=["en", "zh-hans"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def say(language: str) -> Say:
    """Returns the desk's texts in the language of the test."""

    def said(text: str, **values: object) -> str:
        with translation.override(language):
            return gettext(text) % values if values else gettext(text)

    return said


@pytest.fixture
def page(
    browser: Any, live_server: Any, client: Any, settings: LazySettings, language: str
) -> Iterator[Any]:
    """A window of a logged-in user; errors in the page fail the test."""
    settings.CONTACT = "me@example.org"
    client.force_login(user("first"))
    context = browser.new_context(viewport=DESKTOP, base_url=live_server.url)
    cookies = {
        settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value,
        settings.LANGUAGE_COOKIE_NAME: language,
    }
    context.add_cookies(
        [{"name": name, "value": value, "url": live_server.url} for name, value in cookies.items()]
    )
    opened = context.new_page()
    opened.set_default_timeout(LONGEST)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", lambda dialog: dialog.accept())
    yield opened
    context.close()
    assert wrong == []


def work(kind: str) -> Run:
    """Works on the newest run of a kind to its end, in place of a worker."""
    run = Run.objects.filter(kind=kind).latest("pk")
    for _ in range(SLICES):
        if engine.run_slice(run.pk) in (RunState.FINISHED, RunState.FAILED, RunState.STOPPED):
            break
    run.refresh_from_db()
    assert run.state == RunState.FINISHED, (run.state, run.stopped_by, run.detail)
    return run


def forum(name: str = "Riverside", **values: Any) -> Site:
    """A forum with three boards; the first has threads whose posts are spread over three weeks."""
    now = datetime.now(UTC)
    host = Host.objects.create(key=f"{name.lower()}.example")
    site = Site.objects.create(
        name=name,
        url=f"https://{name.lower()}.example/",
        url_hash=host.pk,
        host=host,
        added=now,
        **values,
    )
    boards = [
        Board.objects.create(
            site=site,
            name=title,
            url=f"{site.url}{place}",
            key=str(place),
            position=place,
            next_visit=now + timedelta(hours=place + 1),
            last_visit=now - timedelta(hours=1),
            complete_at=now - timedelta(hours=1),
            watched_since=now - timedelta(days=30),
        )
        for place, title in enumerate(("Boats", "Bridges", "Fish"))
    ]
    Thread.objects.bulk_create(
        Thread(
            site=site,
            board=boards[0],
            key=str(number),
            url=f"{site.url}t{number}",
            title=f"Lantern {number}",
            author="anna",
            first_seen=now,
            last_reply=now - timedelta(minutes=number),
            created=now - timedelta(days=number),
            replies=number,
            posts=(number * 7) % 50,
        )
        for number in range(50)
    )
    hour = now.replace(minute=0, second=0, microsecond=0)
    BoardHour.objects.bulk_create(
        BoardHour(
            board=board,
            hour=hour - timedelta(hours=back),
            threads=int(back % 24 == 5 + place),
            replies=(back + place) % 4,
        )
        for place, board in enumerate(boards)
        for back in range(2, 21 * 24)
    )
    return site


def test_a_forum_is_added_and_read(page: Any, say: Say) -> None:
    with ForumServer(LocalForum(boards=2, threads=4)) as server:
        page.goto("/admin/")
        page.click(f"a:has-text('{say('Add forum')}') >> nth=0")
        page.fill("#id_address", server.url)
        page.fill("#id_delay", "0")
        page.check("#id_private")
        page.click("#content form button.main")
        page.wait_for_selector("[data-live]")
        work("forum-discovery")
        page.wait_for_selector("#id_timezone")
        page.fill("#id_name", "Hafen")
        page.fill("#id_history", "400")
        page.click(f"#content button:has-text('{say('Save')}')")
        page.wait_for_selector("h1 .last:has-text('Hafen')")
        work("forum")
        page.wait_for_selector(f"h2:has-text('{say('Threads with the newest replies')}')")
        page.goto("/admin/forums/threads/")
        assert page.locator("tr[data-row]").count() == len(server.forum.all)
        page.click("tr[data-row] td.title a >> nth=0")
        page.wait_for_selector("article.post")
        written = {post.text for thread in server.forum.all.values() for post in thread.posts}
        assert page.inner_text("article.post .text >> nth=0") in written


def test_a_page_does_not_reload_while_its_user_leaves_it(page: Any) -> None:
    """A live part that asks for a reload does not cancel the way to another page."""
    run = Run.objects.create(
        kind="forum-discovery",
        label="board.example",
        created=datetime.now(UTC),
        state=RunState.RUNNING,
        parameters={"url": "https://board.example/"},
    )
    page.goto(f"/admin/forums/add/{run.pk}/")
    answered: list[str] = []
    held: list[Any] = []

    def reloading(route: Any) -> None:
        answered.append(route.request.url)
        route.fulfill(status=200, headers={"X-Desk-Reload": "1"}, body="<p>Found</p>")

    page.route("**/admin/forums/threads/", lambda route: held.append(route))
    page.evaluate("location.href = '/admin/forums/threads/'")
    while not held:
        page.wait_for_timeout(50)
    page.route("**/*part=live*", reloading)
    while not answered:
        page.wait_for_timeout(50)
    page.wait_for_timeout(300)
    held[0].continue_()
    page.wait_for_url("**/admin/forums/threads/", timeout=30_000)


def test_why_a_board_is_late(page: Any, say: Say) -> None:
    """Follows links from the home page's tile of late boards to their list, to the reason, and to
    the page of the host."""
    site = forum()
    late = Board.objects.filter(site=site, name="Bridges")
    late.update(next_visit=datetime.now(UTC) - timedelta(hours=5))
    page.goto("/admin/")
    page.click(f"a.tile:has-text('{say('Late boards')}')")
    page.wait_for_url("**/forums/boards/?show=late")
    assert page.locator("tr[data-row]").count() == 1
    page.click("td.title a:has-text('Bridges')")
    reason = page.inner_text("#why-late")
    assert say("no worker is alive, so nothing is fetched.") in reason
    Host.objects.filter(pk=site.host_id).update(
        retry_after_until=datetime.now(UTC) + timedelta(hours=2)
    )
    page.reload()
    page.click(f"#why-late a:has-text('{say('Host')}')")
    page.wait_for_url(f"**/hosts/{site.host_id}/")
    page.wait_for_selector(f"dt:has-text('{say('Asked to wait until')}')")


def test_theta_is_tuned_and_the_curve_follows(page: Any, say: Say) -> None:
    site = forum()
    page.goto(f"/admin/forums/site/{site.pk}/plan/")
    page.click(f"nav.tabs a:has-text('{say('Tuning')}')")
    page.wait_for_function("document.querySelectorAll('[data-ready]').length >= 3")
    page.select_option("[name=policy]", "optimal")
    page.wait_for_selector("form[data-preview]:not(.asking)")
    curve = (
        "JSON.stringify(document.querySelector('[data-chart=chart-curve]')._fullData.map(one =>"
        " Array.from(one.y)))"
    )
    before = page.evaluate(curve)
    page.evaluate(
        "const slider = document.querySelector('input[data-for=theta]');"
        "slider.value = 0.05; slider.dispatchEvent(new Event('input', { bubbles: true }));"
    )
    page.wait_for_function(f"before => {curve} !== before", arg=before)
    assert page.input_value("[name=theta]") == "0.05"
    page.click("form[data-preview] button.main")
    page.wait_for_selector(f"text={say('The plan is saved; it is recomputed within a minute.')}")
    assert Plan.objects.get(site=site).theta == 0.05


def test_everything_is_paused_and_goes_on(page: Any, say: Say) -> None:
    site = forum()
    run = Run.objects.create(
        kind="forum",
        label="Riverside",
        target=site.pk,
        state="queued",
        created=datetime.now(UTC),
        begun=True,
    )
    page.goto("/admin/")
    page.click(f".tree a:has-text('{say('Schedules')}')")
    page.click(f"button:has-text('{say('Pause all crawling')}')")
    page.wait_for_selector(f"button:has-text('{say('Resume all crawling')}')")
    run.refresh_from_db()
    assert Hold.objects.exists() and run.state == "paused"
    page.goto(f"/admin/forums/site/{site.pk}/")
    assert page.locator(f"text={say('all crawling is paused')}").count() >= 3, (
        "each board says why it is not visited"
    )
    page.click(f"a:has-text('{say('all crawling is paused')}') >> nth=0")
    page.click(f"button:has-text('{say('Resume all crawling')}')")
    page.wait_for_selector(f"button:has-text('{say('Pause all crawling')}')")
    run.refresh_from_db()
    assert not Hold.objects.exists() and run.state == "queued"


def test_why_a_site_is_silent(page: Any, say: Say) -> None:
    """The forum's last post is two days old, while visits continue to succeed."""
    site = forum(silent_since=datetime.now(UTC) - timedelta(days=2))
    BoardHour.objects.filter(hour__gt=datetime.now(UTC) - timedelta(days=2)).delete()
    page.goto("/admin/")
    page.click(".note a:has-text('Riverside')")
    page.wait_for_selector("#silence-banner")
    assert "https://riverside.example/" in page.inner_text("#content")
    page.click(f".tabs a:has-text('{say('Model')}')")
    page.wait_for_url(f"**/forums/site/{site.pk}/model/")


def test_by_the_palette_alone(page: Any, say: Say) -> None:
    """Finds a forum by its name, visits it and pauses all crawling using only the command
    palette."""
    site = forum()
    page.goto("/admin/")

    def ask(text: str, fits: str) -> None:
        page.keyboard.press("Control+k")
        page.keyboard.type(text)
        page.wait_for_selector(f"#palette li[aria-selected=true]:has-text('{fits}')")
        page.keyboard.press("Enter")

    ask("riversi", "Riverside")
    page.wait_for_url(f"**/forums/site/{site.pk}/")
    ask(
        {"Crawl now": "crawl now riverside"}.get(say("Crawl now"), "立即抓取 riverside"),
        "Riverside",
    )
    page.wait_for_selector(f"text={say('A visit has started.')}")
    assert Run.objects.get(kind="forum").target == site.pk
    ask("bridges", "Bridges")
    page.wait_for_selector("h1 .last:has-text('Bridges')")


def test_by_the_keyboard_alone(page: Any, say: Say) -> None:
    """Uses only the keyboard: opens the list of boards, a board's threads in a pane beside it, and
    one of the threads; pins this thread as a tab, which is still there after a reload."""
    forum()
    page.goto("/admin/")
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.wait_for_url("**/forums/boards/")
    page.keyboard.press("o")
    page.keyboard.press("j")
    page.wait_for_selector("#pane .pane-title:has-text('Boats')")
    page.focus("#pane tr[data-row] td.title a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#pane .pane-title:has-text('Lantern 0')")
    assert page.url.endswith("/forums/boards/")
    page.focus("#pane .pane-title")
    page.keyboard.press("Enter")
    page.wait_for_url("**/forums/thread/*/")
    page.keyboard.press("t")
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.wait_for_url("**/forums/threads/")
    page.reload()
    page.focus("#tabs a:has-text('Lantern 0')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#tabs [aria-current=page]:has-text('Lantern 0')")
    page.keyboard.press("t")
    page.wait_for_selector("#tabs", state="hidden")


def test_the_pane_sorts_pages_and_searches_for_itself(page: Any, say: Say) -> None:
    """Sorting, paging and searching in the pane request only the pane; the list beside it stays
    unchanged."""
    forum()
    page.goto("/admin/forums/boards/")
    page.click("[data-pane]")
    page.wait_for_selector("#pane tr[data-row]")
    page.select_option(
        "#pane select[data-go]", label=f"{say('Replies')} ↓"
    )  # in the pane, a menu replaces the column headers
    page.wait_for_selector("#pane tr[data-row]:first-child a:has-text('Lantern 49')")
    page.click("#pane .pager a[rel=next]")
    page.wait_for_selector("#pane tr[data-row]:first-child a:has-text('Lantern 19')")
    page.fill("#pane [name=q]", "lantern 33")
    page.keyboard.press("Enter")
    page.wait_for_selector("#pane tr[data-row]:only-child a:has-text('Lantern 33')")
    assert (
        page.url.endswith("/forums/boards/") and page.locator("#content tr[data-row]").count() == 3
    )


def test_days_dragged_over_in_a_chart_narrow_the_list_below(page: Any, say: Say) -> None:
    site = forum()
    page.goto(f"/admin/forums/board/{Board.objects.get(site=site, name='Boats').pk}/")
    assert page.locator("tr[data-row]").count() == 30
    page.wait_for_selector("[data-brushed]")
    box = page.locator("[data-brushed] .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20, steps=5)
    page.mouse.up()
    page.wait_for_url("**from=*")
    assert page.locator("tr[data-row]").count() == 0, "every last reply is of the last hour"
    page.click(f"[data-table] a:has-text('{say('Show all')}')")
    page.wait_for_url(lambda address: "from=" not in address)


def drag(page: Any, first: float, last: float) -> None:
    """Drags over the chart that filters a list, between two positions given as shares of its
    width."""
    page.wait_for_selector("[data-brushed]")
    box = page.locator("[data-brushed] .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + first * box["width"], box["y"] + box["height"] / 3)
    page.mouse.down()
    page.mouse.move(box["x"] + last * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()


def asked(page: Any) -> dict[str, str]:
    """The filters in the address of a list."""
    return dict(parse_qsl(urlsplit(page.url).query))


def listed(page: Any) -> set[str]:
    """The names shown in a list of runs."""
    return {one.strip() for one in page.locator("tr[data-row] td.title a").all_inner_texts()}


def test_days_dragged_over_narrow_the_runs_and_all_come_back(page: Any, say: Say) -> None:
    """Every day of the chart has a run; after dragging in either direction, the list and its
    address contain the selected days."""
    now = datetime.now(UTC)
    ends = {f"Quarry {back:02}": now - timedelta(days=back) for back in range(29)}
    Run.objects.bulk_create(
        Run(
            kind="topic",
            label=label,
            state="failed" if label.endswith("3") else "finished",
            created=end,
            started=end,
            finished=end,
        )
        for label, end in ends.items()
    )
    page.goto("/admin/runs/")
    assert listed(page) == set(ends)
    drag(page, 0.75, 0.45)
    page.wait_for_url("**from=*")
    days = asked(page)
    within = {
        label for label, end in ends.items() if days["from"] <= f"{end:%Y-%m-%d}" <= days["to"]
    }
    assert listed(page) == within and 6 <= len(within) <= 12, days
    page.wait_for_selector("[data-brushed]")
    shaded = (
        "document.querySelector('[data-brushed]').layout.shapes.map(one => [one.x0.slice(0, 10),"
        " one.x1.slice(0, 10)])"
    )
    assert page.evaluate(shaded)[0][1] == days["to"], "the chart shows the days that are chosen"

    page.select_option("select[name=show]", "failed")
    page.wait_for_url("**show=failed*")
    assert asked(page) | days == asked(page) and listed(page) == {
        label for label in within if label.endswith("3")
    }
    page.click(f"[data-table] a:has-text('{say('Show all')}')")
    page.wait_for_url(lambda address: "from=" not in address)
    assert listed(page) == set(ends) and page.evaluate(shaded) == []

    day = 1 / 30
    drag(page, 20.1 * day, 20.3 * day)
    page.wait_for_url("**from=*")
    assert asked(page)["from"] == asked(page)["to"] and len(listed(page)) == 1, (
        "less than half of a day's bar is that day"
    )


def test_on_a_phone(page: Any, say: Say) -> None:
    """On a phone the tree is a drawer, a list is shown as sortable cards, details are a sheet, and
    nothing is wider than the screen."""
    forum()
    page.set_viewport_size(PHONE)
    page.goto("/admin/")
    page.click(".desk-head .desk-toggle")
    page.click(f".tree a:has-text('{say('Threads')}') >> visible=true")
    page.wait_for_url("**/forums/threads/")
    page.select_option("select[data-go]", index=1)
    page.wait_for_url("**sort=*")
    page.click("[data-pane]")
    page.wait_for_selector("#pane .post, #pane .empty")
    wide = (
        "Math.max(document.documentElement.scrollWidth,"
        " document.querySelector('#content').scrollWidth)"
    )
    assert page.evaluate(wide) <= PHONE["width"]
    page.click("#pane [data-close]")
    page.wait_for_selector("#pane", state="hidden")
