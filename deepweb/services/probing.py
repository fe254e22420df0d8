"""Random probes, queries drawn at random from known words to estimate the size of the database.
They are planned from the harvest's answers and sent one by one after its queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepweb.models import QueryKind
from deepweb.seen import Choice, Term
from deepweb.selection import FreshPolicy
from deepweb.services.harvest_session import HarvestSession
from deepweb.services.next_query import Ask
from deepweb.size_probes import ProbePlan, plan_probes

FROM_QUERIES = 20
A_QUERY = 2.5
PAGES = 6
SAMPLE = 5
FIRST_PROBES = 40
CUT_PROBES = 0.6
REACH_LOST = 0.2
MAX_PLANS = 3
SCALE_UP = 2.0


def next_probe(session: HarvestSession) -> Ask | None:
    """Returns the next random probe, and plans the probes if necessary. None if all planned probes
    were sent, the harvest has made fewer than 20 queries or found no records, its option `probes`
    is 0, or it knows too few words for a plan.
    """
    counted = len(session.log)
    if session.options.probes == 0 or counted < FROM_QUERIES or not session.seen.records:
        return None
    if "plan" not in session.state or _is_cut_too_often(session):
        _plan_probes(
            session, min(session.options.probes, max(FROM_QUERIES, int(A_QUERY * counted)))
        )
    known = session.state["plan"]
    if known is None:
        return None
    asked = {tuple(probe["term"]) for probe in session.state.get("probes", [])}
    for term in known["drawn"]:
        if tuple(term) not in asked:
            return Ask(QueryKind.PROBE, Choice((Term(*term),)))
    return None


def _is_cut_too_often(session: HarvestSession) -> bool:
    """Tells whether a new plan with rarer words is needed: more than 60 % of at least 40 answers to
    probes were truncated, and there were fewer than three plans."""
    probes = session.state.get("probes", [])
    cut = sum(bool(probe["overflowed"]) for probe in probes)
    return (
        session.state.get("plan") is not None
        and len(probes) >= FIRST_PROBES
        and cut > CUT_PROBES * len(probes)
        and session.state.get("plans", 1) < MAX_PLANS
    )


def _plan_probes(session: HarvestSession, count: int) -> None:
    """Draws the `count` words of a probe plan, or half as many if there are too few. Each further
    plan has rarer words. It replaces the present plan only if it can be made and if the share of
    seen records that contain none of its words is at most 0.2 larger than with the present plan."""
    number = int(session.state.get("plans", 0)) + 1
    rng = np.random.default_rng([session.options.random_seed, number])
    scale = FreshPolicy((), session.limit).scales(session.seen)[session.seen.kinds] * SCALE_UP ** (
        number - 1
    )
    most = PAGES * max(1, int(session.state.get("page_size", 0)))
    limit = most if session.limit is None else min(session.limit, most)
    plan = plan_probes(session.seen, scale, limit, rng, count) or plan_probes(
        session.seen, scale, limit, rng, max(1, count // 2)
    )
    earlier = session.state.get("plan")
    if earlier is not None and (plan is None or plan.outside > earlier["outside"] + REACH_LOST):
        session.state["plans"] = MAX_PLANS
        return
    session.state["plans"] = number
    session.state["probes"] = []
    session.state["plan"] = None if plan is None else _plan_to_json(plan)


def _plan_to_json(plan: ProbePlan) -> dict[str, Any]:
    pool = [[term.input, term.value, weight] for term, weight in plan.pool.items()]
    return {"drawn": [list(term) for term in plan.drawn], "pool": pool, "outside": plan.outside}


def plan_from_json(known: Mapping[str, Any]) -> ProbePlan:
    """Returns the probe plan from a harvest's stored state."""
    pool = {Term(name, value): weight for name, value, weight in known["pool"]}
    return ProbePlan(tuple(Term(*term) for term in known["drawn"]), pool, known["outside"])
