"""Queries for the detection of missing posts: the hourly numbers of a forum's posts up to the last
completed visits."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from django.db.models import Sum

from forums import reads
from forums.events import Ints
from forums.models import Board, BoardHour, Site
from forums.silence import Drop, Silence, find_drop, find_silence

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
    local = reads.zone(site)
    begun = first.astimezone(local).hour
    return Record(counts, (begun + np.arange(size)) % 24)


def silent_sites() -> list[Site]:
    """Returns the forums that were silent at the last check, longest silence first, at most
    SHOWN."""
    silent = Site.objects.filter(silent_since__isnull=False, paused=False)
    return list(silent.only("id", "name", "silent_since").order_by("silent_since")[:SHOWN])
