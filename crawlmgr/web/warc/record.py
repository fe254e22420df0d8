"""One record of an archive file: its head (the fields of WARC, whichever line ends they have, and
the one line of ARC), the HTTP message in it, and that message's body as text."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from crawlmgr.web.encoding import decode
from crawlmgr.web.http.exchange import InflateError, packed_as, unpacked

MAX_DECODED_BYTES = 30_000_000
"""Largest body after its Content-Encoding is undone: that of a page when it is fetched."""
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_LOOKED_AT = 4_000
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16, whose text is full of zeros


@dataclass(frozen=True)
class WarcRecord:
    """One record of a WARC file.

    `fields` are the record's header fields, `block` its content as stored, without the
    `bytes_left_out` bytes beyond the reader's limit. `offset` and `length` are its position in the
    file in bytes, those of its gzip member in a compressed file; for records that share one gzip
    member, `offset` is a member's at or before it and `length` is 0.
    """

    version: str
    fields: tuple[tuple[str, str], ...]
    block: bytes
    offset: int
    length: int
    bytes_left_out: int = 0

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
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    @cached_property
    def _http(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        """Status, headers and body of the HTTP message in the block; 0, no headers and the whole
        block if it holds none."""
        if self.block[:5].upper() != b"HTTP/":
            return 0, (), self.block
        head, body = split_head(self.block)
        lines = head.decode("iso-8859-1").replace("\r\n", "\n").split("\n")
        words = lines[0].split(None, 2)
        code = words[1] if len(words) > 1 else ""
        status = int(code) if len(code) == 3 and code.isascii() and code.isdigit() else 0
        return status, header_fields(lines[1:]), body

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
    def _content(self) -> tuple[bytes, str]:
        """The body, and what is wrong with it; "" if nothing is."""
        body = self._http[2]
        if "chunked" in self.header("transfer-encoding").lower():
            body = _dechunk(body)
        encoding = self.header("content-encoding")
        try:
            return unpacked(body, encoding, self.content_type, MAX_DECODED_BYTES), ""
        except InflateError as error:
            if encoding and not packed_as(body) and _is_plain(body):
                return body, ""  # unpacked before it was stored
            if error.code == "bomb":
                return error.partial, f"its body has more than {MAX_DECODED_BYTES} bytes"
            if error.code == "truncated" and error.partial:
                return error.partial, ""
            said = encoding[:40] or packed_as(body)
            return b"", f"its body cannot be unpacked ({said})" if said else "its body is no text"

    @property
    def payload(self) -> bytes:
        """The body of the HTTP message (or the whole block of other records) with chunking and
        Content-Encoding undone, at most MAX_DECODED_BYTES; b"" if it cannot be unpacked."""
        return self._content[0]

    @property
    def problem(self) -> str:
        """Why the payload is empty or only a part, in one line; "" if it is whole."""
        return self._content[1]

    @cached_property
    def text(self) -> str:
        """The payload decoded to text, by byte order mark, declared charset or detection."""
        return decode(self.payload, self.content_type)[0]


def split_head(block: bytes) -> tuple[bytes, bytes]:
    """Splits an HTTP message at its first empty line, whichever line ends it has, into head and
    body."""
    gap = _BLANK_LINE.search(block)
    return (block[: gap.start()], block[gap.end() :]) if gap else (block, b"")


def _is_plain(body: bytes) -> bool:
    """Tells whether a body that is said to be compressed looks like text: some archives undo the
    compression and leave the header."""
    begin = body[:_LOOKED_AT]
    if begin.startswith(_WIDE_MARKS):
        return True
    if _CONTROLS.search(begin):
        return False
    if begin.lstrip()[:1] in (b"<", b"{", b"["):
        return True
    try:
        begin.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(begin) - 4 and len(body) > _LOOKED_AT
    return True


def header_fields(lines: list[str]) -> tuple[tuple[str, str], ...]:
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


MAX_HEADER_BYTES = 1_000_000
NO_RECORD = "no WARC record"
ENDS = "the file ends inside a record's head"
_ARC = re.compile(
    rb"(?P<url>\S.*) (?P<address>\S+) (?P<date>\d{12,14}) (?P<type>\S+)"
    rb"(?: \S+ \S+ \S+ \d+ \S+)? (?P<length>\d+)\s*"
)
_KINDS = {
    b"PK\x03\x04": "a zip file",
    b"%PDF": "a PDF document",
    b"BZh": "a bzip2 file; unpack it first",
    b"\xfd7zXZ": "an xz file; unpack it first",
    b"7z\xbc\xaf": "a 7-Zip file; unpack it first",
    b"Rar!": "a RAR file; unpack it first",
    b"<": "a web page or XML document",
    b"{": "a JSON document",
    b"CDX": "an index of an archive, without its pages",
}


class WarcError(Exception):
    """The file is not an archive file, or holds no whole record where one should be; the text says
    where."""


@dataclass(frozen=True, slots=True)
class Head:
    """A record's head: its `size` in bytes, and the `length` of the block that follows."""

    version: str
    fields: tuple[tuple[str, str], ...]
    size: int
    length: int


def head_of(data: bytes, *, last: bool) -> Head | str | None:
    """Parses the head with which `data` begins; returns what is wrong if that is none, and None if
    more bytes are needed, which is impossible if `last`."""
    line, end, _ = data.partition(b"\n")
    if not line.startswith(b"WARC/"):
        if not end and not last and len(data) < MAX_HEADER_BYTES:
            return None
        if last and b"WARC/".startswith(data[:5]):
            return ENDS
        return _arc_head(line, len(line) + 1) or no_record(data)
    head, rest = split_head(data)
    if len(head) > MAX_HEADER_BYTES:
        return f"a record header of more than {MAX_HEADER_BYTES} bytes"
    if len(head) == len(data):
        return ENDS if last else None
    lines = head.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    fields = header_fields(lines[1:])
    length = length_of(fields)
    if length is None:
        return "a record without Content-Length"
    return Head(lines[0].strip(), fields, len(data) - len(rest), length)


def length_of(fields: tuple[tuple[str, str], ...]) -> int | None:
    """Returns the Content-Length among a record's fields; None if there is none or no number."""
    value = next((value for name, value in fields if name.lower() == "content-length"), "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def no_record(data: bytes) -> str:
    """Says that `data` is no record, and what it is if that is known."""
    kind = next((name for magic, name in _KINDS.items() if data.startswith(magic)), "")
    return f"{NO_RECORD}; this looks like {kind}" if kind else NO_RECORD


def _arc_head(line: bytes, size: int) -> Head | None:
    found = _ARC.fullmatch(line)
    if found is None:
        return None
    word = {name: value.decode("utf-8", "replace") for name, value in found.groupdict().items()}
    date = word["date"].ljust(14, "0")
    try:
        told = f"{datetime.strptime(date, '%Y%m%d%H%M%S').isoformat()}Z"
    except ValueError:
        told = ""
    scheme = word["url"].partition(":")[0].lower()
    fields = (
        ("WARC-Type", "warcinfo" if scheme == "filedesc" else "resource"),
        ("WARC-Target-URI", word["url"]),
        ("WARC-Date", told),
        ("WARC-Record-ID", f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, date + word['url'])}>"),
        ("WARC-IP-Address", word["address"]),
        ("Content-Type", word["type"]),
        ("Content-Length", word["length"]),
    )
    return Head("ARC/1.0", fields, size, int(word["length"]))


def with_message(head: Head, block: bytes) -> tuple[tuple[str, str], ...]:
    """Returns a record's fields; those of an ARC record whose block is an HTTP response say so."""
    if head.version.startswith("WARC/") or block[:5].upper() != b"HTTP/":
        return head.fields
    said = {"WARC-Type": "response", "Content-Type": "application/http; msgtype=response"}
    return tuple((name, said.get(name, value)) for name, value in head.fields)
