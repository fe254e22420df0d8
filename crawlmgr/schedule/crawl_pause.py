"""Pauses all crawling at once, and resumes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from crawlmgr.database.caches import once
from crawlmgr.models import Hold, Run, RunState, events
from crawlmgr.runs import runs

ONLY = 1
"""Primary key of the only row of `Hold`."""


@once
def current() -> Hold | None:
    """Returns the pause of all crawling if it is in force, else None."""
    return Hold.objects.select_related("by").filter(pk=ONLY).first()


def pause_all(now: datetime, user: Any = None) -> int:
    """Pauses all running crawls and keeps scheduled ones from starting; returns how many were
    paused. Crawls that users start afterwards do run, and so do jobs without requests (exports,
    simulations).

    The pause is stored before the first run is paused: after a kill in between, calling it again
    pauses the rest.
    """
    active = [run.pk for run in Run.objects.at_work().only("id", "kind", "state") if _crawls(run)]
    with transaction.atomic():
        hold, made = Hold.objects.get_or_create(
            pk=ONLY, defaults={"since": now, "by": user, "runs": active}
        )
        if not made:
            hold.runs = sorted({*hold.runs, *active})
            hold.save(update_fields=["runs"])
        elif user is not None:
            events.note("all_paused", str(user), now=now)
    for pk in active:
        try:
            runs.pause(pk, now)
        except runs.WrongState:
            continue  # the run has ended in the meantime
    return len(active)


def _crawls(run: Run) -> bool:
    return run.kind not in settings.JOBS and run.state != RunState.PAUSED


def resume_all(now: datetime, user: Any = None) -> int:
    """Ends the pause of all crawling and resumes the runs that it paused; returns how many. Runs
    that were paused by a user before stay paused. The pause is deleted last: after a kill in
    between, calling it again resumes the rest.
    """
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
                # a user has resumed the run already, or has started another run on the same target
                continue
        gone_on += 1
    Hold.objects.filter(pk=ONLY).delete()
    if user is not None:
        events.note("all_resumed", str(user), now=now)
    return gone_on
