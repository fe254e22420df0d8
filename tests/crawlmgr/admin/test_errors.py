"""Error pages in the layout of the web interface, with a link back, in both languages; scripts get
JSON or one line of text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.crawlmgr.admin.rows import user

pytestmark = pytest.mark.django_db
WAY_HOME = 'href="/admin/"'


def _sqlite(code: int, text: str) -> OperationalError:
    cause = sqlite3.OperationalError(text)
    cause.sqlite_errorcode = code
    error = OperationalError(text)
    error.__cause__ = cause
    return error


def _gone() -> OperationalError:
    error = OperationalError("connection refused")
    error.__cause__ = OSError("connection refused")
    return error


AWAY: tuple[tuple[Callable[[], Exception], str, str], ...] = (
    (
        lambda: _sqlite(sqlite3.SQLITE_BUSY, "database is locked"),
        "The database is busy",
        "数据库正忙",
    ),
    (_gone, "The database is busy", "数据库正忙"),
    (
        lambda: _sqlite(sqlite3.SQLITE_FULL, "database or disk is full"),
        "The disk is full",
        "磁盘已满",
    ),
    (
        lambda: _sqlite(sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
        "The database is unavailable",
        "数据库不可用",
    ),
)


@pytest.fixture
def client() -> Client:
    made = Client(raise_request_exception=False)
    made.force_login(user("operator"))
    return made


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Exception]], None]:
    """Makes the queries behind the list of runs fail as a database error would."""

    def fail(make: Callable[[], Exception]) -> None:
        def raising(*_args: Any, **_more: Any) -> Any:
            raise make()

        monkeypatch.setattr("crawlmgr.runs.run_reads.for_lists", raising)
        monkeypatch.setattr("crawlmgr.workers.nodes.status", raising)

    return fail


def chinese(client: Client, path: str, **more: Any) -> Any:
    return client.get(path, headers={"Accept-Language": "zh-hans", **more})


@pytest.mark.parametrize(("make", "english", "zh"), AWAY)
def test_a_database_that_is_away_is_told_with_503(
    client: Client, failing: Any, make: Any, english: str, zh: str
) -> None:
    failing(make)
    answer = client.get("/admin/runs/?state=failed")
    text = answer.content.decode()
    assert answer.status_code == 503 and answer.headers["Retry-After"] == "5"
    assert (
        english in text
        and WAY_HOME in text
        and 'href="/admin/runs/?state=failed"' in text
        and 'http-equiv="refresh"' in text
    )
    assert "desk.css" in text and "Traceback" not in text and "locked" not in text
    assert zh in chinese(client, "/admin/runs/").content.decode()


def test_the_page_itself_asks_the_database_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error page queries neither session nor account, because the database is unavailable."""
    made = Client(raise_request_exception=False)
    made.force_login(user("operator"))

    def away(*_args: Any, **_more: Any) -> Any:
        raise _sqlite(sqlite3.SQLITE_BUSY, "database is locked")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", away)
    answer = made.get("/admin/")
    assert answer.status_code == 503 and "The database is busy" in answer.content.decode()


def test_what_was_sent_is_not_sent_again_by_itself(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "crawlmgr.runs.run_reads.get", lambda *_: (_ for _ in ()).throw(AWAY[0][0]())
    )
    answer = client.post(
        "/admin/runs/1/pause/",
        headers={"Host": "testserver", "Referer": "http://testserver/admin/runs/?x=1"},
    )
    text = answer.content.decode()
    assert (
        answer.status_code == 503 and "http-equiv" not in text and 'href="/admin/runs/?x=1"' in text
    )
    assert "What you sent may not have been stored" in text


@pytest.mark.parametrize(
    "foreign", ["https://evil.example/x", "http://testserver//evil.example/", "javascript:alert(1)"]
)
def test_the_way_back_leads_nowhere_else(client: Client, foreign: str) -> None:
    text = client.get(
        "/admin/runs/999999/", headers={"Host": "testserver", "Referer": foreign}
    ).content.decode()
    assert (
        "evil" not in text
        and "javascript" not in text.split('id="content"')[1].split("</section>")[0]
    )


def test_scripts_get_json(client: Client, failing: Any) -> None:
    failing(AWAY[0][0])
    for answer in (
        client.get("/admin/status.json"),
        client.get("/admin/runs/", headers={"Accept": "application/json"}),
    ):
        told = json.loads(answer.content)
        assert (
            answer.status_code == 503 == told["status"]
            and told["error"] == "The database is busy"
            and told["detail"]
        )
    assert json.loads(chinese(client, "/admin/nowhere.json").content)["status"] == 404


def test_a_monitor_gets_a_line(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "crawlmgr.workers.metrics.metrics", lambda _: (_ for _ in ()).throw(AWAY[0][0]())
    )
    client.force_login(User.objects.get(username="operator"))
    answer = client.get(
        "/metrics",
        headers={"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1"},
    )
    assert answer.status_code == 503 and answer.headers["Content-Type"].startswith("text/plain")
    assert answer.content.decode().count("\n") == 1


def test_an_error_of_the_program_is_a_page_too(client: Client, failing: Any) -> None:
    failing(lambda: RuntimeError("secret detail"))
    answer = client.get("/admin/runs/")
    text = answer.content.decode()
    assert (
        answer.status_code == 500
        and "Something went wrong" in text
        and WAY_HOME in text
        and "secret detail" not in text
    )
    assert "http-equiv" not in text and "出错了" in chinese(client, "/admin/runs/").content.decode()


@pytest.mark.parametrize(
    ("path", "status", "english", "zh"),
    [
        ("/admin/nowhere/", 404, "Page not found", "找不到页面"),
        ("/admin/runs/999999/", 404, "Page not found", "找不到页面"),
        ("/admin/auth/user/", 403, "Not allowed", "没有权限"),
        ("/admin/runs/?q=%00", 400, "That request cannot be read", "无法理解这个请求"),
        (
            "/admin/runs/1/pause/",
            405,
            "This address cannot be opened directly",
            "这个地址不能直接打开",
        ),
    ],
)
def test_who_is_logged_in_stays_in_the_desk(
    client: Client, path: str, status: int, english: str, zh: str
) -> None:
    answer = client.get(path)
    text = answer.content.decode()
    assert answer.status_code == status and english in text and WAY_HOME in text
    assert 'class="tree"' in text or "desk-side" in text
    assert zh in chinese(client, path).content.decode()


def test_who_is_not_logged_in_gets_the_page_alone() -> None:
    answer = Client().get("/nowhere/")
    assert answer.status_code == 404 and "Page not found" in answer.content.decode()
    assert "desk-side" not in answer.content.decode()


def test_a_form_without_a_token_is_told_in_words() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user("operator"))
    answer = strict.post("/admin/runs/1/pause/")
    assert answer.status_code == 403 and "The form is no longer valid" in answer.content.decode()


def test_too_much_text_is_told_in_one_line(client: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = client.post("/admin/topics/add/", {"name": "x" * 2000})
    assert answer.status_code == 400 and "more than 0.001 MB of text" in answer.content.decode()


def test_a_body_larger_than_the_desk_takes_in_is_not_read(client: Client, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 2_000_000
    with CaptureQueriesContext(connection) as caught:
        answer = client.post("/admin/topics/add/", {"texts": "x" * 3_000_000})
    assert (
        answer.status_code == 413
        and "At most 2 MB can be sent at once" in answer.content.decode()
        and not caught.captured_queries
    )
