"""The search site that each round of `bench soak` harvests."""

from __future__ import annotations

from urllib.parse import urlsplit

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from deepweb.models import Form
from deepweb.services import harvests, sources

QUERIES, DETAILS = 40, 160


def begin(url: str, number: int) -> int:
    """Finds the search form at `url` and queues a harvest of it, whose label ends with `number`;
    returns the run's id."""
    settings = {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0}
    sources.add([url], SYSTEM.now(), settings)
    engine.run_slice(sources.find([url], now=SYSTEM.now(), settings=settings, start=False).pk)
    form = (
        Form.objects.filter(source__url=url, searchable=True)
        .select_related("source", "cluster")
        .latest("confidence")
    )
    options = {"queries": QUERIES, "probes": 0, "details": DETAILS, "stop_rules": False}
    return int(
        harvests.start(
            [form], options, now=SYSTEM.now(), settings=settings, label=f"soak {number}"
        ).pk
    )
