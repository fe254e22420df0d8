"""Admin views of forums: the list, and one forum with its boards, visits and charts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin import tables as removal_views
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.views import admin_view, attempt, back, number, numbers, page, post_view
from crawlmgr.exports import downloads
from crawlmgr.workers.nodes import all_paused
from forums.admin import charts, site_table, words
from forums.admin.add import INTERVALS
from forums.admin.site_table import TABLE
from forums.admin.structures import layout_words, load
from forums.discovery.structures import taught
from forums.models import (
    MAX_DEADLINE_HOURS,
    MIN_DEADLINE_HOURS,
    Basis,
    Board,
    LoginMethod,
    PlanDay,
    Site,
    SiteLogin,
)
from forums.plans import next_visits, plans
from forums.plans.reads import budget_use
from forums.sites import alarms, logins, reads, sites


def plan_note(request: HttpRequest, pk: int) -> dict[str, Any] | None:
    """Returns the template data for the note about the plan on a forum's page: policy, visits per
    day, and whether the plan is based on the forum's own history. None if the user may not see
    plans."""
    if not request.user.has_perm("forums.view_plan"):
        return None
    plan, own = next_visits.of_site(pk), plans.current(pk)
    if plan is None:
        return {"own": own, "policy": "interval"}
    budget = budget_use(plan, datetime.now(UTC))
    latest = PlanDay.objects.filter(plan=plan).order_by("-day").first()
    return {
        "own": own if own is not None and own.active else None,
        "policy": plan.policy,
        "name": words.name(plan.policy),
        "visits": plan.visits_per_day,
        "used": budget.used_today,
        "left": budget.left_today,
        "sentence": words.sentence(latest, plan),
        "like_intervals": (
            plan.site_id is not None and plan.visits_per_day == plans.of_intervals(pk)
        ),
        "prior": latest is None or latest.basis == Basis.PRIOR,
    }


TABLES = ("boards", "threads", "posts", "visits", "pages", "links", "runs")


@admin_view("forums/", "forums", "forums.view_site")
def site_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all forums."""
    now, context = datetime.now(UTC), {"downloads": downloads.choices(TABLES)}
    return table_page(
        request,
        "forums/sites.html",
        TABLE,
        reads.all_sites(),
        context,
        prepare=lambda rows: reads.with_freshness(rows, now),
        key=lambda row: row.site.pk,
        title=_("Forums"),
        item="forums",
    )


def find(pk: int) -> Site:
    site = (
        Site.objects.select_related("host")
        .defer("structure", "rules", "host__robots_text")
        .filter(pk=pk)
        .first()
    )
    if site is None:
        raise Http404(_("There is no such forum."))
    return site


@admin_view("forums/site/<int:pk>/", "forum", "forums.view_site")
def site_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one forum: its freshness, its boards, and the results of its visits. If the query
    string contains `part=live`, returns only the part of the page that is refreshed during a visit.
    """
    site, now = find(pk), datetime.now(UTC)
    if request.GET.get("part") == "live":
        head = _head(site, now)
        answer = page(request, "", head, title="", live="forums/site_live.html")
        if (
            request.GET.get("run") and head["row"].run is None
        ):  # the visit shown has ended, so boards and charts must be loaded again
            answer["X-Desk-Reload"] = "1"
        return answer
    page_number = number(request.GET.get("page", "")) or 1
    rows, pages = reads.boards(site, page_number)
    hold, stopped = all_paused(), reads.with_paused_visits([site.pk])
    for row in rows:
        row.due = reads.of_board(
            row.board, now, hold=hold, visits_paused=stopped, paused=site.paused
        )
    told = taught(site)
    context = {
        **_head(site, now),
        "tabs": site_table.of_forum(request, pk, "forum"),
        "rows": rows,
        "pages": range(1, pages + 1) if pages > 1 else (),
        "number": page_number,
        "intervals": INTERVALS,
        "layout": layout_words(site),
        "doubts": words.doubt_rows(site),
        "lessons": [one for one in words.lessons(site, told) if not one.is_true],
        "unread": words.unread(told),
        "plan": plan_note(request, site.pk),
        "silence": alarms.silence(site, now),
        "login": login_words(site),
        "threads": reads.recent_threads(site),
        "zone": site.zone,
        "downloads": downloads.choices(TABLES, site=site.pk),
        "charts": [charts.posts_by_day(site, now), charts.site_visits(site)],
    }
    return page(
        request,
        "forums/site.html",
        context,
        title=site.name,
        item=f"site:{pk}",
        trail=[(_("Forums"), reverse("admin:forums"))],
    )


def _head(site: Site, now: datetime) -> dict[str, Any]:
    return {"site": site, "now": now, "row": reads.with_freshness([site], now)[0]}


@post_view("forums/site/<int:pk>/crawl/", "forum-crawl", "crawlmgr.add_run")
def crawl(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a visit of a forum now, or of the given boards only."""
    site = find(pk)
    boards = numbers(request.POST.getlist("board")) or None
    now = datetime.now(UTC)
    attempt(
        request,
        _("A visit has started."),
        lambda: sites.crawl_now(site.pk, board_ids=boards, now=now, user=request.user),
    )
    if boards and len(boards) == 1:
        return back(request, "board", boards[0])
    return back(request, "forum", pk)


@post_view("forums/site/<int:pk>/pause/", "forum-pause", "forums.change_site")
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Pauses or resumes a forum's scheduled visits."""
    site, paused = find(pk), request.POST.get("paused") == "1"
    sites.pause_site(site.pk, paused, datetime.now(UTC))
    messages.success(
        request, _("Scheduled visits are paused.") if paused else _("Scheduled visits are resumed.")
    )
    return back(request, "forum", pk)


@post_view("forums/site/<int:pk>/boards/", "forum-boards", "forums.change_board")
def set_boards(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the interval or deadline of selected boards, or includes them in or excludes them from
    scheduled visits."""
    site, action = find(pk), request.POST.get("do", "")
    wanted = numbers(request.POST.getlist("board"))
    chosen = list(Board.objects.filter(site=site, pk__in=wanted).values_list("pk", flat=True))
    if not chosen:
        messages.warning(request, _("No board is selected."))
    elif action in ("on", "off"):
        with plans.budget_following_intervals(pk, datetime.now(UTC)):
            sites.set_enabled(chosen, action == "on")
        messages.success(
            request,
            (
                _("The boards are visited by schedule.")
                if action == "on"
                else _("The boards are excluded from scheduled visits.")
            ),
        )
    elif action == "deadline":
        _set_deadline(request, chosen)
    else:
        with plans.budget_following_intervals(pk, datetime.now(UTC)):
            _set_interval(request, chosen)
    return (
        back(request, "board", chosen[0])
        if request.POST.get("from") == "board" and len(chosen) == 1
        else back(request, "forum", pk)
    )


def _set_interval(request: HttpRequest, chosen: list[int]) -> None:
    value = request.POST.get("interval", "")
    seconds = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 0
    if not sites.SHORTEST_SECONDS <= seconds <= sites.LONGEST_SECONDS:
        messages.error(request, _("Choose an interval."))
        return
    attempt(
        request,
        _("The interval is set."),
        lambda: sites.set_interval(chosen, seconds, datetime.now(UTC)),
    )


def _set_deadline(request: HttpRequest, chosen: list[int]) -> None:
    """Sets the longest time in hours that a post of these boards should wait; an empty field
    removes it."""
    text = request.POST.get("deadline", "").strip().replace(",", ".")
    try:
        hours = float(text) if text else None
    except ValueError:
        hours = -1.0
    if hours is not None and not MIN_DEADLINE_HOURS <= hours <= MAX_DEADLINE_HOURS:
        messages.error(request, _("Enter hours from 0.1 to 744, or leave empty."))
        return
    said = (
        _("The deadline is removed.")
        if hours is None
        else _("The deadline is set; the adaptive policy observes it.")
    )
    attempt(request, said, lambda: plans.set_deadline(chosen, hours, datetime.now(UTC)))


@admin_view(
    "forums/site/<int:pk>/delete/", "forum-delete", "forums.delete_site", post="forums.delete_site"
)
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks for confirmation, showing what would be lost, and deletes the forum; its name has to be
    typed."""
    site = find(pk)
    wrong = False
    if request.method == "POST":
        if not request.user.has_perm("forums.delete_site"):
            raise PermissionDenied
        wrong = request.POST.get("name", "").strip() != site.name.strip()
        if not wrong:
            return removal_views.delete_object(
                request,
                site.name,
                "forums",
                lambda: sites.start_removal(site, datetime.now(UTC), request.user),
            )
    trail = [(_("Forums"), reverse("admin:forums")), (site.name, reverse("admin:forum", args=[pk]))]
    return page(
        request,
        "forums/delete.html",
        {"site": site, "wrong": wrong},
        title=_("Delete"),
        item=f"site:{pk}",
        trail=trail,
    )


REASONS = {
    "not_accepted": gettext_noop("the forum still shows its login link after the login"),
    "no_login_form": gettext_noop("there is no login form at its address"),
    "login_elsewhere": gettext_noop("the login form would send the login to another host"),
    "robots": gettext_noop("refused by robots.txt"),
}


def login_words(site: Site) -> dict[str, Any] | None:
    """Returns the data for the banner about a failed login; None if the site has no login or it
    works."""
    row = SiteLogin.objects.filter(site=site, state__in=["expired", "failed"]).first()
    return (
        {"row": row, "reason": _(REASONS.get(row.reason, row.reason))} if row is not None else None
    )


@admin_view(
    "forums/site/<int:pk>/login/", "forum-login", "forums.view_sitelogin", post="forums.change_site"
)
def login_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows a forum's login and saves it on POST; a password or cookie left empty stays
    unchanged."""
    site = load(pk)
    row = SiteLogin.objects.filter(site=site).first()
    problem = _save(request, site, row) if request.method == "POST" else ""
    if request.method == "POST" and not problem:
        messages.success(request, _("The login is saved; the next visit uses it."))
        return back(request, "forum-login", pk)
    method = request.POST.get("method") or (row.method if row else LoginMethod.FORM)
    context = {
        "site": site,
        "tabs": site_table.of_forum(request, pk, "forum-login"),
        "row": row,
        "reason": _(REASONS.get(row.reason, row.reason)) if row and row.reason else "",
        "problem": problem,
        "method": method,
        "methods": LoginMethod.choices,
        "address": request.POST.get("address", row.address if row else ""),
        "member": request.POST.get("user", logins.user_of(row) if row else ""),
        "plain": site.url.startswith("http://"),
    }
    trail = [(_("Forums"), reverse("admin:forums")), (site.name, reverse("admin:forum", args=[pk]))]
    status = 422 if problem else 200
    return page(
        request,
        "forums/login.html",
        context,
        title=_("Login"),
        item=f"site:{pk}",
        trail=trail,
        status=status,
    )


def _save(request: HttpRequest, site: Site, row: SiteLogin | None) -> str:
    """Saves the submitted login; returns the error in one line, "" for none."""
    sent = {name: request.POST.get(name, "") for name in ("cookie", "user", "password")}
    method = request.POST.get("method", "")
    try:
        secret = logins.completed(row, method, sent)
        logins.save(
            site.pk,
            method,
            secret,
            address=request.POST.get("address", ""),
            now=datetime.now(UTC),
            user=request.user,
        )
    except ValueError as error:
        return str(error)
    return ""


@post_view("forums/site/<int:pk>/login/remove/", "forum-login-remove", "forums.change_site")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes the login with its secrets."""
    site = load(pk)
    if logins.forget(site.pk, now=datetime.now(UTC), user=request.user):
        messages.success(request, _("The login is removed; the forum is read as a guest."))
    return back(request, "forum-login", pk)
