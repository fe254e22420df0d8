"""Database queries for the web pages of the deep web; nothing here writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet, Sum

from crawlmgr.database.paging import ListPage, fetch_page
from crawlmgr.models import Run
from crawlmgr.reads import runs as run_reads
from deepweb.form_types import FormType
from deepweb.models import Cluster, Form, Harvest, Query, Record, Source
from deepweb.services import forms as form_services

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


def curve(harvest: Harvest) -> list[tuple[int, int, int]]:
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
    return columns(list(rows.only("url", "fields").order_by("-id")[:SAMPLE]), MAX_FIELDS)


def columns(rows: Sequence[Record], most: int = COLUMNS_SHOWN) -> list[str]:
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
