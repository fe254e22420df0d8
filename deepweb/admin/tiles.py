"""Adds the figures of the deep web to the row of figures at the top of the home page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import number
from crawlmgr.admin.tiles import DAY, Tile, remembered
from crawlmgr.reads import runs
from deepweb.models import Query, QueryKind, Source
from deepweb.services import harvests


def _sums(now: datetime) -> dict[str, int]:
    """Returns the numbers of new records ("new") and of queries ("queries") of the last 24 hours.
    Nonsense queries are not counted, as in the figures of harvests."""
    active = [run.pk for run in runs.lately(harvests.KIND, now - DAY)]
    asked = Query.objects.filter(harvest__run_id__in=active, ended_at__gte=now - DAY)
    return asked.aggregate(
        new=Sum("new", default=0), queries=Count("id", filter=~Q(kind=QueryKind.NONSENSE))
    )


def tiles(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns one figure: the number of new records of the last 24 hours. Empty if there is no
    search site or the user may not see them."""
    if not request.user.has_perm("deepweb.view_source") or not Source.objects.exists():
        return ()
    found = remembered("records", lambda: _sums(now))
    note = ngettext("%(count)s query", "%(count)s queries", found["queries"]) % {
        "count": number(found["queries"])
    }
    return (Tile(_("New records in 24 h"), number(found["new"]), reverse("admin:records"), note),)


desk_site.add_tile(30, tiles)
