"""This program's side of `bench fetch`: the engine as in production, with a crawler that follows
every link of its host."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.conf import settings as django_settings  # noqa: E402 - Django has to be set up first
from django.core.management import call_command  # noqa: E402

from crawlmgr import engine  # noqa: E402
from crawlmgr.clock import SYSTEM  # noqa: E402
from crawlmgr.conf import CrawlSettings  # noqa: E402
from crawlmgr.models import Page, Run, Url  # noqa: E402
from crawlmgr.services import runs  # noqa: E402
from crawlmgr.services.frontier import NewUrl  # noqa: E402
from crawlmgr.web.exchange import FetchRequest, FetchResponse  # noqa: E402
from crawlmgr.web.html import PageScan, scan  # noqa: E402
from crawlmgr.web.url import canonical  # noqa: E402


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


def main(address: str, pages: int) -> None:
    """Crawls all pages of the local web and prints the number of pages and the CPU seconds as
    JSON."""
    call_command("migrate", verbosity=0, interactive=False)
    django_settings.CRAWLERS = {"bench": "crawlmgr.benches.fetch_ours.FollowAll"}
    parameters = {
        "delay_seconds": 0.0,
        "connections": 8,
        "allow_private": "127.0.0.1",
        "seeds": [address],
    }
    run = runs.create("bench", address, parameters=parameters, now=SYSTEM.now(), start=False)
    began = time.process_time()
    engine.run_slice(run.pk, seconds=None)
    cpu = time.process_time() - began
    stored = Page.objects.filter(run=run, status=200).count()
    if stored < pages:
        sys.exit(f"only {stored} of {pages} pages were stored")
    sys.stdout.write(json.dumps({"pages": stored, "cpu_seconds": cpu}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
