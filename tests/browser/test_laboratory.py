"""A Chinese topic from three texts and an ontology: crawled and marked, its strategies compared,
the best one adopted, the pages exported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.said import Said, speak
from tests.browser.test_journey import CHROMIUM, charts_fit, desk, login, page
from tests.browser.test_topic import OFF, ON, site
from tests.site.server import LocalSite

__all__ = ["desk", "page", "site"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

TEXTS = "\n---\n".join(ON[:3])
ONTOLOGY = "concept,broader,labels\n信息系统,,信息系统\n爬虫,信息系统,爬虫;采集器\n搜索引擎,信息系统,搜索引擎;检索系统\n"
SYNONYM = "采集器"
"""A word without common characters with the sample texts; the ontology makes it similar to one of
their words."""


FOUND_MOST = (
    "%(best)s found relevant pages earliest: the area under its curve is %(gap)s larger than that"
    " of %(second)s (95 %% interval %(low)s to %(high)s, %(n)s repetitions)."
)


@pytest.mark.slow
def test_from_texts_and_an_ontology_to_the_best_strategy(
    page: Any, desk: str, site: LocalSite
) -> None:
    login(page, desk)
    said = Said("zh-hans")
    speak(page, desk, said)
    page.goto(f"{desk}/admin/topics/")
    page.click(f"a.btn.main:has-text('{said('Add topic')}')")
    page.fill("#id_name", "网络爬虫")
    page.fill("#id_seeds", site.url("/"))
    page.fill("#id_texts", TEXTS)
    page.fill("#id_delay", "0")
    page.check("#id_private")
    page.click(f"button:has-text('{said('Save topic')}')")
    page.wait_for_selector("h1:has-text('网络爬虫')")
    topic = page.url
    assert fact(page, said("Samples")) == "3"

    assert score(page, topic, SYNONYM, said) == 0
    page.goto(f"{topic}ontology/")
    page.fill("#id_table", ONTOLOGY)
    page.fill("[name=weight]", "0.8")
    page.click(f"#content form:has(#id_table) button:has-text('{said('Save')}')")
    page.wait_for_selector("li:has-text('采集器')")
    assert score(page, topic, SYNONYM, said) > 0.1

    run = crawl(page, topic, said)
    mark(page, run, said)
    best = compare(page, topic, said)
    page.goto(topic)
    assert fact(page, said("Strategy")) == best
    page.goto(f"{topic}crawl/")
    assert (
        page.input_value("#id_strategy")
        == {said(name): code for name, code in COMPARED.items()}[best]
    )
    page.click(f"#settings-history button:has-text('{said('Undo')}')")
    page.wait_for_selector(f"#settings-history td:has-text('{said('undone')}')")
    assert page.input_value("#id_strategy") == "adaptive"

    page.goto(run)
    page.click(f"summary:has-text('{said('Export')}')")
    with page.expect_download() as found:
        page.locator(".exports [href*='pages']:has-text('JSONL')").first.click()
    lines = [
        json.loads(line)
        for line in Path(found.value.path()).read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) == 1 + 2 * len(ON) + len(OFF) and {"url", "relevance"} <= set(lines[0])
    assert page.locator("html").get_attribute("lang") == said.language
    assert page.wrong == []


COMPARED = {"Breadth first": "breadth_first", "Shark search": "shark"}


def fact(page: Any, name: str) -> str:
    """The value beside a name in the list of facts."""
    return str(page.locator("dl.facts div", has_text=name).locator("dd").first.inner_text())


def score(page: Any, topic: str, text: str, said: Said) -> float:
    """The score that the topic gives to a text."""
    page.goto(f"{topic}try/")
    page.fill("#id_text", text)
    page.click(f"button:has-text('{said('Test relevance')}')")
    note = page.locator(f".note:has-text('{said('Similarity')}')")
    note.wait_for()
    return float(re.search(r": ([\d.]+)", note.inner_text()).group(1))  # type: ignore[union-attr]


def crawl(page: Any, topic: str, said: Said) -> str:
    """Saves the number of pages without starting, then starts a crawl; returns the address of the
    run."""
    page.goto(f"{topic}crawl/")
    page.fill("#o_pages", "40")
    page.click(f"button:has-text('{said('Save without starting')}')")
    page.wait_for_selector(f"#settings-history td:has-text('{said('Number of pages')}')")
    page.click(f"button:text-matches('{said('Start')}$')")
    page.wait_for_selector(f".note:has-text('{said.part('Ended: %(reason)s.')}')")
    assert said("Adaptive learning") in page.inner_text("#content")
    return str(page.url)


def mark(page: Any, run: str, said: Said) -> None:
    """Marks all pages but copies, which are fewer than ten; then the run states its harvest
    rate."""
    page.goto(run)
    assert "%" not in fact(page, said("Harvest rate"))
    different = 1 + len(ON) + len(OFF)
    for _ in range(different):
        page.goto(f"{run}marks/")
        row = page.locator("[data-marks] tbody tr").first
        word = "on" if "文章" in row.inner_text() else "off"
        with page.expect_response("**/mark/"):
            row.locator(f"button[value={word}]").click()
    page.goto(f"{run}marks/")
    assert int(fact(page, said("Marks"))) == different
    page.goto(run)
    assert re.fullmatch(r"\d+ % \(\d+–\d+ %\)", fact(page, said("Harvest rate")).strip())
    charts_fit(page)


def compare(page: Any, topic: str, said: Said) -> str:
    """Compares two strategies over the run's pages and adopts the one that the page ranks first;
    returns its name."""
    page.goto(f"{topic}compare/")
    for box in page.locator("input[name=strategy]").all():
        box.set_checked(box.get_attribute("value") in COMPARED.values())
    page.fill("#id_draws", "2")
    page.fill("#id_pages", "6")
    page.click(f"#content button:has-text('{said('Compare')}')")
    one, other = (re.escape(said(name)) for name in COMPARED)
    verdict = page.locator(
        ".note:has-text('%')", has_text=re.compile(f"{one}.*{other}|{other}.*{one}")
    )
    verdict.wait_for()
    best = said.value(FOUND_MOST, "best", verdict.inner_text()).removeprefix("info").strip()
    page.locator("table.list tr", has_text=best).get_by_role(
        "button", name=said("Use for the topic")
    ).click()
    page.wait_for_selector(
        f"text={said('New runs of the topic use %(name)s.').replace('%(name)s', best)}"
    )
    return best


@pytest.mark.slow
def test_every_choice_of_the_crawl_form_is_what_is_saved(
    page: Any, desk: str, site: LocalSite
) -> None:
    """Selects each strategy, changes all its fields and all options, and saves; the form must then
    show the same values."""
    login(page, desk)
    page.goto(f"{desk}/admin/topics/add/")
    page.fill("#id_name", "Choices")
    page.fill("#id_seeds", site.url("/"))
    page.fill("#id_keywords", "crawler")
    page.fill("#id_delay", "0")
    page.check("#id_private")
    page.click("button:has-text('Save topic')")
    page.wait_for_selector("h1:has-text('Choices')")
    page.goto(f"{page.url}crawl/")
    names = page.eval_on_selector_all("#id_strategy option", "all => all.map(one => one.value)")
    assert len(names) >= 14
    for name in names:
        if page.input_value("#id_strategy") != name:
            page.select_option("#id_strategy", name)
        page.wait_for_selector(f"input[name=shown][value={name}]", state="attached")
        page.evaluate(CHANGE)
        typed = page.evaluate(TYPED)
        page.click("button:has-text('Save without starting')")
        page.wait_for_selector("text=The settings are saved.")
        assert page.input_value("#id_strategy") == name
        assert page.evaluate(TYPED) == typed, name
    assert page.wrong == []


CHANGE = """() => document.querySelectorAll("[name^=p_], [name^=o_]").forEach((field) => {
  if (field.type === "checkbox") { field.checked = !field.checked; return; }
  if (field.tagName === "SELECT") { field.selectedIndex = (field.selectedIndex + 1) % \
field.options.length; return; }
  field.value = field.value === field.max ? field.min : field.max;
  field.dispatchEvent(new Event("change", { bubbles: true }));
})"""
"""Every field gets a different value; weights that sum to one change each other."""
TYPED = """() => Object.fromEntries([...document.querySelectorAll("[name^=p_], \
[name^=o_]")].map((field) =>
  [field.name, field.type === "checkbox" ? field.checked : field.type === "number" ? \
Number(field.value) : field.value]))"""
