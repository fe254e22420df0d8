"""Charts of forums: posts by day and board; new, updated and unchanged threads by visit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin.charts import COLOURS, NEW, UNCHANGED, UPDATED, Chart, Series, chart, heatmap
from forums.models import Board, Site
from forums.sites import reads
from forums.sites.reads import pattern

WEEKDAYS = (
    gettext_noop("Mon"),
    gettext_noop("Tue"),
    gettext_noop("Wed"),
    gettext_noop("Thu"),
    gettext_noop("Fri"),
    gettext_noop("Sat"),
    gettext_noop("Sun"),
)


def posts_by_day(site: Site, now: datetime) -> Chart:
    """Returns a chart of a forum's posts per day over the last 30 days, one colour per board."""
    days = reads.last_days(now, site.zone)
    series = [
        Series(one.name or _("other boards"), days, [one.days.get(day, 0) for day in days], colour)
        for one, colour in zip(reads.posts_by_day(site, now), COLOURS, strict=False)
    ]
    return chart(
        "chart-posts",
        _("Posts by day and board"),
        series,
        x=_("day (%(zone)s)") % {"zone": site.timezone},
        y=_("posts a day"),
        note=_("the last 30 days"),
    )


def site_visits(site: Site) -> Chart:
    """Returns a chart of the numbers of new, updated and unchanged threads in each of a forum's
    recent runs."""
    runs = reads.site_runs(site)
    return _visits(
        "chart-runs",
        [f"#{run.pk}" for run in runs],
        [(run.new, run.updated, run.unchanged) for run in runs],
        _("run"),
    )


def board_by_day(board: Board, now: datetime) -> Chart:
    """Returns a chart of a board's new threads and replies per day over the last 30 days."""
    local = board.site.zone
    days = reads.last_days(now, local)
    sums = reads.board_by_day(board, local, now)
    series = [
        Series(_("new threads"), days, [sums.get(day, (0, 0))[0] for day in days], NEW),
        Series(_("replies"), days, [sums.get(day, (0, 0))[1] for day in days], UPDATED),
    ]
    drawn = chart(
        "chart-posts",
        _("Posts by day"),
        series,
        x=_("day (%(zone)s)") % {"zone": board.site.timezone},
        y=_("posts a day"),
        note=_("the last 30 days; drag over days to see their threads"),
    )
    return replace(drawn, brush="board-threads")


def hourly(board: Board, now: datetime) -> list[Chart]:
    """Returns two charts of a board in the last four weeks: posts and visits by hour of the day,
    and posts by weekday and hour."""
    found, hours = pattern(board, board.site.zone, now), list(range(24))
    clock = _("hour of the day (%(zone)s)") % {"zone": board.site.timezone}
    series = [
        Series(_("posts"), hours, found.posts, NEW),
        Series(
            _("visits"), hours, found.visits, UNCHANGED, line=True, points=True, second_axis=True
        ),
    ]
    note = _("the last four weeks")
    return [
        chart(
            "chart-hours",
            _("Hourly pattern"),
            series,
            x=clock,
            y=_("posts a day"),
            y2=_("visits per day"),
            numbers=True,
            note=note,
        ),
        heatmap(
            "chart-week",
            _("Posts by weekday and hour"),
            [f"{hour:02}" for hour in hours],
            [_(day) for day in WEEKDAYS],
            found.week if any(map(any, found.week)) else [[None] * 24],
            x=clock,
            y=_("weekday"),
            z=_("posts"),
            note=note,
        ),
    ]


def board_visits(board: Board) -> Chart:
    """Returns a chart of the numbers of new, updated and unchanged threads in each of a board's
    recent visits."""
    found = reads.board_visits(board)
    return _visits(
        "chart-visits",
        [f"#{visit.run_id}" for visit in found],
        [(v.new, v.updated, v.unchanged) for v in found],
        _("run"),
    )


def _visits(key: str, names: list[str], rows: list[tuple[int, int, int]], x: str) -> Chart:
    parts = ((_("new"), NEW), (_("updated"), UPDATED), (_("unchanged"), UNCHANGED))
    series = [
        Series(name, names, [row[index] for row in rows], colour)
        for index, (name, colour) in enumerate(parts)
    ]
    return chart(
        key,
        _("Threads by visit"),
        series,
        x=x,
        y=_("threads"),
        dates=False,
        note=_("the last visits"),
    )
