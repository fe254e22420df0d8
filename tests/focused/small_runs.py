"""Runs of a topic of two words over a small local site."""

from __future__ import annotations

from typing import Any

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Run, RunState
from focused.models import Topic
from focused.topic import topics
from tests.site.server import LocalSite


def crawled(
    site: LocalSite, seed: str = "/", strategy: str = "breadth_first", **options: Any
) -> Run:
    """Crawls a site from the path `seed` to the end of the run, with these options."""
    topic = topics.add(
        "t",
        [site.url(seed)],
        keywords={"lantern": 1.0, "harbour": 1.0},
        now=SYSTEM.now(),
        settings={"allow_private": site.authority, "delay_seconds": 0.0},
    )
    run = topics.crawl(
        Topic.objects.get(pk=topic.pk),
        strategy=strategy,
        options=options,
        now=SYSTEM.now(),
        start=False,
    )
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run
