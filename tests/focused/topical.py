"""A local web with pages on and off topic: a seeded random graph of pages, some of them redirected,
missing or duplicated."""

from __future__ import annotations

import random
import threading
import time
import zlib
from types import TracebackType

from tests.site.server import LocalSite, Reply, Request, Route

ON = (
    "crawler",
    "frontier",
    "harvest",
    "archive",
    "seed",
    "anchor",
    "robots",
    "politeness",
    "topical",
    "fetch",
)
OFF = (
    "garden",
    "tomato",
    "recipe",
    "soup",
    "kettle",
    "blanket",
    "window",
    "carpet",
    "violin",
    "teapot",
)
DOCUMENTS = (
    (
        "one.txt",
        (
            "A topical crawler keeps a frontier of seed addresses and obeys robots with politeness"
            " while it fetches."
        ),
    ),
    (
        "two.txt",
        (
            "The harvest of a crawler depends on anchor words: fetch, archive, frontier, topical"
            " seeds."
        ),
    ),
)


class TopicalWeb:
    """`pages` numbered pages, about a third of them on topic; these link to each other more often
    than to others.

    If `stops_at` is set, pages are not served from that number of requests on until `go` is set, so
    that a test can act before the crawl ends.
    """

    def __init__(
        self, pages: int = 60, links: int = 6, seed: int = 3, delay_seconds: float = 0.0
    ) -> None:
        draw = random.Random(seed)
        self.delay_seconds = delay_seconds
        self.stops_at: int | None = None
        self.go = threading.Event()
        self.on = {n for n in range(pages) if draw.random() < 0.35}
        self.links = {n: self._targets(n, pages, links, draw) for n in range(pages)}
        self.texts = {
            n: " ".join(draw.choices(ON if n in self.on else OFF, k=30)) + f" number{n}"
            for n in range(pages)
        }
        self.missing = {n for n in range(5, pages) if n % 19 == 0}
        self.moved = {n for n in range(5, pages) if n % 17 == 0} - self.missing
        self.site = LocalSite()
        self.site.add(
            "/robots.txt", Reply(b"User-agent: *\nDisallow: /secret/\n", content_type="text/plain")
        )
        for n in range(pages):
            self.site.add(self.path(n), self._answer(n))
            self.site.add(f"/now/{n}.html", self._page(n))
        self.site.add("/secret/1.html", "never")

    def __enter__(self) -> TopicalWeb:
        self.site.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.go.set()
        self.site.__exit__(kind, error, trace)

    def path(self, n: int) -> str:
        return f"/page/{n}.html"

    def url(self, n: int) -> str:
        return self.site.url(self.path(n))

    def asked(self) -> list[str]:
        """The paths of the pages that were requested, in order."""
        return [path for path in self.site.paths() if path.startswith("/page/")]

    def html(self, n: int) -> str:
        words = ON if n in self.on else OFF
        links = "".join(
            f'<p>{words[m % 10]} <a href="{self.path(m)}">{(ON if m in self.on else OFF)[m % 10]}'
            f" {m}</a></p>"
            for m in self.links[n]
        )
        more = '<a href="/secret/1.html">secret</a>' if n == 1 else ""
        return (
            "<html><head><title>Page"
            f" {n}</title></head><body><p>{self.texts[n]}</p>{links}{more}</body></html>"
        )

    def _targets(self, n: int, pages: int, links: int, draw: random.Random) -> list[int]:
        near = sorted(self.on if n in self.on else set(range(pages)) - self.on)
        chosen = {(n + 1) % pages, *draw.choices(near, k=links - 2), draw.randrange(pages)}
        return sorted(chosen - {n})

    def _page(self, n: int) -> Route:
        def answer(request: Request) -> Reply:
            time.sleep(self.delay_seconds)
            body = self.html(n).encode()
            tag = f'"{zlib.crc32(body)}"'
            if request.headers.get("if-none-match") == tag:
                return Reply(b"", 304, {"ETag": tag})
            return Reply(body, headers={"ETag": tag})

        return answer

    def _answer(self, n: int) -> Route:
        page = self._page(n)

        def answer(request: Request) -> Reply | str | bytes | None:
            if self.stops_at is not None and len(self.asked()) >= self.stops_at:
                self.go.wait()
            if n in self.missing:
                return Reply(b"gone", 404)
            if n in self.moved:
                return Reply(b"", 302, {"Location": f"/now/{n}.html"})
            return page(request)

        return answer
