"""View for starting a topic crawl: a form with the strategy, its parameters, budgets, sources of
pages and scope. Parameters become form fields with label, range, default and help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import forms as control
from crawlmgr.admin.forms import lines
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.models import Run
from crawlmgr.upkeep import settings_history
from focused import reads
from focused.admin import titles
from focused.admin.topics import find, trail
from focused.lab import tuning
from focused.models import Comparison, Topic
from focused.parameters import Parameter, RunOptions, parameters_of
from focused.run.scope import Scope
from focused.strategies.base import DEFAULT, strategy_class
from focused.topic import topics

SLIDER = 10
"""A slider is shown for parameters with a fraction whose range ends at this value or below."""
NO_BOUND = 100_000
"""Upper bounds from this value on are not shown beside the field."""


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter as the template renders it, with its present value and an error message
    (`wrong`, "" for none)."""

    id: str
    parameter: Parameter
    value: Any
    help: str
    choices: Sequence[tuple[str, str]]
    wrong: str = ""
    linked: bool = False
    """True if the parameter is one of several shares that sum to 1."""
    title: str = ""

    @property
    def default(self) -> str:
        """The parameter's default value as text for display."""
        default = self.parameter.default
        return titles.choice(str(default)) if self.parameter.choices else str(default)

    @property
    def number(self) -> str:
        """The value of a number field as text, a whole number without decimals; what the user typed
        if it is not a number."""
        return _plain(self.value)

    @property
    def bounds(self) -> str:
        """Range and default as text; an upper bound of NO_BOUND (100,000) or more is left out."""
        low, high = self.parameter.low, self.parameter.high
        near = high is not None and high < NO_BOUND
        named = {
            "low": _plain(low, ","),
            "high": _plain(high, ","),
            "default": _plain(self.parameter.default, ","),
        }
        text = (
            _("%(low)s–%(high)s, default %(default)s")
            if near
            else _("from %(low)s, default %(default)s")
        )
        return text % named

    @property
    def step(self) -> str:
        """The `step` attribute of the HTML input: "1" for whole numbers, otherwise "any"."""
        return "1" if self.parameter.kind == "int" else "any"

    @property
    def slides(self) -> bool:
        """True if a slider is shown beside the number: for numbers with a fraction whose range ends
        at SLIDER (10) or below, except shares that sum to 1.
        """
        one = self.parameter
        return (
            not self.linked
            and one.kind == "float"
            and one.low is not None
            and one.high is not None
            and one.high <= SLIDER
        )

    @property
    def changed(self) -> bool:
        """True if the value differs from the default."""
        return self.value != self.parameter.default


def _plain(value: Any, grouped: str = "") -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{int(value):{grouped}}" if value == int(value) else f"{value:{grouped}}"


def fields(
    parameters: Sequence[Parameter],
    values: Mapping[str, Any],
    prefix: str,
    wrong: Mapping[str, str] | None = None,
    linked: Sequence[str] = (),
    owner: str = "options",
) -> list[Field]:
    """Returns the form fields of parameters, filled with `values` or defaults; `wrong` are error
    messages by parameter name. `linked` names the parameters that are shares with the sum 1.
    `prefix` begins the fields' HTML names; `owner` is the name of the strategy that the parameters
    belong to, or "options" for those of the run.
    """
    return [
        Field(
            f"{prefix}{one.name}",
            one,
            values.get(one.name, one.default),
            _(one.help),
            [(choice, titles.choice(choice)) for choice in one.choices],
            (wrong or {}).get(one.name, ""),
            one.name in linked,
            titles.parameter(one.name, owner),
        )
        for one in parameters
    ]


def read(
    parameters: Sequence[Parameter], posted: QueryDict, prefix: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Reads the submitted values of parameters from fields whose HTML names begin with `prefix`.
    Returns the values in the parameters' types (as typed if invalid), and error messages for
    invalid ones; both are by parameter name.
    """
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for one in parameters:
        name = f"{prefix}{one.name}"
        raw = (
            ("yes" if name in posted else "no")
            if one.kind == "bool"
            else posted.get(name, str(one.default)).strip()
        )
        try:
            values[one.name] = one.read(raw)
        except ValueError as error:
            values[one.name], wrong[one.name] = raw, str(error)
    return values, wrong


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
            values, wrong["p"] = read(own, request.POST, "p_")
        options, wrong["o"] = read(general, request.POST, "o_")
        scope = _scope(request)
        if wanted(request):
            values, wrong["p"] = carry_out(request, name, values, wrong["p"])
        elif "show" not in request.POST and not (wrong["p"] or wrong["o"]):
            answer = _carry_out(request, topic, name, values, {**options, "scope": scope})
            if answer is not None:
                return answer
    shown = fields(general, options, "o_", wrong["o"])
    context = {
        "topic": topic,
        "strategy": name,
        "summary": _(found.summary),
        "strategies": strategies(),
        "fields": fields(own, values, "p_", wrong["p"], found.sum_to_one, name),
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
