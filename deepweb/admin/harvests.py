"""View of all harvests of all forms."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import exports
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.views import admin_view
from deepweb import reads
from deepweb.admin.harvest_table import TABLE


@admin_view("deepweb/harvests/", "harvests", "deepweb.view_harvest")
def harvest_list(request: HttpRequest) -> HttpResponseBase:
    """Lists every harvest, newest first."""
    context = {
        "downloads": exports.choices(["queries"]),
        "empty": _(
            "No form has been harvested yet. To start a harvest, choose “Harvest” beside a search"
            " form of a site."
        ),
        "steps": "deepweb/begin.html",
        "beside": True,
    }
    trail = [(_("Search sites"), reverse("admin:sources"))]
    return table_page(
        request,
        "desk/list.html",
        TABLE,
        reads.all_harvests(),
        context,
        title=_("Harvests"),
        item="harvests",
        trail=trail,
    )
