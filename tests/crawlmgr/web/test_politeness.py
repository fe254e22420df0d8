"""A host's clock: delays, Crawl-delay, Retry-After in seconds and as a date, back-off with a
maximum; the clock never moves back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.web.http.exchange import Failure, FetchRequest, FetchResponse, FetchSettings
from crawlmgr.web.http.fetch import Fetcher
from crawlmgr.web.politeness import (
    HOST_FAILURES,
    LONGEST_PAUSE,
    HostState,
    PacePolicy,
    after,
    backoff,
    pace,
    parse_retry_after,
)
from tests.site.misbehaviour import misbehave
from tests.site.server import LocalSite

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY = PacePolicy(
    delay_seconds=1, backoff_base_seconds=2, backoff_cap_seconds=100, max_crawl_delay_seconds=60
)
FRESH = HostState(NOW)


def response(
    status: int = 200, failure: Failure | None = None, retry_after: str | None = None
) -> FetchResponse:
    headers = () if retry_after is None else (("Retry-After", retry_after),)
    return FetchResponse(
        "http://h.example/", "http://h.example/", status, headers=headers, failure=failure
    )


def wait(state: HostState, now: datetime = NOW) -> float:
    return (state.next_at - now).total_seconds()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("Sun, 01 Mar 2026 12:01:30 GMT", 90),
        ("Sunday, 01-Mar-26 12:01:30 GMT", 90),
        ("Sun Mar  1 12:01:30 2026", 90),
        ("Sun, 01 Mar 2026 13:01:30 +0100", 90),
        ("Sun, 01 Mar 2020 12:00:00 GMT", 0),
        ("99999999999999", 999999999),
    ],
)
def test_retry_after(value: str, seconds: int) -> None:
    assert parse_retry_after(value, NOW) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "-1",
        "1.5",
        "soon",
        "²",
        "Sun, 99 Mar 2026 12:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 -0100",
        "1e3",
    ],
)
def test_what_is_no_retry_after(value: str | None) -> None:
    assert parse_retry_after(value, NOW) is None


@given(st.text(max_size=40))
def test_retry_after_takes_any_text(value: str) -> None:
    found = parse_retry_after(value, NOW)
    assert found is None or found >= NOW


def test_success_waits_the_larger_of_our_delay_and_the_sites() -> None:
    assert wait(after(FRESH, response(), NOW, POLICY)) == 1
    assert wait(after(HostState(NOW, crawl_delay_seconds=5), response(), NOW, POLICY)) == 5
    assert wait(after(HostState(NOW, crawl_delay_seconds=0.2), response(), NOW, POLICY)) == 1
    assert pace(HostState(NOW, crawl_delay_seconds=5000), POLICY) == 60, (
        "an absurd delay slows, and does not bar"
    )


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_obeyed_in_full(status: int) -> None:
    for value in ("3600", format_datetime(NOW + timedelta(hours=1), usegmt=True)):
        state = after(FRESH, response(status, retry_after=value), NOW, POLICY)
        assert (
            wait(state) == 3600 and state.retry_after_until == state.next_at and state.failures == 1
        )
    assert wait(after(FRESH, response(status, retry_after="0"), NOW, POLICY)) == 1, (
        "our own delay holds all the same"
    )
    assert wait(after(FRESH, response(status), NOW, POLICY)) == 2
    assert wait(after(FRESH, response(status, retry_after="soon"), NOW, POLICY)) == 2


def test_retry_after_means_something_with_some_answers_only() -> None:
    assert wait(after(FRESH, response(301, retry_after="30"), NOW, POLICY)) == 30
    for status in (200, 404, 500):
        assert wait(after(FRESH, response(status, retry_after="30"), NOW, POLICY)) == 1


def test_a_wish_outlasts_other_answers_and_the_clock_never_goes_back() -> None:
    state = after(FRESH, response(429, retry_after="600"), NOW, POLICY)
    for later in (1, 200, 599):
        state = after(state, response(), NOW + timedelta(seconds=later), POLICY)
        assert state.next_at == NOW + timedelta(seconds=600)
    state = after(state, response(), NOW + timedelta(seconds=700), POLICY)
    assert wait(state, NOW) == 701 and state.retry_after_until is None
    assert after(
        HostState(NOW + timedelta(hours=1)), response(), NOW, POLICY
    ).next_at == NOW + timedelta(hours=1)


@pytest.mark.parametrize("failure", sorted(HOST_FAILURES))
def test_back_off_doubles_up_to_its_cap_and_success_ends_it(failure: Failure) -> None:
    state, now, waits = FRESH, NOW, []
    for _ in range(9):
        state = after(state, response(0, failure), now, POLICY)
        waits.append(wait(state, now))
        now = state.next_at
    assert waits == [2, 4, 8, 16, 32, 64, 100, 100, 100]
    state = after(state, response(), now, POLICY)
    assert state.failures == 0 and wait(state, now) == 1
    assert wait(after(state, response(0, failure), state.next_at, POLICY), state.next_at) == 2


def test_a_bad_page_is_not_the_hosts_fault() -> None:
    for failure in set(Failure) - HOST_FAILURES:
        assert after(HostState(NOW, failures=3), response(200, failure), NOW, POLICY).failures == 0
    assert after(FRESH, response(404), NOW, POLICY).failures == 0


def test_back_off_of_many_failures_is_a_number() -> None:
    assert backoff(10_000, POLICY) == 100 and backoff(0, POLICY) == 0 and backoff(1, POLICY) == 2


def test_over_the_wire() -> None:
    with LocalSite() as site:
        misbehave(site)
        fetcher = Fetcher(FetchSettings("tests/1", allow_private=frozenset({site.authority})))
        found = {
            path: fetcher.fetch(FetchRequest(site.url(path)))
            for path in ("/bad/429", "/bad/429-date?seconds=90", "/bad/503", "/bad/reset")
        }
        fetcher.close()
    now = datetime.now(UTC)
    waits = [wait(after(HostState(now), answer, now, POLICY), now) for answer in found.values()]
    assert waits[0] == 120 and 85 <= waits[1] <= 91 and waits[2:] == [2, 2]


@pytest.mark.parametrize("value", ["99999999999999", "Wed, 01 Mar 2028 12:00:00 GMT"])
@pytest.mark.parametrize("status", [429, 503, 301])
def test_a_wish_for_more_than_a_day_is_cut_to_a_day(status: int, value: str) -> None:
    answer = FetchResponse(
        "http://a.example/", "http://a.example/", status=status, headers=(("Retry-After", value),)
    )
    state = after(HostState(NOW), answer, NOW, POLICY)
    assert state.next_at == state.retry_after_until == NOW + LONGEST_PAUSE
