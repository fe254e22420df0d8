"""A local web of many hosts, served by a process of its own on loopback addresses, with slow,
overloaded and dead hosts among them. No Django."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from tests.benches import child
from tests.benches.local_server import WORDS

LINKS = 40
PAGES = 50  # default number of pages per host
SLOW_FACTOR = 8.0
BUSY_SECONDS = 1
TICK_SECONDS, TICKS = 0.005, 8
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


def address_of(host: int) -> str:
    """Returns the loopback address of the host with this number; all addresses in 127.0.0.0/8 lead
    to this machine."""
    return f"127.1.{host // 250}.{host % 250 + 1}"


def name_of(host: int) -> str:
    """Returns the name of the host with this number; both sides of the benchmark resolve it
    themselves with `resolved`."""
    return f"site{host}.example"


def resolved(name: str) -> str:
    """Returns the loopback address of a host, given by its name."""
    return address_of(int(name.removeprefix("site").removesuffix(".example")))


def manner_of(host: int) -> str:
    """Returns how the host with this number behaves: of each 50 hosts two are "slow", two "busy"
    (overloaded: every third request is refused with status 429), one is "dead" (accepts no
    connection), the others are "plain"."""
    return {7: "dead", 13: "slow", 31: "slow", 19: "busy", 43: "busy"}.get(host % 50, "plain")


def allowed_rate(hosts: int, answer_seconds: float, delay_seconds: float) -> float:
    """Returns the maximum total rate, in pages per second, of a crawler that sends one request at a
    time to each host and starts requests to a host at least `delay_seconds` apart. `answer_seconds`
    is the response time of a normal host. An overloaded host refuses every third request and asks
    for a pause of BUSY_SECONDS then."""
    plain = max(delay_seconds, answer_seconds)
    rates = {
        "plain": 1 / plain,
        "slow": 1 / max(delay_seconds, answer_seconds * SLOW_FACTOR),
        "busy": 2 / (2 * plain + max(delay_seconds, answer_seconds + BUSY_SECONDS)),
        "dead": 0.0,
    }
    return sum(rates[manner_of(host)] for host in range(hosts))


class Web:
    """Makes the pages of all hosts, and keeps for each host the number of requests, the maximum
    number at the same time, and the shortest interval between the starts of two.

    A busy event loop notices requests late. The interval is therefore measured from `ticks[0]`, the
    oldest of the last timer ticks at the earlier request: it is never too short, and may be some
    hundredths of a second too long.
    """

    def __init__(
        self, hosts: int, seconds: float, size_bytes: int, vary: bool = False, pages: int = PAGES
    ) -> None:
        self.hosts, self.seconds, self.vary, self.pages = hosts, seconds, vary, pages
        self.draw = random.Random(1)
        self.asked: dict[int, int] = defaultdict(int)
        self.now: dict[int, int] = defaultdict(int)
        self.most: dict[int, int] = defaultdict(int)
        self.gap: dict[int, float] = {}
        self.last: dict[int, float] = {}
        self.private = 0
        self.ticks: deque[float] = deque(maxlen=TICKS)
        size = max(1, size_bytes // LINKS // 8)
        self.fillers = [
            " ".join(self.draw.choices(WORDS, k=size)) for _ in range(500 if size < 1000 else 50)
        ]
        self.anchors = [" ".join(self.draw.choices(WORDS, k=4)) for _ in range(500)]
        self.port = 0

    def page(self, host: int, number: int) -> bytes:
        """Returns the HTML of a page with links to pages of other hosts, to pages of its own host,
        and to one that robots.txt disallows."""
        draw = random.Random(host * self.pages + number)
        parts = [
            f"<!doctype html><meta charset=utf-8><title>Page {number} of {host}</title><h1>Page"
            f" {number}</h1>"
        ]
        for place in range(LINKS):
            target = host if place % 8 == 0 else draw.randrange(self.hosts)
            path = f"private/{number}" if place == 1 else f"p/{draw.randrange(self.pages)}"
            link = (
                f'<a href="http://{name_of(target)}:{self.port}/{path}">'
                f"{draw.choice(self.anchors)}</a>"
            )
            filler = draw.choice(self.fillers)
            if self.vary:  # sizes of pages vary between a tenth of the full size and the full size
                filler = filler[: len(filler) * (1 + (host + number) % 10) // 10]
            parts.append(f"<div><p>{filler}</p>{link}</div>")
        return "".join(parts).encode()

    def starts(self, host: int, moment: float) -> None:
        """Records that a request to the host arrived at `moment`."""
        self.asked[host] += 1
        self.now[host] += 1
        self.most[host] = max(self.most[host], self.now[host])
        if host in self.last:
            self.gap[host] = min(self.gap.get(host, 1e9), moment - self.last[host])
        self.last[host] = self.ticks[0]

    def figures(self) -> dict[str, Any]:
        """Returns figures of all hosts as a dictionary: the number of requests, the largest number
        at the same time at one host, the shortest interval between two requests to one host in
        seconds, and the number of requests for disallowed pages.
        """
        counts = {
            "asked": sum(self.asked.values()),
            "most_at_once": max(self.most.values(), default=0),
        }
        return {
            **counts,
            "least_gap_seconds": min(self.gap.values(), default=None),
            "private": self.private,
        }


class Asked(asyncio.Protocol):
    """The server's side of one connection from a client to one of the simulated hosts."""

    def __init__(self, web: Web, host: int) -> None:
        self.web, self.host, self.loop = web, host, asyncio.get_running_loop()
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("latin-1")
            web, host = self.web, self.host
            web.starts(host, self.loop.time())
            web.private += path.startswith("/private/")
            seconds = (
                web.seconds
                * web.draw.uniform(2 / 3, 4 / 3)
                * (SLOW_FACTOR if manner_of(host) == "slow" else 1.0)
            )
            self.loop.call_later(seconds, self.answer, path, web.asked[host])

    def answer(self, path: str, number: int) -> None:
        web, host = self.web, self.host
        web.now[host] -= 1
        status, kind, more = b"200 OK", b"text/html", b""
        if path == "/robots.txt":
            body, kind = ROBOTS, b"text/plain"
        elif manner_of(host) == "busy" and number % 3 == 0:
            status, body, more = (
                b"429 Too Many Requests",
                b"",
                b"retry-after: %d\r\n" % BUSY_SECONDS,
            )
        else:
            body = web.page(host, int(path.rpartition("/")[2] or 0))
        head = b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n%b\r\n" % (
            status,
            kind,
            len(body),
            more,
        )
        if not self.transport.is_closing():
            self.transport.write(head + body)


async def _serve(hosts: int, seconds: float, size_bytes: int, vary: bool, pages: int) -> None:
    web, loop, ended = (
        Web(hosts, seconds, size_bytes, vary, pages),
        asyncio.get_running_loop(),
        asyncio.Event(),
    )
    loop.add_signal_handler(signal.SIGTERM, ended.set)

    def tick() -> None:
        web.ticks.append(loop.time())
        loop.call_later(TICK_SECONDS, tick)

    tick()
    servers = []
    for host in range(hosts):
        if manner_of(host) != "dead":
            server = await loop.create_server(
                lambda h=host: Asked(web, h), address_of(host), web.port
            )
            web.port = web.port or server.sockets[0].getsockname()[1]
            servers.append(server)
    sys.stdout.write(f"{web.port}\n")
    sys.stdout.flush()
    parent = os.getppid()
    while (
        not ended.is_set() and os.getppid() == parent
    ):  # ends too if its parent process was killed
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 1.0)
    sys.stdout.write(json.dumps(web.figures()) + "\n")
    sys.stdout.flush()


@contextlib.contextmanager
def served(
    hosts: int,
    answer: float,
    size_bytes: int,
    told: dict[str, Any],
    pages: int = PAGES,
    vary: bool = False,
) -> Iterator[int]:
    """Context manager that serves a local web in a process of its own and yields its port; at the
    end, the figures of all hosts are put into `told`. `answer` is the mean response time in
    seconds; with `vary` the sizes of pages are between a tenth of `size_bytes` and all of it."""
    words = map(str, (hosts, answer, size_bytes, int(vary), pages))
    command = [sys.executable, "-m", "tests.benches.fetching.line_server", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=child.ROOT)
    try:
        assert process.stdout is not None  # asked for a pipe
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        told.update(json.loads(process.communicate()[0].strip().splitlines()[-1]))


if __name__ == "__main__":
    _hosts, _answer, _size, _vary, _pages = sys.argv[1:]
    asyncio.run(_serve(int(_hosts), float(_answer), int(_size), _vary == "1", int(_pages)))
