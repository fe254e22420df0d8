"""Adds topics to the common pages: home page (a panel and figures), navigation tree, command
palette, page of schedules, and the guide's page on strategies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import help as guide
from crawlmgr.admin.dashboard import DAY, Tile, remembered
from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from crawlmgr.admin.site import Beginning, Step, desk_site
from crawlmgr.admin.tags import number
from crawlmgr.admin.tree import Node, address
from crawlmgr.admin.views import attempt, back, post_view
from crawlmgr.runs import run_reads
from crawlmgr.schedule import desk
from crawlmgr.upkeep.demonstration import MARK
from focused import reads
from focused.admin import titles
from focused.admin.topics import find
from focused.models import Topic, TopicRun
from focused.parameters import parameters_of
from focused.strategies.base import strategy_class
from focused.topic import topics

TOPICS_SHOWN = 8


def panel(request: HttpRequest, now: datetime) -> dict[str, Any] | None:
    """Returns the context of the panel with topics and their newest runs; None if there is no topic
    or the user may not see them.
    """
    if not request.user.has_perm("focused.view_topic"):
        return None
    rows = reads.first_topics(TOPICS_SHOWN + 1)
    shown = {
        "template": "focused/panel.html",
        "rows": rows[:TOPICS_SHOWN],
        "more": len(rows) > TOPICS_SHOWN,
    }
    return shown if rows else None


def branch(request: HttpRequest, item: str) -> Node | None:
    """Returns the branch of the navigation tree with the topics by name, at most TREE_LIMIT; None
    if the user may not see topics. `item`, the key of the page that is open, is not used."""
    if not request.user.has_perm("focused.view_topic"):
        return None
    rows = reads.tree_topics()
    working = reads.active_topics()
    nodes = []
    for topic in rows[: reads.TREE_LIMIT]:
        state = working.get(topic.pk, "")
        mark = "working" if state in ("running", "queued") else "paused" if state else ""
        nodes.append(
            Node(topic.name, address("admin:topic", topic.pk), "", f"topic:{topic.pk}", mark)
        )
    if len(rows) > reads.TREE_LIMIT:
        nodes.append(Node(_("All topics"), reverse("admin:topics"), "more_horiz", "topics:all"))
    if request.user.has_perm("focused.add_topic"):
        nodes.append(Node(_("Add topic"), reverse("admin:topic-add"), "add", "topic-add"))
    return Node(
        _("Topics"),
        reverse("admin:topics"),
        "category",
        "topics",
        children=tuple(nodes),
        unfolded=True,
    )


desk_site.add_branch(12, branch)
desk_site.add_panel(12, panel)


def _tunnel() -> Step | None:
    about = gettext_lazy(
        "Some pages on topic are reached only through pages off topic. The crawl continues through"
        " these as long as it finds relevant pages."
    )
    run = TopicRun.objects.filter(topic__settings__has_key=MARK).order_by("-pk").first()
    return (
        Step(gettext_lazy("A tunnel"), about, address("admin:topic-run", run.pk))
        if run is not None
        else None
    )


desk_site.add_tour(30, _tunnel)
desk_site.add_beginning(
    12,
    Beginning(
        gettext_lazy("Pages on a topic"),
        gettext_lazy("Samples define the topic; the crawl searches for similar pages."),
        "topic-add",
        "focused.add_topic",
        "category",
    ),
)


def _topics(words: Sequence[str], most: int) -> Sequence[Item]:
    rows = Topic.objects.order_by("name", "pk")
    for word in words:
        rows = rows.filter(name__icontains=word)
    return [Item(*row) for row in rows.values_list("pk", "name")[:most]]


SEE = "focused.view_topic"
COMPARE = ("compare strategies", "compare", "laboratory", "比较策略", "比较", "实验室")
VERBS = (
    Verb(
        gettext_lazy("Crawl"),
        ("crawl", "crawl now", "抓取"),
        SEE,
        "admin:topic-crawl",
        "play_arrow",
        opens=True,
    ),
    Verb(
        gettext_lazy("Compare strategies"),
        COMPARE,
        SEE,
        "admin:topic-compare",
        "science",
        opens=True,
    ),
    Verb(
        gettext_lazy("Search pages"),
        ("search pages", "search in", "search", "搜索"),
        SEE,
        "admin:topic-search",
        "search",
        opens=True,
    ),
)
KINDS.append(Kind(gettext_lazy("Topic"), "category", SEE, "admin:topic", _topics, VERBS))


@post_view("topics/<int:pk>/again/", "topic-again", "crawlmgr.add_run")
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a crawl of the topic at once, with the options of a scheduled run."""
    topic = find(pk)
    attempt(
        request,
        _("The crawl has started."),
        lambda: topics.again(topic, datetime.now(UTC), request.user),
    )
    return back(request, "topic", pk)


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Topic.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, address("admin:topic", pk), f"topic:{pk}") if name is not None else None


desk.TIMED["topic"] = desk.Timed(
    gettext_lazy("Topic"),
    "admin:topic",
    "focused.view_topic",
    ("admin:topic-again", "crawlmgr.add_run"),
    _timed,
    "focused.change_topic",
)


def _fetched(now: datetime) -> int:
    """Returns the number of pages that all topic crawls fetched within the last day."""
    runs = run_reads.lately("topic", now - DAY)
    return sum(reads.fetched_since(run, now - DAY) for run in runs)


def tiles(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns the figure of pages fetched by the last day's crawls; () if there is no topic or the
    user may not see topics."""
    if not request.user.has_perm("focused.view_topic") or not Topic.objects.exists():
        return ()
    pages = number(remembered("topics", lambda: _fetched(now)))
    return (Tile(_("Topic pages in 24 h"), pages, reverse("admin:topics")),)


desk_site.add_tile(20, tiles)


def completed(text: str) -> str:
    """Returns `text`, the guide's page on strategies in Markdown, with a section for every strategy
    that has none; these are inserted before the last section."""
    before, last = text.rsplit("\n## ", 1)
    missing = [name for name in titles.strategies() if f"{{#{_anchor(name)}}}" not in text]
    return "\n## ".join([before, *(_section(name) for name in missing), last])


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def _section(name: str) -> str:
    found = strategy_class(name, settings.TOPIC_STRATEGIES)
    parameters = parameters_of(found.Settings)
    rows = [
        f"- {titles.parameter(one.name, name)} (`{one.name}={one.default}`): {_(one.help)}"
        for one in parameters
    ]
    return "\n".join(
        [
            f"{name} {{#{_anchor(name)}}}",
            "",
            f"{titles.strategy(name)}: {_(found.summary)}",
            "",
            *rows,
            "",
        ]
    )


guide.COMPLETED["strategies"] = completed
