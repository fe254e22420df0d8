"""Topic crawls on the page of schedules."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _

from crawlmgr.admin import hours
from crawlmgr.admin.schedules import Entry
from crawlmgr.admin.tags import duration
from crawlmgr.admin.tree import address
from focused.models import Topic


def entries(request: HttpRequest, most: int) -> Sequence[Entry]:
    """A schedule entry for each topic that is crawled regularly."""
    if not request.user.has_perm("focused.view_topic"):
        return ()
    rows = Topic.objects.filter(interval_seconds__isnull=False, next_run__isnull=False).order_by("next_run")
    return [
        Entry(_("Topic"), name, address("admin:topic", pk), _("every %(time)s") % {"time": duration(every)}, at)
        for pk, name, every, at in rows.values_list("pk", "name", "interval_seconds", "next_run")[:most]
    ]


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Topic.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, address("admin:topic", pk), f"topic:{pk}") if name is not None else None


admin.site.add_schedule(20, entries)
hours.TIMED["topic"] = hours.Timed(_timed, "focused.change_topic")
