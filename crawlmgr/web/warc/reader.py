"""Reads archive files: WARC plain, in gzip or in zstd, ARC, and those that a WACZ holds. fastwarc
reads all records that are in order; where it stops, `careful` reads on, past damage too.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from fastwarc.stream_io import GzipReader, ZstdReader
from fastwarc.warc import ArchiveIterator

from crawlmgr.web.warc.careful import Damage, careful, next_record
from crawlmgr.web.warc.record import (
    MAX_HEADER_BYTES,
    NO_RECORD,
    Head,
    WarcError,
    WarcRecord,
    head_of,
    length_of,
)
from crawlmgr.web.warc.stream import PIECE_BYTES, Place, Source, Tail, Undecodable, files_in

MAX_BLOCK_BYTES = 250_000_000
"""Largest content of a record of our own archive."""
PAGE_BYTES = 10_000_000
"""Largest content of a record of another archive: that of a page when it is fetched."""
_FAST_BYTES = 20_000_000  # a record said to be larger is read with care: its length may be wrong
_CHECK_BYTES = 1_000
TORN = "torn tail"
_MOST_TOLD = 1_000


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a file that could not be read: position and size in bytes, and the reason. `torn`:
    the file ends too early."""

    offset: int
    bytes: int
    reason: str
    torn: bool = False

    def line(self) -> str:
        """Returns this in one line for a person."""
        return f"byte {self.offset}: {self.bytes} bytes skipped: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """Returns this as it stands in JSON."""
        return {"offset_bytes": self.offset, "bytes": self.bytes, "reason": self.reason}


class _Unpacked(io.RawIOBase):
    """What a decompressing reader gives, as a file, so that fastwarc counts positions in it."""

    def __init__(self, reader: GzipReader | ZstdReader, skip: int) -> None:
        self._reader = reader
        while skip and (piece := self.read(min(skip, PIECE_BYTES))):
            skip -= len(piece)

    def read(self, size: int = -1) -> bytes:
        return self._reader.read(size)

    def tell(self) -> int:
        """Returns 0, so that positions count from here."""
        return 0


_Parts = tuple[str, tuple[tuple[str, str], ...], bytes, int]
"""A record's version, fields, block and how much of that was cut."""


def _record(parts: _Parts, place: Place, end: int) -> WarcRecord:
    """Returns the record of these parts at `place`, whose member or bytes end at `end`."""
    version, fields, block, cut = parts
    length = 0 if place.inner else end - place.frame
    return WarcRecord(version, fields, block, place.frame, length, cut)


class _Run:
    """fastwarc at work on a source, from a place on."""

    def __init__(self, source: Source, place: Place, limit: int) -> None:
        self.source, self.place, self.limit = source, place, limit
        self.reader: GzipReader | ZstdReader | None = None
        self.members = False  # each member holds one record
        stream: Tail | _Unpacked | GzipReader | ZstdReader = Tail(source.file, place.frame)
        if source.magic:
            stream = self.reader = source.reader(place.frame)
            self.members = not place.inner and source.one_record_each(place.frame)
            if not self.members:
                stream = _Unpacked(self.reader, place.inner)
        self.base = source.reader_base(place.frame)
        self.records = ArchiveIterator(
            stream, parse_http=False, stream_detect=False, max_header_len=MAX_HEADER_BYTES
        )

    def member(self) -> int:
        """Returns where the member begins that is being read."""
        return self.base + (self.reader.frame_start_position() or 0 if self.reader else 0)

    def take(self) -> tuple[Place, _Parts | None] | None:
        """Reads the next record: its place and its parts; None for these if it must be read with
        care. None at the end of the file. Raises OSError at damage."""
        raw = next(self.records, None)
        if raw is None:
            return None
        if self.members:
            at = Place(self.member())
        elif self.reader is not None:
            at = Place(self.place.frame, self.place.inner + raw.stream_pos)
        else:
            at = Place(self.place.frame + raw.stream_pos)
        fields, size = tuple(raw.headers), raw.content_length
        if size > _FAST_BYTES or (not size and length_of(fields) is None):
            return at, None
        block = raw.reader.read(min(size, self.limit))
        cut = left = size - len(block)
        while left and (piece := raw.reader.read(min(left, PIECE_BYTES))):
            left -= len(piece)  # `consume` would never return at the end of a torn file
        if left or (self.members and self.member() != at.frame):
            return at, None
        return at, (raw.headers.status_line or "", fields, block, cut)

    def end(self) -> int | None:
        """Returns the end of the last record at the end of the file; None if the file ends too
        early."""
        if self.reader is None:
            return self.source.size
        last = self.member()
        unpacked = self.reader.tell() if last == self.place.frame else None
        return self.source.size if self.source.is_whole(last, unpacked) else None


def _fast(source: Source, place: Place, limit: int) -> Generator[WarcRecord, None, Place | None]:
    """Yields the records from a place on, each once the next one has begun, which shows that it is
    in order. Returns the place of the first one that must be read with care; None if all are
    read."""
    run = _Run(source, place, limit)
    held: _Parts | None = None
    while True:
        try:
            taken = run.take()
        except OSError as error:
            if error.errno is not None:
                raise  # the file itself cannot be read
            return place
        if taken is None:
            break
        at, parts = taken
        if held is not None:
            if run.members and at == place:
                return place
            yield _record(held, place, place.frame if at.inner else at.frame)
        place, held = at, parts
        if held is None:
            return place
    end = run.end()
    if end is None:
        return place
    if held is not None:
        yield _record(held, place, end)
    return None


class Records:
    """The records of one open file, from the byte `start` on, with at most `limit` bytes of each
    block. `skipped` lists what could not be read, as far as the file has been read."""

    def __init__(self, file: BinaryIO, limit: int, start: int = 0) -> None:
        self.source, self.limit, self.start = Source(file, start), limit, start
        self.skipped: list[Skipped] = []

    def __iter__(self) -> Iterator[WarcRecord]:
        place: Place | None = Place(self.start)
        while place is not None:
            place = yield from _fast(self.source, place, self.limit)
            if place is not None:
                damage = yield from careful(self.source, place, self.limit)
                place = None if damage is None else self._after(damage)

    def _after(self, damage: Damage) -> Place | None:
        """Notes the damage and returns where the next record begins; None if there is none."""
        found = next_record(self.source, damage)
        begin, inner = damage.place
        offset = damage.near or begin
        size = (self.source.size if found is None else found.frame) - offset
        reason, torn = damage.reason, damage.torn and found is None
        if damage.torn and found is not None:
            reason = "its Content-Length is wrong, or its member breaks off"
        if inner and not damage.near:
            reason += f" ({inner} bytes into the unpacked member)"
            size = found.inner - inner if found is not None and found.frame == begin else size
        if len(self.skipped) < _MOST_TOLD:
            self.skipped.append(Skipped(offset, max(0, size), reason, torn))
        else:
            last = self.skipped[-1]
            so_far = Skipped(last.offset, offset + max(0, size) - last.offset, "more damage", torn)
            self.skipped[-1] = so_far
        return found


class Reading:
    """The records of an archive file, with at most `limit` bytes of each block. After iterating,
    `skipped` lists what could not be read. Iterating raises WarcError if the file holds no record
    and is no archive file, and OSError."""

    def __init__(self, path: Path, limit: int = PAGE_BYTES) -> None:
        self.path, self.limit = path, limit
        self.skipped: list[Skipped] = []

    def __iter__(self) -> Iterator[WarcRecord]:
        self.skipped = []
        found = False
        with self.path.open("rb", buffering=0) as file:
            for name, part in files_in(file):
                records = Records(part, self.limit)
                for record in records:
                    found = True
                    yield record
                self.skipped += [
                    replace(one, reason=f"{name}: {one.reason}") if name else one
                    for one in records.skipped
                ]
        if not found and self.skipped and NO_RECORD in self.skipped[0].reason:
            raise WarcError(f"{self.skipped[0].reason} at byte {self.skipped[0].offset}")


def iter_records(path: Path) -> Iterator[WarcRecord]:
    """Yields every whole record of a file of our own archive. Raises WarcError if the file is no
    archive file, and OSError."""
    return iter(Reading(path, MAX_BLOCK_BYTES))


def read_record(path: Path, offset: int) -> WarcRecord:
    """Returns the record at a byte position of a file. Raises WarcError if there is no whole one,
    and OSError."""
    with path.open("rb", buffering=0) as file:
        return _record_at(file, offset, path.name)


def record_of(data: bytes, offset: int) -> WarcRecord:
    """Returns the record with which `data` begins; `offset` is the position of `data` in its file,
    and becomes the record's. Raises WarcError if no whole record is there."""
    return replace(_record_at(io.BytesIO(data), 0, "the archive file"), offset=offset)


def _record_at(file: BinaryIO, offset: int, name: str) -> WarcRecord:
    source = Source(file, offset)
    found = _member_at(source, offset) if source.magic else None
    if found is None:
        found = next(careful(source, Place(offset), MAX_BLOCK_BYTES), None)
    if found is None:
        raise WarcError(f"no whole record at byte {offset} of {name}")
    return found


def _member_at(source: Source, offset: int) -> WarcRecord | None:
    """Returns the only record of the member at byte `offset`, whose checksum is right; None if it
    must be read with care."""
    data, member = bytearray(), source.member(offset)
    try:
        while len(data) <= MAX_BLOCK_BYTES:
            data += next(member)
    except StopIteration as stop:
        end: int | None = stop.value
    except Undecodable:
        return None
    else:
        return None
    head = head_of(bytes(data[:MAX_HEADER_BYTES]), last=True)
    if end is None or not isinstance(head, Head):
        return None
    block, rest = data[head.size : head.size + head.length], data[head.size + head.length :]
    if len(block) < head.length or rest.strip(b"\r\n"):
        return None
    return WarcRecord(head.version, head.fields, bytes(block), offset, end - offset)


@dataclass(frozen=True, slots=True)
class FileReport:
    """Result of reading a file completely: number of records, their offsets in bytes, what was
    skipped, and in one line the problem: "" for none, "torn tail" for a file that only ends too
    early."""

    records: int
    offsets: tuple[int, ...]
    problem: str
    skipped: tuple[Skipped, ...] = ()


def check_file(path: Path) -> FileReport:
    """Reads a file completely, with the records, and reports whether it is damaged. Raises OSError
    if it is unreadable."""
    reading, offsets = Reading(path, _CHECK_BYTES), []
    try:
        offsets = [record.offset for record in reading]
    except WarcError as error:
        return FileReport(0, (), str(error), tuple(reading.skipped))
    skipped, problem = tuple(reading.skipped), ""
    if skipped:
        first = skipped[0]
        problem = first.line()
        if len(skipped) > 1:
            problem = f"damaged in {len(skipped)} places, {problem}"
        elif first.torn:
            problem = TORN
    return FileReport(len(offsets), tuple(offsets), problem, skipped)
