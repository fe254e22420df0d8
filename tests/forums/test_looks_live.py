"""Tests reading overview pages over real HTTP: such pages are found when a forum is added, and
later for forums saved by older versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db.models import Min

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from forums.models import Look, OverviewSource, Site, Visit
from forums.sites import sites
from forums.visits import overviews
from tests.forums.test_crawl import added, crawl, now
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=5, longest=4)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


def test_a_forum_saved_before_sources_were_looked_for_has_one_found_at_a_later_visit(
    server: ForumServer,
) -> None:
    site = added(server)
    named = OverviewSource.objects.get(site=site, kind="index", enabled=True)
    assert named.boards == sorted(site.boards.values_list("pk", flat=True)), (
        "found when it is added, with its boards"
    )
    OverviewSource.objects.all().delete()
    Site.objects.update(
        structure={key: value for key, value in site.structure.items() if key != "sources"}
    )
    crawl(site, history_days=400)
    assert not OverviewSource.objects.exists(), "the first visits read the boards"
    crawl(site)
    source, look = OverviewSource.objects.get(), Look.objects.get()
    assert (source.enabled, source.kind, source.url) == (True, "index", site.url)
    assert (look.state, look.cost) == ("done", 0) and len(source.boards) >= 2
    assert set(source.shown) == {str(pk) for pk in source.boards}
    crawl(site)
    assert Look.objects.count() == 1, "it is tried once"


def test_a_page_that_tells_nothing_is_tried_once_and_never_read(server: ForumServer) -> None:
    site = added(server)
    OverviewSource.objects.all().delete()
    first = next(iter(server.forum.all.values()))
    url = f"{server.url.rstrip('/')}/topic/{first.number}"
    Site.objects.update(
        structure={key: value for key, value in site.structure.items() if key != "sources"}, url=url
    )
    for _ in range(3):
        crawl(Site.objects.get(), history_days=400)
    assert (
        OverviewSource.objects.filter(enabled=False).count()
        == Look.objects.filter(state="failed").count()
        == 1
    )


def test_a_look_at_the_index_shows_what_has_come_without_a_visit(server: ForumServer) -> None:
    site = added(server)
    crawl(site, history_days=400)
    source = OverviewSource.objects.get(kind="index")
    shown = []
    for _ in range(2):
        look = overviews.ask(source, now())
        run = sites.crawl_now(site.pk, now=now(), readings=[look.pk], start=False)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        shown.append(Look.objects.get(pk=look.pk).shown)
        server.forum.reply(3, now())
        source.refresh_from_db()
    grown = [pk for pk in shown[0] if shown[1][pk][1] == shown[0][pk][1] + 1]
    assert len(grown) == 1 and Visit.objects.filter(kind="list").exists()


def test_a_page_that_has_not_changed_is_asked_for_and_not_sent(server: ForumServer) -> None:
    server.forum.etags = True
    site = added(server)
    crawl(site, history_days=400)
    source = OverviewSource.objects.get(kind="index")

    def look() -> Look:
        asked = overviews.ask(source, now())
        assert (
            engine.run_slice(
                sites.crawl_now(site.pk, now=now(), readings=[asked.pk], start=False).pk
            )
            == RunState.FINISHED
        )
        return Look.objects.get(pk=asked.pk)

    first, second = look(), look()
    assert (
        server.forum.unchanged.count("/") == 1
        and second.state == "done"
        and second.shown == first.shown
    )
    assert second.bytes < first.bytes / 4 and second.read_at > first.read_at
    server.forum.reply(3, now())
    third = look()
    assert server.forum.unchanged.count("/") == 1 and third.shown != first.shown


def test_a_reading_costs_as_many_visits_of_lists_as_it_is_heavy_whatever_targeted_visits_cost(
    server: ForumServer,
) -> None:
    site = added(server)
    crawl(site, history_days=400)
    source, board = OverviewSource.objects.get(kind="index"), site.boards.first()
    page = int(Visit.objects.aggregate(least=Min("bytes"))["least"])

    def cost() -> int:
        look = overviews.ask(source, now())
        run = sites.crawl_now(site.pk, now=now(), readings=[look.pk], start=False)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        source.refresh_from_db()
        return source.cost

    usual = cost()
    for _ in range(90):
        run = Run.objects.create(kind="forum", label="targeted", created=now())
        Visit.objects.create(
            board=board, run=run, kind="targeted", requests=1, bytes=max(1, page // 100)
        )
    assert cost() == usual
    Visit.objects.filter(kind="list").update(
        requests=1, bytes=max(1, Look.objects.latest("id").bytes // 3)
    )
    assert cost() == 3
