"""Figures of harvests for the web interface, the command line and files, computed from stored
counters in this module only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q

from crawlmgr.models import Run
from deepweb.models import COUNTED, Harvest, Query, QueryKind, QueryState

NOT_ASKED = "not asked"
SETTLED_BY = {
    "no_probes": "more_probes",
    "too_few_words": "more_queries",
    "too_few_probes": "more_probes",
    "too_few_recaptured": "more_probes",
    "too_wide": "more_probes",
    "too_many_cut": "a_partition",
    "answers_not_understood": "details",
    "below_records_seen": "more_probes",
    "no_records": "other_words",
}
"""Codes of what would make an estimate of the database size possible, by the code of the reason why
there is none."""


def figures(harvests: Sequence[Harvest], stopped_by: str = "") -> dict[str, Any]:
    """Returns the sums and rates of several harvests by name ("queries", "records", "efficiency"
    …): all numbers that a page, the command line or a file shows. `stopped_by` replaces the
    harvests' own reasons for ending.

    Counted queries are those for records and the random probes; "requests" include those of
    nonsense queries. "estimated_total" and "coverage" are [lower, upper] bounds, None if a size is
    unknown."""
    queries, valid = sum(h.queries for h in harvests), sum(h.valid for h in harvests)
    records, returned = sum(h.records for h in harvests), sum(h.returned for h in harvests)
    sized = bool(harvests) and all(h.low is not None and h.high is not None for h in harvests)
    low, high = sum(h.low or 0 for h in harvests), sum(h.high or 0 for h in harvests)
    reason = None if sized else next((h.unknown for h in harvests if h.unknown), "no_probes")
    return {
        "queries": queries,
        "valid": valid,
        "efficiency": valid / queries if queries else None,
        "records": records,
        "records_per_query": records / queries if queries else None,
        "returned": returned,
        "overlap_rate": returned / records if records else None,
        "estimated_total": [low, high] if sized else None,
        "coverage": (
            [min(1.0, records / max(high, 1.0)), min(1.0, records / max(low, 1.0))]
            if sized
            else None
        ),
        "estimate_reason": reason,
        "estimate_needs": SETTLED_BY.get(reason or ""),
        "policy_share_of_cuts": share_of_cuts([h.pk for h in harvests]),
        "probes": sum(h.probes for h in harvests),
        "requests": sum(h.requests for h in harvests),
        "details": sum(h.details for h in harvests),
        "detail_requests": sum(h.detail_requests for h in harvests),
        "stopped_by": (
            stopped_by or ", ".join(sorted({h.stopped_by for h in harvests if h.stopped_by}))
        ),
    }


def share_of_cuts(ids: Sequence[int]) -> float | None:
    """Returns the share of truncated answers in the answers that had records, in these harvests
    (ids), without those to random probes and nonsense queries; None if there are no such answers.
    """
    asked = Q(kind__in=COUNTED, state=QueryState.VALID)
    rows = Query.objects.filter(asked, harvest_id__in=ids)
    counts = rows.aggregate(whole=Count("pk"), cut=Count("pk", filter=Q(overflowed=True)))
    return counts["cut"] / counts["whole"] if counts["whole"] else None


def result_of(run: Run) -> dict[str, Any]:
    """Returns the result of a run of harvests: the entries of `figures` for all its forms together,
    their "curve" (see `curve`), and "forms", a list with the main numbers of each form."""
    harvests = list(Harvest.objects.filter(run=run).select_related("form").order_by("position"))
    names = ("queries", "valid", "probes", "records", "requests", "details", "stopped_by")
    return {
        **figures(harvests, harvests[0].stopped_by if len(harvests) == 1 else run.stopped_by),
        "curve": curve([h.pk for h in harvests]),
        "forms": [
            {"form": h.form_id, **{name: getattr(h, name) for name in names}} for h in harvests
        ],
    }


def curve(ids: Sequence[int]) -> list[list[int]]:
    """Returns a point [number of queries so far, number of records so far] for each query of the
    harvests `ids` of one run, in the order in which the queries ended. Nonsense queries (words that
    cannot occur) are left out.
    """
    latest: dict[int, int] = {}
    points = []
    rows = Query.objects.filter(harvest_id__in=ids, kind__in=(*COUNTED, QueryKind.PROBE)).exclude(
        state=QueryState.SENT
    )
    rows = rows.order_by("ended_at", "pk")
    for place, (harvest, records) in enumerate(
        rows.values_list("harvest_id", "records_after"), start=1
    ):
        latest[harvest] = records
        points.append([place, sum(latest.values())])
    return points


def nothing_was_asked(run: Run) -> str:
    """Returns the reasons why no form of a run could be queried at all; "" if at least one was."""
    reasons = [h.stopped_by for h in Harvest.objects.filter(run=run)]
    unasked = [reason for reason in reasons if reason.startswith(NOT_ASKED)]
    return ", ".join(sorted(set(unasked))) if unasked and len(unasked) == len(reasons) else ""
