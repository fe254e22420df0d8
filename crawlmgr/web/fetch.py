"""The one fetcher: sockets, sessions, redirects, limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from crawlmgr.web.exchange import (
    EMPTY,
    Failure,
    FetchRequest,
    FetchResponse,
    FetchSettings,
    Hop,
    HopRefused,
)

__all__ = ["EMPTY", "Failure", "FetchRequest", "FetchResponse", "FetchSettings", "Fetcher", "Hop", "HopRefused"]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Fetcher:
    """Thread-safe fetcher; see the names of `exchange`."""

    def __init__(
        self,
        settings: FetchSettings,
        clock: Callable[[], datetime] = _utc_now,
        on_hop: Callable[[str], None] | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._on_hop = on_hop

    def fetch(self, request: FetchRequest, settings: FetchSettings | None = None) -> FetchResponse:
        """Fetches; what the network does comes back as `failure`, never as an exception."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes every connection."""
