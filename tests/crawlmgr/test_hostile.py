"""Tests that parsing a hostile page takes time at most proportional to its size, and that of a page
that exceeds a limit the beginning is read, the same on any machine, and this is said."""

from __future__ import annotations

import ast
import gc
import itertools
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

from crawlmgr.text.tokens import LONGEST_WORD, keywords, tokenize
from crawlmgr.web.pages.html import scan
from crawlmgr.web.pages.tree import MAX_CHARS, READ_TAGS
from forums.reading import PageKind, apis, read_page
from forums.reading.apis import feeds
from forums.reading.document import MAX_LINKS, Page
from forums.reading.patterns import patterns
from tests.benches.hostile import hostile
from tests.benches.hostile.pages import CASES
from tests.growth import MAX_RATIO, growth
from tests.statements import trees

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


READERS = ("crawlmgr/text/", "crawlmgr/web/", "forums/reading/", "focused/", "deepweb/")
CLOCKS = frozenset("time process_time thread_time perf_counter monotonic clock_gettime".split())
# what waits or is watched by the clock, as it must: requests, what the archive gives between two of
# them, and figures of how long something took
BY_THE_CLOCK = frozenset(
    """
    crawlmgr/web/http/fetch_pool.py crawlmgr/web/http/wire.py crawlmgr/web/http/fetch.py
    focused/crawler.py
    focused/lab/comparison.py focused/commands/crawl.py focused/lab/stored_comparisons.py
    focused/admin/words.py
    """.split()
)


def test_no_reader_looks_at_a_clock() -> None:
    asking = {
        path
        for path, tree in trees().items()
        if path.startswith(READERS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
        and node.attr in CLOCKS
    }
    assert asking <= BY_THE_CLOCK


def test_a_page_of_too_many_tags_is_read_to_the_limit_on_a_machine_however_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = next(case for case in CASES if case.name == "rows").make(400 * KILO)
    seconds = itertools.count(0, 100)
    for clock in CLOCKS - {"time", "clock_gettime"}:
        monkeypatch.setattr(time, clock, lambda: float(next(seconds)))
    reading = read_page(rows, "http://f.example/viewforum.php?f=2", AT)
    assert (reading.kind, "cut" in reading.evidence, reading.complete) == (
        PageKind.threadlist,
        True,
        False,
    )
    tags_of_a_row = 14
    assert len(reading.records) == READ_TAGS // tags_of_a_row
    assert "cut" not in read_page(rows[:9_000], "http://f.example/viewforum.php?f=2", AT).evidence


def test_reading_does_the_same_work_beside_eight_busy_processes() -> None:
    rows = next(case for case in CASES if case.name == "rows").make(4 * KILO)

    def calls() -> tuple[int, object]:
        for memory in hostile._memories():
            memory.cache_clear()
        counted = Counter[str]()
        sys.setprofile(lambda _frame, event, _value: counted.update((event,)))
        try:
            reading = read_page(rows, "http://f.example/viewforum.php?f=2", AT)
        finally:
            sys.setprofile(None)
        return counted["call"], reading

    gc.collect()
    gc.disable()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        calls()
        beside = calls()
    finally:
        for process in busy:
            process.kill()
            process.wait()
        gc.enable()
    assert calls() == beside


def test_a_feed_of_too_many_items_is_read_to_the_limit() -> None:
    feed = next(case for case in CASES if case.name == "feed").make(900 * KILO)
    reading = apis.read_api(feed, "http://f.example/feed")
    assert len(reading.records) == feeds.MAX_ITEMS < feed.count("<item>")
    assert (reading.complete, reading.evidence) == (False, ("feed", "cut"))


def test_a_page_of_too_many_links_is_said_to_be_read_in_part() -> None:
    links = next(case for case in CASES if case.name == "links")
    page = Page(links.make(200 * KILO), "http://f.example/", AT)
    assert len(page.links) == MAX_LINKS and page.is_cut
    assert not Page(links.make(20 * KILO), "http://f.example/", AT).is_cut


def test_a_topic_s_page_of_too_many_characters_is_said_to_be_read_in_part() -> None:
    text = "<p>reef</p>" * (MAX_CHARS // 11 + 1)
    scanned = scan(text, "http://f.example/")
    assert scanned.is_cut and not scan(text[:900], "http://f.example/").is_cut


def test_endless_addresses_have_short_patterns() -> None:
    url = "http://f.example/" + "a/" * 30_000
    assert len(patterns([url])[url]) < 100


def test_words_without_end_are_cut() -> None:
    assert tokenize("a" * 5_000_000) == ["a" * LONGEST_WORD]
    assert keywords("crawler " + "b" * 1_000_000 + " crawler frontier").keys() == {
        "crawler",
        "frontier",
    }
