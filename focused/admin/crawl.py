"""View for starting a topic crawl: a form with the strategy, its parameters, budgets, sources of
pages and scope."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import forms as control
from crawlmgr.admin.forms import lines
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.models import Run
from crawlmgr.upkeep import settings_history
from focused import reads
from focused.admin import fields, titles
from focused.admin.topics import find, trail
from focused.models import Comparison, Topic
from focused.options import RunOptions
from focused.parameters import parameters_of
from focused.scope import Scope
from focused.services import topics, tuning
from focused.strategies import DEFAULT, strategy_class

PLAIN = ("pages", "minutes", "relevant", "pages_per_host", "source")


"""Names of the options that are always shown; the others are in a collapsed section of the form."""


def strategies() -> list[dict[str, str]]:
    """Returns the name and the one-line summary of every strategy, for the choice on the form."""
    found = [
        (name, strategy_class(name, settings.TOPIC_STRATEGIES)) for name in titles.strategies()
    ]
    return [{"name": name, "summary": _(one.summary)} for name, one in found]


@admin_view("topics/<int:pk>/crawl/", "topic-crawl", "focused.view_topic", post="crawlmgr.add_run")
def crawl(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows and processes the form of a run.

    The form submits two strategies: `strategy` is the one selected in the menu, `shown` the one
    whose parameter fields the form contains. If they differ, the run uses `strategy` with the
    topic's parameters for it, or its defaults. With the button `show` the form is only displayed
    again, with the fields of `strategy`.
    """
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
    wrong: dict[str, Mapping[str, str]] = {"p": {}, "o": {}}
    if request.method == "POST":
        # `shown` is the strategy whose parameter fields were submitted; those of another one are
        # not read
        if request.POST.get("shown", name) == name:
            values, wrong["p"] = fields.read(own, request.POST, "p_")
        options, wrong["o"] = fields.read(general, request.POST, "o_")
        scope = _scope(request)
        if wanted(request):
            values, wrong["p"] = carry_out(request, name, values, wrong["p"])
        elif "show" not in request.POST and not (wrong["p"] or wrong["o"]):
            answer = _carry_out(request, topic, name, values, {**options, "scope": scope})
            if answer is not None:
                return answer
    shown = fields.fields(general, options, "o_", wrong["o"])
    context = {
        "topic": topic,
        "strategy": name,
        "summary": _(found.summary),
        "strategies": strategies(),
        "fields": fields.fields(own, values, "p_", wrong["p"], found.sum_to_one, name),
        "presets": buttons(name),
        "history": lines(tuning.KIND, pk, titles.setting, value=titles.value),
        "undo": (
            reverse("admin:topic-settings-undo", args=[pk])
            if request.user.has_perm("focused.change_topic")
            else ""
        ),
        "options": [one for one in shown if one.parameter.name in PLAIN],
        "further": [one for one in shown if one.parameter.name not in PLAIN],
        "scope": {
            key: "\n".join(scope.get(key, ()))
            for key in ("hosts", "without_hosts", "paths", "without_paths")
        },
        "depth": scope.get("depth", ""),
        "recorded": any(not choice["name"] for choice in reads.archive_choices(topic)),
        "contact": settings.CONTACT,
        "runs": [row for row in reads.topic_runs(topic) if row.pages],
    }
    status = 422 if wrong["p"] or wrong["o"] else 200
    return page(
        request,
        "focused/crawl.html",
        context,
        title=_("Crawl"),
        item=f"topic:{pk}",
        trail=trail(topic),
        status=status,
    )


def _scope(request: HttpRequest) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("hosts", "without_hosts", "paths", "without_paths"):
        parts = request.POST.get(name, "").replace(",", "\n").split("\n")
        found[name] = [part.strip() for part in parts if part.strip()]
    depth = request.POST.get("depth", "").strip()
    if depth:
        found["depth"] = depth
    return found


def _carry_out(
    request: HttpRequest,
    topic: Topic,
    name: str,
    values: dict[str, Any],
    run_options: dict[str, Any],
) -> HttpResponse | None:
    """Does what the pressed button means with the strategy `name`, its parameters `values` and the
    options `run_options` of the run: saves the settings, starts a preview, or starts a run (saving
    first if that is ticked). Returns the response, or None if it failed and the form is to be shown
    again with a message."""
    now, user = datetime.now(UTC), request.user

    def save() -> None:
        tuning.choose(topic, name, values, options=run_options, now=now, user=user)

    if "preview" in request.POST:
        shown: list[Comparison] = []

        def begin_preview() -> None:
            shown.append(tuning.preview(topic, name, values, now=now, user=user))

        done = attempt(
            request,
            _("The preview has started: the entered parameters are compared with the saved ones."),
            begin_preview,
        )
        return back(request, "comparison", shown[0].pk) if done else None
    if "save" in request.POST:
        return (
            back(request, "topic-crawl", topic.pk)
            if attempt(request, _("The settings are saved."), save)
            else None
        )
    try:
        Scope.from_mapping(run_options["scope"])
        if request.POST.get("keep"):
            save()
    except (
        ValueError
    ) as error:  # checked before saving, because a scheduled run would fail with invalid values
        messages.error(request, str(error))
        return None
    made: list[Run] = []

    def begin() -> None:
        made.append(
            topics.crawl(
                topic, strategy=name, parameters=values, options=run_options, now=now, user=user
            )
        )

    return (
        back(request, "topic-run", made[0].pk)
        if attempt(request, _("The crawl has started."), begin)
        else None
    )


@post_view("topics/<int:pk>/settings/undo/", "topic-settings-undo", "focused.change_topic")
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Undoes the newest change of the topic's strategy, parameters and options."""
    topic = find(pk)
    attempt(
        request, _("The last change is undone."), lambda: tuning.undo(topic, now=datetime.now(UTC))
    )
    return back(request, "topic-crawl", pk)


BUTTONS = ("preset", "keep_preset", "drop_preset")


def buttons(strategy: str) -> list[control.PresetButton]:
    """Returns the buttons for a strategy's presets: built-in ones, then those saved by users."""
    return control.buttons(
        tuning.preset_kind(strategy),
        {name: titles.preset(name) for name in tuning.built_in(strategy)},
    )


def wanted(request: HttpRequest) -> bool:
    """Tells whether the form was submitted by one of the buttons for presets."""
    return any(name in request.POST for name in BUTTONS)


def carry_out(
    request: HttpRequest, strategy: str, values: dict[str, Any], wrong: Mapping[str, str]
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Applies, saves or deletes a preset of the parameters, depending on the button that was
    pressed, and shows a message. `values` and `wrong` are the submitted parameter values and the
    error messages by name. Returns the values and messages to show in the form: those of an applied
    preset, otherwise the submitted ones."""
    kind = tuning.preset_kind(strategy)
    if "preset" in request.POST:
        found = tuning.preset(strategy, request.POST["preset"])
        if found is None:
            messages.error(request, _("There is no such preset."))
            return values, wrong
        return found, {}
    if "drop_preset" in request.POST:
        if settings_history.drop_preset(kind, request.POST["drop_preset"]):
            messages.success(request, _("The preset is removed."))
    elif not wrong:
        try:
            kept = settings_history.keep_preset(
                kind,
                request.POST.get("preset_name", ""),
                values,
                now=datetime.now(UTC),
                user=request.user,
            )
            messages.success(
                request, _("The values are saved as the preset %(name)s.") % {"name": kept.name}
            )
        except ValueError as error:
            messages.error(request, str(error))
    return values, wrong
