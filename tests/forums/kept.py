"""Keeps the database rows left by a discovery or first crawl of a local forum, to restore them for
further tests of a module.

Each discovery or crawl takes a third of a second or more; copying its rows takes some hundredths.
This works only for a server that serves the same forum again at the same address, because the rows
contain the address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction

from crawlmgr.models import WarcFile
from forums.models import Site
from tests.site.forum import ForumServer, LocalForum

APPS = ("crawlmgr", "forums")


@dataclass(frozen=True)
class Left:
    """What a crawl left, to be restored later: rows by table, archive files by name, requested
    paths, and the site's key."""

    rows: dict[str, list[tuple[Any, ...]]]
    files: dict[str, bytes]
    log: list[str]
    site: int


_kept: dict[tuple[str, ...], Left] = {}


def once(server: ForumServer, what: str, make: Callable[[], Site]) -> Site:
    """Returns the result of `make`. If it was called before for a forum of equal content, copies
    the rows that it stored then."""
    if not server.repeats or server.forum.log or server.forum.on_request:
        return make()
    key = (what, server.url, _content(server.forum))
    if key not in _kept:
        made = make()
        _kept[key] = _taken(made, server.forum)
        return made
    _put(_kept[key], server.forum)
    return Site.objects.get(pk=_kept[key].site)


def _content(forum: LocalForum) -> str:
    """Returns a text with all values from which the forum's pages are made; equal texts mean equal
    pages."""
    return repr(
        [
            type(forum),
            *(getattr(forum, one.name) for one in fields(forum)),
            forum.names,
            forum.all,
            forum.sessions,
        ]
    )


def _tables() -> list[str]:
    return [
        model._meta.db_table for name in APPS for model in apps.get_app_config(name).get_models()
    ]


def _taken(site: Site, forum: LocalForum) -> Left:
    rows = {}
    with connection.cursor() as cursor:
        for table in _tables():
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - our own tables
            if found := cursor.fetchall():
                rows[table] = list(found)
    files = {
        name: _place(name).read_bytes() for name in WarcFile.objects.values_list("name", flat=True)
    }
    return Left(rows, files, list(forum.log), site.pk)


def _put(left: Left, forum: LocalForum) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rows in left.rows.items():
            cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608
            cursor.executemany(
                f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(rows[0]))})',  # noqa: S608
                rows,  # noqa: S608
            )
    for name, content in left.files.items():
        _place(name).write_bytes(content)
    forum.log[:] = left.log


def _place(name: str) -> Path:
    return Path(settings.ARCHIVE_DIR) / name
