"""The table of topics: its columns, filters, and actions on selected rows."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, FloatField
from django.db.models.functions import Cast, NullIf
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import narrowing, table_actions, tables, tags
from crawlmgr.admin.tables import Action, Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import number, post_view
from focused import reads
from focused.admin import titles
from focused.models import Topic
from focused.services import dispatch

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


def _rate() -> dict[str, Any]:
    pages, relevant = reads.of_last_run("pages"), reads.of_last_run("relevant")
    return {"last_rate": Cast(relevant, FloatField()) / NullIf(Cast(pages, FloatField()), 0.0)}


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
        _figure("relevant", gettext_lazy("On topic")),
        Column(
            "rate",
            gettext_lazy("Harvest rate"),
            _of_last("harvest_rate"),
            lambda topic: tags.share(_of_last("harvest_rate")(topic)),
            falling("last_rate", nullable=True),
            _rate(),
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
    narrowing.words_in("name"),
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
    dispatch.again(topic, now, request.user)


def _set_interval(request: HttpRequest, topic: Topic, now: Any) -> None:
    seconds = number(request.POST.get("interval", ""))
    if seconds not in {value for value, _name in INTERVALS}:
        raise ValueError("no such interval")
    dispatch.repeat(topic, seconds, now)


VERBS: dict[str, table_actions.Verb] = {"crawl": _crawl, "interval": _set_interval}


@post_view("topics/do/", "topics-do", MAY)
def do(request: HttpRequest) -> HttpResponse:
    """Carries out an action on the selected topics: crawl now, set the interval, delete, or undo
    the deletion."""

    def success_text(count: int) -> str:
        return ngettext("Applied to %(count)s topic.", "Applied to %(count)s topics.", count)

    return table_actions.carry_out(
        request, TABLE, Topic.objects.all(), VERBS, reverse("admin:topics"), success_text
    )
