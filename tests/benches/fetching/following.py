"""The crawler of this program that benchmarks run in the engine as in production."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crawlmgr import engine
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Run, Url
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from crawlmgr.web.pages.html import PageScan, scan
from crawlmgr.web.url import canonical


class FollowAll:
    """Crawler that extracts links and text of each page, and follows the links of the page's host
    that the run has not seen."""

    kind = "bench"
    pages_together = 16
    paces_new_hosts = True

    def settings(self, run: Run) -> CrawlSettings:
        return CrawlSettings.from_mapping(run.parameters)

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        self.seen = set(run.parameters["seeds"])
        return [NewUrl(seed) for seed in run.parameters["seeds"]]

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url)

    def read(self, run: Run, item: Url, response: FetchResponse) -> PageScan:
        return scan(response.text, response.url)

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: PageScan, now: datetime
    ) -> engine.Stored:
        fresh: list[NewUrl] = []
        for link in reading.links:
            url = canonical(link.url)
            if url not in self.seen:
                self.seen.add(url)
                fresh.append(NewUrl(url, anchor=link.anchor, depth=item.depth + 1))
        return engine.Stored(links=fresh, title=reading.title, relevance=float(bool(reading.text)))

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> engine.Stored:
        return engine.Stored()

    def idle(self, run: Run, now: datetime) -> str:
        return "frontier_empty"

    def ended(self, run: Run, state: str, now: datetime) -> None:
        return
