"""The details pane opens with its button and shows the row clicked; it opens by itself only beside
lists with rows."""

from __future__ import annotations

from typing import Any

import pytest

from crawlmgr.models import Run
from forums.models import Board, Visit
from tests.browser.chromium import CHROMIUM
from tests.browser.test_desk_at_work import PHONE, forum
from tests.browser.test_lists import page
from tests.crawlmgr.admin.rows import site

__all__ = ["page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.once,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
BUTTON = "[data-pane]"


def runs(count: int) -> list[Run]:
    """Creates `count` queued topic runs and returns them, newest first."""
    made = [
        Run.objects.create(
            kind="topic", label=f"Quarry {number}", state="queued", created="2026-01-01T00:00Z"
        )
        for number in range(count)
    ]
    return made[::-1]


def opened(page: Any) -> bool:
    return bool(page.locator("#pane").is_visible())


def titled(page: Any, title: str) -> None:
    page.wait_for_function(
        "title => document.querySelector('.pane-title').textContent.trim().startsWith(title)",
        arg=title,
    )


def test_the_pane_opens_with_the_first_row_and_follows_clicks_on_rows(
    page: Any,
) -> None:
    first, second, _third = runs(3)
    page.goto("/admin/runs/")
    assert not opened(page), "closed until asked for"
    page.click(f"tr[data-row='{second.pk}'] td.num >> nth=1")
    assert not opened(page), "a click on a row opens nothing while the pane is closed"
    page.click(BUTTON)
    titled(page, first.label)
    assert (
        page.get_attribute(BUTTON, "aria-pressed") == "true"
        and page.locator("#pane #run-story").count() == 1
    )
    page.click(f"tr[data-row='{second.pk}'] td.num >> nth=1")
    titled(page, second.label)
    assert page.locator("tr.on").get_attribute("data-row") == str(second.pk) and page.url.endswith(
        "/admin/runs/"
    )
    page.click("#pane [data-close]")
    assert not opened(page) and page.get_attribute(BUTTON, "aria-pressed") == "false"
    page.reload()
    assert not opened(page), "that it was closed is remembered"
    assert page.wrong == []


def test_an_open_pane_opens_by_itself_only_beside_a_list_with_rows(
    page: Any,
) -> None:
    runs(2)
    forum = site()
    page.goto("/admin/runs/")
    page.click(BUTTON)
    page.goto("/admin/forums/")
    assert opened(page), "another list with rows"
    page.goto("/admin/runs/?show=failed")
    assert not opened(page) and not page.is_visible(BUTTON), "a list without rows"
    page.goto(f"/admin/forums/site/{forum.pk}/edit/")
    assert not opened(page) and not page.is_visible(BUTTON), "a page without rows"
    page.goto(f"/admin/runs/{Run.objects.latest('pk').pk}/")
    assert not opened(page), "a page of one run"
    page.goto("/admin/runs/")
    assert opened(page)
    assert page.wrong == []


def test_a_table_too_wide_for_the_pane_is_shown_as_cards(
    page: Any,
) -> None:
    board = Board.objects.filter(site=forum())[0]
    run = Run.objects.create(
        kind="forum",
        label="Riverside",
        target=board.site_id,
        state="finished",
        stopped_by="complete",
        created="2026-01-01T00:00Z",
    )
    Visit.objects.create(
        board=board,
        run=run,
        started="2026-01-01T00:00Z",
        finished="2026-01-01T00:01Z",
        stopped_by="watermark",
        new=3,
    )
    page.goto("/admin/runs/")
    page.click(BUTTON)
    page.wait_for_selector("#pane table.labelled td[data-title='List pages']")
    assert (
        page.locator("#pane .scroll").evaluate_all(
            "boxes => boxes.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        )
        == 0
    )
    page.goto(f"/admin/runs/{run.pk}/")
    assert page.locator("table.labelled").count() == 0, "the page itself has room"
    page.set_viewport_size(PHONE)
    page.wait_for_selector("table.labelled")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function("!document.querySelector('table.labelled')")
    assert page.wrong == []
