"""Which hosts wait behind the others while requests are scarce, so that slow hosts do not hold most of the line. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import median

RECENT = 64
"""Answers and waits that what is usual is taken from."""
FEWEST = 8
"""Answers before anything is said to be usual."""
SLOW = 2.0
"""Times the usual answer time from which a host counts as slow."""
MEMORY = 0.5
"""Weight of a host's last response in its mean answer time."""


class TimeShares:
    """Shares the requests of a run among its hosts by time instead of by turns.

    By turns, a host that answers in 2.4 s among hosts that answer in 0.3 s would hold eight times as much of the line as each
    of them. Here a slow host waits as long in proportion to its responses as the other hosts do: its wait divided by its response
    time is the median of theirs. While requests are free nobody waits, and that median is near nought.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}  # mean answer time of each host
        self._ended: dict[int, datetime] = {}
        self._rests: dict[int, datetime] = {}  # slow hosts, until when each of them waits behind the others
        self._answers: deque[float] = deque(maxlen=RECENT)
        self._waits: deque[float] = deque(maxlen=RECENT)  # in answer times

    def begun(self, hosts: Iterable[int], at: datetime) -> None:
        """Notes that these hosts are asked again."""
        for host in hosts:
            ended, seconds = self._ended.pop(host, None), self._seconds.get(host, 0.0)
            if ended is not None and seconds > 0 and host not in self._rests:
                self._waits.append(max(0.0, (at - ended).total_seconds()) / seconds)
            self._rests.pop(host, None)

    def answered(self, host: int, seconds: float, at: datetime) -> None:
        """Notes that a host has answered, or failed to, after `seconds`."""
        self._answers.append(seconds)
        mean = self._seconds.get(host, seconds)
        self._seconds[host] = mean = mean + MEMORY * (seconds - mean)
        self._ended[host] = at
        if len(self._answers) >= FEWEST and len(self._waits) >= FEWEST and mean >= SLOW * median(self._answers) > 0:
            self._rests[host] = at + timedelta(seconds=mean * median(self._waits))

    def resting(self, at: datetime) -> set[int]:
        """The hosts that come after all others now."""
        self._rests = {host: until for host, until in self._rests.items() if until > at}
        return set(self._rests)
