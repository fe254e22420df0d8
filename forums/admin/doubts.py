"""Admin views that dismiss a doubt, and read a forum's stored pages again."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import attempt, back, post_view
from crawlmgr.admin.views import number as whole
from forums.admin.structures import load
from forums.models import Doubt
from forums.services import doubts, rereads


@post_view("forums/site/<int:pk>/doubts/", "forum-doubt", "forums.change_site")
def settle(request: HttpRequest, pk: int) -> HttpResponse:
    """Dismisses a doubt, because the user says that the page is read correctly."""
    site, wanted = load(pk), whole(request.POST.get("doubt", "")) or 0
    if Doubt.objects.filter(pk=wanted, site=site).exists() and doubts.settle(
        wanted, datetime.now(UTC), request.user
    ):
        messages.success(request, _("Accepted as correct."))
    else:
        messages.info(request, _("This doubtful reading no longer exists."))
    return back(request, "forum", pk)


@post_view("forums/site/<int:pk>/reread/", "forum-reread", "crawlmgr.add_run")
def reread(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts reading the stored pages again with the current model; nothing is requested from the
    forum."""
    site, now = load(pk), datetime.now(UTC)
    attempt(
        request,
        _("The stored pages are being read again."),
        lambda: rereads.start(site, now=now, user=request.user),
    )
    return back(request, "forum-model", pk)
