"""Moves closed WARC files from the archive folder into an object store. Each file is checked,
uploaded completely, recorded in the database as moved, and only then deleted locally."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.cache import cache

from crawlmgr.archive import archive, object_store, warc_files
from crawlmgr.models import WarcFile, events

log = logging.getLogger("crawlmgr.archive")
TOLD_AGAIN_SECONDS = {"store_away": 600, "file_damaged": 86_400}


class Moved(NamedTuple):
    """Result of `move`: numbers of files and bytes moved, number of files not moved because they
    are damaged, and the error of the object store that ended the move ("" for none)."""

    moved: int
    bytes: int
    damaged: int
    error: str


def waiting() -> bool:
    """Tells whether this machine's archive folder contains a file to move, or the local copy of a
    file that was moved already."""
    return next(_movable(), None) is not None or next(_leftovers(), None) is not None


def move(now: datetime, late: Callable[[], bool] = lambda: False) -> Moved:
    """Moves closed files one by one until `late` returns True or the object store fails. May be
    killed at any point and repeated: a file stays in the folder until it is stored completely and
    recorded in the database as moved.
    """
    moved = size = damaged = 0
    for file in _leftovers():
        _drop_copy(file)
    for file in _movable():
        if late():
            break
        if not _whole(file, now):
            damaged += 1
            continue
        path, address = warc_files.path_of(file), object_store.address_for(file.name)
        there = path.stat().st_size
        try:
            object_store.put(address, path)
        except object_store.Unreachable as error:
            _tell("store_away", str(error), now)
            return Moved(moved, size, damaged, str(error))
        if WarcFile.objects.filter(pk=file.pk, object_url="").update(
            object_url=address, bytes=there
        ):
            moved, size = moved + 1, size + there
            log.info("%s", address, extra={"event": "file_moved", "bytes": there})
        path.unlink(missing_ok=True)
    return Moved(moved, size, damaged, "")


def _movable() -> Iterator[WarcFile]:
    """Yields the files of this machine's folder to which no process writes any more, oldest first.
    A file found damaged is skipped for a day."""
    rows = {
        file.name: file
        for file in WarcFile.objects.filter(object_url="", name__in=_names()).order_by("pk")
    }
    for file in rows.values():
        path = warc_files.path_of(file)
        if (
            path.exists()
            and not cache.get(_damaged_key(file))
            and (file.closed is not None or archive.is_left(path))
        ):
            yield file


def _leftovers() -> Iterator[WarcFile]:
    """Yields files that are in the object store and still in the archive folder, because a move was
    killed before it deleted the local copy."""
    yield from WarcFile.objects.filter(name__in=_names()).exclude(object_url="")


def _names() -> list[str]:
    return sorted(path.name for path in Path(settings.ARCHIVE_DIR).glob("*.warc.gz"))


def _whole(file: WarcFile, now: datetime) -> bool:
    """Tells whether a WARC file is intact and has the record of every page stored in it; if not,
    reports the damage. An intact file that was never closed, because its writer was killed, is
    marked as closed."""
    records, problem, _ = archive.check_one(file)
    if problem:
        cache.add(_damaged_key(file), 1, TOLD_AGAIN_SECONDS["file_damaged"])
        _tell("file_damaged", f"{file.name}: {problem}", now)
        return False
    if file.closed is None:
        WarcFile.objects.filter(pk=file.pk, closed__isnull=True).update(closed=now, records=records)
    return True


def _drop_copy(file: WarcFile) -> None:
    path = warc_files.path_of(file)
    try:
        if path.exists() and object_store.size(file.object_url) == path.stat().st_size:
            path.unlink(missing_ok=True)
    except object_store.Unreachable as error:
        log.warning("%s", error)


def _tell(code: str, text: str, now: datetime) -> None:
    if cache.add(f"told-{code}", 1, TOLD_AGAIN_SECONDS[code]) or code == "file_damaged":
        events.warn(code, text, now=now)


def _damaged_key(file: WarcFile) -> str:
    return f"damaged-archive-file-{file.pk}"
