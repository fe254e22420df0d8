"""The bytes of an archive file as they are after decompression, member by member: where each gzip
member or zstd frame begins, which one is damaged, and where the next one begins. Also finds the
archive files inside a zip file, as WACZ files hold them."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from functools import cached_property
from typing import BinaryIO, NamedTuple, cast

from fastwarc.stream_io import GzipReader, ZstdReader

from crawlmgr.web.http.exchange import GZIP_MAGIC, ZSTD_MAGIC
from crawlmgr.web.warc.record import Head, WarcError, head_of

PIECE_BYTES = 1 << 16
_READ_BYTES = 1 << 16
_PADDING = b"\r\n\0"
# how a record begins: the first line of WARC, or the only head line of ARC
_WARC = rb"WARC/\d+\.\d+[ \t]*\r?\n[A-Za-z]"
_ARC = rb"[A-Za-z][A-Za-z0-9+.-]{0,30}:\S+ \S+ \d{12,14} (?:\S+ ){1,6}\d+\r?\n"
_WARC_BEGINS = re.compile(_WARC)
_ARC_BEGINS, _ARC_LINE = re.compile(_ARC), re.compile(rb"(?<=\n)" + _ARC)
_BEGINS = re.compile(_WARC + rb"|" + _ARC)
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_DICTIONARY = b"\x5d\x2a\x4d\x18"  # the frame before all others that holds their dictionary
_LARGEST_DICTIONARY = 1 << 26
_SEARCH_BYTES = 1 << 20
_SMALLEST_MEMBER = 18  # of gzip, with nothing in it
_GAP_BYTES = 8  # line ends after a record
_FIRST_BYTES = 2_000  # enough of a member to tell how its first record begins


class Place(NamedTuple):
    """A position: `frame` is where a gzip member or zstd frame begins in the file, `inner` the
    number of bytes after it once unpacked. In a file that is not compressed `inner` is 0."""

    frame: int
    inner: int = 0


class Undecodable(Exception):
    """The member or frame at byte `frame` of the file cannot be unpacked beyond about `near`."""

    def __init__(self, frame: int, near: int) -> None:
        super().__init__(frame)
        self.frame, self.near = frame, near


class Tail(io.RawIOBase):
    """A file from the byte `at` up to `end`, with `before` before it; as fastwarc reads files."""

    def __init__(
        self, file: BinaryIO, at: int, *, end: int | None = None, before: bytes = b""
    ) -> None:
        self.file, self.at, self.end, self.before = file, at, end, before

    def tell(self) -> int:
        """Returns 0: fastwarc's positions then count from the beginning of this object."""
        return 0

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes, at most `size`; b"" at the end."""
        if self.before:
            data, self.before = self.before[:size], self.before[size:]
            return data
        if self.end is not None:
            size = min(size, self.end - self.at)
        self.file.seek(self.at)
        data = self.file.read(size)
        self.at += len(data)
        return data


class Source:
    """An archive file: plain, or compressed with gzip or zstd, which is told by its content. One
    that begins with neither may be a damaged one: the first member that holds a record decides."""

    def __init__(self, file: BinaryIO, start: int = 0) -> None:
        self.file, self.start = file, start
        self.size = file.seek(0, 2)
        self.magic, self.dictionary = b"", b""
        first = self._at(start, _FIRST_BYTES)
        if first.startswith(GZIP_MAGIC[: max(2, len(first))]):
            self.magic = GZIP_MAGIC
        elif first.startswith(ZSTD_MAGIC) or _SKIPPABLE.match(first):
            self.magic = ZSTD_MAGIC
            self.dictionary = self._dictionary()
        elif first.strip(_PADDING) and not _BEGINS.match(first.lstrip(_PADDING)):
            self.magic = next((m for m in (GZIP_MAGIC, ZSTD_MAGIC) if self._holds(m)), b"")

    def _holds(self, magic: bytes) -> bool:
        self.magic = magic
        return self.next_frame(self.start + 1) is not None

    @cached_property
    def is_arc(self) -> bool:
        """Tells whether this is an ARC file, by its first record."""
        try:
            _, first = next(self.pieces(self.start), (0, b""))
        except Undecodable:
            return False
        return first.lstrip(_PADDING).startswith(b"filedesc:")

    def begins(self, data: bytes | bytearray) -> bool:
        """Tells whether a record begins where `data` does."""
        return (_ARC_BEGINS if self.is_arc else _WARC_BEGINS).match(data) is not None

    def find(self, data: bytes | bytearray) -> int:
        """Returns where the first record in `data` begins; -1 if none does."""
        found = (_ARC_LINE if self.is_arc else _WARC_BEGINS).search(data)
        return found.start() if found else -1

    def _at(self, offset: int, size: int) -> bytes:
        self.file.seek(offset)
        return self.file.read(size)

    def _dictionary(self) -> bytes:
        """Returns the frame with the dictionary of a zstd file; b"" if it has none. All frames must
        be read after it."""
        head = self._at(0, 8)
        if not head.startswith(_DICTIONARY) or len(head) < 8:
            return b""
        size = struct.unpack("<4xI", head)[0]
        return self._at(0, 8 + size) if size <= _LARGEST_DICTIONARY else b""

    def reader(self, frame: int) -> GzipReader | ZstdReader:
        """Opens a compressed file at a member or frame, for reading to the end of the file."""
        tail = Tail(self.file, frame, before=self.dictionary if frame else b"")
        return GzipReader(tail) if self.magic == GZIP_MAGIC else ZstdReader(tail)

    def reader_base(self, frame: int) -> int:
        """What must be added to the positions that `reader(frame)` tells."""
        return frame - (len(self.dictionary) if frame else 0)

    def pieces(self, frame: int) -> Iterator[tuple[int, bytes]]:
        """Yields the unpacked bytes from a member or frame on (of a plain file: from a byte on), as
        pairs of the member's position and a piece of it. Ends with a pair with b"" if the file ends
        inside a member. Raises Undecodable."""
        at: int | None = frame
        while at is not None and at < self.size and not self.is_padding(at):
            here = at
            member = self.member(here)
            while True:
                try:
                    yield here, next(member)
                except StopIteration as stop:
                    at = stop.value
                    break
            if at is None:
                yield here, b""

    def member(self, at: int) -> Generator[bytes, None, int | None]:
        """Yields the pieces of one member or frame, or of the rest of a plain file; returns its
        end, None if the file ends before."""
        if self.magic == ZSTD_MAGIC:
            return self._zstd(at)
        return self._gzip(at) if self.magic else self._plain(at)

    def _plain(self, at: int) -> Generator[bytes, None, int | None]:
        tail = Tail(self.file, at)
        while piece := tail.read(PIECE_BYTES):
            yield piece
        return tail.at

    def _gzip(self, at: int) -> Generator[bytes, None, int | None]:
        tail, decoder = Tail(self.file, at), zlib.decompressobj(wbits=31)
        while not decoder.eof:
            packed = decoder.unconsumed_tail or tail.read(_READ_BYTES)
            if not packed:
                return None
            try:
                piece = decoder.decompress(packed, PIECE_BYTES)
            except zlib.error:
                raise Undecodable(at, tail.at - len(packed)) from None
            if piece:
                yield piece
        return tail.at - len(decoder.unused_data)

    def _zstd(self, at: int) -> Generator[bytes, None, int | None]:
        end = self._zstd_end(at)
        tail = Tail(self.file, at, end=end, before=self.dictionary if at else b"")
        reader = ZstdReader(tail)
        try:
            while piece := reader.read(PIECE_BYTES):
                yield piece
        except OSError as error:
            if error.errno is not None:
                raise
            if end is not None:
                raise Undecodable(at, at) from None
        return end

    def _zstd_end(self, at: int) -> int | None:
        """Returns the end of a zstd frame, from the sizes of its blocks (RFC 8878); None if the
        file ends before. Raises Undecodable if no frame begins there."""
        head = self._at(at, 8)
        if _SKIPPABLE.match(head):
            end = at + 8 + (struct.unpack("<4xI", head)[0] if len(head) == 8 else 0)
            return end if len(head) == 8 and end <= self.size else None
        if not head.startswith(ZSTD_MAGIC[: len(head)]):
            raise Undecodable(at, at)
        flags = head[4] if len(head) > 4 else 0
        single = flags >> 5 & 1
        at += 6 - single + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
        last = 0
        while not last:
            block = int.from_bytes(self._at(at, 3).ljust(3, b"\0"), "little")
            if at + 3 > self.size:
                return None
            last, kind = block & 1, block >> 1 & 3
            at += 3 + (1 if kind == 1 else block >> 3)
        at += 4 * (flags >> 2 & 1)
        return at if at <= self.size else None

    def is_padding(self, at: int) -> bool:
        """Tells whether the file holds only zeros and line ends from a byte on: file systems leave
        zeros after a crash."""
        tail, size = Tail(self.file, at), 16
        while piece := tail.read(size):
            if piece.strip(_PADDING):
                return False
            size = PIECE_BYTES
        return True

    def is_whole(self, frame: int, unpacked: int | None = None) -> bool:
        """Tells whether the file's last member, which begins at byte `frame`, is complete, checksum
        and all. `unpacked` is its size, if known; fastwarc does not miss the checksum (of zstd it
        does)."""
        if self.magic == GZIP_MAGIC and unpacked is not None:
            if self.size - frame < _SMALLEST_MEMBER:
                return False
            return self._at(self.size - 4, 4) == struct.pack("<I", unpacked & 0xFFFFFFFF)
        return all(piece for _, piece in self.pieces(frame))

    def one_record_each(self, frame: int) -> bool:
        """Tells whether each member seems to hold one record, by the member at byte `frame`."""
        seen, record = 0, 0
        try:
            for here, piece in self.pieces(frame):
                if here != frame:
                    return self.begins(piece) and seen <= record + _GAP_BYTES
                if not seen and isinstance(head := head_of(piece, last=True), Head):
                    record = head.size + head.length
                seen += len(piece)
                if seen > record + _GAP_BYTES or seen > _SEARCH_BYTES:
                    return seen <= record
        except Undecodable:
            return True
        return False

    def next_frame(self, after: int) -> int | None:
        """Returns where the next member or frame begins, from byte `after` on, whose content
        begins with a record; None if there is none."""
        at = after
        while data := self._at(at, _SEARCH_BYTES):
            found = data.find(self.magic)
            while found >= 0:
                if self._begins(at + found):
                    return at + found
                found = data.find(self.magic, found + 1)
            if len(data) < _SEARCH_BYTES:
                return None
            at += len(data) - len(self.magic) + 1
        return None

    def _begins(self, frame: int) -> bool:
        try:
            _, first = next(self.pieces(frame), (0, b""))
        except Undecodable:
            return False
        return _BEGINS.match(first.lstrip(b"\r\n")) is not None


_ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
_LOCAL_HEAD = struct.Struct("<26xHH")  # its last fields: the lengths of name and extra data


class _Slice(io.RawIOBase):
    """A part of a file as a file: an entry that is stored as it is. The zip file's own checksum
    would make one damaged record spoil the entry."""

    def __init__(self, file: BinaryIO, begin: int, size: int) -> None:
        self._file, self._begin, self._size, self._at = file, begin, size, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = self._size + offset if whence == io.SEEK_END else offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._at)
        self._file.seek(self._begin + self._at)
        data = self._file.read(left if size < 0 else min(size, left))
        self._at += len(data)
        return data


class _Entry(io.RawIOBase):
    """A compressed entry as a file; it ends where it cannot be unpacked."""

    def __init__(self, entry: zipfile.ZipExtFile, size: int) -> None:
        self._entry, self._size, self._at = entry, size, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = self._size + offset if whence == io.SEEK_END else offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        try:
            if self._entry.tell() != self._at:
                self._entry.seek(self._at)
            data = self._entry.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            return b""
        self._at += len(data)
        return data


def files_in(file: BinaryIO) -> Iterator[tuple[str, BinaryIO]]:
    """Yields the archive files in a zip file, with their names; any other file itself, without a
    name. A zip file without its index, such as a cut one, is given whole too: records are found
    in it. Raises WarcError for a zip file that holds no archive file, or an encrypted one."""
    if file.read(4) != b"PK\x03\x04":
        yield "", file
        return
    try:
        container = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        yield "", file
        return
    entries = [one for one in container.infolist() if one.filename.lower().endswith(_ENDINGS)]
    if not entries:
        raise WarcError(
            "a zip file without any WARC or ARC file in it; a WACZ has archive/*.warc.gz"
        )
    for one in entries:
        if one.flag_bits & 1:
            raise WarcError(f"{one.filename} in the zip file is encrypted")
        if one.compress_type == zipfile.ZIP_STORED:
            file.seek(one.header_offset)
            head = file.read(_LOCAL_HEAD.size)
            lengths = _LOCAL_HEAD.unpack(head) if len(head) == _LOCAL_HEAD.size else (0, 0)
            begin = one.header_offset + _LOCAL_HEAD.size + sum(lengths)
            part: io.RawIOBase = _Slice(file, begin, one.file_size)
        else:
            try:
                part = _Entry(cast(zipfile.ZipExtFile, container.open(one)), one.file_size)
            except (zipfile.BadZipFile, NotImplementedError) as error:
                raise WarcError(f"{one.filename} in the zip file cannot be read: {error}") from None
        yield one.filename, cast(BinaryIO, part)
