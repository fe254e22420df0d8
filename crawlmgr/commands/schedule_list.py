"""`schedule list`: lists everything that is scheduled, the next start first."""

from __future__ import annotations

from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result, table
from crawlmgr.services import recurring

HELP = "list all scheduled items: interval, next start, working hours"
MAX_ITEMS = 1000


def add_arguments(parser: Any) -> None:
    """Adds nothing: the command has no options."""


def run(options: dict[str, Any]) -> Result:
    database.ready()
    found = recurring.documents(SYSTEM.now(), MAX_ITEMS)
    header = ("kind", "target", "name", "every (s)", "next", "hours")
    columns = ("kind", "target", "name", "interval_seconds", "next", "hours")
    rows = [tuple(one[name] for name in columns) for one in found["schedules"]]
    return Result(found, table(header, rows))
