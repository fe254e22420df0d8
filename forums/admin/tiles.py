"""The forums' figures (tiles) at the top of the home page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.dashboard import DAY, TREND_DAYS, Tile, remembered
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import duration, number
from forums.models import Board
from forums.reads import today


def _figures(now: datetime) -> dict[str, Any]:
    return {
        "day": today.visit_sums(now - DAY),
        "days": today.by_day(now, TREND_DAYS),
        "late": today.late(now),
    }


def tiles(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns tiles of new posts, their waiting time, and overdue boards; () if there is no board
    or the user may not see forums."""
    if not request.user.has_perm("forums.view_site") or not Board.objects.exists():
        return ()
    found = remembered("forums", lambda: _figures(now))
    waits = [one.mean_wait_seconds or 0.0 for one in found["days"]]
    plan = reverse("admin:forum-plan", args=[0])
    late, wait = found["late"], duration(found["day"].mean_wait_seconds)
    of_late = f"{reverse('admin:boards')}?show=late" if late else plan
    return (
        Tile(
            _("New posts in 24 h"),
            number(found["day"].posts),
            reverse("admin:forums"),
            _("bars: each of the last 14 days"),
            "",
            [float(one.posts) for one in found["days"]],
        ),
        Tile(
            _("Waiting time of new posts"),
            wait,
            plan,
            _("mean over 24 h of the time until a post was fetched; all posts count equally"),
            "",
            waits,
        ),
        Tile(
            _("Late boards"),
            number(late),
            of_late,
            _("due for more than 10 minutes"),
            "warn" if late else "",
        ),
    )


desk_site.add_tile(10, tiles)
