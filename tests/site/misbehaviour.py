"""Misbehaving endpoints for LocalSite: each does something that real servers do to crawlers."""

from __future__ import annotations

import argparse
import gzip
import itertools
import re
import socket
import struct
import threading
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import lru_cache

import brotli

from tests.site.server import LocalSite, Reply, Request

GBK_TEXT = "论坛首页：欢迎各位网友发表新帖子，回复他人的主题，讨论技术与生活。"
GBK_PAGE = f"<html><head><title>论坛</title></head><body><p>{GBK_TEXT}</p></body></html>"


def _head(request: Request, *lines: str, status: str = "200 OK") -> None:
    request.raw.sendall(
        ("\r\n".join([f"HTTP/1.1 {status}", *lines]) + "\r\n\r\n").encode("latin-1")
    )


def _seconds(request: Request, name: str, default: float) -> float:
    return float(request.query.get(name, default))


def slow_drip(request: Request) -> None:
    """Sends a byte of the body every `interval` seconds: never silent for long, never finished."""
    _head(request, "Content-Type: text/html", "Content-Length: 1000000")
    while not request.stopped.wait(_seconds(request, "interval", 0.05)):
        request.raw.sendall(b"x")


def slow_headers(request: Request) -> None:
    """Sends header bytes one by one, without end."""
    request.raw.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not request.stopped.wait(_seconds(request, "interval", 0.05)):
        request.raw.sendall(b"x")


def silent(request: Request) -> None:
    """Accepts the request and never responds."""
    request.stopped.wait(_seconds(request, "seconds", 30))


def silent_body(request: Request) -> None:
    """Sends headers and half of the body, then nothing."""
    _head(request, "Content-Type: text/html", "Content-Length: 1000")
    request.raw.sendall(b"<p>half" * 10)
    request.stopped.wait(_seconds(request, "seconds", 30))


def endless_body(request: Request) -> None:
    """Sends a body without length as fast as it is read."""
    _head(request, "Content-Type: text/html", "Connection: close")
    while not request.stopped.is_set():
        request.raw.sendall(b"<p>more and more</p>" * 4096)


def endless_chunk_line(request: Request) -> None:
    """Sends a chunk size that never ends."""
    _head(request, "Content-Type: text/html", "Transfer-Encoding: chunked")
    while not request.stopped.is_set():
        request.raw.sendall(b"0" * 65536)


def endless_trailer(request: Request) -> None:
    """Sends a chunked body with trailer lines that never end."""
    _head(request, "Content-Type: text/html", "Transfer-Encoding: chunked")
    request.raw.sendall(b"4\r\nbody\r\n0\r\n")
    while not request.stopped.is_set():
        request.raw.sendall(b"X-More: of the same\r\n" * 1000)


def endless_redirect(request: Request) -> Reply:
    """Redirects each address to the next one, without end."""
    step = int(request.query.get("n", "0")) + 1
    return Reply(b"", 302, {"Location": f"/bad/redirect-endless?n={step}"})


def redirect_to(request: Request) -> Reply:
    """Redirects to the address in the query parameter `to`, with the HTTP status in `status` (302
    if absent)."""
    return Reply(
        b"<a href='.'>moved</a>",
        int(request.query.get("status", "302")),
        {"Location": request.query["to"]},
    )


def _zeros_packed(megabytes: int) -> bytes:
    """gzip of this many megabytes of zeros, composed from one compressed megabyte."""
    zeros = bytes(1_000_000)
    packer = zlib.compressobj(9, wbits=-15)
    piece = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(megabytes):
        check = zlib.crc32(zeros, check)
    end = struct.pack("<BBLL", 3, 0, check, megabytes * len(zeros))
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + piece * megabytes + end


def gzip_bomb(request: Request) -> Reply:
    """A few kilobytes that decompress to `mb` megabytes."""
    return Reply(
        _zeros_packed(int(request.query.get("mb", "200"))), headers={"Content-Encoding": "gzip"}
    )


def double_gzip_bomb(request: Request) -> Reply:
    """Sends a body compressed twice with gzip: the first decompression gives little data, the
    second 100 MB."""
    return Reply(gzip.compress(_zeros_packed(100), 9), headers={"Content-Encoding": "gzip, gzip"})


@lru_cache(maxsize=4)
def _zeros_brotli(megabytes: int) -> bytes:
    packer = brotli.Compressor(quality=3)
    zeros = bytes(1_000_000)
    return b"".join(packer.process(zeros) for _ in range(megabytes)) + packer.finish()


def brotli_bomb(request: Request) -> Reply:
    """A decompression bomb in Brotli."""
    return Reply(
        _zeros_brotli(int(request.query.get("mb", "200"))), headers={"Content-Encoding": "br"}
    )


def truncated(request: Request) -> None:
    """Closes the connection in the middle of the announced body."""
    _head(request, "Content-Type: text/html", "Content-Length: 1000")
    request.raw.sendall(b"<p>the first half</p>")


def truncated_chunks(request: Request) -> None:
    """Closes the connection in the middle of a chunk."""
    _head(request, "Content-Type: text/html", "Transfer-Encoding: chunked")
    request.raw.sendall(b"12\r\n<p>first chunk</p>\r\nff\r\n<p>half")


def length_too_short(request: Request) -> None:
    """Sends more than Content-Length announces."""
    _head_and_body = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n<p>0123456789 and"
        b" more</p>"
    )
    request.raw.sendall(_head_and_body)
    request.stopped.wait(0.2)


def garbage(request: Request) -> None:
    """Sends bytes that are not HTTP."""
    request.raw.sendall(b"\x00\x01\x02SSH-2.0-whatever\r\n\r\n" * 10)


def garbage_headers(request: Request) -> None:
    """Sends a status line, lines that are not headers, then a page."""
    request.raw.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n: no name\r\nno colon at all\r\n\xff\xfe:"
        b" \x01\r\nContent-Length: 13\r\n\r\n<p>page</p>\r\n"
    )


def huge_headers(request: Request) -> None:
    """Sends a response with one header of 20 MB, or of as many as the query parameter `mb` says."""
    request.raw.sendall(b"HTTP/1.1 200 OK\r\nX-Huge: ")
    for _ in range(int(request.query.get("mb", "20")) * 16):
        request.raw.sendall(b"h" * 65536)
    request.raw.sendall(b"\r\nContent-Length: 0\r\n\r\n")


def many_headers(request: Request) -> None:
    """Sends header lines without end."""
    request.raw.sendall(b"HTTP/1.1 200 OK\r\n")
    while not request.stopped.is_set():
        request.raw.sendall(b"X-Many: headers\r\n" * 1000)


def endless_continue(request: Request) -> None:
    """Sends "100 Continue" without end."""
    while not request.stopped.is_set():
        request.raw.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def too_busy_date(request: Request) -> Reply:
    """429 with Retry-After as a date, `seconds` from now."""
    until = datetime.now(UTC) + timedelta(seconds=_seconds(request, "seconds", 90))
    return Reply(b"slow down", 429, {"Retry-After": format_datetime(until, usegmt=True)})


def reset(request: Request) -> None:
    """Resets the connection instead of responding."""
    request.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.raw.close()


def empty(request: Request) -> None:
    """Closes the connection without a response."""


def calendar(request: Request) -> Reply:
    """A calendar in which every month links to the next one, without end."""
    found = re.search(r"/calendar/(\d+)/(\d+)", request.path)
    year, month = (int(found.group(1)), int(found.group(2))) if found else (2026, 1)
    after = f"/calendar/{year + month // 12}/{month % 12 + 1:02d}"
    return Reply(f"<h1>{year}-{month:02d}</h1><a href='{after}'>next month</a>".encode())


_SESSIONS = itertools.count(1)


def session_links(request: Request) -> Reply:
    """The same three pages under a new session id in every response."""
    session = f"{next(_SESSIONS):032x}"
    items = "".join(
        f"<li><a href='/session/page.php?id={n}&sid={session}'>page {n}</a></li>" for n in (1, 2, 3)
    )
    return Reply(f"<ul>{items}</ul>".encode())


class ShiftingList:
    """A list with `per_page` rows per page, to whose top `grow` rows are added after every
    response."""

    def __init__(self, rows: int = 30, per_page: int = 10, grow: int = 2) -> None:
        self.rows = list(range(rows, 0, -1))
        self.per_page = per_page
        self.grow = grow
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        page = int(request.query.get("page", "1"))
        with self._lock:
            start = (page - 1) * self.per_page
            shown = self.rows[start : start + self.per_page]
            more = start + self.per_page < len(self.rows)
            newest = self.rows[0]
            self.rows[:0] = range(newest + self.grow, newest, -1)
        items = "".join(f"<li><a href='/row/{row}'>row {row}</a></li>" for row in shown)
        after = f"<a rel='next' href='?page={page + 1}'>next</a>" if more else ""
        return Reply(f"<ul>{items}</ul>{after}".encode())


def set_robots(site: LocalSite, kind: str) -> None:
    """Sets the response to /robots.txt: a file's text, or one of 404, 500, 429, redirect,
    redirect-loop, huge, slow, binary."""
    page = Reply(b"User-agent: *\nDisallow: /private/\n", content_type="text/plain")
    # 600 KiB: the rule that stands after the first 500 KiB must have no effect.
    huge = b"User-agent: *\nDisallow: /early/\n" + b"# filler\n" * 68_000 + b"Disallow: /late/\n"
    answers = {
        "404": Reply(b"no such file", 404),
        "500": Reply(b"broken", 500),
        "429": Reply(b"busy", 429, {"Retry-After": "30"}),
        "redirect": Reply(b"", 301, {"Location": "/robots-elsewhere.txt"}),
        "redirect-loop": Reply(b"", 301, {"Location": "/robots.txt"}),
        "huge": Reply(huge, content_type="text/plain"),
        "slow": slow_drip,
        "binary": Reply(bytes(range(256)) * 20, content_type="application/octet-stream"),
    }
    site.add("/robots-elsewhere.txt", page)
    site.add(
        "/robots.txt", answers.get(kind, Reply(kind.encode("utf-8"), content_type="text/plain"))
    )


def misbehave(site: LocalSite) -> None:
    """Adds every endpoint of this module under /bad/, and /calendar/, /session/ and /shifting."""
    for name, route in {
        "slow-drip": slow_drip,
        "slow-headers": slow_headers,
        "silent": silent,
        "silent-body": silent_body,
        "endless-body": endless_body,
        "endless-chunk-line": endless_chunk_line,
        "endless-trailer": endless_trailer,
        "redirect-endless": endless_redirect,
        "redirect-loop": Reply(b"", 302, {"Location": "/bad/redirect-loop-back"}),
        "redirect-loop-back": Reply(b"", 302, {"Location": "/bad/redirect-loop"}),
        "redirect": redirect_to,
        "redirect-nowhere": Reply(b"", 302, {"Location": "javascript:alert(1)"}),
        "gzip-bomb": gzip_bomb,
        "gzip-bomb-twice": double_gzip_bomb,
        "br-bomb": brotli_bomb,
        "gzip-garbage": Reply(b"this is no gzip", headers={"Content-Encoding": "gzip"}),
        "gzip-truncated": Reply(
            gzip.compress(b"<p>text</p>" * 1000)[:60], headers={"Content-Encoding": "gzip"}
        ),
        "unknown-encoding": Reply(b"\x1f\x9d\x90", headers={"Content-Encoding": "compress"}),
        "wrong-charset": Reply(GBK_PAGE.encode("gbk"), content_type="text/html; charset=utf-8"),
        "gbk": Reply(GBK_PAGE.encode("gbk"), content_type="text/html"),
        "truncated": truncated,
        "truncated-chunks": truncated_chunks,
        "length-too-long": truncated,
        "length-too-short": length_too_short,
        "garbage": garbage,
        "garbage-headers": garbage_headers,
        "huge-headers": huge_headers,
        "many-headers": many_headers,
        "endless-continue": endless_continue,
        "429": Reply(b"slow down", 429, {"Retry-After": "120"}),
        "429-date": too_busy_date,
        "503": Reply(b"back soon", 503),
        "reset": reset,
        "empty": empty,
    }.items():
        site.add(f"/bad/{name}", route)
    site.add("/calendar/*", calendar)
    site.add("/session/*", session_links)
    site.add("/shifting", ShiftingList())


def main() -> None:
    """Serves these endpoints until Ctrl-C, to try a crawler on them by hand or from another
    process."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    with LocalSite(port=parser.parse_args().port) as site:
        misbehave(site)
        print(site.url("/"), flush=True)  # noqa: T201  the caller reads the address
        threading.Event().wait()


if __name__ == "__main__":
    main()
