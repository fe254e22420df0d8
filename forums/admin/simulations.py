"""Admin views of simulations: event logs, experiment settings, progress, charts and table,
export."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from crawlmgr.admin import tags
from crawlmgr.admin.charts import COLOURS, Chart, Series, chart
from crawlmgr.admin.forms import LongSelect
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.exports.text_formats import safe_cell
from crawlmgr.models import Run
from crawlmgr.runs import desk as run_views
from crawlmgr.runs import runs
from forums.admin import words
from forums.admin.add import known_zone
from forums.models import EventLog, Simulation, SimulationKind, Site
from forums.schedule.bounds import MAX_THETA, MIN_THETA, USUAL_THETA
from forums.schedule.policies import POLICIES
from forums.simulation import event_logs, fetch_simulation, simulations
from forums.simulation import simulations as reads

Rows = Sequence[dict[str, Any]]


def schedules(simulation: Simulation) -> list[Chart]:
    """Returns the charts of an experiment that compares the visit schedules of several policies by
    delay."""
    rows = [row for row in simulation.result.get("rows", []) if "too_long" not in row]
    window = simulation.result.get("window", {})
    return [
        by_visits(
            rows,
            "total_delay_per_day",
            "chart-total",
            _("Delay against visits"),
            _("weighted event-hours a day"),
        ),
        by_visits(
            rows, "mean_delay_hours", "chart-mean", _("Mean delay against visits"), _("hours")
        ),
        profiles(window, simulation.setup["timezone"]),
        settling(window),
    ]


def by_visits(rows: Rows, column: str, key: str, title: str, unit: str) -> Chart:
    """Returns a chart of a figure (`column` of the rows) against visits per board and day, one line
    per policy."""
    series = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy and row[column] is not None]
        own.sort(key=lambda row: row["visits_per_board"])
        numbers, values = [row["visits_per_board"] for row in own], [row[column] for row in own]
        if own:
            series.append(_line(policy, numbers, values))
    return chart(
        key,
        title,
        series,
        x=_("visits per board and day"),
        y=unit,
        numbers=True,
        empty=_("No policy has finished yet."),
    )


def profiles(window: dict[str, Any], zone: str) -> Chart:
    """Returns a chart of the daily rhythm of the busiest boards and of all together, in weighted
    events per hour."""
    boards = window.get("profiles", [])
    bins = len(window.get("all", [])) or 1
    hours = [(number + 0.5) * 24 / bins for number in range(bins)]
    series = [
        Series(board["board"], hours, board["rates"], colour, line=True)
        for board, colour in zip(boards, COLOURS, strict=False)
    ]
    if len(boards) > 1:
        series.append(
            Series(_("all boards"), hours, window["all"], COLOURS[-1], line=True, dashed=True)
        )
    return chart(
        "chart-profiles",
        _("Daily posting rhythm"),
        series,
        x=_("hour of the day (%(zone)s)") % {"zone": zone},
        y=_("weighted posts an hour"),
        numbers=True,
        note=_("the busiest boards in the history"),
        empty=_("The history before the test is read first."),
    )


def settling(window: dict[str, Any]) -> Chart:
    """Returns a chart of how far the boards' volumes and daily rhythms, estimated from the last
    days of history only, deviate from those estimated from the whole history, by number of days."""
    rows = window.get("settling", [])
    days = [row["days"] for row in rows]
    series = [
        Series(
            _("volumes"),
            days,
            [row["weights_off"] * 100 for row in rows],
            COLOURS[0],
            line=True,
            points=True,
        ),
        Series(
            _("rhythms"),
            days,
            [row["shapes_off"] * 100 for row in rows],
            COLOURS[1],
            line=True,
            points=True,
        ),
    ]
    return chart(
        "chart-settling",
        _("How fast the estimates converge"),
        series,
        x=_("days of history"),
        y=_("deviation from the whole history (%)"),
        numbers=True,
        empty=_("The history before the test is read first."),
    )


def fetching(simulation: Simulation) -> list[Chart]:
    """Returns the charts, by day, of an experiment that compares how well policies find the changed
    threads."""
    rows = [row for row in simulation.result.get("rows", []) if "too_long" not in row]
    return [
        by_day(
            rows,
            "recall",
            "chart-recall",
            _("Recall by day"),
            _("changed threads that were fetched (%)"),
            100,
        ),
        by_day(
            rows,
            "precision",
            "chart-precision",
            _("Precision by day"),
            _("fetched threads that had changed (%)"),
            100,
        ),
        by_day(
            rows,
            "mean_delay_hours",
            "chart-delay",
            _("Mean delay by day"),
            _("hours until a post is fetched"),
            1,
        ),
        by_day(rows, "fetched", "chart-fetched", _("Fetches by day"), _("threads fetched"), 1),
    ]


def by_day(rows: Rows, column: str, key: str, title: str, unit: str, factor: float) -> Chart:
    """Returns a chart of a figure (`column` of the days' rows, times `factor`) by day, one line per
    policy."""
    series = []
    for row in rows:
        days = [day["day"] + 1 for day in row["days"]]
        values = [None if day[column] is None else day[column] * factor for day in row["days"]]
        series.append(_line(row["policy"], days, values))
    return chart(
        key,
        title,
        series,
        x=_("day of the experiment"),
        y=unit,
        numbers=True,
        empty=_("No policy has finished yet."),
    )


def _line(policy: str, x: Sequence[float], y: Sequence[float | None]) -> Series:
    dashed, colour = policy in ("clairvoyant", "oracle"), words.POLICIES[policy].colour
    return Series(words.name(policy), x, y, colour, line=True, points=True, dashed=dashed)


MAX_STEPS = 400


LONGEST_DAYS = 400


DEFAULT_POLICIES = ("era", "wra", "lra", "bra", "optimal", "adaptive", "clairvoyant")


BINS = tuple((parts, lazy(tags.duration, str)(86_400 / parts)) for parts in (96, 48, 24, 12, 8, 4))


Boxes = forms.CheckboxSelectMultiple


def _choices(names: Sequence[str]) -> list[tuple[str, Any]]:
    return [(name, words.POLICIES[name].title) for name in names]


class LogForm(forms.Form):
    """Form fields for the events of an experiment: a stored log, a new one, or a forum's stored
    posts."""

    log = forms.ModelChoiceField(
        EventLog.objects.all(),
        required=False,
        label=gettext_lazy("Event file"),
        empty_label=gettext_lazy("– choose –"),
    )
    upload = forms.FileField(
        required=False,
        label=gettext_lazy("or upload one"),
        help_text=gettext_lazy(
            "CSV file with the header board,thread,kind,ts: kind is new or reply, ts is in epoch"
            " seconds (UTC). It may be compressed with gzip."
        ),
    )
    site = forms.ModelChoiceField(
        Site.objects.only("id", "name", "timezone"),
        required=False,
        label=gettext_lazy("or the posts of a forum"),
        empty_label=gettext_lazy("– choose –"),
        widget=LongSelect,
        help_text=gettext_lazy("The forum's stored posts are copied into an event file."),
    )
    timezone = forms.CharField(
        max_length=64,
        required=False,
        validators=[known_zone],
        label=gettext_lazy("Time zone"),
        help_text=gettext_lazy("Days begin at midnight of this zone."),
    )
    start = forms.DateField(
        required=False,
        label=gettext_lazy("First day of the test"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=gettext_lazy(
            "Leave empty to let the experiment end with the last event of the file."
        ),
    )

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxSelectMultiple | forms.FileInput):
                field.widget.attrs.setdefault("class", "field")

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if sum(1 for name in ("log", "upload", "site") if found.get(name)) != 1 and not self.errors:
            raise forms.ValidationError(_("Choose one event file, upload one, or name a forum."))
        return found


class SchedulesForm(LogForm):
    """Form of the experiment on schedules (the forum paper's second experiment)."""

    policies = forms.MultipleChoiceField(
        choices=_choices(tuple(POLICIES)),
        initial=DEFAULT_POLICIES,
        widget=Boxes,
        label=gettext_lazy("Policies"),
    )
    visits_per_board = forms.CharField(
        initial="4, 5, 6, 7, 8, 9, 10, 11",
        max_length=200,
        label=gettext_lazy("Visits per board and day"),
        help_text=gettext_lazy("Whole numbers; 4-11 means all from 4 to 11."),
    )
    history_days = forms.IntegerField(
        min_value=1, max_value=LONGEST_DAYS, initial=20, label=gettext_lazy("History (days)")
    )
    test_days = forms.IntegerField(
        min_value=1, max_value=LONGEST_DAYS, initial=10, label=gettext_lazy("Test (days)")
    )
    theta = forms.FloatField(
        min_value=MIN_THETA,
        max_value=MAX_THETA,
        initial=USUAL_THETA,
        label=gettext_lazy("Weight θ of a reply"),
    )
    reading = forms.ChoiceField(
        choices=[
            ("cyclic", gettext_lazy("cyclic: no extra visit at midnight")),
            ("midnight", gettext_lazy("midnight: an extra visit each midnight")),
        ],
        label=gettext_lazy("Interpretation of the BRA formula"),
    )
    bins = forms.TypedChoiceField(
        choices=BINS, coerce=int, initial=24, label=gettext_lazy("Length of the parts of a day")
    )
    min_events = forms.FloatField(
        min_value=0,
        initial=0,
        label=gettext_lazy("Minimum events of a board"),
        help_text=gettext_lazy(
            "Number of weighted events in the history; "
            "with 0 every board with an event in the 160 days before the test takes part."
        ),
    )
    target_hours = forms.FloatField(
        min_value=0.01,
        max_value=1000,
        initial=1,
        label=gettext_lazy("Delay that is still in time (hours)"),
    )

    def clean_visits_per_board(self) -> list[int]:
        return visits_of(self.cleaned_data["visits_per_board"])

    def clean(self) -> dict[str, Any]:
        found = super().clean()
        if len(found.get("policies", ())) * len(found.get("visits_per_board", ())) > MAX_STEPS:
            said = _(
                "Policies × numbers of visits must not exceed %(number)s; choose fewer of either."
            )
            raise forms.ValidationError(said % {"number": MAX_STEPS})
        return found


class FetchingForm(LogForm):
    """Form of the experiment on finding changed threads (the forum paper's first experiment)."""

    policies = forms.MultipleChoiceField(
        choices=_choices(fetch_simulation.POLICIES),
        initial=("bic", "eic", "hazard"),
        widget=Boxes,
        label=gettext_lazy("Policies"),
    )
    days = forms.IntegerField(
        min_value=1, max_value=LONGEST_DAYS, initial=31, label=gettext_lazy("Days")
    )
    cycle_hours = forms.FloatField(
        min_value=0.25, max_value=24, initial=6, label=gettext_lazy("Cycle (hours)")
    )
    fetches = forms.IntegerField(
        min_value=1,
        required=False,
        label=gettext_lazy("Fetches per cycle"),
        help_text=gettext_lazy(
            "Not for bic. Leave empty: eic then fetches all threads that are due, the others as"
            " many as changed per cycle on average in the history."
        ),
    )


FORMS: dict[str, type[LogForm]] = {
    SimulationKind.SCHEDULES: SchedulesForm,
    SimulationKind.FETCHING: FetchingForm,
}


def visits_of(text: str) -> list[int]:
    """Parses numbers from 1 to 1,000 and ranges such as "4, 6-8"; returns each number once,
    ascending. Raises ValidationError for anything else, and if there is no number."""
    numbers: set[int] = set()
    for part in text.replace(";", ",").split(","):
        low, dash, high = part.strip().partition("-")
        if not low.strip():
            continue
        if not (low.strip().isdecimal() and (not dash or high.strip().isdecimal())):
            raise forms.ValidationError(
                _("“%(text)s” is not a whole number.") % {"text": part.strip()[:40]}
            )
        first, last = int(low), int(high) if dash else int(low)
        if not 1 <= first <= last <= 1000:
            raise forms.ValidationError(
                _(
                    "Numbers of visits must be from 1 to 1,000; ranges begin with the smaller"
                    " number."
                )
            )
        numbers.update(range(first, last + 1))
    if not numbers:
        raise forms.ValidationError(_("Enter at least one number of visits."))
    return sorted(numbers)


def _trail() -> list[tuple[str, str]]:
    return [(_("Forums"), reverse("admin:forums"))]


PROBLEMS = (
    (
        r"no board has enough events before (?P<day>[\d-]+)",
        gettext_noop("No board has enough events before %(day)s."),
    ),
    (
        "the log has no history before the window, or no post in it",
        gettext_noop("The event file has no event before the first day, or none after it."),
    ),
)


"""Sentences for the reasons, stored in English, why a simulation is not possible."""


def problem(simulation: Simulation) -> str:
    """Returns why a simulation is not possible, in the current language; "" if it is."""
    for pattern, text in PROBLEMS:
        if found := re.fullmatch(pattern, simulation.problem):
            return _(text) % found.groupdict()
    return simulation.problem


@admin_view("forums/simulations/", "simulations", "forums.view_simulation")
def simulation_list(request: HttpRequest) -> HttpResponse:
    """Lists all simulations and the event logs they use."""
    shown = reads.page(request.GET.dict())
    for one in shown.rows:
        one.problem = problem(one)
    context = {"slice": shown, "logs": reads.logs(), "first": _("First page"), "keep": ""}
    return page(
        request,
        "forums/simulations.html",
        context,
        title=_("Simulations"),
        item="simulations",
        trail=_trail(),
    )


@admin_view(
    "forums/simulations/new/",
    "simulation-new",
    "forums.add_simulation",
    post="forums.add_simulation",
)
def new(request: HttpRequest) -> HttpResponse:
    """Shows the form for an experiment and starts it on POST; if its start is refused, the form is
    shown again with the errors."""
    wanted = request.POST.get("kind") or request.GET.get("kind", "")
    kind = wanted if wanted in FORMS else str(SimulationKind.SCHEDULES)
    form = FORMS[kind](request.POST or None, request.FILES or None, initial=_initial(request.GET))
    if request.method == "POST" and form.is_valid():
        made = _start(request, form, kind)
        if made is not None:
            return back(request, "simulation", made.pk)
    tabs = [(_("Delay of each schedule"), "schedules"), (_("Finding changes"), "fetching")]
    context = {
        "form": form,
        "kind": kind,
        "tabs": [(text, f"?kind={code}", code == kind) for text, code in tabs],
    }
    trail, status = (
        [*_trail(), (_("Simulations"), reverse("admin:simulations"))],
        (422 if form.errors else 200),
    )
    template, title = "forums/simulation_new.html", _("New simulation")
    return page(
        request, template, context, title=title, item="simulations", trail=trail, status=status
    )


def _initial(query: QueryDict) -> dict[str, Any]:
    """Returns the form's initial values that the query string of a link to this page gives, such as
    the log or the forum."""
    names = ("log", "site", "visits_per_board", "theta", "history_days")
    return {name: query[name] for name in names if query.get(name, "").strip()}


def _start(request: HttpRequest, form: LogForm, kind: str) -> Simulation | None:
    chosen, now = form.cleaned_data, datetime.now(UTC)
    try:
        log = _log_of(request, form, now)
        setup = {
            name: value
            for name, value in chosen.items()
            if name not in ("log", "upload", "site", "start")
        }
        setup["timezone"] = chosen["timezone"] or log.timezone
        setup["start"] = chosen["start"].isoformat() if chosen["start"] else None
        return simulations.start(log, kind, setup, now=now, user=request.user)
    except ValueError as error:
        form.add_error(None, str(error))
        return None


def _log_of(request: HttpRequest, form: LogForm, now: datetime) -> EventLog:
    chosen, user = form.cleaned_data, request.user
    if upload := chosen["upload"]:
        zone = chosen["timezone"] or "UTC"
        log = event_logs.store(upload.name, upload.chunks(), now=now, timezone=zone, user=user)
        return event_logs.read_if_small(log)
    if chosen["site"]:
        log = event_logs.create_unwritten(chosen["site"], now=now, user=user)
        return event_logs.read_if_small(log)
    kept: EventLog = chosen["log"]
    return kept


def find(pk: int) -> Simulation:
    simulation = reads.get(pk)
    if simulation is None:
        raise Http404(_("There is no such simulation."))
    return simulation


@admin_view("forums/simulations/<int:pk>/", "simulation", "forums.view_simulation")
def simulation_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one simulation: progress, charts and table. With `part=live` in the query string only
    the part that is refreshed while it runs."""
    simulation, now = find(pk), datetime.now(UTC)
    active = simulation.run is not None and simulation.run.active
    context = {
        "simulation": simulation,
        "problem": problem(simulation),
        "setup": _settings(simulation),
        "run": simulation.run,
        "story": run_views.story(simulation.run, now) if simulation.run is not None else None,
        "share": round(100 * simulation.done / max(simulation.total, 1)),
        "table": [{**row, "name": words.name(row["policy"])} for row in reads.table(simulation)],
        "schedules": simulation.kind == SimulationKind.SCHEDULES,
    }
    if request.GET.get("part") != "live":
        chosen = schedules if context["schedules"] else fetching
        context["charts"] = chosen(simulation)
        context["exports"] = [
            (fmt, reverse("admin:simulation-export", args=[pk, fmt])) for fmt in ("csv", "json")
        ]
    answer = page(
        request,
        "forums/simulation.html",
        context,
        title=str(simulation),
        item="simulations",
        trail=[*_trail(), (_("Simulations"), reverse("admin:simulations"))],
        live="forums/simulation_live.html",
    )
    if not active:
        answer["X-Desk-Done"] = "1"
        if request.GET.get(
            "run"
        ):  # the run was active when the page was rendered, so its charts must be loaded again
            answer["X-Desk-Reload"] = "1"
    return answer


def _settings(simulation: Simulation) -> list[tuple[str, Any]]:
    """Returns the simulation's settings with the labels of the form."""
    form = FORMS[simulation.kind]
    shown = [
        (str(field.label), simulation.setup[name])
        for name, field in form.base_fields.items()
        if name in simulation.setup
    ]
    return [(label, _display(value)) for label, value in shown if value not in (None, "")]


def _display(value: Any) -> Any:
    return ", ".join(str(one) for one in value) if isinstance(value, list) else value


@post_view("forums/simulations/<int:pk>/stop/", "simulation-stop", "forums.change_simulation")
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    run = find(pk).run
    if run is not None:
        attempt(
            request,
            _("The simulation is stopping; its results so far are kept."),
            lambda: runs.stop(run.pk, datetime.now(UTC)),
        )
    return back(request, "simulation", pk)


@post_view("forums/simulations/<int:pk>/delete/", "simulation-delete", "forums.delete_simulation")
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    simulations.remove(find(pk), datetime.now(UTC))
    messages.success(request, _("The simulation is deleted."))
    return back(request, "simulations")


@post_view("forums/simulations/logs/<int:pk>/delete/", "event-log-delete", "forums.delete_eventlog")
def delete_log(request: HttpRequest, pk: int) -> HttpResponse:
    log = EventLog.objects.filter(pk=pk).first()
    if log is None:
        raise Http404(_("There is no such event file."))
    if Run.objects.filter(simulation__log=log, state__in=["queued", "running", "paused"]).exists():
        messages.warning(request, _("A simulation is using this file; stop it first."))
    else:
        event_logs.remove(log)
        messages.success(request, _("%(name)s is deleted.") % {"name": log.name})
    return back(request, "simulations")


@admin_view("forums/simulations/<int:pk>.<slug:fmt>", "simulation-export", "forums.view_simulation")
def export(request: HttpRequest, pk: int, fmt: str) -> HttpResponse:
    """Exports the table as CSV, or everything as JSON in the format of the command line."""
    simulation = find(pk)
    rows = reads.table(simulation)
    if fmt == "json":
        window = simulation.result.get("window", {})
        document = {
            "log": simulation.log.name,
            "kind": simulation.kind,
            "setup": simulation.setup,
            **window,
            "results": rows,
        }
        if simulation.kind == SimulationKind.FETCHING:
            document["days"] = {
                row["policy"]: row.get("days", []) for row in simulation.result.get("rows", [])
            }
        text, kind = json.dumps(document, ensure_ascii=False, indent=2), "application/json"
    elif fmt == "csv":
        names = list(dict.fromkeys(name for row in rows for name in row))
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow(names)
        writer.writerows([safe_cell(row.get(name)) for name in names] for row in rows)
        text, kind = buffer.getvalue(), "text/csv; charset=utf-8"
    else:
        raise Http404(_("There is no such export."))
    headers = {
        "Content-Disposition": f'attachment; filename="simulation-{pk}.{fmt}"',
        "Cache-Control": "no-store",
    }
    return HttpResponse(text, content_type=kind, headers=headers)


def run_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the link from a run to its simulation."""
    return {
        "link": reverse("admin:simulation", args=[run.target]),
        "link_text": _("To the simulation"),
    }


run_views.details[simulations.KIND] = run_detail
