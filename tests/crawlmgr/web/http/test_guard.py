"""The address guard: every spelling of a forbidden address is refused before a socket is opened; an
exception applies only to its own address."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.web.http import fetch
from crawlmgr.web.http.exchange import Failure, FetchRequest, FetchResponse, FetchSettings
from crawlmgr.web.http.fetch import Fetcher
from crawlmgr.web.http.guard import (
    AddressRefused,
    HostError,
    check_address,
    check_entries,
    is_public,
    parse_host,
    refusal,
)
from tests.site.server import LocalSite, Reply

# Spellings of loopback addresses that some browser, resolver or library accepts.
LOOPBACK_HOSTS = """
    127.0.0.1 127.0.0.1. 127.1 127.0.1 127.000.000.001 127.0.0.01 0177.0.0.1 0177.1 0177.0.0.01 \
00000177.0.0.1
    0x7f.0.0.1 0x7F.1 0x7f000001 0X7F000001 0x7f.0x0.0x0.0x1 0x7f.0.1 0x0000007f.0.0.1 2130706433 \
017700000001
    0000017700000001 0x7f.00.0x00.01 127.0x1 127.0.0x1 %31%32%37.0.0.1 127%2e0%2e0%2e1 %30x7f.1 \
１２７.０.０.１ 127。0。0。1
    ①②⑦.⓪.⓪.① １２７．１ 127.0.0.１ 127.1. 0x7f.1. 127.0x 127.0.0.0x [::1] [0:0:0:0:0:0:0:1] \
[0000::0001] [::0.0.0.1]
    [::ffff:127.0.0.1] [::FFFF:7F00:1] [::ffff:7f00:0001] [0:0:0:0:0:ffff:7f00:1] \
[0:0:0:0:0:FFFF:127.0.0.1]
    [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] \
[64:ff9b:1::7f00:1]
    [2002:7f00:1::] [2002:7f00:0001::1]
"""
# Forbidden addresses other than spellings of 127.0.0.1, by the code of the refusal.
CLOSED = {
    "unspecified": "0.0.0.0 0 0x0 00 0.1.2.3 [::]",
    "private": (
        "10.0.0.1 10.1 012.1 0xa000001 167772161 10.255.255.255 172.16.0.1 172.31.255.255"
        " 192.168.0.1 192.168.1 3232235777 0300.0250.1.1 [fc00::1] [fd12:3456:789a::1]"
    ),
    "carrier_nat": "100.64.0.1 100.127.255.254",
    "loopback": "127.255.255.254 127.0.1.1",
    "link_local": (
        "169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 [fe80::1]"
        " [febf::1]"
    ),
    "reserved": (
        "192.0.0.1 192.0.0.170 192.88.99.1 240.0.0.1 255.255.255.254 [2001:10::1] [100::1]"
        " [4000::1] [5f00::1] [1::1]"
    ),
    "documentation": "192.0.2.1 198.51.100.7 203.0.113.9 [2001:db8::1] [3fff::1]",
    "benchmark": "198.18.0.1 198.19.255.255 [2001:2::1]",
    "multicast": "224.0.0.1 239.255.255.250 [ff02::1] [ff0e::1]",
    "broadcast": "255.255.255.255 4294967295 0xffffffff",
    "ipv4_mapped": "[::ffff:10.0.0.1] [::ffff:8.8.8.8] [::ffff:a9fe:a9fe]",
    "ipv4_compatible": "[::8.8.8.8]",
    "ipv4_translated": "[::ffff:0:8.8.8.8]",
    "nat64": "[64:ff9b::8.8.8.8] [64:ff9b::a9fe:a9fe] [64:ff9b:1:ffff::1]",
    "6to4": "[2002:a00:1::1] [2002:808:808::1]",
    "teredo": "[2001::1] [2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "site_local": "[fec0::1]",
}
NO_HOSTS = [
    "",
    ".",
    "..",
    "a..b",
    "256.0.0.1",
    "1.2.3.4.5",
    "1.2.3.256",
    "4294967296",
    "0x100000000",
    "127.0.0.08",
    "0x7g.1",
    "127.0.0.1%00",
    "127.0.0.1%0a",
    "exa mple.com",
    "exa\tmple.com",
    "a/b",
    "a@b",
    "a:b",
    "a#b",
    "a<b",
    "%",
    "%zz",
    "%ff",
    "a%2fb",
    "a%23b",
    "a%25b",
    "[::1",
    "::1",
    "[::1%lo]",
    "[fe80::1%25eth0]",
    "[fe80::1%1]",
    "[:::]",
    "[1:2:3]",
    "[::1]x",
    "[127.0.0.1]",
    "[v1.fe80]",
    "a" * 64 + ".com",
    ".".join(["abcdefgh"] * 40),
    "a_b.c d",
    "1.2.3.+4",
    "1_0.0.0.1",
]
PUBLIC = """
    8.8.8.8 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
169.253.255.255
    169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 \
198.20.0.0
    223.255.255.255 2606:4700::1111 2a00:1450::1 2001:4860:4860::8888 2400::1 2003::1
"""

SETTINGS = FetchSettings(
    "tests/1", connect_timeout_seconds=60, read_timeout_seconds=60, total_timeout_seconds=90
)
Ask = Callable[..., FetchResponse]


class Listener:
    """A listening socket on both loopback addresses that must never be reached."""

    def __init__(self) -> None:
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port: int = self.sockets[0].getsockname()[1]
        if socket.has_ipv6:
            with contextlib.suppress(
                OSError
            ):  # on a machine without IPv6, nothing can connect to ::1, so no listener is needed
                self.sockets.append(
                    socket.create_server(("::1", self.port), family=socket.AF_INET6)
                )
        for sock in self.sockets:
            sock.setblocking(False)

    @property
    def reached(self) -> bool:
        """True if a connection is waiting to be accepted; the kernel completes the handshake by
        itself."""
        for sock in self.sockets:
            try:
                sock.accept()[0].close()
            except BlockingIOError:
                continue
            return True
        return False


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    for sock in found.sockets:
        sock.close()


@pytest.fixture
def ask() -> Iterator[Ask]:
    fetchers: list[Fetcher] = []

    def fetch_page(url: str, *allow: str, **more: Any) -> FetchResponse:
        fetcher = Fetcher(replace(SETTINGS, allow_private=frozenset(allow), **more))
        fetchers.append(fetcher)
        return fetcher.fetch(FetchRequest(url))

    yield fetch_page
    for fetcher in fetchers:
        fetcher.close()


def names(
    monkeypatch: pytest.MonkeyPatch, **table: list[str] | Callable[[], list[str]]
) -> list[str]:
    """Resolves names (with dots written as "_") by a table; returns the names that were looked
    up."""
    asked: list[str] = []
    real = fetch.resolve

    def resolve(host: str, port: int) -> list[fetch.Address]:
        answer = table.get(host.replace(".", "_"))
        if answer is None:
            return real(host, port)
        asked.append(host)
        ips = answer() if callable(answer) else answer
        return [
            (socket.AF_INET6, (ip, port, 0, 0)) if ":" in ip else (socket.AF_INET, (ip, port))
            for ip in ips
        ]

    monkeypatch.setattr(fetch, "resolve", resolve)
    return asked


def test_the_listener_notices_a_connection(listener: Listener, ask: Ask) -> None:
    response = ask(f"http://127.0.0.1:{listener.port}/", "127.0.0.1", read_timeout_seconds=0.1)
    assert response.failure is Failure.timeout
    assert listener.reached and not listener.reached


@pytest.mark.parametrize("host", LOOPBACK_HOSTS.split())
def test_loopback_is_refused_however_it_is_spelled(listener: Listener, ask: Ask, host: str) -> None:
    response = ask(f"http://{host}:{listener.port}/secret")
    assert response.failure is Failure.refused_address, (response.failure, response.detail)
    assert response.status == 0 and response.body == b"" and not listener.reached


@pytest.mark.parametrize(
    ("host", "reason"),
    [(host, reason) for reason, hosts in CLOSED.items() for host in hosts.split()],
)
def test_closed_ranges_are_refused_before_anything_is_sent(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, host: str, reason: str
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _socket, address: tried.append(address))
    response = ask(f"http://{host}:81/")
    assert response.failure is Failure.refused_address and response.detail.endswith(f" {reason}"), (
        response.detail
    )
    assert not tried


def test_a_connection_is_tried_where_it_is_allowed(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def refuse(_socket: socket.socket, address: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert ask("http://10.0.0.1:81/", "10.0.0.1").failure is not Failure.refused_address
    assert tried == [("10.0.0.1", 81)]


@pytest.mark.parametrize("host", NO_HOSTS)
def test_what_no_browser_opens_is_no_host(listener: Listener, ask: Ask, host: str) -> None:
    with pytest.raises(HostError):
        parse_host(host)
    if not {"/", "#", "@", ":", "\t"} & set(
        host
    ):  # these characters end the host inside an address
        for address in (f"http://{host}:{listener.port}/", f"http://{host}/"):
            assert ask(address).failure is Failure.bad_url
        assert not listener.reached


@pytest.mark.parametrize("ip", PUBLIC.split())
def test_public_addresses_pass_unless_only_private_ones_may_be_asked(ip: str, ask: Ask) -> None:
    assert is_public(ip) and refusal(ip) is None
    check_address(ip, "any.example", 80)
    response = ask(
        f"http://[{ip}]/" if ":" in ip else f"http://{ip}/", "0.0.0.0/0", "::/0", private_only=True
    )
    assert response.failure is Failure.refused_address and response.detail == f"{ip} no_contact"


@pytest.mark.parametrize(
    "ip", ["::1%lo", "fe80::1%eth0", "2606:4700::1111%1", "nonsense", "", "127.1"]
)
def test_what_is_no_plain_address_is_closed(ip: str) -> None:
    assert not is_public(ip)
    with pytest.raises(AddressRefused):
        check_address(ip, "h.example", 80, frozenset({"10.0.0.0/8", "fe80::/10"}))


@pytest.mark.parametrize(
    "trick",
    [
        "http://public.example@127.0.0.1:{port}/",
        "http://public.example:80@127.0.0.1:{port}/",
        "http:\\\\127.0.0.1:{port}\\",
        "http:/127.0.0.1:{port}/",
        "http:127.0.0.1:{port}/",
        "HTTP://127.0.0.1:{port}",
        " http://127.0.0.1:{port}/ ",
        "http://127.0.0.1:{port}?@public.example/",
        "http://127.0.0.1:{port}#@public.example/",
        "ht\ntp://127.0.0.1:{port}/",
        "http://127.0.0.1\\@public.example:{port}/",
        "http:////127.0.0.1:{port}/",
        "http://user:pass@[::1]:{port}/",
        "http://127.0.0.1:0{port}/",
    ],
)
def test_addresses_that_hide_the_host_are_read_as_browsers_read_them(
    listener: Listener, ask: Ask, trick: str
) -> None:
    assert ask(trick.format(port=listener.port)).failure is Failure.refused_address
    assert not listener.reached


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:70/",
        "//127.0.0.1/",
        "127.0.0.1",
        "http://",
        "http://:80/",
    ],
)
def test_only_http_addresses_are_asked(ask: Ask, url: str) -> None:
    assert ask(url).failure is Failure.bad_url


def test_names_of_this_machine_are_refused(
    listener: Listener, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in ("localhost", "LOCALHOST", "localhost.", "ｌｏｃａｌｈｏｓｔ", "lo%63alhost"):
        assert ask(f"http://{host}:{listener.port}/").failure is Failure.refused_address
    names(
        monkeypatch,
        inner_example=["127.0.0.1"],
        inner6_example=["::1"],
        mapped_example=["::ffff:127.0.0.1"],
    )
    for host in ("inner.example", "inner6.example", "mapped.example"):
        assert ask(f"http://{host}:{listener.port}/").failure is Failure.refused_address
    assert not listener.reached


def test_one_closed_address_among_public_ones_refuses_the_name(
    listener: Listener, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(
        monkeypatch,
        mixed_example=["8.8.8.8", "127.0.0.1"],
        behind_example=["2606:4700::1", "8.8.8.8", "10.0.0.1"],
    )
    for host in ("mixed.example", "behind.example"):
        assert ask(f"http://{host}:{listener.port}/").failure is Failure.refused_address
    assert not listener.reached


def test_a_name_that_resolves_anew_gets_nowhere(
    ask: Ask, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([["8.8.8.8"], ["127.0.0.1"], ["127.0.0.1"], ["127.0.0.1"]])
    connected: list[object] = []

    def connect(_self: socket.socket, address: object) -> None:
        connected.append(address)
        raise OSError("closed")

    monkeypatch.setattr(socket.socket, "connect", connect)
    asked = names(monkeypatch, rebind_example=lambda: next(answers))
    first = ask(f"http://rebind.example:{listener.port}/")
    assert first.failure is Failure.connect and asked == ["rebind.example"], "resolved once"
    assert connected == [("8.8.8.8", listener.port)], "connected to the address that was checked"
    assert ask(f"http://rebind.example:{listener.port}/").failure is Failure.refused_address
    assert len(connected) == 1 and not listener.reached


def test_a_kept_connection_is_no_way_round_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetcher with an open connection to a private address refuses this address once the settings
    no longer allow it."""
    with LocalSite() as site:
        site.add("/", "<p>inner</p>")
        fetcher = Fetcher(SETTINGS)
        with_it = replace(SETTINGS, allow_private=frozenset({site.authority}))
        assert fetcher.fetch(FetchRequest(site.url()), with_it).ok
        assert fetcher.fetch(FetchRequest(site.url())).failure is Failure.refused_address
        assert fetcher.fetch(FetchRequest(site.url()), replace(with_it, private_only=True)).ok
        assert len(site.log) == 2
        fetcher.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_a_closed_address_is_refused(
    listener: Listener, ask: Ask, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    names(monkeypatch, inner_example=["127.0.0.1"])
    port = listener.port
    with LocalSite() as site:
        for number, target in enumerate(
            (
                f"http://127.0.0.1:{port}/",
                f"http://127.1:{port}/",
                f"//0x7f.1:{port}/",
                f"http://[::1]:{port}/",
                f"http://inner.example:{port}/",
                f"http://localhost:{port}/",
                "http://169.254.169.254/latest/meta-data/",
            )
        ):
            site.add(f"/{number}", Reply(b"", status, {"Location": target}))
            response = ask(site.url(f"/{number}"), site.authority)
            assert response.failure is Failure.refused_address, target
            assert [hop.url for hop in response.redirects] == [site.url(f"/{number}")]
    assert not listener.reached


def test_an_exception_works_for_its_own_address_only(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, site_example=["127.0.0.1"], other_example=["127.0.0.1"])
    with LocalSite() as site, LocalSite() as neighbour:
        site.add("/", "<p>site</p>")
        neighbour.add("/", "<p>neighbour</p>")
        site.add("/out", Reply(b"", 302, {"Location": neighbour.url("/")}))
        for allow in (site.authority, f"127.0.0.1:{site.port}", "127.0.0.1", "127.0.0.0/8"):
            assert ask(site.url("/"), allow).ok, allow
        assert (
            not ask(site.url("/"), "*").ok and not site.log[4:]
        )  # "*" does not match all addresses
        named = f"http://site.example:{site.port}/"
        for allow in ("site.example", f"site.example:{site.port}", "SITE.example", "127.0.0.0/8"):
            assert ask(named, allow).ok, allow
        before = len(site.log) + len(neighbour.log)
        for url, allow in (
            (neighbour.url("/"), site.authority),  # another port
            (
                named,
                site.authority,
            ),  # `named` has the same IP address as the site, but another host name
            (site.url("/"), "site.example"),
            (named, f"site.example:{neighbour.port}"),
            (f"http://other.example:{site.port}/", "site.example"),
            (f"http://localhost:{site.port}/", "127.0.0.1"),
            (site.url("/"), "10.0.0.0/8"),
            (site.url("/"), "0.0.0.0/32"),
        ):
            assert ask(url, allow).failure is Failure.refused_address, (url, allow)
        assert len(site.log) + len(neighbour.log) == before
        assert ask(site.url("/out"), site.authority).failure is Failure.refused_address
        assert neighbour.log == []


def test_an_exception_names_an_address_of_six_with_or_without_brackets_and_port() -> None:
    for entry in ("::1", "[::1]", "[::1]:80", "0:0::1"):
        for host in ("::1", "[::1]"):
            check_address("::1", host, 80, frozenset({entry}))
    for entry in ("[::1]:81", "::2", "[::2]:80"):
        with pytest.raises(AddressRefused):
            check_address("::1", "[::1]", 80, frozenset({entry}))


@pytest.mark.parametrize(
    "entry", ["127.0.0.1:0", "127.0.0.1:x", "h:70000", "10.0.0.0/99", "[::1", "a b", ""]
)
def test_exceptions_that_cannot_be_read_are_told(entry: str) -> None:
    with pytest.raises(ValueError, match="."):
        check_entries(frozenset({entry}))


@given(st.integers(0, 2**32 - 1))
def test_every_number_form_of_an_address_is_the_same_address(value: int) -> None:
    a, b, c, d = value.to_bytes(4, "big")
    plain = f"{a}.{b}.{c}.{d}"
    octal = ".".join(f"0{part:o}" for part in (a, b, c, d))
    for spelling in (
        str(value),
        hex(value),
        f"0{value:o}",
        f"{a}.{value & 0xFFFFFF}",
        f"0x{a:x}.0{b:o}.{value & 0xFFFF}",
        octal,
    ):
        assert parse_host(spelling) == plain
    assert not is_public(f"::ffff:{plain}") and not is_public(f"64:ff9b::{plain}")


@given(st.integers(0, 2**32 - 1))
def test_what_the_guard_lets_through_is_global(value: int) -> None:
    ip = ipaddress.IPv4Address(value)
    assert not (
        is_public(str(ip))
        and (
            ip.is_private or ip.is_multicast or ip.is_reserved or ip.is_loopback or ip.is_link_local
        )
    )
