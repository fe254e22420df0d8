"""Computes the time at which a host may be requested next: crawl delays, Retry-After, back-off
after failures; and which hosts wait behind the others while connections are scarce. No Django."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from statistics import median

from crawlmgr.web.http.exchange import Failure, FetchResponse

# Failures that concern the host rather than one page: each one lengthens the pause before the
# host's next request.
HOST_FAILURES = frozenset(
    {
        Failure.dns,
        Failure.connect,
        Failure.tls,
        Failure.timeout,
        Failure.too_slow,
        Failure.reset,
        Failure.proxy,
    }
)
BUSY = frozenset({429, 503})
LONGEST_PAUSE = timedelta(days=1)
"""Longest pause of a host that any rule makes: a longer Retry-After is cut to it, and a stored time
further ahead comes from a clock that was wrong."""


@dataclass(frozen=True, slots=True)
class HostState:
    """What decides when a host may be requested next: `next_at` is that time, `failures` the number
    of failures in a row, `retry_after_until` the time that the server named in Retry-After,
    `crawl_delay_seconds` the Crawl-delay of its robots.txt.
    """

    next_at: datetime
    failures: int = 0
    retry_after_until: datetime | None = None
    crawl_delay_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PacePolicy:
    """Politeness settings in seconds: our own delay between two requests to a host, the first pause
    after failures and its upper limit (it doubles with each further failure), and the longest
    Crawl-delay that is obeyed."""

    delay_seconds: float = 1.0
    backoff_base_seconds: float = 2.0
    backoff_cap_seconds: float = 3600.0
    max_crawl_delay_seconds: float = 600.0


def parse_retry_after(value: str | None, now: datetime) -> datetime | None:
    """Returns the time that a Retry-After header names, either in seconds from `now` or as an HTTP
    date; None if it is neither. The result is never before `now`; `after` obeys it for at most
    LONGEST_PAUSE.

    >>> parse_retry_after("120", datetime(2026, 1, 1, tzinfo=UTC)).isoformat()
    '2026-01-01T00:02:00+00:00'
    """
    text = (value or "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return now + timedelta(seconds=int(text[:9]))
    try:
        moment = parsedate_to_datetime(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
    return max(moment, now)


def wished(response: FetchResponse, now: datetime) -> datetime | None:
    """Returns the time that the Retry-After header of a response with 429, 503 or 3xx names,
    however late; None without one."""
    if response.status in BUSY or 300 <= response.status < 400:
        return parse_retry_after(response.header("retry-after"), now)
    return None


def pace(state: HostState, policy: PacePolicy) -> float:
    """Returns the seconds between two requests to a host: the larger of our own delay and the
    site's Crawl-delay, the latter up to the policy's maximum."""
    wished = min(state.crawl_delay_seconds or 0.0, policy.max_crawl_delay_seconds)
    return max(policy.delay_seconds, wished)


def backoff(failures: int, policy: PacePolicy) -> float:
    """Returns the seconds to pause after `failures` failures in a row: the policy's base ×
    2^(failures − 1), up to its cap; 0 for no failure."""
    if failures <= 0:
        return 0.0
    return min(
        policy.backoff_base_seconds * 2.0 ** min(failures - 1, 40), policy.backoff_cap_seconds
    )


def after(
    state: HostState,
    response: FetchResponse,
    now: datetime,
    policy: PacePolicy,
    sent_at: datetime | None = None,
) -> HostState:
    """Returns the host's new state after a response that arrived at `now`.

    The delay counts from `sent_at`, the time the last request was sent (None: from `now`);
    Retry-After and back-off count from `now`. A success resets the failures. Retry-After is obeyed
    for up to LONGEST_PAUSE with 429, 503 and 3xx; 429 and 503 without it back off as an unreachable
    host does. `next_at` never becomes earlier, so that a long Retry-After is not shortened by a
    later response.
    """
    failed = response.failure in HOST_FAILURES or response.status in BUSY
    failures = state.failures + 1 if failed else 0
    wish = wished(response, now)
    if wish is not None:
        wish = min(wish, now + LONGEST_PAUSE)
    until = max(
        (t for t in (wish, state.retry_after_until) if t is not None and t > now), default=None
    )
    candidates = [state.next_at, (sent_at or now) + timedelta(seconds=pace(state, policy))]
    if failed and wish is None:
        candidates.append(now + timedelta(seconds=backoff(failures, policy)))
    if until is not None:
        candidates.append(until)
    return replace(state, next_at=max(candidates), failures=failures, retry_after_until=until)


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
