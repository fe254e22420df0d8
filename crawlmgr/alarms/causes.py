"""Finds the current problems that alarms report (failed runs, little disk space, lost workers ...).
Each problem is a `Cause` whose key stays the same while the problem lasts. Other apps add their own
functions in settings.ALARM_CAUSES.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import sqrt
from statistics import median
from typing import Any

from django.conf import settings
from django.db.models import Max
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from crawlmgr.models import ACTIVE, Event, Host, Node, NodeState, Run, RunState

RULES = {
    "failure": gettext_noop("runs that fail"),
    "silence": gettext_noop("silence: nothing new although new items were expected"),
    "drop": gettext_noop("a drop of 30 % or more in the items found"),
    "late": gettext_noop("posts that wait longer than their target, or visits behind schedule"),
    "layout": gettext_noop("a layout that changed"),
    "doubt": gettext_noop("doubtful reading"),
    "refused": gettext_noop(
        "hosts that refuse requests (robots.txt, 401, 403, 429) or cannot be reached"
    ),
    "disk": gettext_noop("little disk space left"),
    "worker": gettext_noop("problems with workers"),
    "reached": gettext_noop("a crawl that reached its goal"),
}
LATELY = timedelta(days=1)
TROUBLE = timedelta(
    minutes=15
)  # for how long after a process ended unexpectedly this counts as a current problem
HOST_FAILURES = 5  # number of failed requests in a row from which a host counts as a problem
WORKER_CODES = ("worker_ended", "worker_silent", "cluster_restarted", "web_restarted")
REFUSALS = (401, 403, 429)
GOALS = ("relevant", "coverage")
DROP = 0.3
# number of earlier runs on the same target that a run is compared with, and the least number needed
# for a comparison
DROP_RUNS, DROP_FEWEST_RUNS = 5, 3
# a run is checked only if at least this many items were to be expected from the number of pages
# that it fetched
DROP_LEAST = 10
MAX_DROPS = 50  # maximum number of targets whose newest run is checked for a drop


@dataclass(frozen=True, slots=True)
class Cause:
    """A current problem, or an event to report once, for which `crawlmgr.alarms.alarms` opens an
    alarm.

    `key` identifies the problem: a problem found again under the same key belongs to the same
    alarm. `rule` is its kind (a key of RULES). `text` is a translatable sentence with placeholders
    that are filled from `facts`; `path` is the admin page to look at. `once` is True for an event,
    which has no duration: its alarm ends at once."""

    key: str
    rule: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    path: str = ""
    once: bool = False


def all_causes(now: datetime) -> dict[str, Cause]:
    """Returns all current problems as {key: Cause}, from all functions in settings.ALARM_CAUSES."""
    found = [cause for name in settings.ALARM_CAUSES for cause in import_string(name)(now)]
    return {cause.key: cause for cause in found}


def shared(now: datetime) -> list[Cause]:
    """Finds the problems that concern no particular crawler: of disk and workers, of runs of any
    kind (failed, or with far fewer items than earlier ones) and of hosts."""
    return [*_disk(), *_workers(now), *_runs(now), *_drops(now), *_hosts(now)]


def dropped(items: int, usual: float) -> dict[str, int]:
    """Returns the placeholder values for the message about a drop: "items" (number found), "usual"
    (the usual number, rounded) and "share" (the decrease in percent)."""
    return {"items": items, "usual": round(usual), "share": round(100 * (1 - items / usual))}


def _disk() -> list[Cause]:
    free = shutil.disk_usage(settings.DATA_DIR).free
    if free >= settings.MIN_FREE_BYTES:
        return []
    facts = {"free": free // 1_000_000, "least": settings.MIN_FREE_BYTES // 1_000_000}
    text = gettext_noop("Only %(free)s MB are free on the disk; runs pause below %(least)s MB.")
    return [Cause("disk", "disk", text, facts, "/admin/archive/")]


def _workers(now: datetime) -> list[Cause]:
    found = []
    seen = Node.objects.filter(
        heartbeat__gte=now - LATELY,
        heartbeat__lt=now - timedelta(seconds=2 * settings.STALL_SECONDS),
    )
    for node in seen.exclude(state=NodeState.DRAINING).order_by("pk")[:50]:
        text = gettext_noop("The node %(name)s has stopped sending heartbeats.")
        found.append(
            Cause(f"node {node.pk}", "worker", text, {"name": node.name}, "/admin/workers/")
        )
    last = (
        Event.objects.filter(at__gte=now - TROUBLE, code__in=WORKER_CODES).order_by("-pk").first()
    )
    if last is not None:
        text = gettext_noop("A process of the installation ended and was restarted: %(text)s")
        found.append(Cause("worker", "worker", text, {"text": last.text[:200]}, "/admin/workers/"))
    return found


def _runs(now: datetime) -> list[Cause]:
    """Finds runs that failed within the last day, unless a newer run of the same kind on the same
    target has ended since, and runs that ended within the last day because they reached their goal.
    """
    ended = Run.objects.filter(finished__gte=now - LATELY)
    rows = list(ended.filter(state=RunState.FAILED).order_by("-pk")[:200])
    newest = {
        (kind, target): pk
        for kind, target, pk in (
            Run.objects.filter(
                kind__in={run.kind for run in rows},
                target__in={run.target for run in rows},
                finished__gte=now - LATELY,
            )
            .exclude(state__in=ACTIVE)
            .values_list("kind", "target")
            .annotate(Max("pk"))
        )
    }
    found = {}
    for run in reversed(rows):
        if run.target is None or newest.get((run.kind, run.target)) == run.pk:
            key = f"failed {run.kind} {run.target if run.target is not None else f'run {run.pk}'}"
            facts = {"name": run.label, "reason": run.detail[:150] or run.stopped_by}
            found[key] = Cause(
                key,
                "failure",
                gettext_noop("%(name)s failed: %(reason)s"),
                facts,
                f"/admin/runs/{run.pk}/",
            )
    for run in ended.filter(state=RunState.FINISHED, stopped_by__in=GOALS).order_by("-pk")[:200]:
        text = gettext_noop(
            "%(name)s reached its goal: %(pages)s pages fetched, %(items)s results found."
        )
        reached = {"name": run.label, "pages": run.fetched, "items": run.items}
        found[f"reached {run.pk}"] = Cause(
            f"reached {run.pk}", "reached", text, reached, f"/admin/runs/{run.pk}/", once=True
        )
    return list(found.values())


def _drops(now: datetime) -> list[Cause]:
    """Finds runs that completed within the last day with at least 30 % fewer items per page than
    the median of up to five earlier completed runs on the same target, provided that chance does
    not explain it: the number of items must also be more than three standard deviations of a
    Poisson distribution below the expected number."""
    whole = Run.objects.filter(
        state=RunState.FINISHED,
        kind__in=settings.RUNS_WITH_RESULTS,
        target__isnull=False,
        fetched__gt=0,
    )
    newest = (
        whole.filter(finished__gte=now - LATELY)
        .values_list("kind", "target")
        .annotate(newest=Max("pk"))
        .order_by("newest")
    )
    found = []
    for kind, target, _pk in newest[:MAX_DROPS]:
        latest, *before = whole.filter(kind=kind, target=target).order_by("-pk")[: 1 + DROP_RUNS]
        if len(before) < DROP_FEWEST_RUNS:
            continue
        usual = latest.fetched * median(run.items / run.fetched for run in before)
        if usual >= DROP_LEAST and latest.items <= min((1 - DROP) * usual, usual - 3 * sqrt(usual)):
            text = gettext_noop(
                "%(name)s found %(share)s %% less than its last runs: %(items)s items, usually"
                " %(usual)s."
            )
            facts = {"name": latest.label, **dropped(latest.items, usual)}
            found.append(
                Cause(f"drop {kind} {target}", "drop", text, facts, f"/admin/runs/{latest.pk}/")
            )
    return found


def _hosts(now: datetime) -> list[Cause]:
    found = []
    held = Host.objects.filter(
        failures__gte=HOST_FAILURES, last_request_at__gte=now - LATELY
    ).order_by("-failures")[:50]
    for host in held:
        if host.last_status in REFUSALS:
            text = gettext_noop(
                "%(host)s refuses requests: HTTP status %(status)s, %(count)s times in a row."
            )
        else:
            text = gettext_noop(
                "%(host)s failed %(count)s times in a row and is not contacted for a while."
            )
        facts = {"host": host.key, "count": host.failures, "status": host.last_status}
        found.append(Cause(f"host {host.pk}", "refused", text, facts, f"/admin/hosts/{host.pk}/"))
    robots = Host.objects.filter(robots_verdict="deny", last_request_at__gte=now - LATELY).order_by(
        "pk"
    )[:50]
    for host in robots:
        text = gettext_noop(
            "robots.txt of %(host)s cannot be read: nothing is fetched from it for now."
        )
        found.append(
            Cause(
                f"robots {host.pk}", "refused", text, {"host": host.key}, f"/admin/hosts/{host.pk}/"
            )
        )
    return found
