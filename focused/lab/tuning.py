"""A topic's strategy and its parameters: choosing them, undoing a choice, presets, and previews on
archived pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from crawlmgr.upkeep import settings_history
from focused import reads
from focused.lab import stored_comparisons
from focused.lab.comparison import PATENT_WEIGHTS
from focused.models import Comparison, Topic
from focused.parameters import RunOptions, read_settings
from focused.run.scope import Scope
from focused.strategies.base import strategy_class

KIND = "topic"
DRAWS = 3
"""Number of random draws in the comparison of a preview."""
NOW, TYPED = "as saved", "as typed"
"""Labels that distinguish the two entries of a preview's comparison."""
AS_PUBLISHED: Mapping[str, Mapping[str, Any]] = {
    "best_first": {"anchor": 0.0, "off_topic": "drop"},
    "pagerank": {"off_topic": "drop"},
    "fish": {"front": True},
    "dynamic_tunnel": {"mode": "literal", "order": "level"},
    "ant_colony": {"similarity": "words", "siblings": False, "revisit": True, "stop": True},
    "dolphin": {"normalise": "none"},
}
"""Parameters with which strategies are closest to their original publications."""


def built_in(strategy: str) -> dict[str, dict[str, Any]]:
    """Returns the built-in presets of a strategy, each as parameters by name: "defaults",
    "published" (closest to the original publication) if it differs, and for `dolphin` the weights
    of the patent's four runs."""
    found: dict[str, dict[str, Any]] = {"defaults": {}}
    if strategy in AS_PUBLISHED:
        found["published"] = dict(AS_PUBLISHED[strategy])
    if strategy == "dolphin":
        found |= {name: dict(weights) for name, weights in PATENT_WEIGHTS.items()}
    return found


def preset_kind(strategy: str) -> str:
    """Returns the identifier ("kind") under which `settings_history` stores the presets of a
    strategy."""
    return f"{KIND}:{strategy}"


def preset(strategy: str, name: str) -> dict[str, Any] | None:
    """Returns the parameters of the preset `name`; a user's preset takes precedence over a built-in
    one of the same name. None if there is none."""
    own = {one.name: dict(one.values) for one in settings_history.presets(preset_kind(strategy))}
    return {**built_in(strategy), **own}.get(name)


def values_of(topic: Topic) -> dict[str, Any]:
    """Returns the values of a topic that its settings history records: `strategy`, `parameters` and
    `options`."""
    return {"strategy": topic.strategy, "parameters": topic.parameters, "options": topic.options}


@transaction.atomic
def choose(
    topic: Topic,
    strategy: str,
    parameters: Mapping[str, Any],
    *,
    options: Mapping[str, Any] | None = None,
    now: datetime,
    user: Any = None,
) -> None:
    """Sets the topic's strategy, parameters, and options of its runs, and records the change.
    Raises ValueError with a one-line message if a value is invalid.
    """
    read_settings(strategy_class(strategy, settings.TOPIC_STRATEGIES).Settings, parameters)
    wishes = dict(topic.options if options is None else options)
    Scope.from_mapping({"year": now.year, **wishes.get("scope", {})})
    read_settings(RunOptions, {name: value for name, value in wishes.items() if name != "scope"})
    after = {"strategy": strategy, "parameters": dict(parameters), "options": wishes}
    settings_history.note(KIND, topic.pk, values_of(topic), after, now=now, user=user)
    _store(topic, after)


@transaction.atomic
def undo(topic: Topic, *, now: datetime) -> None:
    """Undoes the newest recorded change of the topic's strategy, parameters and options. Raises
    ValueError with a one-line message if there is no change to undo, or the values have changed
    since without a record."""
    _store(topic, settings_history.undo(KIND, topic.pk, values_of(topic), now=now))


def preview(
    topic: Topic, strategy: str, parameters: Mapping[str, Any], *, now: datetime, user: Any = None
) -> Comparison:
    """Starts a comparison of the entered parameters with the saved ones, over the pages of the
    topic's runs. Raises ValueError if there are no such pages.
    """
    own: list[int] = next(
        (choice["files"] for choice in reads.archive_choices(topic) if not choice["name"]), []
    )
    if not own:
        raise ValueError("no run of the topic has pages in the archive yet")
    entries = {f"{topic.strategy} {NOW}": topic.parameters, f"{strategy} {TYPED}": dict(parameters)}
    return stored_comparisons.start(
        topic, entries, reads.budget(own), own, now=now, draws=DRAWS, user=user
    )


def _store(topic: Topic, values: Mapping[str, Any]) -> None:
    Topic.objects.filter(pk=topic.pk).update(**values)
    topic.refresh_from_db(fields=list(values))
