"""The dispatcher: starts what is due, and queues the slices of runs that no worker holds."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils.module_loading import import_string

from crawlmgr.archive import archive
from crawlmgr.services import holds, queue, runs


def dispatch(now: datetime) -> dict[str, int]:
    """Executes one round of the dispatcher. Calls all functions in settings.DISPATCHERS; while all
    crawling is paused, those that start crawls are left out. Runs that were paused for want of room
    on the disk are resumed once there is room. Then queues the runs that could
    continue but are held by no worker, because their first slice was lost, their lease expired or
    their wait is over. Returns {"started": number of runs started, "queued": number of runs
    queued}."""
    held = settings.CRAWL_DISPATCHERS if holds.current() is not None else ()
    if not held:
        runs.resume_for_room(now, archive.takes_files)
    started = sum(import_string(name)(now) for name in settings.DISPATCHERS if name not in held)
    waiting = runs.ready(now)
    queue.requeue(waiting, now)
    return {"started": started, "queued": len(waiting)}
