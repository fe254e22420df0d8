"""The additional nodes of `bench soak --nodes`, each standing for a whole machine: killed, frozen or cut off from the
database."""

from __future__ import annotations

import os
import random
import selectors
import shutil
import signal
import socket
import subprocess  # noqa: S404 - starting nodes is what this is for
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

from crawlmgr.benches.postgresql import Server

NODE_KINDS = ("node", "node", "frozen node", "cut node")
"""Kinds of failure: all processes of a node killed; a node frozen for longer than a lease; a node cut off from the database for
as long."""
SOCKET = ".s.PGSQL.5432"


class Fleet:
    """The additional nodes; call `start`, then `strike` repeatedly, then `stop`. A killed node is started again after a while."""

    def __init__(self, folder: Path, environment: Mapping[str, str], server: Server, count: int) -> None:
        self.folder, self.environment = folder, dict(environment)
        self.names = [f"soak-{number + 1}" for number in range(count)]
        self.doors = {name: Door(server.folder / SOCKET) for name in self.names}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Starts all nodes."""
        for name in self.names:
            self._start(name)

    def _start(self, name: str) -> None:
        url = f"postgresql://crawlmgr@/soak?host={quote(str(self.doors[name].folder), safe='')}"
        with (self.folder / f"{name}.log").open("ab") as output:
            self.processes[name] = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "manage.py", "node", "--name", name], cwd=settings.BASE_DIR,
                env={**self.environment, "DATABASE_URL": url}, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )

    def strike(self, victim: str, draw: random.Random, seconds: float) -> bool:
        """Makes one node fail in the way `victim` names; on return the node works again. False if it was not possible."""
        name = draw.choice(self.names)
        if victim == "cut node":
            self.doors[name].cut(seconds)
            return True
        everybody = _family(self.processes[name].pid)
        for pid in everybody:
            _signal(pid, signal.SIGKILL if victim == "node" else signal.SIGSTOP)
        if victim == "node":
            self.processes[name].wait()
            time.sleep(draw.uniform(0, seconds))
            self._start(name)
        else:
            time.sleep(seconds)
            for pid in everybody:
                _signal(pid, signal.SIGCONT)
        return True

    def stop(self) -> None:
        """Stops all nodes."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for door in self.doors.values():
            door.close()


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _family(pid: int) -> list[int]:
    """A process and all its living descendants, as pids."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


class Door:
    """A proxy to a PostgreSQL server's socket that can be cut: connections break, and new ones are refused meanwhile."""

    def __init__(self, server: Path) -> None:
        self.server = str(server)
        self.folder = Path(tempfile.mkdtemp(prefix="crawlmgr-door-", dir="/tmp"))  # noqa: S108 - a socket's path may have 107 bytes
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._listener = self._listen()

    def _listen(self) -> socket.socket:
        place = self.folder / SOCKET
        place.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place))
        listener.listen(64)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _address = listener.accept()
            except OSError:
                return  # closed
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.server)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs.append((client, far))
            threading.Thread(target=_relay, args=(client, far), daemon=True).start()

    def cut(self, seconds: float) -> None:
        """Breaks every connection and refuses new ones for `seconds`."""
        self._shut()
        time.sleep(seconds)
        self._listener = self._listen()

    def _shut(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the proxy for good and deletes its folder."""
        self._shut()
        shutil.rmtree(self.folder, ignore_errors=True)


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Copies bytes both ways until one side closes."""
    with one, other, selectors.DefaultSelector() as waiting, suppress(OSError):
        waiting.register(one, selectors.EVENT_READ, other)
        waiting.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _events in waiting.select():
                data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)
