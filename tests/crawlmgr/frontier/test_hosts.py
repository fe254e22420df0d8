"""A host's next request time and counters after a response: the fast path for plain successes
agrees with the general one."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.frontier import hosts
from crawlmgr.models import Host, HostHour
from crawlmgr.web.http.exchange import Failure, FetchResponse
from crawlmgr.web.politeness import HostState, PacePolicy, after

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
pytestmark = pytest.mark.django_db

ANSWERS = (
    FetchResponse("u", "u", status=200, received_bytes=70),
    FetchResponse("u", "u", status=404, received_bytes=7),
    FetchResponse("u", "u", status=301, headers=(("Retry-After", "30"),)),
    FetchResponse("u", "u", status=429, headers=(("Retry-After", "120"),)),
    FetchResponse("u", "u", status=503),
    FetchResponse("u", "u", failure=Failure.timeout, detail="read timed out"),
    FetchResponse("u", "u", status=200, failure=Failure.type, detail="image/png"),
)


def drawn(draw: random.Random) -> Host:
    """Returns a host with random next request time, failures, delays and Retry-After."""
    until = draw.choice((None, None, NOW - timedelta(seconds=9), NOW + timedelta(seconds=9)))
    return Host.objects.create(
        key=f"{draw.random()}.example",
        next_at=NOW + timedelta(seconds=draw.choice((-5, 0, 5))),
        failures=draw.choice((0, 3)),
        delay_seconds=draw.choice((0.0, 1.5)),
        crawl_delay_seconds=draw.choice((None, 0.0, 4.0, 9000.0)),
        retry_after_until=until,
        last_error="as before",
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_clock_follows_the_arithmetic_of_politeness_whatever_was_known_of_the_host(
    seed: int,
) -> None:
    draw = random.Random(seed)
    host = drawn(draw)
    known = Host.objects.get(pk=host.pk)
    if draw.random() < 0.3:
        known.delay_seconds += 1.0  # changed by a user since this run read it
    for answer in draw.choices(ANSWERS, k=3):
        before = Host.objects.get(pk=host.pk)
        state = HostState(
            before.next_at, before.failures, before.retry_after_until, before.crawl_delay_seconds
        )
        wanted = after(state, answer, NOW, PacePolicy(delay_seconds=before.delay_seconds))
        hosts.settle(known, answer, NOW)
        found = Host.objects.get(pk=host.pk)
        until = (
            found.retry_after_until
            if found.retry_after_until and found.retry_after_until > NOW
            else None
        )
        assert (found.next_at, found.failures, until) == (
            wanted.next_at,
            wanted.failures,
            wanted.retry_after_until,
        )
        assert known.failures == wanted.failures
        bad = answer.failure is not None or answer.status in (429, 503)
        assert (found.last_status, bool(found.last_error)) == (answer.status or None, bad)
        assert (
            found.requests - before.requests == 1
            and found.bytes - before.bytes == answer.received_bytes
        )
        assert found.errors - before.errors == int(bad)
    hour = HostHour.objects.get(host=host)
    assert (hour.hour, hour.requests, hour.errors) == (NOW.replace(minute=0), 3, found.errors)


def test_a_turn_is_taken_once_and_can_be_given_back() -> None:
    host = Host.objects.create(key="a.example", next_at=NOW)
    assert hosts.take_turn(host.pk, 5.0, NOW) and not hosts.take_turn(host.pk, 5.0, NOW)
    hosts.give_turn_back(host.pk, host.next_at, host.last_request_at)
    host.refresh_from_db()
    assert (host.next_at, host.last_request_at) == (NOW, None)
    assert hosts.take_turn(host.pk, 5.0, NOW)
