"""`serve` and `node` as processes: first start, second start, port in use, restart, end."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import load_command_class
from django.core.management.base import CommandError
from django.db import connections

from crawlmgr.management import supervision
from crawlmgr.management.commands.node import node_name, queue_names
from crawlmgr.management.commands.serve import address, worker_count
from crawlmgr.management.supervision import in_subprocess
from crawlmgr.workers.supervisor import Child, listen
from tests.serving import Serve, manage, processes, wait_for


@pytest.fixture
def serve(installation: dict[str, str], tmp_path: Path) -> Iterator[Serve]:
    one = Serve(installation, tmp_path / "log")
    one.start()
    yield one
    one.end(signal.SIGKILL)


def _left(pids: list[int]) -> list[str]:
    def still() -> list[str]:
        everyone = processes()
        return [everyone[pid][1] for pid in pids if pid in everyone]

    wait_for(lambda: not still())
    return still()


@pytest.mark.slow
def test_first_start_health_restart_and_a_clean_end(
    serve: Serve, installation: dict[str, str]
) -> None:
    assert serve.healthy(), serve.told()
    assert re.search(r"First login: admin, password \S{12,} \(shown only now\)", serve.told())
    assert serve.health()[1]["database"] is True
    # our own address
    with urllib.request.urlopen(serve.address() + "admin/login/", timeout=60) as page:  # noqa: S310
        assert page.status == 200 and "script-src" in page.headers["Content-Security-Policy"]

    second = manage(serve.environment, "serve", "--bind", "127.0.0.1:0")
    assert second.returncode == 1 and "Traceback" not in second.stderr
    assert second.stderr.strip().splitlines() == [
        f"CommandError: serve already runs on {Path(installation['CRAWLMGR_DATA']).resolve()}"
        f" (process {serve.pid})."
    ]
    listing = json.loads(manage(serve.environment, "node", "list", "--json").stdout)["nodes"]
    assert (
        len(listing) == 1
        and listing[0]["heartbeat"]
        and listing[0]["workers"] == 2
        and listing[0]["outstanding"] == 0
    )

    web = next(
        pid
        for pid, (parent, command) in serve.family().items()
        if parent == serve.pid and "gunicorn" in command
    )
    os.kill(web, signal.SIGKILL)
    assert wait_for(lambda: "The web server died" in serve.told()) and serve.healthy()

    assert wait_for(lambda: len(serve.family()) >= 2 + 2 + 4), (
        serve.family()
    )  # web server: 2, cluster and its guard: 2, children of the guard: 4
    everyone = list(serve.family())
    assert serve.end(signal.SIGINT) == 0
    assert _left(everyone) == [] and serve.told().rstrip().endswith("Stopped.")

    serve.start()
    assert serve.healthy() and "Log in with your account." in serve.told()
    assert serve.told().count("First login") == 1


@pytest.mark.slow
def test_a_killed_preparation_is_done_again_and_none_is_left_of_a_killed_serve(
    installation: dict[str, str], tmp_path: Path
) -> None:
    serve = Serve(installation, tmp_path / "log")
    serve.start()
    try:
        child = next(iter(wait_for(serve.family, every=0.05)))
        os.kill(child, signal.SIGKILL)
        assert serve.healthy() and "was killed (SIGKILL); it is done again" in serve.told()
        assert serve.told().count("First login") == 1
        serve.end(signal.SIGKILL)
        serve.start()
        child = next(iter(wait_for(serve.family, every=0.05)))
        serve.end(signal.SIGKILL)
        assert _left([child]) == []
        serve.start()
        assert serve.healthy(), serve.told()
    finally:
        serve.end(signal.SIGKILL)


@pytest.mark.once
def test_work_whose_process_is_always_killed_is_given_up_with_a_word(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        connections, "close_all", lambda: None
    )  # keeps the test's own connection open

    def killed() -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    with pytest.raises(CommandError, match="killed 3 times"):
        in_subprocess(killed)
    told = capfd.readouterr()
    assert (told.out + told.err).count("it is done again") == 3
    assert in_subprocess(lambda: "ready") == "ready"


def _cluster(serve: Serve) -> tuple[int, int, list[int]]:
    """Waits until a cluster runs completely; returns the ids of its first process, the guard
    process and the guard's children."""

    def whole() -> tuple[int, int, list[int]] | None:
        family = serve.family()
        for main in (
            pid
            for pid, (parent, command) in family.items()
            if parent == serve.pid and "gunicorn" not in command
        ):
            for guard in (pid for pid, (parent, _) in family.items() if parent == main):
                hands = sorted(pid for pid, (parent, _) in family.items() if parent == guard)
                if len(hands) >= 4:
                    return main, guard, hands
        return None

    found: tuple[int, int, list[int]] | None = wait_for(whole)
    assert found, serve.told()
    return found


def _hit(serve: Serve, victim: str) -> None:
    """Kills one process of the cluster and waits until another cluster without any of the old
    processes works in its place."""
    main, guard, hands = _cluster(serve)
    told = len(serve.told())
    for pid in {"guard": [guard], "idle workers": hands[:2], "monitor": hands[2:3]}[victim]:
        os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: "it is started again" in serve.told()[told:]), serve.told()
    why = {
        "guard": "died",
        "idle workers": "stopped taking tasks",
        "monitor": "the process that deletes finished tasks was killed",
    }[victim]
    assert why in serve.told()[told:], serve.told()[told:]
    assert _left([main, guard, *hands]) == []
    assert serve.healthy(), serve.told()


@pytest.mark.once
@pytest.mark.slow
def test_a_cluster_that_died_or_stopped_is_replaced_and_nothing_is_left_of_a_killed_serve(
    installed: dict[str, str], tmp_path: Path
) -> None:
    """An idle worker waits while holding the lock of the cluster's internal queue; if it is killed,
    the cluster stays alive but takes no more tasks."""
    serve = Serve(installed, tmp_path / "log")
    serve.start()
    try:
        assert serve.healthy(), serve.told()
        for number, victim in enumerate(("guard", "idle workers", "monitor"), 1):
            _hit(serve, victim)
            listing = json.loads(manage(serve.environment, "node", "list", "--json").stdout)[
                "nodes"
            ]
            assert listing[0]["restarts"] >= number, victim
        everyone = list(serve.family())
        serve.end(signal.SIGKILL)
        assert _left(everyone) == []
        serve.start()
        assert serve.healthy(), serve.told()
    finally:
        serve.end(signal.SIGKILL)


@pytest.mark.once
@pytest.mark.slow
def test_a_web_server_that_hangs_is_replaced(installed: dict[str, str], tmp_path: Path) -> None:
    """Its processes are stopped: they are alive and take connections, and answer none."""
    serve = Serve({**installed, "CRAWLMGR_STALL_SECONDS": "15"}, tmp_path / "log")
    serve.start()
    try:
        assert serve.healthy(), serve.told()

        def web() -> list[int]:
            return [pid for pid, (_, command) in serve.family().items() if "gunicorn" in command]

        assert wait_for(lambda: len(web()) == 3), "the master and its two processes"
        stopped = web()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        said = "The web server stopped answering; it is started again."
        assert wait_for(lambda: said in serve.told()), serve.told()
        assert _left(stopped) == []
        assert serve.healthy() and serve.told().count(said) == 1, serve.told()
    finally:
        serve.end(signal.SIGKILL)


class _Asker:
    answers = 0

    def ask(self, seconds: float) -> None:
        pass


def test_a_web_server_is_not_blamed_for_a_database_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(supervision.time, "monotonic", lambda: now)
    monkeypatch.setattr(supervision.nodes, "web_restarted", lambda *_: None)
    watch = supervision._Watch([], _Asker())  # type: ignore[arg-type]
    web = Child(supervision.WEB, ["none"], folder=Path())
    watch.started(web)
    told = []
    for now in range(0, 200, 5):
        watch.last_problem = "away" if now < 100 else ""
        told.append((now, watch.tick(web)))
    first = next(at for at, why in told if why)
    assert first == 100 + settings.STALL_SECONDS and watch.tick(web) == "stopped answering"
    _Asker.answers += 1
    assert watch.tick(web) == "" and watch.tick(Child("x", [], folder=Path())) == ""


@pytest.mark.once
@pytest.mark.slow
def test_a_node_works_without_serve(installed: dict[str, str], tmp_path: Path) -> None:
    node = Serve(installed, tmp_path / "log", "node", "--name", "north", "--queues", "crawl")
    node.start()

    def beating() -> bool:
        return bool(
            json.loads(manage(installed, "node", "list", "--json").stdout)["nodes"][0]["heartbeat"]
        )

    assert wait_for(lambda: "takes from crawl" in node.told()) and wait_for(beating), node.told()
    everyone = list(node.family())
    assert node.end() == 0
    assert _left(everyone) == []


@pytest.mark.once
def test_a_taken_port_is_told_in_one_line(installation: dict[str, str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        done = manage(installation, "serve", "--bind", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 1
    assert (
        len(done.stderr.strip().splitlines()) == 1
        and "cannot be used" in done.stderr
        and "--bind" in done.stderr
    )


@pytest.mark.once
def test_wrong_arguments_end_with_status_two(
    installation: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = manage(installation, "serve", "--bind", "nowhere")
    assert done.returncode == 2 and "nowhere" in done.stderr
    command = load_command_class("crawlmgr", "serve")
    command._called_from_command_line = True  # as `manage.py` sets it
    for words in (
        ("--bind", "nowhere"),
        ("--bind", "1.2.3.4:99999"),
        ("--workers", "0"),
        ("--workers", "x"),
    ):
        with pytest.raises(SystemExit) as ended:
            command.create_parser("manage.py", "serve").parse_args(words)
        assert ended.value.code == 2 and words[1] in capsys.readouterr().err


@pytest.mark.once
def test_times_that_do_not_fit_stop_the_start(installation: dict[str, str]) -> None:
    done = manage({**installation, "CRAWLMGR_SLICE_SECONDS": "100"}, "serve")
    assert (
        done.returncode == 1
        and len(done.stderr.strip().splitlines()) == 1
        and "CRAWLMGR_SLICE_SECONDS" in done.stderr
    )


def test_addresses_and_names() -> None:
    assert address("[::1]:80") == ("::1", 80) and str(address("[::1]:80")) == "[::1]:80"
    assert address("desk.example:8000") == ("desk.example", 8000)
    assert (
        worker_count("64") == 64
        and queue_names("a, b") == ["a", "b"]
        and node_name("north-1") == "north-1"
    )
    for reader, text in (
        (address, "::1:80"),
        (address, ":80"),
        (queue_names, "a,a"),
        (queue_names, "a b"),
        (node_name, "a:b"),
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            reader(text)
