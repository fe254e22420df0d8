"""Locates and opens WARC files. A file is in the archive folder of the machine that wrote it
(`WarcFile.object_url` is "") or, once it was moved, in an object store (`object_url` is its address
there).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any, BinaryIO

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDate

from crawlmgr.archive import object_store
from crawlmgr.archive.object_store import Unreachable
from crawlmgr.database.paging import ListPage, fetch_page
from crawlmgr.models import Page, WarcFile
from crawlmgr.web.url import UrlError, canonical, url_hash
from crawlmgr.web.warc import WarcRecord, read_record, record_of

__all__ = [
    "Unreachable",
    "local",
    "open_file",
    "path_of",
    "piece",
    "put_file",
    "record",
    "remove",
    "size",
]

LONGEST_RECORD_BYTES = 250_000_000
"""Maximum number of bytes read from the object store for a record whose length is not recorded in
the database."""


def path_of(file: WarcFile) -> Path:
    """Returns the path of a WARC file in the archive folder. Raises ValueError if its name leads
    out of the folder."""
    path = (settings.ARCHIVE_DIR / file.name).resolve()
    if path.parent != Path(settings.ARCHIVE_DIR).resolve():
        raise ValueError(f"{file.name} is not the name of an archive file")
    return path


def _moved(file: WarcFile) -> bool:
    """Tells whether a file that was not found in the folder has been moved to the object store
    since its row was read; if so, stores its address in `file.object_url`."""
    if file.object_url or file.pk is None:
        return False
    stored = WarcFile.objects.filter(pk=file.pk).values_list("object_url", flat=True)
    file.object_url = stored.first() or ""
    if (
        not file.object_url and settings.ARCHIVE_STORE
    ):  # a transaction that began before the move still sees the old row
        address = object_store.address_for(file.name)
        file.object_url = address if object_store.size(address) is not None else ""
    return bool(file.object_url)


def piece(file: WarcFile, offset: int, length: int) -> bytes | None:
    """Returns bytes of a WARC file, None if it is missing or too short. Raises Unreachable if the
    object store does not respond."""
    if not file.object_url:
        try:
            with path_of(file).open("rb") as source:
                source.seek(offset)
                data = source.read(length)
            return data if len(data) == length else None
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    return object_store.piece(file.object_url, offset, length)


def record(file: WarcFile, offset: int, length: int | None) -> WarcRecord | None:
    """Returns the WARC record at a position; None if the file is missing. `length` is the length of
    its gzip member, None if unknown. Raises WarcError if there is no record at that position,
    Unreachable if the object store does not respond.
    """
    if not file.object_url:
        try:
            return read_record(path_of(file), offset)
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    if not length:
        there = object_store.size(file.object_url)
        length = 0 if there is None else min(there - offset, LONGEST_RECORD_BYTES)
    data = object_store.piece(file.object_url, offset, length) if length > 0 else None
    return None if data is None else record_of(data, offset)


def size(file: WarcFile) -> int | None:
    """Returns the size of a file in bytes; None if it is missing. Raises Unreachable if the object
    store cannot be reached."""
    if not file.object_url:
        try:
            return path_of(file).stat().st_size
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    return object_store.size(file.object_url)


def open_file(file: WarcFile) -> BinaryIO | None:
    """Opens a WARC file for reading; None if it is missing. A file in the object store is first
    copied to a temporary file. The caller closes the result. Raises Unreachable if the object store
    cannot be reached."""
    if not file.object_url:
        try:
            return path_of(file).open("rb")
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    return object_store.fetch(file.object_url)


def local(file: WarcFile, folder: Path) -> Path | None:
    """Returns a local path of a WARC file, which is copied into `folder` if it is in the object
    store; None if it is missing. Raises Unreachable if the object store does not respond."""
    if not file.object_url and (path := path_of(file)).exists():
        return path
    source = open_file(file)
    if source is None:
        return None
    target = folder / file.name
    with source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
    return target


def remove(file: WarcFile) -> None:
    """Deletes a WARC file, then its row in the database; if the process is killed in between, it
    can be called again. Raises Unreachable."""
    if file.object_url:
        object_store.remove(file.object_url)
    with suppress(ValueError):  # a name that leads out of the folder is no file of the archive
        path_of(file).unlink(missing_ok=True)
    file.delete()


def put_file(name: str, content: IO[bytes]) -> None:
    """Writes a WARC file from a backup into the archive folder, under a temporary name until it is
    complete. Raises ValueError if `name` leads out of the folder, and OSError."""
    target = path_of(WarcFile(name=name))
    part = target.with_name(name + ".part")
    try:
        with part.open("wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


DAYS_SHOWN = 30


def files() -> QuerySet[WarcFile]:
    """Returns all WARC files with their runs."""
    return WarcFile.objects.select_related("run").defer("run__parameters", "run__result")


def totals() -> dict[str, Any]:
    """Returns the totals of the archive by name: "files" (their number), "bytes" and "records"
    (sums over all files, None if there are no files)."""
    return WarcFile.objects.aggregate(files=Count("id"), bytes=Sum("bytes"), records=Sum("records"))


def bytes_by_day(now: datetime, days: int = DAYS_SHOWN) -> tuple[list[date], dict[date, int]]:
    """Returns the last `days` days (UTC), oldest first, and for each day the total bytes of the
    WARC files that were begun on it; days without files are missing from the dictionary."""
    today = now.astimezone(UTC).date()
    shown = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    rows = WarcFile.objects.filter(created__gte=datetime.combine(shown[0], time(), UTC)).order_by()
    return shown, dict(rows.values_list(TruncDate("created", tzinfo=UTC)).annotate(Sum("bytes")))


def captures(address: str, limit: int = 50) -> list[Page]:
    """Returns the stored captures of an address as typed by a user ("http://" is added if missing),
    newest first. Raises ValueError if it is not an address."""
    text = address.strip()
    if "://" not in text:
        text = f"http://{text}"
    try:
        wanted = url_hash(canonical(text))
    except UrlError as error:
        raise ValueError(str(error)) from None
    return of_address(wanted, limit)


def of_address(wanted: int, limit: int = 50) -> list[Page]:
    """Returns the stored captures of the address whose `url_hash` is `wanted`, newest first."""
    pages = (
        Page.objects.filter(url_hash=wanted)
        .select_related("warc", "run")
        .defer("run__parameters", "run__result")
    )
    return list(pages.order_by("-fetched_at")[:limit])


def capture(pk: int) -> Page | None:
    return (
        Page.objects.select_related("warc", "host", "run")
        .defer("run__parameters", "run__result")
        .filter(pk=pk)
        .first()
    )


def in_file(file: WarcFile, query: Mapping[str, str], size: int = 50) -> ListPage:
    """Returns one page of the list of captures in a WARC file, with `size` captures; `query` are
    the parameters of the request's query string, which tell the page (see `paging.fetch_page`)."""
    return fetch_page(Page.objects.filter(warc=file), size=size, query=query)
