"""`bench schedules` on a small event log: rows, ratios, the paired bootstrap, and error
messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.management.base import CommandError

from tests.benches.forums import schedules

DAY = 86400
DEFAULTS = {
    "logs": None,
    "visits": "4",
    "sets": "busy,all",
    "starts": "2026-01-26",
    "columns": "optimal,adaptive,hindsight,clairvoyant",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    first = 1768780800  # 2026-01-19
    rows = ["board,thread,kind,ts"]
    for board, volume in enumerate((12, 8, 6, 0.3)):
        for number in range(rng.poisson(volume * 45)):
            at = first + int(rng.integers(0, 45)) * DAY + int(rng.normal(15, 3) % 24 * 3600)
            rows.append(f"b{board},{number // 4},{'new' if number % 4 == 0 else 'reply'},{at}")
    (tmp_path / "own.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_row_a_set_of_boards_with_ratios_to_era(folder: Path) -> None:
    found = schedules.run({**DEFAULTS, "data": str(folder)})
    assert [(row["set"], row["boards"]) for row in found["rows"]] == [("busy", 3), ("all", 4)]
    for row in found["rows"]:
        ratios = row["ratios"]
        assert ratios["clairvoyant"] < ratios["hindsight"] < ratios["optimal"] < 1
        assert row["era_delay_per_day"] > 0
    assert {
        (one["set"], one["low"] <= one["ratio"] <= one["high"])
        for one in found["adaptive_over_optimal"]
    } == {("busy", True), ("all", True)}
    text = schedules.table(found)
    assert "adaptive / optimal" in text and text.count("2026-01-26") == 2


def test_windows_of_an_unknown_log_are_mondays_within_it(folder: Path) -> None:
    events = schedules.read_events(folder / "own.csv")[0]
    days = schedules.windows(events, "own")
    assert len(days) == 3 and all(schedules.date.fromisoformat(day).weekday() == 0 for day in days)
    assert schedules.windows(events, "gbadev_phpbb") == schedules.WINDOWS["gbadev_phpbb"]


@pytest.mark.parametrize("wrong", [{"data": None}, {"columns": "era,luck"}, {"logs": "nothing"}])
def test_wrong_arguments_are_told_as_such(folder: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(CommandError) as error:
        schedules.run({**DEFAULTS, "data": str(folder), **wrong})
    assert error.value.returncode == 2
