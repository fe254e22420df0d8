"""Imports of damaged archive files take what is whole and tell the rest, in JSON and by the exit
status; `archive check` finds damage in the archive's own files."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from crawlmgr.archive import archive, warc_files
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Page, WarcFile
from crawlmgr.web.warc import PAGE_BYTES

pytestmark = pytest.mark.django_db


def member(number: int, body: bytes = b"", header: str = "Server: x") -> bytes:
    body = body or f"<title>Page {number}</title>".encode()
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{header}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.example/{number}\r\n"
        f"WARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        "WARC-Block-Digest: sha1:A\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


def damaged(data: bytes) -> bytes:
    return data[:-6] + bytes([data[-6] ^ 1]) + data[-5:]


def imported(capsys: pytest.CaptureFixture[str], *files: Path) -> tuple[int, dict[str, Any]]:
    """Returns the exit status and the JSON document of `archive import`."""
    status = 0
    try:
        call_command("archive", "import", *map(str, files), "--json")
    except CommandError as error:
        status = error.returncode
    out = capsys.readouterr().out
    return status, json.loads(out) if out else {}


def test_what_is_whole_is_imported_and_the_rest_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members = [member(n) for n in range(4)]
    path = tmp_path / "x.warc.gz"
    path.write_bytes(members[0] + damaged(members[1]) + members[2] + members[3][:-40])
    status, told = imported(capsys, path)
    [file] = told["files"]
    assert (status, file["pages"], told["complete"]) == (3, 2, False)
    assert [(one["offset_bytes"], one["bytes"]) for one in file["skipped"]] == [
        (len(members[0]), len(members[1])),
        (sum(map(len, members[:3])), len(members[3]) - 40),
    ]
    assert told["missing"][0]["count"] == 2 and "x.warc.gz" in told["missing"][0]["reason"]
    pages = Page.objects.order_by("url")
    assert [page.title for page in pages] == ["Page 0", "Page 2"]
    record = archive.read_page(pages[1])
    assert record is not None and record.text == "<title>Page 2</title>"
    assert archive.check()["ok"], "the copy is whole"


def test_a_whole_file_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(member(0) + member(1))
    status, told = imported(capsys, path)
    assert (status, told["complete"], told["missing"]) == (0, True, [])
    assert told["files"] == [{"file": str(path), "pages": 2, "skipped": []}]


def test_a_truncated_first_record_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(member(0)[:80])
    status, told = imported(capsys, path)
    assert (status, told["files"][0]["pages"], told["complete"]) == (3, 0, False)


def test_one_file_that_is_none_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, path = tmp_path / "page.html", tmp_path / "x.warc.gz"
    other.write_bytes(b"<html>no archive")
    path.write_bytes(member(0))
    status, told = imported(capsys, other, path)
    assert status == 3 and [one["pages"] for one in told["files"]] == [0, 1]
    assert imported(capsys, other)[0] == 1


def test_what_cannot_be_read_is_counted_and_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.warc.gz"
    unknown = member(1, b"\x1f\x9d\x90" + bytes(range(90)), "Content-Encoding: compress")
    path.write_bytes(member(0) + unknown + member(2, b"x" * (PAGE_BYTES + 5_000)))
    status, told = imported(capsys, path)
    [file] = told["files"]
    assert (status, file["pages"], len(file["skipped"])) == (3, 2, 2)
    assert "compress" in file["skipped"][0]["reason"]
    large = Page.objects.get(url="http://h.example/2")
    assert (large.failure, large.truncated, large.received_bytes) == (
        "too_large",
        "body",
        PAGE_BYTES,
    )
    record = archive.read_page(large)
    assert record is not None and record.field("WARC-Truncated") == "length"
    assert record.field("WARC-Block-Digest") == ""
    page = Page.objects.get(url="http://h.example/1")
    found = archive.read_page(page)
    assert page.failure == "bad_encoding" and found is not None and found.text == ""


def test_absurd_fields_of_a_record_stop_no_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gzip.decompress(member(1, b"<title>a\0b</title>"))
    absurd = [
        plain.replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 99999 K"[:15]),
        plain.replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 2\xb90 OK"),
        plain.replace(b"2020-01-02T03:04:05Z", b"0001-01-01T00:00:00+14:00"),
        plain.replace(b"http://h.example/1", b"http://h.example/\x00"),
        plain.replace(b"text/html", b"text/ht\x00l"),
    ]
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join(absurd))
    status, told = imported(capsys, path)
    assert (status, told["files"][0]["pages"]) == (0, 5)
    assert all("\0" not in page.url + page.title for page in Page.objects.all())


def test_check_tells_where_a_file_of_the_archive_is_damaged(tmp_path: Path) -> None:
    source = tmp_path / "x.warc.gz"
    source.write_bytes(b"".join(member(n) for n in range(4)))
    list(archive.import_file(source, SYSTEM.now()))
    page = Page.objects.order_by("url")[1]
    assert page.warc is not None and page.warc_offset is not None and page.warc_length is not None
    path = warc_files.path_of(page.warc)
    data = bytearray(path.read_bytes())
    data[page.warc_offset + page.warc_length - 6] ^= 1
    path.write_bytes(data)
    [file] = archive.check()["files"]
    assert file["records"] == 4 and "1 pages have no record" in file["problem"]
    assert [(one["offset_bytes"], one["bytes"]) for one in file["skipped"]] == [
        (page.warc_offset, page.warc_length)
    ]
    others = Page.objects.exclude(pk=page.pk)
    assert all(archive.read_page(other) is not None for other in others)
    out = io.StringIO()
    with pytest.raises(CommandError, match=f"byte {page.warc_offset}"):
        call_command("archive", "check", stdout=out)
    assert WarcFile.objects.count() == 1
