"""Alarms of forums, checked hourly: silence or fewer posts than usual, delays over target, overdue
visits and why they are late, changed layouts, doubts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
from django.db.models import Count, Max, Min, Q, Sum
from django.utils.translation import gettext_noop

from crawlmgr.alarms.causes import Cause, dropped
from crawlmgr.database.caches import remembered
from crawlmgr.models import Host, Node, Run, events
from crawlmgr.workers import ranking
from forums.models import Board, BoardHour, Doubt, Site
from forums.plans import plans
from forums.schedule.events import Ints
from forums.sites import reads
from forums.visits import delays

MIN_HOURS = 72


MIN_ITEMS = 30


# with fewer items expected, a gap is no silence: a Poisson number with this mean is 0 once in 150
# times
MIN_EXPECTED = 5.0


BEYOND_LONGEST = 2.0


DROP = 0.3


# the items of this number of most recent days are compared with those of the same weekdays in
# earlier weeks
DROP_DAYS = 2


DROP_WEEKS = (
    4  # number of earlier weeks with whose same weekdays the last DROP_DAYS days are compared
)


DROP_RECORD_HOURS = 24 * (7 * DROP_WEEKS + 2 * DROP_DAYS)


DROP_LEAST_EXPECTED = 10.0


DROP_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence at the end of a forum's record: its length in hours, the number of items that
    usually arrive in those hours of the day, and the largest such number for an earlier gap."""

    hours: int
    expected: float
    longest: float


def find_silence(counts: Ints, hours: Ints) -> Silence | None:
    """Returns the silence at the end of a record of hours; None if there is none that is unusual
    (as defined below), or if the record has fewer than 72 hours or fewer than 30 items.

    counts: (n,) new items of each hour, oldest first, up to the last hour that visits have covered.
    hours: (n,) local hour of the day, 0 to 23. The expected number in an hour is the mean of its
    hour of the day up to the last item, so that nights count little. Because replies come in
    bursts, at least 5 items must have been expected in the silence, and twice as many as in the
    longest gap before.

    >>> day = np.array([0] * 12 + [2] * 12)
    >>> find_silence(np.concatenate([np.tile(day, 5), np.zeros(30, int)]), np.arange(150) % 24)
    Silence(hours=30, expected=24.0, longest=0.0)
    """
    some = np.flatnonzero(counts)
    if len(counts) < MIN_HOURS or counts.sum() < MIN_ITEMS or some[-1] == len(counts) - 1:
        return None
    last = some[-1]
    seen = np.bincount(hours[: last + 1], minlength=24)
    brought = np.bincount(hours[: last + 1], weights=counts[: last + 1], minlength=24)
    usual = np.divide(brought, seen, out=np.zeros(24), where=seen > 0)
    until = np.concatenate(
        [[0.0], np.cumsum(usual[hours])]
    )  # until[i] is the number of items expected before hour i
    longest = float((until[some[1:]] - until[some[:-1] + 1]).max(initial=0.0))
    expected = float(until[-1] - until[last + 1])
    if expected < max(MIN_EXPECTED, BEYOND_LONGEST * longest):
        return None
    return Silence(len(counts) - 1 - int(last), round(expected, 1), round(longest, 1))


@dataclass(frozen=True, slots=True)
class Drop:
    """The number of new items in the last two days, and the mean of the same two weekdays in the
    four weeks before."""

    items: int
    usual: float


def find_drop(counts: Ints) -> Drop | None:
    """Returns a drop of 30 % or more at the end of a record of hours, None if there is none or the
    record is too short.

    counts: (n,) new items of each hour, oldest first, up to the last hour that visits have covered;
    at least 32 days of them. The last two days are compared with the mean of the same weekdays of
    the four weeks before, which must be ten items or more. The logarithm of the ratio must also be
    three standard deviations (of the logarithms of all two-day sums of those weeks) below 0. On two
    forums' logs this gives four to six false alarms a year. If 60 % of the posts are no longer
    seen, two thirds of the cases are detected within two days.

    >>> find_drop(np.tile([0, 2, 3, 1], 200))
    >>> find_drop(np.concatenate([np.tile([0, 2, 3, 1], 188), np.tile([0, 1, 1, 1], 12)]))
    Drop(items=36, usual=72.0)
    """
    span = 24 * DROP_DAYS
    if len(counts) < DROP_RECORD_HOURS:
        return None
    until = np.concatenate([[0], np.cumsum(counts)])
    spans = until[span:] - until[:-span]  # spans[-1] is the sum of the last two days
    weeks = spans[[-1 - 168 * week for week in range(1, DROP_WEEKS + 1)]]
    before = spans[-1 - span - 24 * np.arange(7 * DROP_WEEKS)]
    items, usual = int(spans[-1]), float(weeks.mean())
    spread = float(np.log(before + 1.0).std())
    if usual < DROP_LEAST_EXPECTED or items > (1 - DROP) * usual:
        return None
    if np.log((items + 1) / (usual + 1)) > -DROP_DEVIATIONS * spread:
        return None
    return Drop(items, round(usual, 1))


WINDOW_DAYS = 28


RECORD_DAYS = 35  # days read; `find_drop` needs 32 days, counted from the first post found


VISITED_WITHIN = timedelta(days=2)


SHOWN = 8


HOUR = timedelta(hours=1)


class Record(NamedTuple):
    """Numbers of new posts of a site by hour, oldest first, up to the last hour covered by visits,
    and the local hour of the day of each."""

    counts: Ints
    hours: Ints

    def silence(self) -> Silence | None:
        """Returns the ongoing period without new posts, if it is unusually long compared with the
        last four weeks; otherwise None."""
        return find_silence(self.counts[-24 * WINDOW_DAYS :], self.hours[-24 * WINDOW_DAYS :])

    def drop(self) -> Drop | None:
        """Returns the drop in new posts within the last two days; None if there is none."""
        return find_drop(self.counts)


def silence(site: Site, now: datetime) -> Silence | None:
    """Returns the ongoing silence of a site (no new posts for unusually long), over the boards
    whose visits still succeed; None if there is none."""
    found = record(site, now)
    return None if found is None else found.silence()


def record(site: Site, now: datetime) -> Record | None:
    """Returns the hourly numbers of new posts of a site, over the boards whose visits still
    succeed; None if there is no such board or nothing is stored of them."""
    boards = Board.objects.filter(
        site=site, enabled=True, complete_at__gt=now - VISITED_WITHIN, watched_since__isnull=False
    )
    rows = list(boards.values_list("pk", "complete_at", "watched_since"))
    if not rows:
        return None
    covered = min(complete for _, complete, _ in rows if complete is not None)
    end = covered.replace(
        minute=0, second=0, microsecond=0
    )  # the hour of the last visit is incomplete
    since = end - timedelta(days=RECORD_DAYS)
    sums = (
        BoardHour.objects.filter(
            board_id__in=[pk for pk, _, _ in rows], hour__gte=since, hour__lt=end
        )
        .values("hour")
        .annotate(n=Sum("threads") + Sum("replies"))
        .order_by("hour")
        .values_list("hour", "n")
    )
    found = list(sums)
    if not found:
        return None
    first = found[0][0]
    size = int((end - first) / HOUR)
    counts = np.zeros(size, dtype=np.int64)
    for hour, number in found:
        counts[int((hour - first) / HOUR)] = number
    local = site.zone
    begun = first.astimezone(local).hour
    return Record(counts, (begun + np.arange(size)) % 24)


def silent_sites() -> list[Site]:
    """Returns the forums that were silent at the last check, longest silence first, at most
    SHOWN."""
    silent = Site.objects.filter(silent_since__isnull=False, paused=False)
    return list(silent.only("id", "name", "silent_since").order_by("silent_since")[:SHOWN])


def watch(now: datetime) -> int:
    """Marks the sites that are silent or have far fewer posts than usual, and unmarks the others;
    returns the number of silent ones."""
    visited = Site.objects.annotate(last=Max("boards__complete_at")).filter(
        last__gt=now - VISITED_WITHIN
    )
    marked = Site.objects.filter(Q(silent_since__isnull=False) | ~Q(drop={}))
    silent = 0
    for site in (
        (visited | marked.annotate(last=Max("boards__complete_at")))
        .defer("structure", "rules")
        .order_by("pk")
    ):
        kept = None if site.paused else record(site, now)
        found = None if kept is None else kept.silence()
        _mark_drop(site, None if kept is None or found is not None else kept.drop(), now)
        if found is None:
            Site.objects.filter(pk=site.pk, silent_since__isnull=False).update(silent_since=None)
            continue
        silent += 1
        since = now - timedelta(hours=found.hours)
        if Site.objects.filter(pk=site.pk, silent_since__isnull=True).update(silent_since=since):
            events.warn(
                "silent",
                f"{site.name}: {found.hours} h, {found.expected:.0f}",
                now=now,
                host_id=site.host_id,
            )
    return silent


def _mark_drop(site: Site, found: Drop | None, now: datetime) -> None:
    """Stores the drop in a site's number of new posts, or None if the number is as usual; reports a
    drop when it begins. Callers pass None for a site without any new posts, because its silence is
    reported instead."""
    drop = {} if found is None else asdict(found)
    if drop == site.drop:
        return
    Site.objects.filter(pk=site.pk).update(drop=drop)
    if found is not None and not site.drop:
        events.warn(
            "drop", f"{site.name}: {found.items} / {found.usual:.0f}", now=now, host_id=site.host_id
        )


LATE = timedelta(hours=1)


MAX_CAUSES = (
    100  # largest number of causes of each kind that are reported; further ones are left out
)


DAYS = 2  # days over which delays are averaged: today and yesterday in the forum's zone


# a board raises no alarm about its delay if fewer posts than this were found on it in the last DAYS
# days
FEWEST = 5


WORKED_OUT_SECONDS = (
    300  # how long a forum's delays are cached, since computing them reads all visits of two days
)


def causes(now: datetime) -> list[Cause]:
    """Returns the present problems that raise alarms: for each forum one cause per kind of problem
    that it has."""
    return [*_silent(), *_dropped(), *_over(now), *_late(now), *_layouts(), *_doubts()]


def _silent() -> list[Cause]:
    text = gettext_noop("%(site)s yields nothing new although new items were expected.")
    rows = (
        Site.objects.filter(silent_since__isnull=False, paused=False)
        .only("name")
        .order_by("pk")[:MAX_CAUSES]
    )
    return [
        Cause(
            f"silent {site.pk}",
            "silence",
            text,
            {"site": site.name},
            f"/admin/forums/site/{site.pk}/",
        )
        for site in rows
    ]


def _dropped() -> list[Cause]:
    text = gettext_noop(
        "%(site)s has %(share)s %% less new content than usual: %(items)s items in two days,"
        " usually %(usual)s."
    )
    rows = (
        Site.objects.filter(~Q(drop={}), paused=False)
        .only("name", "drop")
        .order_by("pk")[:MAX_CAUSES]
    )
    return [
        Cause(
            f"drop {site.pk}",
            "drop",
            text,
            {"site": site.name, **dropped(site.drop["items"], site.drop["usual"])},
            f"/admin/forums/site/{site.pk}/",
        )
        for site in rows
    ]


def _over(now: datetime) -> list[Cause]:
    """Returns a cause for each site that has boards whose posts wait longer on average than the
    operator's target for the board; the figures are those of the delay report."""
    text = gettext_noop(
        "Posts of %(site)s wait too long. Boards over their target: %(count)s; the worst is"
        " %(board)s with %(hours)s hours on average (target: %(target)s)."
    )
    wanted = Site.objects.filter(
        paused=False, boards__enabled=True, boards__deadline_hours__isnull=False
    )
    found = []
    for site in wanted.distinct().order_by("pk")[:MAX_CAUSES]:
        over = remembered(
            f"delays-over-target-{site.pk}", WORKED_OUT_SECONDS, partial(_over_target, site, now)
        )
        if over:
            board, hours, target = max(over, key=lambda one: one[1] / one[2])
            facts = {
                "site": site.name,
                "count": len(over),
                "board": board,
                "hours": round(hours, 1),
                "target": round(target, 1),
            }
            found.append(
                Cause(
                    f"delay {site.pk}", "late", text, facts, f"/admin/forums/site/{site.pk}/delays/"
                )
            )
    return found


def _over_target(site: Site, now: datetime) -> list[tuple[str, float, float]]:
    """Returns (board name, mean delay in hours, target in hours) of each board whose mean delay
    exceeds its target."""
    plan = plans.draft(site.pk, now)
    found = delays.found(site, now, DAYS, plan.theta, plans.zone_of(plan))
    judged = [
        (found.boards[part.board], part.delay)
        for part in delays.by_board(found, found.items.hours, inf)
    ]
    return [
        (board.name, delay.mean_hours, board.deadline_hours)
        for board, delay in judged
        if board.enabled
        and board.deadline_hours is not None
        and delay.events >= FEWEST
        and delay.mean_hours is not None
        and delay.mean_hours > board.deadline_hours
    ]


def _late(now: datetime) -> list[Cause]:
    text = gettext_noop(
        "Visits of %(site)s are late: %(count)s boards, the longest overdue by %(hours)s hours."
    )
    late = Board.objects.filter(enabled=True, site__paused=False, next_visit__lt=now - LATE)
    rows = (
        late.values("site", "site__name")
        .annotate(count=Count("pk"), first=Min("next_visit"))
        .order_by("site")[:MAX_CAUSES]
    )
    found = []
    for row in rows:
        hours = int((now - row["first"]).total_seconds() // 3600)
        facts = {"site": row["site__name"], "count": row["count"], "hours": hours}
        found.append(
            Cause(f"late {row['site']}", "late", text, facts, f"/admin/forums/site/{row['site']}/")
        )
    return found


def _layouts() -> list[Cause]:
    text = gettext_noop("The layout of %(site)s has changed and could not be learned again.")
    rows = Site.objects.filter(layout__state="disagrees").only("name").order_by("pk")[:MAX_CAUSES]
    return [
        Cause(
            f"layout {site.pk}",
            "layout",
            text,
            {"site": site.name},
            f"/admin/forums/site/{site.pk}/model/",
        )
        for site in rows
    ]


def _doubts() -> list[Cause]:
    text = gettext_noop("Readings of %(site)s may be wrong: %(count)s doubts to check.")
    rows = (
        Doubt.objects.filter(settled_at__isnull=True)
        .values("site", "site__name")
        .annotate(count=Count("pk"))
        .order_by("site")
    )
    return [
        Cause(
            f"doubt {row['site']}",
            "doubt",
            text,
            {"site": row["site__name"], "count": row["count"]},
            f"/admin/forums/site/{row['site']}/model/",
        )
        for row in rows[:MAX_CAUSES]
    ]


NO_WORKER, ASKED_TO_WAIT, HOST_FAILS, VISIT_RUNS, VISIT_STANDS, NO_TURN = (
    "no_worker",
    "asked_to_wait",
    "host_fails",
    "visit_runs",
    "visit_stands",
    "no_turn",
)


@dataclass(frozen=True, slots=True)
class Why:
    """One reason why a visit is late: its code; the run or host concerned; and when the reason
    ends, if known."""

    code: str
    run: Run | None = None
    host: Host | None = None
    until: datetime | None = None


def why_late(board: Board, now: datetime) -> list[Why]:
    """Returns the reasons why an overdue board is not visited, the most important first. If nothing
    prevents the visit, the only reason is NO_TURN: the dispatcher, which runs every minute, has not
    started it yet."""
    found: list[Why] = []
    if not Node.objects.filter(ranking.are_alive(now)).exists():
        found.append(Why(NO_WORKER))
    host = Host.objects.defer("robots_text").get(pk=board.site.host_id)
    if host.retry_after_until is not None and host.retry_after_until > now:
        found.append(Why(ASKED_TO_WAIT, host=host, until=host.retry_after_until))
    elif host.failures and host.next_at > now:
        found.append(Why(HOST_FAILS, host=host, until=host.next_at))
    for run in reads.active_runs([board.site_id]):
        found.append(Why(VISIT_STANDS if run.state == "paused" else VISIT_RUNS, run=run))
    return found or [Why(NO_TURN)]
