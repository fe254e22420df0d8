"""robots.txt according to RFC 9309: groups, longest match, the meaning of a response, how long it
is valid; fetched over a real local web."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.web.http.exchange import Failure, FetchRequest, FetchResponse, FetchSettings
from crawlmgr.web.http.fetch import Fetcher
from crawlmgr.web.robots import RobotsRules, from_response, product_token, robots_url
from tests.site.misbehaviour import set_robots
from tests.site.server import LocalSite, Reply

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SITE = "http://h.example"


def rules(text: str | bytes, agent: str = "crawlmgr") -> RobotsRules:
    body = text.encode() if isinstance(text, str) else text
    return from_response(
        FetchResponse(f"{SITE}/robots.txt", f"{SITE}/robots.txt", 200, body=body), NOW, agent
    )


def answer(
    status: int = 200, failure: Failure | None = None, body: bytes = b"", **headers: str
) -> RobotsRules:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return from_response(
        FetchResponse(SITE, SITE, status, headers=pairs, body=body, failure=failure), NOW
    )


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /private", "/private/x", False),
        ("User-agent: *\nDisallow: /private", "/public", True),
        ("user-agent: *\ndisallow: /private", "/private", False),
        ("User-agent: *\nDisallow:", "/any", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", False),
        ("User-agent: *\nDisallow: /x\nAllow: /x", "/x", True),
        ("User-agent: *\nDisallow: /*.php$", "/a/t.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/a/t.php?x=1", True),
        ("User-agent: *\nDisallow: /*sid=", "/t?a=1&sid=2", False),
        ("User-agent: *\nDisallow: /caf%C3%A9", "/café", False),
        ("User-agent: *\nDisallow: /café", "/caf%C3%A9", False),
        ("User-agent: *\nDisallow: /论坛", "/%E8%AE%BA%E5%9D%9B/1", False),
        ("User-agent: crawlmgr\nDisallow: /own\nUser-agent: *\nDisallow: /", "/other", True),
        ("User-agent: *\nDisallow: /\nUser-agent: CrawlMgr\nDisallow: /own", "/own", False),
        ("User-agent: other\nUser-agent: crawlmgr\nDisallow: /both", "/both", False),
        (
            (
                "User-agent: crawlmgr\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent:"
                " crawlmgr\nDisallow: /c"
            ),
            "/c",
            False,
        ),
        ("User-agent: otherbot\nDisallow: /", "/", True),
        ("# a comment\nUser-agent: * # all\nDisallow: /c # not\n", "/c", False),
        ("\ufeffUser-agent: *\nDisallow: /bom", "/bom", False),
        ("User-agent: *\r\nDisallow: /crlf\r\n", "/crlf", False),
        ("User-agent: *\rDisallow: /cr\r", "/cr", False),
        ("Disallow: /without-agent", "/without-agent", True),
        ("<html><body>not a robots.txt</body></html>", "/", True),
        ("User-agent: *\nCrawl-delay: 3\nDisallow: /after-delay", "/after-delay", False),
    ],
)
def test_matching(text: str, path: str, allowed: bool) -> None:
    assert rules(text).allowed(SITE + path) is allowed


@pytest.mark.parametrize(
    ("status", "failure", "verdict"),
    [
        (200, None, "rules"),
        (204, None, "rules"),
        (401, None, "allow"),
        (403, None, "allow"),
        (404, None, "allow"),
        (410, None, "allow"),
        (429, None, "deny"),
        (500, None, "deny"),
        (503, None, "deny"),
        (0, Failure.dns, "deny"),
        (0, Failure.timeout, "deny"),
        (0, Failure.connect, "deny"),
        (200, Failure.truncated, "deny"),
        (200, Failure.too_slow, "deny"),
        (302, Failure.too_many_redirects, "allow"),
        (302, Failure.redirect_loop, "allow"),
        (302, Failure.refused_address, "deny"),
        (404, Failure.truncated, "deny"),
    ],
)
def test_what_an_answer_means(status: int, failure: Failure | None, verdict: str) -> None:
    found = answer(status, failure)
    assert found.verdict == verdict
    assert found.allowed(f"{SITE}/page") is (verdict != "deny") and found.allowed(
        f"{SITE}/robots.txt"
    )
    assert found.expires_at - NOW == (
        timedelta(minutes=10) if verdict == "deny" else timedelta(hours=24)
    )


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("max-age=3600", timedelta(hours=1)),
        ("public, MAX-AGE=7200", timedelta(hours=2)),
        ('max-age="600"', timedelta(minutes=10)),
        ("max-age=0", timedelta(minutes=5)),
        ("no-store", timedelta(hours=24)),
        ("max-age=999999999999", timedelta(hours=24)),
        ("max-age=-5", timedelta(hours=24)),
        ("max-age=x", timedelta(hours=24)),
    ],
)
def test_how_long_it_is_kept(value: str, kept: timedelta) -> None:
    for found in (answer(200, Cache_Control=value), answer(404, Cache_Control=value)):
        assert found.expires_at - found.fetched_at == kept
    assert answer(500, Cache_Control=value).expires_at == NOW + timedelta(minutes=10)


def test_delay_and_sitemaps() -> None:
    found = rules(
        "User-agent: *\nCrawl-delay: 2.5\nSitemap: http://h.example/s.xml\nUser-agent:"
        " crawlmgr\nCrawl-delay: 7"
    )
    assert found.crawl_delay == 7 and found.sitemaps == ("http://h.example/s.xml",)
    assert rules("User-agent: *\nCrawl-delay: 2.5").crawl_delay == 2.5
    for value in ("-1", "nonsense", "86400", "nan", "inf", ""):
        assert rules(f"User-agent: *\nCrawl-delay: {value}").crawl_delay is None
    assert answer(500).crawl_delay is None and answer(404).sitemaps == ()


def test_only_the_first_500_kib_count() -> None:
    head = b"User-agent: *\nDisallow: /early\n"
    filler = b"# filler\n" * ((500 * 1024 - len(head)) // 9 - 1)
    found = rules(head + filler + b"Disallow: /x\n" * 50 + b"Disallow: /late\n")
    assert not found.allowed(f"{SITE}/early") and found.allowed(f"{SITE}/late")
    cut = answer(200, Failure.too_large, body=head + filler)
    assert cut.verdict == "rules" and not cut.allowed(f"{SITE}/early"), (
        "a file that is too long to be read whole still counts"
    )


def test_addresses_and_names() -> None:
    assert robots_url("https://h.example:8443/a?b#c") == "https://h.example:8443/robots.txt"
    assert robots_url("HTTP://H.example:80/") == "http://h.example/robots.txt"
    assert (
        product_token("crawlmgr/0.1 (+mailto:a@b.example)") == "crawlmgr"
        and product_token("Bot x") == "Bot"
    )


@pytest.mark.parametrize(
    ("kind", "verdict", "closed"),
    [
        ("404", "allow", ()),
        ("500", "deny", ("/", "/early/")),
        ("429", "deny", ("/",)),
        ("slow", "deny", ("/",)),
        ("redirect-loop", "allow", ()),
        ("huge", "rules", ("/early/x",)),
        ("binary", "rules", ()),
        ("User-agent: *\nDisallow: /no", "rules", ("/no",)),
    ],
)
def test_over_the_wire(kind: str, verdict: str, closed: tuple[str, ...]) -> None:
    settings = FetchSettings(
        "tests/1",
        total_timeout_seconds=0.5 if kind == "slow" else 60,
        allow_private=frozenset({"127.0.0.1"}),
    )
    with LocalSite() as site:
        set_robots(site, kind)
        fetcher = Fetcher(settings)
        found = from_response(fetcher.fetch(FetchRequest(robots_url(site.url("/x/y")))), NOW)
        fetcher.close()
        assert found.verdict == verdict
        assert not any(found.allowed(site.url(path)) for path in closed)
        assert found.allowed(site.url("/late/x")) is (verdict != "deny")


def test_five_redirects_are_followed_also_to_another_host() -> None:
    settings = FetchSettings("tests/1", max_redirects=5, allow_private=frozenset({"127.0.0.1"}))
    with LocalSite() as site, LocalSite() as other:
        for hop in range(4):
            site.add(f"/r{hop}", Reply(b"", 301, {"Location": f"/r{hop + 1}"}))
        site.add("/robots.txt", Reply(b"", 301, {"Location": "/r0"}))
        fetcher = Fetcher(settings)
        for target, verdict in ((other.url("/there"), "rules"), ("/r5", "allow")):
            site.add("/r3", Reply(b"", 302, {"Location": target}))
            site.add("/r5", Reply(b"", 302, {"Location": "/r6"}))
            other.add("/there", Reply(b"User-agent: *\nDisallow: /no"))
            found = from_response(fetcher.fetch(FetchRequest(site.url("/robots.txt"))), NOW)
            assert found.verdict == verdict and found.allowed(site.url("/no")) is (
                verdict == "allow"
            )
        fetcher.close()
