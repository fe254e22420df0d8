"""Crawl settings: one frozen dataclass with a unit, limits and a line of help for every field. No
Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


def _setting(
    default: Any,
    help_text: str,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """Returns a dataclass field whose metadata hold its help text, unit, and least and greatest
    allowed value (`low`, `high`)."""
    metadata = {"help": help_text, "unit": unit, "low": low, "high": high}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """Settings for the requests of a run. The values are defaults; those of the site or topic
    override them, and the run's parameters override both (see `from_mapping`)."""

    delay_seconds: float = _setting(1.0, "Pause between two requests to one host", "s", 0, 3600)
    connections: int = _setting(1, "Simultaneous requests to one host", "", 1, 16)
    in_flight: int = _setting(32, "Simultaneous requests over all hosts of a run", "", 1, 256)
    pages_per_host: int = _setting(
        0, "Pages that a run takes from one host (0: no limit)", "", 0, 1_000_000_000
    )
    respect_robots: bool = _setting(True, "Obey robots.txt")
    obey_robots_meta: bool = _setting(
        False,
        "Obey robots meta tags and X-Robots-Tag: pages with noindex are not stored, links of pages"
        " with nofollow are not followed, pages with noarchive are not archived",
    )
    obey_nofollow: bool = _setting(False, "Do not follow links marked rel=nofollow")
    connect_timeout_seconds: float = _setting(
        10.0, "Time limit for opening a connection", "s", 0.1, 120
    )
    read_timeout_seconds: float = _setting(
        20.0, "Longest time without data while a page is received", "s", 0.1, 300
    )
    total_timeout_seconds: float = _setting(60.0, "Time limit for one page in total", "s", 0.2, 600)
    max_body_bytes: int = _setting(
        10_000_000, "Largest page as received, before decompression", "B", 1000, 2_000_000_000
    )
    max_decoded_bytes: int = _setting(
        30_000_000, "Largest page after decompression", "B", 1000, 4_000_000_000
    )
    max_redirects: int = _setting(5, "Redirects followed for one page", "", 0, 20)
    max_attempts: int = _setting(3, "Tries for a page that fails temporarily", "", 1, 10)
    proxy: str = _setting("", "Address of the proxy; empty for none")
    proxy_private: bool = _setting(False, "The proxy may be on a private network")
    proxy_resolves: bool = _setting(
        False, "The proxy resolves host names, including names that this machine cannot resolve"
    )
    headers: Mapping[str, str] = _setting({}, "Additional request headers")
    cookies: Mapping[str, str] = _setting({}, "Cookies sent to the site")
    own_origins: str = _setting(
        "",
        "Comma-separated origins that headers and cookies are sent to; empty: all requested"
        " origins",
    )
    sealed: str = _setting(
        "", "Encrypted values of proxy, headers and cookies, which are shown as dots"
    )
    allow_private: str = _setting(
        "",
        "Comma-separated private addresses that are allowed: host, host:port, address or network",
    )
    history_days: float = _setting(
        20.0, "Age of the oldest threads that the first visit reads", "d", 0, 100_000
    )
    max_pages: int = _setting(200, "Most list pages read in one visit of a board", "", 1, 100_000)
    max_thread_pages: int = _setting(
        500, "Most pages of one thread read in one visit", "", 1, 100_000
    )
    use_apis: bool = _setting(
        True, "Read a forum's own JSON interface instead of its pages, where it has one for guests"
    )
    use_teacher: bool = _setting(
        True,
        "Compare related pages of a forum with each other, and try alternative readings where they"
        " contradict each other",
    )
    watermark_slack_seconds: float = _setting(
        120.0,
        "A visit ends at a row that is older than the last complete visit by more than this",
        "s",
        0,
        86_400,
    )

    @classmethod
    def from_mapping(cls, *layers: Mapping[str, Any]) -> CrawlSettings:
        """Returns the defaults overridden by each of the mappings in turn, the last one having
        precedence; keys that are not a setting, and values that are None, are ignored.

        Raises ValueError with a one-line message for a value of the wrong type or out of range."""
        known = {f.name: f for f in fields(cls)}
        values: dict[str, Any] = {}
        for layer in layers:
            values.update(
                (key, value) for key, value in layer.items() if key in known and value is not None
            )
        return cls(**{key: _checked(known[key], value) for key, value in values.items()})

    @property
    def allowed_private(self) -> frozenset[str]:
        """The entries of `allow_private`, the private addresses that the address guard allows,
        without "*", which an old history of settings may bring back and which allows nothing."""
        return frozenset(part.strip() for part in self.allow_private.split(",")) - {"", "*"}

    @property
    def lease_seconds(self) -> float:
        """Seconds after which an address that a worker has claimed is released if the worker has
        not reported a result."""
        return self.total_timeout_seconds + 30


def _checked(spec: Any, value: Any) -> Any:
    """Returns a value converted to the type of the setting `spec`, a dataclass field. Raises
    ValueError for a value that cannot be converted or a number out of range."""
    kind, low, high = str(spec.type), spec.metadata["low"], spec.metadata["high"]
    if kind in ("float", "int"):
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{spec.name}: {value!r} is not a number") from None
        if not low <= number <= high:
            raise ValueError(
                f"{spec.name}: {value} is outside {low:g} to {high:g} "
                f"{spec.metadata['unit']}".rstrip()
            )
        return int(number) if kind == "int" else number
    if kind == "bool":
        if not isinstance(value, bool):
            raise ValueError(f"{spec.name}: {value!r} is neither true nor false")
        return value
    if kind == "str":
        return str(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{spec.name}: {value!r} is not a mapping of names to values")
    return {str(k): str(v) for k, v in value.items()}


# Request headers that never contain secrets. The value of any other header may be a key, so it is
# neither shown nor archived.
PLAIN_HEADERS = frozenset(
    (
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "dnt",
        "from",
        "host",
        "if-modified-since",
        "if-none-match",
        "pragma",
        "referer",
        "sec-gpc",
        "te",
        "upgrade-insecure-requests",
        "user-agent",
        "x-requested-with",
    )
)
