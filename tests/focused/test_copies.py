"""Addresses whose pages were copies of others, by their shape, come last; nothing is lost."""

from __future__ import annotations

import random

import pytest

from crawlmgr.web.traps import COPIES_SEEN, Copies, folder_shape
from focused.models import TopicPage, TopicRun
from focused.run import sessions
from focused.strategies.base import BUILT_IN
from tests.focused.small_runs import crawled
from tests.site.server import LocalSite, Request

PAGES = 24
WORDS = "lantern harbour rope anchor mast keel sail tide buoy chart compass deck hull oar".split()


def test_a_shape_leads_to_copies_after_a_few() -> None:
    copies = Copies()
    for n in range(COPIES_SEEN):
        assert not copies.is_likely("http://a.example/print/next")
        copies.see(f"http://a.example/print/{'abcdefgh'[n]}", True)
        copies.see(f"http://a.example/wiki/{'abcdefgh'[n]}", n == 0)
    assert copies.is_likely("http://a.example/print/next")
    assert not copies.is_likely("http://a.example/wiki/next")
    assert not copies.is_likely("http://b.example/print/next")
    for n in range(COPIES_SEEN):
        copies.see(f"http://a.example/print/new{n}", False)
    assert not copies.is_likely("http://a.example/print/next"), "its pages are new again"


def test_the_shape_of_an_address() -> None:
    assert folder_shape("http://a.example/a?s=1&t=2") == folder_shape("http://a.example/b?t=9&s=x")
    assert folder_shape("http://a.example/3/a") == folder_shape("http://a.example/17/b")
    assert folder_shape("http://a.example/a") != folder_shape("http://a.example/a?print=1")
    assert folder_shape("http://a.example") == folder_shape("http://a.example/x")


def text(n: int) -> str:
    drawn = random.Random(n)
    return " ".join(f"{drawn.choice(WORDS)}{drawn.choice('abcdefgh')}" for _ in range(60))


def article(request: Request) -> str:
    """Page n of the wiki or the same in print; each links to its other form and to the next."""
    n = int(request.path.rpartition("/n")[2])
    after = f"<a href=/wiki/n{n + 1}>lantern</a>" if n + 1 < PAGES else ""
    return f"<title>lantern {n}</title><p>{text(n)}</p><a href=/print/n{n}>lantern</a>{after}"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("graph", ["memory", "database"])
@pytest.mark.parametrize(
    "strategy",
    sorted({"best_first", "breadth_first", "dynamic_tunnel", "adaptive"} & set(BUILT_IN)),
)
def test_copies_come_last_and_are_fetched_all_the_same(strategy: str, graph: str) -> None:
    with LocalSite() as site:
        site.add("/wiki/*", article)
        site.add("/print/*", article)
        run = crawled(site, "/wiki/n0", strategy, pages=200, ahead=1, graph=graph)
        asked = [path for path in site.paths() if path != "/robots.txt"]
        row = TopicRun.objects.get(pk=run.pk)
        assert len(asked) == len(set(asked)) == row.pages == 2 * PAGES
        assert run.stopped_by == "frontier" and row.duplicates == PAGES
        last = max(at for at, path in enumerate(asked) if path.startswith("/wiki"))
        early = sum(path.startswith("/print") for path in asked[:last])
        assert early <= COPIES_SEEN + 2, "the wiki is read before the rest of the copies"
        again = sessions._rebuilt(run, row, sessions.no_pulse)
        assert again.walk.copies.is_likely(site.url("/print/n99"))
        assert TopicPage.objects.filter(run=run, duplicate_of__isnull=False).count() == PAGES
