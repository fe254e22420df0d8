"""Redirects: which request follows a redirect response, and which headers, cookies and body it may
carry. Opens no socket."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from crawlmgr.web.exchange import EMPTY, Failure, FetchRequest, FetchResponse
from crawlmgr.web.url import UrlError, absolute, fetchable, parse

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
