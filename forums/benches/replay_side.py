"""The measurement of one policy for `bench replay`, run in an installation of its own."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - Django has to be set up first

from forums.benches.replay_days import replay  # noqa: E402
from forums.events import Events, read_events  # noqa: E402


def middle(events: Events) -> date:
    """Returns a Monday in the middle of a log."""
    day = datetime.fromtimestamp(float(events.times[len(events) // 2]), UTC).date()
    return day - timedelta(days=day.weekday())


def main(log: str, start: str, policy: str, visits: str, days: str, step_seconds: str) -> None:
    """Replays a log under one policy and prints the results as JSON; prints each replayed day to
    standard error.

    The arguments are texts, as on a command line: path of the event log, first day to replay (ISO
    date; "" for the middle of the log), name of the policy, visits per board and day, number of
    days, and seconds between two rankings of the policy.
    """
    call_command("migrate", verbosity=0, interactive=False)
    events, _bad = read_events(Path(log))
    first = date.fromisoformat(start) if start else middle(events)
    shown: set[date] = set()

    def pulse(now: datetime) -> None:
        if now.date() not in shown:
            shown.add(now.date())
            sys.stderr.write(f"  {now.date()}\n")

    found = replay(
        events,
        first,
        policy,
        int(visits),
        days=int(days),
        history_days=20,
        step_seconds=float(step_seconds),
        pulse=pulse,
    )
    daily = {"daily": found.daily.tolist(), "simulated_daily": found.simulated_daily.tolist()}
    sys.stdout.write(json.dumps({"start": first.isoformat(), **asdict(found), **daily}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:7])
