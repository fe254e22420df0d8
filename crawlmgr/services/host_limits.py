"""Limits the number of pages that a run fetches from one host. Requests that are in flight are
counted, so that the limit is not exceeded."""

from __future__ import annotations

from collections import Counter

from crawlmgr.models import RunHost

REASON = "host_pages"
MAX_KNOWN = 10_000


class HostLimit:
    """Counts pages stored and requests in flight by host, for one slice. `most` is the maximum
    number of pages per host, 0 for no limit."""

    def __init__(self, run_id: int, most: int) -> None:
        self.run_id, self.most = run_id, most
        self._stored: dict[int, int] = {}
        self._flying: Counter[int] = Counter()

    def full_hosts(self) -> dict[str, int]:
        """Returns {host key: host id} of the hosts from which the run has fetched the maximum
        number of pages, at most MAX_KNOWN hosts; `full` looks up any others one by one."""
        if not self.most:
            return {}
        rows = RunHost.objects.filter(run_id=self.run_id, fetched__gte=self.most).values_list(
            "host__key", "host_id"
        )
        return dict(rows[:MAX_KNOWN])

    def full(self, host_id: int) -> bool:
        """Tells whether the run has reached its page limit on a host."""
        return bool(self.most) and self._pages(host_id) >= self.most

    def has_capacity(self, host_id: int) -> bool:
        """Tells whether another request may be sent to a host without exceeding the limit even if
        all requests in flight return pages."""
        return not self.most or self._pages(host_id) + self._flying[host_id] < self.most

    def sent(self, host_id: int) -> None:
        """Counts a request that was sent to a host."""
        self._flying[host_id] += 1

    def ended(self, host_id: int, *, page: bool) -> bool:
        """Counts a request that ended, with or without a page; returns True if the host has reached
        the limit with it."""
        self._flying[host_id] = max(0, self._flying[host_id] - 1)
        if not self.most or not page:
            return False
        self._stored[host_id] = self._pages(host_id) + 1
        return self._stored[host_id] == self.most

    def _pages(self, host_id: int) -> int:
        if host_id not in self._stored:
            row = (
                RunHost.objects.filter(run_id=self.run_id, host_id=host_id)
                .values_list("fetched", flat=True)
                .first()
            )
            self._stored[host_id] = row or 0
        return self._stored[host_id]
