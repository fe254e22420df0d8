"""Stores the rows of fetched pages: request, response, and position in the archive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from crawlmgr.database import sql
from crawlmgr.models import Url, WarcFile
from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.url import url_hash
from crawlmgr.web.warc import RecordPointer

_VALUES = (
    *(
        "host_id",
        "url",
        "url_hash",
        "final_url",
        "status",
        "failure",
        "content_type",
        "encoding",
        "title",
        "etag",
    ),
    *(
        "last_modified",
        "digest",
        "received_bytes",
        "elapsed_seconds",
        "cut",
        "fetched_at",
        "depth",
        "relevance",
    ),
    *("warc_id", "warc_offset", "warc_length", "revisit"),
)
_PAGE = (
    # fixed names
    f"INSERT INTO crawlmgr_page (run_id, key_hash, {', '.join(_VALUES)})"  # noqa: S608
    f" VALUES ({', '.join(['%s'] * (len(_VALUES) + 2))}) ON CONFLICT (run_id, key_hash)"
    f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _VALUES)}"
)


def row(
    run_id: int,
    item: Url,
    response: FetchResponse,
    written: tuple[WarcFile, RecordPointer] | None,
    now: datetime,
    *,
    title: str,
    relevance: float | None,
) -> tuple[Any, ...]:
    """Returns the values of one page's row in the form that `add` takes. `written` is the WARC file
    and the position in it; None if the page was not archived."""
    file, pointer = written if written else (None, None)
    values = (
        *(item.host_id, item.url, url_hash(item.url), response.url, response.status),
        *(response.failure.value if response.failure else "", response.content_type[:100]),
        *(
            response.encoding[:40] if response.body else "",
            title[:500],
            (response.header("etag") or "")[:300],
        ),
        *(
            (response.header("last-modified") or "")[:100],
            pointer.digest if pointer else "",
            response.received_bytes,
        ),
        *(
            response.elapsed_seconds,
            response.cut or "",
            now,
            item.depth,
            relevance,
            file.pk if file else None,
        ),
        *(pointer.offset if pointer else None, pointer.length if pointer else None),
        bool(pointer and pointer.type == "revisit"),
    )
    return (run_id, item.key_hash, *values)


def add(rows: Sequence[tuple[Any, ...]]) -> None:
    """Writes rows of pages; a row for an address of which the run already has one replaces it."""
    if rows:
        sql.execute_many(_PAGE, rows)
