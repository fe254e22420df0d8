"""Numeric features of a list found by the rules or the models: what the rules' quality and evidence measure, as input of the
models."""

from __future__ import annotations

from math import log1p

from forums.reading.lists import RowSet

WEIGHTS = ("address", "topics_posts", "replies_views", "last_thread", "head", "sorted", "many", "people")


def rows_view(rows: RowSet) -> list[float]:
    """The features of a list: number of rows, its quality by the rules, contents of the rows, evidence that they are boards."""
    n = len(rows.rows)
    weights = rows.weights
    return [
        1.0, log1p(n), rows.quality, rows.group.share("times"), rows.group.share("counts"), rows.group.text_share,
        float(rows.told), float(rows.is_bare), sum(any(link.is_user for link in row.links) for row in rows.rows) / n,
        sum(len(row.title.text) for row in rows.rows) / n / 40, sum(len(row.text) for row in rows.rows) / n / 200,
        *(weights.get(name, 0.0) for name in WEIGHTS),
    ]  # fmt: skip
