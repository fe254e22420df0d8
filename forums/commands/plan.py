"""`forum plan`: computes and stores the next day's visits of a site, or of all sites."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, time, timedelta
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result, say, table
from forums.models import Basis, Plan, PlanDay, PlannedVisit, Policy, Site
from forums.services import loops, plan_days, plans

HELP = "compute and store the next day's visits"
ON_WHAT = {
    Basis.HISTORY: "on the boards' own history",
    Basis.MIXED: "on history where there is some; boards without any get the pooled rhythm",
    Basis.PRIOR: "on the pooled rhythm, because there is no history yet",
}


def add_arguments(parser: Any) -> None:
    parser.add_argument("site", type=int, nargs="?", help="number of the site (default: all sites within one budget)")
    parser.add_argument("--policy", choices=Policy.values, help="how visits are chosen (default: as before, at first adaptive)")
    parser.add_argument("--visits-per-day", type=int, metavar="M", help="visits a day in all (at first four a board)")
    parser.add_argument("--theta", type=float, help="weight of a reply against a new thread, up to 1 (at first 0.5)")
    parser.add_argument("--history-days", type=float, metavar="DAYS", help="days of posts to take rates from (at first 20)")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    now = SYSTEM.now()
    names = ("policy", "visits_per_day", "theta", "history_days")
    values = {name: options[name] for name in names if options[name] is not None}
    try:
        if not plans.boards_under(plans.draft(options["site"], now)).exists():
            raise CommandError("There is no board to plan for; `forum add ADDRESS` finds some.")  # and no plan is kept for none
        plan = plans.save(options["site"], {**values, "active": True}, now=now)
    except Site.DoesNotExist:
        raise CommandError(f"There is no site {options['site']}; `forum add ADDRESS` makes one.") from None
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
    visits: dict[int, list[str]] = defaultdict(list)
    for board_id, at in _visits(plan, start, end, now):
        visits[board_id].append(f"{at.astimezone(zone):%H:%M:%S}")
    boards = [
        {"board": row.board_id, "name": row.board.name, "weight": row.weight, "visits": sorted(visits[row.board_id])}
        for row in made.board_days.select_related("board").order_by("board_id")
    ]
    say(f"The plan rests {ON_WHAT[Basis(made.basis)]}.")
    document = {
        "plan": plan.pk,
        "site": plan.site_id,
        "policy": plan.policy,
        "visits_per_day": plan.visits_per_day,
        "day": made.day.isoformat(),
        "timezone": zone.key,
        "basis": made.basis,
        "history_days": made.known_days,
        "boards_with_history": made.boards_known,
        "sites_held_back_by_requests": made.limited_sites,
        "expected_delay_per_day": made.expected_delay,
        "era_delay_per_day": made.era_delay,
        "expected_only": plan.policy == Policy.ADAPTIVE,
        "boards": boards,
    }
    rows = [(b["name"], round(b["weight"], 2), len(b["visits"]), " ".join(one[:5] for one in b["visits"])) for b in boards]
    return Result(document, table(("board", "weight", "visits", f"{made.day} ({zone.key})"), rows))


def _visits(plan: Plan, start: datetime, end: datetime, now: datetime) -> list[tuple[int, datetime]]:
    """The day's visits: those written down, and for the closed loop those that it expects."""
    planned = PlannedVisit.objects.filter(plan=plan, at__gte=start, at__lt=end, state=PlannedVisit.State.PLANNED)
    found = list(planned.values_list("board_id", "at"))
    return found + [one for one in loops.expected(plan, now, end) if start <= one[1]] if plan.policy == Policy.ADAPTIVE else found
