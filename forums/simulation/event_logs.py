"""Event logs for simulations: uploaded as files or made from a forum's stored posts, read (checked
and counted), and deleted."""

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
from django.db.models import Min, QuerySet

from forums.models import EventLog, Post, Site
from forums.schedule.events import HEADER, Events, EventsError, read_events

LARGEST_BYTES = (
    120_000_000  # largest uploaded log, also after decompression; larger ones are refused
)
SMALL_BYTES, SMALL_POSTS = (
    2_000_000,
    20_000,
)  # uploads and logs of stored posts up to these sizes are read while the user waits
# a log of stored posts covers this many days: a test and the 160 days before it, which a simulation
# reads
FROZEN_DAYS = 240
_FILE = re.compile(r"[0-9a-zA-Z_-]{1,100}\.csv(?:\.gz)?")
GZIP = b"\x1f\x8b"


def path(log: EventLog) -> Path:
    """Returns the path of the log's file. Raises EventsError for a name that leads out of the
    folder, as a manipulated backup could contain."""
    if not _FILE.fullmatch(log.file):
        raise EventsError(f"{log.file[:80]!r} is no name of an event file")
    return Path(settings.EVENTS_DIR) / log.file


def read(log: EventLog) -> Events:
    """Returns the events of a log. Raises forums.schedule.events.EventsError if its file is
    missing or damaged."""
    place = path(log)
    try:
        return read_events(place)[0]
    except EventsError as error:
        raise EventsError(str(error).replace(str(place), log.name)) from None


def store(
    name: str, pieces: Iterable[bytes], *, now: datetime, timezone: str = "UTC", user: Any = None
) -> EventLog:
    """Stores an uploaded file (given in pieces) as a log that is not read yet; a gzip file is
    recognised by its first bytes. Raises ValueError with a one-line message if the file is too
    large."""
    with _part() as part:
        size = 0
        with part.open("wb") as file:
            for piece in pieces:
                size += len(piece)
                if size > LARGEST_BYTES:
                    raise ValueError(_too_large())
                file.write(piece)
        with part.open("rb") as file:
            suffix = ".csv.gz" if file.read(2) == GZIP else ".csv"
        named = part.rename(part.with_name(secrets.token_hex(8) + suffix))
    try:
        return EventLog.objects.create(
            name=name[:200],
            file=named.name,
            timezone=timezone,
            bytes=size,
            added=now,
            added_by=user,
        )
    except BaseException:
        named.unlink(missing_ok=True)
        raise


def create_unwritten(site: Site, *, now: datetime, user: Any = None) -> EventLog:
    """Creates a log of a forum's stored posts without its file, which is written when the log is
    first read."""
    name = f"{site.name} {now:%Y-%m-%d %H:%M}"[:200]
    file = f"{secrets.token_hex(8)}.csv.gz"
    return EventLog.objects.create(
        name=name, file=file, site=site, timezone=site.timezone, added=now, added_by=user
    )


def unread(log: EventLog) -> bool:
    """Tells whether the log has not been read yet, so that the fields set by `read_in` (such as
    `first`) are empty."""
    return log.first is None


def small(log: EventLog) -> bool:
    """Tells whether a log is small enough to be read while the user waits: up to two megabytes of
    text, or twenty thousand posts."""
    place = path(log)
    if not place.exists():
        return (
            log.site is not None
            and _posts(log.site, log.added)[: SMALL_POSTS + 1].count() <= SMALL_POSTS
        )
    return log.bytes <= SMALL_BYTES and _unpacked_bytes(place, SMALL_BYTES) <= SMALL_BYTES


def read_in(log: EventLog) -> None:
    """Reads a log for the first time and stores its numbers of boards, events and invalid rows and
    its first and last time. For a log of a forum's stored posts, writes the file first if it is
    missing. If the file cannot be used, deletes it and raises ValueError with a one-line message.
    """
    place = path(log)
    if log.site is not None and not place.exists():
        _write(log.site, place, log.added)
    try:
        if place.suffix == ".gz" and _unpacked_bytes(place, LARGEST_BYTES) > LARGEST_BYTES:
            raise ValueError(_too_large())
        events, bad = read_events(place)
    except ValueError as error:
        place.unlink(missing_ok=True)
        raise ValueError(str(error).replace(str(place), log.name)) from None
    log.bytes, log.boards, log.events = place.stat().st_size, len(events.boards), len(events)
    log.first = datetime.fromtimestamp(float(events.times[0]), UTC)
    log.last = datetime.fromtimestamp(float(events.times[-1]), UTC)
    log.bad_rows, log.bad_first = bad.count, [[row.line, row.reason] for row in bad.first]
    log.save(update_fields=["bytes", "boards", "events", "first", "last", "bad_rows", "bad_first"])


def read_if_small(log: EventLog) -> EventLog:
    """Reads a small log at once, so that errors are shown immediately; a large one is read by the
    simulation's worker as its first step. Deletes the log and raises ValueError if it cannot be
    used."""
    try:
        if small(log):
            read_in(log)
    except ValueError:
        path(log).unlink(missing_ok=True)
        remove(log)
        raise
    return log


def _posts(site: Site, now: datetime) -> QuerySet[Post]:
    since = now - timedelta(days=FROZEN_DAYS)
    return Post.objects.filter(thread__site=site, posted__gt=since, posted__lte=now).order_by()


def _write(site: Site, place: Path, now: datetime) -> None:
    """Writes a forum's stored posts to a temporary file and renames it to `place`. Raises
    ValueError if there are none."""
    with _part() as part:
        found = False
        with gzip.open(part, "wt", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(HEADER)
            openers = _openers(site)
            columns = _posts(site, now).values_list(
                "pk", "thread__board__name", "thread__board_id", "thread_id", "posted"
            )
            for post, board, number, thread, posted in columns.iterator(chunk_size=5000):
                if posted is None:
                    continue
                kind = "new" if openers.get(thread) == post else "reply"
                writer.writerow([f"{board} ({number})", thread, kind, f"{posted.timestamp():.0f}"])
                found = True
        if not found:
            raise ValueError(
                f"no post of the last {FROZEN_DAYS} days with a time is stored of {site.name}"
            )
        part.rename(place)


def _openers(site: Site) -> dict[int, int]:
    """Returns the id of the first post by thread id; threads whose page 1 was never read are
    missing."""
    first = (
        Post.objects.filter(thread__site=site, page=1, position=0)
        .values("thread_id")
        .annotate(first=Min("pk"))
    )
    return dict(first.values_list("thread_id", "first").order_by())


def remove(log: EventLog) -> None:
    """Deletes a log with its file and the simulations made with it."""
    try:
        place = path(log)
    except EventsError:
        place = None  # not a valid file name of a log: there is no file to delete
    with transaction.atomic():
        log.delete()
        if place is not None:
            transaction.on_commit(partial(place.unlink, missing_ok=True))


@contextmanager
def _part() -> Iterator[Path]:
    """Yields a temporary file in the folder of event logs, and deletes it at the end unless it was
    renamed (context manager)."""
    folder = Path(settings.EVENTS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(suffix=".part", dir=folder)
    os.close(descriptor)
    part = Path(name)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _unpacked_bytes(place: Path, most: int) -> int:
    """Returns the uncompressed size of a file. A gzip file is read only until the size exceeds
    `most`, since a small file can expand to any size. Raises ValueError for a damaged gzip file."""
    if place.suffix != ".gz":
        return place.stat().st_size
    seen = 0
    try:
        with gzip.open(place) as stream:
            while seen <= most and (piece := stream.read(1 << 20)):
                seen += len(piece)
    except (OSError, EOFError) as error:
        raise ValueError(f"the gzip file is broken: {error}") from None
    return seen


def _too_large() -> str:
    return (
        f"more than {LARGEST_BYTES // 1_000_000} MB; use `forum simulate` on the command line for"
        " such a log"
    )
