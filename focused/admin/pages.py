"""Pages of runs: listed, searched by their words, and each with the way to it and why it came when it came."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import words
from crawlmgr.admin.rooms import number, page, room
from crawlmgr.reads.paging import Slice
from focused import reads
from focused.admin import charts
from focused.admin.runs import find as find_run
from focused.admin.topics import find as find_topic
from focused.admin.topics import trail
from focused.models import TopicPage
from focused.relevance import Relevance
from focused.services import search, sessions, snippets
from focused.topics import Topic

SIZE = 25


def _number(request: HttpRequest) -> int:
    return number(request.GET.get("page", ""), 99_999) or 1


@room("topics/run/<int:pk>/pages/", "topic-pages", "focused.view_topic")
def run_pages(request: HttpRequest, pk: int) -> HttpResponse:
    """A run's pages: the newest, the most relevant, or those that fit a search; `url` looks one address up."""
    row = find_run(pk)
    asked = request.GET.get("url", "").strip()
    fate = None
    if asked:
        try:
            fate = reads.fate(row, asked)
        except ValueError as error:
            messages.error(request, str(error))
    user_words = row.definition["user_words"]
    context = {"row": row, "run": row.run, "topic": row.topic, "asked": asked, "fate": fate, "user_words": user_words}
    return _listed(request, context, [pk], reverse("admin:topic-pages", args=[pk]), f"{_('Run')} #{pk}")


@room("topics/<int:pk>/search/", "topic-search", "focused.view_topic")
def topic_search(request: HttpRequest, pk: int) -> HttpResponse:
    """Search over the pages of all runs of a topic."""
    topic = find_topic(pk)
    context = {"row": None, "run": None, "topic": topic, "asked": "", "fate": None, "user_words": topic.user_words}
    return _listed(request, context, [], reverse("admin:topic-search", args=[pk]), _("Search"))


def _listed(request: HttpRequest, context: dict[str, Any], run_ids: list[int], address: str, title: str) -> HttpResponse:
    text, number = request.GET.get("q", "").strip()[:300], _number(request)
    best = request.GET.get("by") == "best"
    total, cut, slice_ = None, False, Slice([])
    if text:
        query = search.read_query(text, context["user_words"])
        topic_pk = None if run_ids else context["topic"].pk
        hits = search.find(query, run_ids, topic=topic_pk, start=(number - 1) * SIZE, limit=SIZE)
        total, cut, rows = hits.total, hits.cut, reads.pages_by_id(hits.pages)
        for one, snippet in zip(rows, snippets.around(rows, query.words), strict=True):
            one.snippet = snippet
        more = number * SIZE < hits.total
    elif best and context["row"] is not None:
        rows = reads.best_pages(run_ids[0], (number - 1) * SIZE, SIZE + 1)
        rows, more = rows[:SIZE], len(rows) > SIZE
    elif context["row"] is not None:
        slice_ = reads.newest_pages(run_ids[0], request.GET.dict())
        rows, more = slice_.rows, False
    else:
        rows, more = [], False
    kept = {"q": text, "by": "best" if best and not text else ""}
    keep = urlencode({name: value for name, value in kept.items() if value})
    topic = context["topic"]
    context.update(
        {
            "q": text,
            "total": total,
            "cut": cut,
            "rows": rows,
            "slice": slice_,
            "keep": f"{keep}&" if keep else "",
            "back_page": f"?{keep}&page={number - 1}" if number > 1 else "",
            "next_page": f"?{keep}&page={number + 1}" if more else "",
            "best": best,
            "address": address,
        }
    )
    way = trail(topic)
    if context["row"] is not None:
        way.append((title, reverse("admin:topic-run", args=[context["row"].pk])))
        title = _("Pages")
    return page(request, "focused/pages.html", context, title=title, item=f"topic:{topic.pk}", trail=way)


@room("topics/page/<int:pk>/", "topic-page", "focused.view_topic")
def page_why(request: HttpRequest, pk: int) -> HttpResponse:
    """One page of a run: the way from a seed, the parts of its priority, the words of its score."""
    one = TopicPage.objects.filter(pk=pk).first()
    row = reads.topic_run(one.run_id) if one is not None else None
    if one is None or row is None:
        raise Http404(_("There is no such page."))
    relevance = Relevance(Topic.from_json(row.definition))
    parts = [(part.word, round(part.share, 4)) for part in relevance.explain(Counter(sessions.words_of(one)))]
    context = {
        "one": one,
        "row": row,
        "way": reads.way(one),
        "parts": sorted(one.why.get("parts", {}).items()),
        "queue": one.why.get("queue", ""),
        "rule": words.say(one.detail) if one.detail else "",
        "original": reads.original(one),
        "capture": reads.capture(one),
        "charts": [charts.shares(parts)],
    }
    way = [*trail(row.topic), (f"{_('Run')} #{row.pk}", reverse("admin:topic-run", args=[row.pk]))]
    return page(request, "focused/page.html", context, title=one.title or one.url, item=f"topic:{row.topic_id}", trail=way)
