"""Views of topics: the list of all, and one topic with its runs, seeds and samples."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import tables, tags
from crawlmgr.admin import tables as removal_views
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Action, Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, number, numbers, page, post_view
from focused import reads
from focused.admin import charts, titles
from focused.admin.add import lines_of, tell_bad_lines, tell_bounds, texts_of
from focused.admin.titles import named
from focused.judge.relevance import read_seeds
from focused.models import SampleDocument, Seed, Topic
from focused.topic import readings, samples, topics

MAY, MAY_DELETE = "focused.change_topic", "focused.delete_topic"


INTERVALS = (
    (0, gettext_lazy("only when a user starts it")),
    (3600, gettext_lazy("1 hour")),
    (6 * 3600, gettext_lazy("6 hours")),
    (86_400, gettext_lazy("1 day")),
    (7 * 86_400, gettext_lazy("1 week")),
    (30 * 86_400, gettext_lazy("30 days")),
)


def _name(topic: Topic) -> str:
    return format_html(
        '<a href="{}" title="{}">{}</a>', address("admin:topic", topic.pk), topic.name, topic.name
    )


def _last(topic: Any) -> str:
    if topic.last is None:
        return format_html('<span class="soft">{}</span>', _("never"))
    return format_html(
        '<a href="{}">{}</a>', address("admin:topic-run", topic.last.pk), tags.state(topic.last.run)
    )


def _of_last(name: str) -> Any:
    return lambda topic: getattr(topic.last, name) if topic.last is not None else None


def _figure(name: str, title: Any) -> Column:
    """Returns a column for the table of topics that shows the counter `name` of each topic's newest
    run, under the heading `title`."""
    value, key = _of_last(name), f"last_{name}"
    order = falling(key, nullable=True)
    return Column(
        name,
        title,
        value,
        lambda topic: tags.number(value(topic)),
        order,
        {key: reads.of_last_run(name)},
        look="num",
    )


def _often(topic: Topic) -> str:
    return (
        tags.duration(topic.interval_seconds)
        if topic.interval_seconds
        else format_html("{}", _("only when a user starts it"))
    )


def _strategies() -> list[tuple[str, str]]:
    used = sorted(set(Topic.objects.order_by().values_list("strategy", flat=True).distinct()))
    return [("", _("All strategies")), *((name, titles.strategy(name)) for name in used)]


def _by_schedule() -> list[tuple[str, str]]:
    return [
        ("", _("With or without schedule")),
        ("on", _("By schedule")),
        ("off", _("only when a user starts it")),
    ]


def _scheduled(rows: Rows, code: str) -> Rows:
    return rows.filter(interval_seconds__isnull=code == "off")


TABLE = Table(
    "topics",
    (
        Column(
            "name",
            gettext_lazy("Topic"),
            lambda topic: topic.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column(
            "strategy",
            gettext_lazy("Strategy"),
            lambda topic: topic.strategy,
            lambda topic: titles.strategy(topic.strategy),
            by("strategy"),
            look="nowrap",
        ),
        Column(
            "seeds",
            gettext_lazy("Seeds"),
            lambda topic: topic.seeds_number,
            lambda topic: tags.number(topic.seeds_number),
            falling("seeds_count"),
            {"seeds_count": Count("seeds")},
            look="num",
        ),
        Column(
            "last",
            gettext_lazy("Last run"),
            _of_last("run_id"),
            _last,
            falling("last_run_id", nullable=True),
            {"last_run_id": reads.of_last_run("run_id")},
            look="nowrap",
        ),
        _figure("pages", gettext_lazy("Pages")),
        Column(
            "rate",
            gettext_lazy("Harvest rate"),
            _of_last("harvest_rate"),
            lambda topic: titles.harvest(topic.last),
            falling("last_rate", nullable=True),
            {"last_rate": reads.of_last_run("harvest_rate")},
            look="num",
        ),
        Column(
            "every",
            gettext_lazy("Frequency"),
            lambda topic: topic.interval_seconds,
            _often,
            by("interval_seconds", nullable=True),
            look="nowrap",
            usual=False,
        ),
        Column(
            "next",
            gettext_lazy("Next run"),
            lambda topic: topic.next_run,
            lambda topic: tags.ago(topic.next_run),
            by("next_run", nullable=True),
            look="nowrap",
        ),
        Column(
            "added",
            gettext_lazy("Added"),
            lambda topic: topic.added,
            lambda topic: tags.ago(topic.added),
            falling("added"),
            look="nowrap",
            usual=False,
        ),
    ),
    "name",
    tables.words_in("name"),
    (
        Choice(
            "strategy",
            gettext_lazy("Strategy"),
            _strategies,
            lambda rows, code: rows.filter(strategy=code),
        ),
        Choice("show", gettext_lazy("Frequency"), _by_schedule, _scheduled),
    ),
    (
        Action("crawl", gettext_lazy("Crawl now"), "play_arrow", "crawlmgr.add_run"),
        Action("interval", gettext_lazy("Set frequency"), "timer", MAY),
        Action(tables.DELETE, gettext_lazy("Delete"), "delete", MAY_DELETE),
    ),
    "topics-do",
    "focused/interval_field.html",
    deletes="topic",
)


def _crawl(request: HttpRequest, topic: Topic, now: Any) -> None:
    topics.again(topic, now, request.user)


def _set_interval(request: HttpRequest, topic: Topic, now: Any) -> None:
    seconds = number(request.POST.get("interval", ""))
    if seconds not in {value for value, _name in INTERVALS}:
        raise ValueError("no such interval")
    topics.repeat(topic, seconds, now)


VERBS: dict[str, tables.Verb] = {"crawl": _crawl, "interval": _set_interval}


@post_view("topics/do/", "topics-do", MAY)
def do(request: HttpRequest) -> HttpResponse:
    """Carries out an action on the selected topics: crawl now, set the interval, delete, or undo
    the deletion."""

    def success_text(count: int) -> str:
        return ngettext("Applied to %(count)s topic.", "Applied to %(count)s topics.", count)

    return tables.carry_out(
        request, TABLE, Topic.objects.all(), VERBS, reverse("admin:topics"), success_text
    )


SEEDS_SHOWN = 200


@admin_view("topics/", "topics", "focused.view_topic")
def topic_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all topics by name."""
    return table_page(
        request,
        "focused/topics.html",
        TABLE,
        reads.for_lists(),
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
    topics.repeat(topic, seconds, datetime.now(UTC))
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
        return removal_views.delete_object(
            request,
            topic.name,
            "topics",
            lambda: topics.start_removal(topic, datetime.now(UTC), request.user),
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
