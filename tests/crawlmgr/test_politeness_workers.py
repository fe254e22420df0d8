"""Several workers with runs over the same hosts, counted at the server: only real processes show that they share one clock."""

from __future__ import annotations

import json

import pytest

from tests.postgresql import find_binaries
from tests.serving import manage


@pytest.mark.slow
@pytest.mark.once
def test_two_workers_on_postgresql_share_hosts_without_a_deadlock(installed: dict[str, str]) -> None:
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    pause = 0.25
    words = ["--alone", "--hosts", "12", "--pages", "150", "--in-flight", "64", "--answer", "0.05", "--delay", str(pause)]
    done = manage(installed, "bench", "line", *words, "--workers", "2", "--database", "postgresql", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["in_flight"][0]
    assert found["ours_deadlocks"] == 0
    assert found["ours_server"]["asked"] >= 150 and found["ours_server"]["most_at_once"] == 1


@pytest.mark.slow
def test_no_host_is_asked_twice_at_once_or_too_soon(installed: dict[str, str]) -> None:
    pause = 0.4
    words = ["--alone", "--hosts", "6", "--pages", "24", "--in-flight", "64", "--answer", "0.1", "--delay", str(pause)]
    done = manage(installed, "bench", "line", *words, "--workers", "2", "--json")
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)["in_flight"][0]["ours_server"]
    assert counted["asked"] >= 24 and counted["private"] == 0
    assert counted["most_at_once"] == 1
    assert counted["least_gap_seconds"] >= 0.95 * pause
