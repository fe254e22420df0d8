"""Writes WARC/1.1 files: one gzip member per record, a warcinfo record first, then pairs of request
and response (or revisit). Reading is in `reader`."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import random
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import deflate

from crawlmgr.web.http.exchange import Failure, FetchResponse, Hop
from crawlmgr.web.warc.reader import Reading, check_file
from crawlmgr.web.warc.record import WarcRecord

IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
# of libdeflate: 2 % larger output than at level 6 (equal in size to zlib's level 6), in half the
# time
COMPRESSION_LEVEL = 4
# Failure -> value of the header field WARC-Truncated, which says why a body is incomplete.
_TRUNCATED: dict[Failure | None, str] = {
    Failure.too_large: "length",
    Failure.bomb: "length",
    Failure.too_slow: "time",
    Failure.timeout: "time",
    Failure.truncated: "disconnect",
    Failure.reset: "disconnect",
}
_OF_THE_WHOLE = frozenset(
    {"content-length", "warc-block-digest", "warc-payload-digest", "warc-truncated"}
)
_HOP_HEADERS = frozenset(
    {"transfer-encoding"}
)  # left out: the body is stored with its chunks joined


@dataclass(frozen=True, slots=True)
class RecordPointer:
    """Position of a written record: `offset` in bytes from the beginning of the file, and `length`
    in bytes of its gzip member; with the record's id (a URN), its type, and its payload digest (""
    for a request)."""

    offset: int
    length: int
    record_id: str
    type: str
    digest: str = ""


def payload_digest(payload: bytes) -> str:
    """Returns the digest of a payload in WARC's notation ("sha1:" and base32).

    >>> payload_digest(b"")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return "sha1:" + base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode(
        "ascii"
    )


# The fixed bits of a UUID of version 4 (RFC 9562), and a mask of all other bits, which are random.
_VERSION_4 = (4 << 76) | (2 << 62)
_NOT_VERSION = ((1 << 128) - 1) ^ ((0xF << 76) | (3 << 62))


def _urn() -> str:
    """Returns a new random record id (URN of a UUID)."""
    # Python's own random generator, seeded anew in each process; `uuid4` would make a system call,
    # which releases the interpreter lock.
    digits = f"{random.getrandbits(128) & _NOT_VERSION | _VERSION_4:032x}"
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}>"


def _stamp(moment: datetime) -> str:
    """Returns a time in WARC's notation: UTC with microseconds."""
    moment = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def _line(text: str) -> str:
    """Returns header text with line breaks replaced by spaces, so that text from the web cannot
    inject a header."""
    return text.replace("\r", " ").replace("\n", " ")


def _http_head(start: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Returns a start line and headers as the bytes of an HTTP message's head, without
    Transfer-Encoding."""
    lines = [
        start,
        *[f"{name}: {value}" for name, value in headers if name.lower() not in _HOP_HEADERS],
    ]
    return _head(lines).encode("iso-8859-1", "replace")


def _head(lines: list[str]) -> str:
    """Returns header lines with the empty line that ends them; line breaks inside a line are
    replaced by spaces."""
    text = "\r\n".join(lines)
    if text.count("\n") > len(lines) - 1 or text.count("\r") > len(lines) - 1:
        text = "\r\n".join(map(_line, lines))
    return text + "\r\n\r\n"


def _member(fields: list[tuple[str, str]], block: bytes) -> bytes:
    """Returns a record with the given header fields and content as a gzip member."""
    head = _head(
        [
            "WARC/1.1",
            *[f"{name}: {value}" for name, value in fields],
            f"Content-Length: {len(block)}",
        ]
    )
    return bytes(
        deflate.gzip_compress(head.encode("utf-8") + block + b"\r\n\r\n", COMPRESSION_LEVEL)
    )


def append_records(path: Path, out: BinaryIO) -> None:
    """Appends the records of an archive file of any kind to `out`, one gzip member each; of a file
    that is so already, its bytes. What cannot be read is left out."""
    with path.open("rb") as source:
        if source.read(2) == b"\x1f\x8b" and not check_file(path).problem:
            source.seek(0)
            shutil.copyfileobj(source, out, 1 << 20)
            return
    for record in Reading(path):
        out.write(_copy_of(record))


def _copy_of(record: WarcRecord) -> bytes:
    """Returns a record of another file unchanged as a gzip member. One that was cut says so,
    without the digests of the whole."""
    left_out = _OF_THE_WHOLE if record.bytes_left_out else {"content-length"}
    fields = [field for field in record.fields if field[0].lower() not in left_out]
    if record.bytes_left_out:
        fields.append(("WARC-Truncated", "length"))
    return _member(fields, record.block)


class WarcWriter:
    """Writes a new WARC file. An existing file is refused with FileExistsError, because it may end
    in a truncated record.

    Every record is passed to the operating system before `write_exchange` returns, so that a
    process killed afterwards loses none of it. The file is locked while the writer lives; the lock
    tells other processes whether a file that was never closed is still being written.
    """

    def __init__(
        self, path: Path, *, hostname: str, now: datetime, software: str = "crawlmgr"
    ) -> None:
        self.path = path
        # unbuffered: a buffer would later write the data that a full disk refused, after the file
        # was truncated
        self.file = path.open("xb", buffering=0)
        with suppress(OSError):  # the file system has no locks
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size = 0
        self.records = 0
        self.info_id = _urn()
        about = (
            f"software: {software}\r\nformat: WARC File Format 1.1\r\nhostname:"
            f" {_line(hostname)}\r\n"
        )
        fields = [
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", self.info_id),
            ("WARC-Date", _stamp(now)),
            ("WARC-Filename", path.name),
            ("Content-Type", "application/warc-fields"),
        ]
        self._append(fields, about.encode())

    def _append(self, fields: list[tuple[str, str]], block: bytes) -> tuple[int, int]:
        """Appends a record with the given header fields and content; returns its (offset,
        length)."""
        return self.append_member(_member(fields, block))

    def append_member(self, member: bytes) -> tuple[int, int]:
        """Appends one gzip member that holds one record; returns its (offset, length) in bytes.
        After an OSError the file is unchanged."""
        (place,) = self._append_members([member])
        return place

    def _append_members(self, members: Sequence[bytes]) -> list[tuple[int, int]]:
        """Appends several members in one write; returns their (offset, length) pairs. After an
        OSError the file is unchanged."""
        offset = self.size
        rest = memoryview(b"".join(members) if len(members) > 1 else members[0])
        try:
            while rest:
                rest = rest[self.file.write(rest) :]
        except OSError:
            self.file.seek(offset)
            self.file.truncate()
            raise
        places = []
        for member in members:
            places.append((self.size, len(member)))
            self.size += len(member)
        self.records += len(members)
        return places

    def copy(self, record: WarcRecord) -> tuple[int, int]:
        """Copies a record of another file, as a separate gzip member; returns its (offset, length)
        in bytes."""
        return self.append_member(_copy_of(record))

    def write_exchange(
        self, response: FetchResponse, *, revisit_of: WarcRecord | None = None
    ) -> list[RecordPointer]:
        """Writes the response and its request, then those of each redirect before it, and returns
        the positions of all written records; the first is the response's.

        If `revisit_of`, an earlier record with the same content, is given, the response is written
        as a revisit record without a body: with the profile server-not-modified for a 304,
        otherwise identical-payload-digest. Payload digests are those of the body before
        Content-Encoding is undone, as other programs check them.
        """
        pointers = self._write_pair(response, revisit_of)
        for hop in response.redirects:
            pointers += self._write_pair(_answer_of(hop), None)
        return pointers

    def _write_pair(
        self, response: FetchResponse, revisit_of: WarcRecord | None
    ) -> list[RecordPointer]:
        """Writes one response (or revisit) and its request; returns their positions in this
        order."""
        moment = response.fetched_at or datetime.now(UTC)
        common = [
            ("WARC-Target-URI", response.url),
            ("WARC-Date", _stamp(moment)),
            ("WARC-Warcinfo-ID", self.info_id),
        ]
        if response.address:
            common.append(("WARC-IP-Address", response.address))
        answer_id, request_id = _urn(), _urn()
        kind, digest, block = "response", payload_digest(response.raw_body), response.raw_body
        fields = [
            ("WARC-Record-ID", answer_id),
            *common,
            ("Content-Type", "application/http; msgtype=response"),
        ]
        if revisit_of is not None:
            kind, digest, block = "revisit", revisit_of.digest or digest, b""
            fields += _revisit_fields(revisit_of, response.not_modified)
        fields.append(("WARC-Payload-Digest", digest))
        if response.truncated:
            fields.append(("WARC-Truncated", _TRUNCATED.get(response.failure, "unspecified")))
        head = _http_head(
            f"{response.http_version} {response.status} {response.reason}", response.headers
        )
        answer = _member([("WARC-Type", kind), *fields], head + block)
        asked = _http_head(
            f"{response.method} {_target(response.url)} HTTP/1.1", response.request_headers
        )
        fields = [
            ("WARC-Type", "request"),
            ("WARC-Record-ID", request_id),
            *common,
            ("WARC-Concurrent-To", answer_id),
            ("Content-Type", "application/http; msgtype=request"),
        ]
        places = self._append_members(
            [answer, _member(fields, asked + (response.request_body or b""))]
        )
        return [
            RecordPointer(*places[0], answer_id, kind, digest),
            RecordPointer(*places[1], request_id, "request"),
        ]

    def close(self) -> None:
        """Closes the file; closing it twice is harmless."""
        self.file.close()


def _target(url: str) -> str:
    """Returns path and query of an address, as they stand in the request line."""
    rest = url.split("://", 1)[-1]
    path = rest[rest.find("/") :] if "/" in rest else "/"
    return path.split("#", 1)[0]


def _revisit_fields(original: WarcRecord, not_modified: bool) -> list[tuple[str, str]]:
    """Returns the header fields by which a revisit record refers to the record `original`.
    `not_modified`: the server responded with 304."""
    fields = [
        ("WARC-Profile", NOT_MODIFIED if not_modified else IDENTICAL),
        ("WARC-Refers-To", original.record_id),
        ("WARC-Refers-To-Target-URI", original.url),
    ]
    return (
        [*fields, ("WARC-Refers-To-Date", _stamp(original.date))]
        if original.date is not None
        else fields
    )


def _answer_of(hop: Hop) -> FetchResponse:
    """Returns the redirect response from which a hop was made."""
    return FetchResponse(
        hop.url,
        hop.url,
        status=hop.status,
        reason=hop.reason,
        headers=hop.headers,
        raw_body=hop.raw_body,
        fetched_at=hop.fetched_at,
        address=hop.address,
        truncated=hop.truncated,
        method=hop.method,
        request_headers=hop.request_headers,
        request_body=hop.request_body,
        http_version=hop.http_version,
    )
