"""Fetching: whatever a server does, the exchange ends soon, in bounded memory, with one clear
failure; redirects, cookies, conditional requests, limits."""

from __future__ import annotations

import gzip
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import brotli
import pytest

from crawlmgr.web.http import fetch
from crawlmgr.web.http.exchange import (
    Failure,
    FetchRequest,
    FetchResponse,
    FetchSettings,
    HopRefused,
)
from crawlmgr.web.http.fetch import Fetcher
from tests.site.misbehaviour import GBK_TEXT, misbehave
from tests.site.server import LocalSite, Reply, Request

SETTINGS = FetchSettings(
    "tests/1",
    connect_timeout_seconds=60,
    read_timeout_seconds=60,
    total_timeout_seconds=90,
    max_body_bytes=1_000_000,
    max_decoded_bytes=3_000_000,
    allow_private=frozenset({"127.0.0.1"}),
)
IMPATIENT = {  # short time limits, for servers that never respond
    "slow-drip": replace(SETTINGS, total_timeout_seconds=1.5),
    "slow-headers": replace(SETTINGS, total_timeout_seconds=1.5),
    "silent": replace(SETTINGS, read_timeout_seconds=0.8),
    "silent-body": replace(SETTINGS, read_timeout_seconds=0.8),
}
Ask = Callable[..., FetchResponse]
# not a limit of the fetcher, but longer than any fetch with these settings takes on any machine
HANGING_SECONDS = 300


@pytest.fixture(scope="module")
def bad() -> Iterator[LocalSite]:
    with LocalSite() as site:
        misbehave(site)
        yield site


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with LocalSite() as found:
        yield found


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    found = Fetcher(SETTINGS)
    yield found
    found.close()


def get(fetcher: Fetcher, url: str, **more: Any) -> FetchResponse:
    return fetcher.fetch(FetchRequest(url, **more))


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        ("slow-drip", Failure.too_slow),
        ("slow-headers", Failure.too_slow),
        ("silent", Failure.timeout),
        ("silent-body", Failure.timeout),
        ("endless-body", Failure.too_large),
        ("endless-chunk-line", Failure.protocol),
        ("endless-trailer", Failure.too_large),
        ("redirect-endless", Failure.too_many_redirects),
        ("redirect-loop", Failure.redirect_loop),
        ("redirect-nowhere", Failure.bad_redirect),
        ("redirect?to=http://256.1.1.1/", Failure.bad_redirect),
        ("redirect?to=http://[::1%25lo]/", Failure.bad_redirect),
        ("redirect?to=http://127.0.0.1:0/", Failure.bad_redirect),
        ("redirect?to=ftp://127.0.0.1/", Failure.bad_redirect),
        ("redirect?to=http://[::1]:81/", Failure.refused_address),
        ("gzip-bomb", Failure.bomb),
        ("gzip-bomb-twice", Failure.bomb),
        ("br-bomb", Failure.bomb),
        ("gzip-garbage", Failure.bad_encoding),
        ("gzip-truncated", Failure.truncated),
        ("unknown-encoding", Failure.bad_encoding),
        ("truncated", Failure.truncated),
        ("truncated-chunks", Failure.truncated),
        ("length-too-long", Failure.truncated),
        ("length-too-short", Failure.length),
        ("garbage", Failure.protocol),
        ("huge-headers", Failure.protocol),
        ("many-headers", Failure.protocol),
        ("reset", Failure.reset),
        ("empty", Failure.reset),
    ],
)
def test_each_misbehaving_endpoint_ends_with_one_clear_failure(
    bad: LocalSite, fetcher: Fetcher, path: str, failure: Failure
) -> None:
    began = time.monotonic()
    response = fetcher.fetch(FetchRequest(bad.url(f"/bad/{path}")), IMPATIENT.get(path, SETTINGS))
    assert response.failure is failure, (response.failure, response.detail)
    assert time.monotonic() - began < HANGING_SECONDS
    assert not response.ok and response.detail and len(response.body) <= SETTINGS.max_decoded_bytes


def test_endless_interim_answers_end(bad: LocalSite, fetcher: Fetcher) -> None:
    response = get(fetcher, bad.url("/bad/endless-continue"))
    assert response.failure is Failure.too_large and response.status == 0


def test_garbage_among_the_headers_is_passed_over(bad: LocalSite, fetcher: Fetcher) -> None:
    response = get(fetcher, bad.url("/bad/garbage-headers"))
    assert (
        response.ok
        and response.text.strip() == "<p>page</p>"
        and response.content_type == "text/html"
    )
    assert response.header("content-length") == "13", "what stands behind it counts"


@pytest.mark.parametrize(
    "path",
    ["gzip-bomb?mb=300", "br-bomb?mb=300", "gzip-bomb-twice", "endless-body", "huge-headers"],
)
def test_memory_stays_bounded(bad: LocalSite, fetcher: Fetcher, path: str) -> None:
    tracemalloc.start()  # the 1 MB pieces that the test's server sends are counted too
    try:
        response = get(fetcher, bad.url(f"/bad/{path}"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert response.failure in (Failure.bomb, Failure.too_large, Failure.protocol)
    assert peak < 40_000_000


def test_what_had_arrived_is_kept(bad: LocalSite, fetcher: Fetcher) -> None:
    cut = get(fetcher, bad.url("/bad/truncated"))
    assert (cut.status, cut.body, cut.truncated) == (200, b"<p>the first half</p>", "body")
    chunks = get(fetcher, bad.url("/bad/truncated-chunks"))
    assert chunks.body.startswith(b"<p>first chunk</p>") and chunks.truncated == "body"
    large = get(fetcher, bad.url("/bad/endless-body"))
    assert len(large.body) == SETTINGS.max_body_bytes and large.truncated == "body"
    zipped = get(fetcher, bad.url("/bad/gzip-truncated"))
    assert zipped.body.startswith(b"<p>text</p>") and len(zipped.raw_body) == 60


def test_a_server_that_refuses_or_is_not_there(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalSite() as gone:
        url = gone.url("/")
    assert get(fetcher, url).failure is Failure.connect
    assert get(fetcher, "http://no-such-name.invalid/").failure is Failure.dns
    never = threading.Event()
    monkeypatch.setattr(
        fetch, "resolve", lambda host, port: never.wait(10 * HANGING_SECONDS) and []
    )
    began = time.monotonic()
    for host in ("slow.invalid", "server1"):
        asked = FetchRequest(f"http://{host}/")
        assert (
            fetcher.fetch(asked, replace(SETTINGS, connect_timeout_seconds=1)).failure
            is Failure.dns
        )
    assert time.monotonic() - began < HANGING_SECONDS
    never.set()


def test_a_plain_server_asked_over_tls(site: LocalSite, fetcher: Fetcher) -> None:
    response = fetcher.fetch(
        FetchRequest(site.url("/").replace("http:", "https:")),
        replace(SETTINGS, total_timeout_seconds=5),
    )
    assert response.failure in (Failure.tls, Failure.timeout)


def test_a_kept_connection_that_the_server_closed_is_opened_anew(
    site: LocalSite, fetcher: Fetcher
) -> None:
    def once(request: Request) -> Reply | None:
        return Reply(b"first", headers={"Connection": "keep-alive"})

    ended = threading.Event()

    def end(request: Request) -> None:
        request.raw.shutdown(2)
        ended.set()

    def quiet_end(request: Request) -> Reply:
        threading.Timer(0.05, end, (request,)).start()
        return Reply(b"second")

    site.add("/1", once)
    site.add("/2", quiet_end)
    assert get(fetcher, site.url("/1")).ok and get(fetcher, site.url("/2")).ok
    assert site.connections == 1, "the connection is used again"
    assert ended.wait(HANGING_SECONDS)
    assert get(fetcher, site.url("/1")).ok and site.connections == 2


@pytest.mark.parametrize(
    ("status", "method", "arrives"),
    [
        (301, "GET", "GET"),
        (302, "GET", "GET"),
        (303, "GET", "GET"),
        (307, "GET", "GET"),
        (308, "GET", "GET"),
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (303, "HEAD", "HEAD"),
    ],
)
def test_methods_over_redirects(
    site: LocalSite, fetcher: Fetcher, status: int, method: str, arrives: str
) -> None:
    seen: list[bytes] = []
    site.add("/from", Reply(b"moved", status, {"Location": "to?x=1#part"}))
    site.add("/to", lambda request: seen.append(request.body) or Reply(b"here"))
    response = get(
        fetcher, site.url("/from"), method=method, body=b"a=1" if method == "POST" else None
    )
    assert (
        response.ok
        and response.url == site.url("/to?x=1")
        and response.request_url == site.url("/from")
    )
    assert site.log[-1].method == arrives and seen == [b"a=1" if arrives == "POST" else b""]
    [hop] = response.redirects
    assert (hop.status, hop.url, hop.location) == (status, site.url("/from"), response.url)


def test_a_body_is_not_sent_to_another_origin(site: LocalSite, fetcher: Fetcher) -> None:
    with LocalSite() as other:
        site.add("/form", Reply(b"", 307, {"Location": other.url("/")}))
        response = get(fetcher, site.url("/form"), method="POST", body=b"secret=1")
        assert response.failure is Failure.bad_redirect and other.log == []


def test_secrets_stay_with_their_site(site: LocalSite, fetcher: Fetcher) -> None:
    settings = replace(SETTINGS, cookies={"login": "abc"}, headers={"Authorization": "Bearer x"})
    with LocalSite() as other:
        site.add(
            "/out", Reply(b"", 302, {"Location": other.url("/in"), "Set-Cookie": "mine=1; Path=/"})
        )
        other.add(
            "/in",
            Reply(b"", 302, {"Location": site.url("/back"), "Set-Cookie": "theirs=1; Path=/"}),
        )
        site.add("/back", "home")
        assert fetcher.fetch(FetchRequest(site.url("/out"), headers={"X-Own": "1"}), settings).ok
        first, back, away = site.log[0].headers, site.log[1].headers, other.log[0].headers
    assert (
        first["authorization"] == "Bearer x"
        and first["cookie"] == "login=abc"
        and first["x-own"] == "1"
    )
    assert not {"authorization", "cookie", "x-own"} & set(away)
    assert "theirs" not in back["cookie"] and "mine=1" in back["cookie"]


def test_cookies_are_kept_and_a_page_may_redirect_to_itself_to_set_one(
    site: LocalSite, fetcher: Fetcher
) -> None:
    def gate(request: Request) -> Reply:
        if "seen=1" in request.headers.get("cookie", ""):
            return Reply(b"inside")
        return Reply(b"", 302, {"Location": "/gate", "Set-Cookie": "seen=1"})

    site.add("/gate", gate)
    assert get(fetcher, site.url("/gate")).body == b"inside"
    assert get(fetcher, site.url("/gate")).redirects == ()
    fetcher.close()
    assert len(get(fetcher, site.url("/gate")).redirects) == 1, "closing forgets the cookies"


def test_a_redirect_can_be_refused_by_the_caller(site: LocalSite) -> None:
    asked: list[str] = []

    def on_hop(url: str) -> None:
        asked.append(url)
        if url.endswith("/b"):
            raise HopRefused("robots")

    site.add("/a", Reply(b"", 302, {"Location": "/a2"}))
    site.add("/a2", Reply(b"", 302, {"Location": "/b"}))
    fetcher = Fetcher(SETTINGS, on_hop=on_hop)
    response = get(fetcher, site.url("/a"))
    assert (response.failure, response.detail) == (Failure.refused_hop, "robots")
    assert asked == [site.url("/a2"), site.url("/b")] and site.paths() == ["/a", "/a2"]
    fetcher.close()


def test_locations_as_servers_write_them(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("/*", "arrived")
    for location, path in (
        ("/论坛 1", "/%E8%AE%BA%E5%9D%9B%201"),
        ("../x/./y", "/x/y"),
        ("?p=2", "/r/from?p=2"),
        ("//{0}/z", "/z"),
        ("\\w", "/w"),
    ):
        value = location.format(site.authority).encode("utf-8").decode("latin-1")
        site.add(
            "/r/from",
            lambda request, value=value: (
                Reply(b"", 302, {"Location": value}) if "p" not in request.query else "arrived"
            ),
        )
        response = get(fetcher, site.url("/r/from"))
        assert response.ok and response.url == site.url(path), location


def test_conditional_requests(site: LocalSite, fetcher: Fetcher) -> None:
    def page(request: Request) -> Reply:
        if request.headers.get("if-none-match") == '"v1"':
            return Reply(b"", 304, {"ETag": '"v1"'})
        return Reply(
            b"<p>new</p>",
            headers={"ETag": '"v1"', "Last-Modified": "Sat, 01 Nov 2025 10:00:00 GMT"},
        )

    site.add("/page", page)
    site.add("/moved", Reply(b"", 301, {"Location": "/page"}))
    first = get(fetcher, site.url("/page"))
    assert first.header("etag") == '"v1"' and not first.not_modified
    again = get(
        fetcher,
        site.url("/page"),
        etag=first.header("etag"),
        last_modified=first.header("LAST-MODIFIED"),
    )
    assert again.not_modified and again.status == 304 and not again.ok and again.body == b""
    assert site.log[-1].headers["if-modified-since"] == "Sat, 01 Nov 2025 10:00:00 GMT"
    assert get(fetcher, site.url("/moved"), etag='"v1"').ok, (
        "validators belong to the address asked, not to the target"
    )


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("br", brotli.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
        ("identity", bytes),
        ("utf-8", bytes),
        ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]) + b"\0\0"),
    ],
)
def test_content_encodings(
    site: LocalSite, fetcher: Fetcher, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(b"<p>hello, packed world</p>")
    site.add("/", Reply(packed, headers={"Content-Encoding": encoding}))
    response = get(fetcher, site.url("/"))
    assert response.ok and response.body == b"<p>hello, packed world</p>"
    assert response.raw_body == packed and response.received_bytes == len(packed)


def test_limits_are_exact(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("/at", Reply(b"x" * 1000))
    site.add("/zip", Reply(gzip.compress(b"x" * 1000), headers={"Content-Encoding": "gzip"}))
    for path, settings in (
        ("/at", replace(SETTINGS, max_body_bytes=1000)),
        ("/zip", replace(SETTINGS, max_decoded_bytes=1000)),
    ):
        assert fetcher.fetch(FetchRequest(site.url(path)), settings).ok
    assert (
        fetcher.fetch(FetchRequest(site.url("/at")), replace(SETTINGS, max_body_bytes=999)).failure
        is Failure.too_large
    )
    short = fetcher.fetch(FetchRequest(site.url("/zip")), replace(SETTINGS, max_decoded_bytes=999))
    assert short.failure is Failure.bomb and len(short.body) == 999
    for hops in (0, 1):
        site.add("/r1", Reply(b"", 302, {"Location": "/at"}))
        response = fetcher.fetch(
            FetchRequest(site.url("/r1")), replace(SETTINGS, max_redirects=hops)
        )
        assert response.ok is bool(hops)


def test_only_wanted_types_are_read(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("/film", Reply(b"\0" * 1000, content_type="video/mp4"))
    site.add("/odd", Reply(b"<p>", content_type=""))
    site.add("/gone", Reply(b"", 404, content_type="image/png"))
    settings = replace(SETTINGS, accepted_types=("text/",))
    film = fetcher.fetch(FetchRequest(site.url("/film")), settings)
    assert (film.failure, film.detail, film.body) == (Failure.type, "video/mp4", b"")
    assert fetcher.fetch(FetchRequest(site.url("/odd")), settings).ok
    assert fetcher.fetch(FetchRequest(site.url("/gone")), settings).failure is None


def test_encodings_end_to_end(bad: LocalSite, fetcher: Fetcher) -> None:
    for path in ("gbk", "wrong-charset"):
        response = get(fetcher, bad.url(f"/bad/{path}"))
        assert response.ok and GBK_TEXT in response.text and response.encoding == "gb18030"


def test_what_is_noted_of_an_exchange(site: LocalSite) -> None:
    moment = datetime(2026, 2, 3, tzinfo=UTC)
    site.add("/p", Reply(b"<p>", headers={"X-Twice": "1"}))
    fetcher = Fetcher(SETTINGS, clock=lambda: moment)
    response = get(fetcher, site.url("/p"))
    assert (
        response.fetched_at == moment
        and response.address == "127.0.0.1"
        and response.http_version == "HTTP/1.1"
    )
    assert (
        dict(response.request_headers)["Host"] == site.authority
        and site.log[0].headers["user-agent"] == "tests/1"
    )
    assert (
        ("X-Twice", "1") in response.headers
        and response.content_type == "text/html; charset=utf-8"
        and response.reason == "OK"
    )
    fetcher.close()


def test_the_environment_names_no_proxy(
    site: LocalSite, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("/", "direct")
    with LocalSite() as trap:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, trap.url("/"))
        assert get(fetcher, site.url("/")).body == b"direct" and trap.log == []


def test_a_proxy_is_asked_for_open_targets_only(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("*", "by proxy")
    checked = replace(SETTINGS, proxy=site.url("/"), proxy_private=True, allow_private=frozenset())
    unknown = fetcher.fetch(FetchRequest("http://only-the-proxy-knows.invalid/x"), checked)
    assert (
        unknown.failure is Failure.dns
        and "cannot be resolved here" in unknown.detail
        and not site.log
    )
    settings = replace(checked, proxy_resolves=True)
    response = fetcher.fetch(FetchRequest("http://only-the-proxy-knows.invalid/x"), settings)
    assert response.body == b"by proxy" and site.paths() == [
        "http://only-the-proxy-knows.invalid/x"
    ]
    assert (
        fetcher.fetch(FetchRequest("http://10.0.0.1/"), settings).failure is Failure.refused_address
    )
    assert len(site.log) == 1
    with LocalSite() as gone:
        settings = replace(settings, proxy=gone.url("/"))
    assert (
        fetcher.fetch(FetchRequest("http://only-the-proxy-knows.invalid/x"), settings).failure
        is Failure.proxy
    )


def test_a_private_proxy_is_refused_unless_it_is_allowed(
    site: LocalSite, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A private proxy is refused even if the site itself may have private addresses."""
    monkeypatch.setattr(
        fetch,
        "resolve",
        lambda host, port: [(2, ("93.184.215.14" if host == "open.test" else "127.0.0.1", port))],
    )
    site.add("*", "by proxy")
    for proxy in (site.url("/"), f"http://proxy.test:{site.port}"):
        closed = replace(
            SETTINGS,
            proxy=proxy,
            proxy_resolves=True,
            allow_private=frozenset({"127.0.0.1", "proxy.test", "0.0.0.0/0"}),
        )
        response = fetcher.fetch(FetchRequest("http://open.test/"), closed)
        assert (
            response.failure is Failure.refused_address
            and response.detail == "127.0.0.1 loopback"
            and not site.log
        )
        assert (
            fetcher.fetch(
                FetchRequest("http://open.test/"), replace(closed, proxy_private=True)
            ).body
            == b"by proxy"
        )
        site.log.clear()  # the connection made to the proxy is still open, and must not be used
        assert (
            fetcher.fetch(FetchRequest("http://open.test/"), closed).failure
            is Failure.refused_address
            and not site.log
        )


def test_what_is_secret_of_a_site_goes_to_its_own_origins_only(
    site: LocalSite, fetcher: Fetcher
) -> None:
    """The headers and cookies of a site's settings are not sent to another origin, even if it is
    requested directly."""
    with LocalSite() as other:
        settings = replace(
            SETTINGS,
            headers={"X-Key": "hunter2"},
            cookies={"sid": "hunter2"},
            own_origins=frozenset({site.url("/")[:-1]}),
        )
        for one in (site, other):
            one.add("/", "x")
            assert fetcher.fetch(
                FetchRequest(one.url("/"), headers={"X-Asked": "1"}, cookies={"c": "2"}), settings
            ).ok
        assert (
            "hunter2" in site.log[0].headers["x-key"]
            and "sid=hunter2" in site.log[0].headers["cookie"]
        )
        assert (
            "hunter2" not in str(other.log[0].headers)
            and other.log[0].headers["x-asked"] == "1"
            and other.log[0].headers["cookie"] == "c=2"
        )


def test_many_threads_share_a_fetcher(site: LocalSite, fetcher: Fetcher) -> None:
    site.add("/n/*", lambda request: request.path)
    wrong: list[str] = []

    def work(start: int) -> None:
        for n in range(start, start + 20):
            response = get(fetcher, site.url(f"/n/{n}"))
            if response.text != f"/n/{n}":
                wrong.append(f"{n}: {response.failure} {response.detail}")

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(site.log) == 160 and site.connections <= 16
