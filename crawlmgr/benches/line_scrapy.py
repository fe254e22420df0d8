"""Scrapy's side of `bench line`: crawls the same pages as `line_ours`, with the same limit of
requests in flight. Follows every link until a number of pages is fetched."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

from crawlmgr.benches.fetch_scrapy import FollowAll
from crawlmgr.benches.line_server import name_of, resolved

TOLD: dict[str, float] = {}


class Names(CachingThreadedResolver):
    """Resolver of host names for Scrapy that knows the names of the benchmark's hosts."""

    def getHostByName(self, name: str, timeout: Any = None) -> Any:
        return defer.succeed(resolved(name))


class ManyHosts(FollowAll):
    """Spider that follows every link of all hosts, up to a number of pages."""

    def __init__(self, port: str = "", hosts: str = "", wanted: str = "", **kwargs: Any) -> None:
        super().__init__(address="", **kwargs)
        self.start_urls = [f"http://{name_of(host)}:{port}/p/0" for host in range(int(hosts))]
        self.wanted = int(wanted)
        self.began, self.cpu = time.monotonic(), time.process_time()

    def parse(self, response: Any) -> Iterator[Any]:
        yield from super().parse(response)
        if self.pages >= self.wanted:
            if not TOLD:
                seconds, cpu = time.monotonic() - self.began, time.process_time() - self.cpu
                TOLD.update({"pages": self.pages, "seconds": seconds, "cpu_seconds": cpu})
            raise CloseSpider("enough")


def main(
    port: str, hosts: str, pages: str, in_flight: str, delay: str, _workers: str, items: str
) -> None:
    """Crawls with Scrapy, configured for many hosts, and prints the same measurements as
    `line_ours`. The parameters are the command-line arguments; items are written to the file
    `items`."""
    process = CrawlerProcess(
        settings={
            "LOG_LEVEL": "CRITICAL",
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {items: {"format": "jsonlines"}},
            "CONCURRENT_REQUESTS": int(in_flight),
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": float(delay),
            "DNS_RESOLVER": f"{Names.__module__}.Names",
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        }
    )
    process.crawl(process.create_crawler(ManyHosts), port=port, hosts=hosts, wanted=pages)
    process.start()
    if not TOLD:
        sys.exit("Scrapy ended early")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({**TOLD, "peak_bytes": peak}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:8])
