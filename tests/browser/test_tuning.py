"""Schedules in a real browser: workers simulate an event file, a slider redraws a chart, a plan is
saved and followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_journey import CHROMIUM, LONGEST, add_forum, desk, forum, login, page
from tests.forums.test_simulations import csv_of
from tests.serving import wait_for
from tests.site.forum import ForumServer

__all__ = ["desk", "forum", "page"]  # imported fixtures, which the tests below use by name
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.mark.slow
def test_a_simulation_a_slider_and_a_plan(
    page: Any, desk: str, forum: ForumServer, tmp_path: Path
) -> None:
    login(page, desk)
    simulate(page, desk, tmp_path)
    add_forum(page, forum)
    page.fill("#id_history", "400")
    page.click("main button:has-text('Save'), #content button:has-text('Save')")
    page.wait_for_selector("a:has-text('Plan') >> nth=0")
    page.click(".tabs a:has-text('Plan')")
    page.wait_for_selector(
        "text=adaptive: chooses each visit"
    )  # the adaptive policy is the default for a new forum
    page.click(".tabs a:has-text('Tuning')")
    page.wait_for_url("**/tuning/")
    tune(page)
    page.click(".tabs a:has-text('Plan')")
    page.wait_for_url("**/plan/")
    address = page.url

    def visits_come() -> bool:
        return (
            "posts an hour are expected" in page.request.get(address).text()
        )  # rendering would take 1 s of CPU

    assert wait_for(visits_come, LONGEST / 1000, 1.0)
    page.goto(address)
    assert page.locator("td:has-text('posts an hour are expected')").count()
    page.click("details.edit summary >> nth=0")
    page.click("button:has-text('Fix this time') >> nth=0")
    page.wait_for_selector(".badge:has-text('time fixed')")
    assert not page.wrong


def simulate(page: Any, desk: str, folder: Path) -> None:
    """Uploads an event file, watches the progress, and waits until the charts appear without a
    manual reload."""
    log = folder / "log.csv"
    log.write_bytes(csv_of())
    page.goto(f"{desk}/admin/forums/simulations/new/")
    page.set_input_files("[name=upload]", log)
    page.uncheck("input[value=adaptive]")
    page.fill("[name=visits_per_board]", "4-5")
    page.click("button:has-text('Start')")
    page.wait_for_function("document.querySelectorAll('[data-ready]').length === 4")
    page.wait_for_selector("td:has-text('optimal timetable')")


def tune(page: Any) -> None:
    """Moves the slider: the marker in the curve and the bars follow, the exact figures appear, and
    the plan is saved."""
    page.wait_for_function("document.querySelectorAll('[data-ready]').length === 3")
    page.select_option("[name=policy]", "optimal")
    page.evaluate(
        "const slider = document.querySelector('input[data-for=visits_per_day]');"
        "slider.value = Math.log(48); slider.dispatchEvent(new Event('input', { bubbles: true }));"
    )
    page.wait_for_function(
        "document.querySelector('[data-chart=chart-curve]')?.layout?.shapes?.[0]?.x0 === 48"
    )
    assert page.input_value("[name=visits_per_day]") == "48"
    page.wait_for_selector("#tuning-facts:has-text('exactly')")
    page.wait_for_selector("#tuning-replay .empty, #tuning-replay table")
    page.click("button:has-text('Save and recompute the plan')")
    page.wait_for_selector("text=The plan is saved")
    assert page.input_value("[name=visits_per_day]") == "48"
