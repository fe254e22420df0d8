"""rel=canonical: a page with two addresses is fetched and expanded once; a page that names a wrong
address is still stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawlmgr.frontier import hosts
from focused.models import TopicPage, TopicRun
from focused.pages import Content, given, same_page
from focused.run import archived_pages, sessions
from focused.topic import topics
from tests.focused.test_crawl import OPEN, crawled, now
from tests.focused.topical import DOCUMENTS
from tests.site.server import LocalSite

FIRST = (
    "The crawler keeps a frontier of seed addresses, obeys robots with politeness, and fetches"
    " topical pages for an archive."
)
SECOND = (
    "An anchor and its words tell a harvest of topical documents from kettles, carpets, violins and"
    " tomato recipes in a garden."
)


@pytest.mark.parametrize(
    ("own", "other", "same"),
    [
        ("http://a.example/t?utm=x", "http://a.example/t", True),
        ("http://a.example/t/index.html", "http://a.example/t/", True),
        ("http://a.example/T/", "http://a.example/t", True),
        ("http://a.example/t?a=x&b=y", "http://a.example/t?b=y", True),
        ("http://a.example/t?page=two", "http://a.example/t", False),
        ("http://a.example/t?id=7", "http://a.example/t", False),
        ("http://a.example/t", "http://a.example/t?lang=en", False),
        ("http://a.example/t/7", "http://a.example/", False),
    ],
)
def test_addresses_that_differ_in_form_only_are_one_page(own: str, other: str, same: bool) -> None:
    assert same_page(own, other) is same


def test_only_another_address_of_the_same_host_counts() -> None:
    def page(canonical: str) -> Content:
        return Content("http://a.example/t", "", {}, (), 0, canonical)

    assert given(page("http://a.example/u#top")) == "http://a.example/u"
    assert {
        given(page(url))
        for url in (
            "",
            "http://a.example/t",
            "http://b.example/u",
            "mailto:x",
            "http://a.example:81/u",
        )
    } == {""}


def body(text: str, canonical: str, *links: str) -> str:
    anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    return (
        '<html><head><title>t</title><link rel="canonical"'
        f' href="{canonical}"></head><body><p>{text}</p>{anchors}</body></html>'
    )


@pytest.fixture
def site() -> Iterator[LocalSite]:
    """A site whose pages have canonical links: those of /a, /a?ref=top and /print/a lead to /a, and
    those of /b and /seed, whose contents differ, do too."""
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()
    with LocalSite() as served:
        served.add("/robots.txt", "")
        served.add(
            "/seed",
            body("garden soup recipe tomato kettle", "/a", "/a?ref=top", "/a", "/print/a", "/b"),
        )
        for path in ("/a?ref=top", "/a", "/print/a"):
            served.add(path, body(FIRST, "/a"))
        served.add("/b", body(SECOND, "/a", "/c"))
        served.add("/c", body(f"{SECOND} {FIRST}", "/c"))
        yield served


def run_over(
    site: LocalSite, graph: str, **options: object
) -> tuple[TopicRun, list[str], dict[str, tuple[int, str]]]:
    topic = topics.add(
        "one page", [site.url("/seed")], documents=DOCUMENTS, now=now(), settings=OPEN
    )
    run = crawled(topic, "breadth_first", graph=graph, **options)
    steps = TopicPage.objects.filter(run=run).values_list("url", "kind", "final_url")
    plain = {
        url.removeprefix(site.url("")): (kind, final.removeprefix(site.url("")))
        for url, kind, final in steps
    }
    return (
        TopicRun.objects.get(pk=run.pk),
        [path for path in site.paths() if path != "/robots.txt"],
        plain,
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("graph", ["memory", "database"])
def test_a_page_under_two_addresses_is_one_page(site: LocalSite, graph: str) -> None:
    row, asked, steps = run_over(site, graph)
    assert "/a" not in asked, "its other address, which was fetched first, names it"
    assert steps["/a?ref=top"] == (TopicPage.Kind.PAGE, "/a")
    assert steps["/print/a"] == (
        TopicPage.Kind.SAME,
        "/a",
    ), "another path, but its content is that of the page it names"
    assert steps["/b"] == steps["/c"] == (TopicPage.Kind.PAGE, ""), (
        "a page of another content is not the page that it names"
    )
    assert steps["/seed"] == (TopicPage.Kind.PAGE, "")
    assert row.refused["other_address"] == 2 and row.pages == 4


@pytest.mark.django_db(transaction=True)
def test_without_the_setting_every_address_is_fetched(site: LocalSite) -> None:
    row, asked, steps = run_over(site, "memory", canonical=False)
    assert (
        len(asked) == len(set(asked)) == 6 and row.pages == 6 and "other_address" not in row.refused
    )
    assert {kind for kind, _final in steps.values()} == {TopicPage.Kind.PAGE}


@pytest.mark.django_db(transaction=True)
def test_a_replay_takes_the_addresses_that_the_run_took(site: LocalSite) -> None:
    topic = topics.add("again", [site.url("/seed")], documents=DOCUMENTS, now=now(), settings=OPEN)
    run = crawled(topic, "breadth_first")
    live = sessions._rebuilt(run, TopicRun.objects.get(pk=run.pk), sessions.no_pulse)
    assert live.graph.node(site.url("/a")) is live.graph.node(site.url("/a?ref=top"))


@pytest.mark.django_db(transaction=True)
def test_runs_over_the_archive_take_addresses_as_they_are(site: LocalSite) -> None:
    topic = topics.add("stored", [site.url("/seed")], documents=DOCUMENTS, now=now(), settings=OPEN)
    crawled(topic, "breadth_first", canonical=False)
    run = crawled(topic, "breadth_first", source="archive")
    assert TopicRun.objects.get(pk=run.pk).pages == 6
