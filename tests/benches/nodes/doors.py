"""Makes nodes fail in benchmarks: finds and signals their processes, and passes their database
connections through a proxy that can interrupt them."""

from __future__ import annotations

import os
import selectors
import shutil
import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.postgresql import Server

SOCKET = ".s.PGSQL.5432"


def signal_to(pid: int, number: int) -> None:
    """Sends the signal `number` to a process; does nothing if it has ended already."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def family(pid: int) -> list[int]:
    """Returns the ids of a process and all its living descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


class Door:
    """A proxy to the socket of a PostgreSQL server that can be interrupted: its connections break,
    and new ones are refused until the interruption ends."""

    def __init__(self, server: Server) -> None:
        self.server = str(server.folder / SOCKET)
        # a socket's path may have 107 bytes
        self.folder = Path(tempfile.mkdtemp(prefix="crawlmgr-door-", dir="/tmp"))
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
                return  # the listening socket was closed
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
        """Breaks all connections, refuses new ones for `seconds`, and then accepts them again."""
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
                # a socket, as registered above
                data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)
