"""The language of a site's pages: as declared, by the words in its times, by the script of its
short texts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.discovery.pages import FetchedPage, facts
from forums.reading import read_page

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
_CHINESE = "<h2>编程</h2><h2>公告</h2><h2>二手市场</h2><p>键盘</p>"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<html lang="zh-Hans"><body><p>yesterday, 19:54</p></body></html>', "zh-hans"),
        (
            (
                f"<html><body>{_CHINESE}<i>yesterday, 19:54</i><i>today, 01:17</i><i>06 Nov, 2026"
                " 09:51</i></body></html>"
            ),
            "en",
        ),
        (f"<html><body>{_CHINESE}<i>2026-11-06 09:51</i></body></html>", "zh"),
        (f"<html><body>{_CHINESE}<i>昨天 19:54</i></body></html>", "zh"),
        ("<html><body><h2>Market</h2><p>2026-11-06</p></body></html>", ""),
    ],
)
def test_the_language_a_site_is_written_in(html: str, language: str) -> None:
    page = FetchedPage("http://forum.test/", "http://forum.test/", html, NOW)
    assert facts(page, read_page(html, page.final_url, NOW)).language == language
