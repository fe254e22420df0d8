"""Data classes of one HTTP exchange: request, response, failure. Pure: opens no socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from crawlmgr.web.encoding import decode

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
EMPTY: Mapping[str, str] = MappingProxyType({})


class Failure(StrEnum):
    """Reasons why an exchange did not give a complete, usable response: short stable codes, which are stored and displayed."""

    bad_url = "bad_url"  # the requested address is not an http(s) address
    dns = "dns"  # the name has no address, or the resolver did not answer in time
    refused_address = "refused_address"  # the guard: a private or otherwise closed address
    connect = "connect"  # the connection was refused, or the network is unreachable
    proxy = "proxy"  # the proxy could not be reached or refused to pass the request on
    tls = "tls"  # handshake or certificate
    timeout = "timeout"  # no data within the connect or read time-out
    too_slow = "too_slow"  # the whole exchange took longer than allowed
    reset = "reset"  # the connection was closed before any response
    protocol = "protocol"  # not HTTP: garbage, endless headers, broken chunks
    too_large = "too_large"  # more bytes received than allowed
    bomb = "bomb"  # more bytes after decompression than allowed
    truncated = "truncated"  # the body ended before its announced end
    length = "length"  # the server sent more than its Content-Length
    bad_encoding = "bad_encoding"  # Content-Encoding unknown or broken
    type = "type"  # a Content-Type that is not accepted
    too_many_redirects = "too_many_redirects"
    redirect_loop = "redirect_loop"
    bad_redirect = "bad_redirect"  # a Location that is no http(s) address
    refused_hop = "refused_hop"  # the caller refused a redirect's target (robots.txt, scope)


class HopRefused(Exception):
    """Raised by `on_hop` to stop a redirect; `reason` ends up in `FetchResponse.detail`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class FetchSettings:
    """How a site is fetched. Times in seconds, sizes in bytes.

    `accepted_types` are prefixes of the media type ("text/", "application/xhtml"); () accepts all. `cookies` and `headers` belong
    to the requested site: they are not sent to another host after a redirect, and if `own_origins` ("https://a.example", …) are
    given, they are sent to those only. `allow_private` holds the exceptions of the address guard (see `guard.check_address`).
    `private_only` refuses every public address: an installation without a contact may only connect to its own network.
    `proxy_private`: the proxy itself may have a private address. `proxy_resolves`: the proxy resolves names, even ones unknown
    here; without it the proxy is only asked for names whose addresses were checked here (https: for the checked address itself).
    `ca_file` names a certificate bundle to trust instead of the public one.
    """

    user_agent: str
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 20.0
    total_timeout_seconds: float = 60.0
    max_body_bytes: int = 10_000_000
    max_decoded_bytes: int = 30_000_000
    max_redirects: int = 5
    accepted_types: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    cookies: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    own_origins: frozenset[str] = frozenset()
    proxy: str | None = None
    proxy_private: bool = False
    proxy_resolves: bool = False
    allow_private: frozenset[str] = frozenset()
    private_only: bool = False
    ca_file: str | None = None

    def owns(self, origin: str) -> bool:
        """Tells whether the settings' headers and cookies may be sent to an origin (scheme, host and port)."""
        return not self.own_origins or origin in self.own_origins


@dataclass(frozen=True)
class FetchRequest:
    """One request; `etag` and `last_modified` are the stored values of an earlier response and make it conditional.

    `cookies` belong to the requested origin, like the settings' own. A response to a `confidential` request is not archived. A
    redirect to an address that `shuns` holds for is not followed.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    etag: str | None = None
    last_modified: str | None = None
    cookies: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    confidential: bool = False
    shuns: Callable[[str], bool] | None = None


@dataclass(frozen=True)
class Hop:
    """A redirect that was followed: the response of `url` that pointed to `location` (absolute)."""

    url: str
    status: int
    location: str
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    raw_body: bytes = b""
    method: str = "GET"
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: bytes | None = None
    http_version: str = "HTTP/1.1"
    address: str = ""
    fetched_at: datetime | None = None
    cut: str | None = None

    @classmethod
    def of(cls, response: FetchResponse, location: str) -> Hop:
        """Makes a Hop from a response whose redirect to `location` is followed."""
        return cls(
            url=response.url,
            status=response.status,
            location=location,
            reason=response.reason,
            headers=response.headers,
            raw_body=response.raw_body,
            method=response.method,
            request_headers=response.request_headers,
            request_body=response.request_body,
            http_version=response.http_version,
            address=response.address,
            fetched_at=response.fetched_at,
            cut=response.cut,
        )


@dataclass(frozen=True)
class FetchResponse:
    """The response, complete or not: with `failure` set, body and headers hold what had arrived by then.

    `body` is decoded (Content-Encoding undone) and possibly truncated; `raw_body` is as received after transfer decoding. `cut`
    names what is missing: "body" (because of length, time or a broken connection), None if nothing is missing.
    """

    request_url: str
    url: str
    status: int = 0
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    raw_body: bytes = b""
    content_type: str = ""
    fetched_at: datetime | None = None
    elapsed_seconds: float = 0.0
    received_bytes: int = 0
    redirects: tuple[Hop, ...] = ()
    address: str = ""
    failure: Failure | None = None
    detail: str = ""
    cut: str | None = None
    method: str = "GET"
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: bytes | None = None
    http_version: str = "HTTP/1.1"

    @property
    def ok(self) -> bool:
        """True for a complete response with a 2xx status."""
        return self.failure is None and 200 <= self.status < 300

    @property
    def not_modified(self) -> bool:
        """True if the server reports that the stored copy is still valid."""
        return self.failure is None and self.status == 304

    def header(self, name: str) -> str | None:
        """The value of a header, all its lines joined by ", "; None when absent. Case does not matter."""
        wanted = name.lower()
        values = [value for key, value in self.headers if key.lower() == wanted]
        return ", ".join(values) if values else None

    @cached_property
    def _decoded(self) -> tuple[str, str]:
        return decode(self.body, self.content_type)

    @property
    def text(self) -> str:
        """The body as text; decoded once, on first use."""
        return self._decoded[0]

    @property
    def encoding(self) -> str:
        """The name of the encoding that `text` was decoded with."""
        return self._decoded[1]


def request_headers(
    step: FetchRequest, settings: FetchSettings, secrets: bool, conditional: bool, own: bool = True
) -> dict[str, str]:
    """The headers to send; of several with one name (case ignored), the last. Headers of the request are included only if
    `secrets` (it goes to the origin they are meant for), those of the settings only if `own` as well; `conditional` adds the
    validators of a stored copy."""
    headers = {"User-Agent": settings.user_agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate, br"}
    if conditional and step.etag:
        headers["If-None-Match"] = step.etag
    if conditional and step.last_modified:
        headers["If-Modified-Since"] = step.last_modified
    if step.body is not None:
        headers["Content-Length"] = str(len(step.body))
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    parts = (headers, settings.headers if secrets and own else EMPTY, step.headers if secrets else EMPTY)
    return dict({name.lower(): (name, value) for part in parts for name, value in part.items()}.values())


def is_accepted(content_type: str, accepted: tuple[str, ...]) -> bool:
    """Tells whether a media type begins with one of the prefixes `accepted`; a missing media type is accepted."""
    if not accepted or not content_type.strip():
        return True
    return content_type.strip().lower().startswith(accepted)
