"""A small web on loopback for tests: routes are callables, every request is logged, and routes can
use the raw socket."""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Seen(NamedTuple):
    """A request that reached the server; `time` is monotonic, `path` includes the query, header
    names are in lower case."""

    time: float
    method: str
    path: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Request:
    """The argument of a route. `raw` is the client's socket, for routes that misbehave and return
    None."""

    site: LocalSite
    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes
    raw: socket.socket

    @property
    def stopped(self) -> threading.Event:
        """Set when the site closes; endless routes then end."""
        return self.site.stopped


@dataclass(frozen=True)
class Reply:
    """A regular response; Content-Length is added unless `headers` contain one."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"


Route = Callable[[Request], "Reply | str | bytes | None"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: the log is LocalSite.log."""

    def handle_any(self) -> None:
        site = self.server.site
        headers = {name.lower(): value for name, value in self.headers.items()}
        site.log.append(Seen(time.monotonic(), self.command, self.path, headers))
        body = self.rfile.read(int(headers.get("content-length") or 0))
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = Request(site, self.command, parts.path, query, headers, body, self.connection)
        try:
            answer = site.find(parts.path)(request)
            if answer is None:
                self.close_connection = True
                return
            self._write(answer if isinstance(answer, Reply) else Reply(_to_bytes(answer)))
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = handle_any

    def _write(self, reply: Reply) -> None:
        names = {name.lower() for name in reply.headers}
        lines = [f"HTTP/1.1 {reply.status} {self.responses.get(reply.status, ('OK',))[0]}"]
        if reply.content_type and "content-type" not in names:
            lines.append(f"Content-Type: {reply.content_type}")
        if not names & {"content-length", "transfer-encoding"} and reply.status not in (204, 304):
            lines.append(f"Content-Length: {len(reply.body)}")
        lines.extend(f"{name}: {value}" for name, value in reply.headers.items())
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.connection.sendall(head if self.command == "HEAD" else head + reply.body)
        if str(reply.headers.get("Connection", "")).lower() == "close":
            self.close_connection = True


def _to_bytes(answer: str | bytes) -> bytes:
    return answer.encode("utf-8") if isinstance(answer, str) else answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    site: LocalSite

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(
            self
        )  # HTTPServer's own method would look up the host's name

    def get_request(self) -> tuple[socket.socket, Any]:
        sock, address = super().get_request()
        self.site.connections += 1
        if (
            self.site.tls is not None
        ):  # the handshake happens on the first read, in the client's own thread
            sock = self.site.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return sock, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors of clients that disconnect, which are expected."""


class LocalSite:
    """A web server on a free loopback port, for use in `with`.

    >>> with LocalSite() as site:
    ...     site.add("/hello", "<p>hello</p>")
    ...     site.url("/hello").startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.host = host
        self.tls = tls
        self.log: list[Seen] = []
        self.connections = 0
        self.stopped = threading.Event()
        self._routes: dict[str, Route] = {}
        self._server = _Server((host, port), _Handler)
        self._server.site = self
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self.add("/robots.txt", Reply(b"", 404))

    def __enter__(self) -> LocalSite:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def authority(self) -> str:
        """host:port, in the form of the address guard's exceptions."""
        return f"{self.host}:{self.port}"

    def url(self, path: str = "/") -> str:
        """The address of a path on this site."""
        return f"{'https' if self.tls else 'http'}://{self.authority}{path}"

    def add(self, path: str, answer: Route | Reply | str | bytes) -> None:
        """Serves `path` (a trailing "*" makes it a prefix) with a route, or with the same response
        each time."""
        if callable(answer):
            self._routes[path] = answer
        else:
            fixed = answer
            self._routes[path] = lambda _request: fixed

    def find(self, path: str) -> Route:
        """The route of a path: an exact match, otherwise the longest prefix, otherwise 404."""
        if path in self._routes:
            return self._routes[path]
        fitting = [key for key in self._routes if key.endswith("*") and path.startswith(key[:-1])]
        if fitting:
            return self._routes[max(fitting, key=len)]
        return lambda _request: Reply(b"<p>not here</p>", 404)

    def paths(self, method: str | None = None) -> list[str]:
        """The requested paths (with queries) in order."""
        return [seen.path for seen in list(self.log) if method is None or seen.method == method]
