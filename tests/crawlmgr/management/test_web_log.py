"""The web server writes to the project's log in its format; requests are logged only if a setting
asks for it."""

from __future__ import annotations

import json
import logging
import signal
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config

from crawlmgr import logs
from crawlmgr.management.web_log import WebLog
from tests.serving import Serve, wait_for

ENVIRON = {
    "REQUEST_METHOD": "GET",
    "RAW_URI": "/admin/?token=abcdef123",
    "REMOTE_ADDR": "10.1.2.3",
    "HTTP_X_FORWARDED_FOR": "203.0.113.1, 198.51.100.7",
}


@pytest.fixture
def web_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebLog]:
    monkeypatch.setattr(
        "crawlmgr.management.web_log.dictConfig", lambda _: None
    )  # keeps the tests' own log handlers
    loggers = [logging.getLogger(name) for name in ("gunicorn.error", "gunicorn.access")]
    before = [(one.level, one.propagate) for one in loggers]
    yield WebLog(Config())
    for one, (level, propagate) in zip(loggers, before, strict=True):
        one.setLevel(level)
        one.propagate = propagate


def _ask(web_log: WebLog) -> None:
    web_log.setup(web_log.cfg)
    web_log.access_log.setLevel("INFO")
    web_log.access(
        SimpleNamespace(status="200 OK", sent=512), None, ENVIRON, timedelta(milliseconds=250)
    )


def test_it_has_no_handler_of_its_own(web_log: WebLog) -> None:
    assert not web_log.error_log.handlers and not web_log.access_log.handlers
    assert web_log.error_log.propagate and web_log.access_log.propagate


@pytest.mark.parametrize(("behind_tls", "client"), [(False, "10.1.2.3"), (True, "198.51.100.7")])
def test_a_request_is_one_line(
    web_log: WebLog, settings: Any, caplog: pytest.LogCaptureFixture, behind_tls: bool, client: str
) -> None:
    settings.LOG_REQUESTS, settings.BEHIND_TLS = True, behind_tls
    _ask(web_log)
    assert web_log.access_log_enabled and len(caplog.records) == 1
    record = caplog.records[0]
    assert logs.Context().filter(record)
    told = json.loads(logs.Json().format(record))
    assert (
        told["event"] == "request"
        and told["message"] == f"GET /admin/?token={logs.HIDDEN}"
        and told["client"] == client
    )
    assert (told["status"], told["bytes"], told["seconds"]) == (200, 512, 0.25)
    line = logs.Text().format(record)
    assert (
        f"INFO request client={client} status=200 bytes=512 seconds=0.25: GET"
        f" /admin/?token={logs.HIDDEN}" in line
    )


def test_without_the_setting_no_request_is_written(
    web_log: WebLog, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LOG_REQUESTS = False
    _ask(web_log)
    assert not web_log.access_log_enabled and not caplog.records


@pytest.mark.slow
@pytest.mark.once
def test_every_line_of_a_running_desk_is_in_one_format(
    installed: dict[str, str], tmp_path: Path
) -> None:
    """Starts and ends of gunicorn's processes, a request, and lines of the workers: all are JSON
    documents."""
    serve = Serve(
        {**installed, "CRAWLMGR_LOG_FORMAT": "json", "CRAWLMGR_LOG_REQUESTS": "1"}, tmp_path / "log"
    )
    place = Path(installed["CRAWLMGR_DATA"]) / "logs" / "crawlmgr.log"

    def lines() -> list[dict[str, Any]]:
        return (
            [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
        )

    def asked() -> list[dict[str, Any]]:
        return [
            line
            for line in lines()
            if line["event"] == "request" and line["message"] == "GET /admin/login/?next=/admin/"
        ]

    serve.start()
    try:
        assert serve.healthy(), serve.told()
        # our own address
        with urllib.request.urlopen(serve.address() + "admin/", timeout=30) as page:  # noqa: S310
            assert page.status == 200
        found = wait_for(asked)
        assert (
            found
            and found[0]["status"] == 200
            and found[0]["bytes"] > 0
            and found[0]["client"] == "127.0.0.1"
        )
    finally:
        serve.end(signal.SIGTERM)
    loggers = {line["logger"] for line in lines()}
    assert {"gunicorn.error", "gunicorn.access", "crawlmgr.workers.supervisor"} <= loggers
    assert "[INFO]" not in serve.told() and "Booting worker" not in serve.told()
