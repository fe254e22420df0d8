"""The note on a forum's own page about how its visits are chosen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from forums.admin import plan_words, policies
from forums.models import Basis, PlanDay
from forums.reads.standing import standing
from forums.services import plans


def plan_note(request: HttpRequest, pk: int) -> dict[str, Any] | None:
    """Returns the template data for the note about the plan on a forum's page: policy, visits per
    day, and whether the plan is based on the forum's own history. None if the user may not see
    plans."""
    if not request.user.has_perm("forums.view_plan"):
        return None
    plan, own = plans.of_site(pk), plans.current(pk)
    if plan is None:
        return {"own": own, "policy": "interval"}
    stands = standing(plan, datetime.now(UTC))
    latest = PlanDay.objects.filter(plan=plan).order_by("-day").first()
    return {
        "own": own if own is not None and own.active else None,
        "policy": plan.policy,
        "name": policies.name(plan.policy),
        "visits": plan.visits_per_day,
        "used": stands.used_today,
        "left": stands.left_today,
        "sentence": plan_words.sentence(latest, plan),
        "like_intervals": (
            plan.site_id is not None and plan.visits_per_day == plans.of_intervals(pk)
        ),
        "prior": latest is None or latest.basis == Basis.PRIOR,
    }
