"""Queries for the simulation pages: lists without the large results, and one simulation with its
delays relative to those of the policy `era`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count

from crawlmgr.database.paging import ListPage, fetch_page
from forums.models import EventLog, Simulation

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
