"""Saved exports over the API and on the command line: the same definitions as in the web interface,
and who may change them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from crawlmgr import jobs
from crawlmgr.access import tokens
from crawlmgr.models import Export, Run, RunState
from forums.models import Post
from tests.crawlmgr.admin.rows import user, world

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
WISH = {
    "name": "nightly",
    "table": "posts",
    "format": "jsonl",
    "columns": ["author", "text"],
    "every_hours": 24,
    "keep": 2,
}


@pytest.fixture(autouse=True)
def place(settings: Any, tmp_path: Path) -> None:
    settings.EXPORT_DIR = tmp_path / "exports"


def program(role: str) -> Client:
    text, _row = tokens.make(f"a {role}", role, now=datetime.now(UTC))
    return Client(headers={"Authorization": f"Bearer {text}"})


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def run(*words: str) -> Any:
        call_command("exports", *words, "--json")
        return json.loads(capsys.readouterr().out)

    return run


def test_kept_on_a_schedule_written_fetched_and_equal_to_the_database() -> None:
    world(4)
    client = program("operator")
    made = client.post("/api/v1/exports", WISH, content_type=JSON).json()
    export = Export.objects.get()
    assert (made["id"], made["every_hours"], made["files"]) == (
        export.pk,
        24,
        [],
    ) and export.next_at is not None
    assert client.get(f"/api/v1/exports/{export.pk}/file").status_code == 404
    run = client.post(f"/api/v1/exports/{export.pk}/write", content_type=JSON).json()
    assert (
        client.post(f"/api/v1/exports/{export.pk}/write", content_type=JSON).status_code == 409
    ), "it is being written"
    assert client.delete(f"/api/v1/exports/{export.pk}").status_code == 409
    assert jobs.run_slice(run["id"]) == RunState.FINISHED
    text = b"".join(client.get(f"/api/v1/exports/{export.pk}/file").streaming_content).decode()
    rows = [
        {"author": author, "text": text}
        for author, text in Post.objects.order_by("pk").values_list("author", "text")
    ]
    assert [json.loads(line) for line in text.split("\n")[:-1]] == rows and len(rows) == 4
    told = client.get(f"/api/v1/exports/{export.pk}/file?manifest=true")
    assert json.loads(b"".join(told.streaming_content))["rows"] == len(rows)
    address = urlsplit(
        client.post(f"/api/v1/exports/{export.pk}/address", content_type=JSON).json()["address"]
    ).path
    assert b"".join(Client().get(address).streaming_content).decode() == text
    closed = client.delete(f"/api/v1/exports/{export.pk}/address").json()
    assert not closed["has_address"] and Client().get(address).status_code == 404
    changed = client.patch(
        f"/api/v1/exports/{export.pk}", {"every_hours": 0, "keep": 9}, content_type=JSON
    ).json()
    assert (changed["every_hours"], changed["keep"], changed["next_at"]) == (0, 9, None)
    assert [one["id"] for one in client.get("/api/v1/exports").json()["rows"]] == [export.pk]
    assert (
        client.delete(f"/api/v1/exports/{export.pk}").json() == {"removed": export.pk}
        and not Export.objects.exists()
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"table": "x"}, "no table 'x'"),
        ({"columns": ["hue"]}, "no column 'hue'"),
        ({"keep": 0}, "1 to 1000"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_line(values: dict[str, Any], says: str) -> None:
    answer = program("operator").post("/api/v1/exports", {**WISH, **values}, content_type=JSON)
    assert (
        answer.status_code == 422
        and says in answer.json()["detail"]
        and not Export.objects.exists()
    )


def test_who_may_only_read_is_refused_on_the_desk_and_over_the_api_alike() -> None:
    """A viewer cannot change exports, neither with an API token nor logged in to the desk, but can
    read them both ways."""
    keys = world(2)
    operator, viewer, desk = program("operator"), program("viewer"), Client()
    desk.force_login(user("viewer"))
    pk = operator.post("/api/v1/exports", WISH, content_type=JSON).json()["id"]
    before = list(Export.objects.values())
    page, api = f"/admin/exports/{pk}", f"/api/v1/exports/{pk}"
    pairs = [
        ("post", "/api/v1/exports", "/admin/exports/new/?table=posts"),
        ("post", f"{api}/write", f"{page}/write/"),
        ("patch", api, f"{page}/plan/"),
        ("post", f"{api}/address", f"{page}/address/"),
        ("delete", f"{api}/address", f"{page}/address/remove/"),
        ("delete", api, f"{page}/delete/"),
        (
            "post",
            f"/api/v1/forums/{keys['site']}/crawl",
            f"/admin/forums/site/{keys['site']}/crawl/",
        ),
    ]
    runs = Run.objects.count()
    for method, over_api, on_desk in pairs:
        assert getattr(viewer, method)(over_api, content_type=JSON).status_code == 403, over_api
        assert desk.post(on_desk, {**WISH, "keep-it": "1"}).status_code == 403, on_desk
    assert list(Export.objects.values()) == before and Run.objects.count() == runs
    assert viewer.get(api).status_code == desk.get(f"{page}/").status_code == 200, "both may look"


def test_the_command_keeps_writes_opens_and_removes(say: Callable[..., Any]) -> None:
    world(3)
    made = say("add", "posts of all", "posts", "--columns", "author,text", "--keep", "1")
    assert say("list")["exports"][0]["name"] == "posts of all"
    first = say("write", str(made["id"]))
    again = say("write", str(made["id"]))
    path = Path(again["path"])
    assert not Path(first["path"]).exists() or path == Path(first["path"])
    found = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
    assert len(found) - 1 == again["rows"] == Post.objects.count()
    address = say("address", str(made["id"]))["path"]
    assert b"".join(Client().get(address).streaming_content) == path.read_bytes()
    assert (
        say("address", str(made["id"]), "--close")["path"] is None
        and Client().get(address).status_code == 404
    )
    assert say("remove", str(made["id"])) == {"removed": made["id"]} and not path.exists()
    with pytest.raises(CommandError, match="no export 77"):
        say("write", "77")
    with pytest.raises(CommandError, match="1 to 36500"):
        say("add", "x", "posts", "--days", "40000")
