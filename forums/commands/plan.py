"""`forum plan`: computes and stores the next day's visits, and prints them."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import Result, say, table
from forums.commands.crawl import no_site
from forums.models import Basis, BoardDay, Plan, PlanDay, Policy, Site
from forums.plans import plan_days, plans, reads
from forums.plans.reads import SourceUse, budget_use

MAX_VISITS = 1_000_000
ON_WHAT = {
    Basis.HISTORY: "on the boards' own history",
    Basis.MIXED: "on history where there is some; boards without any get the pooled rhythm",
    Basis.PRIOR: "on the pooled rhythm, because there is no history yet",
}


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "site",
        type=int,
        nargs="?",
        help="number of the site (default: all sites within one budget)",
    )
    parser.add_argument(
        "--policy",
        choices=Policy.values,
        help="how visits are chosen (default: as before, at first adaptive)",
    )
    parser.add_argument(
        "--visits-per-day",
        type=int,
        metavar="M",
        help="visits a day in all (at first four a board)",
    )
    parser.add_argument(
        "--theta", type=float, help="weight of a reply against a new thread, up to 1 (at first 0.5)"
    )
    parser.add_argument(
        "--history-days",
        type=float,
        metavar="DAYS",
        help="days of posts to take rates from (at first 20)",
    )


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    now = SYSTEM.now()
    names = ("policy", "visits_per_day", "theta", "history_days")
    values = {name: options[name] for name in names if options[name] is not None}
    try:
        if not plans.boards_under(plans.draft(options["site"], now)).exists():
            # checked first, so that no plan is stored if there is no board
            raise CommandError("There is no board to plan for; `forum add ADDRESS` finds some.")
        plan = plans.save(options["site"], {**values, "active": True}, now=now)
    except Site.DoesNotExist:
        raise no_site(options["site"]) from None
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    made = plan_days.replan(plan, now, "asked")
    if made is None:
        raise CommandError("The boards follow their own intervals.")
    return _result(plan, made, now)


def _result(plan: Plan, made: PlanDay, now: datetime) -> Result:
    zone = plans.zone_of(plan)
    start = datetime.combine(made.day, time(), zone)
    end = datetime.combine(made.day + timedelta(days=1), time(), zone)
    visits: dict[int, list[_Visit]] = defaultdict(list)
    for one in _visits(plan, start, end, now):
        visits[one.board].append(one)
    boards = [
        _board(row, sorted(visits[row.board_id], key=lambda one: one.at), zone, plan)
        for row in made.board_days.select_related("board").order_by("board_id")
    ]
    say(f"The plan rests {ON_WHAT[Basis(made.basis)]}.")
    budget = budget_use(plan, now)
    document = {
        "plan": plan.pk,
        "site": plan.site_id,
        "policy": plan.policy,
        "visits_per_day": budget.visits_per_day,
        "used_today": budget.used_today,
        "left_today": budget.left_today,
        "sources": [_source(one) for one in budget.sources],
        "day": made.day.isoformat(),
        "timezone": zone.key,
        "basis": made.basis,
        "history_days": made.known_days,
        "boards_with_history": made.boards_known,
        "sites_held_back_by_requests": made.limited_sites,
        "expected_delay_per_day": made.expected_delay,
        "era_delay_per_day": made.era_delay,
        "delay_unit": "weighted event-hours a day",
        "expected_only": plan.policy == Policy.ADAPTIVE,
        "boards": boards,
    }
    rows = [
        (
            b["name"],
            round(b["weight"], 2),
            len(b["visits"]),
            " ".join(one[:5] for one in b["visits"]),
        )
        for b in boards
    ]
    head = (
        f"{budget.visits_per_day} visits a day; today {budget.used_today} used, {budget.left_today}"
        " left\n"
    )
    return Result(
        document, head + table(("board", "weight", "visits", f"{made.day} ({zone.key})"), rows)
    )


class _Visit(NamedTuple):
    """One of the coming visits that are printed: id of the board, time, expected number of new
    posts by then, and its reason."""

    board: int
    at: datetime
    posts: float | None
    reason: str


def _source(one: SourceUse) -> dict[str, Any]:
    source = one.source
    return {
        "url": source.url,
        "kind": source.kind,
        "boards": len(source.boards),
        "believed": source.believed,
        "looks_today": one.looks,
        "bytes_a_look": None if one.bytes_a_look is None else round(one.bytes_a_look),
        "share_of_budget": one.share_of_budget,
    }


def _board(row: BoardDay, visits: list[_Visit], zone: ZoneInfo, plan: Plan) -> dict[str, Any]:
    """Returns a board's part of the printed document, with its upcoming visits. An adaptive plan
    has no fixed times: its visits are forecasts, and the next visit is expected between
    `next_visit` and `next_until`."""
    board = row.board
    return {
        "board": row.board_id,
        "name": board.name,
        "weight": row.weight,
        "visits": [f"{one.at.astimezone(zone):%H:%M:%S}" for one in visits],
        "reasons": [one.reason for one in visits],
        "likely": plan.policy == Policy.ADAPTIVE,
        "expected_posts": [None if one.posts is None else round(one.posts, 2) for one in visits],
        "next_visit": board.next_visit.isoformat() if board.next_visit else None,
        "next_until": board.next_until.isoformat() if board.next_until else None,
    }


def _visits(plan: Plan, start: datetime, end: datetime, now: datetime) -> list[_Visit]:
    """Returns the visits to come between `start` and `end`: the planned ones, and those that the
    adaptive policy expects."""
    rows, _more = reads.coming(plan, now, MAX_VISITS)
    return [
        _Visit(one.board.pk, one.expected_at, one.posts, one.reason)
        for one in rows
        if start <= one.expected_at < end
    ]
