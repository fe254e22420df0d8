"""`forum reread`: reads a forum's stored pages again with the current model, and corrects what was
stored."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database, foreground
from crawlmgr.management.base import Result, say
from crawlmgr.models import Run
from crawlmgr.services import runs
from forums.commands.site_numbers import no_site
from forums.models import Site
from forums.services import rereads

HELP = (
    "read a site's stored pages again from the archive and mend what was stored; no page is"
    " asked for"
)


def add_arguments(parser: Any) -> None:
    parser.add_argument("site", type=int, help="number of the site")


def run(options: dict[str, Any]) -> Result:
    database.ready()
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
    return Result(document, text)


def _begin(site: Site) -> Run:
    try:
        return rereads.start(site, now=SYSTEM.now(), start=False)
    except runs.Busy as busy:
        if busy.run.kind != rereads.KIND:
            raise CommandError(
                f"Run {busy.run.pk} is at work at {site.name}; stop it first or wait for it."
            ) from None
        say(f"Run {busy.run.pk} was begun before; it goes on where it stood.")
        return (
            runs.resume(busy.run.pk, SYSTEM.now(), start=False)
            if busy.run.state == "paused"
            else busy.run
        )
