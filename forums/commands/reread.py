"""`forum reread`: reads a forum's stored pages again with the current model, and corrects what was
stored."""

from __future__ import annotations

from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management import foreground
from crawlmgr.management.base import Result
from crawlmgr.models import Run
from forums.commands.crawl import no_site
from forums.models import Site
from forums.sites import rereads


def add_arguments(parser: Any) -> None:
    parser.add_argument("site", type=int, help="number of the site")


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    site = Site.objects.filter(pk=options["site"]).first()
    if site is None:
        raise no_site(options["site"])
    run = foreground.work(_begin(site), site.name)
    told = {name: int(run.result.get(name, 0)) for name in ("pages", "posts", "threads", "added")}
    document = {"run": run.pk, "state": run.state, "stopped_by": run.stopped_by, **told}
    changed = (
        f"{told['posts']} posts and {told['threads']} threads changed, {told['added']} posts added"
    )
    text = f"{told['pages']} stored pages read again: {changed}"
    return Result(document, text, missing=foreground.unfinished(run))


def _begin(site: Site) -> Run:
    return foreground.begun(
        lambda: rereads.start(site, now=SYSTEM.now(), start=False), "site", by_nodes=False
    )
