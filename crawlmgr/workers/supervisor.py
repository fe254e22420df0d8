"""Supervision of child process groups: starts them, watches them, restarts them with increasing
pauses, and stops them. Standard library only."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HEALTHY_SECONDS = 10.0
LONGEST_BACKOFF_SECONDS = 30.0
POLL_SECONDS = 1.0
"""Longest pause between two rounds in seconds: how soon a requested start or stop is noticed."""


class AlreadyRunning(Exception):
    """Another process holds the lock; the text is its process id, or "" if it is unknown."""


def backoff_seconds(failures: int) -> float:
    """Returns for how many seconds to wait before the next start after `failures` failures in a
    row: 0 for none, then 0.5, doubled with each failure up to 30.

    >>> [backoff_seconds(n) for n in range(5)], backoff_seconds(50)
    ([0.0, 0.5, 1.0, 2.0, 4.0], 30.0)
    """
    return min(LONGEST_BACKOFF_SECONDS, 0.5 * 2.0 ** min(failures - 1, 20)) if failures > 0 else 0.0


def alive(pid: int) -> bool:
    """Tells whether a process with this id runs on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def group(number: int) -> list[int]:
    """Returns the process ids of the process group `number`, from /proc; [] if there are none, or
    on systems without /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[2]) == number:
                found.append(int(entry.name))
    return found


def memory_bytes(pids: Sequence[int]) -> int:
    """Returns the total memory of processes in bytes, with shared memory pages divided by the
    number of processes that share them (PSS). Processes that have ended or cannot be read count 0.
    """
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
    return total


def lock(path: Path) -> IO[str]:
    """Takes an exclusive lock on a file, and writes this process's id into it. Returns the open
    file, which must be kept open: the operating system releases the lock when the process ends,
    however it ends. Raises AlreadyRunning if another process holds the lock."""
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        raise AlreadyRunning(holder) from error
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def listen(host: str, port: int) -> socket.socket:
    """Returns a listening socket to pass to the web server. The supervisor keeps it, so that it
    stays open while the web server restarts. Raises OSError if the address cannot be used."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener


class Asker:
    """Asks the web server that listens on `listener` for /healthz, under the host name `host`, and
    counts its answers, whatever their status.

    It asks in a thread, so that the supervisor never waits for the answer, and one question at a
    time."""

    def __init__(self, listener: socket.socket, host: str) -> None:
        self.family, name = listener.family, listener.getsockname()
        loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with
        self.address = (loopback.get(name[0], name[0]), *name[1:])
        self.question = f"GET /healthz HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()
        self.answers = 0
        self._thread: threading.Thread | None = None

    def ask(self, seconds: float) -> None:
        """Asks, unless an earlier question still waits for its answer, which it does for at most
        `seconds`."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._ask, args=(seconds,), daemon=True)
            self._thread.start()

    def _ask(self, seconds: float) -> None:
        with contextlib.suppress(OSError), socket.socket(self.family) as connection:
            connection.settimeout(seconds)
            connection.connect(self.address)
            connection.sendall(self.question)
            self.answers += bool(connection.recv(16))


@dataclass(slots=True)
class StallDetector:
    """Detects a cluster of workers that has stopped taking tasks, as opposed to one that is busy or
    has just started; or a web server that does not answer, whose heartbeat is `Asker.answers`.

    Tasks write a heartbeat value, for example a time, to the database. The cluster has stopped if
    the value does not change for longer than the largest limit that applies, by this process's
    monotonic clock (a machine's suspension is not counted):
    - `stall_seconds`: always; in this time the cluster must run the task that it is regularly asked
      to run.
    - `busy_seconds`: while a worker is busy. `start_seconds`: until the first heartbeat of a new
      cluster.
    - `doubt_seconds`: instead of `stall_seconds` from the death of a worker to the next heartbeat.
      The worker may have held the lock of the cluster's internal queue; then no other worker would
      ever get a task again."""

    stall_seconds: float
    busy_seconds: float
    start_seconds: float = 30.0
    doubt_seconds: float | None = None
    heartbeat: object = None
    deaths: int | None = None
    in_doubt: bool = False
    changed: float = 0.0
    young: bool = True

    def begin(self, at: float, heartbeat: object) -> None:
        """Restarts all time limits at `at`, because a new cluster starts. `heartbeat` is the value
        that the previous cluster left, so that only a different value counts as a heartbeat of the
        new one."""
        self.heartbeat, self.changed, self.young, self.in_doubt = heartbeat, at, True, False

    def count(self, deaths: int, at: float) -> None:
        """Records the total number of worker processes that have died until `at`. If it has
        increased, the time limit for a heartbeat is restarted, and is `doubt_seconds` instead of
        `stall_seconds` until the next heartbeat.
        """
        if self.deaths is not None and deaths > self.deaths:
            self.changed, self.in_doubt = at, True
        self.deaths = deaths

    def pause(self, at: float) -> None:
        """Restarts the time limit at `at`; called if the heartbeat could not be read."""
        self.changed = at

    def stalled(self, heartbeat: object, busy: bool, at: float) -> bool:
        """Records the current heartbeat; returns True if at the time `at` it has been unchanged for
        longer than allowed. `busy` tells whether a worker is working on a task."""
        if heartbeat != self.heartbeat:
            self.heartbeat, self.changed, self.young, self.in_doubt = heartbeat, at, False, False
        least = (
            self.doubt_seconds
            if self.in_doubt and self.doubt_seconds is not None
            else self.stall_seconds
        )
        allowed = [
            least,
            self.busy_seconds if busy else 0.0,
            self.start_seconds if self.young else 0.0,
        ]
        return at - self.changed > max(allowed)


class Child:
    """One program in a process group of its own, which can be started again after it ended.

    The group gets a pipe whose other end this object holds; `crawlmgr.workers.child` kills the
    group when that end closes. `wanted` tells whether the program should run now,
    `ends_early` whether it handles SIGUSR1 as a request to end its tasks early.
    """

    def __init__(
        self,
        name: str,
        program: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
        ends_early: bool = False,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name, self.program, self.folder = name, list(program), folder
        self.environment = {**os.environ, **(environment or {})}
        self.descriptors, self.ends_early, self.wanted = tuple(descriptors), ends_early, wanted
        self.process: subprocess.Popen[bytes] | None = None
        self.pipe = -1
        self.failures = 0
        self.started = 0.0
        self.next_start = 0.0
        self.asked: float | None = None

    @property
    def pid(self) -> int:
        """The id of the process group and its first process; 0 while it is not running."""
        return self.process.pid if self.process is not None else 0

    def start(self, at: float) -> None:
        """Starts the program in a new group and session, so that Ctrl-C in the terminal reaches
        only the supervisor. `at` is the time on the supervisor's clock."""
        reading, self.pipe = os.pipe()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own programs
                [sys.executable, "-m", "crawlmgr.workers.child", str(reading), *self.program],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(reading, *self.descriptors),
            )
        finally:
            os.close(reading)
        self.started = at

    def ended(self) -> bool:
        """Tells whether the group's first process has ended. It is not reaped yet, so that its id
        still identifies the group."""
        if self.process is None:
            return False
        return (
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        )

    def sweep(self, at: float) -> int:
        """Kills what is left of the child's process group, reaps its first process, and sets the
        earliest time of the next start. `at` is the present time. Returns the exit status of the
        first process; 0 if the child was not running.
        """
        if self.process is None:
            return 0
        self._signal_group(signal.SIGKILL)
        status = self.process.wait()
        os.close(self.pipe)
        self.process, self.pipe, self.asked = None, -1, None
        self.failures = 1 if at - self.started >= HEALTHY_SECONDS else self.failures + 1
        self.next_start = at + backoff_seconds(self.failures - 1)
        return status

    def dismissed(self, at: float, grace_seconds: float) -> bool:
        """Ends a child that is no longer wanted: the first call asks it to end, a later one kills
        its process group once `grace_seconds` have passed. `at` is the current time in seconds.
        Returns True once the child has ended.
        """
        if self.process is None:
            return True
        if self.asked is None:
            self.asked = at
            self.ask_to_end()
        if self.ended() or at - self.asked >= grace_seconds:
            self.sweep(at)
            self.failures, self.next_start = 0, at
        return self.process is None

    def ask_to_end(self) -> None:
        """Sends SIGTERM to the first process. With `ends_early`, first sends SIGUSR1 to its group,
        so that running tasks end early."""
        if self.process is None:
            return
        if self.ends_early:
            self._signal_group(signal.SIGUSR1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGTERM)

    def _signal_group(self, number: int) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)


class Supervisor:
    """Keeps children running until it is asked to stop; each round starts children that are wanted
    and ends those that are not.

    `on_start(child)` is called after each start, `on_end(child, why)` when a child ended by itself
    or was killed to be restarted. `on_tick(child)` is called every `tick_seconds` for a running
    child and returns why it must be restarted, or "".

    `stop` and `look` can be used as signal handlers: they take no lock, which the interrupted code
    could hold.
    """

    def __init__(
        self,
        children: Sequence[Child],
        *,
        on_start: Callable[[Child], None],
        on_end: Callable[[Child, str], None],
        on_tick: Callable[[Child], str],
        tick_seconds: float,
        grace_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.children = list(children)
        self.on_start, self.on_end, self.on_tick = on_start, on_end, on_tick
        self.tick_seconds, self.grace_seconds, self.clock = tick_seconds, grace_seconds, clock
        self.next_tick = 0.0
        self._bell = -1
        self._stops = 0

    def stop(self, *_: object) -> None:
        """Asks the loop in `run` to end, which then ends the children; a second call makes it kill
        them without waiting for the grace period."""
        self._stops += 1
        self.look()

    def look(self, *_: object) -> None:
        """Makes the next round begin at once; used as the handler of SIGCHLD, so that the end of a
        child is noticed immediately."""
        if self._bell >= 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._bell, b"!")

    def run(self) -> None:
        """Works until `stop` is called, then ends the children: asks them first, and kills their
        groups after the grace period."""
        reading, self._bell = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(self._bell, False)
        try:
            while not self._stops:
                self.step()
                if select.select([reading], [], [], self._pause())[0]:
                    os.read(reading, 1024)
        finally:
            self._end_all()
            bell, self._bell = self._bell, -1
            os.close(bell)
            os.close(reading)

    def _pause(self) -> float:
        """Returns the seconds until the next start or the next call of `on_tick` is due, at most
        POLL_SECONDS."""
        starts = [
            child.next_start for child in self.children if child.process is None and child.wanted()
        ]
        return min(POLL_SECONDS, max(0.0, min([self.next_tick, *starts]) - self.clock()))

    def step(self) -> None:
        """Makes one round: ends children that are no longer wanted, handles those that have ended
        by themselves, starts those whose start is due, and every `tick_seconds` asks `on_tick`
        which must be restarted."""
        for child in self.children:
            if not child.wanted():
                child.dismissed(self.clock(), self.grace_seconds)
                continue
            if child.ended():
                self._down(child, "died")
            if child.process is None and self.clock() >= child.next_start and not self._stops:
                child.start(self.clock())
                self.on_start(child)
        if self.clock() >= self.next_tick:
            self.next_tick = self.clock() + self.tick_seconds
            for child in self.children:
                why = self.on_tick(child) if child.process is not None and not child.ended() else ""
                if why:
                    self._down(child, why)

    def _down(self, child: Child, why: str) -> None:
        """Kills and reaps a child's group, because its first process ended or it must be restarted,
        and reports it to `on_end`."""
        status = child.sweep(self.clock())
        self.on_end(child, f"{why}, exit status {status}" if why == "died" else why)

    def _end_all(self) -> None:
        """Ends all children, killing them after the grace period or at a second `stop`."""
        for child in self.children:
            child.ask_to_end()
        deadline = self.clock() + self.grace_seconds
        while any(child.process is not None for child in self.children):
            over = self.clock() >= deadline or self._stops > 1
            for child in self.children:
                if child.process is not None and (over or child.ended()):
                    child.sweep(self.clock())
            time.sleep(0.05)
