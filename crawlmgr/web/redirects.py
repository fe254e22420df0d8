"""Redirects: which request follows, and what it may carry along. Pure functions of values."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from crawlmgr.web.exchange import EMPTY, Failure, FetchRequest, FetchResponse
from crawlmgr.web.url import UrlError, absolute, fetchable, parse

REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RedirectError(Exception):
    """The redirect must not be followed."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(f"{failure}: {detail}")
        self.failure = failure
        self.detail = detail


def carries_secrets(first: str, target: str) -> bool:
    """Tells whether the headers, cookies and body that are meant for the address `first` may be sent to `target`: only to the
    same origin, or from http to https of the same host on the default ports."""
    if first == target:
        return True
    one, other = parse(first), parse(target)
    if (one.scheme, one.host, one.effective_port) == (other.scheme, other.host, other.effective_port):
        return True
    upgrade = (one.scheme, one.port, other.scheme, other.port) == ("http", None, "https", None)
    return upgrade and one.host == other.host


def _location(value: str) -> str:
    """The intended text of a Location header (which http.client decodes as Latin-1): UTF-8, or raw bytes escaped."""
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
    """The request that a redirect asks for; None when `response` is no redirect. Raises RedirectError.

    303 and, for POST, 301 and 302 turn into GET without a body; 307 and 308 repeat method and body, which are never
    sent to another origin. Validators (ETag, dates) belong to the first address and are dropped.
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
    if step.shuns is not None and step.shuns(target):
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
