"""Paging of long lists by key instead of by offset: every page costs the same, wherever it is in
the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.db.models.sql.where import WhereNode


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list. `newer` and `older` are the tokens with which the query string requests
    the page before and the page after it, "" if there is none. `count` is the number of rows in the
    whole list, None if `fetch_page` did not count them.
    """

    rows: list[Any]
    newer: str = ""
    older: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list: by `fields`, all descending, or all ascending if `downwards` is False;
    the last field must be unique.

    With `nullable` the first field may be NULL; those rows come last on every database.
    """

    fields: tuple[str, ...] = ("id",)
    downwards: bool = True
    nullable: bool = False


BY_ID = Order()


def fetch_page(
    queryset: QuerySet[Any],
    order: Order = BY_ID,
    *,
    size: int = 50,
    query: Mapping[str, str] | None = None,
    count_to: int = 0,
) -> ListPage:
    """Returns the page of a list, of `size` rows, that the parameters `query` of the query string
    ask for: after or before a token (`after`, `before`), the last one (`last`), or else the first.
    With `count_to`, the first page gets the number of rows in the list as its `count`, counted up
    to `count_to` + 1 by the query that finds the keys.

    Queries with joins are split: the keys of one page are read first, then the joined rows with
    these keys. A database without recent statistics of its indexes may otherwise join all rows
    before it sorts them.
    """
    query = query or {}
    backwards = "last" in query or bool(query.get("before"))
    token = _parse(query.get("before") or query.get("after") or "", order)
    counts = count_to > 0 and token is None and not backwards
    by_key = counts or bool(queryset.query.select_related)
    source = queryset.select_related(None).values_list("pk", flat=True) if by_key else queryset
    wanted = max(size, count_to if counts else 0) + 1
    try:
        rows = _take(source, order, token, wanted, backwards)
    # the token does not fit the types of these fields: it was made for another list
    except (TypeError, ValueError, ValidationError):
        token = None
        rows = _take(source, order, None, wanted, backwards)
    count = len(rows) if counts else None
    more = len(rows) > size
    rows = _with_keys(queryset, rows[:size]) if by_key else rows[:size]
    if backwards:
        rows.reverse()
        newer, older = more, token is not None
    else:
        newer, older = token is not None, more
    if not rows:
        return ListPage([], count=count)
    return ListPage(
        rows,
        _token(rows[0], order) if newer else "",
        _token(rows[-1], order) if older else "",
        count,
    )


def _with_keys(queryset: QuerySet[Any], keys: Sequence[Any]) -> list[Any]:
    """Returns the rows with these keys, in the order of the keys. Uses the joins and annotations of
    the query, but not its filters."""
    whole = queryset.order_by()
    whole.query.where = WhereNode()
    found = {row.pk: row for row in whole.filter(pk__in=keys)}
    return [found[key] for key in keys if key in found]


def _take(
    queryset: QuerySet[Any], order: Order, token: list[Any] | None, size: int, backwards: bool
) -> list[Any]:
    """Returns the first `size` rows after the row whose values are `token` (None: from the
    beginning of the list); with `backwards` the rows before it (None: from the end), nearest first.
    """
    downwards = order.downwards != backwards
    signs = [("-" if downwards else "") + name for name in order.fields]
    if not order.nullable:
        return list(
            queryset.filter(_beyond(order.fields, token, downwards)).order_by(*signs)[:size]
        )
    first = order.fields[0]
    parts = [(False, order.fields, signs), (True, order.fields[1:], signs[1:])]
    if backwards:
        parts.reverse()
    rows: list[Any] = []
    started = token is None
    for empty, fields, by in parts:
        within = token is not None and (token[0] is None) == empty
        started = started or within
        if not started or len(rows) >= size:
            continue
        start = (token[1:] if empty else token) if within and token is not None else None
        part = queryset.filter(Q(**{f"{first}__isnull": empty}) & _beyond(fields, start, downwards))
        rows += part.order_by(*by)[: size - len(rows)]
    return rows


def _beyond(fields: Sequence[str], values: Sequence[Any] | None, downwards: bool) -> Q:
    """Returns the condition for rows that come after one with the `values` in the order of
    `fields`, no condition if `values` is None. It contains a separate condition on the first field,
    which lets the index be used."""
    if values is None:
        return Q()
    sign = "lt" if downwards else "gt"
    condition, equal = Q(), Q()
    for name, value in zip(fields, values, strict=True):
        condition |= equal & Q(**{f"{name}__{sign}": value})
        equal &= Q(**{name: value})
    return Q(**{f"{fields[0]}__{sign}e": values[0]}) & condition


def _token(row: Any, order: Order) -> str:
    """Returns the token for a row: its values of the order's fields as text, which `_parse` reads
    back from a query string."""
    parts = []
    for name in order.fields:
        value = getattr(row, name)
        if isinstance(value, datetime):
            # "Z" instead of "+00:00", because a plus sign in a query string is decoded as a space
            value = f"t{value.astimezone(UTC).isoformat().removesuffix('+00:00')}Z"
        elif isinstance(value, float):
            value = f"f{value!r}"
        elif isinstance(value, str):
            value = "s" + value.encode().hex()
        parts.append("n" if value is None else str(value))
    return "~".join(parts)


def _parse(token: str, order: Order) -> list[Any] | None:
    """Returns the values in a paging token, one for each field that the list is ordered by; None
    for an invalid token."""
    parts = token.split("~")
    if len(parts) != len(order.fields):
        return None
    values: list[Any] = []
    try:
        for part in parts:
            if part == "n":
                values.append(None)
            elif part.startswith("t"):
                values.append(datetime.fromisoformat(part[1:]).astimezone(UTC))
            elif part.startswith("f"):
                values.append(float(part[1:]))
            elif part.startswith("s"):
                values.append(bytes.fromhex(part[1:]).decode().replace("\0", ""))
            elif len(part) < 20:
                values.append(int(part))
            else:
                return None
    except (ValueError, OverflowError):
        return None
    if any(isinstance(value, float) and not isfinite(value) for value in values):
        return None
    if None in values[1:] or (values[0] is None and not order.nullable):
        return None
    return values
