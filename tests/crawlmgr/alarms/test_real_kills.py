"""Processes are killed (SIGKILL) while they send an alarm or write an export: nothing happens
twice, no file is incomplete."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.serving import begun, manage, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.once]
POSTS = 40_000
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
ALARM = """
from datetime import datetime, UTC
from crawlmgr.alarms import alarms, causes
alarms.add("hook", "webhook", {"url": "http://127.0.0.1:PORT/hook"}, \
now=datetime.now(UTC), allow_private=True)
causes.all_causes = lambda now: {"disk": causes.Cause("disk", "disk", "full")}
alarms.watch(datetime.now(UTC))
"""
SEND = (
    "from datetime import datetime, UTC, timedelta; from crawlmgr.alarms import alarms; LATER;"
    " alarms.send(lambda: at)"
)


@pytest.fixture
def place(installed: dict[str, str]) -> dict[str, str]:
    if "DATABASE_URL" in installed:
        pytest.skip("looks into the SQLite file beside the process")
    return {**installed, "CRAWLMGR_LEASE_SECONDS": "1", "CRAWLMGR_MIN_FREE_MB": "0"}


def ask(environment: dict[str, str], query: str) -> list[tuple[Any, ...]]:
    path = f"file:{environment['CRAWLMGR_DATA']}/crawlmgr.sqlite3?mode=ro"
    with closing(sqlite3.connect(path, uri=True, timeout=60)) as base:
        return base.execute(query).fetchall()


@contextmanager
def silent_receiver() -> Iterator[tuple[int, list[bytes]]]:
    """A web server that accepts every message and never responds; yields its port and the received
    messages."""
    came: list[bytes] = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers["content-length"])))
            over.wait()

        def log_message(self, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, came
    finally:
        over.set()
        server.shutdown()
        server.server_close()


def test_an_alarm_whose_sender_is_killed_is_not_sent_again(place: dict[str, str]) -> None:
    now, later = "at = datetime.now(UTC)", "at = datetime.now(UTC) + timedelta(hours=3)"
    with silent_receiver() as (port, came):
        made = manage(place, "shell", "-v0", "-c", ALARM.replace("PORT", str(port)))
        assert made.returncode == 0, made.stderr
        process = begun(
            place, "manage.py", "shell", "-v0", "-c", SEND.replace("LATER", now), **QUIET
        )
        try:
            assert wait_for(lambda: came or process.poll() is not None) and process.poll() is None
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert ask(place, "SELECT state FROM crawlmgr_alarmmessage") == [("handed",)]
        again = manage(place, "shell", "-v0", "-c", SEND.replace("LATER", later))
        assert again.returncode == 0, again.stderr
        assert len(came) == 1 and ask(
            place, "SELECT state, attempts FROM crawlmgr_alarmmessage"
        ) == [("unsure", 1)]


@pytest.mark.parametrize("fmt", ["jsonl", "xlsx"])
def test_an_export_whose_writer_is_killed_is_whole_in_the_end(
    fmt: str, place: dict[str, str], tmp_path: Path
) -> None:
    filled = manage(
        place, "shell", "-v0", "-c", f"from tests.benches.forums.exports import fill; fill({POSTS})"
    )
    assert filled.returncode == 0, filled.stderr
    assert manage(place, "exports", "add", "nightly", "posts", "--format", fmt).returncode == 0
    folder = Path(place["CRAWLMGR_DATA"]) / "exports" / "1"
    for _kill in range(2):
        process = begun(place, "manage.py", "exports", "write", "1", **QUIET)
        try:
            wait_for(
                lambda p=process: (
                    p.poll() is not None
                    or any(path.stat().st_size > 0 for path in folder.glob("work-*/*"))
                ),
                every=0.01,
            )
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert not list(folder.glob("posts-*")), "no file has its name before it is whole"
        assert ask(place, "SELECT count(*) FROM crawlmgr_exportfile") == [(0,)]
    written = wait_for(
        lambda: (done := manage(place, "exports", "write", "1", "--json")).returncode == 0 and done
    )  # once the writer's lease has expired
    assert written
    told = json.loads(written.stdout)
    direct = tmp_path / f"direct.{fmt}"
    assert manage(place, "export", "posts", "--format", fmt, "--out", str(direct)).returncode == 0
    assert told["rows"] == json.loads(Path(f"{direct}.manifest.json").read_text())["rows"] == POSTS
    if fmt == "jsonl":
        assert Path(told["path"]).read_bytes() == direct.read_bytes()
    name = Path(told["path"]).name
    assert sorted(path.name for path in folder.iterdir()) == [name, f"{name}.manifest.json"]
    assert ask(place, "SELECT count(*) FROM crawlmgr_run WHERE kind = 'export'") == [(1,)]
