"""Decides which hosts must wait behind the others while connections are scarce, so that hosts with
slow responses do not occupy most connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import median

RECENT = 64
"""Number of most recent response times, and of waiting times, from which the medians are computed.
"""
FEWEST = 8
"""Least number of response times, and of waiting times, for their medians to be used."""
SLOW = 2.0
"""A host counts as slow if its mean response time is at least this many times the median response
time."""
MEMORY = 0.5
"""Weight of a host's latest response in its mean response time."""


class TimeShares:
    """Shares the connections of a run among its hosts by time instead of by number of requests.

    If hosts simply took turns, a host with responses of 2.4 s would occupy connections eight times
    as long as each host with responses of 0.3 s. Therefore a slow host waits longer after a
    response: the ratio of its waiting time to its response time is made equal to the median of this
    ratio over recent requests. While connections are free no host waits, so that the median is near
    0. Hosts are given by their database ids.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}  # mean response time of each host, in seconds
        self._ended: dict[int, datetime] = {}
        self._rests: dict[
            int, datetime
        ] = {}  # for each slow host, the time until which other hosts are preferred to it
        self._answers: deque[float] = deque(maxlen=RECENT)
        self._waits: deque[float] = deque(
            maxlen=RECENT
        )  # recent waiting times, in units of the host's mean response time

    def begun(self, hosts: Iterable[int], at: datetime) -> None:
        """Records that requests to these hosts are being sent at the time `at`."""
        for host in hosts:
            ended, seconds = self._ended.pop(host, None), self._seconds.get(host, 0.0)
            if ended is not None and seconds > 0 and host not in self._rests:
                self._waits.append(max(0.0, (at - ended).total_seconds()) / seconds)
            self._rests.pop(host, None)

    def answered(self, host: int, seconds: float, at: datetime) -> None:
        """Records that a request to a host ended at the time `at`, after `seconds`, with a response
        or a failure."""
        self._answers.append(seconds)
        mean = self._seconds.get(host, seconds)
        self._seconds[host] = mean = mean + MEMORY * (seconds - mean)
        self._ended[host] = at
        if (
            len(self._answers) >= FEWEST
            and len(self._waits) >= FEWEST
            and mean >= SLOW * median(self._answers) > 0
        ):
            self._rests[host] = at + timedelta(seconds=mean * median(self._waits))

    def resting(self, at: datetime) -> set[int]:
        """Returns the slow hosts that, at the time `at`, may get a connection only if no other host
        can use it."""
        self._rests = {host: until for host, until in self._rests.items() if until > at}
        return set(self._rests)
