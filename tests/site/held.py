"""Many hosts on loopback whose pages are served only when the test releases them, so that it knows
which requests are in flight."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType

Page = tuple[int, str]
"""A host's number and a path."""


class HeldWeb:
    """Hosts 127.3.0.1, 127.3.0.2 … on one port, served by one thread; a robots.txt gets 404 at
    once.

    `asked` logs every page request on arrival. Requests are delayed until `let_go`, or served at
    once after `open`.
    """

    def __init__(self, hosts: int, page: Callable[[int, str], str]) -> None:
        self.hosts, self.page, self.port = hosts, page, 0
        self.asked: list[Page] = []
        self._held: list[asyncio.Future[None]] = []
        self._open = False
        self._change = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(
            target=lambda: self._loop.run_until_complete(self._serve()), daemon=True
        )

    def __enter__(self) -> HeldWeb:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)

    def url(self, host: int, path: str) -> str:
        return f"http://127.3.0.{host + 1}:{self.port}{path}"

    def until(self, number: int, seconds: float = 120.0) -> list[Page]:
        """Waits until this number of pages has been requested in total; returns all pages requested
        so far."""
        with self._change:
            if not self._change.wait_for(lambda: len(self.asked) >= number, seconds):
                raise AssertionError(f"only {len(self.asked)} of {number} requests came")
            return list(self.asked)

    def let_go(self) -> None:
        """Releases the requests that are delayed now."""
        self._loop.call_soon_threadsafe(self._answer_held)

    def open(self) -> None:
        """Releases all delayed requests and delays no further ones."""
        self._open = True
        self.let_go()

    def _answer_held(self) -> None:
        held, self._held = self._held, []
        for future in held:
            if not future.done():
                future.set_result(None)

    async def _serve(self) -> None:
        servers = []
        for host in range(self.hosts):
            server = await asyncio.start_server(
                lambda r, w, h=host: self._client(h, r, w), f"127.3.0.{host + 1}", self.port
            )
            self.port = self.port or server.sockets[0].getsockname()[1]
            servers.append(server)
        self._ready.set()
        await self._over.wait()
        for server in servers:
            server.close()

    async def _client(
        self, host: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                writer.write(await self._answer(host, path))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has disconnected
        finally:
            writer.close()

    async def _answer(self, host: int, path: str) -> bytes:
        if path == "/robots.txt":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        with self._change:
            self.asked.append((host, path))
            self._change.notify_all()
        if not self._open:
            future: asyncio.Future[None] = self._loop.create_future()
            self._held.append(future)
            await future
        body = self.page(host, path).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (
            len(body),
            body,
        )
