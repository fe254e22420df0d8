"""The scope of a topic crawl: rules on hosts, paths, depth and crawler traps, by which URLs are
refused; each refusal has a code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from crawlmgr.web.traps import TrapLimits, counter_shape, file_shape, trap_reason
from focused.pages import Content

MAX_DEPTH = 1000
REMEMBERED = 50_000
"""Number of addresses whose refusal or permission is cached, since most links occur on several
pages; then the cache is emptied."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rules of one run. If `hosts` or `paths` are empty, all hosts or paths are allowed; a host
    includes its subdomains.

    Paths are patterns for path and query ("/docs/*", "*.html") in which `*` matches anything;
    without `*` they are prefixes. `depth` is the maximum number of clicks from the nearest seed.
    With `traps`, addresses that look like crawler traps are refused; `year` is the present year,
    with which addresses of calendars are compared; `counters` are the shapes of addresses that the
    run has found to be traps (see `traps.Counters`), `unread` those of files that cannot be read
    (see `traps.file_shape`)."""

    hosts: tuple[str, ...] = ()
    without_hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    without_paths: tuple[str, ...] = ()
    depth: int = MAX_DEPTH
    traps: bool = True
    year: int | None = None
    counters: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    _refusals: dict[str, str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Scope:
        """Makes a scope from stored values. Raises ValueError with a one-line message for unknown
        names and invalid values."""
        lists: dict[str, Any] = {
            name: _words(values[name])
            for name in ("hosts", "without_hosts", "paths", "without_paths")
            if name in values
        }
        unknown = sorted(
            set(values)
            - {"hosts", "without_hosts", "paths", "without_paths", "depth", "traps", "year"}
        )
        if unknown:
            raise ValueError(f"no scope rule {unknown[0]}")
        depth = int(values.get("depth", MAX_DEPTH))
        if not 0 <= depth <= MAX_DEPTH:
            raise ValueError(f"depth lies between 0 and {MAX_DEPTH}, not {depth}")
        return cls(
            **lists, depth=depth, traps=bool(values.get("traps", True)), year=values.get("year")
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the rules as plain values, as `from_mapping` reads them."""
        lists = {
            name: list(getattr(self, name))
            for name in ("hosts", "without_hosts", "paths", "without_paths")
        }
        return {**lists, "depth": self.depth, "traps": self.traps, "year": self.year}

    def changed(self, change: Mapping[str, Any]) -> Scope:
        """Returns these rules after an edit of the run: with the hosts in `without_hosts` excluded
        too, and the shapes in `counters` and `unread` refused."""
        hosts = (*self.without_hosts, *(host.lower() for host in change.get("without_hosts", ())))
        return replace(
            self,
            without_hosts=tuple(dict.fromkeys(hosts)),
            counters=self.counters.union(change.get("counters", ())),
            unread=self.unread.union(change.get("unread", ())),
        )

    def refusal(self, url: str, depth: int) -> str | None:
        """Returns the code of the rule by which a canonical URL is refused: "depth", "host",
        "dropped_host", "path", "excluded_path", "unread_type", or a trap's name; None if it is
        allowed.
        """
        if depth > self.depth:
            return "depth"
        known = self._refusals
        if url not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[url] = self._rule_against(url)
        return known[url]

    def _rule_against(self, url: str) -> str | None:
        if self.hosts or self.without_hosts or self.paths or self.without_paths:
            reason = self._place_refusal(url)
            if reason is not None:
                return reason
        if self.counters and counter_shape(url) in self.counters:
            return "counter"
        if self.unread and file_shape(url) in self.unread:
            return "unread_type"
        return trap_reason(url, _limits(self.year)) if self.traps else None

    def _place_refusal(self, url: str) -> str | None:
        """Returns the code of the rule on hosts or paths by which a URL is refused; None if they
        allow it."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if self.without_hosts and _is_among(host, parts.netloc, self.without_hosts):
            return "dropped_host"
        if self.hosts and not _is_among(host, parts.netloc, self.hosts):
            return "host"
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        if any(_fits(path, pattern) for pattern in self.without_paths):
            return "excluded_path"
        return (
            "path"
            if self.paths and not any(_fits(path, pattern) for pattern in self.paths)
            else None
        )

    def apply(self, content: Content, depth: int) -> tuple[Content, Counter[str]]:
        """Returns the page with only its allowed links, and the number of refused links by the code
        of the rule (see `refusal`). `depth` is the depth of the page; that of its links is one
        more."""
        refused: Counter[str] = Counter()
        kept = []
        for link in content.links:
            reason = self.refusal(link.url, depth + 1)
            if reason is None:
                kept.append(link)
            else:
                refused[reason] += 1
        return (replace(content, links=tuple(kept)) if refused else content), refused


@cache
def _limits(year: int | None) -> TrapLimits:
    return TrapLimits(current_year=year)


def _words(value: Any) -> tuple[str, ...]:
    parts = value.replace(",", "\n").split("\n") if isinstance(value, str) else value
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _is_among(host: str, netloc: str, names: tuple[str, ...]) -> bool:
    return any(name in (host, netloc) or host.endswith(f".{name}") for name in names)


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) if "*" in pattern else path.startswith(pattern)
