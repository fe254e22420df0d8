"""Display names of strategies, their parameters and choices, in the user's language. Each strategy
defines the names of its own parameters and choices; this module has those that several strategies
share. Also the template filter for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django import template
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin import tags
from focused.lab import stored_comparisons as comparison_services
from focused.lab.stored_comparisons import SWEEPS, TAU, Sweep
from focused.lab.tuning import NOW, TYPED
from focused.models import Comparison, TopicRun
from focused.parameters import RunOptions, parameters_of
from focused.strategies.base import BUILT_IN, strategy_class

CHOICES: Mapping[str, str] = {
    "follow": gettext_noop("follow"),
    "reserve": gettext_noop("keep in reserve and follow last"),
    "drop": gettext_noop("drop"),
    "similarity": gettext_noop("by similarity"),
    "page": gettext_noop("in page order"),
    "timely": gettext_noop("TimelyRank"),
    "split": gettext_noop("split equally"),
    "opic": gettext_noop("OPIC"),
    "saturating": gettext_noop("relative to the median"),
    "log": gettext_noop("logarithm"),
    "rank": gettext_noop("by rank"),
    "none": gettext_noop("none"),
    "sum": gettext_noop("combined"),
    "max": gettext_noop("only the best one"),
    "share": gettext_noop("a share of the fetches"),
    "literal": gettext_noop("as published"),
    "promise": gettext_noop("highest promise first"),
    "level": gettext_noop("deepest first"),
    "cosine": gettext_noop("cosine of word weights"),
    "words": gettext_noop("word by word"),
    "samples": gettext_noop("the samples"),
    "seeds": gettext_noop("the seed pages"),
    "net": gettext_noop("from the network"),
    "archive": gettext_noop("from the archive"),
    "mixed": gettext_noop("archive first, then network"),
    "memory": gettext_noop("in memory"),
    "database": gettext_noop("in the database"),
    "plain": gettext_noop("equal weights"),
    "weighted": gettext_noop("by distance from the link"),
    "count": gettext_noop("count towards the budget"),
    "free": gettext_noop("do not count towards the budget"),
}
PARTS: Mapping[str, str] = {
    "score": gettext_noop("score: all parts together"),
    "priority": gettext_noop("priority"),
    "anchor": gettext_noop("anchor text"),
    "context": gettext_noop("words around the link"),
    "parent_best": gettext_noop("best page with the link"),
    "parent_mean": gettext_noop("pages with the link (mean)"),
    "siblings_best": gettext_noop("results of the page's other links (best page)"),
    "siblings_mean": gettext_noop("results of the pages' other links (mean)"),
    "template": gettext_noop("fetched pages with a similar address"),
    "host": gettext_noop("pages of the host"),
    "in_links": gettext_noop("number of links to this page"),
    "depth": gettext_noop("clicks from a seed"),
    "off_topic_run": gettext_noop("pages off topic in a row before the link"),
    "rank": gettext_noop("rank passed on by linking pages"),
    "age": gettext_noop("time it has waited"),
    "words": gettext_noop("result of links with the same words"),
    "worth": gettext_noop("relevance of the link: anchor, page and target"),
    "page": gettext_noop("page with the link"),
    "target": gettext_noop("expected relevance of the target"),
    "pheromone": gettext_noop("pheromone (τ)"),
    "potential": gettext_noop("potential"),
    "inherited": gettext_noop("inherited from the pages before"),
    "neighbourhood": gettext_noop("anchor and the words around it"),
    "left": gettext_noop("steps left off topic"),
    "steps_left": gettext_noop("steps left in the tunnel (k)"),
    "off_topic_before": gettext_noop("pages off topic in a row before the link"),
    "D": gettext_noop("mixed score (D)"),
    "Ra": gettext_noop("relevance of the anchors (Ra)"),
    "Rd": gettext_noop("closeness to the seeds (Rd)"),
    "TR": gettext_noop("importance by links (TR)"),
    "relevance": gettext_noop("relevance of the page with the link"),
    "hub": gettext_noop("hub score of the page with the link"),
    "likeness": gettext_noop("similarity of anchor and address to the topic"),
    "page_similarity": gettext_noop("similarity of the page with the link"),
}
"""Display names of the parts of a link's score."""
WHOLES = ("score", "priority", "worth", "potential", "D")
"""Parts of a score that are totals of the others."""
QUEUES: Mapping[str, str] = {
    "given_up": gettext_noop("dropped by a rule"),
    "copies": gettext_noop("likely copies, fetched last"),
    "reserve": gettext_noop("in reserve"),
    "other": gettext_noop("in no layer"),
    "later": gettext_noop("postponed"),
    "tunnel": gettext_noop("in tunnels"),
}
PRESETS: Mapping[str, str] = {
    "defaults": gettext_noop("Defaults"),
    "published": gettext_noop("As published"),
    "similarity": gettext_noop("Patent: relevance alone"),
    "depth": gettext_noop("Patent: closeness alone"),
    "links": gettext_noop("Patent: importance alone"),
    "mixed": gettext_noop("Patent: mixed"),
}
SCOPE: Mapping[str, str] = {
    "hosts": gettext_noop("Only hosts"),
    "without_hosts": gettext_noop("Excluded hosts"),
    "paths": gettext_noop("Only these paths"),
    "without_paths": gettext_noop("Excluded paths"),
    "depth": gettext_noop("Maximum clicks from a seed"),
}


def strategies() -> list[str]:
    """Returns the names of all strategies; those added in the settings come last."""
    return [*BUILT_IN, *settings.TOPIC_STRATEGIES]


def strategy(name: str) -> str:
    """Returns a strategy's display name; the identifier if the strategy has no title or is
    unknown."""
    title = strategy_class(name, settings.TOPIC_STRATEGIES).title if name in strategies() else ""
    return _(title) if title else name


def parameter(name: str, owner: str = "") -> str:
    """Returns a parameter's display name; its identifier if there is none. `owner` is the
    parameter's strategy, or "options" for options of a run."""
    if owner != "options" and owner not in strategies():
        return name
    known = (
        RunOptions
        if owner == "options"
        else strategy_class(owner, settings.TOPIC_STRATEGIES).Settings
    )
    title = next((one.title for one in parameters_of(known) if one.name == name), "")
    return _(title) if title else name


@cache
def _words() -> Mapping[str, str]:
    """Returns the display names, by identifier, that the strategies define for their choices, score
    parts and queues."""
    found: dict[str, str] = {}
    for name in strategies():
        found.update(strategy_class(name, settings.TOPIC_STRATEGIES).words)
    return found


def choice(name: str) -> str:
    """Returns the display name of a parameter's choice; its identifier if there is none."""
    title = CHOICES.get(name) or _words().get(name)
    return _(title) if title else name


def part(name: str) -> str:
    """Returns the display name of a part of a link's score; its identifier if there is none."""
    title = PARTS.get(name) or _words().get(name)
    return _(title) if title else name


def score_parts(values: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """Returns the parts of a link's score as (identifier, display name, value): totals first, then
    parts by absolute value."""
    order = sorted(values, key=lambda name: (name not in WHOLES, -abs(values[name]), name))
    return [(name, part(name), values[name]) for name in order]


def queue(name: str) -> str:
    """Returns the display name of a strategy's queue; its identifier if there is none."""
    if name.startswith("layer"):
        return _("layer %(number)s") % {"number": name.removeprefix("layer")}
    title = QUEUES.get(name) or _words().get(name)
    return _(title) if title else name


def preset(name: str) -> str:
    """Returns the display name of a built-in preset."""
    return _(PRESETS[name])


def setting(path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Returns the display name of one of a topic's settings for the history of changes. `path` is
    the path of keys to the setting, such as ("options", "scope", "depth"); `values` are all the
    topic's settings."""
    if path == ("strategy",):
        return _("Strategy")
    if path[:2] == ("options", "scope"):
        return _(SCOPE[path[-1]]) if path[-1] in SCOPE else path[-1]
    owner = str(values.get("strategy", "")) if path[0] == "parameters" else "options"
    return parameter(path[-1], owner)


def value(path: tuple[str, ...], set_to: Any) -> Any:
    """Returns the value `set_to` of one of a topic's settings (`path` is the path of keys to it)
    for the history of changes: the display name of a strategy or of a parameter's choice, any other
    value unchanged."""
    if not isinstance(set_to, str) or not set_to or path[:2] == ("options", "scope"):
        return set_to
    return strategy(set_to) if path == ("strategy",) else choice(set_to)


register = template.Library()
register.filter("strategy", strategy)


@register.filter
def harvest(run: TopicRun | None) -> str:
    """Returns the harvest rate of a run with its interval; a dash if the marks are too few."""
    if run is None or run.harvest_rate is None:
        return tags.NOTHING
    low, high = (f"{100 * bound:.0f}" for bound in run.harvest["interval"])
    return f"{tags.share(run.harvest_rate)} ({low}–{high} %)"


SYMBOL = re.compile(r"[(（](\w{1,2})[)）]$")
"""Pattern for the symbol at the end of a parameter's name, such as β in "Weight of closeness (β)".
"""


def shown(entry: str) -> str:
    """Returns the display name of a comparison's entry (such as "dolphin links"): the strategy's,
    followed by the parameters or the label after the first word, which distinguish entries of one
    strategy."""
    name, _sign, rest = entry.partition(" ")
    entered = {NOW: _("saved parameters"), TYPED: _("entered parameters")}.get(rest)
    told = entered or (preset(rest) if rest in PRESETS else _point(name, rest))
    return " · ".join(part for part in (strategy(name), told) if part)


def _point(strategy: str, label: str) -> str:
    """Returns the part `label` of an entry's name for display: parameters at one point of a sweep,
    such as "alpha=0.25 beta=0.5", get their symbols or display names; any other label is returned
    unchanged."""
    values = [part.partition("=") for part in label.split()]
    if not all(name and value for name, _sign, value in values):
        return label
    return ", ".join(f"{_symbol(name, strategy)} = {value}" for name, _sign, value in values)


def _symbol(name: str, strategy: str) -> str:
    title = "τ" if name == TAU else parameter(name, strategy)
    symbol = SYMBOL.search(title)
    return symbol.group(1) if symbol else title


def axes(sweep: Sweep) -> dict[str, str]:
    """Returns the display names of the parameters of a sweep: of the two that it varies (keys "x",
    "y"), and of the third, which is 1 minus these two (key "rest"), if there is one."""
    places = {"x": sweep.x, "y": sweep.y, "rest": sweep.rest}
    return {
        place: "τ" if name == TAU else parameter(name, sweep.strategy)
        for place, name in places.items()
        if name
    }


def sweep_title(name: str) -> str:
    """Returns the display title of a parameter sweep, which names the two parameters that are
    varied."""
    titles = {
        "weights": _("Dolphin: three weights with sum 1"),
        "tunnels": _(
            "Dynamic tunnels: length of tunnels (k) against threshold (τ, as a multiple of the"
            " topic's)"
        ),
        "ants": _("Ant colony: number of ants against evaporation (ρ)"),
    }
    return titles[name]


def named(comparisons: Iterable[Comparison]) -> list[dict[str, object]]:
    """Returns for each comparison a dictionary with `comparison` and `names`, the display names of
    its entries; for the entries of a sweep there is one name, the sweep's title with their number.
    """
    rows = []
    for one in comparisons:
        sweep = SWEEPS.get(one.setup.get("sweep", ""))
        inside = sweep.entries() if sweep is not None else {}
        names = [shown(name) for name in comparison_services.entries(one) if name not in inside]
        if sweep is not None:
            names.append(f"{sweep_title(one.setup['sweep'])} ({len(inside)})")
        rows.append({"comparison": one, "names": names})
    return rows
