"""Tests of working hours: parsing, hours past midnight, days of the week, clock changes, and moving
times into the hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.schedule import opening_hours
from crawlmgr.schedule.opening_hours import OpeningHours

SHANGHAI, BERLIN, UTC_ZONE = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)).map(
    lambda at: at.replace(microsecond=0)
)
WINDOWS = st.builds(
    OpeningHours,
    st.integers(0, 1439),
    st.integers(1, 1440),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.sampled_from([SHANGHAI, BERLIN, UTC_ZONE, ZoneInfo("America/St_Johns")]),
)


def _window(text: str, zone: ZoneInfo = UTC_ZONE) -> OpeningHours:
    found = opening_hours.parse(text, zone)
    assert found is not None
    return found


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "allowed"),
    [  # 2026-05-01 is a Friday
        ("01:00-06:00", "2026-05-01T00:59:59", "2026-05-01T01:00:00"),
        ("01:00-06:00", "2026-05-01T01:00:00", "2026-05-01T01:00:00"),
        ("01:00-06:00", "2026-05-01T05:59:59", "2026-05-01T05:59:59"),
        ("01:00-06:00", "2026-05-01T06:00:00", "2026-05-02T01:00:00"),
        ("22:00-06:00", "2026-05-01T03:00:00", "2026-05-01T03:00:00"),
        ("22:00-06:00", "2026-05-01T12:00:00", "2026-05-01T22:00:00"),
        (
            "mon-fri 22:00-06:00",
            "2026-05-02T03:00:00",
            "2026-05-02T03:00:00",
        ),  # on Saturday, in the window that opened on Friday
        ("mon-fri 22:00-06:00", "2026-05-02T06:00:00", "2026-05-04T22:00:00"),
        ("sat,sun 00:00-24:00", "2026-05-01T09:00:00", "2026-05-02T00:00:00"),
        ("sat,sun 00:00-24:00", "2026-05-03T23:59:59", "2026-05-03T23:59:59"),
    ],
)
def test_when_it_is_next_allowed(text: str, moment: str, allowed: str) -> None:
    assert opening_hours.next_allowed(_window(text), at(moment)) == at(allowed)


def test_the_hours_are_those_of_the_zone() -> None:
    night = _window("01:00-06:00", SHANGHAI)
    assert opening_hours.next_allowed(night, at("2026-05-01T12:00:00")) == at("2026-05-01T17:00:00")
    assert opening_hours.next_allowed(None, at("2026-05-01T12:00:00")) == at("2026-05-01T12:00:00")


def test_where_the_clock_is_put_forward_the_window_is_an_hour_shorter() -> None:
    night = _window("01:00-06:00", BERLIN)
    opens, closes = next(night.openings(at("2026-03-29T00:00:00")))
    assert closes - opens == timedelta(hours=4)
    opens, closes = next(night.openings(at("2026-10-25T00:00:00")))
    assert closes - opens == timedelta(hours=6)


def test_a_window_that_the_clock_leaps_over_is_passed_over() -> None:
    gone = _window("02:00-03:00", BERLIN)
    assert opening_hours.next_allowed(gone, at("2026-03-29T00:30:00")) >= at("2026-03-29T01:00:00")
    assert all(
        closes > opens
        for (opens, closes), _n in zip(
            gone.openings(at("2026-03-28T12:00:00")), range(4), strict=False
        )
    )


@given(WINDOWS, MOMENTS)
def test_the_next_moment_is_inside_and_none_before_it_is(
    window: OpeningHours, moment: datetime
) -> None:
    allowed = opening_hours.next_allowed(window, moment)
    assert allowed >= moment and opening_hours.is_open(window, allowed)
    if allowed > moment:
        assert not opening_hours.is_open(window, allowed - timedelta(seconds=1))
        assert not opening_hours.is_open(window, moment)


@given(WINDOWS, MOMENTS)
def test_the_text_says_the_whole_window(window: OpeningHours, moment: datetime) -> None:
    assert opening_hours.parse(window.text, window.zone) == window


@given(WINDOWS, MOMENTS)
def test_the_open_parts_of_a_span_are_what_is_open_in_it(
    window: OpeningHours, moment: datetime
) -> None:
    until = moment + timedelta(days=3)
    parts = opening_hours.between(window, moment, until)
    assert all(moment <= first < last <= until for first, last in parts)
    for hours in range(0, 72, 5):
        here = moment + timedelta(hours=hours)
        assert opening_hours.is_open(window, here) == any(
            first <= here < last for first, last in parts
        )


@pytest.mark.parametrize(
    "text",
    [
        "01:00",
        "1-6",
        "25:00-26:00",
        "01:60-02:00",
        "24:00-02:00",
        "may 01:00-02:00",
        "mon- 01:00-02:00",
        "mon-fri",
        "x" * 300,
    ],
)
def test_bad_hours_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="^[^\n]{1,150}$"):
        opening_hours.parse(text, UTC_ZONE)


def test_jitter_is_the_same_for_a_moment_and_spreads_over_moments() -> None:
    moved = [
        opening_hours.jitter(
            "topic 1", at("2026-05-01T00:00:00") + timedelta(days=n), 600
        ).total_seconds()
        for n in range(400)
    ]
    assert (
        moved[7] == opening_hours.jitter("topic 1", at("2026-05-08T00:00:00"), 600).total_seconds()
    )
    assert -600 <= min(moved) < -540 and 540 < max(moved) <= 600 and abs(sum(moved) / 400) < 60
