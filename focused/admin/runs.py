"""View of a topic run: charts of pages found and of tunnel lengths, refused addresses, and a form
to change a running run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import tables as removal_views
from crawlmgr.admin import words
from crawlmgr.admin.charts import Chart
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.exports import downloads
from crawlmgr.models import Run
from crawlmgr.runs import desk as run_views
from crawlmgr.runs import run_reads
from focused import reads
from focused.admin import charts, crawl
from focused.admin.add import tell_bad_lines
from focused.admin.topics import trail
from focused.judge.relevance import read_seeds
from focused.models import TopicRun
from focused.parameters import parameters_of
from focused.strategies.base import strategy_class
from focused.topic import topics

WITH_OBJECTIVES = ("ant_colony", "space_evolution")


def find(pk: int) -> TopicRun:
    row = reads.topic_run(pk)
    if row is None:
        raise Http404(_("There is no such run."))
    return row


@admin_view("topics/run/<int:pk>/", "topic-run", "focused.view_topic")
def run_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one topic run; the page refreshes itself while the run is active."""
    row, now = find(pk), datetime.now(UTC)
    run = row.run
    context: dict[str, Any] = {
        "row": row,
        "run": run,
        "topic": row.topic,
        "now": now,
        "story": run_views.story(run, now),
        "rate": run_reads.rate(run, now),
        "budget": run.parameters["options"]["pages"],
        "refused": sorted(
            ((words.say(code), n) for code, n in row.refused.items()), key=lambda pair: -pair[1]
        ),
        "pages": reads.newest_pages(pk, 8),
        "charts": [charts.harvest(row), charts.tunnels(row), *_walked(row)],
        "may_pause": run.state in ("queued", "running") and not run.wanted,
        "may_resume": run.state in ("paused", "failed"),
        "may_stop": run.active and run.wanted != "stop",
    }
    if request.GET.get("part") != "live":
        context["fields"] = _fields(run) if run.active else []
        context["downloads"] = downloads.choices(["pages", "links"], run=pk)
    title = f"{_('Run')} #{pk}"
    item = f"topic:{row.topic_id}"
    answer = page(
        request,
        "focused/run.html",
        context,
        title=title,
        item=item,
        trail=trail(row.topic),
        live="focused/run_live.html",
    )
    if not run.active:
        answer["X-Desk-Done"] = "1"
    return answer


def _walked(row: TopicRun) -> list[Chart]:
    """Returns the charts of `charts.walked` (pheromone and Pareto fronts) for strategies that score
    links by three objectives; otherwise an empty list."""
    if row.run.parameters["strategy"] not in WITH_OBJECTIVES:
        return []
    return charts.walked(reads.reasons(row.pk, row.pages))


def _fields(run: Run) -> list[crawl.Field]:
    found = strategy_class(run.parameters["strategy"], settings.TOPIC_STRATEGIES)
    own = parameters_of(found.Settings)
    values = dict(run.parameters["parameters"])
    for change in reads.edits(run.pk):
        values.update(change.get("parameters", {}))
    known = {one.name: one.read(values.get(one.name, one.default)) for one in own}
    return crawl.fields(own, known, "p_", linked=found.sum_to_one, owner=run.parameters["strategy"])


@post_view("topics/run/<int:pk>/edit/", "topic-run-edit", "crawlmgr.change_run")
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Stores a change of an active run: seeds to add, a host to drop, or new parameters of the
    strategy."""
    run = find(pk).run
    change: dict[str, Any] = {}
    if request.POST.get("do") == "seeds":
        change["seeds"], bad = read_seeds(request.POST.get("seeds", "").splitlines())
        tell_bad_lines(request, bad, _("seeds"))
    elif request.POST.get("do") == "host":
        change["without_hosts"] = [request.POST.get("host", "")]
    else:
        own = parameters_of(
            strategy_class(run.parameters["strategy"], settings.TOPIC_STRATEGIES).Settings
        )
        change["parameters"], wrong = crawl.read(own, request.POST, "p_")
        if wrong:
            messages.error(request, "; ".join(wrong.values()))
            return back(request, "topic-run", pk)
    attempt(
        request,
        _("The change takes effect after the current page."),
        lambda: topics.edit_run(run, change),
    )
    return back(request, "topic-run", pk)


def detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the link from the general page of a run to its page as a topic run, as context for
    the template."""
    return {
        "link": reverse("admin:topic-run", args=[run.pk]),
        "link_text": _("Charts, pages and parameters"),
    }


run_views.details["topic"] = detail
run_views.details[topics.REMOVAL_KIND] = removal_views.deletion_detail
