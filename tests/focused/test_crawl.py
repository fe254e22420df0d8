"""Topic crawls end to end, over real HTTP and from the archive: order, resumption, redirects,
refusals, budgets, edits."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Page, Run, RunState, Url, UrlState
from crawlmgr.runs import runs
from focused.crawler import TopicCrawler
from focused.graph import Node
from focused.models import GraphNode, Topic, TopicPage, TopicRun
from focused.run import archived_pages, sessions
from focused.strategies.base import BUILT_IN
from focused.topic import topics
from tests.clocks import ManualClock
from tests.focused.topical import DOCUMENTS, TopicalWeb

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def web(request: pytest.FixtureRequest) -> Iterator[TopicalWeb]:
    """A local web of 60 pages, or of 36 for tests with the mark `SMALL`, which crawl it many
    times."""
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()
    with TopicalWeb(getattr(request, "param", 60)) as served:
        yield served


SMALL = pytest.mark.parametrize("web", [36], indirect=True)


def topic_of(web: TopicalWeb, **values: object) -> Topic:
    return topics.add(
        "crawlers",
        [web.url(0), web.url(1)],
        documents=DOCUMENTS,
        now=now(),
        settings=OPEN,
        **{"threshold": 0.1, **values},
    )


def begun(
    topic: Topic,
    strategy: str = "best_first",
    parameters: dict[str, object] | None = None,
    **options: object,
) -> Run:
    return topics.crawl(
        topic,
        strategy=strategy,
        parameters=parameters,
        options={"pages": 200, **options},
        now=now(),
        start=False,
    )


def crawled(
    topic: Topic,
    strategy: str = "best_first",
    parameters: dict[str, object] | None = None,
    **options: object,
) -> Run:
    run = begun(topic, strategy, parameters, **options)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def log(run: Run) -> list[tuple[int, str]]:
    return list(TopicPage.objects.filter(run=run).order_by("step").values_list("kind", "url"))


def whole(topic: Topic) -> Run:
    return crawled(topic, "breadth_first")


def test_a_live_crawl_fetches_every_page_once_and_tells_what_became_of_each_address(
    web: TopicalWeb,
) -> None:
    run = crawled(topic_of(web))
    asked = web.asked()
    assert len(asked) == len(set(asked)) and run.stopped_by == "frontier"
    row = TopicRun.objects.get(pk=run.pk)
    pages = TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE)
    reached = {int(path.rpartition("/")[2].removesuffix(".html")) for path in asked}
    assert row.pages == pages.count() == len(reached - web.missing)
    assert row.failed == len(reached & web.missing) + 1 and run.refused == 1, (
        "404s, and the page that robots.txt closes"
    )
    assert run.failed == len(reached & web.missing) == sum(one.failed for one in run.hosts.all()), (
        "run, report and hosts agree"
    )
    assert row.asked == row.pages + row.failed - 1, "what robots.txt closes costs no fetch"
    found = {int(page.title.removeprefix("Page ")) for page in pages if page.relevant}
    assert found == web.on & {int(page.title.removeprefix("Page ")) for page in pages}
    assert Page.objects.filter(run=run, relevance__isnull=False).count() == row.pages
    assert not TopicPage.objects.filter(run=run, url__contains="secret", kind=0).exists()


def test_the_frontier_keeps_the_order_in_which_addresses_were_chosen(web: TopicalWeb) -> None:
    run = crawled(topic_of(web))
    pages = Url.objects.filter(run=run, kind="page").order_by("pk")
    placed = list(pages.values_list("priority", flat=True))
    assert len(placed) > 20 and placed == [-1.0 - place for place in range(len(placed))]


def test_each_page_knows_its_way_from_a_seed(web: TopicalWeb) -> None:
    run = crawled(topic_of(web))
    for page in TopicPage.objects.filter(
        run=run, kind=TopicPage.Kind.PAGE, depth__gt=0
    ).select_related("parent"):
        number = int(page.title.removeprefix("Page "))
        assert (
            page.parent is not None
            and page.parent.depth < page.depth
            or page.parent.depth == page.depth - 1
            or page.parent
        )
        assert number in web.links[int(page.parent.title.removeprefix("Page "))]
        assert page.why["parent"] == page.parent.url and "priority" in page.why["parts"]
        assert Url.objects.get(run=run, url=page.url).parent.url == page.parent.url


def test_redirects_lead_to_one_page_whatever_the_address(web: TopicalWeb) -> None:
    moved = min(web.moved)
    topic = topics.add(
        "moved",
        [web.url(moved), web.site.url(f"/now/{moved}.html")],
        documents=DOCUMENTS,
        now=now(),
        settings=OPEN,
    )
    run = crawled(topic)
    kinds = TopicPage.objects.filter(
        run=run, url__in=[web.url(moved), web.site.url(f"/now/{moved}.html")]
    ).values_list("kind", flat=True)
    assert sorted(kinds) == [TopicPage.Kind.PAGE], (
        "the second seed is the first one's end and is not fetched again"
    )


@SMALL
@pytest.mark.parametrize("strategy", sorted(BUILT_IN))
def test_memory_and_database_give_the_same_order_interrupted_or_not(
    web: TopicalWeb, strategy: str
) -> None:
    topic = topic_of(web)
    whole(topic)
    orders = []
    for graph in ("memory", "database"):
        orders.append(log(crawled(topic, strategy, source="archive", graph=graph)))
        run = begun(topic, strategy, source="archive", graph=graph)
        draw = random.Random(5)
        while (state := stretch(run, draw)) == RunState.RUNNING:
            if draw.random() < 0.5:
                sessions._live.clear()  # as if another process ran the next slice
        assert state == RunState.FINISHED
        orders.append(log(run))
    assert len(orders[0]) > 25
    assert orders[0] == orders[1] == orders[2] == orders[3]
    assert GraphNode.objects.filter(run__parameters__options__graph="database").exists()


def stretch(run: Run, draw: random.Random) -> str:
    """Works on a run for up to 25 steps, then ends the slice; returns the run's state."""
    before = TopicRun.objects.get(pk=run.pk).steps
    limit = before + draw.randint(1, 25)
    original = TopicCrawler.session

    def watching(self: TopicCrawler, asked: Run) -> sessions.Session:
        session = original(self, asked)
        if session.progress.steps >= limit:
            engine.shutdown.set()
        return session

    TopicCrawler.session = watching  # type: ignore[method-assign]
    try:
        return engine.run_slice(run.pk, seconds=60)
    finally:
        TopicCrawler.session = original  # type: ignore[method-assign]
        engine.shutdown.clear()


@pytest.mark.parametrize(
    ("strategy", "graph"),
    [("ant_colony", "memory"), ("ant_colony", "database"), ("dolphin", "database")],
)
def test_a_live_run_taken_over_by_other_processes_goes_on_as_if_nothing_had_been(
    web: TopicalWeb, strategy: str, graph: str
) -> None:
    topic = topic_of(web)
    whole_run = crawled(topic, strategy, graph=graph)
    run = begun(topic, strategy, graph=graph)
    draw = random.Random(2)
    while stretch(run, draw) == RunState.RUNNING:
        sessions._live.clear()
    assert log(run) == log(whole_run)
    reasons = TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE).values_list(
        "why", flat=True
    )
    assert all("parts" in why for why in reasons), "why a page's turn came is known of each"


class Ticking(ManualClock):
    """A clock that advances by one second each time it is read."""

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[TopicPage]:
    """A list to which every step replayed from the database is added; each step is replayed in its
    own transaction."""
    monkeypatch.setattr("focused.crawler.RECALL_PAGES", 1)
    steps: list[TopicPage] = []
    original = sessions._again

    def watching(session: sessions.Session, node: Node, step: TopicPage) -> None:
        steps.append(step)
        original(session, node, step)

    monkeypatch.setattr(sessions, "_again", watching)
    return steps


def forgotten(web: TopicalWeb) -> tuple[Run, list[tuple[int, str]]]:
    """Returns a run over archived pages that was interrupted half way and is in no process's
    memory, and the log of the same crawl without an interruption."""
    topic = topic_of(web)
    whole(topic)
    expected = log(crawled(topic, source="archive"))
    run = begun(topic, source="archive")
    assert stretch(run, random.Random(3)) == RunState.RUNNING
    sessions._live.clear()
    return run, expected


def test_a_replay_holds_the_lease_and_heeds_a_wish(
    web: TopicalWeb, replayed: list[TopicPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, expected = forgotten(web)
    leases: list[datetime] = []
    original = runs.beat

    def beat(lease: runs.Lease, at: datetime) -> str:
        leases.append(at)
        if len(replayed) == 4:
            runs.pause(run.pk, at)
        return original(lease, at)

    monkeypatch.setattr(runs, "beat", beat)
    assert engine.run_slice(run.pk, clock=Ticking(now()), seconds=20) == RunState.PAUSED
    assert len(replayed) == 4 <= len(leases), "a beat a step, where each takes a second"
    monkeypatch.setattr(runs, "beat", original)
    runs.resume(run.pk, now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED and log(run) == expected
    assert len({step.pk for step in replayed}) == len(replayed), (
        "the second slice went on where the first had come to"
    )


def test_a_replay_that_takes_longer_than_a_task_may_goes_on_in_the_next(
    web: TopicalWeb, replayed: list[TopicPage], settings: LazySettings
) -> None:
    run, expected = forgotten(web)
    settings.TASK_TIMEOUT_SECONDS = 5
    slices = 1
    while (
        engine.run_slice(run.pk, clock=Ticking(now()), seconds=8) == RunState.RUNNING
        and slices < 50
    ):
        slices += 1
    assert (
        slices > 2 and len({step.pk for step in replayed}) == len(replayed) and log(run) == expected
    )


def test_a_replay_that_could_never_end_fails_and_says_so(
    web: TopicalWeb, replayed: list[TopicPage], settings: LazySettings
) -> None:
    topic = topic_of(web)
    whole(topic)
    run = begun(topic, "ant_colony", source="archive", graph="database")
    assert stretch(run, random.Random(3)) == RunState.RUNNING
    settings.TASK_TIMEOUT_SECONDS = 5
    for _ in range(3):
        sessions._live.clear()
        with pytest.raises(RuntimeError, match="longer than a task may"):
            engine.run_slice(run.pk, clock=Ticking(now()), seconds=8)
    run.refresh_from_db()
    assert run.state == RunState.FAILED and "use a graph in memory" in run.detail


def test_the_network_and_the_archive_give_the_same_order(web: TopicalWeb) -> None:
    topic = topic_of(web)
    live = crawled(topic, "shark")
    before = len(web.site.log)
    again = crawled(topic, "shark", source="archive")
    assert len(web.site.log) == before and again.requests == 0
    pages = [url for kind, url in log(live) if kind == TopicPage.Kind.PAGE]
    assert [url for kind, url in log(again) if kind == TopicPage.Kind.PAGE] == pages
    assert Page.objects.filter(
        run=again, warc__isnull=False, relevance__isnull=False
    ).count() == len(pages)


@pytest.mark.parametrize("strategy", ["breadth_first", "best_first"])
def test_a_busy_machine_changes_no_choice(
    web: TopicalWeb, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """A mixed run takes as many pages from the archive after each page of the network, and in the
    same order, if each takes long to read."""
    topic = topic_of(web)
    whole(topic)
    lacking = list(Page.objects.order_by("pk").values_list("url", flat=True)[3::9])
    recall, follow = TopicCrawler._recall, TopicCrawler._follow
    busy, taken, after = 0.0, 0, [0]

    def slowly(self: TopicCrawler, *given: Any) -> bool:
        nonlocal taken
        time.sleep(busy)
        found = recall(self, *given)
        taken += found
        return found

    def counting(self: TopicCrawler, *given: Any) -> Any:
        before = taken
        links = follow(self, *given)
        after.append(taken - before)
        return links

    monkeypatch.setattr(TopicCrawler, "_recall", slowly)
    monkeypatch.setattr(TopicCrawler, "_follow", counting)
    orders = []
    for seconds in (0.0, 0.06):
        busy = seconds
        Page.objects.filter(url__in=lacking).delete()
        after.clear()
        run = crawled(topic, strategy, source="mixed", pages=30)
        orders.append((log(run), list(after)))
    assert orders[0] == orders[1] and max(after) > 1


def test_a_mixed_run_asks_only_for_what_the_archive_lacks(web: TopicalWeb) -> None:
    topic = topic_of(web)
    crawled(topic, "breadth_first", pages=20)
    known = set(web.asked())
    run = crawled(topic, "breadth_first", source="mixed")
    later = web.asked()[20:]
    have = {f"/page/{n}.html" for n in web.missing | web.moved}
    assert not (set(later) - have) & known
    assert TopicPage.objects.filter(run=run, recalled=True).count() >= 15


def test_a_repeated_run_takes_known_pages_for_nothing_and_asks_again_for_what_is_due(
    web: TopicalWeb,
) -> None:
    topic = topic_of(web)
    crawled(topic, "breadth_first", pages=20)
    run = crawled(topic, "breadth_first", source="mixed", known="free", pages=10)
    row = TopicRun.objects.get(pk=run.pk)
    assert row.asked == 10 and row.pages + row.failed > 25
    Page.objects.update(fetched_at=datetime(2020, 1, 1, tzinfo=UTC))
    before = len(web.asked())
    due = crawled(topic, "breadth_first", source="mixed", fresh_days=30, known="free", pages=500)
    assert due.unchanged > 10, "asked conditionally, answered 304"
    assert len(web.asked()) - before >= due.unchanged
    assert TopicRun.objects.get(pk=due.pk).pages >= row.pages


def test_budgets_in_pages_relevant_pages_and_minutes(web: TopicalWeb) -> None:
    topic = topic_of(web)
    run = crawled(topic, pages=7)
    assert (run.stopped_by, TopicRun.objects.get(pk=run.pk).asked, len(web.asked())) == (
        "pages",
        7,
        7,
    )
    run = crawled(topic, relevant=5)
    assert (run.stopped_by, TopicRun.objects.get(pk=run.pk).relevant) == ("relevant", 5)
    run = begun(topic, minutes=0.000001)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert run.stopped_by == "minutes"


def test_scope_keeps_the_crawl_inside_and_counts_what_it_refused(web: TopicalWeb) -> None:
    topic = topic_of(web)
    run = crawled(topic, "breadth_first", scope={"without_paths": ["/page/1*"], "depth": 2})
    row = TopicRun.objects.get(pk=run.pk)
    assert not any(path.startswith("/page/1") for path in web.asked())
    assert row.refused["excluded_path"] > 0 and row.refused["depth"] > 0
    assert max(TopicPage.objects.filter(run=run).values_list("depth", flat=True)) == 2


def test_edits_while_running(web: TopicalWeb) -> None:
    topic = topic_of(web)
    run = begun(topic, "best_first", pages=30)
    stretch(run, random.Random(1))
    topics.edit_run(run, {"seeds": [web.url(40)], "parameters": {"anchor": "0.9"}})
    assert engine.run_slice(run.pk) == RunState.FINISHED
    steps = log(run)
    edit = next(i for i, (kind, _) in enumerate(steps) if kind == TopicPage.Kind.EDIT)
    assert web.url(40) in [url for _, url in steps[edit + 1 : edit + 3]], "a new seed comes next"
    sessions._live.clear()
    rebuilt = sessions.acquire(Run.objects.get(pk=run.pk))
    assert rebuilt.walk.strategy.settings.anchor == 0.9, "the log holds the edit"
    with pytest.raises(ValueError, match="ended"):
        topics.edit_run(Run.objects.get(pk=run.pk), {"seeds": [web.url(41)]})


def test_a_dropped_host_is_asked_no_more(web: TopicalWeb) -> None:
    topic = topic_of(web)
    run = begun(topic, "breadth_first")
    stretch(run, random.Random(1))
    before = len(web.asked())
    topics.edit_run(run, {"without_hosts": [web.site.authority]})
    engine.run_slice(run.pk)
    assert len(web.asked()) <= before + 1
    run.refresh_from_db()
    assert run.state == RunState.FINISHED


def test_several_hosts_are_asked_in_turn(web: TopicalWeb) -> None:
    with TopicalWeb(seed=9) as other:
        topic = topics.add(
            "two",
            [web.url(0), other.url(0)],
            documents=DOCUMENTS,
            now=now(),
            settings={**OPEN, "allow_private": "127.0.0.1"},
        )
        run = begun(topic, "breadth_first", ahead=4, pages=60)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        assert abs(len(web.asked()) - len(other.asked())) <= 12
        one = log(run)
        assert len({url for _, url in one}) == len(one)
        sessions._live.clear()
        assert sessions.acquire(Run.objects.get(pk=run.pk)).progress.steps == len(one)


def test_a_second_run_of_a_topic_under_way_is_refused(web: TopicalWeb) -> None:
    topic = topic_of(web)
    begun(topic)
    with pytest.raises(runs.Busy):
        begun(topic)


def test_nothing_is_left_in_work_at_the_end(web: TopicalWeb) -> None:
    run = crawled(topic_of(web), pages=10)
    assert not Url.objects.filter(run=run, state__in=[UrlState.WAITING, UrlState.CLAIMED]).exists()
