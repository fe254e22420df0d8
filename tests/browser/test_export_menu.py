"""The menu Export: exports a list as it is shown, and the complete tables that belong to a page,
such as a forum's threads."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from crawlmgr.models import Run
from forums.models import Thread
from tests.browser.chromium import CHROMIUM
from tests.browser.test_desk_at_work import PHONE, forum
from tests.browser.test_lists import page

__all__ = ["page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
MENU = "details.menu:has(> summary:has-text('Export'))"


def taken(page: Any, link: str) -> str:
    """The text of the file that a link of the menu downloads."""
    with page.expect_download() as found:
        page.locator(f"{MENU} {link}").first.click()
    return Path(found.value.path()).read_text(encoding="utf-8-sig")


def test_a_list_is_exported_as_shown_or_whole(page: Any) -> None:
    for number, state in enumerate(("failed", "finished", "failed")):
        Run.objects.create(
            kind="topic",
            label=f"Quarry {number}",
            state=state,
            created="2026-01-01T00:00Z",
            finished="2026-01-01T01:00Z",
        )
    page.goto("/admin/runs/?show=failed&col=run&col=state")
    assert not page.is_visible(f"{MENU} > div")
    page.click(f"{MENU} > summary")
    assert page.is_visible(f"{MENU} > div")
    rows = list(csv.reader(taken(page, "a:has-text('As CSV')").splitlines()))
    assert rows[0] == ["run", "state"] and [row[0] for row in rows[1:]] == ["Quarry 2", "Quarry 0"]
    whole = [json.loads(line) for line in taken(page, "a:text-is('JSONL')").splitlines()]
    assert {one["label"] for one in whole} == {"Quarry 0", "Quarry 1", "Quarry 2"} and {
        "id",
        "kind",
        "finished",
    } <= set(whole[0])

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click(f"{MENU} button:has-text('Copy as CSV')")
    page.wait_for_selector(f"{MENU} button:text-is('Copied')")
    assert page.evaluate("navigator.clipboard.readText()").split("\r\n")[0] == "run,state"
    page.mouse.click(700, 300)
    assert not page.is_visible(f"{MENU} > div"), "closed by a click beside it"
    assert page.wrong == []


def test_a_forum_exports_its_own_tables_and_the_menu_fits_a_phone(
    page: Any,
) -> None:
    own, other = forum("Riverside"), forum("Lakeside")
    Thread.objects.filter(site=other).update(title="of another forum")
    page.set_viewport_size(PHONE)
    page.goto(f"/admin/forums/site/{own.pk}/")
    page.click(f"{MENU} > summary")
    box = page.locator(f"{MENU} > div").bounding_box()
    assert (
        box["x"] >= 0
        and box["x"] + box["width"] <= PHONE["width"]
        and box["y"] + box["height"] <= PHONE["height"]
    )
    lines = page.locator(f"{MENU} .exports")
    assert {"boards", "threads", "posts", "visits"} <= {
        text.split("\n")[0].strip() for text in lines.all_inner_texts()
    }
    for number in range(lines.count()):
        assert lines.nth(number).locator("a").all_inner_texts() == ["CSV", "JSON", "JSONL"]
    threads = json.loads(taken(page, ".exports:has-text('threads') a:text-is('JSON')"))
    assert len(threads) == Thread.objects.filter(site=own).count() and all(
        one["title"].startswith("Lantern") for one in threads
    )
    assert page.wrong == []
