"""Views of topics: the list of all, and one topic with its runs, seeds and samples."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin import removals as removal_views
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.views import admin_view, attempt, back, number, numbers, page, post_view
from focused import reads
from focused.admin import charts
from focused.admin.add import lines_of, tell_bad_lines, tell_bounds, texts_of
from focused.admin.names import named
from focused.admin.topic_table import INTERVALS, TABLE
from focused.models import SampleDocument, Seed, Topic
from focused.services import dispatch, readings, removals, samples, topics
from focused.topics import read_seeds

SEEDS_SHOWN = 200


@admin_view("topics/", "topics", "focused.view_topic")
def topic_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all topics by name."""
    return table_page(
        request,
        "focused/topics.html",
        TABLE,
        reads.listed(),
        {"intervals": INTERVALS},
        prepare=reads.with_last_runs,
        title=_("Topics"),
        item="topics",
    )


def find(pk: int) -> Topic:
    topic = Topic.objects.filter(pk=pk).first()
    if topic is None:
        raise Http404(_("There is no such topic."))
    return topic


def trail(topic: Topic | None = None) -> list[tuple[str, str]]:
    """Returns the breadcrumb of a page about topics: (title, address) of each page above it, with
    the topic's own page last if `topic` is given."""
    found = [(_("Topics"), reverse("admin:topics"))]
    return (
        [*found, (topic.name, reverse("admin:topic", args=[topic.pk]))]
        if topic is not None
        else found
    )


@admin_view("topics/<int:pk>/", "topic", "focused.view_topic")
def topic_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one topic: its words, runs, seeds and samples."""
    topic = find(pk)
    if request.GET.get("part") == "live":
        return _live(request, topic)
    reading = readings.of(topic) or {}
    runs = reads.topic_runs(topic)
    context = {
        "topic": topic,
        "runs": runs,
        "running": next((row for row in runs if row.run.active), None),
        "reading": reading,
        "progress": None if reading else readings.progress(topic),
        "seeds": list(topic.seeds.all()[:SEEDS_SHOWN]),
        "seeds_number": topic.seeds.count(),
        "documents": list(topic.documents.defer("text", "words")),
        "intervals": INTERVALS,
        "comparisons": named(reads.comparisons(topic)),
        "charts": [charts.lexicon(reading["vector"])] if reading else [],
    }
    return page(
        request, "focused/topic.html", context, title=topic.name, item=f"topic:{pk}", trail=trail()
    )


def _live(request: HttpRequest, topic: Topic) -> HttpResponse:
    """Renders the part of a topic's page that refreshes itself: the progress of reading its
    samples. Headers make the browser reload the whole page when that is finished.
    """
    progress = readings.progress(topic)
    answer = render(request, "focused/reading.html", {"topic": topic, "progress": progress})
    if progress is None:
        answer["X-Desk-Done"] = answer["X-Desk-Reload"] = "1"
    return answer


@post_view("topics/<int:pk>/read/", "topic-read", "focused.change_topic")
def read_samples(request: HttpRequest, pk: int) -> HttpResponse:
    """Queues a run that reads the topic's samples, unless one exists already."""
    readings.renew(find(pk), now=datetime.now(UTC), user=request.user)
    return back(request, "topic", pk)


@post_view("topics/<int:pk>/seeds/", "topic-seeds", "focused.change_topic")
def seeds(request: HttpRequest, pk: int) -> HttpResponse:
    """Adds seeds, pasted or from a file, or deletes the selected ones."""
    topic = find(pk)
    if request.POST.get("do") == "remove":
        chosen = numbers(request.POST.getlist("seed"))
        if len(chosen) >= topic.seeds.count():
            messages.error(request, _("A topic needs an address to start from."))
        else:
            Seed.objects.filter(topic=topic, pk__in=chosen).delete()
            messages.success(request, _("The seeds are removed; runs that have started keep them."))
        return back(request, "topic", pk)
    try:
        urls, bad = read_seeds(lines_of(request, "seeds", "file"))
    except ValueError as error:
        messages.error(request, str(error))
        return back(request, "topic", pk)
    new = topics.add_seeds(topic, urls)
    tell_bad_lines(request, bad, _("seeds"))
    messages.success(
        request, ngettext("%(number)s new seed.", "%(number)s new seeds.", new) % {"number": new}
    )
    return back(request, "topic", pk)


@post_view("topics/<int:pk>/samples/", "topic-samples", "focused.change_topic")
def change_samples(request: HttpRequest, pk: int) -> HttpResponse:
    """Adds samples (addresses to fetch, pasted text, files) or deletes the selected ones."""
    topic, now = find(pk), datetime.now(UTC)
    if request.POST.get("do") == "remove":
        chosen = numbers(request.POST.getlist("sample"))
        SampleDocument.objects.filter(topic=topic, pk__in=chosen).delete()
        readings.renew(topic, now=now, user=request.user)
        messages.success(request, _("The samples are removed; runs that have started keep them."))
        return back(request, "topic", pk)
    try:
        texts = texts_of(request)
        urls, bad = read_seeds(lines_of(request, "addresses", ""))
    except ValueError as error:
        messages.error(request, str(error))
        return back(request, "topic", pk)
    if texts:
        found = samples.add(topic, texts, now=now, user=request.user)
        tell_bounds(request, found)
    if urls:
        attempt(
            request,
            _("The sample pages are being fetched."),
            lambda: samples.fetch(topic, urls, now=now, user=request.user),
        )
    tell_bad_lines(request, bad, _("sample pages"))
    if texts:
        done = ngettext("%(number)s new sample.", "%(number)s new samples.", len(found.kept))
        messages.success(request, done % {"number": len(found.kept)})
    return back(request, "topic", pk)


@post_view("topics/<int:pk>/schedule/", "topic-schedule", "focused.change_topic")
def schedule(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the interval at which the topic is crawled again, or removes it."""
    topic, wish = find(pk), request.POST.get("interval", "")
    seconds = number(wish)
    if seconds not in {value for value, _name in INTERVALS}:
        messages.error(request, _("Choose an interval."))
        return back(request, "topic", pk)
    dispatch.repeat(topic, seconds, datetime.now(UTC))
    done = (
        _("The topic is crawled again by schedule.")
        if seconds
        else _("The topic is crawled only when a user starts it.")
    )
    messages.success(request, done)
    return back(request, "topic", topic.pk)


@admin_view(
    "topics/<int:pk>/delete/", "topic-delete", "focused.delete_topic", post="focused.delete_topic"
)
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks for confirmation, for which the topic's name has to be typed, showing what will be lost;
    then deletes the topic."""
    topic = find(pk)
    wrong = request.method == "POST" and request.POST.get("name", "").strip() != topic.name.strip()
    if request.method == "POST" and not wrong:
        return removal_views.away(
            request,
            topic.name,
            "topics",
            lambda: removals.start(topic, datetime.now(UTC), request.user),
        )
    context: dict[str, Any] = {"topic": topic, "wrong": wrong, "runs": topic.runs.count()}
    return page(
        request,
        "focused/delete.html",
        context,
        title=_("Delete"),
        item=f"topic:{pk}",
        trail=trail(topic),
    )
