"""The home page of the web interface: an overall status, and numbers for the last day with a small
chart each; and the numbers of the status bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import charts, site, words
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import number, share
from crawlmgr.admin.views import OPEN_PRIVATE, admin_view, back, page, post_view
from crawlmgr.database import caches
from crawlmgr.frontier import host_reads
from crawlmgr.runs import run_reads
from crawlmgr.schedule import due
from crawlmgr.upkeep import demonstration
from crawlmgr.workers import nodes as status_reads
from crawlmgr.workers import queue

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


RUNS_SHOWN = 8
MIN_ENDED = 4  # as many ended runs as active ones are listed, but at least this number
ALARM_LINKS = {"no_workers": "workers", "disk_low": "archive"}
ALARM_WORDS = {"no_contact": "no_contact_set", "disk_low": "disk_full"}


def home(request: HttpRequest) -> HttpResponse:
    """Shows the home page: active runs, what is scheduled next, and current problems. If there are
    no runs yet, it explains how to begin."""
    now = datetime.now(UTC)
    live = request.GET.get("part") == "live"
    context: dict[str, Any] = {
        "now": now,
        "active": (active := run_reads.active(RUNS_SHOWN)),
        "ended": run_reads.ended(max(len(active), MIN_ENDED)),
        "alarms": alarms(request, now),
        "replayed": demonstration.replaying(),
    }
    context["panels"] = [
        found for _order, panel in desk_site.panels if (found := panel(request, now)) is not None
    ]
    wanted = len(context["alarms"]) + sum(found.get("alarms", 0) for found in context["panels"])
    context["head"] = head(request, now, wanted)
    if not context["active"] and not context["ended"] or demonstration.is_requested():
        context |= _beginnings(request, active=bool(active))
    context["may_see"] = request.user.has_perm("crawlmgr.view_run")
    if not live:
        context["charts"] = [requests_chart(now)] if context["may_see"] else []
    return page(
        request,
        "desk/home.html",
        context,
        title=_("Overview"),
        item="home",
        live="desk/home_live.html",
    )


def _beginnings(request: HttpRequest, *, active: bool) -> dict[str, Any]:
    """Returns the template values of the home page for an installation without runs or with the
    demonstration: the kinds of crawls that can be added, and the state of the demonstration and of
    its guided tour. `active` tells whether a run is active."""
    kinds = [
        {"kind": one, "url": reverse(f"admin:{one.view}")}
        for _order, one in desk_site.beginnings
        if request.user.has_perm(one.permission)
    ]
    known = site.tour_steps(request) if demonstration.is_requested() else {}
    return {
        "kinds": kinds,
        "tour_steps": [
            (number, step, site.tour_address(known, number)) for number, step in known.items()
        ],
        "tour_ahead": len(desk_site.tour) - len(known),
        "demonstration": demonstration.is_requested(),
        "working": active or len(known) < len(desk_site.tour),
        "may_demonstrate": demonstration.possible() and request.user.has_perm(OPEN_PRIVATE),
    }


@post_view("demonstration/start/", "demonstration-start", OPEN_PRIVATE)
def demonstrate(request: HttpRequest) -> HttpResponse:
    """Starts the demonstration. It crawls addresses of this machine, so the user needs the
    permission to allow private addresses."""
    if not demonstration.possible():
        messages.error(
            request,
            _(
                "The demonstration can be started here only if the program was started with"
                " `manage.py serve`; otherwise run `manage.py demo`."
            ),
        )
        return back(request, "index")
    demonstration.request()
    return back(
        request,
        "index",
        done=_("The demonstration starts; its forum, topic and search site appear here."),
    )


@post_view("demonstration/end/", "demonstration-end", OPEN_PRIVATE)
def end_demonstration(request: HttpRequest) -> HttpResponse:
    """Stops the demonstration; the pages crawled from it are kept."""
    demonstration.end()
    return back(
        request,
        "index",
        done=_(
            "The demonstration is ending. Its data is kept; `manage.py demo --remove` deletes it."
        ),
    )


def requests_chart(now: datetime) -> charts.Chart:
    """Returns the chart of the requests per hour to all hosts in the last 48 hours."""
    rows = last_hours(now)
    hours = [row.hour for row in rows]
    series = [
        charts.Series(
            _("answered"), hours, [row.requests - row.errors for row in rows], charts.NEW
        ),
        charts.Series(_("errors"), hours, [row.errors for row in rows], charts.BAD),
    ]
    return charts.chart(
        "chart-requests",
        _("Requests"),
        series,
        x=_("hour (UTC)"),
        y=_("requests per hour"),
        note=_("the last 48 hours"),
    )


def alarms(request: HttpRequest, now: datetime) -> list[dict[str, Any]]:
    """Returns the current problems for the home page, as dictionaries: `text` (a sentence), `at`
    (its time), `url` (of a page about the problem, "" for none) and, for a failed run, `again`
    (address that resumes it, "" if the user may not).
    """
    may = request.user.has_perm("crawlmgr.change_run")
    lines: list[dict[str, Any]] = []
    if (hold := due.current()) is not None:
        lines.append(
            {
                "text": _("All crawling is paused:"),
                "at": hold.since,
                "url": reverse("admin:schedules"),
            }
        )
    for alarm in status_reads.alarms(now):
        line: dict[str, Any] = {
            "text": words.say(ALARM_WORDS.get(alarm.code, alarm.code)),
            "at": alarm.at,
            "url": "",
        }
        if alarm.run is not None:
            reason = words.ended(alarm.run.kind, alarm.run.stopped_by)
            line["text"] = _("%(name)s failed: %(reason)s") % {
                "name": alarm.run.label,
                "reason": reason,
            }
            line["url"] = reverse("admin:run", args=[alarm.run.pk])
            line["again"] = reverse("admin:run-resume", args=[alarm.run.pk]) if may else ""
        elif alarm.host is not None:
            line["text"] = ngettext(
                "%(host)s failed %(count)s time in a row; next request:",
                "%(host)s failed %(count)s times in a row; next request:",
                alarm.count,
            ) % {"host": alarm.host.key, "count": alarm.count}
            line["url"] = reverse("admin:host", args=[alarm.host.pk])
        elif alarm.code in ALARM_LINKS:
            line["url"] = reverse(f"admin:{ALARM_LINKS[alarm.code]}")
        lines.append(line)
    return lines


@admin_view("status.json", "status")
def status(request: HttpRequest) -> HttpResponse:
    """Returns the texts of the status bar as JSON; the browser polls it every few seconds."""
    now = datetime.now(UTC)
    state = status_reads.status(now)
    tasks = queue.length()
    light = "ok" if state.nodes and not state.silent else "warn" if state.nodes else "bad"
    error = None
    if state.last_error is not None:
        target = (
            reverse("admin:run", args=[state.last_error.run_id])
            if state.last_error.run_id
            else reverse("admin:events")
        )
        text = f"{words.say(state.last_error.code)}: {words.happened(state.last_error)}"
        error = {"text": text, "at": state.last_error.at.isoformat(), "url": target}
    workers = ngettext("%(count)s worker", "%(count)s workers", state.workers) % {
        "count": state.workers
    }
    pages = ngettext("%(count)s page a minute", "%(count)s pages a minute", state.pages_a_minute)
    flying = host_reads.in_flight_total(now)
    requests = ngettext("%(count)s request in flight", "%(count)s requests in flight", flying)
    body = {
        "light": light,
        "workers": workers if state.nodes else _("no worker alive"),
        "rate": _rate(
            " · ".join((pages % {"count": state.pages_a_minute}, requests % {"count": flying}))
        ),
        "runs": runs_told(state),
        "queue": (
            ngettext("%(count)s task queued", "%(count)s tasks queued", tasks) % {"count": tasks}
        ),
        "error": error,
    }
    return JsonResponse(body, headers={"Cache-Control": "no-store"})


def _rate(now: str) -> str:
    """Returns the text of the status bar about speed: `now`, a text with the current figures. While
    the demonstration replays past days, returns a text with the past time that it has reached
    instead: its pages are stored with that time and do not count in the current figures."""
    replayed = demonstration.replaying()
    return (
        now
        if replayed is None
        else _("the demonstration replays %(time)s UTC") % {"time": f"{replayed:%m-%d %H:%M}"}
    )


def runs_told(state: status_reads.Status) -> str:
    """Returns the text of the status bar about runs: how many are running, how many of these wait
    (for a host or their working hours), and how many are queued, because no worker has taken them.
    """
    figures = {"running": state.running, "waiting": state.waiting, "queued": state.queued}
    if state.waiting:
        return (
            _("Runs: %(running)s running (%(waiting)s of them waiting), %(queued)s queued")
            % figures
        )
    return _("Runs: %(running)s running, %(queued)s queued") % figures


desk_site.home = home
desk_site.add_page(0, gettext_lazy("Overview"), "index", "dashboard", "home", permission="")
