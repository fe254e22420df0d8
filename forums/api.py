"""API operations on forums: read, add, visit, tune."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from django.http import HttpRequest
from django.utils.translation import gettext_noop
from ninja import Router, Schema

from crawlmgr.api import api, changes
from crawlmgr.api.base import page_of
from crawlmgr.api.shared import Key, Limit, Page, run_document
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs
from forums.models import Board, Plan, Site
from forums.plans import next_visits, plan_days, plans
from forums.plans.reads import budget_use
from forums.sites import reads, sites

router = Router(tags=["forums"])
FIELDS = (
    *(
        "id",
        "name",
        "url",
        "engine",
        "timezone",
        "paused",
        "importance",
        "requests_per_day",
        "silent_since",
        "added",
        "threads",
    ),
    "posts",
)
BOARD = (
    *(
        "id",
        "name",
        "url",
        "parent",
        "enabled",
        "importance",
        "interval_seconds",
        "next_visit",
        "next_until",
        "last_visit",
    ),
    *("complete_at", "threads", "posts"),
)


class NewForum(Schema):
    """Request body: a forum to inspect. A run, whose id is returned, finds its boards."""

    url: str
    name: str = ""
    timezone: str = ""
    delay: float | None = None
    connections: int | None = None


class KeptForum(Schema):
    """Request body: the name, the time zone and the boards (addresses; None: all that were found)
    with which an inspected forum is saved; "" stands for the name or zone found."""

    name: str = ""
    timezone: str = ""
    boards: list[str] | None = None


class Visit(Schema):
    """Request body: the boards to visit now, by id; None: all scheduled ones."""

    boards: list[int] | None = None


class PlanChange(Schema):
    """Request body: the values of a plan to change; omitted ones (None) stay unchanged."""

    policy: str | None = None
    visits_per_day: int | None = None
    theta: float | None = None
    history_days: float | None = None
    active: bool | None = None


def _now() -> datetime:
    return datetime.now(UTC)


@router.get("", response=Page, summary=gettext_noop("Forums"))
def site_list(request: HttpRequest, after: Key = 0, limit: Limit = 100) -> dict[str, Any]:
    found = list(Site.objects.filter(pk__gt=after).order_by("pk").values(*FIELDS)[:limit])
    return page_of(found, limit, [row["id"] for row in found])


@router.post(
    "",
    auth=changes,
    summary=gettext_noop("Add a forum"),
    description=gettext_noop(
        "Inspects the site in the background. When the run has ended, its `result` lists the"
        " boards, and `found/{run}` saves the forum. Private addresses can be allowed only by an"
        " administrator in the web interface, never here."
    ),
)
def add(request: HttpRequest, wanted: NewForum) -> dict[str, Any]:
    settings = {"delay_seconds": wanted.delay, "connections": wanted.connections}
    options = {"settings": settings, "timezone": wanted.timezone, "name": wanted.name}
    return run_document(sites.discover(wanted.url, options, now=_now()).pk)


@router.post(
    "/found/{int:run}",
    auth=changes,
    summary=gettext_noop("Save an inspected forum"),
    description=gettext_noop("`run` is the number of the run that inspected the forum."),
)
def keep(request: HttpRequest, run: int, wanted: KeptForum | None = None) -> dict[str, Any]:
    look = Run.objects.get(pk=run)
    if look.kind != "forum-discovery" or look.state != RunState.FINISHED:
        raise runs.WrongState(look)
    wanted = wanted or KeptForum()
    boards = (
        [str(board["url"]) for board in look.result.get("boards", ())]
        if wanted.boards is None
        else wanted.boards
    )
    if wanted.timezone and wanted.timezone not in available_timezones():
        raise ValueError(
            f"there is no time zone {wanted.timezone[:60]!r}; names look like Asia/Shanghai"
        )
    kept = sites.save(
        look, name=wanted.name, timezone=wanted.timezone, board_urls=boards, now=_now()
    )
    return site_page(request, kept.pk)


@router.get(
    "/{int:site}",
    summary=gettext_noop("One forum with its boards"),
    description=gettext_noop(
        "`next_visit` of a board is when it will be visited; where it is null, `held` says why:"
        " `left_out`, `paused` (the forum), `all_paused`, or `visit_paused` (a visit of the forum,"
        " which others wait for)."
    ),
)
def site_page(request: HttpRequest, site: int) -> dict[str, Any]:
    found = Site.objects.values(*FIELDS).get(pk=site)
    boards = Board.objects.filter(site=site).order_by("position", "pk").values(*BOARD)
    return {
        **found,
        "boards": reads.with_next_visits(boards, _now(), site=site, paused=found["paused"]),
    }


@router.post("/{int:site}/crawl", auth=changes, summary=gettext_noop("Visit a forum now"))
def crawl(request: HttpRequest, site: int, wanted: Visit | None = None) -> dict[str, Any]:
    boards = None if wanted is None else wanted.boards
    return run_document(sites.crawl_now(site, board_ids=boards, now=_now()).pk)


def _plan(plan: Plan, now: datetime) -> dict[str, Any]:
    budget = budget_use(plan, now)
    return {
        **{
            name: getattr(plan, name)
            for name in (
                "policy",
                "visits_per_day",
                "theta",
                "history_days",
                "active",
                "changed_at",
            )
        },
        "used_today": budget.used_today,
        "left_today": budget.left_today,
    }


@router.get(
    "/{int:site}/plan",
    summary=gettext_noop("A forum's plan of visits, and how much of today's budget is used"),
)
def plan_page(request: HttpRequest, site: int) -> dict[str, Any]:
    Site.objects.only("pk").get(pk=site)
    plan = next_visits.of_site(site)
    if plan is None:
        raise Plan.DoesNotExist
    return _plan(plan, _now())


@router.patch(
    "/{int:site}/plan",
    auth=changes,
    summary=gettext_noop("Change a forum's plan"),
    description=gettext_noop(
        "Creates the plan if there is none. The next visits are chosen again immediately."
    ),
)
def plan_change(request: HttpRequest, site: int, change: PlanChange) -> dict[str, Any]:
    Site.objects.only("pk").get(pk=site)
    values = {name: value for name, value in change.dict().items() if value is not None}
    plan = plans.save(site, values, now=_now())
    plan_days.replan(plan, _now(), "asked")
    return _plan(plan, _now())


api.add_router("/forums", router)
