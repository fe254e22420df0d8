"""Filters of lists whose cost does not grow with the length of the list."""

from __future__ import annotations

from collections.abc import Callable
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


def newest_with(most: int, time: str, *names: str) -> Callable[[Rows, str], Rows]:
    """A filter like `words_in`, but with bounded cost: it searches only the newest `most` rows by an indexed time, and at most
    as many rows whose time is empty."""
    plain = words_in(*names)

    def search(rows: Rows, text: str) -> Rows:
        return plain(rows.filter(_newest(rows, time, most)), text)

    return search


def _newest(rows: Rows, time: str, most: int) -> Q:
    timed, untimed = rows.filter(**{f"{time}__isnull": False}), rows.filter(**{f"{time}__isnull": True})
    oldest = timed.order_by(f"-{time}").values_list(time, flat=True)[most - 1 : most].first()
    if oldest is not None:
        return Q(**{f"{time}__gte": oldest})
    first = untimed.order_by("-pk").values_list("pk", flat=True)[most - 1 : most].first()
    return Q() if first is None else Q(**{f"{time}__isnull": False}) | Q(pk__gte=first)


def few(rows: Rows, **wish: Any) -> Rows:
    """Filters rows by fields. Up to MOST_FEW matching rows are found through a partial index first and then sorted; if there are
    more, the ordered rows are filtered directly, since matches come soon enough."""
    # further filters on the rows would make the database choose another index
    whole = rows.model._default_manager.filter(**wish).order_by()
    keys = list(whole.values_list("pk", flat=True)[: MOST_FEW + 1])
    return rows.filter(pk__in=keys) if len(keys) <= MOST_FEW else rows.filter(**wish)
