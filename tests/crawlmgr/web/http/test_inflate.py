"""Bodies that are compressed without a word, or are no text although they are said to be."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest

from crawlmgr.web.http.exchange import InflateError, unpacked

PAGE = "<html><body>Grüße aus dem Hafen, 灯笼</body></html>".encode() * 40
NOISE = random.Random(5).randbytes(3_000)


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (PAGE, ""),
        (gzip.compress(PAGE, mtime=0), ""),
        (b"\r\n" + gzip.compress(PAGE, mtime=0), "identity"),
        (gzip.compress(gzip.compress(PAGE, mtime=0), mtime=0), "gzip"),
        (zlib.compress(gzip.compress(PAGE, mtime=0)), "deflate"),
        (zlib.compress(PAGE), ""),
        (gzip.compress(zlib.compress(PAGE, 9), mtime=0), ""),
    ],
)
def test_text_is_unpacked_as_often_as_it_is_packed(raw: bytes, encoding: str) -> None:
    assert unpacked(raw, encoding, "text/html; charset=utf-8", 1_000_000) == PAGE


@pytest.mark.parametrize("kind", ["text/html", "", "application/xhtml+xml"])
@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (NOISE, ""),
        (NOISE, "xz"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00", ""),
        (zlib.compress(NOISE), "deflate"),
        (gzip.compress(NOISE, mtime=0), ""),
        (gzip.compress(PAGE, mtime=0)[:40] + NOISE, ""),
    ],
)
def test_what_is_no_text_is_never_read_as_text(raw: bytes, encoding: str, kind: str) -> None:
    with pytest.raises(InflateError, match="bad_encoding"):
        unpacked(raw, encoding, kind, 1_000_000)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("\ufeff<p>灯笼".encode("utf-16-le"), "text/html"),
        ("<p>Hafen".encode("utf-16-be"), "text/html; charset=UTF-16BE"),
        ("検索".encode("iso-2022-jp"), "text/html"),
        ("검색".encode("iso-2022-kr"), "text/html"),
        (b"\x00\x01" + PAGE, "text/html"),
        (b"x^2 + y^2", "text/plain"),
        (NOISE, "image/png"),
        (gzip.compress(PAGE, mtime=0), "application/gzip"),
    ],
)
def test_text_in_any_encoding_and_what_is_said_to_be_no_text_stay(raw: bytes, kind: str) -> None:
    assert unpacked(raw, "", kind, 1_000_000) == raw
