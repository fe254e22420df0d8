"""All crawling paused at once, and let go on where it stood."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from crawlmgr.models import Hold, Run, RunState
from crawlmgr.services import events, runs

ONLY = 1
"""The key of the one row."""


def current() -> Hold | None:
    """The pause of everything that is in force, if one is."""
    return Hold.objects.select_related("by").filter(pk=ONLY).first()


def pause_all(now: datetime, user: Any = None) -> int:
    """Holds scheduled crawls back and pauses the runs that crawl; returns how many those were. What a person starts afterwards
    runs. Work that asks no address (exports, simulations) goes on. The row stands before the first run is paused: killed in
    between, the same call pauses the rest."""
    active = [run.pk for run in Run.objects.at_work().only("id", "kind", "state") if _crawls(run)]
    with transaction.atomic():
        hold, made = Hold.objects.get_or_create(pk=ONLY, defaults={"since": now, "by": user, "runs": active})
        if not made:
            hold.runs = sorted({*hold.runs, *active})
            hold.save(update_fields=["runs"])
        elif user is not None:
            events.note("all_paused", str(user), now=now)
    for pk in active:
        try:
            runs.pause(pk, now)
        except runs.WrongState:
            continue  # it has just ended
    return len(active)


def _crawls(run: Run) -> bool:
    return run.kind not in settings.JOBS and run.state != RunState.PAUSED


def resume_all(now: datetime, user: Any = None) -> int:
    """Lets scheduled crawls start again and the runs that were paused for the pause go on; returns how many those were. Runs that
    were paused before stay so. The row goes last: killed in between, the same call resumes the rest."""
    hold = current()
    if hold is None:
        return 0
    gone_on = 0
    for pk in hold.runs:
        Run.objects.filter(pk=pk, state=RunState.RUNNING, wanted="pause").update(wanted="")
        if Run.objects.filter(pk=pk, state=RunState.PAUSED).exists():
            try:
                runs.resume(pk, now)
            except (runs.WrongState, runs.Busy):
                continue  # a person was faster, or has started another in its place
        gone_on += 1
    Hold.objects.filter(pk=ONLY).delete()
    if user is not None:
        events.note("all_resumed", str(user), now=now)
    return gone_on
