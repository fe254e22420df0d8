"""Database queries for the web pages of the deep web, and the figures of harvests for pages, the
command line and files; nothing here writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet, Sum

from crawlmgr.database.paging import ListPage, fetch_page
from crawlmgr.models import Run
from crawlmgr.runs import run_reads
from deepweb.choice.chooser import By
from deepweb.forms import stored as form_services
from deepweb.forms.types import FormType
from deepweb.models import (
    COUNTED,
    Cluster,
    Form,
    Harvest,
    Query,
    QueryKind,
    QueryState,
    Record,
    Source,
)

NOT_ASKED = "not asked"


FEW_PROBES = 20


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
    "probes_not_read": "more_requests",
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
        "estimate_needs_count": max(FEW_PROBES, sum(h.probes for h in harvests)),
        "all": sized and records > 0 and low == high == records,
        "doubt": next((doubt for h in harvests if (doubt := h.state.get("doubt"))), None),
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


class Predicted(NamedTuple):
    """The queries of a harvest that one way to choose predicted: the code of its name, the number
    of finished queries, and the new records for which they were chosen and that they brought."""

    code: str
    queries: int
    expected: float
    brought: int


def predictions(harvest: Harvest) -> list[Predicted]:
    """Returns the predictions of a harvest compared with what came, for each way to choose."""
    rows = Query.objects.filter(
        harvest=harvest,
        bucket__gte=0,
        expected__isnull=False,  # null: asked by an earlier version
    ).exclude(state=QueryState.SENT)
    sums = (
        rows.order_by("bucket")
        .values_list("bucket")
        .annotate(Count("pk"), Sum("expected"), Sum("new"))
    )
    return [Predicted(f"by_{By(bucket).name.lower()}", *more) for bucket, *more in sums]


def nothing_was_asked(run: Run) -> str:
    """Returns the reasons why no form of a run could be queried at all; "" if at least one was."""
    reasons = [h.stopped_by for h in Harvest.objects.filter(run=run)]
    unasked = [reason for reason in reasons if reason.startswith(NOT_ASKED)]
    return ", ".join(sorted(set(unasked))) if unasked and len(unasked) == len(reasons) else ""


TREE_LIMIT = 30


COLUMNS_SHOWN = 7


SAMPLE = 100


MAX_FIELDS = 40


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A site with its numbers of forms and of search forms, and its active run (None if there is
    none)."""

    source: Source
    forms: int
    search: int
    run: Run | None


def is_search(before: str = "") -> Q:
    """Returns a condition for search forms, by the type that an operator set or else the
    classifier's. `before` is the lookup prefix for queries of related tables, such as "form__"."""
    by_type = Q(**{f"{before}corrected": "", f"{before}type": FormType.SEARCH})
    return Q(**{f"{before}corrected": FormType.SEARCH}) | by_type


def newest_sources(most: int) -> list[SourceRow]:
    """Returns the `most` newest sites with their numbers of forms and active runs."""
    return with_numbers(list(Source.objects.defer("links").order_by("-id")[:most]))


def with_numbers(rows: Sequence[Source]) -> list[SourceRow]:
    """Returns the sites with their numbers of forms and active runs; three database queries,
    whatever the number of sites."""
    ids = [row.pk for row in rows]
    counts = {
        entry["source_id"]: entry
        for entry in (
            Form.objects.filter(source_id__in=ids)
            .values("source_id")
            .annotate(whole=Count("id"), search=Count("id", filter=is_search()))
        )
    }
    working = run_reads.at_work("deepweb-find", ids)
    return [
        SourceRow(
            row,
            counts.get(row.pk, {}).get("whole", 0),
            counts.get(row.pk, {}).get("search", 0),
            working.get(row.pk),
        )
        for row in rows
    ]


def tree_sources() -> list[Source]:
    """Returns the newest sites for the navigation tree, one more than it shows, so that it is known
    whether there are more."""
    return list(Source.objects.only("id", "name").order_by("-id")[: TREE_LIMIT + 1])


def working(kind: str, targets: Sequence[int]) -> dict[int, Run]:
    """Returns the active runs of a kind, by the site (target) that they work on."""
    return run_reads.at_work(kind, targets)


def forms_of(source: Source) -> list[Form]:
    """Returns the forms of a site, search forms first."""
    rows = source.forms.select_related("cluster").defer("words").order_by("depth", "id")
    return sorted(rows, key=lambda form: (form.kind != FormType.SEARCH, form.kind))


def harvests(
    form: Form | None = None, size: int = 20, *, source: Source | None = None
) -> list[Harvest]:
    """Returns the `size` newest harvests of a form, of a site's forms, or (if neither is given) of
    all forms, newest first."""
    rows = Harvest.objects.select_related("run", "form__source").defer(
        "state", "form__words", "form__described"
    )
    if form is not None:
        rows = rows.filter(form=form)
    elif source is not None:
        rows = rows.filter(form__source=source)
    return list(rows.order_by("-id")[:size])


def log(harvest: Harvest, query: Mapping[str, str], size: int = 50) -> ListPage:
    """Returns one page of the list of a harvest's queries, newest first; `query` are the parameters
    of the address, which name the page, `size` the number of queries per page."""
    return fetch_page(Query.objects.filter(harvest=harvest).defer("found"), size=size, query=query)


def coverage_curve(harvest: Harvest) -> list[tuple[int, int, int]]:
    """Returns (requests so far, records so far, new records) after each finished query of a
    harvest, without nonsense queries."""
    rows = (
        Query.objects.filter(harvest=harvest)
        .exclude(state="sent")
        .exclude(kind="nonsense")
        .order_by("number")
    )
    return list(rows.values_list("requests_after", "records_after", "new"))


def newest_records(source: Source, most: int) -> list[Record]:
    """Returns the `most` records of a site that were found last, newest first."""
    return list(records().filter(source=source).order_by("-id")[:most])


def beside(record: Record, most: int) -> list[Record]:
    """Returns records of the same site that were found just before and just after a record, at most
    `most` on each side."""
    near = records().filter(source=record.source_id)
    later = list(near.filter(pk__gt=record.pk).order_by("id")[:most])
    return [*later[::-1], *near.filter(pk__lt=record.pk).order_by("-id")[:most]]


def records() -> QuerySet[Record]:
    """Returns all records with the names of their sites."""
    names = ("url", "fields", "first_seen", "detail_at", "source__name")
    return Record.objects.select_related("source").only(*names)


def fields_of(site: int | None) -> list[str]:
    """Returns the fields of the newest records, of one site or of all, most frequent first, except
    those that only repeat the address."""
    rows = Record.objects.filter(source_id=site) if site else Record.objects.all()
    return shown_fields(list(rows.only("url", "fields").order_by("-id")[:SAMPLE]), MAX_FIELDS)


def shown_fields(rows: Sequence[Record], most: int = COLUMNS_SHOWN) -> list[str]:
    """Returns the fields that most of these records have, except those that only repeat the
    record's address; at most `most`."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(name for name, value in row.fields.items() if value != row.url)
    return [name for name, _ in counts.most_common(most)]


def all_harvests() -> QuerySet[Harvest]:
    """Returns every harvest with its run, form and site, without the large columns."""
    big = (
        "state",
        "form__words",
        "form__described",
        "form__learned",
        "run__result",
        "form__source__links",
    )
    return Harvest.objects.select_related("run", "form__source").defer(*big)


class Member(NamedTuple):
    """A form of a cluster as list and map show it: id, target address, its site's name, coordinates
    on the map."""

    pk: int
    action: str
    site: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster with its forms, and the sums over the harvests of these forms."""

    cluster: Cluster
    forms: list[Member]
    queries: int
    valid: int
    records: int

    @property
    def efficiency(self) -> float | None:
        return self.valid / self.queries if self.queries else None


def clusters() -> list[ClusterRow]:
    """Returns all clusters with their forms and sums, the largest first; three database queries."""
    found = list(Cluster.objects.order_by("-forms_count", "id"))
    members: dict[int, list[Member]] = {}
    clustered = Form.objects.filter(cluster__isnull=False)
    for cluster, pk, action, source, x, y in clustered.values_list(
        "cluster_id", "id", "action", "source__name", "map_x", "map_y"
    ):
        members.setdefault(cluster, []).append(Member(pk, action, source, x, y))
    sums = {
        entry["form__cluster_id"]: entry
        for entry in (
            Harvest.objects.filter(form__cluster__isnull=False)
            .values("form__cluster_id")
            .annotate(queries=Sum("queries"), valid=Sum("valid"), records=Sum("records"))
        )
    }
    return [
        ClusterRow(
            row,
            members.get(row.pk, []),
            *(int(sums.get(row.pk, {}).get(name) or 0) for name in ("queries", "valid", "records")),
        )
        for row in found
    ]


def may_be_asked(form: Form) -> str | None:
    """Returns the reason why a form must not be queried; None if it may be."""
    return form_services.refusal_code(form)


def sample_of(query: Query, most: int = 20) -> list[Record]:
    """Returns the first `most` records found by a query, in the order of its results."""
    wanted = list(query.found[:most])
    found = Record.objects.in_bulk(wanted)
    return [found[pk] for pk in wanted if pk in found]
