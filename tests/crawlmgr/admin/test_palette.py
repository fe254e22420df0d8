"""The command palette: finds pages, items and actions by a few letters in both languages, limited
to the user's permissions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from crawlmgr.admin import palette
from crawlmgr.models import Run, RunState
from deepweb.models import Source
from focused.models import Topic
from forums.models import Board, Site
from tests.crawlmgr.admin.rows import site, user

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


@pytest.fixture
def forum() -> Site:
    forum = site(1)
    forum.name = "Riverside <b>"
    forum.save()
    Board.objects.create(
        site=forum, name="News of the river", url="https://forum.example/1", key="1"
    )
    Topic.objects.create(name="抓取策略", added=NOW)
    Source.objects.create(url="http://books.example/", key_hash=1, name="Books", created=NOW)
    Run.objects.create(
        kind="forum", label="Riverside", target=forum.pk, state=RunState.RUNNING, created=NOW
    )
    return forum


def _asked(text: str, role: str = "first", language: str = "en") -> list[dict[str, Any]]:
    client = Client(headers={"accept-language": language})
    client.force_login(User.objects.filter(username=role).first() or user(role))
    answer = client.get("/admin/palette/", {"q": text})
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["hits"]
    return found


@pytest.mark.parametrize(
    "text, title, view",
    [
        ("rivers", "Riverside <b>", "forum"),
        ("forum.example", "Riverside <b>", "forum"),
        ("news riverside", "News of the river", "board"),
        ("策略", "抓取策略", "topic"),
        ("books", "Books", "source"),
        ("worker", "Workers", "workers"),
        ("no such thing", "", ""),
        ("主机", "Hosts", "hosts"),
        ("tuning rivers", "Tuning: Riverside <b>", "forum-tuning"),
        ("records of books", "Records: Books", "records"),
        ("export posts of river", "Export posts: Riverside <b>", "export"),
        ("export records of books", "Export records: Books", "export"),
    ],
)
def test_what_is_meant_is_found(forum: Site, text: str, title: str, view: str) -> None:
    found = {hit["title"]: hit for hit in _asked(text)}
    if not title:
        assert found == {}
        return
    assert found[title].get("send") is None
    assert resolve(found[title]["url"].partition("?")[0]).url_name == view


@pytest.mark.parametrize(
    "text", ["crawl now rivers", "rivers crawl", "抓取rivers", "rivers 抓取", "cra"]
)
def test_an_action_is_sent_to_its_button(forum: Site, text: str) -> None:
    hit = next(hit for hit in _asked(text) if hit["title"] == "Crawl now: Riverside <b>")
    assert hit["url"] == f"/admin/forums/site/{forum.pk}/crawl/" and hit["send"] == {}


def test_every_action_of_every_kind_has_an_address() -> None:
    for kind in palette.KINDS:
        for verb in kind.verbs:
            assert resolve(verb.address(1).partition("?")[0]), (kind.name, verb.text)


def test_a_paused_forum_is_resumed_and_no_other(forum: Site) -> None:
    titles = {hit["title"]: hit for hit in _asked("pause rivers")}
    assert titles["Pause schedule: Riverside <b>"]["send"] == {"paused": "1"}
    assert any(title.startswith("Pause run: #") for title in titles)
    Site.objects.update(paused=True)
    client = Client()
    client.force_login(user("operator"))
    titles = {
        hit["title"]: hit for hit in client.get("/admin/palette/?q=resume rivers").json()["hits"]
    }
    assert titles["Resume schedule: Riverside <b>"]["send"] == {"paused": "0"}
    client.post(
        titles["Resume schedule: Riverside <b>"]["url"],
        titles["Resume schedule: Riverside <b>"]["send"],
    )
    assert not Site.objects.get().paused


def test_who_may_only_look_is_offered_no_action(forum: Site) -> None:
    found = _asked("crawl now rivers", "viewer")
    assert not [hit for hit in found if hit.get("send") is not None]
    assert not [hit for hit in _asked("users", "operator") if "user" in hit["url"]]


def test_a_run_is_found_by_its_number_and_in_words_of_the_reader(forum: Site) -> None:
    run = Run.objects.get()
    for text in (str(run.pk), f"#{run.pk}"):
        assert _asked(text)[-1]["url"] == f"/admin/runs/{run.pk}/"
    assert _asked("抓取rivers", language="zh-hans")[0]["title"] == "立即抓取: Riverside <b>"


def test_a_forum_is_named_before_its_runs(forum: Site) -> None:
    Run.objects.bulk_create(
        Run(
            kind="forum",
            label=forum.name,
            target=forum.pk,
            state="finished",
            finished=NOW,
            created=NOW,
        )
        for _ in range(9)
    )
    kinds = [one["kind"] for one in _asked("riverside")]
    assert (
        kinds[0] == "Forum"
        and kinds[-1] == "Run"
        and kinds == sorted(kinds, key=lambda one: one == "Run")
    )


def test_the_number_of_queries_does_not_grow_with_what_there_is(forum: Site) -> None:
    client = Client()
    client.force_login(user("first"))
    counts = []
    for made in (0, 200):
        Site.objects.bulk_create(
            Site(
                name=f"Riverside {number}",
                url=f"https://{number}.example/",
                url_hash=number,
                host=forum.host,
                added=NOW,
            )
            for number in range(10, 10 + made)
        )
        client.get("/admin/palette/?q=crawl riverside")
        with CaptureQueriesContext(connection) as queries:
            found = client.get("/admin/palette/?q=crawl riverside").json()["hits"]
        counts.append(len(queries))
        assert len(found) <= palette.MAX_SHOWN
    assert counts[0] == counts[1]
