"""A web of generated pages on loopback, served by a process of its own, so that its CPU time does
not count for the crawler. No Django."""

from __future__ import annotations

import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = [
    "account",
    "archive",
    "bridge",
    "canvas",
    "delta",
    "engine",
    "forest",
    "garden",
    "harbour",
    "island",
    "journal",
    "kernel",
    "lantern",
    "market",
    "needle",
    "orchard",
    "paper",
    "quartz",
    "river",
    "signal",
    "timber",
    "umbrella",
    "valley",
    "window",
    "yellow",
    "zephyr",
]


def make_page(number: int, pages: int, links: int, size_bytes: int) -> bytes:
    """Returns the HTML of page `number` of `pages`: `links` links with anchor texts, filled with
    paragraphs up to `size_bytes`."""
    draw = random.Random(number)
    targets = [(number * 7 + k * 13 + 1) % pages for k in range(links)]
    parts = [
        f"<!doctype html><html><head><title>Page {number}</title><meta"
        f" charset=utf-8></head><body><h1>Page {number}</h1>"
    ]
    length = 0
    for target in targets:
        anchor = " ".join(draw.choices(WORDS, k=4))
        filler = " ".join(draw.choices(WORDS, k=max(1, size_bytes // links // 8)))
        parts.append(
            f'<div class=item><p>{filler}</p><a href="/page/{target}.html">{anchor}</a>'
            f" <span>{draw.random():.4f}</span></div>"
        )
        length += len(parts[-1])
    parts.append("</body></html>")
    return "".join(parts).encode()


def serve(pages: int, links: int, size_bytes: int) -> None:
    """Serves the pages until the process is terminated; prints the port first."""
    store = {f"/page/{n}.html": make_page(n, pages, links, size_bytes) for n in range(pages)}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            body = store.get(self.path, b"")
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    serve(*(int(word) for word in sys.argv[1:4]))
