"""Damage in archive files costs the damaged record and is told; files of any kind are read; what is
too large, or compressed in a way that cannot be undone, is told and not stored as text."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fastwarc.stream_io import ZstdWriter, zstd_train_dictionary_from_samples

from crawlmgr.web.warc import PAGE_BYTES, Reading, WarcError, append_records, check_file

CASES = Path(__file__).parents[4] / "shared" / "data" / "cases"
KINDS = ["plain", "gzip", "zstd"]


def http(number: int, size: int = 400) -> bytes:
    noise = random.Random(number).randbytes(size).hex()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    return head + f"<title>Page {number}</title>{noise}\n\nwords".encode()


def record(number: int, block: bytes | None = None, length: int | None = None) -> bytes:
    block = http(number) if block is None else block
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.example/{number}\r\n"
        f"WARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block) if length is None else length}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def zstd(data: bytes, dictionary: bytes | None = None) -> bytes:
    out = io.BytesIO()
    writer = ZstdWriter(out, dictionary=dictionary)
    for at in range(0, len(data), 1 << 20):  # it takes no more than 8 MB at once
        writer.write(data[at : at + (1 << 20)])
    writer.close()
    return out.getvalue()


PACK: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd}


def read(tmp_path: Path, data: bytes, name: str = "x.warc") -> tuple[list[str], Reading]:
    path = tmp_path / name
    path.write_bytes(data)
    reading = Reading(path)
    return [one.url.rpartition("/")[2] for one in reading], reading


def flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 0x55
    return bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [7, 700, 1_300, 5_000_000, 9_000_000_000, -1])
def test_a_wrong_length_costs_only_its_record(tmp_path: Path, kind: str, length: int) -> None:
    pieces = [PACK[kind](record(n, length=length if n == 2 else None)) for n in range(6)]
    found, reading = read(tmp_path, b"".join(pieces))
    assert found == ["0", "1", "3", "4", "5"]
    [skipped] = reading.skipped
    assert (skipped.offset, skipped.bytes) == (sum(map(len, pieces[:2])), len(pieces[2]))
    assert "Content-Length" in skipped.reason and not skipped.torn


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_length_that_ends_where_another_record_does(tmp_path: Path, kind: str) -> None:
    long = len(http(1)) + 4 + len(record(2))
    pieces = [PACK[kind](record(n, length=long if n == 1 else None)) for n in range(4)]
    found, reading = read(tmp_path, b"".join(pieces))
    assert found == ["0", "2", "3"] and len(reading.skipped) == 1


# the magic number, within the data, the checksum of gzip, the length of gzip
PLACES = {"magic": 0, "data": 150, "checksum": -6, "length": -1}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("broken", [0, 2, 5])
@pytest.mark.parametrize("size", [300, 90_000])
def test_a_damaged_member_costs_only_itself(
    tmp_path: Path, place: str, broken: int, size: int
) -> None:
    pieces = [gzip.compress(record(n, http(n, size))) for n in range(6)]
    whole = list(pieces)
    pieces[broken] = flipped(pieces[broken], PLACES[place])
    found, reading = read(tmp_path, b"".join(pieces))
    assert found == [str(n) for n in range(6) if n != broken]
    [skipped] = reading.skipped
    assert skipped.offset == sum(map(len, whole[:broken])) and skipped.bytes == len(whole[broken])
    assert "damaged" in skipped.reason
    report = check_file(tmp_path / "x.warc")
    assert report.records == 5 and report.skipped == tuple(reading.skipped)
    assert f"byte {skipped.offset}" in report.problem and str(skipped.bytes) in report.problem


def test_siblings_of_damage(tmp_path: Path) -> None:
    zipped = [zstd(record(n)) for n in range(4)]
    found, reading = read(tmp_path, zipped[0] + flipped(zipped[1], 60) + b"".join(zipped[2:]))
    assert found == ["0", "2", "3"] and len(reading.skipped) == 1, "a zstd frame"
    gap = record(0) + b"<p>what is this</p>\r\n" + record(1)
    found, reading = read(tmp_path, gap)
    assert found == ["0", "1"] and reading.skipped[0].offset == len(record(0)), "a gap"
    members = [gzip.compress(record(n)) for n in range(4)]
    two = members[0] + members[1][:90] + members[2] + flipped(members[3], 90)
    found, reading = read(tmp_path, two)
    assert found == ["0", "2"] and len(reading.skipped) == 2, "cut files behind each other"
    stream = gzip.compress(b"".join(record(n, length=9 if n == 1 else None) for n in range(4)))
    found, reading = read(tmp_path, stream)
    assert found == ["0", "2", "3"] and len(reading.skipped) == 1, "records in one member"
    bare = record(1).replace(b"Content-Length", b"Content-Leng")
    found, reading = read(tmp_path, record(0) + bare + record(2))
    assert found == ["0", "2"] and reading.skipped[0].bytes == len(bare), "no length at all"


def test_a_page_that_quotes_a_record_makes_none(tmp_path: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\n\r\n<pre>\n" + record(7) + b"</pre>"
    pieces = [gzip.compress(record(n)) for n in range(3)]
    pieces[1] = gzip.compress(record(1, page, length=10))
    assert read(tmp_path, b"".join(pieces))[0] == ["0", "2"]
    assert read(tmp_path, record(0) + record(1, page) + record(2))[0] == ["0", "1", "2"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_gives_its_whole_records(tmp_path: Path, kind: str) -> None:
    pieces = [PACK[kind](record(n, http(n, 60))) for n in range(3)]
    data = b"".join(pieces)
    ends = [sum(map(len, pieces[: n + 1])) for n in range(3)]
    for cut in range(4, len(data)):  # the first bytes alone do not show what the file is
        path = tmp_path / "x.warc"
        path.write_bytes(data[:cut])
        reading = Reading(path, 1_000_000)
        try:
            found = len(list(reading))
        except WarcError:
            found = 0
        whole = sum(end <= cut for end in ends)
        # the record is complete before the last line ends, or the checksum, of its member
        assert whole <= found <= whole + 1, cut
        if found == whole + 1:
            assert ends[whole] - cut <= 16, cut
        elif cut not in ends:
            assert reading.skipped and reading.skipped[-1].torn, cut
            last = reading.skipped[-1]
            assert last.offset == (ends[whole - 1] if whole else 0)
            assert last.offset + last.bytes == cut


def test_one_stream_that_breaks_off(tmp_path: Path) -> None:
    data = gzip.compress(b"".join(record(n, http(n, 60_000)) for n in range(8)))
    found, reading = read(tmp_path, data[: len(data) // 2])
    assert found == ["0", "1", "2", "3"][: len(found)] and len(found) >= 3
    assert reading.skipped[-1].torn


@pytest.mark.parametrize("ends", ["head", "both", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_heads_that_end_with_line_feeds(tmp_path: Path, kind: str, ends: str) -> None:
    body = b"<pre>a\r\n\r\nb</pre>"
    block = b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n" + body
    if ends == "mixed":
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\n\r\n" + body
    one = record(1, block)
    head, _, _ = one.partition(b"\r\n\r\n")
    if ends != "mixed":
        gap = b"\n\n" if ends == "both" else b"\r\n\r\n"
        one = head.replace(b"\r\n", b"\n") + b"\n\n" + block + gap
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join(PACK[kind](one) for _ in range(3)))
    reading = Reading(path)
    assert [record.payload for record in reading] == [body] * 3 and not reading.skipped


def test_zstd_with_a_dictionary(tmp_path: Path) -> None:
    pages = [record(n, http(n, 30)) for n in range(200)]
    dictionary = zstd_train_dictionary_from_samples(pages, 4_000)
    frames = [zstd(page, dictionary) for page in pages[:5]]
    bare = [frame[frame.rfind(b"\x28\xb5\x2f\xfd") :] for frame in frames]
    for told in (dictionary, zstd(dictionary)):
        begin = b"\x5d\x2a\x4d\x18" + struct.pack("<I", len(told)) + told
        found, reading = read(tmp_path, begin + b"".join(bare))
        assert found == ["0", "1", "2", "3", "4"] and not reading.skipped
        broken = [*bare[:2], flipped(bare[2], 20), *bare[3:]]
        found, reading = read(tmp_path, begin + b"".join(broken))
        assert found == ["0", "1", "3", "4"] and len(reading.skipped) == 1


def arc(*pages: tuple[str, bytes], wrong: int = 0) -> list[bytes]:
    about = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
    blocks = [("filedesc://x.arc", about), *pages]
    return [
        f"{url} 10.0.0.1 20040304101112 text/html ".encode()
        + b"%d\n%s\n" % (len(block) + (wrong if n == 2 else 0), block)
        for n, (url, block) in enumerate(blocks)
    ]


@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_arc(tmp_path: Path, kind: str) -> None:
    old = b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n<title>Arc</title>old"
    pages = [(f"http://h.example/{n}", old) for n in range(4)]
    path = tmp_path / "old.arc"
    path.write_bytes(b"".join(map(PACK[kind], arc(*pages, ("dns:h.example", b"10.0.0.1")))))
    reading = Reading(path)
    about, first, *_, name = reading
    assert (about.type, first.type, name.type) == ("warcinfo", "response", "resource")
    assert (first.status, first.payload, first.url) == (
        200,
        b"<title>Arc</title>old",
        "http://h.example/0",
    )
    assert first.date is not None and first.date.year == 2004 and not reading.skipped
    for wrong in (-9, 40):
        path.write_bytes(b"".join(map(PACK[kind], arc(*pages, wrong=wrong))))
        reading = Reading(path)
        found = [one.url[-1] for one in reading if one.type == "response"]
        assert found == ["0", "2", "3"] and len(reading.skipped) == 1


def test_wacz(tmp_path: Path) -> None:
    members = [gzip.compress(record(n)) for n in range(4)]
    damaged = members[0] + flipped(members[1], 90) + b"".join(members[2:])
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", packing) as wacz:
            wacz.writestr("datapackage.json", "{}")
            wacz.writestr("archive/a.warc.gz", b"".join(members))
            wacz.writestr("archive/b.warc", b"".join(record(n) for n in (7, 8)))
            wacz.writestr("archive/c.warc.gz", damaged)
        found, reading = read(tmp_path, file.getvalue(), "x.wacz")
        assert found == ["0", "1", "2", "3", "7", "8", "0", "2", "3"]
        [skipped] = reading.skipped
        assert skipped.reason.startswith("archive/c.warc.gz: ") and skipped.offset == len(
            members[0]
        )
        if packing == zipfile.ZIP_STORED:
            found, reading = read(tmp_path, file.getvalue()[:-300], "cut.wacz")
            assert found[:4] == ["0", "1", "2", "3"] and reading.skipped, "its index is gone"


def test_archive_files_of_any_kind_are_joined(tmp_path: Path) -> None:
    kinds = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd, "damaged": gzip.compress}
    with (tmp_path / "all.warc.gz").open("wb") as out:
        for number, (name, pack) in enumerate(kinds.items()):
            path = tmp_path / name
            end = b"\x1f\x8b\x08" if name == "damaged" else b""
            path.write_bytes(pack(record(number)) + end)
            append_records(path, out)
    report = check_file(tmp_path / "all.warc.gz")
    assert (report.records, report.problem) == (4, "")


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"<html><p>no archive", "web page"),
        (b"%PDF-1.4 and so on", "PDF"),
        (b"BZh91AY&SY", "bzip2"),
        (b'{"log": {"entries": []}}', "JSON"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, data: bytes, word: str) -> None:
    with pytest.raises(WarcError, match=word):
        read(tmp_path, data)


def test_a_zip_file_without_archives(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as pages:
        pages.writestr("index.html", "<p>page")
    with pytest.raises(WarcError, match="zip file without any"):
        read(tmp_path, file.getvalue())


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_bounded_in_memory(tmp_path: Path, kind: str) -> None:
    size = 60_000_000
    block = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(size)
    path = tmp_path / "large.warc"
    path.write_bytes(PACK[kind](record(0)) + PACK[kind](record(1, block)) + PACK[kind](record(2)))
    del block
    tracemalloc.start()
    try:
        lengths = [(len(one.block), one.bytes_left_out) for one in Reading(path)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert lengths[1] == (PAGE_BYTES, size + 19 - PAGE_BYTES) and len(lengths) == 3
    assert lengths[2][1] == 0 and peak < 2.5 * PAGE_BYTES


TEXT = "<title>Ä</title>".encode() * 20
CONTENTS = {
    "zstd": ("Content-Encoding: zstd", zstd(TEXT), TEXT),
    "line end before gzip": ("Content-Encoding: gzip", b"\r\n" + gzip.compress(TEXT), TEXT),
    "line end before zstd": ("Content-Encoding: zstd", b"\n" + zstd(TEXT), TEXT),
    "header gone": ("Content-Type: text/html", gzip.compress(TEXT), TEXT),
    "twice": ("Content-Encoding: gzip", gzip.compress(gzip.compress(TEXT)), TEXT),
    "unpacked zstd": ("Content-Encoding: zstd", TEXT, TEXT),
    "unpacked br": ("Content-Encoding: br", TEXT, TEXT),
    "unknown": ("Content-Encoding: compress", b"\x1f\x9d\x90" + bytes(range(200)), b""),
    "damaged gzip": ("Content-Encoding: gzip", flipped(gzip.compress(TEXT), 12), b""),
    "damaged zstd": ("Content-Encoding: zstd", flipped(zstd(TEXT), 6), b""),
    "no brotli": ("Content-Encoding: br", bytes(range(256)), b""),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_compressed_bytes_are_never_text(tmp_path: Path, name: str) -> None:
    header, body, wanted = CONTENTS[name]
    block = b"HTTP/1.1 200 OK\r\n" + header.encode() + b"\r\n\r\n" + body
    path = tmp_path / "x.warc"
    path.write_bytes(record(1, block))
    [found] = Reading(path)
    assert found.payload == wanted and bool(found.problem) is not bool(wanted)
    assert found.text == wanted.decode()


@pytest.mark.parametrize(
    ("case", "urls"),
    [
        ("53-warc-member-and-gap", 15),
        ("54-warc-odd-addresses", 3),
        ("55-warc-encodings", 11),
        ("57-other-archive-files", 6),
    ],
)
def test_cases(case: str, urls: int) -> None:
    folder = CASES / case / "in"
    if not folder.is_dir():
        pytest.skip("the cases are not here")
    found = [
        one
        for path in sorted(folder.iterdir())
        for one in Reading(path)
        if one.url.startswith("http://") and one.type == "response"
    ]
    assert len({(one.url, one.block) for one in found}) >= len(found) / 2 and len(found) == urls
    assert all("<title>Page" in one.text and "Ä" in one.text for one in found)
    assert all(one.status == 200 for one in found)
