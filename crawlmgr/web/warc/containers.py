"""Archive files inside a zip file, as WACZ files hold them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from crawlmgr.web.warc.heads import WarcError

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
