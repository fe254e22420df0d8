"""A site for tests on a free loopback port, used as a context manager."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class LoopbackServer:
    """Serves `handler` from a thread of its own; `pause` is set when the site closes, which
    releases delayed responses."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.pause = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pause.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
