"""Tests of pages that a user marks as on or off topic: how the marks change relevance feedback, an
active run and the next run, and how the list of pages to mark is sorted, shown and changed."""

import random
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from crawlmgr import engine
from crawlmgr.models import Run, RunState
from focused.judge.probability import VERSION, Feedback
from focused.models import TopicPage, TopicRun
from focused.pages import hashed
from focused.run import archived_pages, sessions
from focused.topic import marks, topics
from tests.crawlmgr.admin.rows import user
from tests.focused.test_admin import OPEN, nothing_is_known, web
from tests.focused.topical import DOCUMENTS, TopicalWeb

__all__ = ["nothing_is_known", "web"]
pytestmark = pytest.mark.django_db(transaction=True)


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def run(web: TopicalWeb) -> Run:
    topic = topics.add(
        "crawlers", [web.url(0), web.url(1)], documents=DOCUMENTS, now=now(), settings=OPEN
    )
    started = topics.crawl(topic, options={"pages": 25}, now=now(), start=False)
    assert engine.run_slice(started.pk) == RunState.FINISHED
    return started


def test_pages_taught_by_an_earlier_run_count_as_marked_ones() -> None:
    draw = random.Random(2)
    pages = [
        {f"{kind}{i}": 1 for i in draw.sample(range(12), 5)}
        for kind in ("web", "soup")
        for _ in range(30)
    ]

    def gap(marked: list[tuple[dict[str, float], bool]], own: dict[int, bool]) -> float:
        judge = Feedback([{"web0": 1, "soup0": 1}], marked)
        for words in pages:
            judge.add(hashed(words))
        for number, word in own.items():
            judge.mark(number, word)
        scores = judge.rank()
        return float(scores[:30].mean() - scores[30:].mean())

    plain, taught = gap([], {}), gap([(pages[0], True), (pages[40], False)], {})
    assert taught > plain + 0.01
    assert taught == pytest.approx(gap([], {0: True, 40: False}), rel=1e-6), (
        "whichever run they were marked in"
    )


def test_without_marks_there_is_no_number_but_ten_pages_to_mark(run: Run) -> None:
    row = TopicRun.objects.get(pk=run.pk)
    assert row.said == {
        "relevant": None,
        "harvest_rate": None,
        "harvest_interval": None,
        "harvest_doubt": "not enough to tell: mark ten pages",
    }
    found = marks.judge_pages(row)
    assert found.pages == row.pages == len(found.rows) + row.duplicates and found.harvest == {
        "marks": 0
    }
    assert row.judge == VERSION
    first, second = found.rows[0].page, found.rows[-1].page
    marks.mark(first, True)
    marks.mark(second, False)
    after = marks.judge_pages(row)
    assert (after.marks, after.harvest) == (2, {"marks": 2})
    assert {one.page.pk: one.score for one in after.rows[-2:]} == {first.pk: 1.0, second.pk: 0.0}
    assert after.rows[-1].sure == 1.0
    marks.mark(first, None)
    row.refresh_from_db()
    assert (row.harvest, row.harvest_rate) == ({"marks": 1}, None)


def test_ten_marks_give_a_rate_with_an_interval(run: Run) -> None:
    row = TopicRun.objects.get(pk=run.pk)
    for one in marks.shown(row, False, 10).rows:
        assert row.harvest_rate is None
        marks.mark(one.page, "crawler" in archived_pages.words_of(one.page))
        row.refresh_from_db()
    low, high = row.harvest["interval"]
    assert row.harvest["marks"] == 10 and row.harvest_rate is not None
    assert 0 <= low <= row.harvest_rate <= high <= 1 and low < high
    said = row.said
    assert (said["relevant"], said["harvest_doubt"]) == (round(row.harvest_rate * row.pages), None)
    assert row.harvest["curve"][-1] == [
        row.pages,
        pytest.approx(row.harvest_rate * row.pages, abs=2),
    ]
    judged = {one.page.pk: one.on_topic for one in marks.judge_pages(row).rows}
    stored = dict(TopicPage.objects.filter(run=run, kind=0).values_list("pk", "relevant"))
    assert judged == {pk: stored[pk] for pk in judged}


def test_what_is_shown_is_what_was_judged_and_worked_out_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = TopicRun.objects.get(pk=run.pk)
    for word in (None, True, False):
        marks.mark(marks.judge_pages(row).rows[0].page, word)
        whole = marks.judge_pages(row)
        for marked in (False, True):
            found = marks.shown(row, marked, 5)
            expected = [
                (one.page.pk, one.score)
                for one in whole.rows
                if (one.page.marked is not None) == marked
            ][:5]
            assert [(one.page.pk, one.score) for one in found.rows] == expected
            assert found[1:] == whole[1:]
    monkeypatch.setattr(marks, "judge_pages", None)
    assert marks.shown(row, True, 5).rows == found.rows


def test_only_a_fetched_page_can_be_marked(run: Run) -> None:
    one = TopicPage.objects.filter(run=run).first()
    assert one is not None
    one.kind = TopicPage.Kind.FAILED
    with pytest.raises(ValueError, match="only pages that were fetched"):
        marks.mark(one, True)


def test_a_mark_reaches_a_run_under_way_and_its_replay(web: TopicalWeb) -> None:
    topic = topics.add(
        "crawlers", [web.url(0), web.url(1)], documents=DOCUMENTS, now=now(), settings=OPEN
    )
    run = topics.crawl(topic, options={"pages": 30}, now=now(), start=False)
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        if not stopped and TopicRun.objects.get(pk=run.pk).pages >= 15:
            stopped = True
            engine.shutdown.set()

    try:
        assert engine.run_slice(run.pk, on_page=stop) == RunState.RUNNING
    finally:
        engine.shutdown.clear()
    page = (
        TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE).order_by("similarity").first()
    )
    assert page is not None
    marks.mark(page, True)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert (
        TopicPage.objects.filter(
            run=run, kind=TopicPage.Kind.EDIT, why__marks={page.url: True}
        ).count()
        == 1
    )
    sessions.forget(run.pk)
    again = sessions.acquire(Run.objects.get(pk=run.pk))
    assert again.walk.strategy._judge.marks == {again.walk.strategy.links.page_of(page.url): True}


def test_the_next_run_begins_with_the_marks_of_this_one(run: Run) -> None:
    row = TopicRun.objects.get(pk=run.pk)
    page = marks.judge_pages(row).rows[0].page
    marks.mark(page, True)
    following = topics.crawl(row.topic, options={"pages": 5}, now=now(), start=False)
    words, on_topic = TopicRun.objects.get(pk=following.pk).definition["marked"][0]
    assert on_topic is True and set(words.split(" ")) <= set(archived_pages.words_of(page))
    assert engine.run_slice(following.pk) == RunState.FINISHED


def test_the_desk_shows_and_stores_marks(run: Run) -> None:
    client = Client()
    client.force_login(user("operator"))
    address = reverse("admin:topic-marks", args=[run.pk])
    page = marks.judge_pages(TopicRun.objects.get(pk=run.pk)).rows[0].page
    html = client.get(address).content.decode()
    assert reverse("admin:topic-mark", args=[page.pk]) in html and "<kbd>j</kbd>" in html
    to = reverse("admin:topic-mark", args=[page.pk])
    assert client.post(to, {"mark": "on"}, headers={"X-Requested-With": "fetch"}).json() == {
        "page": page.pk,
        "mark": "on",
    }
    assert TopicPage.objects.get(pk=page.pk).marked is True
    assert (
        reverse("admin:topic-page", args=[page.pk])
        in client.get(address, {"marked": "1"}).content.decode()
    )
    assert client.post(to, {"mark": "none"}).url == address
    assert TopicPage.objects.get(pk=page.pk).marked is None
    assert client.post(to, {"mark": "perhaps"}).status_code == 404
    viewer = Client()
    viewer.force_login(user("viewer"))
    assert viewer.post(to, {"mark": "on"}).status_code == 403
    assert to not in viewer.get(address).content.decode()
