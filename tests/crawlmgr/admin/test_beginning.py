"""The home page of an installation without runs: the three kinds of crawls, and starting and
stopping the demonstration."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from crawlmgr.upkeep import demonstration
from tests.crawlmgr.admin.rows import user, world

pytestmark = pytest.mark.django_db
START, END = "/admin/demonstration/start/", "/admin/demonstration/end/"


@pytest.fixture(autouse=True)
def place(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.DATA_DIR = tmp_path
    monkeypatch.setenv(demonstration.CAN, "1")
    return tmp_path


def desk(role: str) -> Client:
    made = Client()
    made.force_login(user(role))
    return made


def test_an_empty_desk_offers_three_kinds_and_the_demonstration() -> None:
    text = desk("administrator").get("/admin/").content.decode()
    for path in ("/admin/forums/add/", "/admin/topics/add/", "/admin/deepweb/add/", START):
        assert f'"{path}"' in text
    text = desk("operator").get("/admin/").content.decode()
    assert START not in text and "manage.py demo" in text
    assert "/admin/topics/add/" not in desk("viewer").get("/admin/?part=live").content.decode()


def test_it_is_wished_for_and_ended_from_the_desk() -> None:
    client = desk("administrator")
    client.post(START)
    assert demonstration.is_requested() and END in client.get("/admin/").content.decode()
    client.post(END)
    client.post(END)
    assert not demonstration.is_requested() and START in client.get("/admin/").content.decode()


def test_while_a_past_day_is_replayed_the_desk_says_so(place: Path) -> None:
    client = desk("viewer")
    demonstration.note_replay(datetime(2026, 3, 4, 5, 6, tzinfo=UTC))
    assert "replays 03-04 05:06 UTC" in client.get("/admin/status.json").json()["rate"]
    assert "It has reached 03-04 05:06 UTC." in client.get("/admin/").content.decode()
    os.utime(place / "demonstration.replay", (0, 0))
    assert "pages a minute" in client.get("/admin/status.json").json()["rate"], (
        "of a process that was killed"
    )
    demonstration.note_replay(datetime(2026, 3, 4, tzinfo=UTC))
    demonstration.note_replay(None)
    demonstration.note_replay(None)
    assert (
        'id="replayed"' not in client.get("/admin/").content.decode()
        and demonstration.replaying() is None
    )


def test_where_nobody_watches_for_the_wish_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(demonstration.CAN)
    answer = desk("administrator").post(START, follow=True)
    assert (
        not demonstration.is_requested()
        and "only if the program was started with `manage.py serve`" in answer.content.decode()
    )


@pytest.mark.parametrize("path", ["runs/", "forums/boards/", "forums/threads/", "forums/posts/"])
def test_lists_of_an_empty_desk_lead_to_the_first_forum(path: str) -> None:
    offered = '<a class="link" href="/admin/forums/add/">Add forum</a>'
    assert offered in desk("operator").get(f"/admin/{path}").content.decode()
    assert offered not in desk("viewer").get(f"/admin/{path}").content.decode()


def test_a_desk_at_work_is_not_asked_what_to_crawl() -> None:
    world(1)
    assert START not in desk("administrator").get("/admin/").content.decode()
