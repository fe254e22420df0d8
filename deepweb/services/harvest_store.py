"""Reads what a harvest needs from the database: its finished queries, and the fields of its records
as lists of results showed them.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepweb.models import COUNTED, Harvest, Query, QueryState, Record
from deepweb.query_log import Logged
from deepweb.seen import Choice, Term
from deepweb.totals import Stated

_CHUNK = 900


def finished_queries(harvest: Harvest) -> list[Query]:
    """Returns the answered queries of a harvest in the order in which they were sent."""
    return list(
        Query.objects.filter(harvest=harvest).exclude(state=QueryState.SENT).order_by("number")
    )


def is_counted(row: Query) -> bool:
    """Tells whether a query was sent to find records, not to calibrate or to estimate the size of
    the database."""
    return row.kind in COUNTED


def logged(row: Query) -> Logged:
    """Converts a stored query to a value that does not depend on the database."""
    query = tuple(Term(name, value) for name, value in row.terms)
    stated = tuple(Stated(*each) for each in row.stated)
    choice = Choice(query, row.predicted, row.bucket)
    return Logged(
        row.number, choice, list(row.found), row.overflowed, row.partial, stated, row.total
    )


class ListedRecords:
    """The fields of records, by record id, as lists of results showed them. `columns` are the names
    of all fields, in the order in which they were first seen.
    """

    def __init__(self) -> None:
        self.fields: dict[int, dict[str, str]] = {}
        self.columns: dict[str, None] = {}

    def load(self, keys: Sequence[int] | set[int]) -> None:
        """Loads the records with these ids that are not loaded yet."""
        missing = sorted(set(keys) - set(self.fields))
        for start in range(0, len(missing), _CHUNK):
            for pk, listed in Record.objects.filter(
                pk__in=missing[start : start + _CHUNK]
            ).values_list("pk", "listed"):
                self.fields[pk] = listed
                self.columns.update(dict.fromkeys(listed))
