"""Tests that every option of topic runs has an effect; tests of scope rules and of runs repeated by
a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Page, Run, RunHost
from focused.models import GraphNode, Topic, TopicPage, TopicRun
from focused.parameters import RunOptions
from focused.run import archived_pages, parse, sessions
from focused.run.scope import Scope
from focused.topic import topics
from tests.focused.topical import DOCUMENTS, TopicalWeb
from tests.site.server import LocalSite

OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}
TESTED_ELSEWHERE = {
    "pages",
    "minutes",
    "relevant",
    "source",
    "known",
    "fresh_days",
    "ahead",
}  # in test_crawl.py
TESTED_ELSEWHERE |= {"canonical", "sitemaps"}  # in test_canonical.py and test_sitemaps.py
TESTED_HERE = {
    "pages_per_host",
    "graph",
    "context",
    "main_text",
    "packed",
    "cache",
    "history",
    "random_seed",
}


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def topic() -> Iterator[Topic]:
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()
    with TopicalWeb(36) as web:
        made = topics.add(
            "crawlers", [web.url(0), web.url(1)], documents=DOCUMENTS, now=now(), settings=OPEN
        )
        crawled(made, "breadth_first")
        yield made


def crawled(topic: Topic, strategy: str = "best_first", **options: object) -> Run:
    run = topics.crawl(
        topic, strategy=strategy, options={"pages": 300, **options}, now=now(), start=False
    )
    assert engine.run_slice(run.pk) == "finished"
    return run


def order(run: Run) -> list[str]:
    return list(TopicPage.objects.filter(run=run).order_by("step").values_list("url", flat=True))


def test_every_option_is_tested() -> None:
    assert {field.name for field in fields(RunOptions)} == TESTED_ELSEWHERE | TESTED_HERE


@pytest.mark.django_db(transaction=True)
def test_options_change_what_happens(topic: Topic) -> None:
    plain = crawled(topic, "ant_colony", source="archive")
    assert order(crawled(topic, "ant_colony", source="archive", random_seed=9)) != order(plain)
    assert order(crawled(topic, "ant_colony", source="archive", random_seed=1)) == order(plain)
    assert order(crawled(topic, "ant_colony", source="archive", context="weighted")) != order(plain)
    before = order(crawled(topic, "context_graph", source="archive"))
    learned = crawled(topic, "context_graph", source="archive", history=plain.pk)
    assert order(learned) != before
    assert not GraphNode.objects.filter(run=plain).exists()
    assert GraphNode.objects.filter(run=crawled(topic, source="archive", graph="database")).exists()
    packed, loose = (crawled(topic, source="archive", packed=wish) for wish in (True, False))
    sizes = [
        sum(len(page.words or b"") for page in TopicPage.objects.filter(run=run))
        for run in (packed, loose)
    ]
    assert sizes[0] != sizes[1]
    words = [
        [
            archived_pages.words_of(page)
            for page in TopicPage.objects.filter(run=run, kind=0).order_by("step")
        ]
        for run in (packed, loose)
    ]
    assert words[0] == words[1]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("graph", ["memory", "database"])
def test_a_host_gives_no_more_pages_than_it_may(topic: Topic, graph: str) -> None:
    run = crawled(topic, "breadth_first", pages_per_host=6, graph=graph)
    run.refresh_from_db()
    assert RunHost.objects.get(run=run).fetched == 6 and run.stopped_by == "frontier"
    assert TopicPage.objects.filter(run=run, detail__contains="host_pages").exists()


@pytest.mark.django_db(transaction=True)
def test_pages_stay_parsed_as_long_as_the_cache_says(topic: Topic) -> None:
    archived_pages._parsed.clear()
    crawled(topic, source="archive", cache=0)
    assert not archived_pages._parsed
    crawled(topic, source="archive", cache=5)
    assert len(archived_pages._parsed) == 5


@pytest.mark.django_db(transaction=True)
def test_main_text_leaves_menus_out() -> None:
    hosts.forget()
    menu = (
        "<nav>" + "".join(f"<a href='/m{n}'>garden soup recipe</a>" for n in range(40)) + "</nav>"
    )
    article = (
        "<article>"
        + "<p>The topical crawler fetches pages from a frontier of seeds with politeness.</p>" * 12
        + "</article>"
    )
    with LocalSite() as site:
        site.add("/", f"<title>t</title><body>{menu}{article}</body>")
        made = topics.add("t", [site.url("/")], documents=DOCUMENTS, now=now(), settings=OPEN)
        scores = []
        for main in (False, True):
            run = topics.crawl(
                made, options={"pages": 1, "main_text": main}, now=now(), start=False
            )
            engine.run_slice(run.pk)
            scores.append(TopicPage.objects.get(run=run).similarity)
    assert scores[1] > scores[0]


def test_the_choices_of_a_list_change_nothing_in_the_main_text() -> None:
    article = (
        "<main><h1>Crawling</h1>"
        + "<p>The topical crawler fetches pages from a frontier of seeds.</p>" * 12
    )
    choices = (
        "<select name=c>"
        + "".join(f"<OPTION value={n}>choice {n}</OPTION>" for n in range(500))
        + "</select>"
    )
    plain = parse.main_text(f"<body>{article}<p>The end.</p></main>", "")
    assert (
        parse.main_text(f"<body>{article}<form>{choices}</form><p>The end.</p></main>", "") == plain
        and "The end." in plain
    )


@pytest.mark.django_db(transaction=True)
def test_a_due_topic_is_crawled_again_and_asks_only_for_what_is_new(topic: Topic) -> None:
    at = now()
    Topic.objects.update(
        interval_seconds=86_400, next_run=at - timedelta(days=5), options={"pages": 50}
    )
    assert topics.start_due(at) == 1 and topics.start_due(at) == 0, (
        "once, however long the downtime was"
    )
    topic.refresh_from_db()
    assert topic.next_run == at + timedelta(days=1)
    run = Run.objects.filter(kind="topic").latest("id")
    before = Page.objects.filter(run__isnull=False).count()
    assert engine.run_slice(run.pk) == "finished"
    row = TopicRun.objects.get(pk=run.pk)
    assert row.pages > 20 and before
    assert TopicPage.objects.filter(run=run, kind=0, recalled=False).count() == 0, (
        "all known pages are fresh"
    )
    Topic.objects.update(strategy="gone", next_run=at)
    Run.objects.filter(pk=run.pk).update(exclusive="")
    assert topics.start_due(at) == 0 and Event.objects.filter(code="topic_refused").exists()


@pytest.mark.parametrize(
    ("rules", "url", "depth", "refusal"),
    [
        ({}, "http://a.example/x", 5, None),
        ({"hosts": "a.example"}, "http://www.a.example/x", 1, None),
        ({"hosts": ["a.example"]}, "http://nota.example/x", 1, "host"),
        ({"hosts": ["a.example:8080"]}, "http://a.example:8080/x", 1, None),
        ({"without_hosts": ["a.example"]}, "http://b.a.example/", 1, "dropped_host"),
        ({"paths": ["/docs/"]}, "http://a.example/docs/x", 1, None),
        ({"paths": ["/docs/"]}, "http://a.example/other", 1, "path"),
        ({"paths": ["*.html"]}, "http://a.example/x.html", 1, None),
        (
            {"paths": ["/docs/"], "without_paths": ["*print=1*"]},
            "http://a.example/docs/x?print=1",
            1,
            "excluded_path",
        ),
        ({"depth": 2}, "http://a.example/", 3, "depth"),
        ({}, "http://a.example/a/a/a/", 1, "repeated_segment"),
        ({"traps": False}, "http://a.example/a/a/a/", 1, None),
    ],
)
def test_scope(rules: dict[str, object], url: str, depth: int, refusal: str | None) -> None:
    scope = Scope.from_mapping(rules)
    assert scope.refusal(url, depth) == refusal
    assert Scope.from_mapping(scope.as_json()) == scope


@pytest.mark.parametrize("rules", [{"depth": -1}, {"depth": "x"}, {"hsots": "a"}])
def test_wrong_scope_rules_are_refused(rules: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Scope.from_mapping(rules)


@pytest.mark.django_db(transaction=True)
def test_a_kill_while_a_repeated_run_is_started_starts_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Killed(BaseException):
        """Simulates the signal that ends a worker."""

    def killed(*given: object, **values: object) -> None:
        crawl(*given, **values)
        raise Killed

    due = now()
    topic = topics.add(
        "t",
        ["http://a.example/"],
        keywords={"w": 1.0},
        now=due,
        interval_seconds=3600,
        next_run=due,
    )
    crawl = topics.crawl
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(topics, "crawl", killed)
        topics.start_due(due)
    assert not Run.objects.exists()
    assert (topics.start_due(due), topics.start_due(due)) == (1, 0)
    topic.refresh_from_db()
    assert Run.objects.count() == 1 and topic.next_run == due + timedelta(hours=1)


@pytest.mark.django_db(transaction=True)
def test_a_replay_keeps_no_writer_out(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    run = topics.crawl(
        topic, options={"pages": 20, "source": "mixed", "known": "free"}, now=now(), start=False
    )
    engine.run_slice(run.pk, seconds=0.0)
    inside: list[bool] = []
    replay = sessions._replay

    def watched(*given: object) -> None:
        inside.append(connection.in_atomic_block)
        replay(*given)

    monkeypatch.setattr(sessions, "_replay", watched)
    sessions._live.clear()
    engine.run_slice(run.pk)
    assert inside == [False]
