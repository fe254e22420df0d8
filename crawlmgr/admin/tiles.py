"""The head of the first page: is all well, and what the last day brought, each figure with its last days beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.tags import number, share
from crawlmgr.reads import hosts as host_reads
from crawlmgr.services import memory

DAY = timedelta(hours=24)
TREND_DAYS = 14
HOURS = 48
KEPT_SECONDS = 5.0  # the page asks every few seconds, for every person who has it open
WIDTH, HEIGHT, GAP = 72.0, 22.0, 1.0  # of the bars, in pixels
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure: its name with the time it is of, the value in words, where more of it stands. `look` "warn" where a person is
    wanted for it. `trend`: the same figure for equal times before, the oldest first, the last one still going on."""

    name: str
    value: str
    url: str = ""
    note: str = ""
    look: str = ""
    trend: Sequence[float] = ()

    @property
    def bars(self) -> list[tuple[str, str, str, str]]:
        """x, y, width and height of each bar of the trend; nothing where there is none to show."""
        top = max(self.trend, default=0.0)
        if top <= 0:
            return []
        wide = WIDTH / len(self.trend)
        high = [max(1.0, value / top * HEIGHT) if value > 0 else 0.0 for value in self.trend]
        lines = [(place * wide, HEIGHT - value, wide - GAP, value) for place, value in enumerate(high)]
        return [(f"{x:.1f}", f"{y:.1f}", f"{width:.1f}", f"{height:.1f}") for x, y, width, height in lines]


Maker = Callable[[HttpRequest, datetime], Sequence[Tile]]
"""Gives the tiles of one crawler; none where it has nothing yet or the person may not see it."""


def remembered(name: str, make: Callable[[], T]) -> T:
    """What `make` gave less than KEPT_SECONDS ago."""
    return memory.remembered(f"tile-{name}", KEPT_SECONDS, make)


def last_hours(now: datetime) -> list[host_reads.Hour]:
    """What was asked of all hosts in each of the last HOURS hours, the silent ones too."""
    return remembered("hours", lambda: host_reads.filled(host_reads.hourly(now, HOURS), now, HOURS))


def head(request: HttpRequest, now: datetime, alarms: int) -> dict[str, Any]:
    """The sentence and the tiles; `alarms` is how many things the page lists for a person to look at."""
    tiles = [tile for _order, make in admin.site.tiles for tile in make(request, now)]
    if not tiles:
        return {}
    wanted = alarms + sum(tile.look != "" for tile in tiles)
    text = (
        ngettext("%(count)s thing needs a person.", "%(count)s things need a person.", wanted) % {"count": wanted}
        if wanted else _("All is well.")
    )
    return {"well": wanted == 0, "text": text, "tiles": tiles, "width": f"{WIDTH:.0f}", "height": f"{HEIGHT:.0f}"}


def _requests(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Requests of the last day over all hosts, by the hour."""
    if not request.user.has_perm("crawlmgr.view_run"):
        return ()
    hours = last_hours(now)[-24:]
    asked, errors = sum(hour.requests for hour in hours), sum(hour.errors for hour in hours)
    if not asked:
        return ()
    note = _("%(share)s failed") % {"share": share(errors / asked)} if errors else _("none failed")
    trend = [float(hour.requests) for hour in hours]
    return (Tile(_("Requests in 24 h"), number(asked), reverse("admin:hosts"), note, "", trend),)


admin.site.add_tile(90, _requests)
