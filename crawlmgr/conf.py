"""Crawl settings: one frozen dataclass with the unit and a help line for every field. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

EVERYTHING = "*"


def _setting(default: Any, help_text: str, unit: str = "", low: float | None = None, high: float | None = None) -> Any:
    metadata = {"help": help_text, "unit": unit, "low": low, "high": high}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """Settings of a run's requests; a site's own values override these, a run's parameters override the site's.

    Every field is read by the code that crawls. `from_mapping` refuses values out of range with a one-line message.
    """

    delay_seconds: float = _setting(1.0, "Pause between two requests to one host", "s", 0, 3600)
    connections: int = _setting(1, "Requests to one host at the same time", "", 1, 16)
    in_flight: int = _setting(32, "Requests at the same time over all hosts of a run", "", 1, 256)
    pages_per_host: int = _setting(0, "Pages that a run takes from one host (0: no limit)", "", 0, 1_000_000_000)
    respect_robots: bool = _setting(True, "Obey robots.txt")
    obey_robots_meta: bool = _setting(
        False, "Obey robots meta tags and X-Robots-Tag: noindex is not stored, nofollow leads nowhere, noarchive is not archived"
    )
    obey_nofollow: bool = _setting(False, "Do not follow links marked rel=nofollow")
    connect_timeout_seconds: float = _setting(10.0, "Longest wait for a connection", "s", 0.1, 120)
    read_timeout_seconds: float = _setting(20.0, "Longest silence while a page arrives", "s", 0.1, 300)
    total_timeout_seconds: float = _setting(60.0, "Longest time for one page in all", "s", 0.2, 600)
    max_body_bytes: int = _setting(10_000_000, "Largest page as received", "B", 1000, 2_000_000_000)
    max_decoded_bytes: int = _setting(30_000_000, "Largest page after decompression", "B", 1000, 4_000_000_000)
    max_redirects: int = _setting(5, "Redirects followed for one page", "", 0, 20)
    max_attempts: int = _setting(3, "Tries for a page that fails in passing", "", 1, 10)
    proxy: str = _setting("", "Proxy address, empty for none")
    proxy_private: bool = _setting(False, "The proxy may lie on a private network")
    proxy_resolves: bool = _setting(False, "The proxy resolves host names itself, also such as are unknown here")
    headers: Mapping[str, str] = _setting({}, "Further request headers")
    cookies: Mapping[str, str] = _setting({}, "Cookies sent to the site")
    own_origins: str = _setting("", "Origins that headers and cookies go to, by comma; empty: every one that is asked")
    sealed: str = _setting("", "What dots in proxy, headers and cookies stand for, encrypted")
    allow_private: str = _setting("", "Private addresses allowed, by comma: host, host:port, address or network")
    drop_parameters: str = _setting("", "Query parameters that do not change the page, by comma")
    history_days: float = _setting(20.0, "How far back the first visit reads", "d", 0, 100_000)
    max_pages: int = _setting(200, "List pages read in one visit of a board", "", 1, 100_000)
    max_thread_pages: int = _setting(500, "Pages read of one thread in one visit", "", 1, 100_000)
    use_apis: bool = _setting(True, "Read a forum's own JSON interface instead of its pages, where it has one for guests")
    use_teacher: bool = _setting(True, "Hold pages of a forum that belong together against each other, and try rival readings")
    watermark_slack_seconds: float = _setting(
        120.0, "A row this much older than the last complete visit ends the visit", "s", 0, 86_400
    )

    @classmethod
    def from_mapping(cls, *layers: Mapping[str, Any]) -> CrawlSettings:
        """The defaults overridden by each mapping in turn; keys that are no setting are ignored.

        Raises ValueError with a one-line message for a value of the wrong type or out of range.
        """
        known = {f.name: f for f in fields(cls)}
        values: dict[str, Any] = {}
        for layer in layers:
            values.update((key, value) for key, value in layer.items() if key in known and value is not None)
        return cls(**{key: _checked(known[key], value) for key, value in values.items()})

    @property
    def allowed_private(self) -> frozenset[str]:
        """The exceptions of the address guard. "*", which older versions stored, allows nothing."""
        return frozenset(_entries(self.allow_private)) - {EVERYTHING}

    @property
    def lease_seconds(self) -> float:
        """Seconds after which a claimed address is released if its worker has not reported back."""
        return self.total_timeout_seconds + 30

    @property
    def dropped_parameters(self) -> frozenset[str]:
        """The query parameters that are removed from addresses."""
        return frozenset(part.strip() for part in self.drop_parameters.split(",") if part.strip())


def named_private(entries: str, hosts: Iterable[str]) -> str:
    """Exceptions of the address guard with "*" replaced by these hosts; other entries are kept.

    >>> named_private("*", ["127.0.0.1:8000"]), named_private("10.0.0.0/8,*", ["a.example"]), named_private("b", ["a.example"])
    ('127.0.0.1:8000', '10.0.0.0/8,a.example', 'b')
    """
    given = _entries(entries)
    named = [*(one for one in given if one != EVERYTHING), *(sorted(hosts) if EVERYTHING in given else ())]
    return ",".join(dict.fromkeys(named))


def _entries(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _checked(spec: Any, value: Any) -> Any:
    kind, low, high = str(spec.type), spec.metadata["low"], spec.metadata["high"]
    if kind in ("float", "int"):
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{spec.name}: {value!r} is no number") from None
        if not low <= number <= high:
            raise ValueError(f"{spec.name}: {value} is outside {low:g} to {high:g} {spec.metadata['unit']}".rstrip())
        return int(number) if kind == "int" else number
    if kind == "bool":
        if not isinstance(value, bool):
            raise ValueError(f"{spec.name}: {value!r} is neither true nor false")
        return value
    if kind == "str":
        return str(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{spec.name}: {value!r} is no table of names and values")
    return {str(k): str(v) for k, v in value.items()}
