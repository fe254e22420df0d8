"""Records events for operators. Texts are cut to 500 characters, and old events are deleted by
`pruning`."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from crawlmgr.models import Event

log = logging.getLogger("crawlmgr.events")


def record(
    level: int,
    code: str,
    text: str,
    *,
    now: datetime,
    run_id: int | None = None,
    host_id: int | None = None,
) -> None:
    """Stores an event and writes it to the log. `level` is a level of `logging`: 20 (info), 30
    (warning) or 40 (error)."""
    Event.objects.create(
        at=now, level=level, code=code[:60], text=text[:500], run_id=run_id, host_id=host_id
    )
    told: dict[str, Any] = {"event": code}
    told |= {
        name: value for name, value in (("run", run_id), ("host", host_id)) if value is not None
    }
    log.log(int(level), text, extra=told)


def error(
    code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None
) -> None:
    """Records an event of level error: something failed."""
    record(Event.Level.ERROR, code, text, now=now, run_id=run_id, host_id=host_id)


def warn(
    code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None
) -> None:
    """Records an event of level warning: something needs attention."""
    record(Event.Level.WARNING, code, text, now=now, run_id=run_id, host_id=host_id)


def note(
    code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None
) -> None:
    """Records an event of level info: something worth knowing later, while nothing is wrong."""
    record(Event.Level.NOTE, code, text, now=now, run_id=run_id, host_id=host_id)
