"""Benchmark of this crawler against Scrapy: the process of each side runs in turn, several rounds,
against one local web. Also contains the main function of Scrapy's processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table

if TYPE_CHECKING:
    import scrapy

ROOT = Path(__file__).resolve().parents[2]


class SideFailed(Exception):
    """The process of one side failed; the text is the last line of its error output."""


def compare(
    ours: str, theirs: str, *, pages: int, links: int, size_bytes: int, rounds: int
) -> dict[str, Any]:
    """Runs the modules `ours` and `theirs` in turn, `rounds` times, each in its own process, and
    returns their results and the ratio of the median rates. `pages`, `links` and `size_bytes` are
    those of the local web (see `local_server.make_page`).

    A module gets an address, a number of pages and a file for items as arguments, and prints one
    line of JSON with `pages` and `cpu_seconds`. The rates are in pages per CPU second."""
    command = [
        sys.executable,
        "-m",
        "crawlmgr.benches.local_server",
        str(pages),
        str(links),
        str(size_bytes),
    ]
    # our own module
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603
    found: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    try:
        assert server.stdout is not None  # noqa: S101 - asked for a pipe
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/page/0.html"
        for number in range(rounds):
            for module, results in zip((ours, theirs), found, strict=True):
                results.append(side(module, address, str(pages)))
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


def side(module: str, *words: str, database: str = "") -> dict[str, Any]:
    """Runs the module of one compared crawler in a process, with the arguments `words` and a file
    for items. Returns the JSON object that it prints, with the added `rate` in pages per CPU
    second. `database` is the address of this program's database; "" for a new SQLite file. Raises
    SideFailed if the process fails."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CRAWLMGR_DATA": folder, "PYTHONPATH": str(ROOT)}
        environment.pop("DATABASE_URL", None)
        environment |= {"DATABASE_URL": database} if database else {}
        command = [sys.executable, "-m", module, *words, str(Path(folder) / "items.jsonl")]
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False
        )
    if done.returncode:
        raise SideFailed(f"{module} failed: {(done.stderr.strip() or '?').splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
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


def scrapy_side(spider: type[scrapy.Spider], address: str, items: str) -> None:
    """Crawls with a spider as Scrapy would run it, writes its items to the file `items`, and prints
    the number of items and the CPU seconds as JSON."""
    from scrapy.crawler import CrawlerProcess  # Scrapy is installed for the benchmarks only

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
    sys.stdout.write(
        json.dumps({"pages": crawler.stats.get_value("item_scraped_count"), "cpu_seconds": cpu})
        + "\n"
    )
