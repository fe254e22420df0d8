"""A Redis or Valkey server for one test."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from contextlib import closing

import redis

from tests.serving import wait_for

SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
MISSING = "neither redis-server nor valkey-server is installed"


class Redis:
    """A Redis server for tests, which stores nothing on disk."""

    def __init__(self) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            self.port = listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts an empty server and waits until it responds."""
        words = [
            str(SERVER),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert wait_for(self._answers), "redis-server does not answer"

    def _answers(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.url).ping())
        except redis.RedisError:
            return False

    def end(self) -> None:
        """Kills the server; all its data is lost."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
