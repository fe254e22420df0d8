"""Filters of lists: search by words, and filters whose cost does not grow with the length of the
list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet

MAX_FEW = 1000
Rows = QuerySet[Any]


def words_in(*names: str) -> Callable[[Rows, str], Rows]:
    """Returns a search filter: every word of the text must occur in at least one of the fields
    `names`, ignoring case."""

    def search(rows: Rows, text: str) -> Rows:
        for word in text.split():
            fits = Q()
            for name in names:
                fits |= Q(**{f"{name}__icontains": word})
            rows = rows.filter(fits)
        return rows

    return search


def newest_with(most: int, time: str, *names: str) -> Callable[[Rows, str], Rows]:
    """Returns a search filter like that of `words_in` (every word in one of the fields `names`),
    but of bounded cost: only the `most` rows with the latest times in the indexed field `time` are
    searched. If fewer rows than that have a time, the `most` newest rows without one are searched
    as well."""
    plain = words_in(*names)

    def search(rows: Rows, text: str) -> Rows:
        return plain(rows.filter(_newest(rows, time, most)), text)

    return search


def _newest(rows: Rows, time: str, most: int) -> Q:
    timed, untimed = (
        rows.filter(**{f"{time}__isnull": False}),
        rows.filter(**{f"{time}__isnull": True}),
    )
    oldest = timed.order_by(f"-{time}").values_list(time, flat=True)[most - 1 : most].first()
    if oldest is not None:
        return Q(**{f"{time}__gte": oldest})
    first = untimed.order_by("-pk").values_list("pk", flat=True)[most - 1 : most].first()
    return Q() if first is None else Q(**{f"{time}__isnull": False}) | Q(pk__gte=first)


def few(rows: Rows, **condition: Any) -> Rows:
    """Filters rows by the values of fields (`condition`). If at most MAX_FEW rows match, they are
    found through a partial index and then sorted. If more match, the database reads rows in the
    list's order until a page is full, which does not take long.
    """
    # searched without the other filters of `rows`, because with them the database would choose
    # another index
    whole = rows.model._default_manager.filter(**condition).order_by()
    keys = list(whole.values_list("pk", flat=True)[: MAX_FEW + 1])
    return rows.filter(pk__in=keys) if len(keys) <= MAX_FEW else rows.filter(**condition)
