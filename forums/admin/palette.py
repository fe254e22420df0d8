"""Forums and boards in the command palette, with the actions on them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from crawlmgr.admin.palette import KINDS, Find, Item, Kind, Verb
from forums.models import Board, Site


def _forums(words: Sequence[str], most: int, **only: bool) -> Sequence[Item]:
    rows = Site.objects.filter(**only).order_by("name", "pk")
    for word in words:
        rows = rows.filter(Q(name__icontains=word) | Q(url__icontains=word))
    return [Item(*row) for row in rows.values_list("pk", "name", "url")[:most]]


def _paused(paused: bool) -> Find:
    return lambda words, most: _forums(words, most, paused=paused)


def _boards(words: Sequence[str], most: int) -> Sequence[Item]:
    """Returns at most `most` boards, sorted by name. Each word must occur in the board's or its
    forum's name, and at least one in the board's name."""
    own, rows = Q(), Board.objects.order_by("name", "pk")
    for word in words:
        own |= Q(name__icontains=word)
        rows = rows.filter(Q(name__icontains=word) | Q(site__name__icontains=word))
    return [Item(*row) for row in rows.filter(own).values_list("pk", "name", "site__name")[:most]]


CRAWL = ("crawl now", "crawl", "visit now", "立即抓取", "抓取")
PAUSE = ("pause schedule", "pause visits", "pause", "暂停计划", "暂停")
RESUME = ("resume schedule", "resume visits", "resume", "恢复计划", "恢复")
CHANGE, SEE, SEE_PLAN = "forums.change_site", "forums.view_site", "forums.view_plan"
VERBS = (
    Verb(_("Crawl now"), CRAWL, "crawlmgr.add_run", "admin:forum-crawl", "refresh"),
    Verb(
        _("Pause schedule"),
        PAUSE,
        CHANGE,
        "admin:forum-pause",
        "event_busy",
        (("paused", "1"),),
        _paused(False),
    ),
    Verb(
        _("Resume schedule"),
        RESUME,
        CHANGE,
        "admin:forum-pause",
        "event_available",
        (("paused", "0"),),
        _paused(True),
    ),
    Verb(
        _("Plan"),
        ("plan", "plan of", "计划"),
        SEE_PLAN,
        "admin:forum-plan",
        "event_note",
        opens=True,
    ),
    Verb(
        _("Tuning"),
        ("tune", "tuning", "调整", "调参"),
        SEE_PLAN,
        "admin:forum-tuning",
        "tune",
        opens=True,
    ),
    Verb(
        _("Delays"),
        ("delay", "delays", "延迟"),
        SEE_PLAN,
        "admin:forum-delays",
        "timer",
        opens=True,
    ),
    Verb(
        _("Export posts"),
        ("export posts of", "export posts", "export", "导出帖子", "导出"),
        SEE,
        "admin:export",
        "download",
        opens=True,
        query="site",
        arguments=("posts", "csv"),
    ),
)
KINDS.append(Kind(_("Forum"), "forum", SEE, "admin:forum", _forums, VERBS))
KINDS.append(Kind(_("Board"), "list", SEE, "admin:board", _boards))
