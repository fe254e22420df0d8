"""A counter in an address whose pages bring nothing new is a trap by what it does: it is followed
for a bounded number of pages, told and counted; series with contents are followed to their end."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from crawlmgr.models import Event, RunState
from crawlmgr.web.traps import BARREN_PAGES, Counters, counter_shape
from focused.models import TopicPage, TopicRun
from focused.run import sessions
from tests.focused.small_runs import crawled
from tests.site.server import LocalSite, Request

pytestmark = pytest.mark.django_db(transaction=True)
MONTHS = "January February March April May June July August September October".split()


def linked(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<a href="{link}">further</a>' for link in links)
    return f"<title>{title}</title><p>{text}</p>{anchors}"


def year(request: Request) -> str:
    n = int(request.query["statisticsYear"])
    return linked(f"Statistics {n}", "Articles 0", *(f"/s?statisticsYear={n + d}" for d in (-1, 1)))


def day(request: Request) -> str:
    n = int(request.query["date"].replace("-", ""))
    text = f"{MONTHS[n % 10]} no events"
    return linked("Events", text, f"/d?date={n + 1:08d}", f"/d?date={n + 2:08d}")


def month(request: Request) -> str:
    _, _, a, b = request.path.split("/")
    return linked("Calendar", "nothing planned", f"/cal/{a}/{int(b) + 1}", f"/cal/{int(a) + 1}/{b}")


def month_and_day(request: Request) -> str:
    numbers = [int(part) for part in request.path.split("/")[2:]]
    if len(numbers) == 2:
        return linked("Day", "no events", f"/m/{numbers[0] + 1}")
    return linked("Month", "no events", f"/m/{numbers[0] + 1}", f"/m/{numbers[0]}/1")


@pytest.mark.parametrize("graph", ["memory", "database"])
@pytest.mark.parametrize(
    ("first", "prefix", "answer"),
    [
        ("/s?statisticsYear=2026", "/s", year),
        ("/d?date=20310501", "/d", day),
        ("/cal/2099/12", "/cal/*", month),
        ("/m/1", "/m/*", month_and_day),
    ],
)
def test_an_endless_counter_is_left_and_told(
    first: str, prefix: str, answer: Callable[[Request], str], graph: str
) -> None:
    with LocalSite() as site:
        site.add("/", linked("Journal", "lantern harbour", "/issue/1", first))
        site.add(prefix, answer)
        site.add(
            "/issue/*",
            lambda request: linked(
                "Issue",
                "lantern harbour",
                *([f"/issue/{n + 1}"] if (n := int(request.path[7:])) < 25 else []),
            ),
        )
        run = crawled(site, pages=400, graph=graph)
        issues = [path for path in site.paths() if path.startswith("/issue")]
        trapped = [path for path in site.paths() if path.startswith(prefix.rstrip("*"))]
    assert (run.state, run.stopped_by) == (RunState.FINISHED, "frontier")
    assert len(issues) == 25 and BARREN_PAGES <= len(trapped) <= 3 * BARREN_PAGES
    assert TopicRun.objects.get().refused["counter"] >= 1
    told = Event.objects.filter(run=run, code="counter_trap")
    assert told.count() >= 1 and told[0].text.startswith("http://")
    row = TopicRun.objects.get()
    again = sessions._rebuilt(run, row, sessions.no_pulse)
    assert again.parameters.scope.counters and again.progress.steps == row.steps


def test_a_long_series_with_contents_is_read_to_its_end() -> None:
    words = "stone river field house cloud train glass paper night sound".split()

    def page(request: Request) -> str:
        n = int(re.sub(r"\D", "", request.path))
        text = " ".join(words[int(digit)] + str(place) for place, digit in enumerate(f"{n:03d}"))
        names = " ".join("abcdefghij"[int(digit)] * (p + 2) for p, digit in enumerate(f"{n:03d}"))
        return linked("Page", f"{text} {names}", *([f"/page/{n + 1}"] if n < 150 else []))

    with LocalSite() as site:
        site.add("/", linked("Start", "lantern harbour", "/page/1"))
        site.add("/page/*", page)
        run = crawled(site, pages=400)
    assert run.fetched == 151 and not Event.objects.filter(code="counter_trap").exists()
    assert TopicPage.objects.filter(kind=TopicPage.Kind.EDIT).count() == 0


def test_numbered_lists_of_pages_with_contents_are_no_trap() -> None:
    counters = Counters()
    for n in range(200):
        here = [f"http://a.example/article/{10 * n + i}" for i in range(10)]
        assert not counters.see(f"http://a.example/list?page={n}", ["list", str(n)], here)
        for i, url in enumerate(here):
            assert not counters.see(url, ["article", f"{'abcdefghij'[i]}{'x' * n}"], [])


def test_the_shape_of_an_address() -> None:
    shape = "http://h1.example/cal/0/0?d=0"
    assert counter_shape("http://h1.example/cal/2099/12?d=-3") == shape == counter_shape(shape)
    assert counter_shape("http://127.0.0.1:8000/about") == ""
