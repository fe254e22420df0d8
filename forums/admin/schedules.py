"""The forums' visits among all that recurs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django.contrib import admin
from django.db.models import Min
from django.http import HttpRequest
from django.utils.translation import gettext as _

from crawlmgr.admin import hours
from crawlmgr.admin.schedules import Entry
from crawlmgr.admin.tags import duration
from crawlmgr.admin.tree import address
from forums import reads
from forums.models import Board, Site
from forums.services import plans


def entries(request: HttpRequest, most: int) -> Sequence[Entry]:
    """Each forum with its next visit, those that come first; as its list says it."""
    if not request.user.has_perm("forums.view_site"):
        return ()
    boards = Board.objects.filter(enabled=True, next_visit__isnull=False).values("site_id")
    due = boards.annotate(at=Min("next_visit"), often=Min("interval_seconds")).order_by("at")[:most]
    first = {row["site_id"]: duration(row["often"]) for row in due}
    sites = Site.objects.filter(pk__in=list(first)).defer("structure", "settings")
    planned = set(Board.objects.filter(plans.planned_sites(), site_id__in=list(first)).values_list("site_id", flat=True))
    may = request.user.has_perm("crawlmgr.add_run")
    return [
        Entry(
            _("Forum"), row.site.name, address("admin:forum", row.site.pk),
            _("by plan") if row.site.pk in planned else _("every %(time)s") % {"time": first[row.site.pk]},
            row.due.at, row.due.until, row.site.paused, start=address("admin:forum-crawl", row.site.pk) if may else "",
        )
        for row in reads.with_freshness(list(sites), datetime.now(UTC))
    ]


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Site.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, address("admin:forum", pk), f"site:{pk}") if name is not None else None


def _zone(pk: int) -> str:
    return Site.objects.filter(pk=pk).values_list("timezone", flat=True).first() or "UTC"


admin.site.add_schedule(10, entries)
hours.TIMED["forum"] = hours.Timed(_timed, "forums.change_plan", _zone)
