"""This program, warcio and fastwarc read the WARC files that it writes. It also reads revisit
records, truncated files, and files of other programs."""

from __future__ import annotations

import gzip
import io
import random
from datetime import UTC, datetime
from pathlib import Path

import brotli
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawlmgr.web.http.exchange import Failure, FetchResponse, Hop
from crawlmgr.web.warc import (
    RecordPointer,
    WarcError,
    WarcWriter,
    check_file,
    iter_records,
    payload_digest,
    read_record,
)
from crawlmgr.web.warc.careful import careful
from crawlmgr.web.warc.stream import Place, Source

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
URL = "http://forum.example/论坛?page=2"


def response(
    body: bytes = b"<p>page</p>", raw: bytes | None = None, **more: object
) -> FetchResponse:
    values: dict[str, object] = {
        "status": 200,
        "reason": "OK",
        "headers": (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
        ),
        "content_type": "text/html",
        "fetched_at": NOW,
        "address": "192.0.2.7",
        "request_headers": (("Host", "forum.example"), ("User-Agent", "t/1")),
    }
    return FetchResponse(
        URL, URL, body=body, raw_body=body if raw is None else raw, **{**values, **more}
    )  # type: ignore[arg-type]


def writer(folder: Path) -> WarcWriter:
    return WarcWriter(folder / "one.warc.gz", hostname="node-1", now=NOW)


def write(folder: Path, *responses: FetchResponse) -> tuple[Path, list[list[RecordPointer]]]:
    out = writer(folder)
    pointers = [out.write_exchange(one) for one in responses]
    out.close()
    return out.path, pointers


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path, [[answer, request], [second, _]] = write(tmp_path, response(), response(b"x" * 100_000))
    info, first, asked, large, _ = list(iter_records(path))
    assert [record.offset for record in (first, asked)] == [answer.offset, request.offset]
    assert (info.type, first.type, asked.type) == ("warcinfo", "response", "request")
    assert (
        first.url == URL
        and first.date == NOW
        and first.status == 200
        and first.payload == b"<p>page</p>"
    )
    assert first.record_id == answer.record_id and first.digest == answer.digest == payload_digest(
        b"<p>page</p>"
    )
    assert [value for name, value in first.headers if name == "Set-Cookie"] == [
        "a=1",
        "b=2",
    ] and first.text == "<p>page</p>"
    assert asked.field("WARC-Concurrent-To") == answer.record_id and asked.block.startswith(
        "GET /论坛?page=2 HTTP/1.1".encode("latin-1", "replace")
    )
    assert (
        first.field("warc-ip-address") == "192.0.2.7"
        and first.field("WARC-Warcinfo-ID") == info.record_id
    )
    assert large.payload == b"x" * 100_000 and large.offset == second.offset
    assert sum(record.length for record in iter_records(path)) == path.stat().st_size
    found = read_record(path, second.offset)
    assert found.payload == large.payload and found.length == second.length
    report = check_file(path)
    assert (report.records, report.problem) == (5, "") and report.offsets[1] == answer.offset


def test_other_readers_agree(tmp_path: Path) -> None:
    path, _ = write(
        tmp_path,
        response(),
        response(
            b"packed " * 50,
            raw=gzip.compress(b"packed " * 50),
            headers=(("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")),
        ),
        response(b"", method="POST", request_body=b"q=1", status=404, reason="Not Found"),
    )
    with path.open("rb") as file:
        theirs = [
            (r.rec_type, r.rec_headers["WARC-Target-URI"], r.content_stream().read())
            for r in ArchiveIterator(file)
        ]
    assert [kind for kind, _, _ in theirs] == ["warcinfo"] + ["response", "request"] * 3
    assert (
        theirs[1][2] == b"<p>page</p>"
        and theirs[3][2] == b"packed " * 50
        and theirs[6][2] == b"q=1"
    )
    with path.open("rb") as file:
        fast = [
            (record.headers["WARC-Type"], record.reader.read())
            for record in FastIterator(file, verify_digests=False)
        ]
    assert [kind for kind, _ in fast] == [kind for kind, _, _ in theirs] and fast[1][
        1
    ] == b"<p>page</p>"
    for record, (kind, url, body) in zip(list(iter_records(path))[1:], theirs[1:], strict=True):
        assert (record.type, record.url) == (kind, url)
        if kind == "response":
            assert record.payload == body and record.header("transfer-encoding") == ""


def test_warcio_finds_nothing_to_complain_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = response(
        b"packed " * 50, raw=gzip.compress(b"packed " * 50), headers=(("Content-Encoding", "gzip"),)
    )
    path, _ = write(tmp_path, response(), response(b"<p>other</p>"), packed)

    class Arguments:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Arguments())
    checker.process_all()
    assert checker.exit_value == 0, capsys.readouterr().out


def test_the_redirects_on_the_way_are_written_too(tmp_path: Path) -> None:
    hops = tuple(
        Hop(
            f"http://forum.example/{name}",
            302,
            URL,
            "Found",
            (("Location", "/there"),),
            b"moved",
            request_headers=(("Host", "forum.example"),),
            address="192.0.2.7",
            fetched_at=NOW,
            truncated=cut,
        )
        for name, cut in (("a", None), ("b", "body"))
    )
    path, [[answer, *_]] = write(tmp_path, response(redirects=hops))
    _, page, _, first, asked, second, _ = iter_records(path)
    assert answer.offset == page.offset and page.url == URL and answer.type == "response"
    assert (first.url, first.status, first.header("location"), first.payload) == (
        hops[0].url,
        302,
        "/there",
        b"moved",
    )
    assert (
        asked.block.startswith(b"GET /a HTTP/1.1\r\nHost: forum.example\r\n")
        and first.field("WARC-Truncated") == ""
    )
    assert second.url == hops[1].url and second.field("WARC-Truncated") == "unspecified"


def test_revisits(tmp_path: Path) -> None:
    out = writer(tmp_path)
    [answer, _] = out.write_exchange(response())
    original = read_record(out.path, answer.offset)
    same = out.write_exchange(response(), revisit_of=original)[0]
    unchanged = out.write_exchange(
        response(b"", status=304, reason="Not Modified"), revisit_of=original
    )[0]
    out.close()
    for pointer, status, profile in (
        (same, 200, "identical-payload-digest"),
        (unchanged, 304, "server-not-modified"),
    ):
        record = read_record(out.path, pointer.offset)
        assert (
            pointer.type == record.type == "revisit"
            and record.status == status
            and record.payload == b""
        )
        assert record.field("WARC-Profile").endswith(f"/revisit/{profile}")
        assert (
            record.field("WARC-Refers-To") == original.record_id
            and record.field("WARC-Refers-To-Target-URI") == URL
        )
        assert (
            record.field("WARC-Refers-To-Date") == "2026-03-01T12:30:15.123456Z"
            and record.digest == original.digest
        )
    with out.path.open("rb") as file:
        assert [record.rec_type for record in ArchiveIterator(file)].count("revisit") == 2


def test_what_the_web_says_begins_no_header_of_its_own(tmp_path: Path) -> None:
    nasty = response(headers=(("X", "a\r\nWARC-Type: forged\r\n\r\nbody"),), reason="OK\r\nEvil: 1")
    path, [[answer, _]] = write(
        tmp_path, FetchResponse(**{**vars(nasty), "url": "http://h.example/\r\nWARC-Evil: 1"})
    )
    record = read_record(path, answer.offset)
    assert (
        record.type == "response"
        and record.field("WARC-Evil") == ""
        and record.header("Evil") == ""
    )
    assert record.payload == b"<p>page</p>" and len(list(iter_records(path))) == 3


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Failure.too_large, "length"),
        (Failure.too_slow, "time"),
        (Failure.timeout, "time"),
        (Failure.truncated, "disconnect"),
        (Failure.bomb, "length"),
    ],
)
def test_a_cut_body_is_said_to_be_cut(tmp_path: Path, failure: Failure, reason: str) -> None:
    path, [[answer, _]] = write(tmp_path, response(b"half", failure=failure, truncated="body"))
    assert read_record(path, answer.offset).field("WARC-Truncated") == reason


def test_an_existing_file_is_not_written_to(tmp_path: Path) -> None:
    path, _ = write(tmp_path, response())
    with pytest.raises(FileExistsError):
        WarcWriter(path, hostname="h", now=NOW)
    assert check_file(path).records == 3


def test_every_record_is_on_its_way_before_the_call_returns(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_exchange(response())
    assert out.path.stat().st_size == out.size and check_file(out.path).records == out.records == 3
    out.close()
    out.close()


def test_a_record_copied_to_another_file(tmp_path: Path) -> None:
    path, [[answer, _]] = write(tmp_path, response())
    out = WarcWriter(tmp_path / "two.warc.gz", hostname="h", now=NOW)
    offset, length = out.copy(read_record(path, answer.offset))
    out.close()
    copied = read_record(out.path, offset)
    assert (
        copied.length == length
        and copied.record_id == answer.record_id
        and copied.payload == b"<p>page</p>"
    )


def test_a_torn_tail_is_read_to_the_last_whole_record(tmp_path: Path) -> None:
    path, pointers = write(
        tmp_path, *(response(bytes(random.Random(n).randbytes(3000))) for n in range(4))
    )
    data, places = path.read_bytes(), [pointer.offset for pair in pointers for pointer in pair]
    torn = tmp_path / "torn.warc.gz"
    last = places[-2]  # in the middle of the last response
    for end in (last + 1, last + 9, last + 10, last + 300, places[-1] - 20):
        torn.write_bytes(data[:end])
        assert len(list(iter_records(torn))) == 7, end
        assert check_file(torn).problem == "torn tail" and read_record(torn, places[0]).block
    with pytest.raises(WarcError):
        read_record(torn, last)
    torn.write_bytes(data[: places[-1] - 3])  # only part of the checksum is missing
    assert len(list(iter_records(torn))) == 8 and check_file(torn).problem == "torn tail"
    torn.write_bytes(data[:last])
    assert check_file(torn).problem == "" and check_file(torn).records == 7
    torn.write_bytes(data[: places[3]] + b"\0" * 500)
    assert check_file(torn).records == 4, "zeros behind the end, as some file systems leave them"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_no_damage_is_fatal(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "whole.warc.gz"
    if not path.exists():
        written, _ = write(tmp_path, response(), response(b"b" * 500))
        written.rename(path)
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    broken = tmp_path / "broken.warc.gz"
    broken.write_bytes(whole)
    report = check_file(broken)
    assert 0 <= report.records <= 5 and (
        report.problem or report.records == 5 or whole[:2] != b"\x1f\x8b"
    )


# files written by other programs


RECORD = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://h.example/1>\r\nWARC-Date:"
    b" 2020-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Type:"
    b" application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n"
)


def record(http: bytes) -> bytes:
    return RECORD % (len(http), http)


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one</p>"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfirs\r\n6;x=y\r\nt"
    b" page\r\n0\r\n\r\n"
)
UNCHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>stored without its marks</p>"
BROTLI = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n" + brotli.compress(b"brotli page")
UNPACKED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n<p>unpacked before it was stored</p>"
BARE = b"HTTP/1.0 200 OK\nContent-Type: text/html\n folded: 1\n\nold\n"
OTHERS = {
    PLAIN: b"<p>one</p>",
    CHUNKED: b"first page",
    UNCHUNKED: b"<p>stored without its marks</p>",
    BROTLI: b"brotli page",
    UNPACKED: b"<p>unpacked before it was stored</p>",
    BARE: b"old\n",
    b"no http at all": b"no http at all",
    b"": b"",
}


@pytest.mark.parametrize(
    "packing", ["plain", "member a record", "one member", "members across records"]
)
def test_files_however_they_are_packed(tmp_path: Path, packing: str) -> None:
    records = [record(http) for http in OTHERS]
    joined = b"".join(records)
    path = tmp_path / "others.warc"
    path.write_bytes(
        {
            "plain": joined,
            "member a record": b"".join(map(gzip.compress, records)),
            "one member": gzip.compress(joined),
            "members across records": gzip.compress(joined[:700]) + gzip.compress(joined[700:]),
        }[packing]
    )
    found = list(iter_records(path))
    assert [one.payload for one in found] == list(OTHERS.values())
    assert (
        found[0].url == "http://h.example/1"
        and found[0].date == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
        and found[0].version == "WARC/1.0"
    )
    assert check_file(path).problem == "" and check_file(path).records == len(OTHERS)
    if packing in ("plain", "member a record"):
        for one in found:
            again = read_record(path, one.offset)
            assert (again.block, again.offset, again.length) == (
                one.block,
                one.offset,
                one.length,
            ) and one.length
    path.write_bytes(path.read_bytes()[:-30])
    assert len(list(iter_records(path))) < len(OTHERS) and check_file(path).problem == "torn tail"


@pytest.mark.parametrize("chunk", [16, 50, 301])
def test_pieces_may_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    path, _ = write(tmp_path, response(), response(b"x" * 300))
    whole = list(iter_records(path))
    monkeypatch.setattr("crawlmgr.web.warc.stream.PIECE_BYTES", chunk)
    for content in (path.read_bytes(), gzip.decompress(path.read_bytes())):
        found = list(careful(Source(io.BytesIO(content)), Place(0), 1_000_000))
        assert [(one.fields, one.block) for one in found] == [
            (one.fields, one.block) for one in whole
        ]


def test_a_record_beyond_all_measure_keeps_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlmgr.web.warc.reader.MAX_BLOCK_BYTES", 1000)
    path = tmp_path / "large.warc"
    path.write_bytes(gzip.compress(record(b"x" * 10_000_000)) + gzip.compress(record(PLAIN)))
    large, small = iter_records(path)
    assert large.block == b"x" * 1000 and small.payload == b"<p>one</p>"


def test_a_file_that_warcio_wrote(tmp_path: Path) -> None:
    for packed in (True, False):
        path = tmp_path / f"{packed}.warc"
        with path.open("wb") as file:
            out = WARCWriter(file, gzip=packed)
            headers = StatusAndHeaders(
                "200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.0"
            )
            out.write_record(out.create_warcinfo_record("x.warc", {"software": "other"}))
            out.write_record(
                out.create_warc_record(
                    "http://h.example/",
                    "response",
                    payload=io.BytesIO(b"<p>theirs"),
                    http_headers=headers,
                )
            )
            out.write_record(
                out.create_warc_record(
                    "http://h.example/r",
                    "resource",
                    payload=io.BytesIO(b"data"),
                    warc_content_type="text/plain",
                )
            )
        info, answer, resource = iter_records(path)
        assert (answer.status, answer.payload, answer.url) == (
            200,
            b"<p>theirs",
            "http://h.example/",
        ) and answer.digest.startswith("sha1:")
        assert (resource.payload, resource.content_type, resource.status) == (
            b"data",
            "text/plain",
            0,
        ) and info.type == "warcinfo"


def test_bombs_in_a_file_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawlmgr.web.warc.record.MAX_DECODED_BYTES", 1000)
    path = tmp_path / "bomb.warc"
    path.write_bytes(
        record(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(100_000)))
    )
    assert next(iter_records(path)).payload == bytes(1000)


@pytest.mark.parametrize(
    ("data", "records", "word"),
    [
        (b"", 0, ""),
        (b"\r\n\r\n", 0, ""),
        (b"<html>", 0, "no WARC record"),
        (record(PLAIN) + b"garbage\r\n", 1, "no WARC record"),
        (b"\x1f\x8b", 0, "torn"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", 0, "Content-Length"),
        (b"WARC/1.0\r\nContent-Length: -5\r\n\r\n", 0, "Content-Length"),
        (b"WARC/1.0\r\nContent-Length: 99999999999\r\n\r\nx", 0, "torn"),
        (b"WARC/1.0\r\nX: " + b"x" * 3_000_000, 0, "header"),
        (b"WARC/1.0\r\n" + b"X: y\r\n" * 500_000, 0, "header"),
        (b"PK\x03\x04zip", 0, "no WARC record"),
    ],
)
def test_what_is_no_warc(tmp_path: Path, data: bytes, records: int, word: str) -> None:
    path = tmp_path / "x.warc"
    for content in (data, gzip.compress(data)) if data[:2] != b"\x1f\x8b" else (data,):
        path.write_bytes(content)
        report = check_file(path)
        assert (
            report.records == records
            and word in report.problem
            and bool(word) is bool(report.problem)
        )
