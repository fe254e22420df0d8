"""`bench focused`: compares a live topic crawl with Scrapy, which uses the same links and scoring,
in pages per CPU second."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.benches import beside_scrapy
from tests.benches.local_server import WORDS

DOCUMENTS = (" ".join(WORDS[:8]), " ".join(WORDS[4:12]))
DELTA, GAMMA, BETA = 0.5, 0.5, 0.8
"""Parameters of the strategy `shark` for Scrapy, as this program has them. Anchors replace the
words around links, which Scrapy's links do not contain."""
table = beside_scrapy.table


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--pages",
        type=int,
        default=400,
        help="pages fetched by each side in each round (default 400)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default 3)")
    parser.add_argument("--links", type=int, default=60, help="links on a page (default 60)")
    parser.add_argument(
        "--size", type=int, default=20_000, metavar="BYTES", help="size of a page (default 20000)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs this program and Scrapy alternately against one local server, in several rounds. Returns
    the measurements of both sides and the ratio of the median rates (pages per CPU second)."""
    sizes = {"pages": options["pages"], "links": options["links"], "size_bytes": options["size"]}
    return beside_scrapy.compare(ours, theirs, **sizes, rounds=options["rounds"])


def ours(address: str, pages: int, _items: str) -> dict[str, float]:
    """Crawls the local web at `address` for a topic as in production, in this process: fetching,
    archiving, scoring, storing and indexing. Returns the number of pages and the CPU seconds; exits
    with a message if fewer than `pages` pages were stored."""
    from django.core.management import call_command  # what Scrapy's process does not load

    from crawlmgr import engine
    from crawlmgr.clock import SYSTEM
    from focused.models import TopicRun
    from focused.topic import topics

    call_command("migrate", verbosity=0, interactive=False)
    now = SYSTEM.now()
    open_settings = {"delay_seconds": 0.0, "connections": 8, "allow_private": "127.0.0.1"}
    documents = [(str(n), text) for n, text in enumerate(DOCUMENTS)]
    topic = topics.add("bench", [address], documents=documents, now=now, settings=open_settings)
    # the pages have one set of words, and addresses that differ in their number: a trap elsewhere
    options = {"pages": pages, "scope": {"traps": False}}
    run = topics.crawl(topic, strategy="shark", options=options, now=now, start=False)
    began = time.process_time()
    engine.run_slice(run.pk, seconds=None)
    cpu = time.process_time() - began
    stored = TopicRun.objects.get(pk=run.pk).pages
    if stored < pages:
        sys.exit(f"only {stored} of {pages} pages were stored")
    return {"pages": stored, "cpu_seconds": cpu}


def theirs(address: str, _pages: int, items: str) -> dict[str, float]:
    """Crawls the same web with Scrapy, in this process: its link extractor and queue, with this
    program's tokenizer, similarity and formula of the strategy. Returns the same figures."""
    import scrapy  # what our process does not load
    from scrapy.linkextractors import LinkExtractor

    from focused.judge.relevance import Relevance, Topic

    class Shark(scrapy.Spider):
        """Scores pages by similarity to the topic; each link has the potential of the strategy
        `shark` as its priority."""

        name = "shark"

        def __init__(self, address: str = "", **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.start_urls = [address]
            self.extractor = LinkExtractor()
            self.topic = Relevance(Topic("bench", (address,), DOCUMENTS))

        def parse(self, response: Any) -> Iterator[Any]:
            text = " ".join(
                [
                    *response.xpath("//title/text()").getall(),
                    *response.xpath("//body//text()").getall(),
                ]
            )
            words = Counter(self.topic.tokenizer(text))
            self.topic.learn(words)
            similarity = self.topic.page(words)
            inherited = DELTA * (
                similarity if similarity > 0 else response.meta.get("inherited", 0.0)
            )
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
                    link.url,
                    self.parse,
                    priority=int(potential * 1e6),
                    meta={"inherited": inherited},
                )

    return beside_scrapy.scrapy_side(Shark, address, items)
