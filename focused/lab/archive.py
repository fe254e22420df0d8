"""WARC files as the source of pages of a crawl: read into memory once, with redirects followed and
canonical URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from crawlmgr.web.url import UrlError, absolute, canonical
from crawlmgr.web.warc import PAGE_BYTES, Reading, WarcRecord
from focused.pages import Content
from focused.run.loop import Outside

MAX_REDIRECTS = 5
REDIRECTS = frozenset((301, 302, 303, 307, 308))


class Archive:
    """Holds the pages of WARC, ARC or WACZ files. If several records have the same URL, the last
    page counts. A page is parsed when first requested, and cached. `missing` tells line by line
    what of the files could not be read.

    Only HTML responses with status 200 are pages; other responses count as failed fetches. Links to
    URLs of which the archive has no record are removed from the pages, so that strategies choose
    only among recorded URLs. `parse` converts body, content type and URL to a page; `progress` is
    called with the number of records read, every 500 records of a file.
    """

    def __init__(
        self,
        files: Iterable[Path],
        parse: Callable[[bytes, str, str], Content],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._parse = parse
        self._bodies: dict[str, tuple[bytes, str]] = {}
        self._redirects: dict[str, str] = {}
        self._failed: set[str] = set()
        self._parsed: dict[str, Content] = {}
        self.missing: list[str] = []
        for path in files:
            reading = Reading(path)
            for number, record in enumerate(reading, start=1):
                if record.type == "response":
                    self._read(path, record)
                if progress is not None and number % 500 == 0:
                    progress(number)
            self.missing += [f"{path.name}, {one.line()}" for one in reading.skipped]

    def __len__(self) -> int:
        return len(self._bodies)

    def __contains__(self, url: str) -> bool:
        return self.resolve(url) in self._bodies

    def urls(self) -> list[str]:
        """Returns the URLs of all pages, in the order of the files."""
        return list(self._bodies)

    def resolve(self, url: str) -> str:
        """Returns the URL at the end of the recorded redirects; the URL itself if there are
        none."""
        for _ in range(MAX_REDIRECTS):
            if url in self._bodies or url not in self._redirects:
                break
            url = self._redirects[url]
        return url

    def get(self, url: str) -> Content | None:
        """Returns the page of a canonical URL, under the URL at the end of its redirects; None if
        the response was not a page. Raises Outside if the archive has no record of the URL.
        """
        final = self.resolve(url)
        if final not in self._bodies:
            if final in self._failed:
                return None
            raise Outside(url)
        if final not in self._parsed:
            body, content_type = self._bodies[final]
            page = self._parse(body, content_type, final)
            # The parsed page replaces the body, which takes much memory in a large archive.
            self._bodies[final] = (b"", content_type)
            self._parsed[final] = replace(
                page, links=tuple(link for link in page.links if self._holds(link.url))
            )
        return self._parsed[final]

    def _holds(self, url: str) -> bool:
        final = self.resolve(url)
        return final in self._bodies or final in self._failed

    def _read(self, path: Path, record: WarcRecord) -> None:
        """Takes a response, and notes what of it cannot be read."""
        trouble = record.problem
        if record.bytes_left_out:
            trouble = f"what is beyond {PAGE_BYTES} bytes is left out"
        if trouble:
            self.missing.append(f"{path.name}, byte {record.offset}: {record.url}: {trouble}")
        status = record.status if record.payload or not trouble else 0
        self._take(record.url, status, dict(record.headers), record.payload)

    def _take(self, raw_url: str, status: int, headers: dict[str, str], payload: bytes) -> None:
        try:
            url = canonical(raw_url)
        except UrlError:
            return
        lower = {name.lower(): value for name, value in headers.items()}
        content_type = lower.get("content-type", "")
        if status in REDIRECTS:
            target = absolute(lower.get("location", ""), url)
            if target is not None:
                self._redirects[url] = canonical(target)
        elif status == 200 and (not content_type or "html" in content_type.lower()):
            self._bodies[url] = (payload, content_type)
        else:
            self._failed.add(url)
