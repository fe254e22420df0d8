"""Crawler traps: endless address spaces, recognised by their shape."""

from __future__ import annotations

import pytest

from crawlmgr.web.traps import TrapLimits, trap_reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://f.example/" + "x" * 2000, "too_long"),
        ("http://f.example" + "/x1/y" * 11, "too_deep"),
        ("http://f.example/a/b/a/c/a", "repeated_segment"),
        ("http://f.example/calendar/2019/03", "calendar"),
        ("http://f.example/calendar.php?month=1&year=2037", "calendar"),
        ("http://f.example/events/month.php?y=1999", "calendar"),
        ("http://f.example/calendar", None),
        ("http://f.example/a/b/a", None),
        ("http://f.example/t/2019/03/name", None),
        ("http://f.example/viewtopic.php?t=2019", None),
        ("http://f.example/calendars-of-2019-compared-", None),
        ("http://f.example/", None),
        ("http://f.example", None),
    ],
)
def test_traps(url: str, reason: str | None) -> None:
    assert trap_reason(url) == reason


def test_calendars_near_the_present_are_no_traps() -> None:
    limits = TrapLimits(current_year=2026)
    assert (
        trap_reason("http://f.example/calendar/2026/03", limits) is None
        and trap_reason("http://f.example/calendar/2027/01", limits) is None
    )
    assert trap_reason("http://f.example/calendar/2028/01", limits) == "calendar"
    assert (
        trap_reason("http://f.example/a/a", TrapLimits(max_segment_repeats=2)) == "repeated_segment"
    )
