"""A client generated only from the API's description adds a forum, crawls it, reads it and deletes
it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from crawlmgr import engine
from crawlmgr.access import tokens
from crawlmgr.api.base import api
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from forums.models import Post
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"


class Generated:
    """A client with a method for each operation of an OpenAPI description, named by its id; it
    takes parameters by name."""

    def __init__(self, description: dict[str, Any], client: Client) -> None:
        for path, methods in description["paths"].items():
            for method, operation in methods.items():
                setattr(self, operation["operationId"], self._make(client, path, method, operation))

    def _make(
        self, client: Client, path: str, method: str, operation: dict[str, Any]
    ) -> Callable[..., Any]:
        places = {one["name"]: one["in"] for one in operation.get("parameters", ())}

        def call(body: Any = None, **given: Any) -> Any:
            assert set(given) <= set(places), f"{path} takes {sorted(places)}"
            address = re.sub(r"\{(\w+)\}", lambda found: str(given[found[1]]), path)
            query = {
                name: value
                for name, value in given.items()
                if places[name] == "query" and value is not None
            }
            send = getattr(client, method)
            answer = (
                send(address, query)
                if method == "get"
                else send(address, json.dumps(body), content_type=JSON)
            )
            assert answer.status_code == 200, (address, answer.status_code, answer.content[:300])
            return (
                b"".join(answer.streaming_content).decode() if answer.streaming else answer.json()
            )

        return call


@pytest.fixture
def forum() -> Iterator[ForumServer]:
    hosts.forget()
    with ForumServer(LocalForum(boards=2, threads=8)) as server:
        yield server
    hosts.forget()


def test_a_generated_client_adds_crawls_reads_and_exports(forum: ForumServer) -> None:
    text, _row = tokens.make("client", "operator", now=datetime.now(UTC))
    http = Client(headers={"Authorization": f"Bearer {text}"})
    client: Any = Generated(http.get("/api/v1/openapi.json").json(), http)
    assert len(vars(client)) == sum(
        len(methods) for methods in api.get_openapi_schema()["paths"].values()
    )
    run = client.forums_api_add({"url": forum.url, "delay": 0})
    _open(run["id"], forum.url)
    assert engine.run_slice(run["id"]) == RunState.FINISHED
    wrong = http.post(
        f"/api/v1/forums/found/{run['id']}",
        json.dumps({"timezone": "Mars/North"}),
        content_type=JSON,
    )
    assert wrong.status_code == 422 and "no time zone" in wrong.json()["detail"]
    site = client.forums_api_keep({"name": "Mine"}, run=run["id"])["id"]
    assert [one["name"] for one in client.forums_api_site_list()["rows"]] == ["Mine"]
    run = client.forums_api_crawl(None, site=site)
    assert (
        engine.run_slice(run["id"]) == RunState.FINISHED
        and client.crawlmgr_api_shared_run_page(run=run["id"])["state"] == "finished"
    )
    rows, after = [], None
    while True:
        page = client.crawlmgr_api_shared_table_rows(table="posts", site=site, limit=7, after=after)
        rows += page["rows"]
        after = page["next"]
        if after is None:
            break
    assert len(rows) == Post.objects.count() > 8
    lines = client.crawlmgr_api_shared_export(table="posts", fmt="jsonl", site=site).split("\n")[
        :-1
    ]
    assert [_told(json.loads(line)) for line in lines] == [_told(row) for row in rows]


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times cut to milliseconds: lists give milliseconds, exports microseconds."""
    times = {
        name: datetime.fromisoformat(row[name])
        for name in ("posted", "first_seen", "edited_at", "gone_at")
        if row[name]
    }
    return {
        **row,
        **{
            name: time.replace(microsecond=time.microsecond // 1000 * 1000)
            for name, time in times.items()
        },
    }


def _open(run: int, url: str) -> None:
    """Allows one private address for the run, as an administrator does on the desk."""
    found = Run.objects.get(pk=run)
    found.parameters["settings"]["allow_private"] = urlsplit(url).netloc
    found.save(update_fields=["parameters"])
