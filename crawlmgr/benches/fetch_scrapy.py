"""Scrapy's side of `bench fetch`: the same pages with Scrapy's own link extractor, text by parsel, items to JSON lines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class FollowAll(scrapy.Spider):
    """Follows every link of the local web and yields address, title, text and links of each page."""

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


def main(address: str, items: str) -> None:
    """Crawls and prints pages and CPU seconds."""
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
    crawler = process.create_crawler(FollowAll)
    process.crawl(crawler, address=address)
    began = time.process_time()
    process.start()
    cpu = time.process_time() - began
    sys.stdout.write(json.dumps({"pages": crawler.stats.get_value("item_scraped_count"), "cpu_seconds": cpu}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[3])
