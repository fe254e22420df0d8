"""What went wrong is told by its own name, once, in words for people: TLS, refused addresses, a
full disk, a locked or restarting database, errors of the program and of the API."""

from __future__ import annotations

import errno
import json
import logging
import os
import sqlite3
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection, transaction
from django.test import Client

from crawlmgr import engine
from crawlmgr.access import tokens
from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.database import sql
from crawlmgr.management import foreground, supervision
from crawlmgr.models import Hold, Host, Run, RunState, Url, UrlState
from crawlmgr.runs import runs, slices
from crawlmgr.schedule import due
from crawlmgr.web.http.wire import describe
from crawlmgr.web.warc import WarcWriter
from tests.crawlmgr.frontier.test_in_flight_pool import Plain, begun, sites
from tests.site.server import LocalSite, Reply

__all__ = ["sites"]  # fixture imported from another test module
pytestmark = pytest.mark.django_db(transaction=True)


class Closed(Plain):
    """A crawler that is allowed no private address."""

    def settings(self, run: Run) -> Any:
        settings = super().settings(run)
        allowed = run.parameters["settings"].get("allow_private", "")
        return type(settings).from_mapping(
            {"delay_seconds": 0.0, **run.parameters["settings"], "allow_private": allowed}
        )


@pytest.fixture(autouse=True)
def crawlers(settings: LazySettings) -> None:
    settings.CRAWLERS = {"plain": f"{__name__}.Plain", "closed": f"{__name__}.Closed"}


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[LocalSite]:
    """A site whose certificate nobody trusts."""
    files = [str(tmp_path / name) for name in ("key.pem", "cert.pem")]
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
        + ["-subj", "/CN=127.0.0.1", "-keyout", files[0], "-out", files[1]],
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("there is no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])
    with LocalSite(tls=context) as site:
        yield site


def no_hint_of_python(text: str) -> bool:
    return not any(mark in text for mark in ("Error", "Errno", "_ssl.c", "Traceback", "Exception"))


@pytest.mark.parametrize("respect_robots", [True, False])
def test_an_untrusted_certificate_is_told_as_tls(tls: LocalSite, respect_robots: bool) -> None:
    run = begun([tls.url("/"), tls.url("/a")], max_attempts=1, respect_robots=respect_robots)
    assert engine.run_slice(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert (run.stopped_by, run.detail.split(":")[0]) == ("unreachable", "tls")
    assert "certificate" in run.detail and no_hint_of_python(run.detail), run.detail
    for reason in Url.objects.values_list("reason", flat=True):
        assert reason.startswith("tls: ") and no_hint_of_python(reason), reason


def test_a_server_that_speaks_no_tls_is_told_as_tls(sites: Any) -> None:
    (web,) = sites(1)
    run = begun([f"https://{web.authority}/"], max_attempts=1)
    engine.run_slice(run.pk)
    assert Run.objects.get().detail.startswith("tls")


def test_a_later_slice_tells_tls_too(tls: LocalSite) -> None:
    first = begun([tls.url("/")], max_attempts=1)
    engine.run_slice(first.pk)
    asked = len(tls.paths())
    second = begun([tls.url("/b")], max_attempts=1)
    engine.run_slice(second.pk)
    assert Run.objects.get(pk=second.pk).detail.startswith("tls") and len(tls.paths()) == asked


@pytest.mark.parametrize("respect_robots", [True, False])
def test_a_refused_address_is_refused_and_no_request(sites: Any, respect_robots: bool) -> None:
    (web,) = sites(1)
    run = begun([web.url("/")], "closed", respect_robots=respect_robots)
    engine.run_slice(run.pk)
    run.refresh_from_db()
    address, host = Url.objects.get(), Host.objects.get()
    assert address.state == UrlState.REFUSED and address.reason.startswith("refused_address")
    assert (run.requests, run.refused, run.failed) == (0, 1, 0)
    assert (host.requests, host.errors, host.failures) == (0, 0, 0)
    assert not web.log


def test_a_redirect_to_a_refused_address_counts_what_was_sent(sites: Any) -> None:
    first, second = sites(2)
    first.add("/", Reply(b"", 302, {"Location": second.url("/")}))
    run = begun([first.url("/")], "closed", allow_private=first.authority, respect_robots=False)
    engine.run_slice(run.pk)
    run.refresh_from_db()
    assert (run.requests, run.refused) == (1, 1) and not second.log
    assert Url.objects.get().reason.startswith("refused_address")


FULL = [
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EFBIG, "File too large"),
    OSError(errno.EIO, "Input/output error"),
]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_a_run_that_the_disk_refuses_pauses_and_goes_on_by_itself(
    sites: Any, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    (web,) = sites(1)
    web.add("/", "here")
    run = begun([web.url("/")])

    def refuse(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as full:
        full.setattr(WarcWriter, "write_exchange", refuse)
        assert engine.run_slice(run.pk) == RunState.PAUSED
        run.refresh_from_db()
        assert run.stopped_by == "disk_low" and no_hint_of_python(run.detail)
        full.setattr(archive, "has_room", lambda: False)
        due.dispatch(SYSTEM.now())
        assert Run.objects.get().state == RunState.PAUSED, "there is no room yet"
    due.dispatch(SYSTEM.now())
    assert Run.objects.get().state == RunState.QUEUED
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert Run.objects.get().fetched == 1


def test_a_disk_that_takes_no_file_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: LazySettings
) -> None:
    settings.ARCHIVE_DIR = tmp_path
    assert archive.takes_files() and not list(tmp_path.iterdir())
    monkeypatch.setattr(archive, "PROBE_BYTES", 1 << 45)

    def refuse(*_: Any, **__: Any) -> None:
        raise FULL[1]

    monkeypatch.setattr(archive, "TemporaryFile", refuse)
    assert not archive.takes_files()


def test_a_run_that_a_user_paused_is_not_resumed_for_room(sites: Any) -> None:
    (web,) = sites(1)
    run = begun([web.url("/")])
    runs.pause(run.pk, SYSTEM.now())
    due.dispatch(SYSTEM.now())
    assert Run.objects.get().state == RunState.PAUSED


def test_no_run_is_resumed_for_room_while_all_crawling_is_paused(sites: Any) -> None:
    (web,) = sites(1)
    run = begun([web.url("/")])
    Run.objects.filter(pk=run.pk).update(state="paused", stopped_by="disk_low")
    Hold.objects.create(pk=1, since=SYSTEM.now(), runs=[])
    due.dispatch(SYSTEM.now())
    assert Run.objects.get().state == RunState.PAUSED


def test_a_topic_that_is_paused_for_want_of_room_has_a_status_of_its_own(
    sites: Any,
    tmp_path: Path,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.CRAWLERS = {"topic": "focused.crawler.TopicCrawler"}
    (web,) = sites(1)
    web.add("/", "<title>stars</title><p>telescope star</p>")
    (tmp_path / "seeds").write_text(web.url("/"))
    call_command(
        "topic", "add", "t", "--seeds", str(tmp_path / "seeds"), "--keywords", "telescope,star"
    )
    capsys.readouterr()

    def refuse(*_: Any, **__: Any) -> None:
        raise FULL[0]

    monkeypatch.setattr(WarcWriter, "write_exchange", refuse)
    words = ["topic", "crawl", "t", "--pages", "3", "--allow-private", "--delay", "0", "--json"]
    with pytest.raises(CommandError, match="No space left") as told:
        call_command(*words)
    document = json.loads(capsys.readouterr().out)
    assert told.value.returncode == 3 and "\n" not in str(told.value)
    assert (document["state"], document["stopped_by"]) == ("paused", "disk_low")
    assert document["complete"] is False and document["missing"][0]["count"] == 1


def sqlite_error(code: int, text: str) -> OperationalError:
    cause = sqlite3.OperationalError(text)
    cause.sqlite_errorcode = code
    error = OperationalError(text)
    error.__cause__ = cause
    return error


IO = sqlite_error(sqlite3.SQLITE_IOERR | 3 << 8, "disk I/O error")


def test_a_disk_error_of_the_database_is_told_once(
    sites: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (web,) = sites(1)
    run = begun([web.url("/")])

    def refuse(*_: Any, **__: Any) -> None:
        raise IO

    with monkeypatch.context() as full:
        full.setattr(engine.frontier, "reclaim", refuse)
        assert engine.run_slice(run.pk) == RunState.PAUSED
        run.refresh_from_db()
        assert (run.stopped_by, run.detail, run.breaks) == ("disk_low", "disk I/O error", 0)
        runs.resume(run.pk, SYSTEM.now(), start=False)
        full.setattr(runs, "end", refuse)
        caplog.clear()
        for _ in range(3):
            Run.objects.update(lease_until=None)
            assert engine.run_slice(run.pk) == slices.NO_ROOM
        told = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
        assert told == ["disk I/O error"]
    Run.objects.update(lease_until=None)
    assert engine.run_slice(run.pk) != slices.NO_ROOM


def test_a_supervisor_tells_the_same_problem_of_the_database_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = object.__new__(supervision._Watch)
    watch.last_problem = ""
    for error in (IO, IO, sqlite_error(sqlite3.SQLITE_BUSY, "database is locked"), IO):
        watch._away(error)
    told = [one.getMessage().rpartition(": ")[2] for one in caplog.records]
    assert told == ["disk I/O error", "database is locked", "disk I/O error"]


def test_nodes_are_awaited_while_the_database_is_started_again(
    sites: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (web,) = sites(1)
    run = begun([web.url("/")])
    away = [True] * 30
    refresh = Run.refresh_from_db

    def sometimes(self: Run, *words: Any, **named: Any) -> None:
        if away:
            away.pop()
            raise sqlite_error(sqlite3.SQLITE_BUSY, "database is locked")
        refresh(self, *words, **named)

    monkeypatch.setattr(foreground, "NODES_SECONDS", 0.001)
    monkeypatch.setattr(foreground.nodes, "living", lambda _now: ["a node"])
    monkeypatch.setattr(foreground.queue, "run_slice", lambda pk: engine.run_slice(pk))
    monkeypatch.setattr(Run, "refresh_from_db", sometimes)
    assert foreground.work(run, "it", by_nodes=True).state == RunState.FINISHED and not away


def test_a_command_waits_for_a_locked_database(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no lock of the whole database")
    connection.ensure_connection()
    connection.connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(connection.settings_dict["NAME"], check_same_thread=False, uri=True)
    other.isolation_level = None
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(1.0, other.rollback)
    release.start()
    try:
        call_command("token", "add", "bees", "--role", "viewer", "--json")
    finally:
        release.join()
        other.close()
        connection.close()
    assert json.loads(capsys.readouterr().out)


def test_a_lock_inside_a_transaction_is_not_waited_for() -> None:
    calls = []

    def locked(*_: Any) -> None:
        calls.append(1)
        raise sqlite_error(sqlite3.SQLITE_BUSY, "database is locked")

    if connection.vendor != "sqlite":
        pytest.skip("of SQLite")
    with pytest.raises(OperationalError), transaction.atomic():
        sql.patiently(locked, "SELECT 1", (), False, {})
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("path", "status"), [("/api/v1/nothing", 404), ("/api/v1/status", 405), ("/api/other", 404)]
)
@pytest.mark.parametrize("accept", ["text/html", "*/*", ""])
def test_an_error_of_the_api_is_json(path: str, status: int, accept: str) -> None:
    call = Client().delete if status == 405 else Client().get
    answer = call(path, headers={"Accept": accept} if accept else {})
    assert answer.status_code == status and answer["Content-Type"].startswith("application/json")
    assert answer.json()["detail"]


@pytest.mark.parametrize("error", [KeyError("x"), IO], ids=["program", "disk"])
def test_a_broken_operation_of_the_api_is_json_without_python(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(tokens, "find", broken)
    answer = Client(raise_request_exception=False).get(
        "/api/v1/status", headers={"Authorization": "Bearer abc", "Accept": "text/html"}
    )
    assert answer.status_code in (500, 503)
    assert answer["Content-Type"].startswith("application/json")
    assert "KeyError" not in answer.content.decode() and answer.json()["detail"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (TimeoutError(), ""),
        (
            ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"),
            "wrong version number",
        ),
    ],
    ids=["refused", "silent", "tls"],
)
def test_network_errors_are_described_without_python(error: Exception, words: str) -> None:
    assert describe(error) == words


def test_a_program_error_is_one_line_for_people(tmp_path: Path) -> None:
    script = (
        "import sys; sys.argv = ['crawlmgr', 'token', 'add', 'bees', '--json'];"
        "from crawlmgr.management import program;"
        "import django; django.setup();"
        "from crawlmgr.management.commands import token;"
        "token.Add.run = lambda self, options: {}['nothing'];"
        "program.main()"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "crawlmgr.settings",
        "CRAWLMGR_DATA": str(tmp_path / "data"),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "internal error" in done.stderr and "KeyError" not in done.stderr
    assert "KeyError" in (tmp_path / "data/logs/crawlmgr.log").read_text()
