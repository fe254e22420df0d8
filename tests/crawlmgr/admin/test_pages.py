"""All views: permissions, escaping of content from the web, and a number of queries that does not
grow with the rows."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.crawlmgr.admin.rows import page_addresses, user, world

pytestmark = pytest.mark.django_db


class Parsed(HTMLParser):
    """Parses a page and collects everything in it that a browser could execute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.handlers: list[str] = []
        self.links: list[dict[str, Any]] = []
        self.images: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "script" and not values.get("src") and values.get("type") != "application/json":
            self.inline.append(str(attrs))
        if tag == "img":
            self.images.append(str(values.get("src")))
        self.handlers += [name for name, _value in attrs if name.startswith("on")]
        if tag in ("a", "form", "iframe", "link"):
            self.links.append(
                {
                    "address": (
                        values.get("href") or values.get("action") or values.get("src") or ""
                    ),
                    **values,
                }
            )


def client_of(role: str) -> Client:
    client = Client()
    client.force_login(user(role))
    return client


@pytest.fixture
def keys() -> dict[str, int]:
    return world(7)


def test_nobody_sees_a_room_without_a_login(keys: dict[str, int]) -> None:
    for address in page_addresses(keys):
        answer = Client().get(address)
        assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (
            302,
            "/admin/login/",
        ), address


@pytest.mark.parametrize("role", ["viewer", "operator", "administrator", "first"])
def test_every_role_sees_every_page(keys: dict[str, int], role: str) -> None:
    client = client_of(role)
    for address in page_addresses(keys):
        assert client.get(address).status_code == 200, address


def test_a_user_without_a_role_sees_nothing(keys: dict[str, int]) -> None:
    client = client_of("none")
    for address in page_addresses(keys):
        answer = client.get(address)
        if address.split("?")[0] != "/admin/":
            assert answer.status_code == 403, address
        assert b"alert(1)" not in answer.content


def test_a_user_without_a_role_has_no_status_bar() -> None:
    for role, shown in (("none", False), ("viewer", True)):
        client = Client()
        client.force_login(user(role))
        assert ('id="desk-bar"' in client.get("/admin/").content.decode()) is shown


def test_what_comes_from_the_web_stays_text(keys: dict[str, int]) -> None:
    client = client_of("first")
    for address in page_addresses(keys):
        answer = client.get(address)
        if answer.headers["Content-Type"] == "application/json":
            continue
        page = Parsed(answer.content.decode())
        assert not page.inline and not page.handlers and not page.images, address
        for link in page.links:
            assert not str(link["address"]).lower().lstrip().startswith(("javascript:", "data:")), (
                address
            )
            if str(link["address"]).startswith("http"):
                assert link.get("rel") == "noopener noreferrer", address


def test_the_content_policy_is_strict(keys: dict[str, int]) -> None:
    client = client_of("viewer")
    policy = client.get("/admin/").headers["Content-Security-Policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == "'self' 'unsafe-eval'"
    assert (
        parts["frame-ancestors"] == "'none'"
        and parts["base-uri"] == "'none'"
        and parts["form-action"] == "'self'"
    )
    outside = Client().get("/healthz").headers["Content-Security-Policy"]
    assert "unsafe-eval" not in outside


def count_queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(address).status_code == 200, address
    return len(found)


@pytest.mark.once
def test_no_page_queries_more_for_hundreds_of_rows_than_for_ten() -> None:
    client = client_of("first")
    few = world(10)
    client.get("/admin/")
    counts = [count_queries(client, address) for address in page_addresses(few)]
    for name in (
        "forums.EventLog",
        "forums.Site",
        "crawlmgr.Host",
        "crawlmgr.Run",
        "crawlmgr.Event",
        "crawlmgr.Node",
        "crawlmgr.WarcFile",
        "crawlmgr.Page",
    ):
        _empty(name)
    many = world(320)  # more than any list or tree of the web interface shows
    client.get("/admin/")
    for address, before in zip(page_addresses(many), counts, strict=True):
        # requested a second time, in case cached figures were just being recomputed
        assert (
            count_queries(client, address) <= before or count_queries(client, address) <= before
        ), address


def _empty(name: str) -> None:
    model = apps.get_model(name)
    if name == "crawlmgr.Host":
        apps.get_model("crawlmgr.Page").objects.all().delete()
    model.objects.all().delete()


def test_missing_things_are_not_found(keys: dict[str, int]) -> None:
    client = client_of("viewer")
    for address in (
        "runs",
        "hosts",
        "archive/files",
        "archive/pages",
        "forums/site",
        "forums/board",
        "forums/thread",
        "forums/add",
        "forums/tree",
    ):
        assert client.get(f"/admin/{address}/999999/").status_code == 404, address


def test_an_empty_desk_says_how_to_begin() -> None:
    text = client_of("operator").get("/admin/").content.decode()
    assert "No forum yet" in text and 'name="address"' in text
    assert 'name="address"' not in client_of("viewer").get("/admin/").content.decode()


def test_pages_come_in_chinese_when_asked(keys: dict[str, int]) -> None:
    client = client_of("viewer")
    client.cookies["django_language"] = "zh-hans"
    answer = client.get("/admin/")
    assert answer.headers["Content-Language"] == "zh-hans" and b'lang="zh-hans"' in answer.content
