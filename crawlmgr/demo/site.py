"""One site of the demonstration web, served on a loopback port from a thread of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

HOST = "127.0.0.1"
POLL_SECONDS = 0.05
ROBOTS = "User-agent: *\nDisallow: /private/\n"


class Answer(NamedTuple):
    """The response of a site for a path: body, status, content type."""

    body: str
    status: int = 200
    content_type: str = "text/html"


Pages = Callable[[str], Answer | None]
"""Function from path and query to the page; None if there is no such page."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors from clients that closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Website:
    """Context manager that serves `pages` on a loopback port; with port 0 on a free one. Raises
    OSError if the port is in use."""

    def __init__(self, pages: Pages, port: int = 0) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = (
                -1
                # one packet for headers and body: otherwise the body would wait until the headers
                # are acknowledged
            )

            def do_GET(self) -> None:
                self._give(pages(self.path))

            def do_HEAD(self) -> None:
                self._give(pages(self.path))

            def do_POST(self) -> None:
                """Answers 403: the forms of the demonstration are not meant to be sent by POST; the
                body is read and ignored."""
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self._give(Answer(frame("Not sent", "en", "<p>This form does nothing.</p>"), 403))

            def _give(self, found: Answer | None) -> None:
                answer = (
                    found
                    or robots(self.path)
                    or Answer(frame("Not found", "en", "<p>There is no such page.</p>"), 404)
                )
                data = answer.body.encode()
                self.send_response(answer.status)
                self.send_header("content-type", f"{answer.content_type}; charset=utf-8")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                return

        self._server = _Server((HOST, port), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True
        )

    @property
    def url(self) -> str:
        """The address of the site's home page."""
        return f"http://{HOST}:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def robots(path: str) -> Answer | None:
    """Returns the robots.txt, the same on every site of the demonstration, if `path` asks for it;
    otherwise None."""
    return Answer(ROBOTS, content_type="text/plain") if path == "/robots.txt" else None


def frame(title: str, language: str, body: str, menu: str = "") -> str:
    """Returns a complete HTML page around the HTML `body`; `menu` is the HTML of its navigation,
    `language` a code such as "en"."""
    top = f"<nav>{menu}</nav>" if menu else ""
    return (
        f'<!doctype html><html lang="{language}"><head><meta'
        f' charset="utf-8"><title>{escape(title)}</title></head><body>{top}<main>{body}</main>'
        f"<footer><p>A"
        " demonstration on this machine.</p></footer></body></html>"
    )
