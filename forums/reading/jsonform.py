"""Converts the reading of a page to the JSON document that the command `forum inspect` prints."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from crawlmgr.text.dates import Moment
from forums.reading.model import BoardRecord, PageReading, PostRecord, ThreadRecord

Offsets = Mapping[datetime, int]


def _time(moment: Moment | None, offsets: Offsets) -> str | None:
    """Returns the time in ISO 8601 with the offset written on the page, otherwise in UTC; None for
    None."""
    if moment is None:
        return None
    offset = offsets.get(moment.value, 0)
    if not offset:
        return moment.value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return moment.value.astimezone(timezone(timedelta(seconds=offset))).isoformat()


def _board(record: BoardRecord, offsets: Offsets) -> dict[str, Any]:
    return {
        "url": record.url,
        "name": record.name,
        "threads": record.threads,
        "posts": record.posts,
        "last_reply": _time(record.last_reply, offsets),
        "description": record.description,
        "parent": record.parent,
    }


def _thread(record: ThreadRecord, offsets: Offsets) -> dict[str, Any]:
    return {
        "url": record.url,
        "title": record.title,
        "author": record.author,
        "replies": record.replies,
        "created": _time(record.created, offsets),
        "last_reply": _time(record.last_reply, offsets),
        "pinned": record.pinned,
        "counts_posts": record.counts_posts,
        "last_author": record.last_author,
        "last_post_url": record.last_post_url,
        "last_reply_precision_seconds": (
            record.last_reply.precision_seconds if record.last_reply else None
        ),
        "board_url": record.board_url,
        "board_name": record.board_name,
        "views": record.views,
        "locked": record.locked,
    }


def _post(record: PostRecord, offsets: Offsets) -> dict[str, Any]:
    return {
        "author": record.author,
        "posted": _time(record.posted, offsets),
        "text": record.text,
        "post_id": record.post_id,
        "url": record.url,
        "number": record.number,
    }


def record_json(
    record: BoardRecord | ThreadRecord | PostRecord, offsets: Offsets
) -> dict[str, Any]:
    """Returns one record as in the JSON document; times are in ISO 8601. `offsets`: the UTC offset
    in seconds of times that the page gives with one."""
    if isinstance(record, BoardRecord):
        return _board(record, offsets)
    return _thread(record, offsets) if isinstance(record, ThreadRecord) else _post(record, offsets)


def to_json(reading: PageReading) -> dict[str, Any]:
    """Returns the JSON document of a reading, as `forum inspect` prints it: kind, records, next,
    pages, title, engine, confidence, complete, doubts, sort, boards and evidence, which are
    explained at `PageReading`.
    """
    offsets = dict(reading.utc_offsets)
    return {
        "kind": str(reading.kind),
        "records": [record_json(record, offsets) for record in reading.records],
        "next": reading.next,
        "pages": list(reading.pages),
        "title": reading.title,
        "engine": reading.engine,
        "confidence": round(reading.confidence, 3),
        "complete": reading.complete,
        "doubts": list(reading.doubts),
        "sort": reading.sort,
        "boards": [_board(record, offsets) for record in reading.boards],
        "evidence": list(reading.evidence),
    }
