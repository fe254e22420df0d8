"""Columns and filters of the list of a run's pages. It can be sorted only by columns that have a
database index."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import narrowing, tags
from crawlmgr.admin.tables import Choice, Column, Rows, Table
from crawlmgr.admin.tree import address
from crawlmgr.reads.paging import Order
from focused.models import TopicPage


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
        else narrowing.few(rows, duplicate_of__isnull=False)
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
