"""A search site used only through the desk, in both languages: forms are found, a field is
corrected, a policy is chosen, and the figures agree with the export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benches.forms.kinds import BY_NAME, small
from tests.benches.forms.web import FormServer, FormSite
from tests.browser.test_journey import CHROMIUM, desk, login, page

__all__ = ["desk", "page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
RECORDS, QUERIES = 300, 24
AT_REST = "[data-live]:not([data-fresh]) dl.facts"
"""A page of an ended run that has reloaded itself once and does not change any more."""
FACTS = (
    "queries",
    "valid",
    "efficiency",
    "records",
    "a_query",
    "returned",
    "cut",
    "requests",
    "details",
    "total",
    "coverage",
)


@pytest.fixture
def server() -> Iterator[FormServer]:
    with FormServer(FormSite(small(BY_NAME["plain"], RECORDS))) as served:
        yield served


def facts(page: Any) -> dict[str, str]:
    """The figures of a harvest as shown on its page."""
    return dict(
        zip(
            FACTS,
            (each.strip() for each in page.locator("[data-live] dl.facts dd").all_inner_texts()),
            strict=True,
        )
    )


def number(text: str) -> int:
    return int(text.split()[0].replace(",", ""))


def found_form(page: Any, desk: str, server: FormServer) -> None:
    page.goto(f"{desk}/admin/deepweb/add/")
    page.fill("#id_addresses", server.url)
    page.fill("#id_depth", "1")
    page.fill("#id_delay", "0")
    page.check("#id_private")
    page.click("button.btn.main")
    page.locator(
        "a[href*='/deepweb/form/']"
    ).first.click()  # visible once the page has reloaded itself after the inspection


def fits(page: Any) -> None:
    """Checks that nothing is wider than the window, on a desktop and on a phone."""
    for width, height in ((390, 844), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        width_used = (
            "Math.max(document.documentElement.scrollWidth,"
            " document.querySelector('#content').scrollWidth)"
        )
        assert page.evaluate(width_used) <= width


def test_from_an_address_to_the_export_of_its_records(
    page: Any, desk: str, server: FormServer
) -> None:
    login(page, desk)
    found_form(page, desk, server)

    role = page.locator("form[action*='/role/']", has=page.locator("input[name=name][value=q]"))
    role.locator("select[name=role]").select_option("query")
    role.locator("button").click()
    page.wait_for_function(
        "document.querySelector('input[name=name][value=q] ~ select')?.value === 'query'"
    )
    fits(page)

    page.select_option("#id_policy", "frequency")
    page.fill("#id_queries", str(QUERIES))
    page.click("#harvest details >> nth=0 >> summary")
    page.fill("#id_probes", "30")
    page.fill("#id_details", "0")
    page.uncheck("input[name=stop_rules]")
    page.click("form[action*='/harvest/'] button.main")
    page.wait_for_url("**/deepweb/harvest/**")
    page.wait_for_selector(AT_REST)
    told = facts(page)
    assert number(told["queries"]) >= QUERIES and number(told["valid"]) <= number(told["queries"])
    assert 0 < number(told["records"]) <= RECORDS <= number(told["returned"])
    assert number(told["requests"]) >= number(told["queries"])
    if told["coverage"] == "–":
        assert (
            page.locator("[data-live] p.soft").inner_text().strip()
        )  # the reason why the number of records cannot be estimated
    else:
        low, high = (number(end) for end in told["total"].split(" – "))
        assert number(told["records"]) <= high and low <= high
    fits(page)

    page.goto(f"{desk}/admin/deepweb/records/")
    menu = page.locator("details.menu:has(a[href*='records.jsonl'])").first
    menu.locator("summary").click()
    with page.expect_download() as found:
        menu.locator("a[href*='records.jsonl']").first.click()
    lines = Path(found.value.path()).read_text(encoding="utf-8").splitlines()
    titles = {record.title for record in server.site.all}
    assert (
        len(lines) == number(told["records"])
        and {json.loads(line)["title"] for line in lines} <= titles
    )
    fits(page)
    assert page.wrong == []
