"""Numeric features of a candidate list, as input of the models: the numbers that the hand-written
rules compute for it."""

from __future__ import annotations

from math import log1p

from forums.reading.lists import RowSet

WEIGHTS = (
    "address",
    "topics_posts",
    "replies_views",
    "last_thread",
    "head",
    "sorted",
    "many",
    "people",
)


def rows_view(rows: RowSet) -> list[float]:
    """Returns the features of a list: 1, the logarithm of the number of rows, its quality by the
    rules, shares of rows with times, counts and users, mean lengths, and each weight of the
    evidence that the rows are boards (see `RowSet.weights`).
    """
    n = len(rows.rows)
    weights = rows.weights
    return [
        1.0,
        log1p(n),
        rows.quality,
        rows.group.share("times"),
        rows.group.share("counts"),
        rows.group.text_share,
        float(rows.is_labelled),
        float(rows.is_titles_only),
        sum(any(link.is_user for link in row.links) for row in rows.rows) / n,
        sum(len(row.title.text) for row in rows.rows) / n / 40,
        sum(len(row.text) for row in rows.rows) / n / 200,
        *(weights.get(name, 0.0) for name in WEIGHTS),
    ]
