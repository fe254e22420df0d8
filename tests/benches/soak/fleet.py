"""The additional nodes of `bench soak --nodes`, each of which stands for a machine: they are
killed, frozen or cut off from the database."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

from tests.benches.nodes.doors import Door, family, signal_to
from tests.postgresql import Server

NODE_KINDS = ("node", "node", "frozen node", "cut node")
"""Kinds of failure: all processes of a node killed; a node frozen for longer than a lease; a node
cut off from the database for as long."""


class Fleet:
    """The additional nodes; call `start`, then `strike` repeatedly to make one fail, then `stop`. A
    killed node is restarted later."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], server: Server, count: int
    ) -> None:
        self.folder, self.environment = folder, dict(environment)
        self.names = [f"soak-{number + 1}" for number in range(count)]
        self.doors = {name: Door(server) for name in self.names}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Starts all nodes."""
        for name in self.names:
            self._start(name)

    def _start(self, name: str) -> None:
        url = f"postgresql://crawlmgr@/soak?host={quote(str(self.doors[name].folder), safe='')}"
        with (self.folder / f"{name}.log").open("ab") as output:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "manage.py", "node", "--name", name],
                cwd=settings.BASE_DIR,
                env={**self.environment, "DATABASE_URL": url},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def strike(self, victim: str, draw: random.Random, seconds: float) -> bool:
        """Makes a random node fail for up to `seconds` in the way `victim`, one of NODE_KINDS;
        returns True once the failure is over."""
        name = draw.choice(self.names)
        if victim == "cut node":
            self.doors[name].cut(seconds)
            return True
        everybody = family(self.processes[name].pid)
        for pid in everybody:
            signal_to(pid, signal.SIGKILL if victim == "node" else signal.SIGSTOP)
        if victim == "node":
            self.processes[name].wait()
            time.sleep(draw.uniform(0, seconds))
            self._start(name)
        else:
            time.sleep(seconds)
            for pid in everybody:
                signal_to(pid, signal.SIGCONT)
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
