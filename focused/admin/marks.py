"""Views for marking a run's pages as on or off topic. The pages whose marks help the relevance
feedback most are shown first."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from focused.admin.runs import find
from focused.admin.topics import trail
from focused.models import TopicPage
from focused.services import marks

SHOWN = 40
WORDS = {"on": True, "off": False, "none": None}


@admin_view("topics/run/<int:pk>/marks/", "topic-marks", "focused.view_topic")
def listed(request: HttpRequest, pk: int) -> HttpResponse:
    """Lists the pages to mark, or with `?marked=1` those already marked, with the learning judge's
    score of each."""
    row = find(pk)
    marked = request.GET.get("marked") == "1"
    verdict = marks.shown(row, marked, SHOWN)
    context: dict[str, Any] = {
        "row": row,
        "run": row.run,
        "verdict": verdict,
        "marked": marked,
        "rows": verdict.rows,
        "on_topic": verdict.on_topic,
        "cut": row.pages > verdict.pages,
        "may_mark": request.user.has_perm("focused.change_topic"),
    }
    way = [*trail(row.topic), (f"{_('Run')} #{pk}", reverse("admin:topic-run", args=[pk]))]
    return page(
        request,
        "focused/marks.html",
        context,
        title=_("Marks"),
        item=f"topic:{row.topic_id}",
        trail=way,
    )


@post_view("topics/page/<int:pk>/mark/", "topic-mark", "focused.change_topic")
def mark(request: HttpRequest, pk: int) -> HttpResponse:
    """Stores the operator's mark of a page; answers in JSON if the list's script asked for it,
    otherwise redirects to the list."""
    one = TopicPage.objects.filter(pk=pk).first()
    word = request.POST.get("mark", "")
    if one is None or word not in WORDS:
        raise Http404(_("There is no such page."))
    if request.headers.get("X-Requested-With") == "fetch":
        try:
            marks.mark(one, WORDS[word])
        except ValueError as error:
            return JsonResponse({"problem": str(error)}, status=422)
        return JsonResponse({"page": pk, "mark": word})
    attempt(request, _("The mark is stored."), lambda: marks.mark(one, WORDS[word]))
    return back(request, "topic-marks", one.run_id)
