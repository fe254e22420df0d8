"""Adds search sites, with the actions on them, to the command palette of the web interface."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from deepweb.models import Source


def _sources(words: Sequence[str], most: int) -> Sequence[Item]:
    rows = Source.objects.order_by("name", "pk")
    for word in words:
        rows = rows.filter(Q(name__icontains=word) | Q(url__icontains=word))
    return [Item(*row) for row in rows.values_list("pk", "name", "url")[:most]]


SEE, SEE_RECORDS = "deepweb.view_source", "deepweb.view_record"
LOOK = ("look for forms", "find forms", "查找表单")
FILE = ("records", "csv")  # table and format of the exported file
EXPORT = ("export records of", "export records", "导出记录")
VERBS = (
    Verb(_("Find forms again"), LOOK, "crawlmgr.add_run", "admin:source-find", "refresh"),
    Verb(
        _("Records"),
        ("records of", "records", "记录"),
        SEE_RECORDS,
        "admin:records",
        "dataset",
        opens=True,
        query="site",
    ),
    Verb(
        _("Export records"),
        EXPORT,
        SEE_RECORDS,
        "admin:export",
        "download",
        opens=True,
        query="site",
        arguments=FILE,
    ),
)
KINDS.append(Kind(_("Search site"), "manage_search", SEE, "admin:source", _sources, VERBS))
