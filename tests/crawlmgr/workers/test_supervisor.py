"""Process groups are supervised, restarted and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawlmgr.workers.supervisor import (
    AlreadyRunning,
    Asker,
    Child,
    StallDetector,
    Supervisor,
    alive,
    backoff_seconds,
    listen,
    lock,
)
from tests.serving import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]

FAMILY = """
import os, signal, sys, time
out = sys.argv[1]
if len(sys.argv) > 2:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: (open(f"{out}/asked", "w").close(), os._exit(7)))
for name in ("grandchild", "other"):
    if os.fork() == 0:
        with open(f"{out}/{name}", "w") as file:
            file.write(str(os.getpid()))
        if name == "grandchild" and os.fork() == 0:
            with open(f"{out}/great", "w") as file:
                file.write(str(os.getpid()))
        time.sleep(600)
while True:
    time.sleep(0.05)
"""


def _wait(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def _gone(pid: int) -> bool:
    """True if the process is not running; a zombie counts as not running."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return not alive(pid)
    return state in "ZX"


class Family:
    """A program that forks two children and a grandchild, each of which writes its id into a
    folder."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        folder.mkdir()
        self.folder = folder
        (folder / "family.py").write_text(FAMILY)
        self.child = Child(
            "family", [str(folder / "family.py"), str(folder), *arguments], folder=ROOT
        )

    def pids(self) -> list[int]:
        names = ("grandchild", "other", "great")
        assert _wait(
            lambda: all(
                (self.folder / name).exists() and (self.folder / name).read_text() for name in names
            )
        )
        return [int((self.folder / name).read_text()) for name in names]

    def forget(self) -> None:
        for name in ("grandchild", "other", "great"):
            (self.folder / name).unlink()


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    one = Family(tmp_path / "family")
    yield one
    one.child.sweep(0.0)


def _supervisor(
    child: Child, told: list[str], why: Callable[[], str] = lambda: "", grace: float = 5.0
) -> Supervisor:
    return Supervisor(
        [child],
        on_start=lambda _: told.append("start"),
        on_end=lambda _, why: told.append(why),
        on_tick=lambda _: why(),
        tick_seconds=0.0,
        grace_seconds=grace,
    )


def _rounds(supervisor: Supervisor, until: Callable[[], bool]) -> bool:
    def once() -> bool:
        supervisor.step()
        return until()

    return _wait(once)


def test_a_child_that_died_is_started_again_and_its_whole_group_goes_first(family: Family) -> None:
    told: list[str] = []
    supervisor = _supervisor(family.child, told)
    supervisor.step()
    first, others = family.child.pid, family.pids()
    family.forget()
    os.kill(first, signal.SIGKILL)
    assert _rounds(supervisor, lambda: family.child.pid not in (0, first))
    assert all(_wait(lambda pid=pid: _gone(pid)) for pid in others)
    assert told == ["start", "died, exit status -9", "start"]


def test_a_child_that_is_called_stalled_goes_with_its_group_and_comes_back(family: Family) -> None:
    told: list[str] = []
    verdicts = ["", "stopped taking tasks"]
    grown = family.folder / "great"
    supervisor = _supervisor(
        family.child,
        told,
        why=lambda: verdicts.pop() if len(verdicts) > 1 and grown.exists() else "",
    )
    supervisor.step()
    first, others = family.child.pid, family.pids()
    assert _rounds(
        supervisor, lambda: "stopped taking tasks" in told and family.child.pid not in (0, first)
    )
    assert all(_wait(lambda pid=pid: _gone(pid)) for pid in [first, *others])


def test_a_child_is_started_when_it_is_wanted_and_ended_when_no_more(family: Family) -> None:
    told: list[str] = []
    wish = [False]
    family.child.wanted = lambda: wish[0]
    supervisor = _supervisor(family.child, told)
    supervisor.step()
    assert family.child.pid == 0 and told == []
    wish[0] = True
    supervisor.step()
    first, others = family.child.pid, family.pids()
    wish[0] = False
    assert _rounds(supervisor, lambda: family.child.pid == 0)
    assert (family.folder / "asked").exists() and all(
        _wait(lambda pid=pid: _gone(pid)) for pid in [first, *others]
    )
    supervisor.step()
    assert told == ["start"], "its end was asked for: nobody is told of it, and nothing comes back"


def test_stop_asks_first_and_leaves_nobody(family: Family) -> None:
    supervisor = _supervisor(family.child, [])
    supervisor.step()
    first, others = family.child.pid, family.pids()
    supervisor.stop()
    supervisor.run()
    assert (family.folder / "asked").exists()
    assert all(_gone(pid) for pid in [first, *others])


def test_a_child_that_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    deaf = Family(tmp_path / "deaf", "deaf")
    supervisor = _supervisor(deaf.child, [], grace=0.5)
    supervisor.step()
    first, others = deaf.child.pid, deaf.pids()
    begun = time.monotonic()
    supervisor.stop()
    supervisor.run()
    assert time.monotonic() - begun > 0.4, "not before the grace is over"
    assert all(_gone(pid) for pid in [first, *others])


def test_a_second_request_to_stop_ends_the_grace(tmp_path: Path) -> None:
    deaf = Family(tmp_path / "deaf", "deaf")
    supervisor = _supervisor(deaf.child, [], grace=2 * PATIENCE_SECONDS)
    supervisor.step()
    deaf.pids()
    supervisor.stop()
    supervisor.stop()
    begun = time.monotonic()
    supervisor.run()
    assert time.monotonic() - begun < PATIENCE_SECONDS


@pytest.mark.parametrize("victims", ["supervisor", "middle", "first and supervisor"])
def test_no_orphan_whoever_is_killed(tmp_path: Path, victims: str) -> None:
    """Kills the supervisor, a process in the middle of the group, or the supervisor together with
    the group's first process."""
    family = Family(tmp_path / "family")
    script = tmp_path / "boss.py"
    program = [str(family.folder / "family.py"), str(family.folder)]
    script.write_text(
        "import pathlib, sys, time\n"
        "from crawlmgr.workers.supervisor import Child\n"
        f"child = Child('family', {program!r}, folder=pathlib.Path({str(ROOT)!r}))\n"
        "child.start(0.0)\nprint(child.pid, flush=True)\ntime.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    boss = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, cwd=ROOT, env=environment
    )
    assert boss.stdout is not None
    first = int(boss.stdout.readline())
    grandchild, other, great = family.pids()
    try:
        if victims == "middle":
            os.kill(grandchild, signal.SIGKILL)
            assert _wait(lambda: _gone(great))
            assert not _gone(other) and not _gone(first)
        else:
            os.kill(boss.pid, signal.SIGSTOP)
            if victims != "supervisor":
                os.kill(first, signal.SIGKILL)
            os.kill(boss.pid, signal.SIGKILL)
            for pid in (first, grandchild, other, great):
                assert _wait(lambda pid=pid: _gone(pid)), f"{pid} is left"
    finally:
        boss.kill()
        boss.wait()
        boss.stdout.close()


def test_the_pause_before_a_restart_grows_and_a_healthy_life_ends_it() -> None:
    child = Child("short", ["-c"], folder=ROOT)
    starts = []
    now = 0.0
    for _ in range(4):
        child.start(now)
        assert child.process is not None
        child.process.wait()
        child.sweep(now + 1)
        starts.append(child.next_start - (now + 1))
        now = child.next_start
    assert starts == [0.0, 0.5, 1.0, 2.0]
    child.start(now)
    child.sweep(now + 60)
    assert child.next_start == now + 60
    assert backoff_seconds(1000) == 30.0


WORKER = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (folder / "asked").touch())
pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, lambda *_: ((folder / "heard").touch(), os._exit(0)))
    (folder / "ready").touch()
    while not (folder / "done").exists():
        time.sleep(0.02)
    os._exit(0)
os.waitpid(pid, 0)
while not (folder / "asked").exists():
    time.sleep(0.02)
(folder / "clean").touch()
"""
"""A cluster with one worker, which works until it is told that it may end early, or is done."""


@pytest.mark.parametrize("early", [True, False])
def test_workers_hear_that_they_may_end_early(tmp_path: Path, early: bool) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    child = Child("worker", [str(script), str(tmp_path)], folder=ROOT, ends_early=early)
    child.start(0.0)
    try:
        assert _wait((tmp_path / "ready").exists)
        child.ask_to_end()
        assert _wait((tmp_path / "asked").exists)
        if not early:
            (tmp_path / "done").touch()
        assert _wait(child.ended)
    finally:
        child.sweep(1.0)
    assert (tmp_path / "heard").exists() is early and (tmp_path / "clean").exists()


def test_the_detector_tells_a_stall_from_work_and_youth() -> None:
    detector = StallDetector(stall_seconds=10, busy_seconds=100, start_seconds=25)
    detector.begin(0, None)
    assert not detector.stalled(None, False, 24)
    assert detector.stalled(None, False, 26)
    detector.begin(26, None)
    assert not detector.stalled("a", False, 40)
    assert not detector.stalled("a", False, 49)
    assert not detector.stalled("b", False, 52)
    assert not detector.stalled("b", True, 150)
    assert detector.stalled("b", True, 153)
    assert detector.stalled("b", False, 63)
    detector.begin(63, "b")
    assert not detector.stalled("b", False, 87), (
        "a restarted cluster has not shown itself by the heartbeat of the one before"
    )
    assert detector.stalled("b", False, 89)
    detector.pause(89)
    assert not detector.stalled("b", False, 110)


def test_a_cluster_that_lost_a_worker_is_in_doubt_until_its_next_sign() -> None:
    detector = StallDetector(60.0, busy_seconds=100.0, doubt_seconds=15.0)
    detector.begin(0.0, None)
    detector.count(4, 1.0)
    assert not detector.stalled("a", False, 2.0) and not detector.stalled("a", False, 50.0)
    detector.count(5, 51.0)
    assert not detector.stalled("a", False, 60.0) and not detector.stalled("a", True, 70.0), (
        "a busy one may be long over its task"
    )
    assert detector.stalled("a", False, 70.0)
    assert not detector.stalled("b", False, 71.0)
    detector.count(5, 72.0)
    assert not detector.stalled("b", False, 120.0)


def test_one_lock_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "serve.lock"
    held = lock(path)
    with pytest.raises(AlreadyRunning, match=str(os.getpid())):
        lock(path)
    held.close()
    lock(path).close()


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(OSError):
        listen("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize(
    ("answer", "counted"),
    [(b"HTTP/1.0 200 OK\r\n\r\n{}", 1), (b"HTTP/1.0 503 no workers\r\n\r\n", 1), (b"", 0)],
    ids=["well", "no workers", "closed"],
)
def test_any_answer_of_the_web_server_counts(answer: bytes, counted: int) -> None:
    with listen("0.0.0.0", 0) as listener:  # noqa: S104 - as one serves all addresses
        asker = Asker(listener, "desk.example:80")
        asker.ask(PATIENCE_SECONDS)
        connection, _address = listener.accept()
        with connection:
            asked = connection.recv(200).decode()
            connection.sendall(answer)
        assert asked.startswith("GET /healthz HTTP/1.0\r\nHost: desk.example:80\r\n")
        assert _wait(lambda: not asker._thread or not asker._thread.is_alive())
        assert asker.answers == counted


def test_a_web_server_that_never_answers_is_asked_once_at_a_time_and_keeps_nobody_waiting() -> None:
    with listen("127.0.0.1", 0) as listener:
        asker = Asker(listener, "localhost")
        begun = time.monotonic()
        for _ in range(5):
            asker.ask(0.3)
        assert time.monotonic() - begun < 0.2
        first = asker._thread
        assert first is not None and _wait(lambda: not first.is_alive()) and asker.answers == 0
        listener.settimeout(0.2)
        listener.accept()[0].close()
        with pytest.raises(TimeoutError):
            listener.accept()
    asker.ask(5)  # nothing listens any more
    assert asker._thread is not None and _wait(lambda: not asker._thread.is_alive())
    assert asker.answers == 0
