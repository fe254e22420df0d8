"""Locates and opens WARC files. A file is in the archive folder of the machine that wrote it
(`WarcFile.place` is "") or, once it was moved, in an object store (`place` is its address there).
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO

from django.conf import settings

from crawlmgr.archive import object_store
from crawlmgr.archive.object_store import Unreachable
from crawlmgr.models import WarcFile
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
    since its row was read; if so, stores its address in `file.place`."""
    if file.place or file.pk is None:
        return False
    file.place = WarcFile.objects.filter(pk=file.pk).values_list("place", flat=True).first() or ""
    if (
        not file.place and settings.ARCHIVE_STORE
    ):  # a transaction that began before the move still sees the old row
        address = object_store.address_for(file.name)
        file.place = address if object_store.size(address) is not None else ""
    return bool(file.place)


def piece(file: WarcFile, offset: int, length: int) -> bytes | None:
    """Returns bytes of a WARC file, None if it is missing or too short. Raises Unreachable if the
    object store does not respond."""
    if not file.place:
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
    return object_store.piece(file.place, offset, length)


def record(file: WarcFile, offset: int, length: int | None) -> WarcRecord | None:
    """Returns the WARC record at a position; None if the file is missing. `length` is the length of
    its gzip member, None if unknown. Raises WarcError if there is no record at that position,
    Unreachable if the object store does not respond.
    """
    if not file.place:
        try:
            return read_record(path_of(file), offset)
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    if not length:
        there = object_store.size(file.place)
        length = 0 if there is None else min(there - offset, LONGEST_RECORD_BYTES)
    data = object_store.piece(file.place, offset, length) if length > 0 else None
    return None if data is None else record_of(data, offset)


def size(file: WarcFile) -> int | None:
    """Returns the size of a file in bytes; None if it is missing. Raises Unreachable if the object
    store cannot be reached."""
    if not file.place:
        try:
            return path_of(file).stat().st_size
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    return object_store.size(file.place)


def open_file(file: WarcFile) -> BinaryIO | None:
    """Opens a WARC file for reading; None if it is missing. A file in the object store is first
    copied to a temporary file. The caller closes the result. Raises Unreachable if the object store
    cannot be reached."""
    if not file.place:
        try:
            return path_of(file).open("rb")
        except FileNotFoundError:
            if not _moved(file):
                return None
        except (OSError, ValueError):
            return None
    return object_store.fetch(file.place)


def local(file: WarcFile, folder: Path) -> Path | None:
    """Returns a local path of a WARC file, which is copied into `folder` if it is in the object
    store; None if it is missing. Raises Unreachable if the object store does not respond."""
    if not file.place and (path := path_of(file)).exists():
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
    if file.place:
        object_store.remove(file.place)
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
