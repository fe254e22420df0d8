"""A small HTTP/1.1 client on urllib3's connection pools: writes each request in one piece and
parses the head of the response itself, which costs a tenth of http.client's parsing."""

from __future__ import annotations

import contextlib
import http.client
import queue
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import requests
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.util.url import _encode_target

from crawlmgr.web.http.wire import Answer, Exchange, wait

# request targets (path and query) that can be sent without escaping
_EASY_TARGET = re.compile(r"/[A-Za-z0-9/:@!$&()*+,;=._~?-]*")
_NAME = re.compile(r"[!-9;-~]+")
# methods that need no Content-Length header if the request has no body
_NO_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})
_SWITCHING = 101
MAX_HEADERS_BYTES = 262_144
"""Size of a response's headers up to which they are read, as in Chromium."""


class Headers:
    """The header lines of a response, in order. Names are case-insensitive; several lines of one
    name are joined with ", "."""

    __slots__ = ("_joined", "_pairs")

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._joined: dict[str, str] = {}
        for name, value in pairs:
            key = name.lower()
            self._joined[key] = f"{self._joined[key]}, {value}" if key in self._joined else value

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._joined

    def get(self, name: str, default: str | None = None) -> str | None:
        """Returns the value of a header, several lines joined by ", "; `default` if it is
        absent."""
        return self._joined.get(name.lower(), default)

    def get_all(self, name: str, default: list[str] | None = None) -> list[str] | None:
        """Returns a list with the value of each line of a header; `default` if it is absent."""
        return [value for key, value in self._pairs if key.lower() == name.lower()] or default

    def iteritems(self) -> Iterator[tuple[str, str]]:
        """Iterates over the (name, value) pairs of all header lines, in order; a name can occur
        several times."""
        return iter(self._pairs)


def header_pairs(lines: Sequence[bytes]) -> list[tuple[str, str]]:
    r"""Returns the (name, value) pairs of header lines, decoded as Latin-1. A continued line is
    joined to its predecessor with a space; a line that is no header is skipped.

    >>> header_pairs([b"Server: a\r\n", b" b\r\n", b"what is this\r\n", b"ETag : x \r\n", b"\r\n"])
    [('Server', 'a b'), ('ETag', 'x')]
    """
    pairs: list[tuple[str, str]] = []
    for line in (
        b"".join(lines).decode("latin-1").replace("\r\n", "\n").replace("\r", " ").split("\n")
    ):
        if line[:1] in (" ", "\t"):
            if pairs:
                name, value = pairs[-1]
                pairs[-1] = (name, value + " " + line.strip(" \t"))
            continue
        name, colon, value = line.partition(":")
        name = name.rstrip(" \t")
        if colon and _NAME.fullmatch(name):
            pairs.append((name, value.strip(" \t")))
    return pairs


def content_length(value: str | None) -> int | None:
    """Returns the value of a Content-Length header, which may be repeated; None for a missing or
    invalid one. Raises HTTPException if it holds two different values.

    >>> content_length("12, 12"), content_length("-1"), content_length(None)
    (12, None, None)
    """
    told = {part.strip() for part in (value or "").split(",")}
    if len(told) > 1:
        raise http.client.HTTPException(f"several lengths: {value}")
    word = told.pop()
    return int(word) if word.isascii() and word.isdigit() else None


def _read_lines(file: BinaryIO) -> list[bytes]:
    """Reads the header lines of a response, up to and with the empty line. http.client allows a
    hundred; some servers send more, and browsers bound only their size. Raises HTTPException for
    more than MAX_HEADERS_BYTES."""
    lines: list[bytes] = []
    left = MAX_HEADERS_BYTES
    while True:
        line = file.readline(left + 1)
        left -= len(line)
        if left < 0:
            raise http.client.HTTPException(f"more than {MAX_HEADERS_BYTES} bytes of headers")
        lines.append(line)
        if line in (b"\r\n", b"\n", b""):
            return lines


class _Head(Answer):
    """A response whose head is parsed by `header_pairs` and `content_length`. http.client's own
    parser goes through the e-mail parser and takes ten times as long."""

    def begin(self) -> None:
        """Reads the status line and the headers, skipping 1xx responses other than 101, and sets
        the attributes that reading the body needs. Raises HTTPException for a head that is not
        HTTP."""
        while True:
            # not public in http.client
            version, status, reason = self._read_status()  # type: ignore[attr-defined]
            if not 100 <= status < 200 or status == _SWITCHING:
                break
            _read_lines(self.fp)
        if not version.startswith(("HTTP/1.", "HTTP/0.9")):
            raise http.client.UnknownProtocol(version)
        self.code = self.status = status
        self.reason = reason.strip()
        self.version = 10 if version in ("HTTP/1.0", "HTTP/0.9") else 11
        headers = Headers(header_pairs(_read_lines(self.fp)))
        # an e-mail message there; Headers has the methods called here
        self.headers = self.msg = headers  # type: ignore[assignment]
        # not public in http.client
        method = self._method  # type: ignore[attr-defined]
        bare = status in (204, 304, _SWITCHING) or method == "HEAD"
        self.chunked = not bare and (headers.get("transfer-encoding") or "").lower() == "chunked"
        self.chunk_left = None
        self.length = (
            0 if bare else None if self.chunked else content_length(headers.get("content-length"))
        )
        # not public in http.client
        closes: bool = self._check_close()  # type: ignore[attr-defined]
        self.will_close = closes or (not self.chunked and self.length is None)


class IdleConnections:
    """A stack of the idle connections of a pool: the one returned last is reused first. It has only
    the queue methods that urllib3's pool calls, and no locks. `put` raises queue.Full if it holds
    `most` connections, `get` queue.Empty if it holds none."""

    def __init__(self, most: int) -> None:
        self._items: deque[Any] = deque()
        self._most = most

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if len(self._items) >= self._most:
            raise queue.Full
        self._items.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        try:
            return self._items.pop()
        except IndexError:
            raise queue.Empty from None

    def qsize(self) -> int:
        return len(self._items)


class DirectReply:
    """A response of which the head has been read, but not the body. It has the methods of an
    urllib3 response that are needed for reading the body."""

    def __init__(
        self, answer: _Head, connection: Any, pool: HTTPConnectionPool, exchange: Exchange
    ) -> None:
        self._answer, self._connection, self._pool, self._exchange = (
            answer,
            connection,
            pool,
            exchange,
        )
        self.status, self.reason, self.version = answer.status, answer.reason, answer.version
        self.headers: Any = answer.headers

    def read1(self, size: int, decode_content: bool = False) -> bytes:
        """Returns at most `size` bytes of the body as soon as some arrive; b"" at its end. Raises
        IncompleteRead if the connection ends before Content-Length bytes have arrived."""
        piece = self._answer.read1(size)
        if not piece and self._answer.length:
            raise http.client.IncompleteRead(b"", self._answer.length)
        return piece

    def close(self) -> None:
        """Closes the connection, discarding the part of the body that has not been read."""
        with contextlib.suppress(OSError):
            self._answer.close()
        self._connection.close()
        self._pool._put_conn(None)

    def release_conn(self) -> None:
        """Returns the connection to the pool once the whole body has been read; a connection that
        cannot be reused is closed first."""
        self._answer.close()
        if self._answer.will_close or self._exchange.excess:
            self._connection.close()
        self._pool._put_conn(self._connection)


def ask(
    pool: HTTPConnectionPool, prepared: requests.PreparedRequest, exchange: Exchange
) -> DirectReply:
    """Sends the request `prepared` on an idle connection of `pool`, or on a new one, and returns
    the response after reading its head. Raises the exceptions of `NETWORK_ERRORS`, AddressRefused
    from the address guard, and ValueError for a header that contains a line break."""
    message = _message(prepared, exchange)
    connection: Any = pool._get_conn()
    try:
        if connection.sock is None:
            connection.connect()
        sock = exchange.sock = connection.sock
        exchange.address = connection.peer
        wait(sock, exchange.seconds_left(exchange.settings.read_timeout_seconds))
        # a server may respond and close the connection before it has read the whole request
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(message)
        if exchange.on_sent is not None:
            exchange.on_sent()
        answer = _Head(sock, method=prepared.method)
        answer.begin()
    except BaseException:
        connection.close()
        pool._put_conn(None)
        raise
    return DirectReply(answer, connection, pool, exchange)


def _message(prepared: requests.PreparedRequest, exchange: Exchange) -> bytes:
    """Returns the request as the bytes to send. Raises ValueError if a header contains a line
    break."""
    parts, method, body = exchange.parts, prepared.method, prepared.body
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    if not _EASY_TARGET.fullmatch(target):
        target = _encode_target(target)
    lines = [f"{method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in exchange.sent]]
    if body is None and method not in _NO_BODY:
        lines.append("Content-Length: 0")
    head = "\r\n".join(lines)
    if head.count("\n") >= len(lines) or head.count("\r") >= len(lines):
        raise ValueError("a header holds a line break")
    return head.encode("latin-1") + b"\r\n\r\n" + (body if isinstance(body, bytes) else b"")
