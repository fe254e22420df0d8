"""Columns and filters of the list of events."""

from __future__ import annotations

from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import narrowing, tables, tags, words
from crawlmgr.admin.tables import Choice, Column, Table
from crawlmgr.admin.tree import address
from crawlmgr.models import Event

LEVELS = {"warnings": Event.Level.WARNING, "errors": Event.Level.ERROR}


def _levels() -> list[tuple[str, str]]:
    return [("", _("All")), ("warnings", _("Warnings and errors")), ("errors", _("Errors"))]


def _what(event: Event) -> str:
    if not event.text:
        return format_html("{}", words.say(event.code))
    return format_html(
        '{}<br><span class="soft small wrap">{}</span>',
        words.say(event.code),
        words.happened(event),
    )


def _concerns(event: Event) -> str:
    links: list[tuple[str, Any]] = []
    if event.run is not None:
        links.append((address("admin:run", event.run.pk), event.run))
    if event.host is not None:
        links.append((address("admin:host", event.host.pk), event.host.key))
    # a constant
    return format_html_join(mark_safe("<br>"), '<a href="{}">{}</a>', links)


TABLE = Table(
    "events",
    (
        Column(
            "at",
            gettext_lazy("When"),
            lambda event: event.at,
            lambda event: tags.ago(event.at),
            tables.NEWEST,
            look="nowrap",
        ),
        Column(
            "level",
            gettext_lazy("Level"),
            lambda event: event.level,
            lambda event: render_to_string("desk/level.html", {"event": event}),
        ),
        Column(
            "what", gettext_lazy("What"), lambda event: words.say(event.code), _what, look="title"
        ),
        Column("text", gettext_lazy("Text"), lambda event: event.text, look="wrap", usual=False),
        Column(
            "concerns",
            gettext_lazy("Related to"),
            lambda event: str(event.run or event.host or ""),
            _concerns,
            look="one reason",
        ),
    ),
    "at",
    narrowing.words_in("text"),
    (
        Choice(
            "show",
            gettext_lazy("Level"),
            _levels,
            lambda rows, code: rows.filter(level__gte=LEVELS[code]),
        ),
    ),
)
