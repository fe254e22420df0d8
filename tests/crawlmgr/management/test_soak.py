"""A short `bench soak`: crawls of all three kinds under `serve`, with killed processes and clients
that read the desk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.postgresql import find_binaries
from tests.serving import begun, finished, manage

LONG = 1_800.0  # seconds


@pytest.mark.slow
@pytest.mark.once
def test_a_short_soak_loses_and_doubles_nothing(
    installation: dict[str, str], tmp_path: Path
) -> None:
    words = (
        "manage.py",
        "bench",
        "soak",
        "--kills",
        "4",
        "--clients",
        "4",
        "--folder",
        str(tmp_path / "soak"),
        "--json",
    )
    done = finished(begun(installation, *words), LONG)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["problems"] == [], done.stderr[-3000:]
    assert {name: found[name] for name in ("kills", "lost", "doubled", "failed", "wedged")} == {
        "kills": 4,
        "lost": 0,
        "doubled": 0,
        "failed": 0,
        "wedged": 0,
    }
    assert found["desk"].get("200", 0) > 0 and "500" not in found["desk"]
    again = finished(begun(installation, *words), LONG)
    assert json.loads(again.stdout)["kills"] == 4, "with its folder it goes on from its tally"


@pytest.mark.slow
@pytest.mark.once
def test_nodes_killed_frozen_and_cut_off_lose_and_double_nothing(
    installation: dict[str, str], tmp_path: Path
) -> None:
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    words = (
        "manage.py",
        "bench",
        "soak",
        "--nodes",
        "2",
        "--database",
        "postgresql",
        "--kills",
        "4",
        "--clients",
        "1",
        "--json",
    )
    done = finished(begun(installation, *words, "--folder", str(tmp_path / "soak")), LONG)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["problems"] == [], done.stderr[-3000:]
    assert (found["kills"], found["lost"], found["doubled"], found["failed"], found["wedged"]) == (
        4,
        0,
        0,
        0,
        0,
    )
    assert found["most_at_once"] == 1, "a host was asked by two at once"


@pytest.mark.once
def test_nodes_need_postgresql(installation: dict[str, str]) -> None:
    done = manage(installation, "bench", "soak", "--nodes", "2")
    assert done.returncode and "SQLite serves one machine" in done.stderr
