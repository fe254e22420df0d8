"""Scrapy's part of `bench focused`, run as a process of its own: Scrapy's link extractor and queue,
with this program's tokenizer, similarity and formula of the strategy.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.linkextractors import LinkExtractor

from crawlmgr.benches.beside_scrapy import scrapy_side
from crawlmgr.benches.local_server import WORDS
from focused.relevance import Relevance
from focused.topics import Topic

DELTA, GAMMA, BETA = 0.5, 0.5, 0.8
"""Parameters of the strategy `shark`, as in this program's part. Anchors replace the words around
links, which Scrapy's links do not contain."""


class Shark(scrapy.Spider):
    """Scrapy spider that scores pages by similarity to the topic, and uses the potential of the
    strategy `shark` as each link's priority.
    """

    name = "shark"

    def __init__(self, address: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [address]
        self.extractor = LinkExtractor()
        self.topic = Relevance(
            Topic("bench", (address,), (" ".join(WORDS[:8]), " ".join(WORDS[4:12])))
        )

    def parse(self, response: Any) -> Iterator[Any]:
        text = " ".join(
            [*response.xpath("//title/text()").getall(), *response.xpath("//body//text()").getall()]
        )
        words = Counter(self.topic.tokenizer(text))
        self.topic.learn(words)
        similarity = self.topic.page(words)
        inherited = DELTA * (similarity if similarity > 0 else response.meta.get("inherited", 0.0))
        links = self.extractor.extract_links(response)
        yield {
            "url": response.url,
            "text": text,
            "similarity": similarity,
            "links": [(link.url, link.text) for link in links],
        }
        for link in links:
            anchor = self.topic.text(self.topic.tokenizer(link.text))
            neighbourhood = BETA * anchor + (1 - BETA) * (1.0 if anchor else 0.0)
            potential = GAMMA * inherited + (1 - GAMMA) * neighbourhood
            yield scrapy.Request(
                link.url, self.parse, priority=int(potential * 1e6), meta={"inherited": inherited}
            )


if __name__ == "__main__":
    scrapy_side(Shark, sys.argv[1], sys.argv[3])
