"""Full-text search over fetched pages: Chinese without spaces, traditional and simplified
characters, phrases, excluded words; its index is deleted with the topic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from crawlmgr import engine, jobs
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs
from crawlmgr.upkeep import backup_file
from crawlmgr.upkeep import removals as leaving
from focused.models import Topic, TopicPage
from focused.run import search
from focused.topic import topics
from tests.site.server import LocalSite

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = {
    "/1": (
        "<title>网页</title><p>主题爬虫抓取网页，计算链接的相关度。</p><a href='/2'>二</a><a"
        " href='/3'>三</a><a href='/4'>四</a>"
    ),
    "/2": "<title>網頁</title><p>主題爬蟲抓取網頁，計算連結的相關度。</p>",
    "/3": "<title>Cooking</title><p>The crawler's soups: don't fetch soup of c++ pages</p>",
    "/4": "<title>Frontier</title><p>A frontier of a topical crawler. It's 100% \\ 'quoted'</p>",
}


@pytest.fixture
def run() -> Iterator[Run]:
    hosts.forget()
    with LocalSite() as site:
        for path, html in TEXTS.items():
            site.add(path, html)
        topic = topics.add(
            "t",
            [site.url("/1")],
            documents=[("d", "爬虫 crawler")],
            now=datetime.now(UTC),
            settings={"allow_private": "127.0.0.1", "delay_seconds": 0.0},
        )
        run = topics.crawl(
            topic,
            strategy="breadth_first",
            options={"pages": 9},
            now=datetime.now(UTC),
            start=False,
        )
        engine.run_slice(run.pk)
        yield run


def titles(text: str, run: Run) -> set[str]:
    hits = search.find(search.read_query(text), [run.pk])
    assert hits.total == len(hits.pages)
    return set(TopicPage.objects.filter(pk__in=hits.pages).values_list("title", flat=True))


def test_words_of_any_script_are_found(run: Run) -> None:
    assert titles("抓取网页", run) == titles("抓取網頁", run) == {"网页", "網頁"}
    assert titles("crawlers", run) == {"Cooking", "Frontier"}
    assert titles("C++", run) == {"Cooking"}
    assert titles("quoted", run) == {"Frontier"}


def test_phrases_and_exclusions(run: Run) -> None:
    assert (
        titles('"topical crawler"', run) == {"Frontier"}
        and titles('"crawler topical"', run) == set()
    )
    assert titles("crawler -soup", run) == {"Frontier"}
    assert titles('"抓取网页"', run) == {"网页", "網頁"} and titles('"网页抓取"', run) == set()


@pytest.mark.parametrize(
    "text",
    ["", "  ", '"', "的", "-crawler", "' OR 1=1 --", "* AND (", "NEAR(a b)", "crawler' & !", "\\"],
)
def test_odd_queries_find_nothing_and_break_nothing(run: Run, text: str) -> None:
    assert titles(text, run) <= {"Cooking", "Frontier"}


def test_results_come_in_pieces_and_one_page_of_two_runs_once(run: Run) -> None:
    query = search.read_query("crawler")
    first, second = (search.find(query, [run.pk], start=n, limit=1) for n in (0, 1))
    assert first.total == second.total == 2 and first.pages != second.pages
    topic = Topic.objects.get()
    again = topics.crawl(
        topic,
        strategy="breadth_first",
        options={"pages": 9, "source": "archive"},
        now=datetime.now(UTC),
        start=False,
    )
    engine.run_slice(again.pk)
    both = search.find(query, [run.pk, again.pk])
    assert both.total == 2
    assert set(TopicPage.objects.filter(pk__in=both.pages).values_list("run_id", flat=True)) == {
        again.pk
    }


def test_deleted_with_their_topic(run: Run) -> None:
    topics.delete(Topic.objects.get(), datetime.now(UTC))
    assert search.find(search.read_query("crawler"), [run.pk]).total == 0
    assert not TopicPage.objects.exists() and not Run.objects.filter(pk=run.pk).exists()


def test_a_large_topic_is_deleted_by_a_run_batch_by_batch(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "BATCH", 2)
    monkeypatch.setattr(leaving, "AT_ONCE", 5)
    topic = Topic.objects.get()
    made = topics.start_removal(topic, datetime.now(UTC))
    assert made is not None and TopicPage.objects.exists()
    with pytest.raises(runs.Busy):
        topics.crawl(topic, now=datetime.now(UTC), start=False)
    assert jobs.run_slice(made.pk) == RunState.FINISHED
    assert search.find(search.read_query("crawler"), [run.pk]).total == 0
    assert (
        not TopicPage.objects.exists()
        and not Topic.objects.exists()
        and list(Run.objects.all()) == [made]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM"  # noqa: S608
            f" focused_pagetext{'_docsize' if connection.vendor == 'sqlite' else ''}"
        )
        assert cursor.fetchone() == (0,)


def test_a_flushed_database_leaves_no_words_and_a_restored_one_finds_them_again(
    run: Run, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "secret.key").write_text("s" * 60)
    backup_file.write(tmp_path / "all.tar", datetime.now(UTC), lambda _: None)
    call_command("flush", interactive=False, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM focused_pagetext")
        assert cursor.fetchone() == (0,)
    backup_file.restore(tmp_path / "all.tar", lambda _: None)
    assert titles("抓取網頁", run) == {"网页", "網頁"} and titles("crawler -soup", run) == {
        "Frontier"
    }
    topics.delete(Topic.objects.get(), datetime.now(UTC))
    assert search.find(search.read_query("crawler"), [run.pk]).total == 0


def test_of_words_on_many_pages_the_newest_are_ranked_and_that_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search.find(search.read_query("crawler"), [run.pk])
    assert whole.total == 2 and not whole.truncated
    monkeypatch.setattr(search, "MAX_RANKED", 1)
    hits = search.find(search.read_query("crawler"), [run.pk])
    assert (hits.total, hits.truncated, list(hits.pages)) == (1, True, [max(whole.pages)])
    assert not search.find(search.read_query("soup"), [run.pk]).truncated


def test_a_search_is_narrowed_to_a_topic_or_a_run_inside_the_index(run: Run) -> None:
    query, topic = search.read_query("crawler"), Topic.objects.get()
    assert search.find(query, topic=topic.pk).pages == search.find(query, [run.pk]).pages
    assert (
        not search.find(query, topic=topic.pk + 1).pages
        and not search.find(query, [run.pk + 1]).pages
        and not search.find(query).pages
    )
    assert not search.find(search.read_query(f"run#{run.pk}"), [run.pk]).pages, (
        "the index's own words are none of the pages'"
    )
