"""The top of the home page: an overall status, and numbers for the last day, each with a small
chart of its trend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import number, share
from crawlmgr.database import caches
from crawlmgr.frontier import host_reads

DAY = timedelta(hours=24)
TREND_DAYS = 14
HOURS = 48
# for how long numbers are cached, because every open browser refreshes the page every few seconds
KEPT_SECONDS = 5.0
WIDTH, HEIGHT, GAP = 72.0, 22.0, 1.0  # size of a trend chart and gap between its bars, in pixels
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tile:
    """One number: its name with its period, its value as text, and the page with details. `look` is
    "warn" if it needs attention. `trend` are values of the same number for equal periods, oldest
    first; the last period is not over.
    """

    name: str
    value: str
    url: str = ""
    note: str = ""
    look: str = ""
    trend: Sequence[float] = ()

    @property
    def bars(self) -> list[tuple[str, str, str, str]]:
        """(x, y, width, height) of each bar of the trend, as text in pixels; empty if there is no
        trend or all values are 0."""
        top = max(self.trend, default=0.0)
        if top <= 0:
            return []
        wide = WIDTH / len(self.trend)
        high = [max(1.0, value / top * HEIGHT) if value > 0 else 0.0 for value in self.trend]
        lines = [
            (place * wide, HEIGHT - value, wide - GAP, value) for place, value in enumerate(high)
        ]
        return [
            (f"{x:.1f}", f"{y:.1f}", f"{width:.1f}", f"{height:.1f}")
            for x, y, width, height in lines
        ]


Maker = Callable[[HttpRequest, datetime], Sequence[Tile]]
"""Function that returns the tiles of one crawler; none if it has no data yet or the user may not
see it."""


def remembered(name: str, make: Callable[[], T]) -> T:
    """Returns the result of `make`, cached under `name` for KEPT_SECONDS."""
    return caches.remembered(f"tile-{name}", KEPT_SECONDS, make)


def last_hours(now: datetime) -> list[host_reads.Hour]:
    """Returns the requests to all hosts in each of the last HOURS hours, including hours without
    any."""
    return remembered("hours", lambda: host_reads.filled(host_reads.hourly(now, HOURS), now, HOURS))


def head(request: HttpRequest, now: datetime, alarms: int) -> dict[str, Any]:
    """Returns the template values for the status sentence and the tiles; `alarms` is the number of
    problems that the page lists. {} if there are no tiles."""
    tiles = [tile for _order, make in desk_site.tiles for tile in make(request, now)]
    if not tiles:
        return {}
    wanted = alarms + sum(tile.look != "" for tile in tiles)
    text = (
        ngettext("%(count)s problem needs attention.", "%(count)s problems need attention.", wanted)
        % {"count": wanted}
        if wanted
        else _("No problems.")
    )
    return {
        "well": wanted == 0,
        "text": text,
        "tiles": tiles,
        "width": f"{WIDTH:.0f}",
        "height": f"{HEIGHT:.0f}",
    }


def _requests(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns a tile with the requests of the last 24 hours over all hosts, hour by hour; () if
    there were none or the user may not see them."""
    if not request.user.has_perm("crawlmgr.view_run"):
        return ()
    hours = last_hours(now)[-24:]
    asked, errors = sum(hour.requests for hour in hours), sum(hour.errors for hour in hours)
    if not asked:
        return ()
    note = _("%(share)s failed") % {"share": share(errors / asked)} if errors else _("none failed")
    trend = [float(hour.requests) for hour in hours]
    return (Tile(_("Requests in 24 h"), number(asked), reverse("admin:hosts"), note, "", trend),)


desk_site.add_tile(90, _requests)
