"""Admin view of a thread with its posts."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import words
from crawlmgr.admin.views import admin_view, page
from forums import reads
from forums.models import Thread


@admin_view("forums/thread/<int:pk>/", "thread", "forums.view_thread")
def thread_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the posts of a thread in order, with times in the site's zone."""
    thread = (
        Thread.objects.select_related("site", "board")
        .defer("signature", "site__structure", "board__unfinished")
        .filter(pk=pk)
        .first()
    )
    if thread is None:
        raise Http404(_("There is no such thread."))
    context = {
        "thread": thread,
        "missing": [
            {"number": int(number), "url": url, "why": words.say(reason)}
            for number, (url, reason) in thread.missing.items()
        ],
        "slice": reads.posts(thread, request.GET.dict()),
        "zone": reads.zone(thread.site),
        "keep": "",
    }
    trail = [
        (_("Forums"), reverse("admin:forums")),
        (thread.site.name, reverse("admin:forum", args=[thread.site_id])),
        (thread.board.name, reverse("admin:board", args=[thread.board_id])),
    ]
    item = f"board:{thread.site_id}.{thread.board_id}"
    return page(request, "forums/thread.html", context, title=thread.title, item=item, trail=trail)
