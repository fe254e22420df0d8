"""Scrapy's side of `bench fetch`: the same pages with Scrapy's own link extractor, texts extracted
by parsel, items written to JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.linkextractors import LinkExtractor

from crawlmgr.benches.beside_scrapy import scrapy_side


class FollowAll(scrapy.Spider):
    """Follows every link of the local web and yields address, title, text and links of each
    page."""

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


if __name__ == "__main__":
    scrapy_side(FollowAll, sys.argv[1], sys.argv[3])
