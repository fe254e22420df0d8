"""Adds the figures of topic crawls to the row of figures at the top of the home page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.dashboard import DAY, Tile, remembered
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import number, share
from crawlmgr.runs import run_reads
from focused import reads
from focused.models import Topic


def _sums(now: datetime) -> tuple[int, int]:
    """Returns the numbers of pages and of relevant pages that all topic crawls fetched within the
    last day."""
    found = [reads.fetched_since(run, now - DAY) for run in run_reads.lately("topic", now - DAY)]
    return sum(pages for pages, _relevant in found), sum(relevant for _pages, relevant in found)


def tiles(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns the figure of relevant pages found by the last day's crawls; () if there is no topic
    or the user may not see topics."""
    if not request.user.has_perm("focused.view_topic") or not Topic.objects.exists():
        return ()
    fetched, items = remembered("topics", lambda: _sums(now))
    note = (
        _("%(share)s of %(pages)s pages")
        % {
            "share": share(items / fetched),
            "pages": number(fetched),
        }
        if fetched
        else ""
    )
    return (Tile(_("Pages on topic in 24 h"), number(items), reverse("admin:topics"), note),)


desk_site.add_tile(20, tiles)
