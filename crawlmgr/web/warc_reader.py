"""Reads WARC files of versions 1.0 and 1.1: with one gzip member per record, as a single gzip
stream, or uncompressed. A truncated end of a file is reported, not fatal."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from crawlmgr.web.encoding import decode
from crawlmgr.web.inflate import InflateError, inflate

MAX_DECODED_BYTES = 200_000_000
MAX_HEADER_BYTES = 1_000_000
MAX_BLOCK_BYTES = 250_000_000
_CHUNK = 1 << 16
_MAX_PIECE = 1 << 22  # at most this many bytes are decompressed in one call


class WarcError(Exception):
    """The file is not a WARC file, or is damaged so that reading cannot continue; the text says
    where."""


@dataclass(frozen=True)
class WarcRecord:
    """One record of a WARC file.

    `fields` are the record's header fields, `block` its content as stored, at most the first 250
    MB. `offset` and `length` are its position in the file in bytes, those of its gzip member in a
    compressed file; for records that share one gzip member, `offset` is the member's and `length`
    is 0.
    """

    version: str
    fields: tuple[tuple[str, str], ...]
    block: bytes
    offset: int
    length: int

    def field(self, name: str) -> str:
        """Returns the value of a WARC header field; "" if it is absent. Case does not matter."""
        wanted = name.lower()
        return next((value for key, value in self.fields if key.lower() == wanted), "")

    @property
    def type(self) -> str:
        """The record's type: response, request, revisit, resource, warcinfo, metadata, conversion
        …"""
        return self.field("WARC-Type").lower()

    @property
    def record_id(self) -> str:
        """The record's own id, a URN."""
        return self.field("WARC-Record-ID")

    @property
    def refers_to(self) -> str:
        """The id (URN) of the original record, for a revisit; "" for other records."""
        return self.field("WARC-Refers-To")

    @property
    def digest(self) -> str:
        """The stored payload digest, such as sha1:…; "" if there is none."""
        return self.field("WARC-Payload-Digest")

    @property
    def url(self) -> str:
        """The address that was requested, without the angle brackets that some old writers put
        around it."""
        return self.field("WARC-Target-URI").strip("<>")

    @property
    def date(self) -> datetime | None:
        """WARC-Date in UTC; None if it is missing or invalid."""
        try:
            value = datetime.fromisoformat(self.field("WARC-Date").replace("Z", "+00:00"))
        except ValueError:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    @cached_property
    def _http(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        """Status, headers and body of the HTTP message in the block; 0, no headers and the whole
        block if it holds none."""
        if not self.block.startswith(b"HTTP/"):
            return 0, (), self.block
        head, body = _split_head(self.block)
        lines = head.decode("iso-8859-1").replace("\r\n", "\n").split("\n")
        words = lines[0].split(None, 2)
        status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        return status, _headers(lines[1:]), body

    @property
    def status(self) -> int:
        """The HTTP status of a response or revisit record; 0 for other records."""
        return self._http[0]

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The HTTP headers as stored, as (name, value) pairs; empty if the record holds no HTTP
        message."""
        return self._http[1]

    def header(self, name: str) -> str:
        """Returns the value of an HTTP header; "" if it is absent. Case does not matter."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")

    @property
    def content_type(self) -> str:
        """The payload's Content-Type with its parameters: from the HTTP headers if there are any,
        otherwise from the record."""
        return self.header("content-type") if self.headers else self.field("Content-Type")

    @cached_property
    def payload(self) -> bytes:
        """The body of the HTTP message (or the whole block of other records) with chunking and
        Content-Encoding decoded, at most 200 MB; as stored if it cannot be decoded."""
        body = self._http[2]
        if "chunked" in self.header("transfer-encoding").lower():
            body = _dechunk(body)
        encoding = self.header("content-encoding")
        if not encoding:
            return body
        try:
            return inflate(body, encoding, MAX_DECODED_BYTES)
        except InflateError as error:
            return error.partial if error.code in ("bomb", "truncated") else body

    @cached_property
    def text(self) -> str:
        """The payload decoded to text, by byte order mark, declared charset or detection."""
        return decode(self.payload, self.content_type)[0]


def _split_head(block: bytes) -> tuple[bytes, bytes]:
    """Splits an HTTP message at its first empty line into head and body."""
    for gap in (b"\r\n\r\n", b"\n\n"):
        at = block.find(gap)
        if at >= 0:
            return block[:at], block[at + len(gap) :]
    return block, b""


def _headers(lines: list[str]) -> tuple[tuple[str, str], ...]:
    """Parses header lines into (name, value) pairs; continued lines are joined, other lines
    skipped."""
    found: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif ":" in line:
            name, _, value = line.partition(":")
            found.append((name.strip(), value.strip()))
    return tuple(found)


def _dechunk(body: bytes) -> bytes:
    """Joins the chunks of a body in chunked transfer encoding; a body that was stored already
    joined is returned unchanged."""
    out: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at, at + 40)
        if end < 0:
            break
        try:
            size = int(body[at:end].split(b";")[0].strip() or b"x", 16)
        except ValueError:
            break
        if size == 0:
            return b"".join(out)
        out.append(body[end + 1 : end + 1 + size])
        at = end + 1 + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1 if body[at : at + 1] == b"\n" else 0
    return b"".join(out) if out and at >= len(body) else body


class _Source:
    """Reads a file forward and decompresses it if it begins with a gzip header; keeps the file
    position of each gzip member's beginning."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self.file = file
        file.seek(offset)
        self.at = offset  # file position of the next byte to decompress
        self.buffer = bytearray()
        self.start = (
            0  # position of the buffer's first byte in the decompressed contents of the file
        )
        # where each gzip member found so far begins, as (position in the decompressed contents,
        # position in the file); members before the one with the last record are removed
        self.members: list[tuple[int, int]] = []
        self.packed = file.read(2) == b"\x1f\x8b"
        file.seek(offset)
        self.decoder: zlib._Decompress | None = None
        self.rest = b""
        self.torn = False
        self.line_start = 0

    def fill(self) -> bool:
        """Adds bytes to the buffer; returns False at the end of the file or at damage. Sets `torn`
        if the file is damaged, ends inside a gzip member, or has other bytes after the last member.
        """
        if not self.packed:
            data = self.file.read(_CHUNK)
            self.buffer += data
            return bool(data)
        while True:
            data = self.rest or self.file.read(_CHUNK)
            self.rest = b""
            if not data:
                self.torn = self.decoder is not None
                return False
            if self.decoder is None:
                if len(data) == 1:  # a member's first two bytes may arrive in two reads
                    data += self.file.read(_CHUNK)
                if not data.startswith(b"\x1f\x8b"):
                    self.torn = bool(data.strip(b"\x00\r\n"))
                    return False
                self.decoder = zlib.decompressobj(wbits=31)
                self.members.append((self.start + len(self.buffer), self.at))
            try:
                out = self.decoder.decompress(data, _MAX_PIECE)
            except zlib.error:
                self.torn = True
                return False
            self.rest = self.decoder.unused_data or self.decoder.unconsumed_tail
            self.at += len(data) - len(self.rest)
            if self.decoder.eof:
                self.decoder = None
            if out:
                self.buffer += out
                return True

    def need(self, size: int) -> bool:
        """Fills the buffer to at least `size` bytes; returns False if the file has fewer bytes
        left."""
        while len(self.buffer) < size:
            if not self.fill():
                return False
        return True

    def line(self) -> bytes | None:
        """Returns the next line without its line end; None at the end of the file. Raises WarcError
        for a line of more than MAX_HEADER_BYTES."""
        while True:
            end = self.buffer.find(b"\n")
            if end >= 0:
                self.line_start = self.start
                return bytes(self.take(end + 1)).rstrip(b"\r\n")
            if len(self.buffer) > MAX_HEADER_BYTES:
                raise WarcError(
                    f"a header line of more than {MAX_HEADER_BYTES} bytes at byte {self.start}"
                )
            if not self.fill():
                return None

    def take(self, size: int) -> bytes:
        """Removes the first `size` bytes from the buffer and returns them."""
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        self.start += size
        return data

    def skip(self, size: int) -> bool:
        """Skips `size` bytes without keeping them; returns False if the file has fewer bytes
        left."""
        while size:
            if not self.buffer and not self.fill():
                return False
            size -= len(self.take(min(size, len(self.buffer))))
        return True

    def place(self, position: int) -> int:
        """Returns the file position of the gzip member that contains the byte at `position` of the
        decompressed contents; in an uncompressed file `position` itself."""
        if not self.packed:
            return position
        while len(self.members) > 1 and self.members[1][0] <= position:
            self.members.pop(0)
        return self.members[0][1]

    def end(self) -> int:
        """Returns the file position after the bytes taken so far if a gzip member ends there or the
        file is uncompressed; 0 if the member goes on."""
        if not self.packed:
            return self.start
        if not self.buffer and self.decoder is not None:
            self.fill()  # the member's checksum, and thus its end, may be in the next read
        if not self.buffer and self.decoder is None:
            return self.at
        return next((where for position, where in self.members if position == self.start), 0)

    def at_boundary(self, position: int) -> bool:
        """Tells whether a gzip member begins at `position` of the decompressed contents; always
        True in an uncompressed file."""
        return not self.packed or (bool(self.members) and self.members[0][0] == position)


def _version(source: _Source, base: int) -> bytes | None:
    """Returns the first line of the next record; None at the end of the file. Raises WarcError if
    something other than a record follows. `base` is added to byte positions in messages."""
    line = source.line()
    while line is not None and not line.strip():
        line = source.line()
    if line is None:
        rest = bytes(source.buffer[:40]).strip()
        if rest and not b"WARC/".startswith(rest[:5]):
            raise WarcError(f"no WARC record at byte {base + source.start}: {rest!r}")
        source.torn = source.torn or bool(rest)
        return None
    if not line.startswith(b"WARC/"):
        raise WarcError(f"no WARC record at byte {base + source.line_start}: {line[:40]!r}")
    return line


def _header_lines(source: _Source, offset: int) -> list[str] | None:
    """Returns the lines of a record's header; None if the file ends inside it. `offset` is the
    record's position, for the message of a WarcError."""
    lines: list[str] = []
    size = 0
    while header := source.line():
        lines.append(header.decode("utf-8", "replace"))
        size += len(header) + 2
        if size > MAX_HEADER_BYTES:
            raise WarcError(
                f"a record header of more than {MAX_HEADER_BYTES} bytes at byte {offset}"
            )
    return None if header is None else lines


def _read(source: _Source, base: int) -> WarcRecord | None:
    """Reads the next record; returns None at the end of the file, and sets `source.torn` if the
    file ends inside a record. `base` is the file position at which an uncompressed source begins.
    """
    line = _version(source, base)
    if line is None:
        return None
    begin = source.line_start
    offset, own = source.place(begin), source.at_boundary(begin)
    lines = _header_lines(source, offset)
    if lines is None:
        source.torn = True
        return None
    fields = _headers(lines)
    length = next((value for key, value in fields if key.lower() == "content-length"), "")
    if not length.isdigit():
        raise WarcError(f"a record without Content-Length at byte {offset}")
    kept = min(int(length), MAX_BLOCK_BYTES)
    if not source.need(kept):
        source.torn = True
        return None
    block = source.take(kept)
    if not source.skip(int(length) - kept):
        source.torn = True
        return None
    source.need(4)
    for _ in range(2):
        if source.buffer[:2] == b"\r\n":
            source.take(2)
        elif source.buffer[:1] == b"\n":
            source.take(1)
    end = source.end()
    place = offset if source.packed else base + offset
    return WarcRecord(
        line.decode("ascii", "replace"), fields, block, place, max(0, end - offset) if own else 0
    )


def iter_records(path: Path, offset: int = 0) -> Iterator[WarcRecord]:
    """Yields every record of a file from the byte position `offset` on, which must be the beginning
    of a record or its gzip member. A truncated end just ends the iteration. Raises WarcError if the
    file is no WARC file or damaged, and OSError.
    """
    with path.open("rb") as file:
        source = _Source(file, offset)
        while (record := _read(source, 0 if source.packed else offset)) is not None:
            yield record


def read_record(path: Path, offset: int) -> WarcRecord:
    """Returns the record at a byte position of a file. Raises WarcError if there is no complete
    one, and OSError."""
    for record in iter_records(path, offset):
        return record
    raise WarcError(f"no complete record at byte {offset} of {path.name}")


def record_of(data: bytes, offset: int) -> WarcRecord:
    """Returns the record with which `data` begins; `offset` is the position of `data` in its file,
    and becomes the record's. Raises WarcError if no complete record is there."""
    found = _read(_Source(BytesIO(data), 0), 0)
    if found is None:
        raise WarcError(f"no complete record at byte {offset}")
    return replace(found, offset=offset)


@dataclass(frozen=True, slots=True)
class FileReport:
    """Result of reading a file completely: number of records, their offsets in bytes, and a
    problem: "" for none, "torn tail" for a truncated end, or a description of the damage."""

    records: int
    offsets: tuple[int, ...]
    problem: str


def check_file(path: Path) -> FileReport:
    """Reads a file completely, with the records, and reports whether it is damaged. Raises OSError
    if it is unreadable."""
    offsets: list[int] = []
    with path.open("rb") as file:
        source = _Source(file, 0)
        try:
            while (record := _read(source, 0)) is not None:
                offsets.append(record.offset)
        except WarcError as error:
            return FileReport(len(offsets), tuple(offsets), str(error))
    return FileReport(len(offsets), tuple(offsets), "torn tail" if source.torn else "")
