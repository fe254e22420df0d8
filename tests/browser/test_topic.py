"""A Chinese topic used only through the desk, in both languages of the desk: texts are pasted, a
crawl is started and watched, a page is found by search and explained, pages are exported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opencc
import pytest

from tests.browser.said import Said, speak
from tests.browser.test_journey import CHROMIUM, charts_fit, desk, login, page
from tests.site.server import LocalSite, Reply

__all__ = ["desk", "page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

SAMPLES = """网络爬虫从种子网址出发，抓取网页，再沿着网页里的链接抓取更多网页。搜索引擎用它建立索引。
---
主题爬虫先抓取与主题相关的网页，用链接的锚文本估计相关度，把网址放进优先队列。"""
ON = (
    "网络爬虫按照优先队列抓取网页，根据锚文本估计链接的相关度。",
    "搜索引擎的网络爬虫沿着链接抓取网页，建立索引，把网页存进档案库。",
    "主题爬虫从种子网址开始，只沿着相关的链接抓取网页。",
    "爬虫把网页分词，计算它与主题的相关度，再建立索引。",
)
OFF = (
    "番茄炒蛋先把鸡蛋打散，热锅下油。",
    "红烧排骨要先焯水，再用小火慢炖。",
    "豆腐切块，加葱花和酱油凉拌。",
)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    """A site with every on-topic text twice, in simplified (/jian/) and traditional characters
    (/fan/), and some off-topic recipes."""
    traditional = opencc.OpenCC("s2t").convert
    links = [f"/{kind}/{n}.html" for n in range(len(ON)) for kind in ("jian", "fan")] + [
        f"/cai/{n}.html" for n in range(len(OFF))
    ]
    with LocalSite() as served:
        served.add("/", _page("目录", "这里是目录。", links))
        for n, text in enumerate(ON):
            served.add(f"/jian/{n}.html", _page(f"文章{n}", text, []))
            served.add(f"/fan/{n}.html", _page(traditional(f"文章{n}"), traditional(text), []))
        for n, text in enumerate(OFF):
            served.add(f"/cai/{n}.html", _page(f"菜谱{n}", text, []))
        yield served


def _page(title: str, text: str, links: list[str]) -> Reply:
    anchors = "".join(f'<p><a href="{link}">第{n}条</a></p>' for n, link in enumerate(links))
    return Reply(
        f"<html><head><title>{title}</title></head><body><p>{text}</p>{anchors}</body>"
        f"</html>".encode()
    )


def test_a_chinese_topic_from_pasted_texts_to_the_export(
    page: Any, desk: str, site: LocalSite
) -> None:
    login(page, desk)
    said = Said("zh-hans")
    speak(page, desk, said)
    page.goto(f"{desk}/admin/topics/")
    page.click(f"a.btn.main:has-text('{said('Add topic')}')")
    page.fill("#id_name", "网络爬虫")
    page.fill("#id_seeds", site.url("/"))
    page.fill("#id_texts", SAMPLES)
    page.fill("#id_delay", "0")
    page.check("#id_private")
    page.click(f"button:has-text('{said('Save topic')}')")
    page.wait_for_selector("h1:has-text('网络爬虫')")
    assert page.locator("dl.facts div", has_text=said("Samples")).locator("dd").inner_text() == "2"

    assert score(page, ON[0], said) == score(page, opencc.OpenCC("s2t").convert(ON[0]), said) > 0.1
    assert score(page, OFF[0], said) < 0.05
    page.click("a:has-text('网络爬虫') >> nth=0")
    page.wait_for_selector("[data-chart]")
    charts_fit(page)

    page.click(f".desk-tools a.btn.main:has-text('{said('Crawl')}')")
    page.fill("#o_pages", "40")
    page.select_option("#id_strategy", "dolphin")
    page.wait_for_selector("[data-share=p_alpha]")
    page.locator("[data-share=p_alpha]").fill("0.7")
    assert [page.input_value(f"#p_{name}") for name in ("alpha", "beta", "gamma")] == [
        "0.7",
        "0.15",
        "0.15",
    ]
    page.fill("#p_gamma", "1")
    page.press("#p_gamma", "Tab")
    assert [page.input_value(f"#p_{name}") for name in ("alpha", "beta", "gamma")] == [
        "0",
        "0",
        "1",
    ]
    page.select_option("#id_strategy", "shark")
    page.wait_for_selector("#p_gamma")
    assert page.input_value("#o_pages") == "40", (
        "what was typed stays when another strategy is picked"
    )
    page.click(f"button:text-matches('{said('Start')}$')")
    page.wait_for_selector(f".note:has-text('{said.part('Ended: %(reason)s.')}')")
    assert said("Shark search") in page.inner_text("#content")
    facts = dict(re.findall(r"(.+)\n(.+)", page.inner_text("dl.facts")))
    total = 1 + 2 * len(ON) + len(OFF)
    assert (facts[said("Pages")], facts[said("Harvest rate")]) == (str(total), "–"), facts

    page.click(f"summary:has-text('{said('Export')}')")
    with page.expect_download() as found:
        page.locator(".exports [href*='pages']:has-text('JSONL')").first.click()
    lines = [
        json.loads(line)
        for line in Path(found.value.path()).read_text(encoding="utf-8").splitlines()
    ]
    scores = {line["url"].removeprefix(site.url("")): line["relevance"] for line in lines}
    assert len(scores) == total
    for n in range(len(ON)):
        assert scores[f"/jian/{n}.html"] == pytest.approx(scores[f"/fan/{n}.html"])
    assert max(scores[f"/cai/{n}.html"] for n in range(len(OFF))) < min(
        scores[f"/fan/{n}.html"] for n in range(len(ON))
    )

    page.click(f"a.btn:has-text('{said('Marks')}')")
    page.wait_for_selector("[data-marks]")
    with page.expect_response("**/mark/"):
        page.keyboard.press("j")
        page.keyboard.press("y")
    with page.expect_response("**/mark/"):
        page.keyboard.press("n")
    page.wait_for_selector("[data-marks] tr[data-marked=off]")
    page.click(f"a.btn:has-text('{said('Re-score pages')}')")
    assert (
        page.locator("dl.facts div", has_text=said("Marks")).locator("dd").first.inner_text() == "2"
    )
    # a copy in the other characters is not offered, nor are the two marked pages
    assert page.locator("[data-marks] tbody tr").count() == total - len(ON) - 2
    page.click("a.btn[href$='/pages/']")
    page.fill("input[type=search], input[name=q]", "档案库")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=*")
    assert page.locator("#content table.list tbody tr").count() == 2, (
        "the simplified page and the traditional one"
    )
    page.locator("#content table.list tbody a").first.click()
    page.wait_for_selector(f"text={said('Why it was fetched at this point')}")
    assert page.locator("html").get_attribute("lang") == said.language
    assert page.wrong == []


def score(page: Any, text: str, said: Said) -> float:
    """Pastes a text into the page "Test relevance" of a topic; returns the similarity that the page
    shows."""
    if not page.locator("#id_text").count():
        page.click(f"a.btn:has-text('{said('Test')}')")
    page.fill("#id_text", text)
    page.click(f"button:has-text('{said('Test relevance')}')")
    note = page.locator(f".note:has-text('{said('Similarity')}')")
    note.wait_for()
    return float(re.search(r": ([\d.]+)", note.inner_text()).group(1))  # type: ignore[union-attr]
