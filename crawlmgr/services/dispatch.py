"""The dispatcher: starts due jobs and queues runs again that no worker holds."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils.module_loading import import_string

from crawlmgr.services import holds, queue, runs


def dispatch(now: datetime) -> dict[str, int]:
    """One round: starts each crawler's due jobs unless all crawling is paused, then queues runs that wait for a worker (first
    slice lost, lease expired, wait over). Returns the number of each."""
    held = settings.CRAWL_DISPATCHERS if holds.current() is not None else ()
    started = sum(import_string(name)(now) for name in settings.DISPATCHERS if name not in held)
    waiting = runs.ready(now)
    queue.requeue(waiting, now)
    return {"started": started, "queued": len(waiting)}
