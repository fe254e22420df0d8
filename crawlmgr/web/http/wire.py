"""One HTTP request in progress: its cookies, its time and byte limits, the bounded reading of its
response, and the code of its failure."""

from __future__ import annotations

import contextlib
import http.client
import io
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import requests
import urllib3
from requests.cookies import MockRequest, MockResponse, RequestsCookieJar, get_cookie_header

from crawlmgr.web.http.exchange import (
    REDIRECTS,
    Failure,
    FetchResponse,
    FetchSettings,
    InflateError,
    is_accepted,
    unpacked,
)
from crawlmgr.web.http.fetch_pool import MemoryLimit
from crawlmgr.web.url import UrlParts

PIECE_BYTES = 65536
# error numbers and places in the source of libraries
_MARKS = re.compile(r"\[(?:Errno -?\d+|SSL(?:: \w+)?)\] ?| ?\(_ssl\.c:\d+\)")
_USER = re.compile(r"//[^/\s]*@")
_REDIRECT_BODY_BYTES = 65536
_WIRE_SLACK_BYTES = (
    8_000_000  # allowance for headers and chunk framing, on top of twice the limit of the body
)
# Exceptions that requests, urllib3 and http.client raise for faults of the server or the network.
NETWORK_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)


class Exchange:
    """State of one HTTP request in progress: its limits, what has arrived so far, and the first
    failure that was found.

    `parts` is the parsed address; `memory` limits the memory of all requests together; `on_sent` is
    called when the request has been sent.
    """

    def __init__(
        self,
        settings: FetchSettings,
        parts: UrlParts,
        memory: MemoryLimit | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> None:
        self.settings = settings
        self.parts = parts
        self.memory = memory
        self.on_sent = on_sent
        self.sock: socket.socket | None = None
        self.started = time.monotonic()
        self.deadline = self.started + settings.total_timeout_seconds
        self.wire_limit = 2 * settings.max_body_bytes + _WIRE_SLACK_BYTES
        self.wire_bytes = 0
        self.fresh = False  # True if a new connection was opened for this request
        self.ended = False  # the server has closed its side of the connection
        self.excess = False  # True if bytes came after the announced end of the body
        self.address = ""
        self.sent: tuple[tuple[str, str], ...] = ()  # the headers of the request as sent
        # the checked IP address that a proxy is asked to connect to; "" to use the name
        self.proxy_target = ""
        self.failure: Failure | None = None

    def failed(self, failure: Failure, message: str) -> OSError:
        """Records the failure unless one is recorded already, and returns the exception to raise:
        `classify` finds the recorded failure when the exception comes back wrapped by the
        libraries."""
        self.failure = self.failure or failure
        return (
            TimeoutError(message)
            if failure in (Failure.timeout, Failure.too_slow)
            else ConnectionError(message)
        )

    def seconds_left(self, at_most: float) -> float:
        """Returns the seconds that one blocking call may take, at most `at_most`; raises
        TimeoutError if the total time of the exchange is over."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise self.failed(Failure.too_slow, "total time is over")
        return left if left < at_most else at_most

    def arrived(self, size: int) -> None:
        """Reserves memory for `size` received bytes of the body. If it has to wait for memory, the
        deadline of the exchange is moved by the time waited, since the server is not the cause."""
        if self.memory is not None:
            self.deadline += self.memory.take(size)

    def abort(self) -> None:
        """Shuts the connection down, so that blocked calls fail at once. Called from another
        thread."""
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)

    def timed_out(self, what: str) -> OSError:
        """Records the failure of a blocking call that timed out, and returns the exception to
        raise: too_slow if the time limit of the whole exchange has passed, otherwise timeout.
        `what` names the call in the message.
        """
        over = time.monotonic() >= self.deadline
        return self.failed(Failure.too_slow if over else Failure.timeout, f"{what} timed out")


class _Local(threading.local):
    exchange: Exchange


current = _Local()  # urllib3's connections find here the exchange that their thread is working on


def wait(sock: socket.socket, seconds: float) -> None:
    """Sets a socket's time-out unless it has this value already, which saves a system call for most
    reads."""
    if sock.gettimeout() != seconds:
        sock.settimeout(seconds)


class BoundedReader(io.RawIOBase):
    """A socket reader that enforces the deadline of an exchange, and its limit on received bytes
    including headers and chunk framing."""

    def __init__(self, inner: io.RawIOBase, sock: socket.socket, exchange: Exchange) -> None:
        self._inner = (
            inner  # closing it closes the socket, so it is kept until the body has been read
        )
        self._sock = sock
        self._exchange = exchange
        self.sealed = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.sealed:
            return None
        exchange = self._exchange
        wait(self._sock, exchange.seconds_left(exchange.settings.read_timeout_seconds))
        try:
            count = self._sock.recv_into(buffer)
        except TimeoutError:
            raise exchange.timed_out("read") from None
        exchange.wire_bytes += count
        if not count:
            exchange.ended = True
        elif exchange.wire_bytes > exchange.wire_limit:
            raise exchange.failed(Failure.too_large, "more bytes than the limit")
        return count

    def close(self) -> None:
        self._inner.close()
        super().close()


class Answer(http.client.HTTPResponse):
    """http.client's response, read through a BoundedReader; notices bytes after the announced end
    of the body."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._exchange = current.exchange
        if (
            not self._exchange.address
        ):  # the peer's IP address is still unknown if a connection to a proxy is reused
            with contextlib.suppress(
                OSError
            ):  # already closed: the error is raised when the response is read
                self._exchange.address = sock.getpeername()[0]
        self._socket: socket.socket | None = sock
        self._exchange.sock = sock
        self._reader = BoundedReader(self.fp.detach(), sock, self._exchange)
        self.fp = io.BufferedReader(self._reader, PIECE_BYTES)

    def _close_conn(self) -> None:
        sock, self._socket = self._socket, None
        if self.length == 0 and sock is not None and not self._reader.closed:
            self._reader.sealed = True
            if self.fp.peek(1):
                self._exchange.excess = True
                sock.shutdown(
                    socket.SHUT_RDWR
                )  # otherwise the excess bytes would be taken for the next response
        super()._close_conn()  # type: ignore[misc]  # not public in http.client


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and all errors it wraps: requests and urllib3 keep a wrapped error in their
    arguments, in `reason`, or as the exception's cause."""
    seen: list[BaseException] = []
    todo = [error]
    while todo:
        one = todo.pop()
        if any(one is other for other in seen):
            continue
        seen.append(one)
        yield one
        inner = [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
        todo.extend(other for other in inner if isinstance(other, BaseException))


def classify(error: BaseException, exchange: Exchange, in_body: bool) -> Failure:
    """Returns the failure code for an exception that was raised during the exchange: the failure
    recorded in the exchange if there is one, otherwise one derived from the exception's type.
    `in_body`: it was raised while the body was read.
    """
    if exchange.failure is not None:
        return exchange.failure
    found = list(causes(error))
    for kinds, failure in (
        ((urllib3.exceptions.ProxyError,), Failure.proxy),
        ((ssl.SSLError, urllib3.exceptions.SSLError, ssl.CertificateError), Failure.tls),
        ((TimeoutError, urllib3.exceptions.TimeoutError), Failure.timeout),
    ):
        if any(isinstance(cause, kinds) for cause in found):
            return failure
    if in_body and (exchange.ended or any(isinstance(cause, ConnectionError) for cause in found)):
        return Failure.truncated
    if not exchange.wire_bytes and any(isinstance(cause, ConnectionError) for cause in found):
        return Failure.reset
    return Failure.protocol


def describe(error: BaseException) -> str:
    """Returns the innermost message of a wrapped error on one line of at most 300 characters; ""
    without one. User and password in an address are replaced by "…"; what only programmers
    understand is left out."""
    words = [_MARKS.sub("", _words(cause)).strip() for cause in causes(error)]
    line = next((word for word in reversed(words) if word), "")[:300]
    return _USER.sub("//…@", "".join(char if char.isprintable() else " " for char in line))


def _words(error: BaseException) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the connection ended before the end of the body"
    return str(error)


def read_body(raw: Any, limit: int, exchange: Exchange) -> tuple[bytes, Failure | None, str]:
    """Reads the body of the response `raw`. Returns the bytes as received (at most `limit`), the
    failure (None if the body is complete), and a message that describes the failure ("" if there is
    none). Bytes that arrived before a failure are kept.
    """
    body = (
        bytearray()
    )  # one growing block, because many small pieces of many threads would fragment memory
    try:
        while piece := raw.read1(PIECE_BYTES, decode_content=False):
            exchange.arrived(len(piece))
            body += piece
            if len(body) > limit:
                raw.close()
                return bytes(body[:limit]), Failure.too_large, f"more than {limit} bytes"
    except NETWORK_ERRORS as error:
        raw.close()
        return bytes(body), classify(error, exchange, in_body=True), describe(error)
    raw.release_conn()
    if exchange.excess and raw.status not in (204, 304):
        return bytes(body), Failure.length, "more bytes than Content-Length announced"
    return bytes(body), None, ""


def receive(
    blank: FetchResponse, raw: Any, exchange: Exchange, types: tuple[str, ...] = ()
) -> FetchResponse:
    """Reads the body of the response `raw` within the limits, decodes its Content-Encoding, and
    returns `blank` with all fields of the response filled in. `types`: as in `FetchRequest`."""
    settings = exchange.settings
    headers = tuple(raw.headers.iteritems())
    content_type = raw.headers.get("content-type", "")
    failure: Failure | None = None
    detail = ""
    received = b""
    redirect = raw.status in REDIRECTS and "location" in raw.headers
    limit = (
        min(_REDIRECT_BODY_BYTES, settings.max_body_bytes) if redirect else settings.max_body_bytes
    )
    accepted = settings.accepted_types and settings.accepted_types + types
    if 200 <= raw.status < 300 and not is_accepted(content_type, accepted):
        failure, detail = Failure.type, content_type
        raw.close()
    else:
        received, failure, detail = read_body(raw, limit, exchange)
    body, truncated = received, "body" if failure is not None else None
    if redirect and failure is not Failure.too_slow:
        failure, detail = None, ""  # an incomplete body of a redirect does not matter
    encoding = raw.headers.get("content-encoding", "")
    if received and not redirect:
        try:
            body = unpacked(received, encoding, content_type, settings.max_decoded_bytes)
        except InflateError as error:
            body, truncated = error.partial, "body"
            failure, detail = failure or Failure(error.code), detail or encoding
        exchange.arrived(len(body))
    return replace(
        blank,
        status=raw.status,
        reason=raw.reason or "",
        headers=headers,
        body=body,
        raw_body=received,
        content_type=content_type,
        elapsed_seconds=time.monotonic() - exchange.started,
        received_bytes=len(received),
        address=exchange.address,
        failure=failure,
        detail=detail,
        truncated=truncated,
        http_version="HTTP/1.0" if raw.version == 10 else "HTTP/1.1",
    )


def cookie_header(
    jar: RequestsCookieJar, prepared: requests.PreparedRequest, own: Mapping[str, str]
) -> str:
    """Returns the Cookie header of a request: the cookies of `jar` for its address, then those of
    `own` (by name) for which the server has not set another value; "" if there are no cookies."""
    # the function has no type annotations
    kept = get_cookie_header(jar, prepared) if len(jar) else None  # type: ignore[no-untyped-call]
    names = {pair.partition("=")[0].strip() for pair in kept.split(";")} if kept else set()
    return "; ".join(
        [
            *([kept] if kept else []),
            *(f"{name}={value}" for name, value in own.items() if name not in names),
        ]
    )


def take_cookies(jar: RequestsCookieJar, prepared: requests.PreparedRequest, headers: Any) -> None:
    """Stores in `jar` the cookies that a response sets and that are valid for the address of its
    request."""
    # MockResponse stands in for a response
    jar.extract_cookies(MockResponse(headers), MockRequest(prepared))  # type: ignore[arg-type]
