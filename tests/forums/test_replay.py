"""Replays days of an event log over real HTTP: the measured delays agree with the visit times and
with the simulator."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from crawlmgr.frontier import hosts
from forums.schedule.events import Events, from_rows
from tests.benches.forums.replay_days import replay

pytestmark = pytest.mark.django_db(transaction=True)
START = date(2026, 1, 12)
HOUR = 3600.0


def bursty_log(seed: int = 5) -> Events:
    """Returns events of three boards: threads opened over 36 days in a daily rhythm, each followed
    soon by a chain of replies."""
    rng = np.random.default_rng(seed)
    first = datetime(2025, 12, 20, tzinfo=UTC).timestamp()
    rows = []
    for board, threads_a_day in enumerate((2.0, 0.5, 0.15)):
        for number in range(rng.poisson(threads_a_day * 36)):
            hour = (
                float(rng.choice(24, p=(1.1 + np.sin((np.arange(24) - 9) / 24 * 2 * np.pi)) / 26.4))
                + rng.random()
            )
            moment = first + (int(rng.integers(0, 36)) * 24 + hour) * HOUR
            rows.append((f"b{board}", f"{board}.{number}", True, moment))
            for _ in range(rng.geometric(0.3) - 1):
                moment += float(rng.lognormal(0.3, 1.2)) * HOUR
                rows.append((f"b{board}", f"{board}.{number}", False, moment))
    return from_rows(rows)


@pytest.mark.once
@pytest.mark.parametrize(
    ("policy", "days", "history"),
    [
        ("era", 3, 5),  # equal visits do not depend on the history
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("era", 10, 20),
                ("optimal", 6, 20),
                ("adaptive", 4, 20),
                ("glances", 3, 20),
                ("newest", 3, 20),
            )
        ),
    ],
)
def test_measured_delays_agree_with_the_simulator(policy: str, days: int, history: int) -> None:
    hosts.forget()
    found = replay(
        bursty_log(), START, policy, 4, days=days, history_days=history, step_seconds=880.0
    )
    assert found.visits_per_day == 12
    assert found.found == found.items >= 15
    assert found.measured == pytest.approx(found.recomputed, rel=0.01)
    room = {"era": 0.02, "glances": 0.5, "newest": 0.5}.get(
        policy, 0.3
    )  # tolerance; simulated overview fetches take no time
    assert found.measured == pytest.approx(found.simulated, rel=room)
