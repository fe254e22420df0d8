"""TLS: access rules apply to the IP address, certificate and SNI to the host name; the same holds
through a proxy's tunnel."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from socket import AF_INET, SHUT_RDWR, SHUT_WR, create_connection, create_server, socket
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from crawlmgr.web.http import fetch
from crawlmgr.web.http.fetch import Failure, Fetcher, FetchRequest, FetchSettings
from tests.site.server import LocalSite, Reply


class Authority(NamedTuple):
    """Files of a self-signed certificate for forum.test and 127.0.0.1."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forum.test")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("forum.test"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    )
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    )
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(
        now - timedelta(days=1)
    )
    builder = builder.not_valid_after(now + timedelta(days=1)).add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    files = Authority(folder / "ca.pem", folder / "key.pem")
    files.certificate.write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    form = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    files.key.write_bytes(key.private_bytes(*form))
    return files


class Secured(NamedTuple):
    site: LocalSite
    names: list[str | None]  # names that clients sent by SNI


@pytest.fixture
def secured(authority: Authority) -> Iterator[Secured]:
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate, authority.key)
    context.sni_callback = lambda _sock, name, _context: names.append(name)
    with LocalSite(tls=context) as site:
        site.add("/", "secret page")
        yield Secured(site, names)


@pytest.fixture
def names_lead_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "resolve", lambda host, port: [(int(AF_INET), ("127.0.0.1", port))])


def settings(authority: Authority, *hosts: str) -> FetchSettings:
    return FetchSettings(
        "tests/1",
        connect_timeout_seconds=60,
        read_timeout_seconds=60,
        total_timeout_seconds=90,
        allow_private=frozenset(hosts),
        ca_file=str(authority.certificate),
    )


@pytest.fixture
def fetcher(authority: Authority) -> Iterator[Fetcher]:
    made = Fetcher(settings(authority, "forum.test", "other.test", "127.0.0.1"))
    yield made
    made.close()


def test_name_and_certificate_are_checked_not_the_address(
    secured: Secured, fetcher: Fetcher, names_lead_here: None
) -> None:
    response = fetcher.fetch(FetchRequest(f"https://forum.test:{secured.site.port}/"))
    assert response.ok and response.body == b"secret page" and response.address == "127.0.0.1"
    assert (
        secured.names == ["forum.test"]
        and secured.site.log[0].headers["host"] == f"forum.test:{secured.site.port}"
    )
    other = fetcher.fetch(FetchRequest(f"https://other.test:{secured.site.port}/"))
    assert (
        other.failure is Failure.tls
        and "other.test" in other.detail
        and secured.names[-1] == "other.test"
    )
    assert fetcher.fetch(FetchRequest(f"https://127.0.0.1:{secured.site.port}/")).ok, (
        "the certificate names the address too"
    )
    assert len(secured.site.log) == 2


def test_an_unknown_authority_is_not_trusted(
    secured: Secured, fetcher: Fetcher, authority: Authority, names_lead_here: None
) -> None:
    url = f"https://forum.test:{secured.site.port}/"
    assert fetcher.fetch(FetchRequest(url)).ok
    stranger = replace(settings(authority, "forum.test"), ca_file=None)
    assert fetcher.fetch(FetchRequest(url), stranger).failure is Failure.tls, (
        "nor does a kept connection help"
    )


def test_a_closed_address_is_refused_before_the_handshake(
    secured: Secured, authority: Authority, names_lead_here: None
) -> None:
    fetcher = Fetcher(settings(authority, "other.test"))
    response = fetcher.fetch(FetchRequest(f"https://forum.test:{secured.site.port}/"))
    assert (
        response.failure is Failure.refused_address
        and secured.names == []
        and secured.site.connections == 0
    )


def test_a_redirect_down_to_plain_http_carries_no_cookies(
    secured: Secured, fetcher: Fetcher, authority: Authority
) -> None:
    with LocalSite() as plain:
        plain.add("/", "open")
        secured.site.add("/down", Reply(b"", 302, {"Location": plain.url("/")}))
        mine = replace(settings(authority, "127.0.0.1"), cookies={"login": "abc"})
        assert (
            fetcher.fetch(FetchRequest(f"https://127.0.0.1:{secured.site.port}/down"), mine).body
            == b"open"
        )
        assert (
            "abc" in secured.site.log[0].headers["cookie"] and "cookie" not in plain.log[0].headers
        )


class Tunnel:
    """A proxy that supports only CONNECT and connects every tunnel to the local port `target`,
    whatever host was requested."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.asked: list[str] = []
        self.answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
        self.listener = create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])

    def __enter__(self) -> Tunnel:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_args: object) -> None:
        self.listener.shutdown(SHUT_RDWR)
        self.listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(
                    target=self._tunnel, args=(self.listener.accept()[0],), daemon=True
                ).start()

    def _tunnel(self, client: socket) -> None:
        with contextlib.suppress(OSError), client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            self.asked.append(head.decode().split(" HTTP/")[0])
            client.sendall(self.answer)
            if b" 200 " in self.answer:
                with create_connection(("127.0.0.1", self.target)) as server:
                    back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                    back.start()
                    _pump(client, server)
                    back.join(5)


def _pump(source: socket, sink: socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(SHUT_WR)


def test_the_tunnel_of_a_proxy(
    secured: Secured, fetcher: Fetcher, authority: Authority, names_lead_here: None
) -> None:
    port = secured.site.port
    with Tunnel(port) as tunnel:
        through = replace(
            settings(authority, "forum.test", "other.test"),
            proxy=f"http://127.0.0.1:{tunnel.port}",
            proxy_private=True,
        )
        request = FetchRequest(f"https://forum.test:{port}/")
        assert fetcher.fetch(request, through).body == b"secret page"
        assert tunnel.asked == [f"CONNECT 127.0.0.1:{port}"] and secured.names == [
            "forum.test"
        ]  # proxy gets no name
        named = Fetcher(replace(through, proxy_resolves=True))
        assert (
            named.fetch(request).body == b"secret page"
            and tunnel.asked.pop() == f"CONNECT forum.test:{port}"
        )
        assert (
            fetcher.fetch(FetchRequest(f"https://other.test:{port}/"), through).failure
            is Failure.tls
        )
        closed = replace(through, allow_private=frozenset())
        assert (
            fetcher.fetch(request, closed).failure is Failure.refused_address
            and len(tunnel.asked) == 2
        )
        tunnel.answer = b"HTTP/1.1 403 Forbidden\r\n\r\n"
        unused = Fetcher(through)  # no tunnel has been opened yet
        assert unused.fetch(request).failure is Failure.proxy and len(tunnel.asked) == 3
