"""Additions to a run's page for forums: its visits, board by board."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import tables as removal_views
from crawlmgr.models import Run
from crawlmgr.runs import desk
from forums import reads
from forums.models import Site
from forums.services import removals


def visit_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the visits of a run and the link to its forum."""
    found = reads.visits_of_run(run)
    site = Site.objects.only("id", "name").filter(pk=run.target).first()
    detail: dict[str, Any] = {
        "template": "forums/run_visits.html",
        "visits": found,
        "done": sum(1 for visit in found if visit.finished),
    }
    if site is not None:
        detail.update(link=reverse("admin:forum", args=[site.pk]), link_text=_("To the forum"))
    return detail


def discovery_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the link to the boards that an inspection found."""
    return {
        "link": reverse("admin:forum-found", args=[run.pk]),
        "link_text": _("To the boards found"),
    }


desk.details["forum"] = visit_detail
desk.details[removals.KIND] = removal_views.deletion_detail
desk.details["forum-discovery"] = discovery_detail
