"""The delay report: how long posts waited until visits found them, compared with the plan's
expectation and with equal visits to all boards."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.charts import NEW, UNCHANGED, UPDATED, Chart, Series, chart, heatmap
from crawlmgr.admin.tags import duration
from crawlmgr.admin.views import admin_view, page
from crawlmgr.exports.text_formats import safe_cell
from forums.admin import site_table
from forums.admin.charts import WEEKDAYS
from forums.admin.tuning import find_scope, trail
from forums.models import Site
from forums.plans import plans
from forums.plans import reads as plan_reads
from forums.plans.reads import Waiting
from forums.schedule import delay_report, equations
from forums.schedule.delay_report import DelaySummary
from forums.schedule.events import Floats
from forums.visits import delays as reads

DAYS = (
    (7, gettext_lazy("7 days")),
    (14, gettext_lazy("14 days")),
    (30, gettext_lazy("30 days")),
    (90, gettext_lazy("90 days")),
)
BOARDS_SHOWN = 300


class ReportForm(forms.Form):
    """Form of the report: the number of days, and the delay in hours up to which a post counts as
    found in time."""

    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=14)
    target = forms.FloatField(min_value=0.01, max_value=1000, initial=1)


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of the report, for one site or all, over the number of days chosen in the form.

    found: the boards, and the posts fetched by scheduled visits with their delays. delay: summary
    of these delays. era_hours, era: the same posts' delays in hours, and their summary, if as many
    visits per day (`visits_per_day`, over all boards) had been divided equally; None if less than a
    day was measured (`measured_hours`). expected: for the planned visits,
    the delays that were expected and those measured. target: hours within which a post counts as
    found in time. waiting: posts shown by overview sources and not fetched yet.
    """

    found: reads.Found
    expected: reads.Expected
    era_hours: Floats | None
    visits_per_day: float | None
    delay: DelaySummary
    era: DelaySummary | None
    measured_hours: float
    target: float
    waiting: list[Waiting]

    @property
    def waiting_posts(self) -> int:
        """Number of posts that overview sources show and no visit has fetched."""
        return round(sum(one.posts for one in self.waiting))

    @property
    def waiting_hours(self) -> float | None:
        """Mean time in hours for which the posts shown but not fetched have waited so far; None if
        there are none."""
        weight = sum(one.weight for one in self.waiting)
        return sum(one.weighted_hours for one in self.waiting) / weight if weight > 0 else None

    @property
    def mean_with_waiting(self) -> float | None:
        """Mean delay in hours including the posts still waiting, with their waiting time so far;
        None without posts."""
        weight = float(self.found.items.weights.sum()) + sum(one.weight for one in self.waiting)
        waited = equations.total_delay(self.found.items.weights, self.found.items.hours)
        return (
            (waited + sum(one.weighted_hours for one in self.waiting)) / weight
            if weight > 0
            else None
        )

    @property
    def precision(self) -> float | None:
        """Share of changed threads among the fetched ones, None if none was fetched."""
        sums = self.found.sums
        return sums["changed"] / sums["fetched"] if sums["fetched"] else None

    @property
    def recall(self) -> float | None:
        """Share of changed threads that were fetched. Every failed fetch is counted as a changed
        thread that was not fetched. None if no changed thread was fetched, or if the lists do not
        show the time of the last reply.
        """
        sums = self.found.sums
        shown = any(board.has_last_reply for board in self.found.boards)
        return (
            sums["changed"] / (sums["changed"] + sums["failed"])
            if shown and sums["changed"]
            else None
        )


def _report(site: Site | None, now: datetime, days: int, target: float) -> Report:
    plan = plans.draft(site.pk if site else None, now)
    own = plans.zone_of(plan)
    found = reads.found(site, now, days, plan.theta, own)
    since = datetime.combine(found.first, datetime.min.time(), own)
    watched = min(
        (board.watched_since for board in found.boards if board.watched_since is not None),
        default=since,
    )
    # days before the first visit do not count
    begin = max(since, watched)
    elapsed = (now - begin).total_seconds() / 86400
    items, visits = found.items, found.sums["visits"]
    era = None
    if elapsed >= 1 and visits and len(items):
        rate, start, end = visits / elapsed, begin.timestamp(), now.timestamp()
        era = delay_report.with_equal_visits(items, len(found.boards), rate, start, end)
    length = max(elapsed, 1 / 24)
    return Report(
        found,
        reads.expected(site, since, plan.theta),
        era,
        visits / elapsed if elapsed >= 1 else None,
        delay_report.summary(items, items.hours, length, target),
        None if era is None else delay_report.summary(items, era, length, target),
        24 * elapsed,
        target,
        plan_reads.shown(site, now),
    )


def _sentence(report: Report) -> str:
    """Returns a sentence that compares the posts' mean delay with that under equally many visits of
    each board, as soon as a day was measured; "" without posts."""
    mean, posts = report.mean_with_waiting, len(report.found.items)
    equal = report.era.mean_hours if report.era is not None else None
    if mean is None or not posts:
        return ""
    waits = duration(3600.0 * mean)
    if equal is None:
        return _(
            "%(posts)s posts waited %(waits)s on average. The comparison with equal visits needs a"
            " day; %(measured)s were measured."
        ) % {"posts": posts, "waits": waits, "measured": duration(3600.0 * report.measured_hours)}
    values = {
        "waits": waits,
        "equal": duration(3600.0 * equal),
        "visits": f"{report.visits_per_day:.3g}",
    }
    return (
        _(
            "Posts waited %(waits)s on average; with equal visits at the same cost (%(visits)s a"
            " day) they would have waited %(equal)s."
        )
        % values
    )


@admin_view("forums/site/<int:pk>/delays/", "forum-delays", "forums.view_plan")
def delay_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the report of a site, or (`pk` 0) of all."""
    site, now = find_scope(pk), datetime.now(UTC)
    form = ReportForm(
        {"days": request.GET.get("days", "14"), "target": request.GET.get("target", "1")}
    )
    chosen: dict[str, Any] = form.cleaned_data if form.is_valid() else {"days": 14, "target": 1.0}
    report = _report(site, now, chosen["days"], chosen["target"])
    query = urlencode(chosen)
    here = reverse("admin:forum-delays-export", args=[pk, "TABLE"])
    tables = ((_("boards"), "boards"), (_("days"), "days"), (_("every post"), "posts"))
    context = {
        "site": site,
        "pk": pk,
        "tabs": site_table.of_forum(request, pk, "forum-delays"),
        "report": report,
        "sentence": _sentence(report),
        "wrong": not form.is_valid(),
        "chosen": chosen,
        "choices": [(value, name, value == chosen["days"]) for value, name in DAYS],
        "rows": _board_rows(report)[:BOARDS_SHOWN],
        "charts": _charts(report) if len(report.found.items) else [],
        "exports": [(name, f"{here.replace('TABLE', table)}?{query}") for name, table in tables],
    }
    title = _("Delays") if site is not None else _("Delays of all forums")
    item = f"site:{pk}" if site is not None else "plan:all"
    return page(request, "forums/delays.html", context, title=title, item=item, trail=trail(site))


def _board_rows(report: Report) -> list[dict[str, Any]]:
    """Returns table rows of the boards with posts in the period, those with the most total delay
    first."""
    found = report.found
    targets = reads.targets(found.boards, report.target)
    parts = reads.by_board(found, report.era_hours, report.target)
    shown = {one.board: one.posts for one in report.waiting}
    rows = []
    for part in parts:
        board = found.boards[part.board]
        hoped, measured = report.expected.boards.get(board.pk, (0.0, 0.0))
        mean = part.delay.mean_hours
        rows.append(
            {
                "board": board,
                "delay": part.delay,
                "era": part.era_hours,
                "target": targets[part.board],
                "waiting": round(shown[board.pk]) if board.pk in shown else None,
                "expected": mean * hoped / measured if mean is not None and measured > 0 else None,
                "ratio": mean / part.era_hours if mean is not None and part.era_hours else None,
            }
        )
    return sorted(rows, key=lambda row: -row["delay"].total_per_day)


def _charts(report: Report) -> list[Chart]:
    items, days = report.found.items, report.found.days
    dates = [report.found.first + timedelta(days=day) for day in range(days)]
    by_day = delay_report.local_days(items, report.found.first, days)
    by_hour, hours = delay_report.day_hours(items), list(range(24))
    grid = delay_report.weekday_hours(items, items.hours)
    zone, clock = {"zone": str(report.found.zone)}, _("hour of the day, in each forum's zone")
    return [
        _compared(
            "chart-days",
            _("Mean delay by day"),
            dates,
            _("day (%(zone)s)") % zone,
            report,
            by_day,
            _hoped(report, dates),
        ),
        _compared(
            "chart-hours", _("Mean delay by hour of posting"), hours, clock, report, by_hour, None
        ),
        _visits_chart(report),
        heatmap(
            "chart-week",
            _("Mean delay by weekday and hour of posting"),
            [f"{hour:02}" for hour in hours],
            [_(day) for day in WEEKDAYS],
            grid,
            x=clock,
            y=_("weekday"),
            z=_("hours"),
        ),
    ]


def _hoped(report: Report, dates: list[date]) -> list[float | None]:
    """Returns the expected mean delay in hours of each day: the measured mean times the ratio of
    expected to measured delay of that day's planned visits; None for a day without posts or without
    planned visits."""
    days = delay_report.local_days(report.found.items, report.found.first, len(dates))
    means = delay_report.means(
        days, report.found.items.hours, report.found.items.weights, len(dates)
    )
    found: list[float | None] = []
    for day, mean in zip(dates, means, strict=True):
        hoped, measured = report.expected.days.get(day, (0.0, 0.0))
        found.append(mean * hoped / measured if mean is not None and measured > 0 else None)
    return found


def _compared(
    key: str,
    title: str,
    places: list[Any],
    x: str,
    report: Report,
    group: Any,
    hoped: list[float | None] | None,
) -> Chart:
    """Returns a chart of mean delays by day or hour of day (`places`, the x values): bars for the
    measured delay, lines for the delay if all boards were visited equally often and for the
    expected delay (`hoped`; None for no such line). group: for each post, its index in `places`."""
    items, count = report.found.items, len(places)

    def means(hours: Floats) -> list[float | None]:
        return delay_report.means(group, hours, items.weights, count)

    series = [Series(_("achieved"), places, means(items.hours), NEW)]
    if report.era_hours is not None:
        name, equal = _("the same posts with equal visits (era)"), means(report.era_hours)
        series.append(Series(name, places, equal, UNCHANGED, line=True, points=True))
    if hoped is not None and any(value is not None for value in hoped):
        series.append(Series(_("expected"), places, hoped, UPDATED, line=True, points=True))
    numbers = not isinstance(places[0], date)
    return chart(
        key, title, series, x=x, y=_("mean delay (hours)"), numbers=numbers, dates=not numbers
    )


def _visits_chart(report: Report) -> Chart:
    """Returns a chart of the expected and the measured delay (weighted event-hours per day) of the
    posts that planned visits found, by the hour of day of the visit."""
    hours, rows = list(range(24)), report.expected.hours
    days = report.found.days
    series = [
        Series(
            _("achieved"),
            hours,
            [rows[hour][1] / days if hour in rows else 0.0 for hour in hours],
            NEW,
        ),
        Series(
            _("expected"),
            hours,
            [rows[hour][0] / days if hour in rows else 0.0 for hour in hours],
            UPDATED,
            line=True,
            points=True,
        ),
    ]
    return chart(
        "chart-visits",
        _("Delay by hour of the visit"),
        series,
        x=_("hour of the day, in each forum's zone"),
        y=_("weighted event-hours a day"),
        numbers=True,
        empty=_(
            "No planned visit was made in these days. Visits of a plan show here; those at fixed"
            " intervals do not."
        ),
    )


@admin_view(
    "forums/site/<int:pk>/delays/<slug:table>.csv", "forum-delays-export", "forums.view_plan"
)
def export(request: HttpRequest, pk: int, table: str) -> HttpResponse | StreamingHttpResponse:
    """Exports one table of the report as CSV: `table` is "boards" or "days" (a row each), or
    "posts" (every post with its delay)."""
    site, now = find_scope(pk), datetime.now(UTC)
    form = ReportForm(
        {"days": request.GET.get("days", "14"), "target": request.GET.get("target", "1")}
    )
    if table not in ("boards", "days", "posts") or not form.is_valid():
        raise Http404(_("There is no such export."))
    days, target = form.cleaned_data["days"], form.cleaned_data["target"]
    if table == "posts":
        rows = _post_rows(site, now, days)
    else:
        report = _report(site, now, days, target)
        rows = _board_table(report) if table == "boards" else _day_table(report)
    headers = {
        "Content-Disposition": f'attachment; filename="delays-{table}-{now:%Y%m%d}.csv"',
        "Cache-Control": "no-store",
    }
    return StreamingHttpResponse(
        _csv(rows), content_type="text/csv; charset=utf-8", headers=headers
    )


class _Line:
    """A file-like object for `csv.writer` that stores nothing: `write` returns the formatted line,
    so that the file can be streamed."""

    def write(self, text: str) -> str:
        return text


def _csv(rows: Iterator[list[Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    for row in rows:
        yield writer.writerow([safe_cell(cell) for cell in row])


def _post_rows(site: Site | None, now: datetime, days: int) -> Iterator[list[Any]]:
    yield ["forum", "board", "posted", "kind", "delay_seconds"]
    known = {board.pk: board for board in reads.boards(site)}
    for board, posted, opener, waited in reads.raw_items(site, now - timedelta(days=days)):
        moment = datetime.fromtimestamp(posted, UTC)
        yield [
            known[board].site.name,
            known[board].name,
            moment,
            "new" if opener else "reply",
            waited,
        ]


def _board_table(report: Report) -> Iterator[list[Any]]:
    yield [
        "forum",
        "board",
        "url",
        "events",
        "mean_hours",
        "median_hours",
        "p90_hours",
        "share_within_target",
        "expected_mean_hours",
        "era_mean_hours",
    ]
    for row in _board_rows(report):
        board, delay = row["board"], row["delay"]
        yield [
            board.site.name,
            board.name,
            board.url,
            delay.events,
            delay.mean_hours,
            delay.median_hours,
            delay.p90_hours,
            delay.share_within_target,
            row["expected"],
            row["era"],
        ]


def _day_table(report: Report) -> Iterator[list[Any]]:
    yield ["day", "events", "mean_hours", "expected_mean_hours", "era_mean_hours"]
    found = report.found
    dates = [found.first + timedelta(days=day) for day in range(found.days)]
    group = delay_report.local_days(found.items, found.first, found.days)
    counts = [int((group == day).sum()) for day in range(found.days)]
    weights, none = found.items.weights, [None] * found.days
    mine = delay_report.means(group, found.items.hours, weights, found.days)
    equal = report.era_hours
    era = none if equal is None else delay_report.means(group, equal, weights, found.days)
    yield from (
        list(row) for row in zip(dates, counts, mine, _hoped(report, dates), era, strict=True)
    )
