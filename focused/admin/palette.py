"""Adds topics, with the actions on them, to the command palette of the web interface."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from focused.models import Topic


def _topics(words: Sequence[str], most: int) -> Sequence[Item]:
    rows = Topic.objects.order_by("name", "pk")
    for word in words:
        rows = rows.filter(name__icontains=word)
    return [Item(*row) for row in rows.values_list("pk", "name")[:most]]


SEE = "focused.view_topic"
COMPARE = ("compare strategies", "compare", "laboratory", "比较策略", "比较", "实验室")
VERBS = (
    Verb(
        _("Crawl"),
        ("crawl", "crawl now", "抓取"),
        SEE,
        "admin:topic-crawl",
        "play_arrow",
        opens=True,
    ),
    Verb(_("Compare strategies"), COMPARE, SEE, "admin:topic-compare", "science", opens=True),
    Verb(
        _("Search pages"),
        ("search pages", "search in", "search", "搜索"),
        SEE,
        "admin:topic-search",
        "search",
        opens=True,
    ),
)
KINDS.append(Kind(_("Topic"), "category", SEE, "admin:topic", _topics, VERBS))
