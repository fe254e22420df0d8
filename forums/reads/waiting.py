"""Posts that overview sources already show and that no visit has fetched yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from forums.models import Plan, Policy, Site
from forums.services import loops, plans


@dataclass(frozen=True, slots=True)
class Waiting:
    """The posts of one board (its id: `board`) that overview sources show but no visit has fetched:
    their number, their total weight, and the hours that they have waited so far, multiplied by
    their weights."""

    board: int
    posts: float
    weight: float
    weighted_hours: float


def shown(site: Site | None, now: datetime) -> list[Waiting]:
    """Returns the boards of a site, or of all sites (None), on which overview sources show posts
    that no visit has fetched; reads the stored state of each plan's adaptive policy."""
    found: list[Waiting] = []
    for plan in _followed(site):
        live = loops.load(plan, now)
        if live is None or live.loop.overview is None:
            continue
        share, hours, known = (
            loops.share(plan),
            live.loop.overview.known_hours(now.timestamp()),
            live.loop.overview.known,
        )
        mine = (
            live.sites[live.site] == site.pk
            if site is not None
            else np.ones(len(known), dtype=bool)
        )
        for row in np.flatnonzero(mine & (known > 1e-9)).tolist():
            weight = float(known[row])
            found.append(
                Waiting(
                    int(live.boards[row]), weight * float(share[row]), weight, float(hours[row])
                )
            )
    return found


def _followed(site: Site | None) -> list[Plan]:
    """Returns the active plans with the adaptive policy that visit a site, or all such plans
    (None)."""
    if site is not None:
        plan = plans.of_site(site.pk)
        return [plan] if plan is not None and plan.policy == Policy.ADAPTIVE else []
    return list(Plan.objects.filter(active=True, policy=Policy.ADAPTIVE).select_related("site"))
