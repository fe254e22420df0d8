"""Adds scheduled topic crawls to the page of schedules, with a button that starts one at once."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.tree import address
from crawlmgr.admin.views import attempt, back, post_view
from crawlmgr.schedule import desk
from focused.admin.topics import find
from focused.models import Topic
from focused.services import dispatch


@post_view("topics/<int:pk>/again/", "topic-again", "crawlmgr.add_run")
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a crawl of the topic at once, with the options of a scheduled run."""
    topic = find(pk)
    attempt(
        request,
        _("The crawl has started."),
        lambda: dispatch.again(topic, datetime.now(UTC), request.user),
    )
    return back(request, "topic", pk)


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Topic.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, address("admin:topic", pk), f"topic:{pk}") if name is not None else None


desk.TIMED["topic"] = desk.Timed(
    gettext_lazy("Topic"),
    "admin:topic",
    "focused.view_topic",
    ("admin:topic-again", "crawlmgr.add_run"),
    _timed,
    "focused.change_topic",
)
