"""Heads of records of archive files: the fields of WARC, whichever line ends they have, and the one
line of ARC, which is given the fields that a WARC record would have."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import datetime

from crawlmgr.web.warc.record import header_fields, split_head

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
