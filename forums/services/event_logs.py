"""Event logs: taken in from an upload, frozen from a forum's stored posts, read, removed."""

from __future__ import annotations

import csv
import gzip
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Min

from forums.events import HEADER, Events, EventsError, read_events
from forums.models import EventLog, Post, Site

LARGEST_BYTES = 120_000_000  # unpacked; what is larger is a task for the command line
FROZEN_DAYS = 240  # 160 days in which a board counts as known, and room for history and test
_FILE = re.compile(r"[0-9a-zA-Z_-]{1,100}\.csv(?:\.gz)?")
GZIP = b"\x1f\x8b"


def path(log: EventLog) -> Path:
    """Where the log's file lies. Raises EventsError for a name that leads out of the folder, as a changed backup may bring."""
    if not _FILE.fullmatch(log.file):
        raise EventsError(f"{log.file[:80]!r} is no name of an event file")
    return Path(settings.EVENTS_DIR) / log.file


def read(log: EventLog) -> Events:
    """The events of a log. Raises forums.events.EventsError where its file is gone or broken."""
    place = path(log)
    try:
        return read_events(place)[0]
    except EventsError as error:
        raise EventsError(str(error).replace(str(place), log.name)) from None


def keep(name: str, pieces: Iterable[bytes], *, now: datetime, timezone: str = "UTC", user: Any = None) -> EventLog:
    """Stores an uploaded file after reading it once. Raises ValueError with one line (EventsError is one)."""
    with _part() as part:
        size = 0
        with part.open("wb") as file:
            for piece in pieces:
                size += len(piece)
                if size > LARGEST_BYTES:
                    raise ValueError(_too_large())
                file.write(piece)
        packed = part.read_bytes()[:2] == GZIP
        if packed:
            _check_unpacked(part)
        return _stored(part, name, ".csv.gz" if packed else ".csv", now=now, timezone=timezone, user=user, site=None)


def freeze(site: Site, *, now: datetime, user: Any = None) -> EventLog:
    """A forum's stored posts of the last 240 days as a log; later visits do not change it. Raises ValueError where there is none.

    Only posts with a time count; the opening post of a thread is `new`, all others are `reply`.
    """
    since = now - timedelta(days=FROZEN_DAYS)
    rows = Post.objects.filter(thread__site=site, posted__gt=since, posted__lte=now).order_by()
    with _part() as part:
        found = False
        with gzip.open(part, "wt", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(HEADER)
            openers = _openers(site)
            columns = rows.values_list("pk", "thread__board__name", "thread__board_id", "thread_id", "posted")
            for post, board, number, thread, posted in columns.iterator(chunk_size=5000):
                kind = "new" if openers.get(thread) == post else "reply"
                writer.writerow([f"{board} ({number})", thread, kind, f"{posted.timestamp():.0f}"])
                found = True
        if not found:
            raise ValueError(f"no post of the last {FROZEN_DAYS} days with a time is stored of {site.name}")
        name = f"{site.name} {now:%Y-%m-%d %H:%M}"
        return _stored(part, name, ".csv.gz", now=now, timezone=site.timezone, user=user, site=site)


def _openers(site: Site) -> dict[int, int]:
    """The first post of each thread, by thread; a thread of which page 1 was never read has none."""
    first = Post.objects.filter(thread__site=site, page=1, position=0).values("thread_id").annotate(first=Min("pk"))
    return dict(first.values_list("thread_id", "first").order_by())


def remove(log: EventLog) -> None:
    """Deletes a log with its file and the simulations made with it."""
    try:
        place = path(log)
    except EventsError:
        place = None  # no file of ours
    with transaction.atomic():
        log.delete()
        if place is not None:
            transaction.on_commit(partial(place.unlink, missing_ok=True))


@contextmanager
def _part() -> Iterator[Path]:
    """A file in the folder that goes unless it is renamed."""
    folder = Path(settings.EVENTS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(suffix=".part", dir=folder)
    os.close(descriptor)
    part = Path(name)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _check_unpacked(part: Path) -> None:
    """A small file may unpack to an endless one."""
    seen = 0
    try:
        with gzip.open(part) as stream:
            while piece := stream.read(1 << 20):
                seen += len(piece)
                if seen > LARGEST_BYTES:
                    raise ValueError(_too_large())
    except (OSError, EOFError) as error:
        raise ValueError(f"the gzip file is broken: {error}") from None


def _too_large() -> str:
    return f"more than {LARGEST_BYTES // 1_000_000} MB; use `forum simulate` on the command line for such a log"


def _stored(part: Path, name: str, suffix: str, *, now: datetime, timezone: str, user: Any, site: Site | None) -> EventLog:
    named = part.rename(part.with_name(secrets.token_hex(8) + suffix))
    try:
        events, bad = read_events(named)
    except ValueError as error:
        named.unlink(missing_ok=True)
        raise ValueError(str(error).replace(str(named), name)) from None
    return EventLog.objects.create(
        name=name[:200],
        file=named.name,
        site=site,
        timezone=timezone,
        bytes=named.stat().st_size,
        boards=len(events.boards),
        events=len(events),
        first=datetime.fromtimestamp(float(events.times[0]), UTC),
        last=datetime.fromtimestamp(float(events.times[-1]), UTC),
        bad_rows=bad.count,
        bad_first=[[row.line, row.reason] for row in bad.first],
        added=now,
        added_by=user,
    )
