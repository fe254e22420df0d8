"""Admin views of a plan: visits to come and their reasons, which users can pin, move, add or
remove; and how each day was planned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crawlmgr.admin.charts import NEW, UNCHANGED, Chart, Series, chart
from crawlmgr.admin.views import admin_view, attempt, back, number, page, post_view
from forums.admin import site_table, words
from forums.admin.tuning import find_scope, trail
from forums.models import Plan, PlanDay, PlannedVisit, Policy, Site
from forums.plans import next_visits, plan_days, plans, reads
from forums.plans.reads import budget_use
from forums.schedule import equations

SHOWN, MAX_SHOWN = 40, 1000
FEWEST_DAYS = 3  # with fewer planned days than this, the chart of days is not drawn


@admin_view("forums/site/<int:pk>/plan/", "forum-plan", "forums.view_plan")
def plan_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the plan of a site, or (`pk` 0) of all sites without a plan of their own."""
    site, now = find_scope(pk), datetime.now(UTC)
    plan = plans.current(site.pk if site else None)
    context: dict[str, Any] = {"site": site, "pk": pk, "plan": plan, "now": now}
    context["tabs"] = site_table.of_forum(request, pk, "forum-plan")
    if site is not None and (plan is None or not plan.active):
        context["above"] = next_visits.of_site(site.pk)
    if plan is not None:
        context |= _shown(request, plan, now)
    title = _("Plan") if site is not None else _("Plan of all forums")
    item = f"site:{pk}" if site is not None else "plan:all"
    return page(request, "forums/plan.html", context, title=title, item=item, trail=trail(site))


def _shown(request: HttpRequest, plan: Plan, now: datetime) -> dict[str, Any]:
    zone, query = plans.zone_of(plan), request.GET
    board = number(query.get("board", ""))
    limit = min(number(query.get("show", "")) or SHOWN, MAX_SHOWN)
    budget = budget_use(plan, now)
    coming, more = reads.coming(plan, now, limit, board, next_only=bool(budget.sources))
    history = reads.days(plan)
    latest = history[0] if history else None
    return {
        "zone": zone,
        "policy": words.name(plan.policy),
        "stale": words.replan_reason(plan.stale) if plan.stale else "",
        "budget": budget,
        "sentence": words.sentence(latest, plan),
        "coming": [
            {
                **_row(one.code, one.figures, zone, one.expected_at, _person(one.planned)),
                **_span(one, zone),
                "visit": one,
            }
            for one in coming
        ],
        "more": min(limit * 4, MAX_SHOWN) if more and limit < MAX_SHOWN else 0,
        "made": [
            {
                **_row(one.code, one.figures, zone, one.at, _person(one)),
                "visit": one,
                **_found(one, plan),
            }
            for one in reads.made(plan)
        ],
        "history": [
            {"day": one, "why": words.replan_reason(one.reason), "policy": words.name(one.policy)}
            for one in history
        ],
        "latest": latest,
        "boards": reads.boards(plan),
        "board": board,
        "local": now.astimezone(zone).strftime("%Y-%m-%dT%H:%M"),
        "charts": [_days_chart(history)] if len(history) >= FEWEST_DAYS else [],
    }


def _row(
    code: str, figures: dict[str, Any], zone: ZoneInfo, at: datetime, person: str
) -> dict[str, Any]:
    """Returns the template data of a visit's table row: `why` (its reason in words) and its time in
    the plan's zone, as `local` (for a form's datetime field), `clock` (to the minute) and `exact`
    (to the second). code, figures: the stored reason as a code and the numbers for its sentence;
    person: the user who scheduled it."""
    local = at.astimezone(zone)
    return {
        "why": words.why_planned(code, figures, zone, at, person),
        "local": f"{local:%Y-%m-%dT%H:%M}",
        "clock": f"{local:%m-%d %H:%M}",
        "exact": f"{local:%Y-%m-%d %H:%M:%S}",
    }


def _span(one: reads.Coming, zone: ZoneInfo) -> dict[str, Any]:
    """Returns for a visit that the adaptive policy expects: `likely` True, and the interval in
    which it is likely to be made as text (`clock` to the minute, `exact` to the second). For a
    planned visit, which has an exact time: only `likely` False.
    """
    if one.until is None:
        return {"likely": False}
    first, last = one.at.astimezone(zone), one.until.astimezone(zone)
    day = "" if first.date() == last.date() else f"{last:%m-%d} "
    exact = f"{first:%H:%M:%S} – {day}{last:%H:%M:%S}"
    clock = (
        f"{first:%H:%M}"
        if day == "" and f"{first:%H:%M}" == f"{last:%H:%M}"
        else f"{first:%H:%M}–{day}{last:%H:%M}"
    )
    return {"likely": True, "clock": f"{first:%m-%d} {clock}", "exact": exact}


def _person(visit: PlannedVisit | None) -> str:
    return (
        visit.edited_by.get_username()
        if visit is not None and visit.edited_by is not None
        else _("a user")
    )


def _found(visit: PlannedVisit, plan: Plan) -> dict[str, Any]:
    """Returns `posts`, the number of posts that a visit found, and `delay`, their total delay
    (weighted event-hours, importance included); both are None if the planned visit did not take
    place."""
    if visit.visit is None:
        return {"posts": None, "delay": None}
    done = visit.visit
    weight = equations.importance(visit.board.site.importance, visit.board.importance)
    waited = equations.delay_of_sums(
        done.delay_new_seconds, done.delay_replies_seconds, plan.theta, weight
    )
    return {"posts": done.arrived_new + done.arrived_replies, "delay": waited}


def _days_chart(history: list[PlanDay]) -> Chart:
    """Returns a chart of the expected delay of each planned day, compared with equal visits."""
    rows = list(reversed(history))
    days = [row.day for row in rows]
    series = [
        Series(_("expected"), days, [row.expected_delay for row in rows], NEW),
        Series(
            _("with equal visits (era)"),
            days,
            [row.era_delay for row in rows],
            UNCHANGED,
            line=True,
            points=True,
        ),
    ]
    return chart(
        "chart-days",
        _("Expected delay of the planned days"),
        series,
        x=_("day"),
        y=_("weighted event-hours a day"),
    )


def _plan(pk: int) -> tuple[Site | None, Plan]:
    site = find_scope(pk)
    plan = plans.current(site.pk if site else None)
    if plan is None:
        raise Http404(_("There is no such plan."))
    return site, plan


@post_view("forums/site/<int:pk>/plan/policy/", "forum-plan-policy", "forums.change_plan")
def choose(request: HttpRequest, pk: int) -> HttpResponse:
    """Switches a forum between the adaptive policy and fixed intervals."""
    site, policy, now = find_scope(pk), request.POST.get("policy", ""), datetime.now(UTC)
    said = {
        Policy.INTERVAL.value: _("Boards are visited at their fixed intervals."),
        Policy.ADAPTIVE.value: _("The adaptive policy chooses the visits."),
    }
    if site is None or policy not in said:
        messages.warning(request, _("No option was selected."))
    else:
        values: dict[str, Any] = {"policy": policy, "active": True}
        if plans.current(site.pk) is None:
            values["visits_per_day"] = plans.of_intervals(site.pk)
        attempt(
            request, said[policy], lambda: plans.save(site.pk, values, now=now, user=request.user)
        )
    return (
        back(request, "forum", pk)
        if request.POST.get("from") == "forum"
        else back(request, "forum-plan", pk)
    )


@post_view("forums/site/<int:pk>/plan/anew/", "forum-plan-anew", "forums.change_plan")
def anew(request: HttpRequest, pk: int) -> HttpResponse:
    """Plans the rest of today and tomorrow again."""
    plan, now = _plan(pk)[1], datetime.now(UTC)
    attempt(
        request, _("The plan is being recomputed."), lambda: plan_days.replan(plan, now, "asked")
    )
    return back(request, "forum-plan", pk)


@post_view("forums/site/<int:pk>/plan/add/", "forum-plan-add", "forums.change_plannedvisit")
def add(request: HttpRequest, pk: int) -> HttpResponse:
    """Adds a visit requested by the user."""
    plan, now = _plan(pk)[1], datetime.now(UTC)
    at, board = _time(request, plan), number(request.POST.get("board", ""))
    if at is not None and board is not None:
        daily = bool(request.POST.get("daily"))
        user = request.user
        attempt(
            request,
            _("The visit is added."),
            lambda: plans.add(plan, board, at, daily=daily, now=now, user=user),
        )
    return back(request, "forum-plan", pk)


@post_view("forums/plan/visits/<int:pk>/", "planned-visit", "forums.change_plannedvisit")
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Pins, unpins, moves or removes a planned visit. If the visit is not stored (the plan was
    recomputed meanwhile), pinning adds a visit of the board at that time; for the other actions a
    message asks to choose again."""
    visit = PlannedVisit.objects.select_related("plan").filter(pk=pk).first()
    plan, board = number(request.POST.get("plan", "")), number(request.POST.get("board", ""))
    if visit is None:
        return _without_stored_visit(request, Plan.objects.filter(pk=plan).first(), board)
    now, user, action = datetime.now(UTC), request.user, request.POST.get("do", "")
    at = _time(request, visit.plan) if action == "move" else None
    if action == "move" and at is not None:
        attempt(request, _("The visit is moved."), lambda: plans.move(pk, at, now=now, user=user))
    elif action == "remove":
        attempt(request, _("The visit is cancelled."), lambda: plans.remove(pk, now=now))
    elif action in ("pin", "daily", "free"):
        pinned = action != "free"
        said = (
            _("The visit is fixed at this time.")
            if pinned
            else _("The visit is no longer fixed at this time.")
        )
        attempt(
            request,
            said,
            lambda: plans.pin(pk, pinned=pinned, daily=action == "daily", now=now, user=user),
        )
    elif action != "move":
        messages.warning(request, _("No option was selected."))
    return back(request, "forum-plan", visit.plan.site_id or 0)


def _without_stored_visit(
    request: HttpRequest, plan: Plan | None, board: int | None
) -> HttpResponse:
    """Handles a form for a visit that no longer exists, because the plan was recomputed meanwhile,
    or that the adaptive policy only expects. If the user wanted to fix the visit's time, a visit of
    the board is added at that time; otherwise a message asks to choose again."""
    if plan is None:
        raise Http404(_("There is no such visit."))
    action, at = request.POST.get("do", ""), _time(request, plan)
    if action in ("pin", "daily") and board is not None and at is not None:
        said = _("The visit is fixed at this time.")
        kept: dict[str, Any] = {
            "daily": action == "daily",
            "now": datetime.now(UTC),
            "user": request.user,
        }
        attempt(request, said, lambda: plans.add(plan, board, at, **kept))
    else:
        messages.warning(
            request,
            _("The plan was recomputed meanwhile and this visit is no longer in it. Choose again."),
        )
    return back(request, "forum-plan", plan.site_id or 0)


def _time(request: HttpRequest, plan: Plan) -> datetime | None:
    """Returns the submitted time, which is in the plan's zone, in UTC; shows a message and returns
    None if it is invalid."""
    try:
        return (
            datetime.fromisoformat(request.POST.get("at", ""))
            .replace(tzinfo=plans.zone_of(plan))
            .astimezone(UTC)
        )
    except (ValueError, OverflowError):
        messages.error(request, _("Enter a date and a time."))
        return None
