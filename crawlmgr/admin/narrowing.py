"""Filters of lists whose cost does not grow with the length of the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

MOST_FEW = 1000
Rows = QuerySet[Any]


def words_in(*names: str) -> Callable[[Rows, str], Rows]:
    """A search filter: every word must occur in at least one of the fields."""

    def search(rows: Rows, text: str) -> Rows:
        for word in text.split():
            fits = Q()
            for name in names:
                fits |= Q(**{f"{name}__icontains": word})
            rows = rows.filter(fits)
        return rows

    return search


def newest_with(most: int, order: Sequence[str], *names: str) -> Callable[[Rows, str], Rows]:
    """A filter like `words_in` that searches only the first `most` rows in an indexed order, so that its cost is bounded."""
    plain = words_in(*names)

    def search(rows: Rows, text: str) -> Rows:
        first = rows.order_by(*order).values("pk")[:most]
        return plain(rows.filter(pk__in=first), text)

    return search


def few(rows: Rows, **wish: Any) -> Rows:
    """Filters rows by fields. Up to MOST_FEW matching rows are found through a partial index first and then sorted; if there are
    more, the ordered rows are filtered directly, since matches come soon enough."""
    # further filters on the rows would make the database choose another index
    whole = rows.model._default_manager.filter(**wish).order_by()
    keys = list(whole.values_list("pk", flat=True)[: MOST_FEW + 1])
    return rows.filter(pk__in=keys) if len(keys) <= MOST_FEW else rows.filter(**wish)
