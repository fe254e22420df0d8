"""Decodes Content-Encoding with a limit on the output, so that a decompression bomb is stopped
early."""

from __future__ import annotations

import io
import zlib

import brotli
from fastwarc.stream_io import ZstdReader

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
# Registered codings that the crawler does not request and cannot decode. Any other unknown one
# ("utf-8", "none") is a server's mistake, which browsers ignore.
_UNSUPPORTED = frozenset(
    {"compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm"}
)
_MAX_CODINGS = 3
_MOST_LAYERS = 3  # a body compressed more often is not read
# Control characters that no text holds; those of ISO-2022 (SO, SI, ESC) may be text.
_CONTROLS = bytes(sorted({*range(32), 127} - {*b"\t\n\f\r\x0e\x0f\x1b"}))
_LOOKED_AT = 4_000
_STRAY = 0.03  # share of control characters up to which a body is damaged text
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16, whose text is full of zeros
_PIECE_BYTES = 262_144


class InflateError(Exception):
    """Decoding was aborted. `code` is "bomb" (too large), "truncated" or "bad_encoding"; `partial`
    holds the bytes decoded until then."""

    def __init__(self, code: str, partial: bytes) -> None:
        super().__init__(code)
        self.code = code
        self.partial = partial


def inflate(raw: bytes, content_encoding: str, max_bytes: int) -> bytes:
    """Returns `raw` decoded according to the header value `content_encoding`: gzip, deflate (with
    or without zlib header), br, zstd, or up to three of them applied one after the other.
    Unregistered names of codings are ignored, and so are line breaks before the magic number of
    gzip and zstd.

    Raises InflateError, also if the result, or that of one of several codings, has more than
    `max_bytes` bytes.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    if not raw:
        return raw
    if len(codings) > _MAX_CODINGS:
        raise InflateError("bad_encoding", b"")
    for coding in reversed(codings):
        if coding in ("gzip", "x-gzip"):
            raw = _gunzip(_from(GZIP_MAGIC, raw), max_bytes)
        elif coding == "deflate":
            raw = _deflate(raw, max_bytes)
        elif coding == "br":
            raw = _unbrotli(raw, max_bytes)
        elif coding == "zstd":
            raw = _unzstd(_from(ZSTD_MAGIC, raw), max_bytes)
        elif coding in _UNSUPPORTED:
            raise InflateError("bad_encoding", b"")
    return raw


def unpacked(raw: bytes, content_encoding: str, content_type: str, max_bytes: int) -> bytes:
    """Returns the body `raw` of a response decoded by `inflate`, and if it is said to be text, also
    decoded as often as it is compressed without a word. Raises InflateError as `inflate` does,
    and if what is said to be text is none then ("bad_encoding")."""
    body = inflate(raw, content_encoding, max_bytes)
    kind = content_type.lower()
    if kind and not any(word in kind for word in ("text/", "html", "xml", "json")):
        return body
    for _ in range(_MOST_LAYERS):
        if not (coding := packed_as(body)):
            break
        body = inflate(body, coding, max_bytes)
    if packed_as(body) or not is_text(body) and "utf-16" not in kind:
        raise InflateError("bad_encoding", b"")
    return body


def is_text(body: bytes) -> bool:
    """Tells whether a body looks like text: its beginning holds hardly any control characters, or
    has a mark of UTF-16."""
    begin = body[:_LOOKED_AT]
    controls = len(begin) - len(begin.translate(None, _CONTROLS))
    return controls <= max(2, _STRAY * len(begin)) or begin.startswith(_WIDE_MARKS)


def packed_as(raw: bytes) -> str:
    """Returns the coding whose magic number a body begins with, line breaks aside: "gzip", "zstd",
    "deflate" (with zlib's header, and no text after it); "" for none."""
    begin = raw[:20].lstrip(b"\r\n")
    if begin.startswith(GZIP_MAGIC):
        return "gzip"
    if begin.startswith(ZSTD_MAGIC):
        return "zstd"
    header = int.from_bytes(raw[:2]) if raw.startswith(b"x") else 1
    return "deflate" if header % 31 == 0 and not is_text(raw) else ""


def _from(magic: bytes, raw: bytes) -> bytes:
    """Returns `raw` without the line breaks that some servers send before a compressed body."""
    bare = raw.lstrip(b"\r\n") if raw[:1] in (b"\r", b"\n") else raw
    return bare if bare.startswith(magic) else raw


def _gunzip(raw: bytes, max_bytes: int) -> bytes:
    """Returns the decoded gzip members of `raw`, joined; bytes after the last member are ignored,
    as in browsers."""
    out = b""
    while True:
        decoder = zlib.decompressobj(wbits=31)
        try:
            piece = decoder.decompress(raw, max_bytes - len(out) + 1)
        except zlib.error as error:
            raise InflateError("bad_encoding", out) from error
        out = out + piece if out else piece
        if len(out) > max_bytes:
            raise InflateError("bomb", out[:max_bytes])
        if not decoder.eof:
            raise InflateError("truncated", out)
        raw = decoder.unused_data
        if not raw.startswith(b"\x1f\x8b"):
            return out


def _deflate(raw: bytes, max_bytes: int) -> bytes:
    # first with zlib header, as the standard says, then raw, as some servers send it
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        decoder = zlib.decompressobj(wbits=wbits)
        try:
            out = decoder.decompress(raw, max_bytes + 1)
        except zlib.error:
            continue
        if len(out) > max_bytes:
            raise InflateError("bomb", out[:max_bytes])
        if not decoder.eof:
            raise InflateError("truncated", out)
        return out
    raise InflateError("bad_encoding", b"")


def _unbrotli(raw: bytes, max_bytes: int) -> bytes:
    decoder = brotli.Decompressor()
    out = bytearray()
    data = raw
    while not decoder.is_finished():
        try:
            piece = decoder.process(
                data, output_buffer_limit=min(_PIECE_BYTES, max_bytes - len(out) + 1)
            )
        except brotli.error as error:
            raise InflateError("bad_encoding", bytes(out)) from error
        out += piece
        if len(out) > max_bytes:
            raise InflateError("bomb", bytes(out[:max_bytes]))
        if not piece and decoder.can_accept_more_data() and not decoder.is_finished():
            raise InflateError("truncated", bytes(out))
        data = b""
    return bytes(out)


def _unzstd(raw: bytes, max_bytes: int) -> bytes:
    reader, out = ZstdReader(io.BytesIO(raw)), bytearray()
    try:
        while piece := reader.read(min(_PIECE_BYTES, max_bytes - len(out) + 1)):
            out += piece
            if len(out) > max_bytes:
                raise InflateError("bomb", bytes(out[:max_bytes]))
    except OSError as error:
        code = "truncated" if "incomplete" in str(error) else "bad_encoding"
        raise InflateError(code, bytes(out)) from error
    return bytes(out)
