"""Stores records, once per source (search site). They are identified by their own address or,
without one, by all their text; detail pages add fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from crawlmgr.web.url import url_hash
from deepweb.models import Form, Record
from deepweb.record_fields import merged
from deepweb.result_list import FoundRecord
from deepweb.services import forms

MAX_TEXT = 100_000


def keep(form: Form, found: Sequence[FoundRecord], now: datetime) -> tuple[list[int], int]:
    """Stores the records of one page of results. Returns their ids in order, and how many were new
    to the source."""
    keys = {url_hash(record.key): record for record in found}
    known = {
        row.key_hash: row
        for row in Record.objects.filter(source_id=form.source_id, key_hash__in=keys)
    }
    fresh = [
        Record(
            source_id=form.source_id,
            form=form,
            key_hash=key,
            url=record.url,
            listed=dict(record.fields),
            fields=dict(record.fields),
            text=text_of(record.fields),
            first_seen=now,
        )
        for key, record in keys.items()
        if key not in known
    ]
    if fresh:
        Record.objects.bulk_create(fresh, ignore_conflicts=True)
        forms.count_records(form.source_id, len(fresh))
        rows = Record.objects.filter(
            source_id=form.source_id, key_hash__in=[row.key_hash for row in fresh]
        )
        known |= {row.key_hash: row for row in rows}
    changed = []
    for key, record in keys.items():
        row = known[key]
        if row.listed != dict(record.fields):
            row.listed = dict(record.fields)
            row.fields = merged(row.fields, row.listed)
            row.text = text_of(row.fields)
            changed.append(row)
    if changed:
        Record.objects.bulk_update(changed, ["listed", "fields", "text"])
    return [known[key].pk for key in keys], len(fresh)


def add_detail(pk: int, fields: Mapping[str, str], now: datetime) -> bool:
    """Adds the fields of a detail page to a record. Returns False if the record was deleted
    meanwhile."""
    row = Record.objects.filter(pk=pk).first()
    if row is None:
        return False
    row.fields = merged(row.listed, fields)
    row.text = text_of(row.fields)
    row.detail_at = now
    row.save(update_fields=["fields", "text", "detail_at"])
    return True


def text_of(fields: Mapping[str, str]) -> str:
    """Returns the searchable text of a record: the values of its fields, except addresses."""
    texts = (
        str(value)
        for value in fields.values()
        if not str(value).startswith(("http://", "https://"))
    )
    return "\n".join(texts)[:MAX_TEXT]
