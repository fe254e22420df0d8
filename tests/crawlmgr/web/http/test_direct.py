"""Reading response headers (unusual header lines, contradictory lengths), and the bytes that are
sent for a request."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest

from crawlmgr.web.http.direct import Headers, content_length, header_pairs
from crawlmgr.web.http.exchange import Failure, FetchRequest, FetchResponse, FetchSettings
from crawlmgr.web.http.fetch import Fetcher
from tests.site.server import LocalSite, Request

SETTINGS = FetchSettings(
    user_agent="tests/1", allow_private=frozenset({"127.0.0.1"}), total_timeout_seconds=20
)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with LocalSite() as site:
        yield site


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    fetcher = Fetcher(SETTINGS)
    yield fetcher
    fetcher.close()


def answered(
    site: LocalSite, fetcher: Fetcher, raw: bytes, method: str = "GET", ends: bool = True
) -> FetchResponse:
    """Fetches an address at which the server sends `raw`, then (if `ends`) closes; returns the
    response."""

    def send(request: Request) -> None:
        request.raw.sendall(raw)
        if ends:
            request.raw.shutdown(2)

    site.add("/raw", send)
    return fetcher.fetch(FetchRequest(site.url("/raw"), method=method))


@pytest.mark.parametrize(
    ("lines", "pairs"),
    [
        ([b"A: 1\r\n", b"a:2\n", b"\r\n"], [("A", "1"), ("a", "2")]),
        ([b"A:\r\n", b"\tfolded\r\n", b"\r\n"], [("A", " folded")]),
        ([b" first\r\n", b"A: 1\r\n"], [("A", "1")]),
        ([b"A: one\rSet-Cookie: x=1\r\n"], [("A", "one Set-Cookie: x=1")]),
        (
            [b": none\r\n", b"no colon\r\n", b"two words: x\r\n", b"\xe9: x\r\n", b"B: \xe9\r\n"],
            [("B", "\xe9")],
        ),
    ],
)
def test_header_lines(lines: list[bytes], pairs: list[tuple[str, str]]) -> None:
    assert header_pairs(lines) == pairs


def test_headers_are_found_whatever_their_case() -> None:
    headers = Headers([("Set-Cookie", "a=1"), ("X", "y"), ("set-cookie", "b=2")])
    assert headers.get("SET-COOKIE") == "a=1, b=2" and headers.get_all("Set-cookie") == [
        "a=1",
        "b=2",
    ]
    assert (
        "x" in headers
        and "z" not in headers
        and headers.get("z") is None
        and headers.get_all("z", []) == []
    )


@pytest.mark.parametrize(
    ("value", "length"),
    [("7", 7), ("7, 7", 7), ("+7", None), ("1_0", None), ("\u00b2", None), ("", None)],
)
def test_lengths(value: str, length: int | None) -> None:
    assert content_length(value) == length


def test_two_lengths_are_no_answer(site: LocalSite, fetcher: Fetcher) -> None:
    with pytest.raises(http.client.HTTPException):
        content_length("7, 8")
    response = answered(
        site, fetcher, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\nabcd"
    )
    assert response.failure is Failure.protocol


@pytest.mark.parametrize(
    ("raw", "body", "failure"),
    [
        (
            (
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink:"
                b" </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\npage"
            ),
            b"page",
            None,
        ),
        (b"HTTP/1.0 200 OK\r\n\r\npage", b"page", None),
        (
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding:"
                b" chunked\r\n\r\n2;x=y\r\npa\r\n2\r\nge\r\n0\r\nT: x\r\n\r\n"
            ),
            b"page",
            None,
        ),
        (
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length:"
                b" 2\r\n\r\n4\r\npage\r\n0\r\n\r\n"
            ),
            b"page",
            None,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage and more", b"page", Failure.length),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npage", b"page", Failure.truncated),
        (b"HTTP/1.1 200 OK\r\nContent-Length: none\r\n\r\npage", b"page", None),
        (b"HTTP/2 200 OK\r\n\r\npage", b"", Failure.protocol),
        (b"SPDY/1 200 OK\r\n\r\npage", b"", Failure.protocol),
    ],
)
def test_bodies_end_where_the_head_says(
    site: LocalSite, fetcher: Fetcher, raw: bytes, body: bytes, failure: Failure | None
) -> None:
    response = answered(site, fetcher, raw)
    assert (response.body, response.failure) == (body, failure), response.detail


def test_an_answer_to_head_has_no_body_whatever_its_length(
    site: LocalSite, fetcher: Fetcher
) -> None:
    response = answered(
        site, fetcher, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HEAD", ends=False
    )
    assert response.ok and response.body == b"" and response.header("content-length") == "9"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_an_answer_that_has_no_body_is_not_waited_for(
    site: LocalSite, fetcher: Fetcher, status: str
) -> None:
    raw = f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n".encode()
    response = answered(site, fetcher, raw, ends=False)
    assert response.failure is None and response.body == b"" and response.status == int(status[:3])


def test_a_request_line_is_sent_as_the_address_says(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("*", "x")
    for path in ("/double//slash", "/a%2Fb?q=%C3%A4+b&c", "/p?x=[1]|2"):
        assert fetcher.fetch(FetchRequest(site.url("") + path)).ok
    assert site.paths() == ["/double//slash", "/a%2Fb?q=%C3%A4+b&c", "/p?x=%5B1%5D%7C2"]


def test_no_header_begins_another(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("*", "x")
    for value in ("1\r\nX-Smuggled: 1", "1\nX-Smuggled: 1", "\u65e5"):
        response = fetcher.fetch(FetchRequest(site.url("/"), headers={"X-One": value}))
        assert response.failure is Failure.protocol
    assert not site.log


def test_a_form_sends_its_body_in_one_request(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("/form", lambda request: request.body)
    for body in (b"", b"a=1&b=2"):
        assert fetcher.fetch(FetchRequest(site.url("/form"), method="POST", body=body)).body == body
    assert (
        fetcher.fetch(FetchRequest(site.url("/form"), method="POST")).ok and site.connections == 1
    )


@pytest.mark.parametrize("lines", [101, 1_000, 6_000])
def test_more_than_a_hundred_header_lines_are_read(
    site: LocalSite, fetcher: Fetcher, lines: int
) -> None:
    many = b"".join(b"Set-Cookie: name%d=value\r\n" % n for n in range(lines))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + many
    response = answered(site, fetcher, head + b"Content-Length: 4\r\n\r\npage")
    assert response.ok and response.text == "page"
    assert len([name for name, _ in response.headers if name == "Set-Cookie"]) == lines


def test_endless_header_lines_after_a_hundred_end(site: LocalSite, fetcher: Fetcher) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + b"X-Many: headers\r\n" * 20_000
    response = answered(site, fetcher, head + b"Content-Length: 4\r\n\r\npage")
    assert response.failure is Failure.protocol and "headers" in response.detail
