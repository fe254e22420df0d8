"""Starting a run: the strategy, its parameters as a form, budgets, sources and scope."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crawlmgr.admin.rooms import attempt, back, page, room
from focused import reads
from focused.admin import fields
from focused.admin.topics import find, trail
from focused.models import Topic
from focused.options import RunOptions
from focused.parameters import parameters_of
from focused.scope import Scope
from focused.services import topics
from focused.strategies import BUILT_IN, DEFAULT, strategy_class

PLAIN = ("pages", "minutes", "relevant", "source")
"""Options that everybody needs; the rest is folded away."""


def strategies() -> list[dict[str, str]]:
    """Every strategy with its line."""
    names = [*BUILT_IN, *settings.TOPIC_STRATEGIES]
    return [{"name": name, "summary": _(strategy_class(name, settings.TOPIC_STRATEGIES).summary)} for name in names]


@room("topics/<int:pk>/crawl/", "topic-crawl", "focused.view_topic", post="crawlmgr.add_run")
def crawl(request: HttpRequest, pk: int) -> HttpResponse:
    """The form of a run. `strategy` is the one that is picked, and runs; `shown` the one whose parameters the form shows: where
    another was picked since, that one runs with the topic's own parameters for it, or the defaults. `show` starts nothing."""
    topic = find(pk)
    if not request.user.has_perm("crawlmgr.add_run"):
        raise PermissionDenied
    name = request.POST.get("strategy") or request.GET.get("strategy") or topic.strategy
    if name not in {one["name"] for one in strategies()}:
        messages.error(request, _("There is no strategy %(name)s.") % {"name": name[:60]})
        if request.method == "POST":
            return back(request, "topic-crawl", pk)
        name = DEFAULT
    found = strategy_class(name, settings.TOPIC_STRATEGIES)
    own = parameters_of(found.Settings)
    general = parameters_of(RunOptions)
    values = topic.parameters if name == topic.strategy else {}
    options = dict(topic.options)
    scope = options.pop("scope", {})
    wrong: dict[str, dict[str, str]] = {"p": {}, "o": {}}
    if request.method == "POST":
        if request.POST.get("shown", name) == name:  # else the form's fields were another strategy's
            values, wrong["p"] = fields.read(own, request.POST, "p_")
        options, wrong["o"] = fields.read(general, request.POST, "o_")
        scope = _scope(request)
        if "show" not in request.POST and not (wrong["p"] or wrong["o"]):
            answer = _start(request, topic, name, values, options, scope)
            if answer is not None:
                return answer
    shown = fields.fields(general, options, "o_", wrong["o"])
    context = {
        "topic": topic,
        "strategy": name,
        "summary": _(found.summary),
        "strategies": strategies(),
        "fields": fields.fields(own, values, "p_", wrong["p"], found.sum_to_one),
        "options": [one for one in shown if one.parameter.name in PLAIN],
        "further": [one for one in shown if one.parameter.name not in PLAIN],
        "scope": {key: "\n".join(scope.get(key, ())) for key in ("hosts", "without_hosts", "paths", "without_paths")},
        "depth": scope.get("depth", ""),
        "contact": settings.CONTACT,
        "runs": [row for row in reads.topic_runs(topic) if row.pages],
    }
    status = 422 if wrong["p"] or wrong["o"] else 200
    return page(request, "focused/crawl.html", context, title=_("Crawl"), item=f"topic:{pk}", trail=trail(topic), status=status)


def _scope(request: HttpRequest) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("hosts", "without_hosts", "paths", "without_paths"):
        parts = request.POST.get(name, "").replace(",", "\n").split("\n")
        found[name] = [part.strip() for part in parts if part.strip()]
    depth = request.POST.get("depth", "").strip()
    if depth:
        found["depth"] = depth
    return found


def _start(
    request: HttpRequest, topic: Topic, name: str, values: dict[str, Any], options: dict[str, Any], scope: dict[str, Any]
) -> HttpResponse | None:
    now = datetime.now(UTC)
    try:
        Scope.from_mapping(scope)
    except ValueError as error:  # before anything is kept: a schedule would stumble over it
        messages.error(request, str(error))
        return None
    if request.POST.get("keep"):
        Topic.objects.filter(pk=topic.pk).update(strategy=name, parameters=values, options={**options, "scope": scope})
        topic.refresh_from_db()
    made = []

    def begin() -> None:
        wishes = {**options, "scope": scope}
        made.append(topics.crawl(topic, strategy=name, parameters=values, options=wishes, now=now, user=request.user))

    if attempt(request, _("The crawl has started."), begin):
        return back(request, "topic-run", made[0].pk)
    return None
