"""Long samples are processed by a worker's run with progress, never while a page is rendered;
limits are reported in one line."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from crawlmgr import jobs
from crawlmgr.models import Run, RunState
from crawlmgr.text.tokens import stem_of
from focused.admin import add
from focused.judge import relevance
from focused.models import SampleDocument, Topic
from focused.topic import readings, samples, topics
from focused.topic.lexicon import topic_lexicon
from tests.crawlmgr.admin.rows import user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE_WORD = "a" * 5_000_000


def text(seed: int, words: int = 4000) -> str:
    rng = random.Random(seed)
    common = [
        "crawler",
        "frontier",
        "harvest",
        "topic",
        "anchor",
        "page",
        "link",
        "index",
        "search",
        "relevance",
        "graph",
        "seed",
    ]
    return " ".join(
        rng.choice(common) if rng.random() < 0.6 else f"word{rng.randrange(300)}"
        for _ in range(words)
    )


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


@pytest.fixture
def topic() -> Topic:
    return topics.add("t", ["http://a.example/"], keywords={"crawler": 1.0}, now=NOW)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that were tokenised, in order."""
    seen: list[int] = []
    tokenise, rank = relevance.Tokenizer.__call__, readings.keywords

    def tokens(self: Any, text: str) -> list[str]:
        seen.append(len(text))
        return tokenise(self, text)

    def ranked(text: str, *rest: Any) -> dict[str, float]:
        seen.append(len(text))
        return rank(text, *rest)

    monkeypatch.setattr(relevance.Tokenizer, "__call__", tokens)
    monkeypatch.setattr(readings, "keywords", ranked)
    return seen


def sent(*texts: str) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(f"{n}.txt", one.encode()) for n, one in enumerate(texts)]


def test_no_web_thread_takes_a_long_text_apart(client: Client, watched: list[int]) -> None:
    """Very long samples (such as one word of 5 MB) are tokenised only by the worker, one per step,
    and never by a web request."""
    form = {
        "name": "long",
        "seeds": "http://a.example/",
        "delay_seconds": "1",
        "files": sent(ONE_WORD[:-9], text(1), text(2)),
    }
    assert client.post("/admin/topics/add/", form).status_code == 302
    topic, run = Topic.objects.get(), Run.objects.get(kind=readings.KIND)
    for path in ("", "words/", "?part=live", "crawl/"):
        assert client.get(f"/admin/topics/{topic.pk}/{path}").status_code == 200
    assert client.get("/admin/topics/").status_code == 200
    assert max(watched, default=0) < 1000, "taken apart while a person waited"

    shown = client.get(f"/admin/topics/{topic.pk}/").content.decode()
    assert (
        "The samples are being read" in shown and "0 of 3 samples" in shown and "data-live" in shown
    )
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    topic.refresh_from_db()
    assert (
        run.items == 5 and run.stopped_by == "samples_read"
    )  # three samples, the keywords, and the final computation
    assert max(watched) == readings.MAX_SAMPLE_CHARACTERS and "crawler" in topic.keywords

    watched.clear()
    shown = client.get(f"/admin/topics/{topic.pk}/").content.decode()
    client.get(f"/admin/topics/{topic.pk}/words/")
    assert "being read" not in shown and "chart-lexicon" in shown and max(watched, default=0) < 1000
    live = client.get(f"/admin/topics/{topic.pk}/?part=live")
    assert live.headers["X-Desk-Reload"] and live.headers["X-Desk-Done"]


def test_the_worker_finds_what_reading_at_once_finds(topic: Topic) -> None:
    texts = [(f"{n}", text(n)) for n in range(4)]
    samples.add(topic, texts, now=NOW)
    run = Run.objects.get(kind=readings.KIND)
    assert readings.of(topic) is None
    assert readings.renew(topic, now=NOW, drawing=True) == run, "one run is at it"
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    topic.refresh_from_db()
    pure = relevance.Relevance(topics.definition(topic))
    reading = readings.of(topic)
    assert reading is not None
    assert {stem_of(word): weight for word, weight in reading["vector"].items()} == pytest.approx(
        {word: weight / pure.top for word, weight in pure.vector.items()}
    )
    assert "relevance" in reading["vector"] and "relev" not in reading["vector"], (
        "words are shown as they are written"
    )
    drawn = topic_lexicon([one for _name, one in texts], readings.DRAWN_WORDS)
    assert {word: weight for word, weight in topic.keywords.items() if word != "crawler"} == {
        word: round(weight, 3) for word, weight in drawn.items() if word != "crawler"
    }


def test_a_killed_worker_goes_on_at_the_sample_where_it_stood(
    topic: Topic, watched: list[int]
) -> None:
    samples.add(topic, [(f"{n}", text(n)) for n in range(4)], now=NOW)
    run = Run.objects.get(kind=readings.KIND)
    read = [one.pk for one in readings.unread(topic).order_by("position")][:2]
    SampleDocument.objects.filter(pk__in=read).update(words={"crawler": 1.0})
    before = readings.progress(topic)
    assert before is not None and (before.read, before.all, before.percent) == (2, 4, 50)
    watched.clear()
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert run.items == 3


@pytest.mark.parametrize("change", ["keywords", "samples"])
def test_a_reading_is_of_the_topic_as_it_stands(topic: Topic, change: str) -> None:
    samples.add(topic, [(f"{n}", text(n)) for n in range(4)], now=NOW)
    assert jobs.run_slice(Run.objects.get(kind=readings.KIND).pk) == RunState.FINISHED
    topic.refresh_from_db()
    assert readings.of(topic) is not None
    if change == "keywords":
        topic.keywords = {"soup": 1.0}
    else:
        topic.documents.all()[0].delete()
    assert readings.of(topic) is None


def test_a_topic_that_nobody_reads_can_be_read_by_a_button(client: Client, topic: Topic) -> None:
    for n in range(4):
        one = text(n)
        SampleDocument.objects.create(
            topic=topic, name="s", text=one, characters=len(one), added=NOW
        )
    shown = client.get(f"/admin/topics/{topic.pk}/").content.decode()
    assert "have not been read yet" in shown and f"/admin/topics/{topic.pk}/read/" in shown
    assert client.post(f"/admin/topics/{topic.pk}/read/").status_code == 302
    assert Run.objects.filter(kind=readings.KIND, target=topic.pk).count() == 1


def test_short_samples_are_there_at_once(client: Client, topic: Topic) -> None:
    client.post(
        f"/admin/topics/{topic.pk}/samples/",
        {"do": "add", "texts": "a crawler\n---\na frontier of pages"},
    )
    topic.refresh_from_db()
    assert (
        not Run.objects.exists()
        and topic.documents.count() == 2
        and readings.of(topic) == topic.reading
    )
    assert topic.reading["words"] >= 3 and not readings.unread(topic).exists()


def test_what_is_too_long_is_cut_or_left_out_and_said(
    client: Client, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "MAX_SAMPLE_CHARACTERS", 1000)
    monkeypatch.setattr(readings, "MAX_TOPIC_CHARACTERS", 2900)
    files = sent(text(1, 100), text(2), text(3), text(4))
    shown = client.post(
        f"/admin/topics/{topic.pk}/samples/", {"do": "add", "files": files}, follow=True
    ).content.decode()
    assert "truncated to the first 1,000 characters: 1.txt" in shown
    assert "Not added, because a topic holds at most 2,900 characters of samples: 3.txt" in shown
    assert readings.characters(topic) <= 2900 and topic.documents.count() == 3


@pytest.mark.parametrize(
    ("most", "form", "said"),
    [
        ("MAX_FILE_BYTES", {"files": sent("x" * 3000)}, "0.txt is larger than"),
        ("MAX_FILES_BYTES", {"files": sent("x" * 600, "y" * 600)}, "At most 200 files,"),
        ("MAX_FILES", {"files": sent("x", "y", "z")}, "At most 2 files,"),
    ],
)
def test_files_that_are_too_large_are_refused_in_one_line(
    client: Client,
    topic: Topic,
    monkeypatch: pytest.MonkeyPatch,
    most: str,
    form: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setattr(add, most, 2 if most == "MAX_FILES" else 1000)
    for one in form["files"]:
        one.seek(0)
    shown = client.post(
        f"/admin/topics/{topic.pk}/samples/", {"do": "add", **form}, follow=True
    ).content.decode()
    assert said in shown and not topic.documents.exists()
    for one in form["files"]:
        one.seek(0)
    fields = {"name": "n", "seeds": "http://a.example/", "delay_seconds": "1", **form}
    answer = client.post("/admin/topics/add/", fields)
    assert (
        answer.status_code == 422 and said in answer.content.decode() and Topic.objects.count() == 1
    )


@pytest.mark.parametrize("pasted", [True, False])
def test_more_addresses_than_a_request_takes_are_refused(
    client: Client, topic: Topic, monkeypatch: pytest.MonkeyPatch, pasted: bool
) -> None:
    monkeypatch.setattr(add, "MAX_SEEDS", 5)
    lines = "\n".join(f"http://a.example/{n}" for n in range(6))
    form: dict[str, Any] = (
        {"seeds": lines} if pasted else {"file": SimpleUploadedFile("seeds.txt", lines.encode())}
    )
    shown = client.post(
        f"/admin/topics/{topic.pk}/seeds/", {"do": "add", **form}, follow=True
    ).content.decode()
    assert "At most 5 lines of addresses at once" in shown and topic.seeds.count() == 1


def test_lists_of_words_are_bounded(client: Client, topic: Topic) -> None:
    answer = client.post(
        f"/admin/topics/{topic.pk}/words/", {"keywords": "crawler=1", "negative": "x," * 30_000}
    )
    assert answer.status_code == 422 and "At most 50,000 characters" in answer.content.decode()
    topic.refresh_from_db()
    assert topic.negative == []


def test_a_fetched_page_is_read_too(topic: Topic) -> None:
    run = samples.fetch(topic, ["http://b.example/"], now=NOW, start=False)
    SampleDocument.objects.filter(topic=topic).update(
        text=text(1), characters=len(text(1)), problem=""
    )
    samples.SampleCrawler().ended(run, RunState.FINISHED, NOW)
    topic.refresh_from_db()
    assert readings.of(topic) == topic.reading and not readings.unread(topic).exists()
