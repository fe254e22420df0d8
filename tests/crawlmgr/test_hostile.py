"""Tests that parsing a hostile page takes time at most proportional to its size, and that a page
that exceeds its CPU budget is aborted and the reason is reported."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from crawlmgr.text.keywords import keywords
from crawlmgr.text.tokens import LONGEST_WORD, tokenize
from crawlmgr.web.budget import OverBudget
from forums.reading import PageKind, apis, page, read_page
from forums.reading.patterns import patterns
from tests.benches.hostile import hostile
from tests.benches.hostile.pages import CASES
from tests.growth import MAX_RATIO, growth

KILO = 1024
AT = datetime(2026, 3, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "label",
    [
        "forum list: long paths",
        "forum thread: long paths of words",
        "answer: links",
        "answer: page numbers",
        "answer: scripts without end",
        "answer: JSON of nothing",
        "record: nesting of quotes",
        "topic page, main text: nesting",
        "sample text: one word",
        "sample text: hyphens",
    ],
)
def test_cost_grows_with_the_size_at_most(label: str) -> None:
    reader, case = next(
        (reader, case) for name, reader, case in hostile._pairs() if f"{name}: {case.name}" == label
    )
    assert growth(reader, case.make(16 * KILO), case.make(64 * KILO)) < MAX_RATIO


def test_every_reader_takes_cases_and_every_case_is_as_large_as_asked() -> None:
    names = {name for name, _, _ in hostile._pairs()}
    assert {
        "links and text",
        "robots.txt",
        "sitemap",
        "forum list",
        "topic page",
        "sample text",
        "answer",
        "record",
    } <= names
    for case in CASES:
        assert 0.9 * 20_000 < len(case.make(20_000)) < 1.3 * 20_000, case.name


def test_the_bench_tells_growth_from_one_size_to_the_next() -> None:
    row = hostile.measured(lambda text: None, CASES[0], 16 * KILO, 1)
    assert row["sizes"] == [4096, 8192, 16384] and row["growth"] == 1.0
    assert hostile.growth([0.1, 0.2, 0.9]) == 4.5
    assert hostile.growth([0.1, 0.2, 0.9], ["other", "other", "thread"]) == 3.0, (
        "another kind: the mean of two doublings"
    )
    assert hostile.growth([0.1, 0.2, 0.9], ["thread"] * 3) == 4.5


def test_a_page_that_costs_too_much_is_of_kind_other_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless(*_: Any) -> None:
        while True:
            sum(range(100))

    monkeypatch.setattr(page, "read_as", endless)
    reading, elements = page.read_regions("<p>x</p>", "http://f.example/", AT, seconds=0.05)
    assert (reading.kind, reading.evidence, reading.records, elements) == (
        PageKind.other,
        ("over_budget",),
        (),
        (),
    )


def test_an_interface_that_costs_too_much_gives_nothing_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def over(*_: Any) -> None:
        raise OverBudget

    monkeypatch.setattr(apis, "_read_api", over)
    assert apis.read_api("{}", "http://f.example/latest.json").evidence == ("no_api", "over_budget")


def test_a_page_of_too_many_tags_is_read_to_the_limit_and_says_so() -> None:
    rows = next(case for case in CASES if case.name == "rows").make(400 * KILO)
    reading = read_page(rows, "http://f.example/viewforum.php?f=2", AT)
    assert "cut" in reading.evidence or "over_budget" in reading.evidence
    assert "cut" not in read_page(rows[:9_000], "http://f.example/viewforum.php?f=2", AT).evidence


def test_endless_addresses_have_short_patterns() -> None:
    url = "http://f.example/" + "a/" * 30_000
    assert len(patterns([url])[url]) < 100


def test_words_without_end_are_cut() -> None:
    assert tokenize("a" * 5_000_000) == ["a" * LONGEST_WORD]
    assert keywords("crawler " + "b" * 1_000_000 + " crawler frontier").keys() == {
        "crawler",
        "frontier",
    }
