"""Input that no form of the web interface sends (digits of other scripts, huge numbers, NUL
characters, tokens of other lists) is refused or ignored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from focused.models import SampleDocument, Topic
from focused.topic import topics
from forums.models import EventLog, Site
from tests.crawlmgr.admin.rows import user
from tests.forums.planned import make_site

pytestmark = pytest.mark.django_db
ODD = ("²", "9" * 30, "9" * 5000, "-1", "")


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("administrator"))
    return made


@pytest.fixture
def topic() -> Topic:
    return topics.add(
        "t", ["http://a.example/", "http://b.example/"], keywords={"w": 1.0}, now=datetime.now(UTC)
    )


@pytest.fixture
def site() -> Site:
    return make_site("f", (1.0,))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("view", "fields"),
    [
        ("topic-seeds", {"do": "remove", "seed": None}),
        ("topic-samples", {"do": "remove", "sample": None}),
        ("topic-draw", {"run": None}),
        ("topic-compare", {"archive": None, "pages": None, "strategy": "best_first"}),
        ("topic-crawl", {"strategy": "best_first", "o_pages": None}),
        ("topic-schedule", {"interval": None}),
    ],
)
def test_odd_numbers_of_topics(
    client: Client, topic: Topic, view: str, fields: dict[str, Any], odd: str
) -> None:
    posted = {name: odd if value is None else value for name, value in fields.items()}
    assert client.post(reverse(f"admin:{view}", args=[topic.pk]), posted).status_code in (
        200,
        302,
        422,
    )
    assert topic.seeds.count() == 2


@pytest.mark.parametrize("odd", ODD)
def test_odd_numbers_of_forums(client: Client, site: Site, odd: str) -> None:
    for view in ("forum-crawl", "forum-boards", "forum-edit", "forum-plan-add"):
        asked = {"board": odd, "at": "2026-11-25T10:00", "do": "off"}
        if view != "forum-plan-add":
            assert client.post(reverse(f"admin:{view}", args=[site.pk]), asked).status_code in (
                302,
                422,
            )
    for view, query in (("forum", {"page": odd}), ("forum-plan", {"board": odd, "show": odd})):
        assert client.get(reverse(f"admin:{view}", args=[site.pk]), query).status_code == 200
    for view in ("clusters-make", "records"):
        sent = client.post if view == "clusters-make" else client.get
        assert sent(reverse(f"admin:{view}"), {"k": odd, "site": odd}).status_code in (200, 302)
    expected = 200 if odd == "" else 404
    assert (
        client.get(reverse("admin:export", args=["pages", "csv"]), {"run": odd}).status_code
        == expected
    )


@pytest.mark.parametrize("token", ["s61", "t2026-01-01", "5~1", "s00~1", "s61~s62", "~"])
def test_a_token_of_another_list_shows_the_first_page(
    client: Client, topic: Topic, token: str
) -> None:
    for view in ("topics", "sources", "runs", "records", "simulations"):
        assert client.get(reverse(f"admin:{view}"), {"after": token}).status_code == 200


def test_nul_is_refused_wherever_it_stands(client: Client, topic: Topic, site: Site) -> None:
    assert client.get(reverse("admin:records"), {"q": "a\0b"}).status_code == 400
    assert (
        client.post(reverse("admin:topic-words", args=[topic.pk]), {"keywords": "a\0b"}).status_code
        == 400
    )
    assert (
        client.post(
            reverse("admin:forum-model", args=[site.pk]), {"pattern_thread": "/a\0b"}
        ).status_code
        == 400
    )
    topic.refresh_from_db()
    assert topic.keywords == {"w": 1.0}


def test_a_file_that_is_no_text_is_kept_without_its_nul(client: Client, topic: Topic) -> None:
    file = SimpleUploadedFile("a.pdf", b"%PDF-1.4 \x00\x01 crawler words \xff\xfe")
    client.post(reverse("admin:topic-samples", args=[topic.pk]), {"files": file})
    kept = SampleDocument.objects.get(topic=topic)
    assert "crawler words" in kept.text and "\0" not in kept.text


def test_scope_rules_that_make_no_sense_are_not_kept_for_the_schedule(
    client: Client, topic: Topic
) -> None:
    asked = {"strategy": "best_first", "o_pages": "10", "depth": "deep", "keep": "1"}
    assert client.post(reverse("admin:topic-crawl", args=[topic.pk]), asked).status_code == 200
    topic.refresh_from_db()
    assert topic.options == {}


@pytest.mark.parametrize("stamp", [b"253402300799", b"-62135596800"])
def test_an_event_at_the_end_of_time_is_a_bad_row(client: Client, stamp: bytes) -> None:
    rows = b"board,thread,kind,ts\na,1,new,1700000000\na,1,reply," + stamp + b"\n"
    asked = {
        "kind": "schedules",
        "policies": "era",
        "visits_per_board": "4",
        "history_days": 20,
        "test_days": 10,
        "theta": 0.5,
        "reading": "cyclic",
        "bins": 24,
        "min_events": 0,
        "target_hours": 1,
        "timezone": "Asia/Shanghai",
        "upload": SimpleUploadedFile("x.csv", rows),
    }
    assert client.post(reverse("admin:simulation-new"), asked).status_code in (302, 422)
    assert EventLog.objects.get().bad_rows == 1
