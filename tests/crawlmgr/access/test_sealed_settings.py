"""Secrets among crawl settings: they are encrypted in the database, displayed as dots, left out of
archive and export files, and still sent with requests."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from crawlmgr import engine
from crawlmgr.access import vault
from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.exports import exports
from crawlmgr.frontier import fetching
from crawlmgr.models import Event, Run
from crawlmgr.runs import runs
from crawlmgr.web.http.exchange import FetchRequest
from deepweb.forms import sources
from deepweb.models import Source
from focused.models import Topic
from focused.topic import topics
from forums.crawler import ForumCrawler
from forums.discovery_crawler import DiscoveryCrawler
from forums.models import Board, Site
from forums.sites import sites
from tests.crawlmgr.admin.rows import site, user
from tests.site.server import LocalSite, Reply

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, tzinfo=UTC)
PROXY = "http://me:hunter2@proxy.example:3128"
SECRET = {
    "proxy": PROXY,
    "headers": {"X-Key": "hunter2", "Accept-Language": "de"},
    "cookies": {"sid": "hunter2"},
    "delay_seconds": 0.0,
}
DOTS = vault.DOTS


def test_sealing_hides_what_is_secret_and_opening_gives_it_back() -> None:
    stored = vault.sealed(SECRET)
    assert (
        "hunter2" not in json.dumps(stored)
        and stored["proxy"] == f"http://{DOTS}@proxy.example:3128"
    )
    assert stored["headers"] == {"X-Key": DOTS, "Accept-Language": "de"} and stored["cookies"] == {
        "sid": DOTS
    }
    assert vault.opened(stored) == SECRET == vault.opened(vault.sealed(stored))
    assert vault.shown(stored) == vault.shown(SECRET) and "sealed" not in vault.shown(stored)
    plain = {
        "delay_seconds": 1.0,
        "headers": {"Accept": "*/*"},
        "proxy": "http://proxy.example:3128",
    }
    assert vault.sealed(plain) == plain == vault.opened(plain)
    settings = vault.in_use(CrawlSettings.from_mapping(stored))
    assert (settings.proxy, dict(settings.headers), dict(settings.cookies)) == (
        PROXY,
        SECRET["headers"],
        SECRET["cookies"],
    )


@pytest.mark.parametrize(
    "proxy",
    [
        "http://hunter2@p:1",
        "http://a:hunter2/x@p:1",
        "http://a:hunter2@b@p:1",
        "a:hunter2@p:1",
        "http://a//hunter2@p:1",
    ],
)
def test_whatever_stands_before_the_host_of_a_proxy_is_secret(proxy: str) -> None:
    stored = vault.sealed({"proxy": proxy})
    assert "hunter2" not in json.dumps(stored) and stored["proxy"].endswith(f"{DOTS}@p:1")
    assert vault.opened(stored)["proxy"] == proxy


def test_a_value_added_beside_sealed_ones_is_sealed_with_them() -> None:
    stored = vault.sealed(SECRET)
    more = vault.sealed(
        {**stored, "headers": {**stored["headers"], "X-More": "hunter3"}, "cookies": {}}
    )
    assert "hunter3" not in json.dumps(more)
    assert vault.opened(more)["headers"] == {**SECRET["headers"], "X-More": "hunter3"}
    assert set(vault.unseal(more["sealed"])) == {
        "proxy",
        "headers X-Key",
        "headers X-More",
    }  # a removed secret is not kept


def test_nothing_is_stored_or_frozen_as_it_is() -> None:
    forum = site()
    sites.update(forum.pk, {"settings": SECRET}, now=NOW)
    Board.objects.create(site=forum, name="b", url="https://forum.example/b", key="b")
    visit = sites.crawl_now(
        forum.pk, now=NOW, parameters={"headers": {"X-Other": "hunter2"}}, start=False
    )
    topic = topics.add("t", ["http://a.example/"], keywords={"w": 1.0}, settings=SECRET, now=NOW)
    look = sources.find(["http://b.example/"], now=NOW, settings=SECRET, start=False)
    crawl = topics.crawl(topic, now=NOW, options={"pages": 5}, start=False)
    for table, field, _inside in (
        (Site, "settings", ""),
        (Topic, "settings", ""),
        (Source, "parameters", ""),
        (Run, "parameters", ""),
    ):
        stored = json.dumps(list(table.objects.values_list(field, flat=True)))
        assert "hunter2" not in stored and "sealed" in stored, table
    assert vault.opened(visit.parameters["settings"])["headers"] == {"X-Other": "hunter2"}
    for run in (look, crawl):
        assert vault.opened(run.parameters["settings"])["headers"] == SECRET["headers"]
    assert "hunter2" not in json.dumps(list(Event.objects.values_list("text", flat=True)))


@pytest.mark.parametrize("role", ["viewer", "operator", "administrator", "first"])
def test_pages_show_dots_to_all(role: str) -> None:
    forum = site()
    Site.objects.filter(pk=forum.pk).update(settings=SECRET)  # as stored by an older version
    run = Run.objects.create(
        kind="forum",
        label="x",
        target=forum.pk,
        created=NOW,
        parameters={"boards": [], "settings": SECRET},
    )
    sealed = runs.create(
        "forum", "x", parameters={"boards": [], "settings": SECRET}, now=NOW, start=False
    )
    client = Client()
    client.force_login(user(role))
    for address in (
        f"forums/site/{forum.pk}/",
        f"forums/site/{forum.pk}/edit/",
        f"runs/{run.pk}/",
        f"runs/{sealed.pk}/",
        "events/",
    ):
        text = client.get(f"/admin/{address}").content.decode()
        assert "hunter2" not in text and "gAAAA" not in text, address
        assert ("runs/" not in address) or (DOTS in text and "Accept-Language" in text)


def test_dots_in_the_form_keep_what_they_stand_for_and_go_to_no_other_proxy() -> None:
    forum = site()
    sites.update(forum.pk, {"settings": SECRET}, now=NOW)
    client = Client()
    client.force_login(user("operator"))
    page = client.get(f"/admin/forums/site/{forum.pk}/edit/").content.decode()
    assert (
        f"X-Key: {DOTS}" in page
        and f"http://{DOTS}@proxy.example:3128" in page
        and "Accept-Language: de" in page
    )
    form = {
        "name": forum.name,
        "timezone": "Asia/Shanghai",
        "delay_seconds": "3",
        "connections": "1",
        "history_days": "20",
        "max_pages": "200",
        "proxy": f"http://{DOTS}@proxy.example:3128",
        "headers": f"X-Key: {DOTS}\nX-New: hunter4",
        "respect_robots": "on",
        "use_apis": "on",
    }
    assert client.post(f"/admin/forums/site/{forum.pk}/edit/", form).status_code == 302
    kept = vault.opened(Site.objects.get().settings)
    assert (kept["proxy"], kept["headers"], kept["delay_seconds"]) == (
        PROXY,
        {"X-Key": "hunter2", "X-New": "hunter4"},
        3.0,
    )
    assert "hunter" not in json.dumps(Site.objects.get().settings)
    for wrong in ({"proxy": f"http://{DOTS}@evil.example:3128"}, {"headers": f"X-Unknown: {DOTS}"}):
        answer = client.post(f"/admin/forums/site/{forum.pk}/edit/", {**form, **wrong})
        assert answer.status_code == 422 and "give the value anew" in answer.content.decode()
    assert vault.opened(Site.objects.get().settings) == kept


def test_the_web_gets_the_secret_and_the_archive_and_exports_do_not(
    tmp_path: Path, settings: Any
) -> None:
    settings.ARCHIVE_DIR = tmp_path
    with LocalSite() as web:
        web.add("/", "<p>hello</p>")
        stored = vault.sealed({**SECRET, "proxy": "", "allow_private": web.authority})
        session = fetching.WebSession(CrawlSettings.from_mapping(stored), SYSTEM)
        response = session.fetch(FetchRequest(web.url("/")))
        session.close()
        asked = web.log[0].headers
        assert (
            asked["x-key"] == "hunter2"
            and "sid=hunter2" in asked["cookie"]
            and asked["accept-language"] == "de"
        )
    run = runs.create("forum", "x", parameters={"settings": stored}, now=NOW, start=False)
    book = archive.Archive(run.pk, NOW)
    assert book.write(response, NOW)
    book.close(NOW)
    raw = b"".join(_unpacked(path) for path in tmp_path.glob("*.gz"))
    assert b"hunter2" not in raw and b"X-Key" not in raw and b"Accept-Language: de" in raw
    assert b"hunter2" not in b"".join(exports.stream("runs", fmt="json"))


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_a_forums_secrets_are_meant_for_the_forum_alone() -> None:
    forum = site()
    Board.objects.create(site=forum, name="b", url="https://elsewhere.example/b", key="b")
    visit = sites.crawl_now(forum.pk, now=NOW, start=False)
    look = sites.discover("http://forum.example:81/x", {"settings": SECRET}, now=NOW, start=False)
    assert ForumCrawler().settings(visit).own_origins == "https://forum.example"
    assert (
        DiscoveryCrawler().settings(look).own_origins
        == "http://forum.example:81,https://forum.example:81"
    )


def test_robots_txt_of_another_host_gets_no_secret() -> None:
    """A page that redirects to another host is requested there without the site's secrets, and so
    is that host's robots.txt."""
    with LocalSite() as web, LocalSite() as other:
        web.add("/", Reply(b"", 302, {"Location": other.url("/x")}))
        other.add("*", "User-agent: *\nAllow: /")
        stored = vault.sealed(
            {**SECRET, "proxy": "", "allow_private": f"{web.authority},{other.authority}"}
        )
        session = fetching.WebSession(CrawlSettings.from_mapping(stored), SYSTEM)
        session.fetch(FetchRequest(web.url("/")))
        session.close()
        assert {request.path for request in other.log} == {"/robots.txt", "/x"}
        assert not any("hunter2" in str(dict(request.headers)) for request in other.log)
        assert "hunter2" in str(dict(web.log[0].headers))


def test_a_run_whose_secrets_cannot_be_read_sends_nothing_and_says_why(settings: Any) -> None:
    with LocalSite() as web:
        web.add("*", "<p>x</p>")
        chosen = {
            "headers": {"X-Key": "hunter2"},
            "allow_private": web.authority,
            "delay_seconds": 0.0,
        }
        run = sites.discover(web.url("/"), {"settings": chosen}, now=NOW, start=False)
        settings.SECRET_KEY = "another" * 10
        assert engine.run_slice(run.pk, seconds=None) == "failed"
        run.refresh_from_db()
        assert (run.state, run.stopped_by, run.breaks) == (
            "failed",
            "secrets_unreadable",
            0,
        ) and not web.log
    forum = site()
    Site.objects.filter(pk=forum.pk).update(settings=run.parameters["settings"])
    with pytest.raises(ValueError, match="give it anew"):
        sites.update(forum.pk, {"settings": {"headers": {"X-Key": DOTS}}}, now=NOW)
    sites.update(forum.pk, {"settings": {"headers": {"X-Key": "hunter5"}}}, now=NOW)
    assert vault.opened(Site.objects.get().settings)["headers"] == {"X-Key": "hunter5"}
