"""Views of a run's pages: lists, full-text search, and each page with its path from a seed and its
priority when it was chosen. Pages can be marked as on or off topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import tables, tags, words
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Rows, Table
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, number, page, post_view
from crawlmgr.database.paging import Order
from focused import reads
from focused.admin import charts, titles
from focused.admin.runs import find
from focused.admin.runs import find as find_run
from focused.admin.topics import find as find_topic
from focused.admin.topics import trail
from focused.judge.probability import stuffed
from focused.judge.relevance import Relevance, Topic
from focused.models import TopicPage
from focused.pages import hashed
from focused.run import archived_pages, search
from focused.topic import marks, readings


def _title(page: TopicPage) -> str:
    return format_html(
        '<a href="{}" title="{}">{}</a>',
        address("admin:topic-page", page.pk),
        page.url,
        page.title or page.url,
    )


def _relevance(page: TopicPage) -> str:
    return tags.NOTHING if page.similarity is None else f"{page.similarity:.3f}"


def _marks(page: TopicPage) -> str:
    look, told = ("badge ok", _("on topic")) if page.relevant else ("soft", _("no"))
    on_topic = format_html('<span class="{}">{}</span>', look, told)
    copy = (
        format_html(' <span class="badge warn">{}</span>', _("duplicate"))
        if page.duplicate_of is not None
        else ""
    )
    return format_html("{}{}", on_topic, copy)


def _states() -> list[tuple[str, str]]:
    return [("", _("All pages")), ("relevant", _("On topic")), ("copies", _("Duplicates"))]


def _in_state(rows: Rows, code: str) -> Rows:
    return (
        rows.filter(relevant=True)
        if code == "relevant"
        else tables.few(rows, duplicate_of__isnull=False)
    )


TABLE = Table(
    "topic-pages",
    (
        Column(
            "number",
            "#",
            lambda page: page.number + 1,
            lambda page: tags.number(page.number + 1),
            Order(("step",)),
            look="num",
        ),
        Column(
            "page",
            gettext_lazy("Page"),
            lambda page: page.title or page.url,
            _title,
            look="title one",
        ),
        Column(
            "relevance",
            gettext_lazy("Relevance"),
            lambda page: page.similarity,
            _relevance,
            Order(("similarity", "id"), nullable=True),
            look="num",
        ),
        Column(
            "state", gettext_lazy("On topic"), lambda page: page.relevant, _marks, look="nowrap"
        ),
        Column("depth", gettext_lazy("Depth"), lambda page: page.depth, look="num"),
        Column(
            "tunnel",
            gettext_lazy("Tunnel length"),
            lambda page: page.tunnel,
            look="num",
            usual=False,
        ),
        Column(
            "at",
            gettext_lazy("When"),
            lambda page: page.at,
            lambda page: tags.ago(page.at),
            look="nowrap",
        ),
        Column("url", gettext_lazy("Address"), lambda page: page.url, look="one", usual=False),
    ),
    "number",
    None,
    (Choice("show", gettext_lazy("State"), _states, _in_state),),
)


SIZE = 25


@admin_view("topics/run/<int:pk>/pages/", "topic-pages", "focused.view_topic")
def run_pages(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Lists a run's pages, or those that match the search `q`; with `url` shows what became of that
    address."""
    row = find_run(pk)
    asked = request.GET.get("url", "").strip()
    outcome = None
    if asked:
        try:
            outcome = reads.outcome_of(row, asked)
        except ValueError as error:
            messages.error(request, str(error))
    user_words = row.definition["user_words"]
    context = {"row": row, "topic": row.topic, "asked": asked, "outcome": outcome}
    crumbs = [*trail(row.topic), (f"{_('Run')} #{pk}", reverse("admin:topic-run", args=[pk]))]
    frame: dict[str, Any] = {"title": _("Pages"), "item": f"topic:{row.topic_id}", "trail": crumbs}
    if text := _asked(request):
        context |= _found(request, text, user_words, run_ids=[pk])
        return page(request, "focused/pages.html", context, **frame)
    context["empty"] = _("No page has been fetched yet.")
    return table_page(request, "focused/pages.html", TABLE, reads.pages(pk), context, **frame)


@admin_view("topics/<int:pk>/search/", "topic-search", "focused.view_topic")
def topic_search(request: HttpRequest, pk: int) -> HttpResponse:
    """Searches the pages of all runs of a topic."""
    topic, text = find_topic(pk), _asked(request)
    context: dict[str, Any] = {"row": None, "topic": topic}
    if text:
        context |= _found(request, text, topic.user_words, topic=pk)
    elif runs := [run for run in reads.topic_runs(topic) if run.pages]:
        last = next((run for run in runs if run.pages >= SIZE), runs[0])
        context |= {"last": last, "rows": reads.newest_pages(last.pk, SIZE)}
    return page(
        request,
        "focused/pages.html",
        context,
        title=_("Search"),
        item=f"topic:{pk}",
        trail=trail(topic),
    )


def _asked(request: HttpRequest) -> str:
    return request.GET.get("q", "").strip()[:300]


def _found(
    request: HttpRequest,
    text: str,
    user_words: Sequence[str],
    *,
    run_ids: Sequence[int] = (),
    topic: int | None = None,
) -> dict[str, Any]:
    """Searches the pages of the runs `run_ids`, or of all runs of the topic with the id `topic`,
    and returns the context for the template: one page of the results, best first, each with an
    excerpt around the words found.
    """
    at = number(request.GET.get("page", ""), 99_999) or 1
    query = search.read_query(text, user_words)
    hits = search.find(query, run_ids, topic=topic, start=(at - 1) * SIZE, limit=SIZE)
    rows = reads.pages_by_id(hits.pages)
    one: Any
    for one, snippet in zip(rows, search.around(rows, query.words), strict=True):
        one.snippet = snippet
    keep = urlencode({"q": text})
    return {
        "q": text,
        "total": hits.total,
        "truncated": hits.truncated,
        "rows": rows,
        "back_page": f"?{keep}&page={at - 1}" if at > 1 else "",
        "next_page": f"?{keep}&page={at + 1}" if at * SIZE < hits.total else "",
    }


@admin_view("topics/page/<int:pk>/", "topic-page", "focused.view_topic")
def page_why(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one page of a run: the path of pages from a seed to it, the parts of its priority, and
    the contribution of each word to its similarity to the topic."""
    one = TopicPage.objects.filter(pk=pk).first()
    row = reads.topic_run(one.run_id) if one is not None else None
    if one is None or row is None:
        raise Http404(_("There is no such page."))
    relevance = Relevance(Topic.from_json(row.definition))
    shown = readings.wording_of(relevance, [one.title])
    counts = archived_pages.words_of(one)
    shares = relevance.explain(counts)
    parts = [(shown.get(part.word, part.word), round(part.share, 4)) for part in shares]
    steps = reads.path_from_seed(one)
    context = {
        "one": one,
        "row": row,
        "path": steps,
        "clicks": len(steps) - 1,
        "parts": titles.score_parts(one.why.get("parts", {})),
        "queue": titles.queue(one.why.get("queue", "")),
        "rule": words.say(one.detail) if one.detail else "",
        "original": reads.original(one),
        "stuffed": stuffed(hashed(counts)) >= 0.5,
        "capture": reads.capture(one),
        "charts": [charts.shares(parts)],
    }
    crumbs = [
        *trail(row.topic),
        (f"{_('Run')} #{row.pk}", reverse("admin:topic-run", args=[row.pk])),
    ]
    return page(
        request,
        "focused/page.html",
        context,
        title=one.title or one.url,
        item=f"topic:{row.topic_id}",
        trail=crumbs,
    )


SHOWN = 10
WORDS = {"on": True, "off": False, "none": None}


@admin_view("topics/run/<int:pk>/marks/", "topic-marks", "focused.view_topic")
def pages_to_mark(request: HttpRequest, pk: int) -> HttpResponse:
    """Lists the pages to mark, or with `?marked=1` those already marked, with the learning judge's
    score of each."""
    row = find(pk)
    marked = request.GET.get("marked") == "1"
    judged_pages = marks.shown(row, marked, 200 if marked else SHOWN)
    context: dict[str, Any] = {
        "row": row,
        "run": row.run,
        "judged_pages": judged_pages,
        "marked": marked,
        "judged": row.harvest_rate is not None,
        "rows": judged_pages.rows,
        "truncated": row.pages > judged_pages.pages,
        "may_mark": request.user.has_perm("focused.change_topic"),
    }
    crumbs = [*trail(row.topic), (f"{_('Run')} #{pk}", reverse("admin:topic-run", args=[pk]))]
    return page(
        request,
        "focused/marks.html",
        context,
        title=_("Marks"),
        item=f"topic:{row.topic_id}",
        trail=crumbs,
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
