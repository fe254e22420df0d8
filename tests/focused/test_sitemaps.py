"""Sitemaps of a topic's seeds are read only if wanted, and the addresses most similar to the topic
are fetched; pages per host are limited."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from crawlmgr.frontier import hosts
from crawlmgr.models import Run, Url, UrlState
from focused.models import Topic, TopicPage, TopicRun
from focused.parameters import PAGES_PER_HOST
from focused.run import archived_pages, loop, sessions, stored_pages
from focused.strategies.base import BUILT_IN
from focused.topic import topics
from tests.focused.test_crawl import OPEN, begun, crawled, now
from tests.focused.topical import DOCUMENTS
from tests.site.server import LocalSite, Reply

pytestmark = pytest.mark.django_db(transaction=True)
HIDDEN = (
    "/hidden/crawler-frontier-robots.html",
    "/hidden/garden-soup.html",
    "/hidden/topical-harvest.html",
)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    """A seed page without links. robots.txt names a sitemap index, whose only sitemap lists pages
    that nothing links to."""
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()
    with LocalSite() as served:
        served.add(
            "/robots.txt",
            Reply(
                f"Sitemap: {served.url('/maps.xml')}\nSitemap: http://other.example/x.xml".encode(),
                content_type="text/plain",
            ),
        )
        part = f"<sitemap><loc>{served.url('/part.xml')}</loc></sitemap>"
        served.add(
            "/maps.xml",
            Reply(f"<sitemapindex>{part}</sitemapindex>".encode(), content_type="application/xml"),
        )
        places = [
            *(served.url(path) for path in HIDDEN),
            "http://other.example/crawler.html",
            served.url("/private/crawler.html"),
        ]
        locs = "".join(f"<url><loc>{place}</loc></url>" for place in places)
        served.add(
            "/part.xml", Reply(f"<urlset>{locs}</urlset>".encode(), content_type="application/xml")
        )
        served.add("/seed", "<title>seed</title><p>crawler frontier robots</p>")
        for number, path in enumerate(HIDDEN):
            served.add(
                path,
                f"<title>page {number}</title><p>A topical crawler keeps a frontier, page"
                f" number{number}.</p>",
            )
        yield served


def topic_of(site: LocalSite) -> Topic:
    return topics.add("listed", [site.url("/seed")], documents=DOCUMENTS, now=now(), settings=OPEN)


def fetched(run: Run, site: LocalSite) -> list[str]:
    urls = (
        TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE)
        .order_by("step")
        .values_list("url", flat=True)
    )
    return [url.removeprefix(site.url("")) for url in urls]


def test_sitemaps_are_read_only_if_wanted(site: LocalSite) -> None:
    run = crawled(topic_of(site), "best_first", sitemaps=False)
    assert fetched(run, site) == ["/seed"] and not {"/maps.xml", "/part.xml"} & set(site.paths())


@pytest.mark.parametrize("graph", ["memory", "database"])
def test_addresses_of_sitemaps_are_fetched_within_the_scope(site: LocalSite, graph: str) -> None:
    run = crawled(
        topic_of(site),
        "best_first",
        graph=graph,
        sitemaps=True,
        scope={"without_paths": ["/private/"]},
    )
    assert sorted(fetched(run, site)) == [
        "/hidden/crawler-frontier-robots.html",
        "/hidden/garden-soup.html",
        "/hidden/topical-harvest.html",
        "/seed",
    ]
    row = TopicRun.objects.get(pk=run.pk)
    assert row.refused["excluded_path"] == 1 and row.asked == 4, (
        "a sitemap costs nothing of the budget of pages"
    )
    assert not Url.objects.filter(run=run, url__contains="other.example").exists()
    assert set(
        Url.objects.filter(run=run, kind__in=stored_pages.KINDS).values_list("state", flat=True)
    ) == {UrlState.DONE}
    again = sessions._rebuilt(run, row, sessions.no_pulse)
    assert again.progress.steps == row.steps and again.walk.pages == row.pages
    assert not again.outstanding.why


def test_the_most_similar_addresses_are_taken(
    site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_pages, "MAX_ADDRESSES", 2)
    run = crawled(
        topic_of(site), "best_first", sitemaps=True, scope={"without_paths": ["/private/"]}
    )
    assert sorted(fetched(run, site)) == [
        "/hidden/crawler-frontier-robots.html",
        "/hidden/topical-harvest.html",
        "/seed",
    ]


@pytest.mark.parametrize("strategy", sorted(BUILT_IN))
def test_every_strategy_takes_listed_addresses(site: LocalSite, strategy: str) -> None:
    run = begun(topic_of(site), strategy)
    session = sessions.acquire(run)
    session.choose()
    session.edit(
        {"listed": {"url": site.url("/maps.xml"), "addresses": [site.url(path) for path in HIDDEN]}}
    )
    for url in list(session.outstanding.why):
        session.walk.failed(session.take(url))
    taken = set()
    while chosen := session.choose():
        taken |= set(chosen)
        for url in chosen:
            session.walk.failed(session.take(url))
    assert taken and taken <= {site.url(path) for path in HIDDEN}


def test_a_sitemap_that_is_missing_or_damaged_harms_nothing(site: LocalSite) -> None:
    site.add("/part.xml", Reply(b"<urlset><url><loc>", content_type="application/xml"))
    assert fetched(crawled(topic_of(site), "best_first", sitemaps=True), site) == ["/seed"]
    site.add("/maps.xml", Reply(b"gone", status=404))
    hosts.forget()
    run = crawled(Topic.objects.get(), "best_first", sitemaps=True)
    assert fetched(run, site) == ["/seed"] and TopicRun.objects.get(pk=run.pk).failed == 0


def test_words_of_an_address() -> None:
    assert (
        loop.address_text("http://a.example/%E7%88%AC%E8%99%AB/My_page-7.html")
        == "爬虫 My page html"
    )


def test_runs_over_many_hosts_have_a_limit_of_pages_per_host(site: LocalSite) -> None:
    topic = topic_of(site)

    def limit(**options: object) -> object:
        return begun(topic, **options).parameters["settings"].get("pages_per_host")

    assert limit() == PAGES_PER_HOST
    Run.objects.all().delete()
    assert limit(scope={"hosts": ["127.0.0.1"]}) is None, "a run that is about one host"
    Run.objects.all().delete()
    assert limit(scope={"hosts": ["127.0.0.1"]}, pages_per_host=7) == 7
    Run.objects.all().delete()
    assert limit(pages_per_host=0) is None
    Run.objects.all().delete()
    assert limit(source="archive") is None


@pytest.mark.parametrize("kind", ["application/x-gzip", "application/gzip"])
def test_a_compressed_sitemap_is_read_whatever_its_media_type(site: LocalSite, kind: str) -> None:
    part = f"<urlset><url><loc>{site.url(HIDDEN[0])}</loc></url></urlset>".encode()
    site.add("/part.xml", Reply(gzip.compress(part), content_type=kind))
    run = crawled(topic_of(site), "best_first", sitemaps=True)
    assert sorted(fetched(run, site)) == [HIDDEN[0], "/seed"]
