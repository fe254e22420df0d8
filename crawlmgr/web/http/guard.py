"""The address guard: decides to which IP addresses a connection may be made. It reads host names
and IP addresses in all spellings that browsers accept, refuses private and reserved ranges, and
knows the exceptions allowed for a site.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

import idna

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Forbidden ranges, each with a reason code. Explicit tables instead of `ipaddress.is_global`, whose
# answers differ between Python versions.
_CLOSED_V4: tuple[tuple[ipaddress.IPv4Network, str], ...] = tuple(
    (ipaddress.IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier_nat"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link_local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmark"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_CLOSED_V6: tuple[tuple[ipaddress.IPv6Network, str], ...] = tuple(
    (ipaddress.IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "ipv4_mapped"),
        ("::ffff:0:0:0/96", "ipv4_translated"),
        ("::/96", "ipv4_compatible"),
        ("64:ff9b::/96", "nat64"),
        ("64:ff9b:1::/48", "nat64"),
        ("2001::/32", "teredo"),
        ("2001:2::/48", "benchmark"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link_local"),
        ("fec0::/10", "site_local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network(
    "2000::/3"
)  # the only part of IPv6 allocated for public use so far

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%]")
_LABELS = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


class HostError(ValueError):
    """A host name or IP address that no browser would accept."""


class AddressRefused(Exception):
    """The address guard refuses a connection to the address `ip` of `host`; `reason` is a short
    code ("loopback", "private", …)."""

    def __init__(self, reason: str, ip: str, host: str, port: int) -> None:
        super().__init__(f"{host}:{port} is {ip}: {reason}")
        self.reason = reason
        self.ip = ip
        self.host = host
        self.port = port


def _ipv4_number(part: str) -> int:
    """Returns the value of one part of an IPv4 address: decimal, octal (leading 0) or hexadecimal
    (leading 0x). Raises HostError."""
    if part[:2] in ("0x", "0X"):
        digits, base = part[2:] or "0", 16
    elif len(part) > 1 and part[0] == "0":
        digits, base = part[1:], 8
    else:
        digits, base = part, 10
    if not digits.isascii() or not digits.isalnum():  # int() would also accept "+1", "1_0" and " 1"
        raise HostError(f"not a number in an IPv4 address: {part!r}")
    try:
        return int(digits, base)
    except ValueError as error:
        raise HostError(f"not a number in an IPv4 address: {part!r}") from error


def _parse_ipv4(host: str) -> str:
    """Returns the dotted decimal form of an IPv4 address written as one to four numbers ("127.1").
    Raises HostError if it is not valid."""
    parts = host.split(".")
    if parts[-1] == "" and len(parts) > 1:
        parts.pop()
    if len(parts) > 4 or any(not part or len(part) > 64 for part in parts):
        raise HostError(f"not an IPv4 address: {host!r}")
    numbers = [_ipv4_number(part) for part in parts]
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        raise HostError(f"not an IPv4 address: {host!r}")
    value = numbers[-1] + sum(
        number << (8 * (3 - place)) for place, number in enumerate(numbers[:-1])
    )
    return str(ipaddress.IPv4Address(value))


def _ends_in_number(host: str) -> bool:
    """Tells whether the last label of a host name is a number, so that the URL standard reads the
    host as an IPv4 address."""
    labels = host.split(".")
    if labels[-1] == "" and len(labels) > 1:
        labels.pop()
    last = labels[-1]
    return bool(last) and (
        (last.isascii() and last.isdigit()) or bool(re.fullmatch(r"0[xX][0-9a-fA-F]*", last))
    )


def _to_ascii(host: str) -> str:
    """Returns the ASCII form of a Unicode host name: compatibility characters are replaced (NFKC),
    then punycode is used. Raises HostError if it is not valid."""
    mapped = (
        unicodedata.normalize("NFKC", host).replace("\u3002", ".").replace("\u00ad", "").lower()
    )
    if mapped.isascii():
        return mapped
    try:
        return idna.encode(mapped, uts46=True, transitional=False).decode("ascii")
    except idna.IDNAError:
        try:
            return mapped.encode("idna").decode(
                "ascii"
            )  # IDNA 2003, which allows symbols in names; browsers still accept those
        except UnicodeError as error:
            raise HostError(f"not an international name: {host!r}") from error


@lru_cache(maxsize=4096)
def parse_host(host: str) -> str:
    """Returns the canonical host of a URL: a lower-case ASCII name, a dotted IPv4 address, or an
    IPv6 address in brackets.

    Follows the host parser of the URL standard: percent-encoding is undone, full-width letters and
    dots are replaced by ASCII ones, international names become punycode, and decimal, octal,
    hexadecimal and short IPv4 forms are read as the address they stand for. Raises HostError, also
    for an IPv6 zone id.

    >>> parse_host("0x7f.1"), parse_host("2130706433"), parse_host("[::FFFF:7f00:1]")
    ('127.0.0.1', '127.0.0.1', '[::ffff:7f00:1]')
    """
    if host.startswith("["):
        if not host.endswith("]") or "%" in host:
            raise HostError(f"not an IPv6 address: {host!r}")
        try:
            address = ipaddress.IPv6Address(host[1:-1])
        except ValueError as error:
            raise HostError(f"not an IPv6 address: {host!r}") from error
        mapped = address.ipv4_mapped
        return (
            f"[::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}]"
            if mapped
            else f"[{address.compressed}]"
        )
    if "%" in host:
        try:
            host = unquote(host, errors="strict")
        except UnicodeDecodeError as error:
            raise HostError(f"not a host: {host!r}") from error
    name = host.lower() if host.isascii() else _to_ascii(host)
    if (
        not name
        or len(name) > 254
        or _FORBIDDEN.search(name)
        or not _LABELS.fullmatch(name.removesuffix("."))
    ):
        raise HostError(f"not a host: {host!r}")
    if _ends_in_number(name):
        return _parse_ipv4(name)
    if any(len(label) > 63 for label in name.split(".")):
        raise HostError(f"a label longer than 63 characters: {host!r}")
    return name


@lru_cache(maxsize=4096)
def refusal(ip: str) -> str | None:
    """Returns a short code for the reason why crawlers may not connect to an IP address; None for a
    public address. An address with a zone id is always refused."""
    if "%" in ip:
        return "zone_id"
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return "not_an_address"
    if isinstance(address, ipaddress.IPv4Address):
        return next((reason for network, reason in _CLOSED_V4 if address in network), None)
    found = next((reason for network, reason in _CLOSED_V6 if address in network), None)
    return found or (None if address in _GLOBAL_V6 else "reserved")


def is_public(ip: str) -> bool:
    """Tells whether an IP address (as text, IPv6 without brackets) is on the public Internet."""
    return refusal(ip) is None


class _Exceptions:
    """The parsed exceptions of the address guard, that is what may be connected to although it is
    not public: `hosts` holds (canonical host, port or None for every port), `networks` IP networks.
    """

    __slots__ = ("hosts", "networks")

    def __init__(self, entries: frozenset[str]) -> None:
        self.hosts: set[tuple[str, int | None]] = set()
        self.networks: list[_Network] = []
        for entry in entries:
            if "/" in entry:
                self.networks.append(ipaddress.ip_network(entry.strip(), strict=False))
            else:
                self.hosts.add(_split_entry(entry.strip()))


def _split_entry(entry: str) -> tuple[str, int | None]:
    """Parses an exception ("host", "host:port", "ip", "ip:port", "v6", "[v6]" or "[v6]:port", v6
    being an IPv6 address) to (canonical host, port or None). Raises ValueError for any other text.
    """
    if entry.count(":") > 1 and not entry.startswith("["):
        return parse_host(f"[{entry}]"), None
    host, colon, port = entry.rpartition(":")
    if not colon or entry.endswith("]"):
        return parse_host(entry), None
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"not a port in an exception of the address guard: {entry!r}")
    return parse_host(host), int(port)


@lru_cache(maxsize=512)
def _exceptions(entries: frozenset[str]) -> _Exceptions:
    return _Exceptions(entries)


def check_entries(entries: frozenset[str]) -> None:
    """Raises ValueError if an entry of the list of private addresses that crawlers may connect to
    is invalid. Forms and settings call this before anything is fetched."""
    _exceptions(entries)


def check_address(ip: str, host: str, port: int, allow: frozenset[str] = frozenset()) -> None:
    """Raises AddressRefused unless a connection to the IP address `ip`, made for `host:port`, is
    allowed.

    Public addresses always are. `allow` lists exceptions. "host:port" or "host" (a name or a
    literal address) allows connections for this host only, not for another name of the same
    address. A network such as "10.0.0.0/8" allows every host with an address in it. Raises
    ValueError for an invalid exception.
    """
    reason = refusal(ip)
    if reason is None:
        return
    if allow:
        exceptions = _exceptions(allow)
        try:
            own = parse_host(host if ":" not in host or host.startswith("[") else f"[{host}]")
        except HostError:
            own = ""
        if (own, port) in exceptions.hosts or (own, None) in exceptions.hosts:
            return
        if exceptions.networks and reason not in ("zone_id", "not_an_address"):
            address = ipaddress.ip_address(ip)
            if any(
                address in network
                for network in exceptions.networks
                if network.version == address.version
            ):
                return
    raise AddressRefused(reason, ip, host, port)
