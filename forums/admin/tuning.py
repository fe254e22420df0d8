"""The page on which an operator tunes a plan. It previews the effect of a policy, a budget and
importances, computed from the forum's own data; when they are saved, the day is planned again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any
from unicodedata import east_asian_width

import numpy as np
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.charts import COLOURS, NEW, Chart, Series, chart
from crawlmgr.admin.tags import duration
from crawlmgr.admin.views import Trail, admin_view, back, page, post_view
from crawlmgr.database import caches
from forums.admin import site_table, words
from forums.admin.simulations import BINS
from forums.admin.sites import find as find_site
from forums.models import OverviewSource, Plan, Policy, Site
from forums.plans import plans
from forums.schedule.bounds import MAX_IMPORTANCE, MAX_THETA, MIN_IMPORTANCE, MIN_THETA
from forums.schedule.day_planning import EXACT_BOARDS
from forums.schedule.events import Floats
from forums.schedule.rhythm import DAY_HOURS
from forums.schedule.timetable import Timetable
from forums.simulation import tuning
from forums.simulation import tuning as reads
from forums.simulation.delay_simulation import SetupError

BARS = 40


NAME_LENGTH = 18  # columns of an axis label; a Chinese character takes two


def delays(
    numbers: Sequence[int],
    chosen: int,
    curves: Mapping[str, Sequence[float]],
    weight: float,
    points: Mapping[str, tuple[float, float]],
) -> Chart:
    """Returns a chart of the mean delay in hours over visits per day: a line per policy, and a
    vertical line at the chosen number.

    curves: by policy, weighted event-hours a day at each of `numbers`; weight: weighted events a
    day, by which they are divided. points: single values by policy (visits per day, hours).
    """
    scale = 1.0 / weight if weight > 0 else 0.0
    series = [
        Series(
            words.name(name),
            numbers,
            [value * scale for value in values],
            words.POLICIES[name].colour,
            line=True,
        )
        for name, values in curves.items()
    ]
    series += [
        Series(words.name(name), [x], [y], words.POLICIES[name].colour, line=True, points=True)
        for name, (x, y) in points.items()
    ]
    drawn = chart(
        "chart-curve",
        _("Expected delay against visits a day"),
        series,
        x=_("visits per day"),
        y=_("mean delay (hours)"),
        numbers=True,
        empty=_("There is no board to plan for."),
    )
    if drawn.figure:
        drawn.figure["layout"]["xaxis"].update(
            type="log",
            tickmode="array",
            tickvals=list(numbers),
            ticktext=[f"{number:,}" for number in numbers],
        )
        upright = {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": chosen,
            "x1": chosen,
            "y0": 0,
            "y1": 1,
        }
        drawn.figure["layout"]["shapes"] = [
            {**upright, "line": {"color": NEW, "width": 1, "dash": "dot"}}
        ]
    return drawn


def allocation(names: Sequence[str], visits: Floats, per_day: Floats) -> Chart:
    """Returns a chart of the visits per day of the busiest boards as bars, with their weighted
    events per day as a line."""
    order = np.argsort(-per_day, kind="stable")[:BARS]
    labels = _distinct([names[row] for row in order])
    series = [
        Series(_("visits per day"), labels, [round(float(visits[row]), 2) for row in order], NEW),
        Series(
            _("weighted events a day"),
            labels,
            [round(float(per_day[row]), 3) for row in order],
            COLOURS[2],
            line=True,
            second_axis=True,
            points=True,
        ),
    ]
    note = (
        _("the %(number)s busiest boards") % {"number": len(order)}
        if len(order) < len(names)
        else ""
    )
    return chart(
        "chart-allocation",
        _("Visits of each board"),
        series,
        x=_("board"),
        y=_("visits per day"),
        y2=_("weighted events a day"),
        dates=False,
        note=note,
    )


def _shortened(name: str) -> str:
    widths = [1 + (east_asian_width(sign) in "WF") for sign in name]
    if sum(widths) <= NAME_LENGTH:
        return name
    return name[: sum(1 for width in accumulate(widths) if width < NAME_LENGTH)] + "…"


def _distinct(names: Sequence[str]) -> list[str]:
    """Returns names shortened to the length that fits an axis; equal ones get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        short = _shortened(name)
        seen[short] = seen.get(short, 0) + 1
        found.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return found


def hours(name: str, rates: Floats, table: Timetable | None, board: int, zone: str) -> Chart:
    """Returns a chart of a board's rhythm by hour, with a mark at each visit of a day; rates:
    (bins,), weighted events per hour."""
    bins = len(rates)
    width = DAY_HOURS / bins
    edges = [number * width for number in range(bins + 1)]
    series = [
        Series(
            _("expected events an hour"),
            edges,
            [*map(float, rates), float(rates[-1])],
            NEW,
            line=True,
        )
    ]
    if table is not None:
        visits = [float(hour) for hour in table.visits_of(board)]
        heights = [float(rates[min(int(hour / width), bins - 1)]) for hour in visits]
        series.append(Series(_("visits"), visits, heights, COLOURS[4], ticks=True))
    drawn = chart(
        "chart-hours",
        _("Visit times and the board's posting rhythm"),
        series,
        x=_("hour of the day (%(zone)s)") % {"zone": zone},
        y=_("weighted posts an hour"),
        numbers=True,
        note=name,
    )
    if drawn.figure:
        drawn.figure["data"][0]["line"]["shape"] = "hv"
        drawn.figure["layout"]["xaxis"].update(range=[0, DAY_HOURS], dtick=2)
    return drawn


STAGES = ("quick", "exact", "replay")


REPLAYED = ("era", "bra", "optimal", "adaptive")


# name of the adaptive policy that uses an overview source; the key tells whether the source names
# the changed threads
BY_SOURCE = {False: "glances", True: "newest"}


REPLAY_SECONDS = 900  # seconds for which the results of a simulation on stored posts are cached


MAX_REPLAYED_BOARDS = 200


BOARDS_SHOWN = 200


FIELDS = ("policy", "visits_per_day", "theta", "history_days", "half_life_days", "bins", "active")


class TuningForm(forms.Form):
    """Form of a plan's settings with sliders and fields; importances have a separate field per
    board."""

    policy = forms.ChoiceField(choices=Policy.choices, label=gettext_lazy("Policy"))
    visits_per_day = forms.IntegerField(
        min_value=1, max_value=10_000_000, label=gettext_lazy("Visits a day")
    )
    theta = forms.FloatField(
        min_value=MIN_THETA, max_value=MAX_THETA, label=gettext_lazy("Weight θ of a reply")
    )
    history_days = forms.FloatField(
        min_value=1, max_value=400, label=gettext_lazy("History (days)")
    )
    half_life_days = forms.FloatField(
        min_value=0.5, max_value=400, required=False, label=gettext_lazy("Half-life (days)")
    )
    bins = forms.TypedChoiceField(
        choices=BINS, coerce=int, label=gettext_lazy("Length of the parts of a day")
    )
    active = forms.BooleanField(required=False, label=gettext_lazy("Use this plan"))
    requests_per_day = forms.IntegerField(
        min_value=1,
        max_value=100_000_000,
        required=False,
        label=gettext_lazy("maximum requests per day"),
    )

    def importance(self) -> tuple[float | None, dict[int, float]]:
        """Returns the importances in the form: that of the site (None if absent), and those of
        boards by id. Raises ValueError with a one-line message if one is out of range."""
        found: dict[int, float] = {}
        site: float | None = None
        for name, text in self.data.items():
            if name != "importance" and not name.startswith("importance-"):
                continue
            try:
                value = float(str(text).replace(",", "."))
            except ValueError:
                value = 0.0
            if not MIN_IMPORTANCE <= value <= MAX_IMPORTANCE:
                raise ValueError(_("Importances must be between 0.01 and 1000."))
            if name == "importance":
                site = value
            elif name.removeprefix("importance-").isdecimal():
                found[int(name.removeprefix("importance-"))] = value
        return site, found


def find_scope(pk: int) -> Site | None:
    """Returns the site with a key; None for 0, which means all sites."""
    return find_site(pk) if pk else None


def trail(site: Site | None) -> Trail:
    """Returns the breadcrumb of a plan's pages."""
    first = (_("Forums"), reverse("admin:forums"))
    return (
        [first, (site.name, reverse("admin:forum", args=[site.pk]))]
        if site is not None
        else [first]
    )


@admin_view(
    "forums/site/<int:pk>/tuning/", "forum-tuning", "forums.view_plan", post="forums.change_plan"
)
def tuning_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the settings of a plan with a preview of their effect; saves them if they were
    submitted."""
    site, now = find_scope(pk), datetime.now(UTC)
    plan = plans.draft(site.pk if site else None, now)
    form = TuningForm(
        request.POST if request.method == "POST" else {name: getattr(plan, name) for name in FIELDS}
    )
    if request.method == "POST" and form.is_valid() and _save(request, site, form, now):
        return back(request, "forum-tuning", pk)
    form.is_valid()
    known = reads.known(_drafted(plan, form), now, None, {})
    context: dict[str, Any] = {"site": site, "pk": pk, "form": form, "plan": plan}
    context["tabs"] = site_table.of_forum(request, pk, "forum-tuning")
    context |= {
        "stages": " ".join(STAGES),
        "known": known,
        "boards": _board_rows(known) if known else [],
    }
    if known is not None:
        shown = _quick(known, plan, form, exact=False)
        most = max(60, 24 * len(known.boards), 2 * plan.visits_per_day)
        context |= {
            "charts": shown["charts"],
            "facts": shown["facts"],
            "most_log": f"{math.log(most):.3f}",
        }
    title = _("Tuning") if site is not None else _("Tuning of all forums")
    item = f"site:{pk}" if site is not None else "plan:all"
    status = 422 if request.method == "POST" else 200
    return page(
        request,
        "forums/tuning.html",
        context,
        title=title,
        item=item,
        trail=trail(site),
        status=status,
    )


@post_view("forums/site/<int:pk>/tuning/preview/", "forum-tuning-preview", "forums.view_plan")
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Returns figures and parts of the page for unsaved settings, as JSON; `stage` in the form is
    the level of detail (one of STAGES)."""
    site, now = find_scope(pk), datetime.now(UTC)
    form, stage = TuningForm(request.POST), request.POST.get("stage", "")
    if stage not in STAGES or not form.is_valid():
        return JsonResponse({"error": _first_error(form)}, status=422)
    try:
        weight, importance = form.importance()
    except ValueError as error:
        return JsonResponse({"error": str(error)}, status=422)
    plan = _drafted(plans.draft(site.pk if site else None, now), form)
    known = reads.known(plan, now, weight, importance)
    if known is None:
        return JsonResponse({"error": _("There is no board to plan for.")}, status=422)
    if stage == "replay":
        return JsonResponse({"html": {"tuning-replay": _replayed(request, plan, known, pk, now)}})
    if stage == "exact" and (
        len(known.boards) > EXACT_BOARDS or plan.policy not in ("optimal", "adaptive")
    ):
        return JsonResponse({})
    with reads.exact_planner_paused() if stage == "quick" else nullcontext():
        shown = _quick(known, plan, form, exact=stage == "exact")
    return JsonResponse(
        {
            "figures": {
                one.id: {"figure": one.figure, "legend": one.legend, "note": one.note}
                for one in shown["charts"]
            },
            "html": {
                "tuning-facts": render_to_string(
                    "forums/tuning_facts.html", {"facts": shown["facts"]}, request
                )
            },
        }
    )


def _first_error(form: TuningForm) -> str:
    for name, errors in form.errors.items():
        return f"{form.fields[name].label}: {errors[0]}" if name in form.fields else str(errors[0])
    return _("There is no such preview.")


def _drafted(plan: Plan, form: TuningForm) -> Plan:
    """Sets the form's values in the plan, without saving it, and returns it; the number of visits
    is limited to the most that its boards can have."""
    for name in FIELDS:
        if name in form.cleaned_data:
            setattr(plan, name, form.cleaned_data[name])
    plan.visits_per_day = min(plan.visits_per_day, plans.most_visits(plan))
    return plan


def _save(request: HttpRequest, site: Site | None, form: TuningForm, now: datetime) -> bool:
    key = site.pk if site is not None else None
    try:
        weight, importance = form.importance()
        plans.save(
            key, {name: form.cleaned_data[name] for name in FIELDS}, now=now, user=request.user
        )
        if site is not None:
            own = _changed(site, weight, importance, form)
            if own:
                plans.set_importance(site.pk, **own, now=now)
    except ValueError as error:
        form.add_error(None, str(error))
        return False
    messages.success(request, _("The plan is saved; it is recomputed within a minute."))
    return True


def _changed(
    site: Site, weight: float | None, importance: Mapping[int, float], form: TuningForm
) -> dict[str, Any]:
    """Returns the submitted importances and request limit that differ from the saved ones, as
    arguments of `plans.set_importance`; a form without the limit's field leaves it unchanged."""
    before = dict(site.boards.values_list("pk", "importance"))
    boards = {pk: value for pk, value in importance.items() if pk in before and before[pk] != value}
    return {
        **({"site": weight} if weight is not None and weight != site.importance else {}),
        **({"boards": boards} if boards else {}),
        **(_limit(form.cleaned_data["requests_per_day"]) if _limited_anew(site, form) else {}),
    }


def _limited_anew(site: Site, form: TuningForm) -> bool:
    return (
        "requests_per_day" in form.data
        and form.cleaned_data["requests_per_day"] != site.requests_per_day
    )


def _limit(requests: int | None) -> dict[str, Any]:
    return {"unlimited": True} if requests is None else {"requests_per_day": requests}


def _board_rows(known: reads.Known) -> list[dict[str, Any]]:
    """Returns table rows of the busiest boards, with their expected events per day."""
    per_day = known.rhythm.profiles.weights
    order = sorted(range(len(known.boards)), key=lambda row: -per_day[row])[:BOARDS_SHOWN]
    new, replies, prior = (
        known.rhythm.profiles.new_per_day,
        known.rhythm.profiles.replies_per_day,
        known.rhythm.prior,
    )
    return [
        {
            "board": known.boards[row],
            "new": float(new[row]),
            "replies": float(replies[row]),
            "prior": bool(prior[row]),
        }
        for row in order
    ]


def _quick(known: reads.Known, plan: Plan, form: TuningForm, *, exact: bool) -> dict[str, Any]:
    """Returns the charts (`charts`) and figures (`facts`) for a plan's settings, saved or not.
    Delays over numbers of visits use closed formulas; with `exact` the chosen policy's timetable of
    a day is computed exactly, which takes longer.
    """
    basis, visits, weight = (
        known.basis,
        plan.visits_per_day,
        float(known.basis.rates.mean(axis=1).sum() * 24),
    )
    numbers = tuning.numbers_around(visits)
    curves = {policy: tuning.curve(policy, basis, numbers) for policy in tuning.CURVES}
    interval = float(tuning.interval_delay(basis).sum())
    scale = 1.0 / weight if weight > 0 else 0.0
    points = {"interval": (tuning.interval_visits(basis), interval * scale)}
    table: Timetable | None = None
    per_board: Floats = 24.0 / basis.interval_hours
    costs = tuning.interval_delay(basis)
    if plan.policy != Policy.INTERVAL:
        table = tuning.day(plan.policy, basis, visits, reads.planner(known) if exact else None)
        per_board, costs = tuning.visits_per_board(table), tuning.expected(table, basis)
    names = [board.name for board in known.boards]
    shown = _shown_board(known, form)
    zone = str(known.boards[shown].site.zone)
    charts: list[Chart] = [
        delays(numbers, visits, curves, weight, points),
        hours(names[shown], basis.rates[shown], table, shown, zone),
        allocation(names, per_board, known.rhythm.profiles.weights),
    ]
    at = numbers.index(visits)
    # the least possible delay: taken from the displayed timetable if that is exactly optimal,
    # otherwise from the curve's formula
    best = (
        float(costs.sum())
        if exact and plan.policy in (Policy.OPTIMAL, Policy.ADAPTIVE)
        else curves["optimal"][at]
    )
    facts = {
        "policy": words.name(plan.policy),
        "adaptive": plan.policy == Policy.ADAPTIVE,
        "interval": plan.policy == Policy.INTERVAL,
        "interval_visits": points["interval"][0],
        "visits": visits,
        "boards": len(names),
        "per_day": weight,
        "mean": float(costs.sum()) * scale,
        "exact": exact,
        "era": curves["era"][at] * scale,
        "bra": curves["bra"][at] * scale,
        "optimal": best * scale,
        **_comparison(curves["era"][at], curves["bra"][at], best),
        "basis": known.rhythm.basis,
        "days": known.rhythm.known_days,
        "unknown": int(known.rhythm.prior.sum()),
        "sentence": (
            ""
            if table is None
            else _sentence(float(costs.sum()) * scale, curves["era"][at] * scale, visits)
        ),
        "requests": _requests(known, form, per_board),
    }
    return {"charts": charts, "facts": {**facts, "compared": _compared(facts)}}


def _sentence(mean: float, equal: float, visits: int) -> str:
    """Returns a one-sentence summary of the settings' effect. mean: hours that posts wait with the
    plan's timetable; equal: hours that they wait if all boards are visited equally often; visits:
    visits per day in both cases.
    """
    values = {"waits": duration(3600.0 * mean), "equal": duration(3600.0 * equal), "visits": visits}
    return (
        _(
            "Posts would wait %(waits)s on average, %(equal)s with equal visits at the same cost"
            " (%(visits)s a day)."
        )
        % values
    )


def _requests(known: reads.Known, form: TuningForm, per_board: Floats) -> dict[str, Any]:
    """Returns `asked`, the requests per day that the visits need; `limit`, the sum of the sites'
    limits (None: none); `over`, the number of sites that exceed their limit; `visits`, the visits
    per day that remain within the limits; and `one`, whether there is only one site. The limit of a
    single site is taken from the form. per_board: visits per day of each board.
    """
    first = {board.site_id: board.site for board in known.boards}
    limits = [first[pk].requests_per_day for pk in known.rhythm.sites]
    if len(limits) == 1 and "requests_per_day" in form.data:
        limits = [form.cleaned_data.get("requests_per_day")]
    allowed = np.array([np.inf if limit is None else float(limit) for limit in limits])
    found = tuning.requests(per_board, known.rhythm.requests, known.rhythm.site, allowed)
    limit = found.allowed if math.isfinite(found.allowed) else None
    return {
        "asked": found.asked,
        "limit": limit,
        "over": found.over,
        "visits": found.visits,
        "one": len(limits) == 1,
    }


def _comparison(era: float, bra: float, best: float) -> dict[str, Any]:
    """Returns `bra_to_era`, `bra_to_best` and `best_to_era`, each the percentage by which the delay
    named first is longer than the other (negative if shorter), and `bra_worse_than_era`, whether
    `bra_to_era`, rounded, is above 0. era, bra: delays under these policies; best: under the
    optimal timetable, in a simulation on stored posts under the adaptive policy.
    """
    return {
        "bra_worse_than_era": round(_longer(bra, era)) > 0,
        "bra_to_era": _longer(bra, era),
        "bra_to_best": _longer(bra, best),
        "best_to_era": _longer(best, era),
    }


def _longer(delay: float, other: float) -> float:
    return (delay / other - 1) * 100 if other > 0 else 0.0


def _compared(found: Mapping[str, Any]) -> dict[str, str]:
    """Returns the percentages that `_comparison` computes as texts for display, such as "12 %
    longer waits", by name."""
    return {
        name: waits(found[name])
        for name in ("bra_to_era", "bra_to_best", "best_to_era")
        if name in found
    }


def waits(longer: float) -> str:
    """Returns a text such as "12 % longer waits"; longer: the percentage by which waits are longer,
    negative if they are shorter."""
    percent = round(longer)
    if percent == 0:
        return _("equally long waits")
    text = _("%(percent)s %% longer waits") if percent > 0 else _("%(percent)s %% shorter waits")
    return text % {"percent": abs(percent)}


def _shown_board(known: reads.Known, form: TuningForm) -> int:
    """Returns the index in `known.boards` of the board whose daily rhythm is drawn: the selected
    one, otherwise the busiest."""
    wanted = str(form.data.get("board", ""))
    chosen = [row for row, board in enumerate(known.boards) if str(board.pk) == wanted]
    return chosen[0] if chosen else int(known.rhythm.profiles.weights.argmax())


def _replayed(request: HttpRequest, plan: Plan, known: reads.Known, pk: int, now: datetime) -> str:
    """Returns the HTML of the page's part with the simulation on stored posts; its results are
    cached for a while, because they take seconds."""
    settings = {
        name: getattr(plan, name) for name in ("visits_per_day", "theta", "history_days", "bins")
    }
    weights = [
        (board.pk, float(value))
        for board, value in zip(known.boards, known.rhythm.importance, strict=True)
    ]
    text = json.dumps([pk, settings, weights, f"{now:%Y%m%d%H}"])
    key = f"forum-replay-{hashlib.sha256(text.encode()).hexdigest()}"
    found = caches.remembered(key, REPLAY_SECONDS, lambda: _replay(plan, known, now))
    if not found["problem"]:  # names are not cached: the next user may read another language
        rows = [{**row, "name": words.name(str(row["policy"]))} for row in found["rows"]]
        found = {**found, "rows": rows, "compared": _compared(found)}
    return render_to_string("forums/tuning_replay.html", {**found, "pk": pk, "plan": plan}, request)


def _replay(plan: Plan, known: reads.Known, now: datetime) -> dict[str, Any]:
    """Returns what each policy would have achieved on the last days of stored posts: `rows` (one
    per policy: visits per day, delays, and the delay's ratio to that of policy era), `test_days`
    and `history_days` (lengths of the test and of the time before it), the number of `boards`, the
    figures of `_comparison`, and `problem` "". If that is impossible, only `problem`: "too_large",
    or "too_short" with the `days` of stored posts."""
    if len(known.boards) > MAX_REPLAYED_BOARDS or plan.visits_per_day > reads.MAX_REPLAYED_VISITS:
        return {"problem": "too_large"}
    try:
        experiment = reads.experiment(plan, known, now)
        kinds = OverviewSource.objects.filter(
            enabled=True, site__in={board.site_id for board in known.boards}
        )
        looks = [
            BY_SOURCE[names] for names in sorted(set(kinds.values_list("names_threads", flat=True)))
        ]
        rows = tuning.replay(experiment, (*REPLAYED, *looks), plan.visits_per_day)
    except reads.NotEnough as short:
        return {"problem": "too_short", "days": short.days}
    except SetupError:
        return {"problem": "too_short", "days": 0.0}
    era = rows[0].delay.total_per_day
    lines = [
        {
            "policy": one.policy,
            "used": one.visits_used_per_day,
            **asdict(one.delay),
            "ratio": one.delay.total_per_day / era if era > 0 else None,
        }
        for one in rows
    ]
    totals = {one.policy: one.delay.total_per_day for one in rows}
    return {
        "problem": "",
        "rows": lines,
        "test_days": experiment.setup.test_days,
        "history_days": experiment.setup.history_days,
        "boards": experiment.boards,
        **_comparison(totals["era"], totals["bra"], totals["adaptive"]),
    }
