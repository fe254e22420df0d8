"""The tables that can be exported from the deep web: forms, queries, and records with their
fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from crawlmgr.exports.exports import CHUNK, Filter, Table, narrowed
from deepweb.models import Form, Query, Record

FORMS = (
    *(
        "page_url",
        "action",
        "method",
        "type",
        "fields",
        "form",
        "source",
        "confidence",
        "searchable",
        "corrected",
        "released",
    ),
    *("cluster", "depth", "found"),
)
QUERIES = (
    *(
        "form",
        "terms",
        "results",
        "new_records",
        "valid",
        "sent_at",
        "kind",
        "number",
        "pages",
        "requests",
        "cut",
        "stated_total",
        "partial",
    ),
    *("state", "reason", "form_id", "run", "records_after"),
)
RECORDS = ("form", "url")
OF_RECORD = {
    "_site": "source__url",
    "_form": "form_id",
    "_record": "pk",
    "_first_seen": "first_seen",
    "_detail_at": "detail_at",
}
MAX_COLUMNS = 200


def _forms(chosen: Filter) -> QuerySet[Form]:
    rows = Form.objects.select_related("source", "cluster").defer("words")
    return narrowed(rows, chosen, site="source_id", run="harvests__run_id", since="found")


def _form(form: Form, header: Sequence[str]) -> Iterator[Sequence[Any]]:
    fields = [
        {
            "name": field["name"],
            "kind": field["kind"],
            "label": field["label"],
            "role": field["role"],
        }
        for field in form.described.get("fields", ())
    ]
    yield (
        *(
            form.page_url,
            form.action,
            form.method,
            form.kind,
            json.dumps(fields, ensure_ascii=False),
            form.pk,
        ),
        *(form.source.url, form.confidence, form.searchable, form.corrected, form.released),
        *(form.cluster.name if form.cluster else "", form.depth, form.found),
    )


OF_QUERY = (
    *(
        "harvest__form__action",
        "terms",
        "returned",
        "new",
        "state",
        "sent_at",
        "kind",
        "number",
        "pages",
        "requests",
    ),
    *(
        "overflowed",
        "total",
        "partial",
        "reason",
        "harvest__form_id",
        "harvest__run_id",
        "records_after",
    ),
)


def _queries(chosen: Filter) -> QuerySet[Query]:
    return narrowed(
        Query.objects.all(),
        chosen,
        site="harvest__form__source_id",
        run="harvest__run_id",
        since="sent_at",
    )


def _query(row: Sequence[Any], header: Sequence[str]) -> Iterator[Sequence[Any]]:
    action, terms, returned, new, state, sent, *rest, reason, form, run, after = row
    terms_text = " ".join(f"{name}={value}" for name, value in terms)
    yield (
        action,
        terms_text,
        returned,
        new,
        state == "valid",
        sent,
        *rest,
        state,
        reason,
        form,
        run,
        after,
    )


def _records_of(chosen: Filter) -> QuerySet[Record]:
    return narrowed(
        Record.objects.all(),
        chosen,
        site="source_id",
        run="form__harvests__run_id",
        since="first_seen",
    )


def _found(chosen: Filter) -> list[str]:
    """Returns the names of all fields of the chosen records, most frequent first, at most
    MAX_COLUMNS."""
    counts: dict[str, int] = {}
    for fields in _records_of(chosen).values_list("fields", flat=True).iterator(chunk_size=CHUNK):
        for name in fields:
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: -counts[name])[:MAX_COLUMNS]


def _record_columns(chosen: Filter) -> list[str]:
    """Returns the column names of the export of records: form, url, the fields of the records under
    their own names (with the prefix "field_" if they are the name of another column), then this
    program's columns about the record.
    """
    taken = {*RECORDS, *OF_RECORD}
    return [
        *RECORDS,
        *(f"field_{name}" if name in taken else name for name in _found(chosen)),
        *OF_RECORD,
    ]


def _record(row: Sequence[Any], header: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yields the row of one record. Its columns are those of `header`, determined when the export
    began, since a crawl may find more fields meanwhile.
    """
    taken = {f"field_{name}": name for name in (*RECORDS, *OF_RECORD)}
    action, url, fields, *rest = row
    names = header[len(RECORDS) : len(header) - len(OF_RECORD)]
    yield (action, url, *(fields.get(taken.get(name, name)) for name in names), *rest)


FORM_KINDS = {
    "found": "time",
    "confidence": "real",
    "searchable": "boolean",
    "released": "boolean",
    "form": "integer",
    "depth": "integer",
}
QUERY_KINDS = {
    **dict.fromkeys(
        (
            "results",
            "new_records",
            "number",
            "pages",
            "requests",
            "stated_total",
            "form_id",
            "run",
            "records_after",
        ),
        "integer",
    ),
    **dict.fromkeys(("valid", "cut", "partial"), "boolean"),
    "sent_at": "time",
}
RECORD_KINDS = {
    "_form": "integer",
    "_record": "integer",
    "_first_seen": "time",
    "_detail_at": "time",
}
_VALUES = ("form__action", "url", "fields", *OF_RECORD.values())
TABLES: dict[str, Table] = {
    "forms": Table(FORMS, _forms, expand=_form, column_types=FORM_KINDS),
    "queries": Table(QUERIES, _queries, OF_QUERY, _query, column_types=QUERY_KINDS),
    "records": Table(
        RECORDS,
        _records_of,
        _VALUES,
        _record,
        _record_columns,
        RECORD_KINDS,
        plain=Table((*RECORDS, "fields", *OF_RECORD), _records_of, _VALUES),
        day="_first_seen",
        site="url",
    ),
}
