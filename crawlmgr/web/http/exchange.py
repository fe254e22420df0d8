"""One HTTP exchange: request, response, reason of a failure, and the request that follows a
redirect. Decodes Content-Encoding with a limit on the output, so that a decompression bomb is
stopped early. Opens no socket."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from urllib.parse import quote

import brotli
from fastwarc.stream_io import ZstdReader

from crawlmgr.web.encoding import decode
from crawlmgr.web.url import UrlError, absolute, fetchable, parse

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
EMPTY: Mapping[str, str] = MappingProxyType({})


class Failure(StrEnum):
    """Reasons why an exchange did not give a complete, usable response: short stable codes, which
    are stored in the database and displayed."""

    bad_url = "bad_url"  # the requested address is not an http(s) address
    dns = "dns"  # the name has no address, or the resolver did not answer in time
    refused_address = (  # the address guard refused a private or otherwise forbidden address
        "refused_address"
    )
    connect = "connect"  # the connection was refused, or the network is unreachable
    proxy = "proxy"  # the proxy could not be reached or refused to pass the request on
    tls = "tls"  # the TLS handshake failed or the certificate is not valid
    timeout = "timeout"  # no connection or no data within the connect or read time-out
    too_slow = "too_slow"  # the whole exchange took longer than allowed
    reset = "reset"  # the connection was closed before any response
    protocol = "protocol"  # the response is not valid HTTP: garbage, endless headers, broken chunks
    too_large = "too_large"  # the body is larger than allowed
    bomb = "bomb"  # the body is larger than allowed after decompression
    truncated = "truncated"  # the connection ended before the whole body had arrived
    length = "length"  # the server sent more than its Content-Length
    bad_encoding = "bad_encoding"  # Content-Encoding unknown or broken
    type = "type"  # the Content-Type is not one that the settings accept
    too_many_redirects = "too_many_redirects"
    redirect_loop = "redirect_loop"
    bad_redirect = (  # the Location header is not an http(s) address, or may not be requested
        "bad_redirect"
    )
    # the caller refused a redirect's target, because of robots.txt or because it is outside of the
    # crawl
    refused_hop = "refused_hop"


UNSENT = frozenset({Failure.bad_url, Failure.refused_address})
"""Failures before anything was sent to the address."""


class HopRefused(Exception):
    """Raised by the caller's `on_hop` function to stop a redirect; `reason` is returned in
    `FetchResponse.detail`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class FetchSettings:
    """Settings for the requests to a site. Times are in seconds, sizes in bytes.

    - `accepted_types`: prefixes of the media type ("text/", "application/xhtml"); empty: all.
    - `cookies`, `headers`: not sent to another host after a redirect; with `own_origins`
      ("https://a.example", …), to those only.
    - `allow_private`: private addresses that may be connected to (see `guard.check_address`);
      `proxy_private`: also the proxy's.
    - `private_only`: public addresses are refused, because the user agent names no contact.
    - `proxy_resolves`: the proxy resolves host names, including ones unknown here. Without it, the
      proxy is only asked for names whose addresses were checked here (for https, for the checked
      address itself).
    - `ca_file`: a file of CA certificates to trust instead of the public ones.
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
        """Tells whether the settings' headers and cookies may be sent to an origin (scheme, host
        and port)."""
        return not self.own_origins or origin in self.own_origins


@dataclass(frozen=True)
class FetchRequest:
    """One request. `etag` and `last_modified` are values from an earlier response and make the
    request conditional.

    `cookies` are sent, besides those of the settings, to the origin of `url` only, not after a
    redirect to another one. The response to a `confidential` request is not archived.
    `refuses_redirect`, if given, returns True for an address to which a redirect is not followed.
    `types` are prefixes of media types that are accepted beside those of the settings.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    etag: str | None = None
    last_modified: str | None = None
    cookies: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    confidential: bool = False
    refuses_redirect: Callable[[str], bool] | None = None
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hop:
    """A redirect that was followed: `url` was requested, and its response pointed to `location`
    (absolute). The other fields are those of FetchResponse."""

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
    truncated: str | None = None

    @classmethod
    def of(cls, response: FetchResponse, location: str) -> Hop:
        """Makes a Hop of the redirect `response`, whose target is the absolute address
        `location`."""
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
            truncated=response.truncated,
        )


@dataclass(frozen=True)
class FetchResponse:
    """The response to a request, complete or not: with `failure` set, body and headers hold what
    had arrived by then.

    `request_url` is the address asked for, `url` the one that answered after `redirects`. `status`
    is 0 if no response arrived. `body` is decoded (Content-Encoding undone) and possibly truncated;
    `raw_body` is as received, with chunks joined but Content-Encoding kept. `truncated` is "body"
    if the body is incomplete because of a size or time limit or a broken connection, otherwise
    None. `address` is the IP address connected to.
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
    truncated: str | None = None
    method: str = "GET"
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: bytes | None = None
    http_version: str = "HTTP/1.1"

    @property
    def requests(self) -> int:
        """The number of requests that were sent, followed redirects included."""
        return len(self.redirects) + (self.failure not in UNSENT)

    @property
    def ok(self) -> bool:
        """True for a complete response with a 2xx status."""
        return self.failure is None and 200 <= self.status < 300

    @property
    def not_modified(self) -> bool:
        """True if the server responded with 304: the stored copy is still valid."""
        return self.failure is None and self.status == 304

    def header(self, name: str) -> str | None:
        """Returns the value of a header, several lines joined by ", "; None if it is absent. Case
        does not matter."""
        wanted = name.lower()
        values = [value for key, value in self.headers if key.lower() == wanted]
        return ", ".join(values) if values else None

    @cached_property
    def _decoded(self) -> tuple[str, str]:
        return decode(self.body, self.content_type)

    @property
    def text(self) -> str:
        """The body decoded to text, on first use."""
        return self._decoded[0]

    @property
    def encoding(self) -> str:
        """The standard name of the encoding that `text` was decoded with."""
        return self._decoded[1]


def request_headers(
    step: FetchRequest, settings: FetchSettings, secrets: bool, conditional: bool, own: bool = True
) -> dict[str, str]:
    """Returns the headers to send for the request `step`, by name; of several with one name (case
    ignored), the last is kept.

    Headers of the request are included only if `secrets` is True (the request goes to the origin
    they are meant for), headers of the settings only if `own` is True as well (see
    `FetchSettings.owns`). `conditional` adds If-None-Match and If-Modified-Since.
    """
    headers = {
        "User-Agent": settings.user_agent,
        "Accept": _ACCEPT,
        "Accept-Encoding": "gzip, deflate, br",
    }
    if conditional and step.etag:
        headers["If-None-Match"] = step.etag
    if conditional and step.last_modified:
        headers["If-Modified-Since"] = step.last_modified
    if step.body is not None:
        headers["Content-Length"] = str(len(step.body))
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    parts = (
        headers,
        settings.headers if secrets and own else EMPTY,
        step.headers if secrets else EMPTY,
    )
    return dict(
        {name.lower(): (name, value) for part in parts for name, value in part.items()}.values()
    )


def is_accepted(content_type: str, accepted: tuple[str, ...]) -> bool:
    """Tells whether a media type begins with one of the prefixes `accepted`. A missing media type
    is accepted; if there are no prefixes, all are."""
    if not accepted or not content_type.strip():
        return True
    return content_type.strip().lower().startswith(accepted)


REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RedirectError(Exception):
    """The redirect must not be followed; `failure` is the reason code, `detail` the refused address
    or a message."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(f"{failure}: {detail}")
        self.failure = failure
        self.detail = detail


def carries_secrets(first: str, target: str) -> bool:
    """Tells whether the headers, cookies and body that are meant for the address `first` may be
    sent to `target`: only to the same origin, or from http to https of the same host on the default
    ports. Both addresses are absolute.
    """
    if first == target:
        return True
    one, other = parse(first), parse(target)
    if (one.scheme, one.host, one.effective_port) == (
        other.scheme,
        other.host,
        other.effective_port,
    ):
        return True
    upgrade = (one.scheme, one.port, other.scheme, other.port) == ("http", None, "https", None)
    return upgrade and one.host == other.host


def _location(value: str) -> str:
    """Returns the intended text of a Location header, which http.client decodes as Latin-1: decoded
    as UTF-8 if its bytes are valid UTF-8, otherwise with the non-ASCII bytes percent-encoded."""
    if value.isascii():
        return value
    data = value.encode("latin-1", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return quote(data, safe="".join(map(chr, range(0x21, 0x7F))))


def next_request(
    step: FetchRequest, response: FetchResponse, hops: int, max_redirects: int, secrets: bool
) -> FetchRequest | None:
    """Returns the request that a redirect response asks for; None if `response` is not a redirect.
    Raises RedirectError if the redirect must not be followed.

    `step` is the request that was answered, `hops` the number of redirects followed so far,
    `secrets` whether `step` carried the secret headers and body. 303 (except after HEAD) and, for
    POST, 301 and 302 lead to a GET without a body; other redirects repeat method and body, but a
    body is never sent to another origin. ETag and Last-Modified belong to the first address and are
    dropped.
    """
    value = response.header("location") if response.status in REDIRECTS else None
    if value is None:
        return None
    target = absolute(_location(value.strip()), step.url)
    if target is None:
        raise RedirectError(Failure.bad_redirect, value[:200])
    try:
        target = fetchable(target)
    except UrlError as error:
        raise RedirectError(Failure.bad_redirect, str(error)) from error
    if step.refuses_redirect is not None and step.refuses_redirect(target):
        raise RedirectError(Failure.bad_redirect, f"{target} may not be requested")
    if hops >= max_redirects:
        raise RedirectError(Failure.too_many_redirects, target)
    step = replace(step, url=target, etag=None, last_modified=None)
    turns = response.status == 303 and step.method != "HEAD"
    if turns or (response.status in (301, 302) and step.method == "POST"):
        return replace(step, method="GET", body=None, headers=EMPTY)
    if step.body is not None and not (secrets and carries_secrets(response.url, target)):
        raise RedirectError(Failure.bad_redirect, "a body is not sent to another origin")
    return step


GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
# Registered codings that the crawler does not request and cannot decode. Any other unknown one
# ("utf-8", "none") is a server's mistake, which browsers ignore.
_UNSUPPORTED = frozenset(
    {"compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm"}
)
_MAX_CODINGS = 3
_MOST_LAYERS = 3  # a body compressed more often is not read
# Control characters that no text holds; those of ISO-2022 (SO, SI, ESC) may be text.
_CONTROLS = bytes(sorted({*range(32), 127} - {*b"\t\n\f\r\x0e\x0f\x1b"}))
_LOOKED_AT = 4_000
_STRAY = 0.03  # share of control characters up to which a body is damaged text
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16, whose text is full of zeros
_PIECE_BYTES = 262_144


class InflateError(Exception):
    """Decoding was aborted. `code` is "bomb" (too large), "truncated" or "bad_encoding"; `partial`
    holds the bytes decoded until then."""

    def __init__(self, code: str, partial: bytes) -> None:
        super().__init__(code)
        self.code = code
        self.partial = partial


def inflate(raw: bytes, content_encoding: str, max_bytes: int) -> bytes:
    """Returns `raw` decoded according to the header value `content_encoding`: gzip, deflate (with
    or without zlib header), br, zstd, or up to three of them applied one after the other.
    Unregistered names of codings are ignored, and so are line breaks before the magic number of
    gzip and zstd.

    Raises InflateError, also if the result, or that of one of several codings, has more than
    `max_bytes` bytes.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    if not raw:
        return raw
    if len(codings) > _MAX_CODINGS:
        raise InflateError("bad_encoding", b"")
    for coding in reversed(codings):
        if coding in ("gzip", "x-gzip"):
            raw = _gunzip(_from(GZIP_MAGIC, raw), max_bytes)
        elif coding == "deflate":
            raw = _deflate(raw, max_bytes)
        elif coding == "br":
            raw = _unbrotli(raw, max_bytes)
        elif coding == "zstd":
            raw = _unzstd(_from(ZSTD_MAGIC, raw), max_bytes)
        elif coding in _UNSUPPORTED:
            raise InflateError("bad_encoding", b"")
    return raw


# XML by its ending: the types of zipped Office files have "openxmlformats" in their names
_TEXT_TYPE = re.compile(r"text/|html|[/+]xml\b|json")


def unpacked(raw: bytes, content_encoding: str, content_type: str, max_bytes: int) -> bytes:
    """Returns the body `raw` of a response decoded by `inflate`, and if it is said to be text, also
    decoded as often as it is compressed without a word. Raises InflateError as `inflate` does,
    and if what is said to be text is none then ("bad_encoding")."""
    body = inflate(raw, content_encoding, max_bytes)
    kind = content_type.lower()
    if kind and not _TEXT_TYPE.search(kind):
        return body
    for _ in range(_MOST_LAYERS):
        if not (coding := packed_as(body)):
            break
        body = inflate(body, coding, max_bytes)
    if packed_as(body) or not is_text(body) and "utf-16" not in kind:
        raise InflateError("bad_encoding", b"")
    return body


def is_text(body: bytes) -> bool:
    """Tells whether a body looks like text: its beginning holds hardly any control characters, or
    has a mark of UTF-16."""
    begin = body[:_LOOKED_AT]
    controls = len(begin) - len(begin.translate(None, _CONTROLS))
    return controls <= max(2, _STRAY * len(begin)) or begin.startswith(_WIDE_MARKS)


def packed_as(raw: bytes) -> str:
    """Returns the coding whose magic number a body begins with, line breaks aside: "gzip", "zstd",
    "deflate" (with zlib's header, and no text after it); "" for none."""
    begin = raw[:20].lstrip(b"\r\n")
    if begin.startswith(GZIP_MAGIC):
        return "gzip"
    if begin.startswith(ZSTD_MAGIC):
        return "zstd"
    header = int.from_bytes(raw[:2]) if raw.startswith(b"x") else 1
    return "deflate" if header % 31 == 0 and not is_text(raw) else ""


def _from(magic: bytes, raw: bytes) -> bytes:
    """Returns `raw` without the line breaks that some servers send before a compressed body."""
    bare = raw.lstrip(b"\r\n") if raw[:1] in (b"\r", b"\n") else raw
    return bare if bare.startswith(magic) else raw


def _gunzip(raw: bytes, max_bytes: int) -> bytes:
    """Returns the decoded gzip members of `raw`, joined; bytes after the last member are ignored,
    as in browsers."""
    out = b""
    while True:
        decoder = zlib.decompressobj(wbits=31)
        try:
            piece = decoder.decompress(raw, max_bytes - len(out) + 1)
        except zlib.error as error:
            raise InflateError("bad_encoding", out) from error
        out = out + piece if out else piece
        if len(out) > max_bytes:
            raise InflateError("bomb", out[:max_bytes])
        if not decoder.eof:
            raise InflateError("truncated", out)
        raw = decoder.unused_data
        if not raw.startswith(b"\x1f\x8b"):
            return out


def _deflate(raw: bytes, max_bytes: int) -> bytes:
    # first with zlib header, as the standard says, then raw, as some servers send it
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        decoder = zlib.decompressobj(wbits=wbits)
        try:
            out = decoder.decompress(raw, max_bytes + 1)
        except zlib.error:
            continue
        if len(out) > max_bytes:
            raise InflateError("bomb", out[:max_bytes])
        if not decoder.eof:
            raise InflateError("truncated", out)
        return out
    raise InflateError("bad_encoding", b"")


def _unbrotli(raw: bytes, max_bytes: int) -> bytes:
    decoder = brotli.Decompressor()
    out = bytearray()
    data = raw
    while not decoder.is_finished():
        try:
            piece = decoder.process(
                data, output_buffer_limit=min(_PIECE_BYTES, max_bytes - len(out) + 1)
            )
        except brotli.error as error:
            raise InflateError("bad_encoding", bytes(out)) from error
        out += piece
        if len(out) > max_bytes:
            raise InflateError("bomb", bytes(out[:max_bytes]))
        if not piece and decoder.can_accept_more_data() and not decoder.is_finished():
            raise InflateError("truncated", bytes(out))
        data = b""
    return bytes(out)


def _unzstd(raw: bytes, max_bytes: int) -> bytes:
    reader, out = ZstdReader(io.BytesIO(raw)), bytearray()
    try:
        while piece := reader.read(min(_PIECE_BYTES, max_bytes - len(out) + 1)):
            out += piece
            if len(out) > max_bytes:
                raise InflateError("bomb", bytes(out[:max_bytes]))
    except OSError as error:
        code = "truncated" if "incomplete" in str(error) else "bad_encoding"
        raise InflateError(code, bytes(out)) from error
    return bytes(out)
