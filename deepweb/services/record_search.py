"""Search for parts of words in the text of records, by the database's own index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from crawlmgr.database import sql
from deepweb.models import Record

MAX_WORDS = 8
# maximum number of matches for which the index is used; with more, reading rows is faster for the
# first page
MAX_FOUND = 900
MIN_LETTERS = 3  # length of the shortest word that a trigram index finds


def narrowed(rows: QuerySet[Record], text: str) -> QuerySet[Record]:
    """Narrows a query to the records whose text contains every word of the search `text` (only its
    first MAX_WORDS words count), ignoring case, also inside other words."""
    words = text.split()[:MAX_WORDS]
    found = _indexed(words)
    if found is not None:
        rows = rows.filter(pk__in=found)
    for word in words:
        rows = rows.filter(text__icontains=word)
    return rows


def _indexed(words: Sequence[str]) -> list[int] | None:
    """Returns the ids of candidate records from SQLite's index: for the first word that is rare
    enough, otherwise for all words together. Words shorter than MIN_LETTERS are not searched for.
    None if no word is long enough, if more than MAX_FOUND records match, or on PostgreSQL, which
    uses its index by itself."""
    known = ['"' + word.replace('"', '""') + '"' for word in words if len(word) >= MIN_LETTERS]
    if connection.vendor != "sqlite" or not known:
        return None
    for asked in dict.fromkeys([*known, " AND ".join(known)]):
        statement = (
            "SELECT rowid FROM deepweb_recordtext WHERE deepweb_recordtext MATCH %s LIMIT %s"
        )
        rows: list[tuple[Any, ...]] = sql.fetch(statement, (asked, MAX_FOUND + 1))
        if len(rows) <= MAX_FOUND:
            return [row[0] for row in rows]
    return None
