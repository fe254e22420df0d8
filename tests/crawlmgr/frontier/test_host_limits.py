"""A run's limit of pages per host is exact even with parallel requests, is reported, and counts
over all slices of the run."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.conf import LazySettings
from django.test import Client

from crawlmgr import engine
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier.hosts import REASON, HostLimit
from crawlmgr.models import Host, Page, Run, RunHost, RunState, Url
from crawlmgr.runs import run_reads, runs
from focused.topic import topics
from tests.crawlmgr.admin.rows import user
from tests.deepweb.test_admin import filled
from tests.site.server import LocalSite, Reply

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
ROBOTS = Reply(b"User-agent: *\n", content_type="text/plain")


def _run(settings: LazySettings, urls: list[str], **wishes: object) -> Run:
    settings.CRAWLERS = {"plain": "tests.crawlmgr.frontier.test_in_flight_pool.Plain"}
    links = [{"url": url, "key": url} for url in urls]
    return runs.create(
        "plain", "plain", parameters={"links": links, "settings": wishes}, now=NOW, start=False
    )


def _fill(site: LocalSite, number: int) -> list[str]:
    site.add("/robots.txt", ROBOTS)
    for place in range(number):
        site.add(f"/{place}", Reply(b"<p>page</p>", content_type="text/html"))
    return [site.url(f"/{place}") for place in range(number)]


@pytest.mark.parametrize("connections", [1, 6])
def test_the_limit_is_held_exactly_on_each_host(settings: LazySettings, connections: int) -> None:
    with LocalSite() as first, LocalSite() as second:
        urls = [*_fill(first, 25), *_fill(second, 3)]
        run = _run(settings, urls, pages_per_host=5, connections=connections)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        asked = [path for path in first.paths() if path != "/robots.txt"]
    run.refresh_from_db()
    pages = {
        row.host.key: row.fetched for row in RunHost.objects.filter(run=run).select_related("host")
    }
    assert (
        sorted(pages.values()) == [3, 5]
        and Page.objects.filter(run=run).count() == 8 == run.fetched
    )
    assert len(asked) == 5
    assert Url.objects.filter(run=run, reason=REASON).count() == 20
    told = run_reads.report(run, NOW)
    assert (told["pages_per_host"], told["hosts_full"]) == (5, 1)
    assert sum(row["urls"] for row in told["outcomes"] if row["reason"] == REASON) == 20
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("viewer"))
    page = client.get(f"/admin/runs/{run.pk}/").content.decode()
    assert (
        "1 host reached this run's limit of 5 pages" in page
        and "the limit of pages per host was reached" in page
    )


def test_what_fails_does_not_count(settings: LazySettings) -> None:
    with LocalSite() as site:
        good = _fill(site, 4)
        for place in range(5):
            site.add(f"/bad{place}", Reply(b"no", status=500))
        bad = [site.url(f"/bad{place}") for place in range(5)]
        run = _run(settings, [*bad, *good], pages_per_host=4, connections=4, max_attempts=2)
        assert engine.run_slice(run.pk) == RunState.FINISHED
    assert (
        Page.objects.filter(run=run).count() == 4
        and not Url.objects.filter(run=run, reason=REASON, url__in=good).exists()
    )


def test_no_limit_leaves_nothing_out(settings: LazySettings) -> None:
    with LocalSite() as site:
        run = _run(settings, _fill(site, 12), connections=4)
        assert engine.run_slice(run.pk) == RunState.FINISHED
    assert Page.objects.filter(run=run).count() == 12
    told = run_reads.report(Run.objects.get(pk=run.pk), NOW)
    assert told["pages_per_host"] is None and told["hosts_full"] == 0


def test_a_later_slice_goes_on_counting() -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    host = Host.objects.create(key="a.example")
    RunHost.objects.create(run=run, host=host, fetched=4)
    limit = HostLimit(run.pk, 5)
    assert not limit.full(host.pk) and limit.has_capacity(host.pk)
    limit.sent(host.pk)
    assert not limit.has_capacity(host.pk) and not limit.full(host.pk)
    assert not limit.ended(host.pk, page=False) and limit.has_capacity(host.pk)
    limit.sent(host.pk)
    assert limit.ended(host.pk, page=True) and limit.full(host.pk)
    assert (
        HostLimit(run.pk, 4).full_hosts() == {"a.example": host.pk}
        and HostLimit(run.pk, 5).full_hosts() == {}
    )
    assert HostLimit(run.pk, 4).full(host.pk) and not HostLimit(run.pk, 0).full(host.pk)


def test_a_topic_and_a_harvest_hand_the_limit_to_their_runs() -> None:
    topic = topics.add("t", ["https://example.org/"], now=NOW, options={"pages_per_host": 7})
    run = topics.crawl(topic, now=NOW, start=False)
    assert CrawlSettings.from_mapping(run.parameters["settings"]).pages_per_host == 7
    form = filled().form
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("operator"))
    budget = {
        "policy": "fresh",
        "queries": "5",
        "probes": "0",
        "details": "0",
        "min_gain": "0.01",
        "pages_per_host": "9",
    }
    client.post(f"/admin/deepweb/form/{form.pk}/harvest/", budget)
    made = Run.objects.get(kind="deepweb-harvest", state=RunState.QUEUED)
    assert (
        made.parameters["settings"] == {"pages_per_host": 9}
        and "pages_per_host" not in made.parameters
    )
