"""Estimate of the size of a harvested database from its random probes, which are drawn here. If
lists of results show too little of a record, its detail page is used as well."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepweb.answers.retrieved import TWICE_LISTED, Choice, Term, is_open
from deepweb.choice.matching import hits_of
from deepweb.choice.opening import Ask
from deepweb.choice.words import FreshPolicy
from deepweb.harvest_session import HarvestSession
from deepweb.models import QueryKind, Record
from deepweb.size.estimators import (
    MAX_RATIO,
    Estimate,
    ProbeAnswer,
    ProbedRecord,
    ProbePlan,
    estimate_size,
    plan_probes,
)

FROM_QUERIES = 20


A_QUERY = 2.5


PAGES = 6


PROBE_PAGES = 3 * PAGES
"""Number of pages to which the answer to a random probe is read."""


FIRST_PROBES = 40


CUT_PROBES = 0.6


REACH_LOST = 0.2


MAX_PLANS = 3


RETURNED, Z = 30, 1.96
"""Fewest records that probes must return for a share of them, and the quantile of its interval."""


_PARTLY = "probes_not_read"


SCALE_UP = 2.0


def next_probe(session: HarvestSession) -> Ask | None:
    """Returns the next random probe, and plans the probes if necessary. None if all planned probes
    were sent, no record was found or one answer listed all, the option `probes` is 0, or too few
    words are known for a plan.
    """
    counted = len(session.log)
    if (
        not session.options.probes
        or not session.retrieved.records
        or session.log.listing() is not None
    ):
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
    scale = FreshPolicy(session.limit).scales(session.retrieved)[
        session.retrieved.kind_numbers
    ] * SCALE_UP ** (number - 1)
    most = PAGES * max(1, int(session.state.get("page_size", 0)))
    limit = most if session.limit is None else min(session.limit, most)
    plan = plan_probes(session.retrieved, scale, limit, rng, count) or plan_probes(
        session.retrieved, scale, limit, rng, max(1, count // 2)
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


MANY = 100_000


CHUNK = 900


MISSED = 0.1


VOICES = 3


ADDRESSES = ("http://", "https://")


def size_up(session: HarvestSession) -> None:
    """Estimates the size of the database and sets it in the harvest: by an answer that lists it or
    states its size, or else by the harvest's probes; if that is not possible, or two methods
    contradict each other, sets the reason."""
    harvest, size = session.harvest, _listed(session)
    if size is None:
        size, other = size_of(session), _by_returns(session)
        if size is None or size.low is None:
            size = other or size
        elif other is not None and other.high is not None and size.low > other.high:
            size = replace(size, low=None, high=None, reason="below_records_seen")
    if size is None:
        harvest.unknown = (
            "no_records"
            if not session.known
            else "too_few_words"
            if "plan" in session.state
            else "no_probes"
        )
    else:
        reason = _PARTLY if _is_read_in_part(session, size.reason) else size.reason
        harvest.low, harvest.high, harvest.unknown = size.low, size.high, reason[:40]


def _is_read_in_part(session: HarvestSession, reason: str) -> bool:
    """Tells whether probes that count as truncated were only not read to their end."""
    probes = session.state.get("probes", [])
    partial = sum(bool(probe.get("partial")) for probe in probes)
    return reason == "too_many_cut" and 2 * partial > sum(bool(p["overflowed"]) for p in probes)


def _listed(session: HarvestSession) -> Estimate | None:
    """Returns the size by an answer to a query without any value: the number of its records, if
    they are all that is known, or the number that it states. None without such an answer."""
    known = float(len(session.known))
    whole = session.log.listing()
    if whole is not None and session.known.issubset(whole.found):
        return Estimate(known, known, "", 0)
    for entry in session.log:
        stated = entry.total if entry.found and is_open(entry) else None
        if stated is not None and stated >= known:
            return Estimate(float(stated), stated * (1 + TWICE_LISTED), "", 0)
    return None


def _by_returns(session: HarvestSession) -> Estimate | None:
    """Returns the size by two sets of queries, those for records (A) and the random probes (B): the
    share of the records of B that A had found (95 % interval of Wilson, of half as many records,
    since those of a probe are alike) is taken for the share of the database; the distance to the
    upper bound is doubled, since words of known records find known ones more easily. None with too
    few complete probes, or if the interval is too wide."""
    probes = session.state.get("probes", [])
    whole = [probe for probe in probes if not probe["overflowed"]]
    ours = {pk for entry in session.log for pk in entry.found}
    theirs = {pk for probe in whole for pk in probe["found"]}
    if len(theirs) < RETURNED or 2 * len(whole) < len(probes):
        return None
    n, known = len(theirs) / 2, float(len(session.known))
    share = len(theirs & ours) / len(theirs)
    middle, spread = (
        share + Z**2 / (2 * n),
        Z * math.sqrt(share * (1 - share) / n + (Z / n) ** 2 / 4),
    )
    least, most = ((middle + sign * spread) / (1 + Z**2 / n) for sign in (-1, 1))
    low = max(known, float(math.floor(len(ours) / min(1.0, most))))
    high = known + 2 * (max(known, len(ours) / max(least, 1e-9)) - known)
    sized = Estimate(low, high, "", len(whole))
    return sized if high <= MAX_RATIO * low else None


def size_of(session: HarvestSession) -> Estimate | None:
    """Returns the estimated size of the database, from the probes answered so far; None before the
    first probe."""
    plan = session.state.get("plan")
    probes = {tuple(probe["term"]): probe for probe in session.state.get("probes", [])}
    if not plan or not probes:
        return None
    drawn = [probes[tuple(term)] for term in plan["drawn"] if tuple(term) in probes]
    fields = _fields({pk for probe in drawn for pk in probe["found"]})
    known = _known_records(session, fields)
    answers = [
        ProbeAnswer(
            Term(*probe["term"]),
            [known[pk] for pk in probe["found"] if pk in known],
            bool(probe["overflowed"]),
        )
        for probe in drawn
    ]
    return estimate_size(plan_from_json(plan), answers, session.harvest.records)


def _fields(ids: set[int]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    wanted = sorted(ids)
    for begin in range(0, len(wanted), CHUNK):
        found.update(
            Record.objects.filter(pk__in=wanted[begin : begin + CHUNK]).values_list("pk", "fields")
        )
    return found


def _known_records(
    session: HarvestSession, fields: Mapping[int, Mapping[str, Any]]
) -> dict[int, ProbedRecord]:
    """Converts records, given as fields by id, to the input of the size estimate: the terms of each
    record, and the text of those of its fields that the form searches. Returns them by id.
    """
    searched = _searched_columns(session, fields)
    known = {}
    for pk, own in fields.items():
        told = {
            name: str(value)
            for name, value in own.items()
            if name in searched or name in session.columns_of_inputs()
        }
        text = "\n".join(
            value
            for name, value in told.items()
            if name in searched and not value.startswith(ADDRESSES)
        )
        known[pk] = ProbedRecord(pk, frozenset(session.asking.terms(told, MANY)), text.casefold())
    return known


def _searched_columns(session: HarvestSession, fields: Mapping[int, Mapping[str, Any]]) -> set[str]:
    """Returns the names of the record fields that the text box searches: of the records with a
    queried word in this field, the complete answers to single words contain at least 90 %. An
    answer counts with at most three found and three missed records. `fields` are the complete
    fields of records, by id."""
    counts: dict[str, list[int]] = {}
    for term, found in _whole_answers(session):
        for name, (hits, misses) in hits_of(
            fields, found, term.value.casefold(), session.asking.mode
        ).items():
            pair = counts.setdefault(name, [0, 0])
            pair[0] += min(hits, VOICES)
            pair[1] += min(misses, VOICES)
    return {
        name
        for name, (hits, misses) in counts.items()
        if hits and misses <= MISSED * (hits + misses)
    }


def _whole_answers(session: HarvestSession) -> list[tuple[Term, set[int]]]:
    limit, box = session.limit, session.asking.box
    asked = [(entry.choice.query, entry.found, not entry.is_whole) for entry in session.log]
    asked += [
        ((Term(*probe["term"]),), probe["found"], probe["overflowed"])
        for probe in session.state.get("probes", [])
    ]
    return [
        (query[0], set(found))
        for query, found, cut in asked
        if len(query) == 1
        and query[0].input == box
        and not cut
        and (limit is None or len(found) < limit)
    ]
