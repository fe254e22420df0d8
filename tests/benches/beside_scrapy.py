"""Benchmark of this crawler against Scrapy: the process of each side runs in turn, several rounds,
against one local web. Also contains what the processes of Scrapy have in common.

Scrapy is imported in functions only, and so is the engine in the modules that measure both: the
process of neither side loads the other one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from tests.benches import child

if TYPE_CHECKING:
    import scrapy

Half = Callable[..., Any]


def compare(
    ours: Half, theirs: Half, *, pages: int, links: int, size_bytes: int, rounds: int
) -> dict[str, Any]:
    """Runs the functions `ours` and `theirs` in turn, `rounds` times, each in its own process, and
    returns their results and the ratio of the median rates. `pages`, `links` and `size_bytes` are
    those of the local web (see `local_server.make_page`).

    A function gets an address, a number of pages and a file for items, and returns `pages` and
    `cpu_seconds`. The rates are in pages per CPU second."""
    module = "tests.benches.local_server"
    command = [sys.executable, "-m", module, str(pages), str(links), str(size_bytes)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=child.ROOT)
    found: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    try:
        assert server.stdout is not None  # asked for a pipe
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/page/0.html"
        for number in range(rounds):
            found[0].append(side(ours, address, pages))
            found[1].append(side(theirs, address, pages, bare=True))
            last = [results[-1]["rate"] for results in found]
            say(
                f"round {number + 1} of {rounds}: {last[0]:.0f} and {last[1]:.0f} pages per"
                " CPU-second"
            )
    finally:
        server.terminate()
        server.wait()
    mine, other = (median(result["rate"] for result in results) for results in found)
    rates = {"ours_per_cpu_second": mine, "scrapy_per_cpu_second": other, "ratio": mine / other}
    return {"pages": pages, "ours": found[0], "scrapy": found[1], **rates}


def side(half: Half, *arguments: Any, database: str = "", bare: bool = False) -> dict[str, Any]:
    """Runs the function of one compared crawler in a process, with the given arguments and a file
    for items. Returns its result with the added `rate` in pages per CPU second. `database` is the
    address of this program's database; "" for a new SQLite file. A `bare` process does not set
    Django up. Raises CommandError if the process fails."""
    with tempfile.TemporaryDirectory() as folder:
        more = {"DATABASE_URL": database} if database else {}
        environment = child.environment(folder, **more)
        items = str(Path(folder) / "items.jsonl")
        result: dict[str, Any] = child.call(
            half, *arguments, items, environment=environment, bare=bare
        )
    result["rate"] = result["pages"] / result["cpu_seconds"]
    return result


def table(result: Mapping[str, Any]) -> str:
    """Formats the rates of both sides in each round, and the ratio of the medians, as a text
    table."""
    both = zip(result["ours"], result["scrapy"], strict=True)
    rows = [(i + 1, round(a["rate"], 1), round(b["rate"], 1)) for i, (a, b) in enumerate(both)]
    return (
        text_table(("round", "ours", "Scrapy"), rows)
        + f"\nratio of the medians: {result['ratio']:.2f}"
    )


def following_spider() -> type[scrapy.Spider]:
    """Returns a spider that follows every link of the local web, found by Scrapy's own link
    extractor, and yields address, title, text (by parsel) and links of each page."""
    import scrapy
    from scrapy.linkextractors import LinkExtractor

    class FollowAll(scrapy.Spider):
        name = "follow"

        def __init__(self, address: str = "", **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.start_urls = [address]
            self.extractor = LinkExtractor()
            self.pages = 0

        def parse(self, response: Any) -> Iterator[Any]:
            links = self.extractor.extract_links(response)
            self.pages += 1
            yield {
                "url": response.url,
                "title": response.xpath("//title/text()").get(),
                "text": " ".join(response.xpath("//body//text()").getall()),
                "links": [(link.url, link.text) for link in links],
            }
            for link in links:
                yield scrapy.Request(link.url, callback=self.parse)

    return FollowAll


def scrapy_side(spider: type[scrapy.Spider], address: str, items: str) -> dict[str, float]:
    """Crawls with a spider as Scrapy would run it, writes its items as JSON lines to the file
    `items`, and returns the number of items and the CPU seconds."""
    from scrapy.crawler import CrawlerProcess

    process = CrawlerProcess(
        settings={
            "LOG_LEVEL": "ERROR",
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {items: {"format": "jsonlines"}},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
        }
    )
    crawler = process.create_crawler(spider)
    process.crawl(crawler, address=address)
    began = time.process_time()
    process.start()
    cpu = time.process_time() - began
    return {"pages": crawler.stats.get_value("item_scraped_count"), "cpu_seconds": cpu}
