"""Measured delays: how long each post had waited when a visit found it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import F

from forums.models import Visit

# number of posts stored individually per visit; further ones only enter its sums and counts
KEPT_ARRIVALS = 2000


def note(visit: Visit, arrivals: Iterable[tuple[datetime, bool, int]], now: datetime) -> None:
    """Adds the waiting times of a page's new posts to their visit; eq. (1) and (2) of the forum
    paper.

    arrivals: (time posted, whether it is a first post, precision of the time in seconds). Only
    posts made after the watching of the board began are counted. A post whose time is given only to
    the minute counts if that minute ends after the beginning.
    """
    since = visit.board.watched_since
    if since is None:
        return
    found = [
        (posted, opener, max(0.0, (now - posted).total_seconds()))
        for posted, opener, precision in arrivals
        if posted + timedelta(seconds=precision) > since
    ]
    if not found:
        return
    kept = Visit.objects.values_list("arrivals", flat=True).get(pk=visit.pk)
    kept += [
        [round(posted.timestamp(), 3), int(opener), round(delay, 3)]
        for posted, opener, delay in found
    ]
    new, replies = (
        [delay for _, is_new, delay in found if is_new is kind] for kind in (True, False)
    )
    Visit.objects.filter(pk=visit.pk).update(
        arrivals=kept[:KEPT_ARRIVALS],
        arrived_new=F("arrived_new") + len(new),
        arrived_replies=F("arrived_replies") + len(replies),
        delay_new_seconds=F("delay_new_seconds") + sum(new),
        delay_replies_seconds=F("delay_replies_seconds") + sum(replies),
    )
