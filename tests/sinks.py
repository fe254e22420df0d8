"""Receivers on loopback for tests: a mail server and a web address that record the messages they
receive."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Sink:
    """The received messages in order. `answers` are the responses to the next messages in turn,
    after which all are accepted; a response of None closes the connection instead."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    posts: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    answers: list[int | None] = field(default_factory=list)

    def answer(self, usual: int) -> int | None:
        return self.answers.pop(0) if self.answers else usual


@contextmanager
def mail_sink() -> Iterator[Sink]:
    """A mail server that implements as much of RFC 5321 as a client needs to deliver a mail."""
    sink = Sink()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say(220, "ready")
            while line := self.rfile.readline():
                word = line.split()[0].upper() if line.split() else b""
                if word == b"QUIT":
                    return self.say(221, "bye")
                if word == b"DATA":
                    self.say(354, "go on")
                    if not self.data():
                        return None
                else:
                    self.say(250, "fine")
            return None

        def data(self) -> bool:
            lines = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
            sink.mails.append(  # type: ignore[arg-type]
                message_from_bytes(b"".join(lines), policy=policy.default)
            )
            code = sink.answer(250)
            if code is not None:
                self.say(code, "taken" if code == 250 else "refused")
            return code is not None

        def say(self, code: int, text: str) -> None:
            self.wfile.write(f"{code} {text}\r\n".encode())

    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as sink.port:
        yield sink


@contextmanager
def web_sink() -> Iterator[Sink]:
    """A web address that accepts JSON by POST."""
    sink = Sink()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sink.posts.append((dict(self.headers), json.loads(body)))
            code = sink.answer(204)
            if code is None:
                self.close_connection = True
                return
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *given: Any) -> None:
            """Logs nothing."""

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as sink.port:
        yield sink


@contextmanager
def _serving(server: socketserver.TCPServer) -> Iterator[int]:
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
