"""Time zones by name and by evidence on pages: a stated zone, a displayed clock, pairs of times,
times in the future."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.text.dates_zones import (
    Pair,
    guess_timezone_offset,
    offset_of_pairs,
    page_clock,
    stated_offset,
    zone,
    zone_name,
)

NOW = datetime(2026, 11, 21, 4, 6, tzinfo=UTC)


def test_zones_by_name_and_by_offset() -> None:
    assert NOW.astimezone(zone("Asia/Shanghai")).hour == 12
    assert NOW.astimezone(zone("+05:30")).minute == 36
    assert NOW.astimezone(zone("UTC-5")).hour == 23
    for wrong in ("Mars/Olympus", "+15:30", "../etc/passwd"):
        with pytest.raises(ValueError, match="no such"):
            zone(wrong)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("All times are GMT +8. The time now is 03:12 PM.", 8),
        ("All times are UTC-06:00", -6),
        ("All times are UTC - 5 hours [ DST ]", -4),
        ("All times are UTC", 0),
        ("Alle Zeiten sind UTC+02:00", 2),
        ("Toutes les heures sont au format UTC + 1 heure", 1),
        ("Часовой пояс: UTC + 3 часа", 3),
        ("Todos los horarios son UTC−03:00", -3),
        ("GMT+8, 2009-3-1 08:15", 8),
        ("论坛时间 GMT+8", 8),
        ("所有时间均为 +0800", 8),
        ("All times are good times", None),
        ("GMT is a zone", None),
        ("The time is UTC+99", None),
    ],
)
def test_offsets_that_pages_state(text: str, hours: int | None) -> None:
    assert stated_offset(text) == (None if hours is None else hours * 3600)


def test_the_clock_of_a_page() -> None:
    assert page_clock("It is currently Tue Nov 21, 2026 4:06 am") == "Tue Nov 21, 2026 4:06 am"
    assert page_clock("现在时间是 2026-11-21 12:06") == "2026-11-21 12:06"
    assert page_clock("Currently reading: anna") is None


@given(
    st.integers(min_value=-44, max_value=52),
    st.lists(st.integers(0, 50_000), min_size=3, max_size=12),
)
def test_pairs_of_local_and_relative_times_give_the_offset(quarters: int, ages: list[int]) -> None:
    offset = quarters * 900
    pairs = []
    for age in ages:
        posted = NOW - timedelta(seconds=age)
        slack = 60 if age < 3600 else 3600
        shown = NOW - timedelta(seconds=age // slack * slack)  # "5 hours ago" drops the minutes
        local = (posted + timedelta(seconds=offset)).replace(second=0)
        pairs.append(Pair(local, shown, slack))
    found = offset_of_pairs([*pairs, Pair(NOW + timedelta(seconds=offset), NOW, 60)])
    assert found is not None
    assert abs(found[0] - offset) <= 900 and (found[0] == offset or offset % 3600)


def test_the_strongest_evidence_wins() -> None:
    pair = Pair(NOW + timedelta(hours=8), NOW, 60)
    ahead = NOW + timedelta(hours=7, minutes=50)
    assert (
        guess_timezone_offset(NOW, ["x", "All times are GMT +8"], language="zh").evidence
        == "stated"
    )
    assert guess_timezone_offset(NOW, pairs=[pair], language="zh").name == "Asia/Shanghai"
    guess = guess_timezone_offset(NOW, newest=ahead)
    assert (guess.name, guess.offset_seconds, guess.evidence) == ("Etc/GMT-8", 8 * 3600, "future")
    assert (
        guess_timezone_offset(NOW, ["All times are UTC"], newest=ahead).offset_seconds == 8 * 3600
    )
    assert guess_timezone_offset(NOW, language="ja").name == "Asia/Tokyo"
    assert guess_timezone_offset(NOW, language="en-us").name == "UTC"
    named = guess_timezone_offset(NOW, ["All times are UTC-05:00 America/New_York"])
    assert named.name == "America/New_York"


def test_names_for_offsets() -> None:
    assert zone_name(3600, "de", NOW) == "Europe/Berlin"
    assert zone_name(7200, "de", NOW) == "Etc/GMT-2"
    assert zone_name(19800, "en", NOW) == "Asia/Kolkata"
    assert zone_name(31500, "en", NOW) == "Australia/Eucla"
    assert zone_name(900, "en", NOW) == "Etc/GMT+0"
    assert all(
        zone_name(quarter * 900, "", NOW) in available_timezones() for quarter in range(-48, 57)
    )


def test_a_busy_site_is_not_silent_for_a_whole_night() -> None:
    """The Chinese words alone suggest +08:00; but with a post every half hour, eight hours without
    one suggest UTC."""
    busy = [NOW - timedelta(minutes=20 + 30 * step) for step in range(12)]
    quiet = [NOW - timedelta(minutes=20, days=step) for step in range(12)]
    assert guess_timezone_offset(NOW, newest=busy[0], language="zh", recent=busy)[:3] == (
        "UTC",
        0,
        "none",
    )
    assert guess_timezone_offset(NOW, newest=quiet[0], language="zh", recent=quiet)[:3] == (
        "Asia/Shanghai",
        8 * 3600,
        "language",
    )
    assert (
        guess_timezone_offset(NOW, newest=busy[0], language="zh", recent=busy[:4]).name
        == "Asia/Shanghai"
    )


def test_times_ahead_of_us_ask_for_at_least_so_much_and_the_language_for_its_zone() -> None:
    ahead = NOW + timedelta(hours=5, minutes=10)
    assert guess_timezone_offset(NOW, newest=ahead, language="zh")[:3] == (
        "Asia/Shanghai",
        8 * 3600,
        "future",
    )
    assert guess_timezone_offset(NOW, newest=ahead, language="de").offset_seconds == 6 * 3600
    assert guess_timezone_offset(NOW, newest=ahead).offset_seconds == 6 * 3600
