"""The API: who may use it, its responses, and that it does the same as the buttons of the web
interface."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import translation

from crawlmgr.access import tokens
from crawlmgr.access.desk import operations
from crawlmgr.api import shared
from crawlmgr.api.base import api, limit
from crawlmgr.exports import exports
from crawlmgr.models import ApiToken, Event, Run, RunState
from forums.models import Plan, Post
from tests.crawlmgr.admin.rows import user, world

pytestmark = pytest.mark.django_db


def _client(role: str, **wanted: Any) -> Client:
    text, _row = tokens.make(f"a {role}", role, now=datetime.now(UTC), **wanted)
    return Client(headers={"Authorization": f"Bearer {text}"})


def _operations() -> list[tuple[str, str]]:
    return [
        (method, path)
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
    ]


def _address(path: str) -> str:
    for name in ("run", "site", "topic", "form", "export"):
        path = path.replace(f"{{{name}}}", "1")
    path = path.replace("{action}", "pause").replace("{table}", "runs").replace("{fmt}", "csv")
    assert "{" not in path
    return path


def test_every_operation_wants_a_token_and_each_that_changes_something_one_that_may() -> None:
    """A login session of the desk is not accepted, so that no page of another site can use the
    API."""
    nobody, session, viewer, operator = Client(), Client(), _client("viewer"), _client("operator")
    session.force_login(user("first"))
    operations = _operations()
    assert len(operations) >= 20
    for method, path in operations:
        address = _address(path)
        wrong = Client(headers={"Authorization": "Bearer crawl_nothing"})
        for client in (nobody, session, wrong):
            assert getattr(client, method)(address).status_code == 401, (method, path)
        if path.endswith("/stream"):
            continue
        answer = getattr(viewer, method)(address, content_type="application/json")
        if method == "get":
            assert answer.status_code in (200, 404), (path, answer.content)
        else:
            assert answer.status_code == 403 and "operator" in answer.json()["detail"], (
                path,
                answer.content,
            )
            assert (
                getattr(operator, method)(address, content_type="application/json").status_code
                != 403
            )
    described = "/api/v1/openapi.json"
    assert Client().get(described).status_code == wrong.get(described).status_code == 401
    assert viewer.get(described).status_code == session.get(described).status_code == 200
    assert not Run.objects.exists()


def test_a_token_ends_by_its_time_and_by_being_removed_and_its_text_is_not_kept() -> None:
    now = datetime.now(UTC)
    text, row = tokens.make("nightly", "viewer", now=now, days=2)
    assert tokens.find(text, now) == row and tokens.find(text, now + timedelta(days=3)) is None
    assert ApiToken.objects.get().last_used == now
    assert text not in json.dumps(
        list(ApiToken.objects.values()) + list(Event.objects.values()), default=str
    )
    client = Client(headers={"Authorization": f"Bearer {text}"})
    assert client.get("/api/v1/status").status_code == 200
    assert tokens.remove(row.pk, now) and not tokens.remove(row.pk, now)
    assert client.get("/api/v1/status").status_code == 401


def test_all_rows_of_all_tables_come_page_by_page_as_they_are_exported() -> None:
    world(7)
    client = _client("viewer")
    for name, table in exports.tables().items():
        if table.plain is not None:
            continue
        rows, after = [], ""
        while True:
            page = client.get(f"/api/v1/tables/{name}?limit=3{after}").json()
            rows += page["rows"]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        whole = b"".join(client.get(f"/api/v1/export/{name}.jsonl").streaming_content).decode()
        said = [json.loads(line) for line in whole.splitlines()]
        assert [list(row) for row in rows] == [list(row) for row in said] and len(rows) == len(
            said
        ), name
        for one, other in zip(rows, said, strict=True):
            plain = {key for key, value in one.items() if not isinstance(value, str)}
            assert [one[key] for key in plain] == [other[key] for key in plain]
    assert client.get("/api/v1/tables/posts").json()["rows"], "the rows above were none"


def test_rows_are_narrowed_and_wrong_values_are_told_in_one_line() -> None:
    keys = world(3)
    client = _client("viewer")
    own = client.get(f"/api/v1/tables/posts?site={keys['site']}&limit=1000").json()["rows"]
    assert len(own) == Post.objects.filter(thread__site_id=keys["site"]).count() > 0
    assert client.get("/api/v1/tables/posts?site=987654").json()["rows"] == []
    assert client.get("/api/v1/tables/posts?since=2999-01-01T00:00:00Z").json()["rows"] == []
    for wrong in ("limit=0", "limit=1001", "after=-1", "since=2026-01-01", "site=x"):
        assert client.get(f"/api/v1/tables/posts?{wrong}").status_code == 422, wrong
    assert (
        client.get("/api/v1/export/posts.csv?columns=author,colour")
        .json()["detail"]
        .startswith("posts has no column 'colour'")
    )
    assert (
        client.get("/api/v1/tables/nothing").status_code
        == client.get("/api/v1/export/posts.xml").status_code
        == 404
    )


def test_a_run_is_paused_and_stopped_and_what_cannot_be_done_is_said() -> None:
    run = Run.objects.create(
        kind="topic", label="bees", state=RunState.QUEUED, created=datetime.now(UTC)
    )
    client = _client("operator")
    assert client.post(f"/api/v1/runs/{run.pk}/pause").json()["state"] == "paused"
    assert client.post(f"/api/v1/runs/{run.pk}/stop").json()["state"] == "stopped"
    late = client.post(f"/api/v1/runs/{run.pk}/pause")
    assert late.status_code == 409 and late.json() == {"detail": f"run {run.pk} is stopped"}
    assert client.post("/api/v1/runs/999999/pause").status_code == 404
    assert client.post(f"/api/v1/runs/{run.pk}/explode").status_code == 422


def test_a_forum_is_visited_and_tuned() -> None:
    site = world(3)["site"]
    client = _client("operator")
    Run.objects.filter(state__in=["queued", "running", "paused"]).update(state=RunState.STOPPED)
    started = client.post(f"/api/v1/forums/{site}/crawl", {}, content_type="application/json")
    assert (
        started.status_code == 200
        and started.json()["kind"] == "forum"
        and started.json()["target"] == site
    )
    again = client.post(f"/api/v1/forums/{site}/crawl", {}, content_type="application/json")
    assert again.status_code == 409 and str(started.json()["id"]) in again.json()["detail"]
    plan = client.patch(
        f"/api/v1/forums/{site}/plan",
        {"theta": 0.25, "visits_per_day": 9},
        content_type="application/json",
    )
    assert plan.json()["theta"] == 0.25 and plan.json()["visits_per_day"] == 9
    assert Plan.objects.get(site=site).theta == 0.25
    assert (
        client.get(f"/api/v1/forums/{site}/plan").json()["left_today"] == plan.json()["left_today"]
    )
    wrong = client.patch(
        f"/api/v1/forums/{site}/plan", {"theta": 7}, content_type="application/json"
    )
    assert wrong.status_code == 422 and wrong.json()["detail"].startswith("theta")
    assert [board["name"] for board in client.get(f"/api/v1/forums/{site}").json()["boards"]]


def test_what_is_added_over_the_api_reaches_no_private_address() -> None:
    client = _client("operator")
    run = client.post(
        "/api/v1/forums",
        {"url": "http://127.0.0.1:9/", "allow_private": True},
        content_type="application/json",
    ).json()
    assert "allow_private" not in json.dumps(Run.objects.get(pk=run["id"]).parameters)
    wanted = {"name": "bees", "seeds": ["https://bees.example/", "mailto:bees", "http://"]}
    none = client.post(
        "/api/v1/topics", {**wanted, "seeds": ["mailto:bees"]}, content_type="application/json"
    )
    assert (
        none.status_code == 422
        and "seed 1" in none.content.decode()
        and "mailto:bees" in none.content.decode()
    )
    topic = client.post("/api/v1/topics", wanted, content_type="application/json").json()
    assert topic["bad_seeds"] == [
        {"place": 2, "text": "mailto:bees"},
        {"place": 3, "text": "http://"},
    ]
    crawl = client.post(
        f"/api/v1/topics/{topic['id']}/crawl",
        {"strategy": "best_first", "pages": 5},
        content_type="application/json",
    )
    assert Run.objects.get(pk=crawl.json()["id"]).parameters["strategy"] == "best_first"
    wrong = client.post(
        f"/api/v1/topics/{topic['id']}/crawl",
        {"strategy": "worst_first"},
        content_type="application/json",
    )
    assert wrong.status_code == 422
    found = client.post(
        "/api/v1/search-sites/find",
        {"urls": ["https://books.example/"]},
        content_type="application/json",
    )
    assert found.json()["kind"] == "deepweb-find"


def test_requests_of_a_token_are_counted_and_too_many_are_told_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limit, "num_requests", 3)
    client, other = _client("viewer"), _client("viewer")
    assert [client.get("/api/v1/status").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert other.get("/api/v1/status").status_code == 200


@pytest.mark.django_db(
    transaction=True
)  # closing a response closes the database connection, which ends a test's transaction
def test_the_stream_tells_state_and_events_and_goes_on_after_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared, "TICK_SECONDS", 0.0)
    now = datetime.now(UTC)
    client = _client("viewer")
    first = Event.objects.create(at=now, level=30, code="visit_refused", text="一\n二")
    Event.objects.create(at=now, level=20, code="site_edited", text="later")
    answer = client.get(f"/api/v1/stream?after={first.pk - 1}")
    pieces = iter(answer.streaming_content)
    told = [next(pieces).decode() for _ in range(3)]
    answer.close()
    assert (
        told[0].startswith(f"id: {first.pk}\nevent: event\ndata: ")
        and json.loads(told[0].split("data: ")[1])["text"] == "一\n二"
    )
    assert "later" in told[1] and told[2].startswith("event: status\ndata: {")
    resumed = client.get("/api/v1/stream", headers={"Last-Event-ID": str(first.pk)})
    assert "later" in next(iter(resumed.streaming_content)).decode()
    resumed.close()


@pytest.mark.django_db(
    transaction=True
)  # closing a response closes the database connection, which ends a test's transaction
def test_only_so_many_streams_are_open_at_once_and_a_closed_one_makes_room() -> None:
    client = _client("viewer")
    held = [client.get("/api/v1/stream") for _ in range(shared.STREAMS)]
    assert client.get("/api/v1/stream").status_code == 503
    held.pop().close()
    held.append(client.get("/api/v1/stream"))
    assert held[-1].status_code == 200
    for one in held:
        one.close()


def test_the_command_makes_lists_and_removes(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("token", "add", "nightly", "--role", "operator", "--days", "30", "--json")
    made = json.loads(capsys.readouterr().out)
    assert (
        Client(headers={"Authorization": f"Bearer {made['token']}"})
        .get("/api/v1/status")
        .status_code
        == 200
    )
    call_command("token", "list", "--json")
    listed = capsys.readouterr().out
    assert made["token"] not in listed and json.loads(listed)["tokens"][0]["role"] == "operator"
    call_command("token", "remove", str(made["id"]))
    assert not ApiToken.objects.exists()


def test_the_page_shows_a_new_token_once_and_every_operation() -> None:
    client = Client()
    client.force_login(user("administrator"))
    answer = client.post("/admin/api/", {"name": "nightly", "role": "viewer", "days": "30"})
    text = answer.content.decode()
    assert tokens.PREFIX in text and "no-store" in answer.headers["Cache-Control"]
    again = client.get("/admin/api/").content.decode()
    assert tokens.PREFIX not in again and "nightly" in again
    assert all(path in again for _method, path in _operations())
    assert (
        client.post("/admin/api/", {"name": "", "role": "king"}).status_code == 200
        and ApiToken.objects.count() == 1
    )


def test_what_the_desk_says_of_each_operation_is_there_in_chinese() -> None:
    english = [row for rows in operations().values() for row in rows]
    with translation.override("zh-hans"):
        chinese = [row for rows in operations().values() for row in rows]
    assert len(english) == len(chinese) == len(_operations())
    for here, there in zip(english, chinese, strict=True):
        assert here["path"] == there["path"] and here["summary"] != there["summary"]
        assert bool(here["text"]) == bool(there["text"]) and (
            not here["text"] or here["text"] != there["text"]
        )


def test_words_of_the_api_stand_as_code_on_its_page() -> None:
    texts = [row["text"] for rows in operations().values() for row in rows if row["text"]]
    assert any("<code>wanted</code>" in text for text in texts) and not any(
        "`" in text for text in texts
    )
