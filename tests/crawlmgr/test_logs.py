"""The log: the content of a line, masked secrets, several writing processes, and rotation."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr import logs
from crawlmgr.access import vault
from crawlmgr.frontier.fetching import log_answer
from crawlmgr.web.http.exchange import FetchResponse
from tests.serving import ROOT, manage
from tests.site.forum import ForumServer, LocalForum

SECRETS = (
    ("proxy http://crawler:hush@10.0.0.1:3128/ refused", "hush"),
    ("Authorization: Basic Zm9vOmJhcg==", "Zm9v"),
    ("{'Cookie': 'sid=1234; theme=dark'}", "1234"),
    ("Set-Cookie: sid=1234", "1234"),
    ("GET /login?password=opensesame&x=1", "opensesame"),
    ('{"api_key": "abc123"}', "abc123"),
    ("token=tok-99", "tok-99"),
    ("postgresql://crawl:pw%40x@db/crawl", "pw%40x"),
)


@pytest.fixture(params=["text", "json"])
def formatter(request: pytest.FixtureRequest) -> logging.Formatter:
    return logs.Text() if request.param == "text" else logs.Json()


@pytest.fixture
def known() -> Iterator[None]:
    before = dict(logs._secrets)
    yield
    logs._secrets.clear()
    logs._secrets.update(before)


def record(
    text: str, *values: object, error: BaseException | None = None, **extra: object
) -> logging.LogRecord:
    trace = (type(error), error, error.__traceback__) if error is not None else None
    made = logging.LogRecord("crawlmgr.x", logging.WARNING, "x.py", 1, text, values, trace)
    vars(made).update(extra)
    assert logs.Context().filter(made)
    return made


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_what_looks_like_a_secret_is_not_written(
    formatter: logging.Formatter, text: str, secret: str
) -> None:
    error = ValueError(text)
    for line in (
        formatter.format(record(text)),
        formatter.format(record("%s", text)),
        formatter.format(record("x", url=text)),
        formatter.format(record("x", error=error)),
    ):
        assert secret not in line and logs.HIDDEN in line, line


def test_a_secret_that_was_unsealed_is_not_written(
    formatter: logging.Formatter, known: None
) -> None:
    vault.unseal(vault.seal({"pass": 'correct "horse" battery'}))
    line = formatter.format(
        record('said correct "horse" battery to them', error=KeyError('correct "horse" battery'))
    )
    assert "horse" not in line


@given(
    st.text(min_size=logs.SHORTEST_SECRET, max_size=40).filter(lambda text: text.strip()),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_no_known_secret_is_ever_written(secret: str, before: str, after: str) -> None:
    earlier = dict(logs._secrets)
    try:
        logs.hide(secret)
        assert secret not in logs.without_secrets(f"{before}{secret}{after}").replace(
            logs.HIDDEN, "\0"
        )
    finally:
        logs._secrets.clear()
        logs._secrets.update(earlier)


def test_secrets_are_remembered_within_a_bound(known: None) -> None:
    for number in range(logs.MAX_SECRETS + 50):
        logs.hide(f"secret number {number}")
    assert len(logs._secrets) == logs.MAX_SECRETS and "number 1049" not in logs.without_secrets(
        "secret number 1049"
    )


def test_a_line_tells_event_run_and_host() -> None:
    with logs.about(run=7, host="a.example"):
        line = logs.Text().format(record("so %s", "it is", event="retry", times=3))
        with logs.about(host="b.example"):
            document = json.loads(logs.Json().format(record("so it is", event="retry")))
    assert (
        line.endswith(" WARNING retry run=7 host=a.example times=3: so it is") and line[:2] == "20"
    )
    assert {**document, "at": "", "process": 0} == {
        "at": "",
        "level": "WARNING",
        "logger": "crawlmgr.x",
        "event": "retry",
        "run": 7,
        "host": "b.example",
        "message": "so it is",
        "process": 0,
    }
    assert json.loads(logs.Json().format(record("x")))["run"] is None


def test_a_person_gets_one_line_and_the_file_the_whole() -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        made = record("it broke", error=error)
    assert "\n" not in logs.Text(traces=False).format(
        made
    ) and "ValueError: bad" in logs.Text().format(made)


WRITER = """
import logging, sys
from crawlmgr.logs import RotatedFile
handler = RotatedFile(sys.argv[1], 8000, 200)
handler.handleError = lambda record: sys.exit("not written")
for number in range(800):
    handler.emit(logging.LogRecord("x", 20, "", 0, f"{sys.argv[2]} {number} " + "." * 60, (), None))
"""


def test_many_processes_write_and_rotate_without_losing_a_line(tmp_path: Path) -> None:
    place = tmp_path / "log"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(place), str(one)], cwd=ROOT)
        for one in range(3)
    ]
    assert [one.wait(300) for one in writers] == [0, 0, 0]
    files = [path for path in tmp_path.iterdir() if path.suffix != ".lock"]
    lines = [line for path in files for line in path.read_text().splitlines()]
    assert sorted(line.rstrip(".") for line in lines) == sorted(
        f"{one} {number} " for one in range(3) for number in range(800)
    )
    assert len(files) > 10 and all(path.stat().st_size < 12_000 for path in files)


def test_the_oldest_goes(tmp_path: Path) -> None:
    handler = logs.RotatedFile(str(tmp_path / "log"), 100, 3)
    for number in range(20):
        handler.emit(record(f"{number} " + "." * 100))
    handler.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "log.1",
        "log.2",
        "log.3",
        "log.lock",
    ]
    assert (tmp_path / "log.1").read_text().startswith("19 ")


@pytest.mark.once
def test_a_crawl_is_told_as_json_lines_with_run_and_host(installed: dict[str, str]) -> None:
    environment = {
        **installed,
        "CRAWLMGR_LOG_FORMAT": "json",
        "CRAWLMGR_LOG_FETCHES": "1",
        "CRAWLMGR_MIN_FREE_MB": "0",
    }
    forum = LocalForum(boards=2, threads=3, longest=3)
    with ForumServer(forum) as server:
        added = manage(
            environment, "forum", "add", server.url, "--allow-private", "--delay", "0", "--json"
        )
        assert added.returncode == 0, added.stderr
        crawled = manage(environment, "forum", "crawl", "1", "--json")
        assert crawled.returncode == 0, crawled.stderr
    lines = (Path(installed["CRAWLMGR_DATA"]) / "logs" / "crawlmgr.log").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    run = json.loads(crawled.stdout)["run"]
    own = [line for line in told if line["run"] == run]
    assert [line["event"] for line in own if line["event"] != "fetch"] == [
        "run_created",
        "slice_started",
        "run_finished",
        "slice_ended",
    ]
    fetches = [line for line in own if line["event"] == "fetch"]
    assert len(fetches) >= len(forum.truth()) / 10 and all(
        line["host"].startswith("127.0.0.1") for line in fetches
    )
    assert all(line["level"] == "INFO" and line["bytes"] > 0 for line in fetches)
    assert {line["type"] for line in fetches} == {"text/html"}


@pytest.mark.parametrize(
    ("asked", "level", "lines"), [(True, "INFO", 1), (False, "INFO", 0), (False, "DEBUG", 1)]
)
def test_a_line_per_fetch_is_for_debugging_unless_it_is_asked_for(
    asked: bool, level: str, lines: int, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LOG_FETCHES = asked
    with caplog.at_level(level, "crawlmgr.fetch"):
        log_answer(
            FetchResponse(
                request_url="http://a.example/x",
                url="http://a.example/x",
                status=404,
                received_bytes=12,
            )
        )
    told = [one for one in caplog.records if one.name == "crawlmgr.fetch"]
    assert len(told) == lines and all(one.getMessage() == "404 http://a.example/x" for one in told)
