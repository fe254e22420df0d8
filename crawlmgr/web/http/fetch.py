"""The HTTP client of all crawls: follows redirects, keeps connections, checks every IP address
before connecting to it."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import certifi
import requests
from requests.adapters import HTTPAdapter
from requests.cookies import RequestsCookieJar
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import create_urllib3_context

from crawlmgr.web.http.direct import IdleConnections, ask
from crawlmgr.web.http.exchange import (
    EMPTY,
    Failure,
    FetchRequest,
    FetchResponse,
    FetchSettings,
    Hop,
    HopRefused,
    RedirectError,
    carries_secrets,
    next_request,
    request_headers,
)
from crawlmgr.web.http.fetch_pool import MemoryLimit
from crawlmgr.web.http.guard import AddressRefused, check_address, is_public
from crawlmgr.web.http.wire import (
    NETWORK_ERRORS,
    Answer,
    Exchange,
    classify,
    cookie_header,
    current,
    describe,
    receive,
    take_cookies,
)
from crawlmgr.web.url import UrlError, UrlParts, fetchable, parse

__all__ = [
    "EMPTY",
    "Failure",
    "FetchRequest",
    "FetchResponse",
    "FetchSettings",
    "Fetcher",
    "Hop",
    "HopRefused",
]

_MAX_ORIGINS = 512
_MAX_CONNECTIONS_PER_HOST = 16

Address = tuple[
    int, tuple[Any, ...]
]  # address family and socket address, as the socket module uses them


def utc_now() -> datetime:
    """Returns the current time in UTC; the default clock of a Fetcher."""
    return datetime.now(UTC)


def resolve(host: str, port: int) -> list[Address]:
    """Returns (address family, socket address) of every TCP address of a host name. Raises OSError
    or UnicodeError if the name cannot be resolved."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(int(family), sockaddr) for family, _kind, _protocol, _name, sockaddr in found]


def _resolve_within(host: str, port: int, seconds: float) -> list[Address]:
    """Calls `resolve` in a thread that is abandoned after `seconds`, because the system's resolver
    has no time-out; then raises TimeoutError. IP addresses are resolved without a thread. Raises
    OSError and UnicodeError as `resolve` does.
    """
    if ":" in host or not host.strip("0123456789."):
        return resolve(host, port)
    answers: queue.SimpleQueue[list[Address] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolve(host, port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name=f"resolve-{host[:40]}").start()
    try:
        answer = answers.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise TimeoutError("the resolver did not answer in time") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _check(ip: str, host: str, port: int, settings: FetchSettings) -> None:
    """Raises AddressRefused if the address guard forbids to connect to `ip`, an address of `host`,
    or if it is public and the settings allow only private addresses."""
    check_address(ip, host, port, settings.allow_private)
    if settings.private_only and is_public(ip):
        raise AddressRefused("no_contact", ip, host, port)


class _Guarded:
    """Mixin for urllib3's connections: resolves the host, checks all its addresses and connects to
    the first that answers."""

    host: str
    port: int
    proxy: Any
    response_class = Answer
    peer = ""  # the IP address that this connection was made to

    def _new_conn(self) -> socket.socket:
        """Opens the socket; called by urllib3. Raises AddressRefused, or OSError with the failure
        recorded in the exchange."""
        exchange = current.exchange
        exchange.fresh = True
        seconds = exchange.settings.connect_timeout_seconds
        try:
            addresses = _resolve_within(self.host, self.port, exchange.seconds_left(seconds))
        except (OSError, UnicodeError) as error:
            raise exchange.failed(Failure.dns, str(error)) from error
        for _family, sockaddr in addresses:
            if self.proxy is None:
                _check(sockaddr[0], self.host, self.port, exchange.settings)
            # with a proxy, `addresses` are the proxy's; the site's own address was checked in
            # `_check_target`
            elif not exchange.settings.proxy_private:
                check_address(sockaddr[0], self.host, self.port)
        reason: OSError = exchange.failed(Failure.dns, "no address") if not addresses else OSError()
        for family, sockaddr in addresses:
            sock = exchange.sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(exchange.seconds_left(seconds))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.connect(sockaddr)
            except OSError as error:
                sock.close()
                reason = error
            else:
                exchange.address = self.peer = sockaddr[0]
                return sock
        if exchange.failure is None:
            if isinstance(reason, TimeoutError):
                raise exchange.timed_out("connect") from reason
            exchange.failed(
                Failure.proxy if self.proxy is not None else Failure.connect, str(reason)
            )
        raise reason

    def request(self, *args: Any, **kwargs: Any) -> None:
        # the other base class of the subclasses has this method
        super().request(*args, **kwargs)  # type: ignore[misc]
        if current.exchange.on_sent is not None:
            current.exchange.on_sent()


# urllib3 gives response_class another type
class _HTTPConnection(_Guarded, HTTPConnection):  # type: ignore[misc]
    pass


# urllib3 gives response_class another type
class _HTTPSConnection(_Guarded, HTTPSConnection):  # type: ignore[misc]
    def set_tunnel(self, host: str, *args: Any, **kwargs: Any) -> None:
        """Asks the proxy for a tunnel to the checked IP address; the certificate is still checked
        against the host name."""
        self.server_hostname = host
        super().set_tunnel(current.exchange.proxy_target or host, *args, **kwargs)


class _HTTPPool(HTTPConnectionPool):
    # a queue by its methods only
    ConnectionCls, QueueCls = _HTTPConnection, IdleConnections  # type: ignore[assignment]


class _HTTPSPool(HTTPSConnectionPool):
    # a queue by its methods only
    ConnectionCls, QueueCls = _HTTPSConnection, IdleConnections  # type: ignore[assignment]


_POOLS = {"http": _HTTPPool, "https": _HTTPSPool}


@lru_cache(maxsize=16)
def _ssl_context(ca_file: str | None) -> ssl.SSLContext:
    context = create_urllib3_context()
    context.load_verify_locations(ca_file or certifi.where())
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    return context


class _Adapter(HTTPAdapter):
    """The `requests` adapter of one origin, with address checks before connecting, one TLS context
    and one connection pool."""

    def __init__(self, ca_file: str | None, tls: bool) -> None:
        self._ssl: dict[str, Any] = {"ssl_context": _ssl_context(ca_file)} if tls else {}
        self._pool: Any = None
        super().__init__(pool_connections=2, pool_maxsize=_MAX_CONNECTIONS_PER_HOST)

    def init_poolmanager(
        self, connections: int, maxsize: int, block: bool = False, **kwargs: Any
    ) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._ssl)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, **self._ssl)
        manager.pool_classes_by_scheme = _POOLS
        return manager

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        if self._pool is None:
            self._pool = super().get_connection_with_tls_context(*args, **kwargs)
        return self._pool

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the TLS context holds the certificates, which urllib3 would otherwise load
        again for every connection."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> Any:
        return resp

    def pool(self, prepared: requests.PreparedRequest) -> Any:
        """Returns the pool of connections to the request's origin, without a proxy."""
        return self.get_connection_with_tls_context(prepared, True)


class _Origin:
    """State kept per origin (scheme, host and port): the adapter with its connections, and the
    cookies set by the server."""

    def __init__(self, ca_file: str | None, tls: bool) -> None:
        self.adapter = _Adapter(ca_file, tls)
        self.cookies = RequestsCookieJar()


class Fetcher:
    """Fetches pages for any number of threads; connections and cookies are kept per scheme, host
    and port.
    - clock: gives the time for `fetched_at`. memory: limits the bytes of bodies that all threads
      together hold in memory.
    - on_hop(url): called before each redirected request; may wait, for robots.txt or the host's
      next allowed request time. If it raises HopRefused, the exchange ends with
      `Failure.refused_hop`. The time-out, one per request, excludes this wait.
    - on_sent(): called in the requesting thread whenever a request has been sent."""

    def __init__(
        self,
        settings: FetchSettings,
        clock: Callable[[], datetime] = utc_now,
        on_hop: Callable[[str], None] | None = None,
        on_sent: Callable[[], None] | None = None,
        memory: MemoryLimit | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._on_hop = on_hop
        self._on_sent = on_sent
        self._memory = memory
        self._running: set[Exchange] = set()
        self._over = False
        self._origins: OrderedDict[tuple[Any, ...], _Origin] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes every idle connection and discards the cookies; the fetcher can still be used."""
        with self._lock:
            origins = list(self._origins.values())
            self._origins.clear()
        for origin in origins:
            origin.adapter.close()

    def abort(self) -> None:
        """Aborts all exchanges in progress; requests made afterwards fail without being sent.
        Called from another thread."""
        self._over = True
        if self._memory is not None:
            self._memory.shut()
        for exchange in list(self._running):
            exchange.abort()

    def fetch(self, request: FetchRequest, settings: FetchSettings | None = None) -> FetchResponse:
        """Fetches one page, following redirects, and returns the last response; an error of the
        network or the server is returned in its `failure`. `settings` replace the fetcher's own for
        this call. Raises what `on_hop` raises, except HopRefused, and OSError if the CA file cannot
        be read."""
        settings = settings or self.settings
        hops: list[Hop] = []
        seen: set[tuple[str, str]] = set()
        try:
            address = fetchable(request.url)
        except UrlError as error:
            return FetchResponse(
                request.url, request.url, failure=Failure.bad_url, detail=str(error)
            )
        step = request if address == request.url else replace(request, url=address)
        first, elapsed = step.url, 0.0
        while True:
            seen.add((step.method, step.url))
            secrets = carries_secrets(first, step.url)
            response, set_cookies = self._once(step, settings, secrets, conditional=not hops)
            elapsed += response.elapsed_seconds
            if hops or step is not request:
                response = replace(
                    response,
                    request_url=request.url,
                    elapsed_seconds=elapsed,
                    redirects=tuple(hops),
                )
            if response.failure is not None:
                return response
            try:
                step_to = next_request(step, response, len(hops), settings.max_redirects, secrets)
                if step_to is None:
                    return response
                if (step_to.method, step_to.url) in seen and not set_cookies:
                    raise RedirectError(Failure.redirect_loop, step_to.url)
                if self._on_hop is not None:
                    self._on_hop(step_to.url)
            except RedirectError as error:
                return replace(response, failure=error.failure, detail=error.detail)
            except HopRefused as error:
                return replace(response, failure=Failure.refused_hop, detail=error.reason)
            hops.append(Hop.of(response, step_to.url))
            step = step_to

    def _origin(self, parts: UrlParts, settings: FetchSettings) -> _Origin:
        """Returns connections and cookies for an origin, made on first use; at most 512 are kept,
        the most recently used ones. They are shared only by requests with the same proxy, allowed
        private addresses and CA file: a connection must not be reused by a request whose settings
        would not have allowed it."""
        proxy = (settings.proxy, settings.proxy_private, settings.proxy_resolves)
        key = (
            parts.scheme,
            parts.authority,
            *proxy,
            settings.allow_private,
            settings.private_only,
            settings.ca_file,
        )
        with self._lock:
            origin = self._origins.get(key)
            if origin is not None:
                self._origins.move_to_end(key)
                return origin
            origin = self._origins[key] = _Origin(settings.ca_file, parts.scheme == "https")
            while len(self._origins) > _MAX_ORIGINS:
                self._origins.popitem(last=False)  # not closed: another thread may be using it
            return origin

    def _once(
        self, step: FetchRequest, settings: FetchSettings, secrets: bool, conditional: bool
    ) -> tuple[FetchResponse, bool]:
        """Sends one request without following a redirect. Returns the response, and whether it set
        cookies. `secrets` includes the headers of the request and of the settings, which may be
        secret; `conditional` asks for the page only if it has changed."""
        parts = parse(step.url)
        origin = self._origin(parts, settings)
        prepared = requests.PreparedRequest()
        prepared.method = step.method.upper()
        prepared.url = step.url
        prepared.body = step.body
        own = settings.owns(f"{parts.scheme}://{parts.authority}")
        prepared.headers = requests.structures.CaseInsensitiveDict(
            request_headers(step, settings, secrets, conditional, own)
        )
        prepared.hooks = {}
        kept = settings.cookies if own else EMPTY
        carried = cookie_header(
            origin.cookies, prepared, {**kept, **step.cookies} if secrets else EMPTY
        )
        if carried:
            prepared.headers["Cookie"] = carried
        fetched_at = self._clock()
        exchange = Exchange(settings, parts, self._memory, self._on_sent)
        self._running.add(exchange)
        try:
            return self._exchanged(origin, prepared, exchange, step, fetched_at)
        finally:
            self._running.discard(exchange)

    def _exchanged(
        self,
        origin: _Origin,
        prepared: requests.PreparedRequest,
        exchange: Exchange,
        step: FetchRequest,
        fetched_at: datetime,
    ) -> tuple[FetchResponse, bool]:
        """Sends the prepared request, reads the response and stores its cookies. Returns the
        response, and whether it set cookies."""
        host = () if "host" in prepared.headers else (("Host", exchange.parts.authority),)
        exchange.sent = (*host, *prepared.headers.items())
        raw, failure, detail = self._send(origin.adapter, prepared, exchange)
        blank = FetchResponse(
            step.url,
            step.url,
            fetched_at=fetched_at,
            method=step.method.upper(),
            request_headers=exchange.sent,
            request_body=step.body,
        )
        if raw is None:
            elapsed = time.monotonic() - exchange.started
            return (
                replace(
                    blank,
                    failure=failure,
                    detail=detail,
                    elapsed_seconds=elapsed,
                    address=exchange.address,
                ),
                False,
            )
        set_cookies = "set-cookie" in raw.headers
        if set_cookies:
            take_cookies(origin.cookies, prepared, raw.headers)
        return receive(blank, raw, exchange, step.types), set_cookies

    def _send(
        self, adapter: _Adapter, prepared: requests.PreparedRequest, exchange: Exchange
    ) -> tuple[Any, Failure | None, str]:
        """Sends the request and reads the head of the response; repeats a GET or HEAD if the server
        had closed the reused connection. Returns (response, None, ""), or (None, failure, message).
        """
        settings = exchange.settings
        proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else None
        while True:
            current.exchange = exchange
            exchange.fresh = False
            try:
                if self._over:
                    raise exchange.failed(Failure.reset, "broken off")
                if not proxies:
                    return ask(adapter.pool(prepared), prepared, exchange), None, ""
                _check_target(exchange)
                timeout = (
                    exchange.seconds_left(settings.connect_timeout_seconds),
                    exchange.seconds_left(settings.read_timeout_seconds),
                )
                return (
                    adapter.send(prepared, stream=True, timeout=timeout, proxies=proxies),
                    None,
                    "",
                )
            except AddressRefused as error:
                return None, Failure.refused_address, f"{error.ip} {error.reason}"
            except NETWORK_ERRORS as error:
                failure = classify(error, exchange, in_body=False)
                if (
                    failure is Failure.reset
                    and not exchange.fresh
                    and prepared.method in ("GET", "HEAD")
                    and not self._over
                ):
                    continue
                return None, failure, describe(error)


def _check_target(exchange: Exchange) -> None:
    """Checks the address of a site that is requested through a proxy. Raises AddressRefused if the
    address guard refuses it.

    With the setting `proxy_resolves`, a host name that cannot be resolved here is allowed. Without
    it, such a name raises OSError; any other name's checked address is stored in
    `exchange.proxy_target`, to which an https tunnel is then opened.
    """
    host, port = exchange.parts.host.strip("[]"), exchange.parts.effective_port
    try:
        addresses = _resolve_within(
            host, port, exchange.seconds_left(exchange.settings.connect_timeout_seconds)
        )
    except (OSError, UnicodeError):
        addresses = []
    if not addresses and not exchange.settings.proxy_resolves:
        raise exchange.failed(
            Failure.dns,
            "the name cannot be resolved here, and the proxy is not configured to resolve names",
        )
    for _family, sockaddr in addresses:
        _check(sockaddr[0], host, port, exchange.settings)
    if not exchange.settings.proxy_resolves:
        exchange.proxy_target = addresses[0][1][0]
