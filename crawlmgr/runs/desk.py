"""Admin views of runs: the list, and the page of one run with live progress and buttons to pause,
resume, stop and retry it; columns, filters and actions of the list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import charts, tables, tags, words
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Action, Choice, Column, Table, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, existing, page, post_view
from crawlmgr.exports import downloads
from crawlmgr.frontier import host_reads
from crawlmgr.models import Run, RunState
from crawlmgr.runs import run_reads, runs
from crawlmgr.schedule import due, timings

MAY = "crawlmgr.change_run"
MAX_TICKED = 500
SHOWN = {
    "active": ("queued", "running", "paused"),
    "finished": ("finished",),
    "stopped": ("stopped",),
    "failed": ("failed",),
}


def _states() -> list[tuple[str, str]]:
    names = {
        "active": _("Active"),
        "finished": _("Finished"),
        "stopped": _("Stopped"),
        "failed": _("Failed"),
    }
    return [("", _("All states")), *names.items()]


def _kinds() -> list[tuple[str, str]]:
    return [
        ("", _("All kinds")),
        *((one, words.kind(one)) for one in (*settings.CRAWLERS, *settings.JOBS)),
    ]


def _name(run: Run) -> str:
    by = f" · {run.created_by}" if run.created_by else ""
    html = '<a href="{}" title="{}">{}</a><br><span class="soft small">{}{}</span>'
    return format_html(
        html, address("admin:run", run.pk), run.label, run.label, words.kind(run.kind), by
    )


def _number(run: Run) -> str:
    return format_html('<a href="{}">{}</a>', address("admin:run", run.pk), run.pk)


def _why(run: Run) -> str | None:
    return words.ended(run.kind, run.stopped_by) if run.stopped_by else None


def _end(run: Run) -> str:
    if not run.stopped_by:
        return tags.NOTHING
    look, whole = ("bad" if run.state == "failed" else ""), words.ended(run.kind, run.stopped_by)
    return format_html(
        '<span class="{}" title="{}">{}</span>', look, whole, words.brief(run.stopped_by)
    )


def _failed(run: Run) -> str:
    return format_html(
        '<span class="{}">{}</span>', "bad" if run.failed else "", tags.number(run.failed)
    )


def _counter(
    name: str,
    title: Any,
    *,
    by: bool = False,
    show: Callable[[Any], str] | None = None,
    usual: bool = True,
) -> Column:
    """Makes a column for the run's counter `name`. With `by` the list can be sorted by it; `show`
    formats the cell of a run (by default as a number); with `usual` false the column is hidden
    until chosen."""
    return Column(
        name,
        title,
        lambda run: getattr(run, name),
        show or (lambda run: tags.number(getattr(run, name))),
        falling(name) if by else None,
        look="num",
        usual=usual,
    )


def _took(run: Run) -> float | None:
    return (run.finished - run.started).total_seconds() if run.finished and run.started else None


TABLE = Table(
    "runs",
    (
        Column("id", "#", lambda run: run.pk, _number, tables.NEWEST, look="num"),
        Column("run", gettext_lazy("Run"), lambda run: run.label, _name, look="title one"),
        Column(
            "kind",
            gettext_lazy("Kind"),
            lambda run: run.kind,
            lambda run: words.kind(run.kind),
            look="nowrap",
            usual=False,
        ),
        Column("state", gettext_lazy("State"), lambda run: run.state, tags.state),
        _counter("fetched", gettext_lazy("Pages"), by=True),
        Column("failed", gettext_lazy("Failed"), lambda run: run.failed, _failed, look="num"),
        _counter("new", gettext_lazy("New"), by=True),
        _counter("updated", gettext_lazy("Updated")),
        _counter("unchanged", gettext_lazy("Unchanged")),
        _counter("bytes", gettext_lazy("Received"), by=True, show=lambda run: tags.size(run.bytes)),
        _counter("requests", gettext_lazy("Requests"), usual=False),
        _counter("refused", gettext_lazy("Refused"), usual=False),
        Column(
            "created",
            gettext_lazy("Created"),
            lambda run: run.created,
            lambda run: tags.ago(run.created),
            look="nowrap",
        ),
        Column(
            "finished",
            gettext_lazy("Ended"),
            lambda run: run.finished,
            lambda run: tags.ago(run.finished),
            falling("finished", nullable=True),
            look="nowrap",
        ),
        Column(
            "took",
            gettext_lazy("Took"),
            _took,
            lambda run: tags.duration(_took(run)),
            look="num",
            usual=False,
        ),
        Column("ended", gettext_lazy("End reason"), _why, _end, look="ended"),
    ),
    "id",
    tables.words_in("label"),
    (
        Choice(
            "show",
            gettext_lazy("State"),
            _states,
            lambda rows, code: run_reads.in_states(rows, SHOWN[code]),
        ),
        Choice("kind", gettext_lazy("Kind"), _kinds, lambda rows, code: rows.filter(kind=code)),
    ),
    (
        Action("pause", gettext_lazy("Pause"), "pause", MAY),
        Action("resume", gettext_lazy("Resume or try again"), "play_arrow", MAY),
        Action(
            "stop",
            gettext_lazy("Stop"),
            "stop",
            MAY,
            gettext_lazy("Stop the selected runs for good? The pages they fetched are kept."),
        ),
    ),
    "runs-do",
    span="finished",
)
VERBS: dict[str, tables.Verb] = {
    "pause": lambda _request, run, now: runs.pause(run.pk, now),
    "resume": lambda _request, run, now: runs.resume(run.pk, now),
    "stop": lambda _request, run, now: runs.stop(run.pk, now),
}


@post_view("runs/do/", "runs-do", MAY)
def do(request: HttpRequest) -> HttpResponse:
    """Pauses, resumes or stops the selected runs, and reports how many were in a state that does
    not allow it."""

    def success_text(count: int) -> str:
        return ngettext("Applied to %(count)s run.", "Applied to %(count)s runs.", count)

    return tables.carry_out(
        request, TABLE, Run.objects.only("pk"), VERBS, reverse("admin:runs"), success_text
    )


# Functions that add details to the page of a run, by kind of run; each crawler's admin module
# registers its own. They return values for the page's template, among them usually the name of a
# further template ("template").
details: dict[str, Callable[[HttpRequest, Run, datetime], dict[str, Any]]] = {}


@admin_view("runs/", "runs")
def run_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all runs, newest first."""
    rows = run_reads.for_lists().select_related("created_by")

    def context() -> dict[str, Any]:
        return {"downloads": downloads.choices(["runs"]), "charts": [by_day(datetime.now(UTC))]}

    return table_page(request, "desk/runs.html", TABLE, rows, context, title=_("Runs"), item="runs")


def by_day(now: datetime) -> charts.Chart:
    """Returns the chart of the runs that ended on each of the last 30 days, by their final state.
    Dragging over days filters the list below the chart."""
    days, sums = run_reads.ended_by_day(now)
    looks = (
        (RunState.FINISHED, charts.UPDATED),
        (RunState.STOPPED, charts.UNCHANGED),
        (RunState.FAILED, charts.BAD),
    )
    series = [
        charts.Series(str(state.label), days, [sums.get((day, state), 0) for day in days], colour)
        for state, colour in looks
    ]
    note = _("the last 30 days; drag over days to see their runs")
    drawn = charts.chart(
        "chart-runs", _("Runs by day"), series, x=_("day (UTC)"), y=_("runs per day"), note=note
    )
    return replace(drawn, brush=TABLE.name)


def find(pk: int) -> Run:
    return existing(run_reads.get(pk), _("There is no such run."))


@admin_view("runs/<int:pk>/", "run")
def run_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one run: its progress, its errors, and why it waits or ended."""
    run, now = find(pk), datetime.now(UTC)
    extra, flight, hosts = (
        details.get(run.kind),
        host_reads.in_flight_of_run(run, now),
        run_reads.hosts(run),
    )
    waits = run_reads.waits_of(run, now)
    report = run_reads.report(run, now, waits)
    one: Any
    for one in hosts:
        one.in_flight = flight.on.get(one.host_id, 0) if flight else 0
    context = {
        "run": run,
        "now": now,
        "story": story(run, now, waits),
        "occupied": waits.because == "connections",
        "rate": run_reads.rate(run, now),
        "report": report,
        "fetches": run.kind not in settings.JOBS,
        "pages": run_reads.recent_pages(run),
        "misses": run_reads.recent_failures(run),
        "flight": flight,
        "hosts": hosts,
        "events": run_reads.events(run),
        "detail": extra(request, run, now) if extra else None,
        "downloads": downloads.choices(["pages", "links"], run=run.pk),
        "may_pause": run.state in (RunState.QUEUED, RunState.RUNNING) and not run.wanted,
        "may_resume": run.state == RunState.PAUSED,
        "may_stop": run.active and run.wanted != "stop",
        "may_retry": run.state == RunState.FAILED,
        "may_go_on": run.state == RunState.RUNNING and timings.is_of_hours(run.waiting_for),
    }
    if request.GET.get("part") != "live":
        context["neighbours"] = run_reads.neighbours(run)
    trail = [(_("Runs"), reverse("admin:runs"))]
    answer = page(
        request,
        "desk/run.html",
        context,
        title=f"{run.label} #{run.pk}",
        item="runs",
        trail=trail,
        live="desk/run_live.html",
    )
    if not run.active:
        answer["X-Desk-Done"] = "1"
    return answer


def story(run: Run, now: datetime, waits: run_reads.Waiting | None = None) -> dict[str, Any]:
    """Describes a run's state for its page: what it is doing, why it waits, or why it ended.
    Returns a dictionary with `look` (style), `icon` and `text`, in some states also `until` (a time
    to show after the text) and `detail` (a further reason). `waits` is what the run waits for; it
    is looked up if not given."""
    if run.wanted == "stop":
        return {"look": "warn", "icon": "stop_circle", "text": _("Stops after the current page.")}
    if run.wanted == "pause":
        return {"look": "warn", "icon": "pause_circle", "text": _("Pauses after the current page.")}
    waits = run_reads.waits_of(run, now) if waits is None else waits
    if waits != run_reads.Waiting():
        return _wait(run, waits, now)
    if run.state == RunState.RUNNING:
        return {
            "look": "ok",
            "icon": "play_circle",
            "text": _("Working. Last progress:"),
            "until": run.progressed or run.started,
        }
    if run.state == RunState.PAUSED:
        if run.stopped_by:
            why = words.ended(run.kind, run.stopped_by)
        elif (hold := due.current()) and run.pk in hold.runs:
            why = _("all crawling is paused; the run continues when all crawling is resumed")
        else:
            why = _("by a user, or because its command was ended; resume it at any time")
        return {
            "look": "warn",
            "icon": "pause_circle",
            "text": _("Paused: %(reason)s.") % {"reason": why},
            "detail": words.say(run.detail),
        }
    look, sign = {
        RunState.FINISHED: ("ok", "check_circle"),
        RunState.STOPPED: ("warn", "stop_circle"),
    }.get(RunState(run.state), ("bad", "error"))
    reason = words.ended(run.kind, run.stopped_by) or run.get_state_display()
    return {
        "look": look,
        "icon": sign,
        "text": _("Ended: %(reason)s.") % {"reason": reason},
        "detail": words.say(run.detail),
        "until": run.finished,
    }


def _wait(run: Run, waits: run_reads.Waiting, now: datetime) -> dict[str, Any]:
    """Returns the dictionary that `story` returns (style, icon, text …) for a run that waits;
    `waits` tells why and until when."""
    if waits.because == "hours":
        text = _("Started by schedule; %(waits)s. These hours begin:") % {
            "waits": words.waits(waits.what)
        }
        return {"look": "", "icon": "schedule", "text": text, "until": waits.until}
    found: dict[str, Any] = {"look": "", "icon": "hourglass_empty"}
    if waits.because == "worker":
        queued = run.state == RunState.QUEUED
        text = (
            _("Waits for a free worker.") if queued else _("Continues as soon as a worker is free.")
        )
        return {**found, "text": text, "detail": _no_free_worker(now)}
    if waits.because == "connections":
        text = _(
            "Waits for a free connection to %(host)s; run %(run)s is sending requests to it now."
        )
        return {**found, "text": text % {"host": waits.what, "run": int(waits.amount)}}
    why = {"detail": words.pause(waits.because, waits.amount)} if waits.because else {}
    text = _("Waits until %(host)s may be requested again:") % {"host": waits.what}
    return {**found, "text": text, "until": waits.until, **why}


def _no_free_worker(now: datetime) -> str:
    """Returns why no worker takes a run that waits for one, as a sentence; "" if a worker takes it
    within moments."""
    code, number = run_reads.no_free_worker(now)
    if code == "workers_busy":
        return _("All workers (%(number)s) work on other runs.") % {"number": number}
    if code == "nodes_paused":
        return _("All running nodes are paused or draining. Resume one on the page Workers.")
    return words.say(code)


@post_view("runs/<int:pk>/pause/", "run-pause", "crawlmgr.change_run")
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    find(pk)
    attempt(
        request,
        _("The run pauses after the current page."),
        lambda: runs.pause(pk, datetime.now(UTC)),
    )
    return back(request, "run", pk)


@post_view("runs/<int:pk>/resume/", "run-resume", "crawlmgr.change_run")
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Resumes a paused run or retries a failed one; it continues from where it stopped."""
    find(pk)
    attempt(
        request,
        _("The run continues where it stopped."),
        lambda: runs.resume(pk, datetime.now(UTC)),
    )
    return back(request, "run", pk)


@post_view("runs/<int:pk>/now/", "run-now", "crawlmgr.change_run")
def go_on_now(request: HttpRequest, pk: int) -> HttpResponse:
    """Lets a run that waits for its working hours continue now, outside them."""
    find(pk)
    timings.go_on_now(pk)
    return back(request, "run", pk, done=_("The run continues now, regardless of its hours."))


@post_view("runs/<int:pk>/stop/", "run-stop", "crawlmgr.change_run")
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    find(pk)
    attempt(
        request,
        _("The run stops after the current page."),
        lambda: runs.stop(pk, datetime.now(UTC)),
    )
    return back(request, "run", pk)


desk_site.add_page(20, gettext_lazy("Runs"), "runs", "play_circle", "runs")
