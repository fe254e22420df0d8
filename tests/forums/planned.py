"""Forums with stored posts for tests of plans: no web, only the rows that visits would have left in
the tables."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Model

from crawlmgr.models import Host
from forums.models import Board, BoardHour, Post, Site, Thread

NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
DIURNAL = 1.2 + np.sin((np.arange(24) - 9) / 24 * 2 * np.pi)  # busiest at 15:00


def make_site(
    name: str = "a",
    volumes: tuple[float, ...] = (40.0, 10.0, 2.0),
    zone: str = "UTC",
    now: datetime = NOW,
) -> Site:
    """A site with one board per volume (posts a day), observed for two days, without stored
    posts."""
    host, _ = Host.objects.get_or_create(key=f"http://{name}")
    number = Site.objects.count() + 1
    site = Site.objects.create(
        name=name, url=f"http://{name}/", url_hash=number, host=host, timezone=zone, added=now
    )
    for position, _volume in enumerate(volumes):
        Board.objects.create(
            site=site,
            name=f"{name}{position}",
            url=f"http://{name}/{position}",
            key=f"{name}{position}",
            position=position,
            last_visit=now - timedelta(hours=1),
            complete_at=now - timedelta(hours=1),
            watched_since=now - timedelta(days=2),
        )
    return site


Rows = list[tuple[Any, ...]]
_stored: dict[
    tuple[Any, ...], list[tuple[Rows, Rows]]
] = {}  # per board: its rows of Post and of BoardHour, for copying


def fill(
    site: Site,
    volumes: tuple[float, ...] = (40.0, 10.0, 2.0),
    days: int = 20,
    now: datetime = NOW,
    seed: int = 1,
) -> int:
    """Stores Poisson-distributed posts with an afternoon rhythm in UTC, `volumes` a day by board;
    returns their number. Later calls with the same arguments copy the rows."""
    boards = list(site.boards.order_by("position"))
    threads = [
        Thread.objects.create(
            site=site, board=one, key=f"t{one.pk}", url="x", title="t", first_seen=now
        )
        for one in boards
    ]
    key = (volumes, days, now, seed)
    if key in _stored:
        for board, thread, (posts, hours) in zip(boards, threads, _stored[key], strict=True):
            _put(Post, "thread_id", thread.pk, posts)
            _put(BoardHour, "board_id", board.pk, hours)
    else:
        _draw(boards, threads, *key)
        owned = zip(boards, threads, strict=True)
        _stored[key] = [
            (_rows(Post, "thread_id", thread.pk), _rows(BoardHour, "board_id", board.pk))
            for board, thread in owned
        ]
    return sum(len(posts) for posts, _hours in _stored[key])


def _draw(
    boards: list[Board],
    threads: list[Thread],
    volumes: tuple[float, ...],
    days: int,
    now: datetime,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    for board, thread, volume in zip(boards, threads, volumes, strict=True):
        start = now - timedelta(days=days)
        hours: Counter[tuple[datetime, bool]] = Counter()
        posts = []
        for hour in range(days * 24):
            begin = start + timedelta(hours=hour)
            for _ in range(rng.poisson(volume * DIURNAL[begin.hour] / DIURNAL.sum())):
                posted = begin + timedelta(seconds=float(rng.uniform(0, 3600)))
                opener = bool(rng.random() < 0.2)
                posts.append(
                    Post(
                        thread=thread,
                        key=str(len(posts)),
                        page=1,
                        position=0 if opener else 1,
                        posted=posted,
                        first_seen=posted,
                    )
                )
                hours[posted.replace(minute=0, second=0, microsecond=0), opener] += 1
        Post.objects.bulk_create(posts)
        BoardHour.objects.bulk_create(
            BoardHour(
                board=board, hour=moment, threads=hours[moment, True], replies=hours[moment, False]
            )
            for moment in sorted({moment for moment, _ in hours})
        )


def _columns(model: type[Model], owner: str) -> list[str]:
    return [
        one.column
        for one in model._meta.concrete_fields
        if not one.primary_key and one.column != owner
    ]


def _rows(model: type[Model], owner: str, key: int) -> Rows:
    """Returns the rows of a table that belong to the object with id `key`; `owner` is the foreign
    key column. Primary key and owner column are left out."""
    columns = ", ".join(f'"{one}"' for one in _columns(model, owner))
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT {columns} FROM "{model._meta.db_table}"'  # noqa: S608
            f' WHERE "{owner}" = %s ORDER BY "id"',
            (key,),
        )
        return list(cursor.fetchall())


def _put(model: type[Model], owner: str, key: int, rows: Rows) -> None:
    """Inserts copies of the rows for the object with id `key`, to which the foreign key column
    `owner` of the copies refers."""
    columns = [owner, *_columns(model, owner)]
    names, marks = ", ".join(f'"{one}"' for one in columns), ", ".join(["%s"] * len(columns))
    with connection.cursor() as cursor:
        cursor.executemany(
            f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES ({marks})',  # noqa: S608
            [(key, *row) for row in rows],
        )
