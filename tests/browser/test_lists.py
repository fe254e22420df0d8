"""Lists in a real browser: keyboard use, details beside a row, and accessibility to screen
readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings, settings

from crawlmgr.models import Export, Run
from crawlmgr.upkeep import backups
from deepweb.models import Source
from focused.topic import topics
from tests.benches.desk import search_rows as search_sites
from tests.benches.desk import topic_rows as crawled_topics
from tests.benches.desk.bulk import Sizes
from tests.browser.chromium import CHROMIUM, LONGEST
from tests.crawlmgr.admin.rows import page_addresses, user, world

pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


def axe() -> str:
    """The script of axe-core, from the package in tests/requirements.txt; "" if it is not
    installed."""
    try:
        import axe_playwright_python
    except ImportError:
        return ""
    return next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text(
        encoding="utf-8"
    )


@pytest.fixture
def page(browser: Any, live_server: Any, client: Any, settings: LazySettings) -> Iterator[Any]:
    """A desktop window of a logged-in user that records errors of the page."""
    settings.CONTACT = "me@example.org"
    client.force_login(user("first"))
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": client.cookies[name].value, "url": live_server.url}
    opened = browser.new_page(viewport={"width": 1440, "height": 900}, base_url=live_server.url)
    opened.set_default_timeout(LONGEST)
    opened.context.add_cookies([cookie])
    opened.wrong = []
    opened.on("pageerror", lambda error: opened.wrong.append(str(error)))
    yield opened
    opened.close()


def test_a_list_is_worked_by_keyboard_with_details_beside_it(page: Any) -> None:
    for number in range(3):
        Run.objects.create(
            kind="topic", label=f"Quarry {number}", state="queued", created="2026-01-01T00:00Z"
        )
    page.goto("/admin/runs/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.locator("tr.on").get_attribute("data-row") == str(Run.objects.order_by("-pk")[1].pk)
    page.keyboard.press("o")
    page.wait_for_selector("#pane #run-story")
    assert page.url.endswith("/admin/runs/") and page.inner_text(".pane-title").startswith(
        "Quarry 1"
    )
    page.keyboard.press("k")
    page.wait_for_function(
        "document.querySelector('.pane-title')?.textContent.startsWith('Quarry 2')"
    )
    page.reload()
    assert page.is_visible("#pane"), "the pane is remembered"
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert page.inner_text("[data-ticked]") == "1"
    page.keyboard.press("m")
    page.wait_for_selector(".row-menu")
    page.keyboard.press("Escape")
    page.click("form[data-do] button[value=pause]")
    page.wait_for_selector("text=Applied to 1 run.")
    assert Run.objects.get(label="Quarry 2").state == "paused" and page.wrong == []


FURTHER = (
    *(
        "schedules",
        "schedules/?view=week",
        "schedules/backup/1",
        "exports",
        "exports/new",
        "exports/1",
        "alarms",
        "alarms/channels/new",
    ),
    *(
        "api",
        "backups",
        "retention",
        "sessions",
        "help",
        "help/rooms",
        "forums/add",
        "forums/boards",
        "forums/threads",
        "forums/posts",
    ),
    *(
        "forums/site/{site}/edit",
        "forums/site/{site}/delete",
        "forums/simulations/new",
        "topics",
        "topics/add",
        "deepweb",
        "deepweb/add",
    ),
    *(
        "deepweb/records",
        "deepweb/harvests",
        "deepweb/clusters",
        "auth/user",
        "auth/user/add",
        "django_q/schedule",
    ),
)
FAULTS = (
    "([rules, without]) => axe.run({exclude: without}, {runOnly: rules, resultTypes:"
    " ['violations']}).then(found => found.violations)"
)
"""Script that returns axe-core's violations on a page outside some elements; passed checks are not
collected."""
FRAME = ["#nav-sidebar", "#keys"]
"""What stands on every page, half of its elements: checked only where it is not as before."""
OF_A_TOPIC = ("", "crawl/", "compare/", "words/", "ontology/", "try/", "search/", "delete/")
OF_A_SITE = ("", "delete/")
WITH_ROWS = (
    *(
        "topics/{topic_run}/",
        "topics/{topic_run}/pages/",
        "topics/{topic_run}/marks/",
        "topics/page/2/",
        "topics/1/",
        "topics/1/search/?q=crawler",
    ),
    *(
        "topics/1/compare/",
        "topics/1/words/",
        "topics/comparison/1/",
        "deepweb/form/1/",
        "deepweb/harvest/1/",
        "deepweb/record/1/",
        "deepweb/site/1/",
    ),
    *("deepweb/records/", "deepweb/harvests/", "deepweb/clusters/"),
)


def others(keys: dict[str, int]) -> list[str]:
    """Addresses of views that show rows which the other tests' database lacks; creates these rows:
    a backup, an export, a topic and a search site."""
    now = datetime.now(UTC)
    folder = Path(settings.BACKUP_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "crawlmgr-20260101-030000.tar").write_bytes(b"whole")
    backups.put(every_hours=24, keep=3, now=now)
    kept = Export.objects.create(
        name="Posts", table="posts", format="csv", columns=[], keep=1, created=now, every_hours=24
    )
    topic = topics.add("Beekeeping", ["https://bees.example/"], now=now)
    source = Source.objects.create(
        url="http://library.example/", key_hash=1, name="Library", created=now
    )
    named = [f"/admin/{one.format(**keys)}" for one in FURTHER]
    found = [one.replace("exports/1", f"exports/{kept.pk}") for one in named]
    found += [f"/admin/topics/{topic.pk}/{one}" for one in OF_A_TOPIC] + [
        f"/admin/deepweb/site/{source.pk}/{one}" for one in OF_A_SITE
    ]
    return [one if "?" in one or one.endswith("/") else f"{one}/" for one in found]


def filled() -> list[str]:
    """Addresses of views of topics and search sites that have rows to show: runs, pages, marks,
    forms, harvests, records."""
    sizes = Sizes(forums=3, posts=600, runs=1000, pages=100, topic_pages=400, now=datetime.now(UTC))
    crawled_topics.fill(sizes)
    search_sites.fill(sizes)
    run = crawled_topics.arguments(sizes)["topic-run"]["pk"]
    return [f"/admin/{one.format(topic_run=f'run/{run}')}" for one in WITH_ROWS]


UNREACHABLE = """() => {
  const seen = one => one.checkVisibility({visibilityProperty: true}) && !one.disabled && \
!one.closest('[inert]');
  const controls = 'a[href], button, input:not([type=hidden]), select, textarea, summary';
  const wrong = [];
  for (const one of document.querySelectorAll(controls)) {
    if (!seen(one)) continue;
    one.focus();
    if (one.tabIndex !== 0 || document.activeElement !== one) wrong.push('not reached by Tab: ' + \
one.outerHTML.slice(0, 160));
  }
  for (const one of document.querySelectorAll('#content *')) {
    const reached = one.closest(controls + ', label, [tabindex="0"], .js-plotly-plot') || \
one.querySelector(controls);
    if (!reached && getComputedStyle(one).cursor === 'pointer' && seen(one))
      wrong.push('by mouse only: ' + one.outerHTML.slice(0, 160));
  }
  return wrong;
}"""
"""Script that returns the controls of a page that cannot be reached with the Tab key."""


def every_page(tmp_path: Path, settings: LazySettings) -> list[str]:
    """Fills the database and returns the addresses of all views, so that each has content to
    show."""
    settings.BACKUP_DIR = tmp_path / "backups"
    keys = world(3)
    shown = [
        one
        for one in page_addresses(keys)
        if "part=" not in one and "json" not in one and "/tree/" not in one
    ]
    return [*shown, *filled(), *others(keys)]


def grave(found: list[dict[str, Any]], address: str) -> list[str]:
    """The violations of a view that axe-core rates serious or critical."""
    wrong = [one for one in found if one["impact"] in ("serious", "critical")]
    return [
        f"{address}: {one['id']}: {node['html'][:160]}"
        for one in wrong
        for node in one["nodes"][:4]
    ]


@pytest.mark.slow
@pytest.mark.skipif(not axe(), reason="axe-playwright-python is not installed")
def test_every_page_is_open_to_who_cannot_see_it_or_has_no_mouse(
    page: Any, settings: LazySettings, tmp_path: Path
) -> None:
    """Each page is loaded once: checked as it is, then its contrasts in the dark."""
    found, script, frames = [], axe(), set[str]()
    for address in every_page(tmp_path, settings):
        page.emulate_media(color_scheme="light")
        answer = page.goto(address)
        assert answer.status == 200, address
        page.evaluate(script)
        frame = re.sub(r"\d+", "0", "".join(page.inner_html(one) for one in FRAME))
        without = FRAME if frame in frames else []
        frames.add(frame)
        found += grave(page.evaluate(FAULTS, [["wcag2a", "wcag2aa"], without]), address)
        found += [f"{address}: {one}" for one in page.evaluate(UNREACHABLE)]
        page.emulate_media(color_scheme="dark")
        page.evaluate("document.documentElement.classList.add('dark')")  # as the switch does
        found += grave(
            page.evaluate(FAULTS, [["color-contrast"], without]), f"{address} in the dark"
        )
    assert not found, "\n".join(found)
