"""Search in the text of records: parts of words, found in the database's own index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from crawlmgr.services import sql
from deepweb.models import Record

MOST_WORDS = 8
MOST_FOUND = 900  # where more records fit, the first page of them is found sooner by reading than through the index
LEAST_LETTERS = 3  # of a word that an index of trigrams knows


def narrowed(rows: QuerySet[Record], text: str) -> QuerySet[Record]:
    """The records whose text holds every word of a search, in any case and inside of other words (MOST_WORDS at most)."""
    words = text.split()[:MOST_WORDS]
    found = _indexed(words)
    if found is not None:
        rows = rows.filter(pk__in=found)
    for word in words:
        rows = rows.filter(text__icontains=word)
    return rows


def _indexed(words: Sequence[str]) -> list[int] | None:
    """The records that SQLite's index gives for one of the words that few have, else for all that it knows together; None where
    it knows none, or where too many fit. PostgreSQL uses its index by itself."""
    known = ['"' + word.replace('"', '""') + '"' for word in words if len(word) >= LEAST_LETTERS]
    if connection.vendor != "sqlite" or not known:
        return None
    for asked in dict.fromkeys([*known, " AND ".join(known)]):
        statement = "SELECT rowid FROM deepweb_recordtext WHERE deepweb_recordtext MATCH %s LIMIT %s"
        rows: list[tuple[Any, ...]] = sql.fetch(statement, (asked, MOST_FOUND + 1))
        if len(rows) <= MOST_FOUND:
            return [row[0] for row in rows]
    return None
