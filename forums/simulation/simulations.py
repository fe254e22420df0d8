"""Simulations of policies on event logs: started, computed step by step in a run, stored with their
results, and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db import transaction
from django.db.models import Count, F

from crawlmgr.database.paging import ListPage, fetch_page
from crawlmgr.jobs import Pulse, StepTooLong
from crawlmgr.models import Run
from crawlmgr.runs import runs
from forums.models import EventLog, Simulation, SimulationKind
from forums.schedule.events import Events, EventsError
from forums.schedule.rhythm import PAPER_PROFILE, Settling
from forums.simulation import delay_simulation, event_logs, fetch_simulation

KIND = "simulation"


PROFILES_SHOWN = 6


SETTLING_DAYS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90)


Store = Callable[[], None]


def start(
    log: EventLog, kind: str, setup: dict[str, Any], *, now: datetime, user: Any = None
) -> Simulation:
    """Creates a simulation and queues its run; if the log has not been read yet, that is the run's
    first step.

    `setup` has the fields of `schedule_setup` or `fetch_setup`, `policies` and, for schedules,
    `visits_per_board`. Raises ValueError with a one-line message if it is invalid.
    """
    unread = event_logs.unread(log)
    first_day = setup.get("start") or (
        None if unread else _default_start(log, kind, setup).isoformat()
    )
    chosen = {**setup, "start": first_day}
    read_setup(kind, {**chosen, "start": first_day or now.date().isoformat()})
    steps = (
        len(chosen["policies"])
        * (len(chosen["visits_per_board"]) if kind == SimulationKind.SCHEDULES else 1)
        + unread
    )
    with transaction.atomic():
        made = Simulation.objects.create(
            kind=kind,
            log=log,
            setup=chosen,
            total=steps + 1,
            created=now,
            created_by=user,
            result={"rows": []},
        )
        made.run = runs.create(
            KIND, log.name, target=made.pk, parameters={"simulation": made.pk}, now=now, user=user
        )
        made.save(update_fields=["run"])
    return made


def remove(simulation: Simulation, now: datetime) -> None:
    """Stops a running simulation and deletes it with its results."""
    if simulation.run is not None and simulation.run.active:
        runs.stop(simulation.run.pk, now)
    simulation.delete()


def read_setup(
    kind: str, setup: dict[str, Any]
) -> delay_simulation.Setup | fetch_simulation.FetchSetup:
    """Converts stored settings to the experiment's setup. Raises ValueError if they are invalid."""
    return schedule_setup(setup) if kind == SimulationKind.SCHEDULES else fetch_setup(setup)


def schedule_setup(setup: dict[str, Any]) -> delay_simulation.Setup:
    return delay_simulation.Setup(
        start=date.fromisoformat(setup["start"]),
        history_days=setup["history_days"],
        test_days=setup["test_days"],
        theta=setup["theta"],
        zone=ZoneInfo(setup["timezone"]),
        reading=setup["reading"],
        min_events=setup["min_events"],
        bins=setup["bins"],
        target_hours=setup["target_hours"],
        glance_cost=setup.get("glance_cost", 1),
    )


def fetch_setup(setup: dict[str, Any]) -> fetch_simulation.FetchSetup:
    zone = ZoneInfo(setup["timezone"])
    begin = datetime.combine(date.fromisoformat(setup["start"]), time(), zone)
    return fetch_simulation.FetchSetup(
        start=begin.timestamp(),
        days=setup["days"],
        cycle_hours=setup["cycle_hours"],
        fetches=setup["fetches"],
        zone=zone,
    )


def _default_start(log: EventLog, kind: str, setup: dict[str, Any]) -> date:
    """Returns the first day of the last complete test period, the default of `forum simulate`."""
    if log.last is None:
        raise ValueError("the event file holds no event")
    days = setup["test_days"] if kind == SimulationKind.SCHEDULES else setup["days"]
    return log.last.astimezone(ZoneInfo(setup["timezone"])).date() - timedelta(days=days)


class SimulationJob:
    """The job of a simulation's run (see `crawlmgr/jobs.py:Job`): its first step reads the event
    log, each further step simulates one policy at one budget."""

    def __init__(self, run: Run) -> None:
        self.simulation = Simulation.objects.select_related("log").get(run=run)
        self._events: Events | None = None
        self._experiment: delay_simulation.Simulation | None = None

    def step(self, pulse: Pulse) -> Store | str:
        simulation = self.simulation
        simulation.refresh_from_db(fields=["result", "done", "setup"])
        try:
            # if another simulation has read the log before, this step only chooses the first day of
            # this simulation
            if event_logs.unread(simulation.log) or not simulation.setup["start"]:
                return self._read_in(pulse)
            setup = read_setup(simulation.kind, simulation.setup)
            events = self._log(pulse)
            if isinstance(setup, delay_simulation.Setup):
                return self._schedules(events, setup, pulse)
            return self._fetching(events, setup, pulse)
        except (EventsError, delay_simulation.SetupError) as error:
            Simulation.objects.filter(pk=simulation.pk).update(problem=str(error)[:300])
            return "unusable_log"

    def ended(self, state: str, now: datetime) -> None:
        """Does nothing: every step was stored when it was finished."""

    def _read_in(self, pulse: Pulse) -> Store:
        """Reads the log for the first time and, if no first day was chosen, chooses it so that the
        experiment ends with the log. Returns a function that stores the first day and counts the
        step as done."""
        simulation = self.simulation
        try:
            event_logs.read_in(simulation.log)
        except ValueError as error:
            raise EventsError(str(error)) from None
        pulse()
        setup = dict(simulation.setup)
        setup["start"] = (
            setup["start"] or _default_start(simulation.log, simulation.kind, setup).isoformat()
        )

        def store() -> None:
            Simulation.objects.filter(pk=simulation.pk).update(setup=setup, done=F("done") + 1)

        return store

    def _log(self, pulse: Pulse) -> Events:
        if self._events is None:
            self._events = event_logs.read(self.simulation.log)
            pulse()
        return self._events

    def _schedules(
        self, events: Events, setup: delay_simulation.Setup, pulse: Pulse
    ) -> Store | str:
        rows = self.simulation.result["rows"]
        done = {(row["policy"], row["visits_per_board"]) for row in rows}
        pairs = [
            (p, m)
            for m in self.simulation.setup["visits_per_board"]
            for p in self.simulation.setup["policies"]
        ]
        left = [pair for pair in pairs if pair not in done]
        if not left and "window" in self.simulation.result:
            return "simulated"
        if self._experiment is None:
            self._experiment = delay_simulation.Simulation(events, setup, pulse)
        if "window" not in self.simulation.result:
            return self._storing(window=_window(self._experiment))
        policy, visits = left[0]
        try:
            return self._storing(row=_outcome(self._experiment.run(policy, visits)))
        except StepTooLong as error:
            return self._storing(
                row={"policy": policy, "visits_per_board": visits, "too_long": str(error)}
            )

    def _fetching(
        self, events: Events, setup: fetch_simulation.FetchSetup, pulse: Pulse
    ) -> Store | str:
        rows = self.simulation.result["rows"]
        done = {row["policy"] for row in rows}
        left = [policy for policy in self.simulation.setup["policies"] if policy not in done]
        if "window" not in self.simulation.result:
            return self._storing(window=_fetch_window(events, setup))
        if not left:
            return "simulated"
        try:
            days = fetch_simulation.simulate_fetch(events, setup, left[0], pulse=pulse)
        except StepTooLong as error:
            return self._storing(row={"policy": left[0], "too_long": str(error)})
        posts = fetch_simulation.posts_per_day(events, setup)
        row = {
            "policy": left[0],
            **asdict(fetch_simulation.summary(days, posts)),
            "days": [asdict(day) for day in days],
        }
        return self._storing(row=row)

    def _storing(
        self, *, window: dict[str, Any] | None = None, row: dict[str, Any] | None = None
    ) -> Store:
        result = dict(self.simulation.result)
        if window is not None:
            result["window"] = window
        if row is not None:
            result["rows"] = [*result["rows"], row]

        def store() -> None:
            Simulation.objects.filter(pk=self.simulation.pk).update(
                result=result, done=F("done") + 1
            )

        return store


def _outcome(outcome: delay_simulation.Outcome) -> dict[str, Any]:
    """Returns a policy's result at a budget as it is stored: the columns of `forum simulate`, and
    the delay of each day."""
    daily = None if outcome.daily is None else [round(float(value), 3) for value in outcome.daily]
    return {**outcome.as_json(), "daily": daily}


def _window(experiment: delay_simulation.Simulation) -> dict[str, Any]:
    """Returns facts of the log's period for the charts: boards, events, daily rhythm of the busiest
    boards, and how estimates settle as the history grows."""
    rates = experiment.demand(experiment.profile(PAPER_PROFILE)).rates
    busiest = np.argsort(-rates.sum(axis=1), kind="stable")[:PROFILES_SHOWN]
    names = experiment.events.boards
    settled: list[Settling] = experiment.settling(SETTLING_DAYS)
    return {
        "boards": experiment.boards,
        "events": len(experiment.test_times),
        "profiles": [
            {"board": names[board][:200], "rates": [round(float(v), 4) for v in rates[board]]}
            for board in busiest
        ],
        "all": [round(float(value), 4) for value in rates.sum(axis=0)],
        "settling": [asdict(one) for one in settled],
    }


def _fetch_window(events: Events, setup: fetch_simulation.FetchSetup) -> dict[str, Any]:
    posts = fetch_simulation.posts_per_day(events, setup)
    if not posts.sum() or setup.start <= float(events.times[0]):
        raise delay_simulation.SetupError(
            "the log has no history before the window, or no post in it"
        )
    return {
        "boards": len(events.boards),
        "events": int(posts.sum()),
        "usual_changes_per_cycle": fetch_simulation.usual_changes(events, setup),
    }


LOGS_SHOWN = 100


def page(query: Mapping[str, str], size: int = 30) -> ListPage:
    """Returns one page of the simulations, newest first, without their results; `query`, the query
    string, selects the page."""
    rows = Simulation.objects.select_related("log", "run", "created_by").defer(
        "result", "run__parameters", "run__result"
    )
    return fetch_page(rows, size=size, query=query)


def logs(limit: int = LOGS_SHOWN) -> list[EventLog]:
    """Returns the event logs, newest first, each with the number of simulations made with it
    (`used`)."""
    return list(
        EventLog.objects.select_related("site")
        .defer("site__structure")
        .annotate(used=Count("simulations"))[:limit]
    )


def get(pk: int) -> Simulation | None:
    return Simulation.objects.select_related("log", "run", "created_by").filter(pk=pk).first()


def table(simulation: Simulation) -> list[dict[str, Any]]:
    """Returns the rows of a simulation's table, in the order of their computation: one for each
    policy and budget, or for each policy in an experiment that fetches changed threads.
    `ratio_to_era` is the delay divided by that of the policy "era" at the same budget, None if that
    policy was not simulated."""
    rows = simulation.result.get("rows", [])
    base = {
        row["visits_per_board"]: row.get("total_delay_per_day")
        for row in rows
        if row["policy"] == "era"
    }
    found = []
    for row in rows:
        kept = {name: value for name, value in row.items() if name not in ("daily", "days")}
        if "visits_per_board" in row and "too_long" not in row:
            era = base.get(row["visits_per_board"])
            kept["ratio_to_era"] = row["total_delay_per_day"] / era if era else None
        found.append(kept)
    return found
