"""The tour through the demonstration: six steps, each on a page of the desk that links to the
next."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from crawlmgr.models import Run
from crawlmgr.upkeep import demonstration
from deepweb.models import Form, Harvest, Source
from focused.models import Topic
from focused.topic import topics
from forums.models import Board, Plan, Site, Visit
from tests.crawlmgr.admin.rows import NOW, user, world

pytestmark = pytest.mark.django_db
STEPS = 6


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    """A test client logged in as a user with the role viewer, while the demonstration is
    running."""
    world(3)
    mark = {demonstration.MARK: NOW.isoformat()}
    Site.objects.update(settings=mark)
    site = Site.objects.order_by("pk")[0]
    visit = Run.objects.create(
        kind="forum", label="f", created=NOW, state="finished", parameters={}
    )
    Visit.objects.create(run=visit, board=Board.objects.filter(site=site)[0], arrived_replies=1)
    if not Plan.objects.filter(site=site).exists():
        Plan.objects.create(site=site)
    topic = topics.add(
        "Bees",
        ["https://bees.example/"],
        documents=[("one", "bees honey hive wax")],
        now=NOW,
        settings=mark,
    )
    topics.crawl(topic, now=NOW, start=False)
    source = Source.objects.create(
        url="http://a.example/", key_hash=1, name="A", created=NOW, parameters=mark
    )
    described = {"method": "get", "action": "http://a.example/find", "controls": []}
    form = Form.objects.create(
        source=source,
        signature="s",
        page_url=source.url,
        action="http://a.example/find",
        type="search",
        found=NOW,
        described=described,
    )
    asked = Run.objects.create(
        kind="deepweb-harvest",
        label="a",
        created=NOW,
        state="finished",
        parameters={"policy": "fresh"},
    )
    Harvest.objects.create(run=asked, form=form, stopped_by="queries")
    monkeypatch.setattr(demonstration, "is_requested", lambda: True)
    made = Client()
    made.force_login(user("viewer"))
    return made


def _next(text: str) -> str:
    bar = text[text.index('id="tour"') :]
    found = re.search(r'<a class="btn small main" href="([^"]+)">', bar[: bar.index("</div>")])
    return found[1].replace("&amp;", "&") if found else ""


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_six_steps_lead_from_one_to_the_next(client: Client, language: str) -> None:
    client.cookies["django_language"] = language
    first = client.get("/admin/").content.decode()
    listed = [
        found.replace("&amp;", "&")
        for found in re.findall(r'class="choice" href="([^"]+tour=\d)"', first)
    ]
    assert len(listed) == STEPS == len(admin.site.tour)
    address, seen = listed[0], []
    while address:
        seen.append(address)
        answer = client.get(address)
        text = answer.content.decode()
        assert answer.status_code == 200 and f"{len(seen)}/{STEPS} · " in text, address
        assert ("An alarm" in text) == (language == "en") or len(seen) != 5
        address = _next(text)
    assert seen == listed


def test_a_page_that_is_no_step_shows_none(client: Client) -> None:
    for asked in ("", "?tour=0", "?tour=7", "?tour=x", "?tour=²", "?tour=-1", "?tour=" + "9" * 50):
        answer = client.get(f"/admin/alarms/{asked}")
        assert answer.status_code == 200 and 'id="tour"' not in answer.content.decode()


def test_steps_without_a_page_yet_are_left_out(client: Client) -> None:
    for model in (Site, Topic, Source):
        changes: dict[str, Any] = {"parameters": {}} if model is Source else {"settings": {}}
        model.objects.update(**changes)
    home = client.get("/admin/").content.decode()
    assert home.count("tour=") == 2 and "tour=5" in home and "tour=6" in home, (
        "alarms and exports are always there"
    )
    assert "4 steps follow" in home
    assert "5/6 · " in client.get("/admin/alarms/?tour=5").content.decode()
