"""Inserts millions of rows in some seconds for benchmarks, with one INSERT … SELECT per table.
SQLite only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, models


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows of each kind are to be made, and the time that counts as "now"."""

    forums: int
    posts: int
    runs: int
    pages: int
    topic_pages: int
    now: datetime


BIG = {
    "forums": 300,
    "posts": 2_000_000,
    "runs": 100_000,
    "pages": 1_000_000,
    "topic_pages": 200_000,
}
SHARE = 100  # the small database has 1/100 of the rows of the big one


class Sql(str):
    """An SQL expression for a column's value, in which `i` is the row's number, counted from 0."""

    __slots__ = ()


def ago(seconds: str, now: datetime) -> Sql:
    """Returns an SQL expression for the time that is `seconds` before `now`; `seconds` is itself an
    SQL expression."""
    return Sql(
        f"strftime('%Y-%m-%d %H:%M:%S', '{now:%Y-%m-%d %H:%M:%S}', printf('%+d seconds',"
        f" -({seconds})))"
    )


def insert(model: type[models.Model], number: int, /, **columns: Any) -> None:
    """Inserts `number` rows into the table of `model`. The value of each column is an `Sql`
    expression or a plain value; other columns get the field's default. Raises ValueError for an
    unknown column."""
    names, cells, values = [], [], []
    for field in model._meta.concrete_fields:
        if (
            field.attname not in columns
            and field.primary_key
            and isinstance(field, models.AutoField)
        ):
            continue
        value = (
            columns.pop(field.attname, None) if field.attname in columns else field.get_default()
        )
        names.append(f'"{field.column}"')
        if isinstance(value, Sql):
            cells.append(str(value))
        else:
            cells.append("%s")
            values.append(_stored(field, value))
    if columns:
        raise ValueError(f"{model.__name__} has no {', '.join(columns)}")
    execute(
        # the model's own names
        f'INSERT INTO "{model._meta.db_table}" ({", ".join(names)}) '  # noqa: S608
        "WITH RECURSIVE counted(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM counted WHERE i <"
        f" {number - 1}) "
        f"SELECT {', '.join(cells)} FROM counted WHERE {number} > 0",
        values,
    )


def _stored(field: models.Field[Any, Any], value: Any) -> Any:
    if isinstance(field, models.JSONField):
        return json.dumps(value)
    return field.get_db_prep_save(value, connection)


def execute(statement: str, values: list[Any] | None = None) -> None:
    """Executes one SQL statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or [])
