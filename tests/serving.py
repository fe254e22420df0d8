"""Runs `serve` as a process of its own, for tests that observe it from outside."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.prepared import Prepared

ROOT = Path(__file__).resolve().parents[1]
# time limit for events that occur by themselves; only a failing test ever waits this long
PATIENCE_SECONDS = 300.0
# settings of a test installation; long time limits, since a process on a busy machine may get no
# CPU for seconds
QUICK = {
    "CRAWLMGR_TICK_SECONDS": "1",
    "CRAWLMGR_STALL_SECONDS": "30",
    "CRAWLMGR_SLICE_SECONDS": "1",
    "CRAWLMGR_LEASE_SECONDS": "20",
    "CRAWLMGR_TIMEOUT_SECONDS": "30",
    "CRAWLMGR_RETRY_SECONDS": "95",
    "CRAWLMGR_WORKERS": "2",
    "CRAWLMGR_MIN_FREE_MB": "0",
}


def wait_for(
    condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS, every: float | None = None
) -> Any:
    """Polls until the condition returns a true value or the time is over; returns the last value.
    Unless `every` is given, the intervals grow, since each poll costs CPU too."""
    end, pause = time.monotonic() + seconds, every or 0.02
    while not (answer := condition()) and time.monotonic() < end:
        time.sleep(pause)
        pause = pause if every else min(1.25 * pause, 0.25)
    return answer


def manage(
    environment: Mapping[str, str], *words: str, root: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Runs `manage.py` with the arguments `words`, in the project or in a copy of it at `root`, and
    waits for its end."""
    return finished(begun(environment, "manage.py", *words, root=root))


def begun(
    environment: Mapping[str, str], *words: str, root: Path = ROOT, **streams: Any
) -> subprocess.Popen[Any]:
    """Starts a program of the project (see `tests.prepared` for `words`), in the project or in a
    copy of it at `root`; its output is read as text unless `streams` say something else."""
    if not streams:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    if root == ROOT:
        return Prepared(words, cwd=root, env=dict(environment), **streams)
    return subprocess.Popen([sys.executable, *words], cwd=root, env=dict(environment), **streams)


def finished(
    process: subprocess.Popen[str], seconds: float = 2 * PATIENCE_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Waits for the end of a program; kills it after `seconds`."""
    try:
        out, said = process.communicate(timeout=seconds)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


class Serve:
    """Runs `serve` as a process on one installation; it can be killed and started repeatedly.
    `told()` returns its output. `program` is what runs a command in the folder `root`, if it is not
    the checkout's or its copy's own."""

    def __init__(
        self,
        environment: Mapping[str, str],
        log: Path,
        *words: str,
        root: Path = ROOT,
        program: Sequence[str] = (),
    ) -> None:
        self.root, self.program = root, program
        self.environment, self.log, self.words = (
            {**QUICK, **environment},
            log,
            words or ("serve", "--bind", "127.0.0.1:0"),
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process; its output is appended to the log."""
        with self.log.open("ab") as output:
            streams: dict[str, Any] = {
                "stdin": subprocess.DEVNULL,
                "stdout": output,
                "stderr": output,
                "start_new_session": True,
            }
            if self.program:
                command = [*self.program, *self.words]
                self.process = subprocess.Popen(
                    command, cwd=self.root, env=self.environment, **streams
                )
            else:
                self.process = begun(
                    self.environment, "manage.py", *self.words, root=self.root, **streams
                )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def told(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def address(self) -> str:
        """Returns the address of the web interface that the server process printed last."""
        found = wait_for(lambda: re.findall(r"Crawl manager: (http://\S+/)", self.told()))
        assert found, self.told()
        return str(found[-1])

    def health(self) -> tuple[int, dict[str, Any]]:
        """Status and JSON of /healthz; status 0 if there is no response."""
        try:
            # our own address
            with urllib.request.urlopen(  # noqa: S310
                self.address() + "healthz", timeout=30
            ) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, {}

    def healthy(self, seconds: float = PATIENCE_SECONDS) -> bool:
        return bool(wait_for(lambda: self.health()[0] == 200, seconds))

    def family(self) -> dict[int, tuple[int, str]]:
        """All living descendants of the process: id → (parent's id, command line)."""
        return family(self.pid)

    def end(self, number: int = signal.SIGTERM, seconds: float = PATIENCE_SECONDS) -> int:
        """Sends a signal, waits until the process has ended, and returns its exit status. Kills it
        after `seconds`."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


def processes() -> dict[int, tuple[int, str]]:
    """Every process of this machine that is not a zombie: id → (parent's id, command line)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                command = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
            except OSError:
                continue
            if state not in "ZX":
                found[int(entry.name)] = (int(parent), command)
    return found


def family(pid: int) -> dict[int, tuple[int, str]]:
    """All living descendants of a process."""
    everyone = processes()
    below = {pid}
    while more := {
        one for one, (parent, _) in everyone.items() if parent in below and one not in below
    }:
        below |= more
    return {one: everyone[one] for one in below - {pid}}
