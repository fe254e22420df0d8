"""An S3 server for tests, and a proxy to it that can be slow, respond with 500 or break
connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "pages"
KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}
REFUSED = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@contextmanager
def store() -> Iterator[str]:
    """The address of a running S3 server with an empty bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    try:
        client = boto3.client(
            "s3",
            endpoint_url=url,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=BUCKET)
        yield url
        for row in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
            client.delete_object(Bucket=BUCKET, Key=row["Key"])
        client.delete_bucket(Bucket=BUCKET)
    finally:
        server.stop()


class Road:
    """A proxy to a server. `fault`: "" for none, "refuses" (responds with 500), "silent" (accepts
    the request and never responds), "cuts request" or "cuts answer" (breaks the connection after
    `most` bytes)."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self.far = (host, int(port))
        self.fault, self.most, self.met = "", 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        fault = self.fault
        self.met += bool(fault)
        with client, suppress(OSError):
            if fault == "refuses":
                client.recv(1 << 16)
                client.sendall(REFUSED)
                return
            if fault == "silent":
                self.over.wait(60)
                return
            with socket.create_connection(self.far) as far:
                up = threading.Thread(
                    target=self._pass,
                    args=(client, far, self.most if fault == "cuts request" else 0),
                    daemon=True,
                )
                up.start()
                self._pass(far, client, self.most if fault == "cuts answer" else 0)

    def _pass(self, one: socket.socket, other: socket.socket, most: int) -> None:
        done = 0
        with suppress(OSError):
            while data := one.recv(1 << 14):
                if most and done + len(data) > most:
                    other.sendall(data[: max(0, most - done)])
                    break
                other.sendall(data)
                done += len(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stops accepting connections and ends those that never get a response because of the fault
        "silent"."""
        self.over.set()
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
