"""Events: what a person should know, kept short and pruned."""

from __future__ import annotations

from datetime import datetime

from crawlmgr.models import Event


def record(level: int, code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None) -> None:
    """Stores one event."""
    Event.objects.create(at=now, level=level, code=code[:60], text=text[:500], run_id=run_id, host_id=host_id)


def error(code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None) -> None:
    """Something failed."""
    record(Event.Level.ERROR, code, text, now=now, run_id=run_id, host_id=host_id)


def warn(code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None) -> None:
    """Something wants looking at."""
    record(Event.Level.WARNING, code, text, now=now, run_id=run_id, host_id=host_id)
