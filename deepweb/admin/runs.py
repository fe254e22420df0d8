"""Additions to the general page of a run: the harvests of the run, and a link to its site."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import removals as removal_views
from crawlmgr.admin import runs
from crawlmgr.models import Run
from deepweb.admin import codes
from deepweb.models import Harvest, Source
from deepweb.services import removals


def harvest_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the harvests of a run, one per form, as context for the template of the run's
    page."""
    rows = (
        Harvest.objects.filter(run=run)
        .select_related("form__source")
        .defer("state", "form__words", "form__described")
    )
    return {"template": "deepweb/run_harvests.html", "harvests": list(rows.order_by("position"))}


def find_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns a link as context for the page of a run that searches for forms: to the site it
    crawls, or to the list of sites if it crawls several or the site was deleted."""
    source = Source.objects.only("id").filter(pk=run.target).first()
    if source is None:
        return {"link": reverse("admin:sources"), "link_text": _("To the search sites")}
    return {"link": reverse("admin:source", args=[source.pk]), "link_text": _("To the forms found")}


for _kind, _detail in zip(codes.KINDS, (find_detail, harvest_detail), strict=True):
    runs.details[_kind] = _detail
runs.details[removals.KIND] = removal_views.detail
