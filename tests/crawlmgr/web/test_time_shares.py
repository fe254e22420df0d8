"""Slow hosts wait behind the others while connections are scarce; nobody waits while connections
are free."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from crawlmgr.web.politeness import TimeShares

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def _line(
    places: int, seconds: list[float], shared: bool, until: float = 600.0
) -> tuple[list[int], float]:
    """Simulates `places` connections over hosts with response times `seconds`. Returns the number
    of responses by host, and the mean number of requests in flight. Hosts take turns; if `shared`,
    those that must wait come last.
    """
    shares, waiting = TimeShares(), list(range(len(seconds)))
    flying: list[tuple[float, int]] = []
    answers, clock, busy = [0] * len(seconds), 0.0, 0.0
    while clock < until:
        now = NOW + timedelta(seconds=clock)
        resting = shares.resting(now) if shared else set()
        for host in sorted(waiting, key=lambda host: host in resting)[: places - len(flying)]:
            waiting.remove(host)
            shares.begun([host], now)
            flying.append((clock + seconds[host], host))
        flying.sort()
        at, host = flying.pop(0)
        busy += (at - clock) * (len(flying) + 1)
        clock = at
        shares.answered(host, seconds[host], NOW + timedelta(seconds=clock))
        answers[host] += 1
        waiting.append(host)
    return answers, busy / clock


def test_a_slow_host_holds_no_more_of_a_full_line_than_another() -> None:
    seconds = [0.3] * 96 + [2.4] * 4
    by_turns, _ = _line(32, seconds, shared=False)
    by_time, busy = _line(32, seconds, shared=True)
    assert sum(by_time) > 1.04 * sum(by_turns) and busy > 31.9
    held = [count * answer for count, answer in zip(by_time, seconds, strict=True)]
    assert 0.7 < held[-1] / held[0] < 1.3
    assert min(by_time) > 0.08 * max(by_time)  # slow hosts get fewer requests, but some


def test_nobody_waits_where_requests_are_free() -> None:
    seconds = [0.3] * 20 + [2.4] * 4
    by_turns, _ = _line(32, seconds, shared=False)
    by_time, _ = _line(32, seconds, shared=True)
    assert by_time == by_turns


def test_only_slow_hosts_work_at_full_width() -> None:
    """With too few fast hosts to fill all connections, slow hosts are requested too, and no
    connection stays idle."""
    answers, busy = _line(8, [0.3] * 2 + [2.4] * 10, shared=True)
    assert busy > 7.9 and min(answers) > 0


def test_a_host_that_became_quick_is_slow_no_more() -> None:
    shares = TimeShares()
    for turn in range(20):
        at = NOW + timedelta(seconds=turn)
        shares.begun([1], at)
        shares.answered(1, 0.1, at + timedelta(seconds=0.1))
    shares.answered(2, 2.0, NOW + timedelta(seconds=30))
    assert shares.resting(NOW + timedelta(seconds=31)) == {2}
    assert shares.resting(NOW + timedelta(seconds=49)) == set()
    for turn in range(50, 56):
        shares.begun([2], NOW + timedelta(seconds=turn))
        shares.answered(2, 0.1, NOW + timedelta(seconds=turn + 0.1))
    assert shares.resting(NOW + timedelta(seconds=55.2)) == set()
