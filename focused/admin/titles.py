"""Display names of strategies, their parameters and choices; identifiers are shown beside the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

STRATEGIES: Mapping[str, str] = {
    "adaptive": gettext_noop("Adaptive learning"),
    "breadth_first": gettext_noop("Breadth first"),
    "depth_first": gettext_noop("Depth first"),
    "best_first": gettext_noop("Best first"),
    "fish": gettext_noop("Fish search"),
    "shark": gettext_noop("Shark search"),
    "pagerank": gettext_noop("PageRank"),
    "dolphin": gettext_noop("Dolphin"),
    "static_tunnel": gettext_noop("Fixed tunnels"),
    "dynamic_tunnel": gettext_noop("Dynamic tunnels"),
    "context_graph": gettext_noop("Context graph"),
    "classifier_distiller": gettext_noop("Classifier and distiller"),
    "ant_colony": gettext_noop("Ant colony"),
    "space_evolution": gettext_noop("Space evolution"),
}
OF_STRATEGY: Mapping[str, str] = {
    "dynamic_tunnel.order": gettext_noop("Order in a tunnel"),
    "dynamic_tunnel.depth": gettext_noop("Length of a tunnel (k)"),
    "dynamic_tunnel.anchor": gettext_noop("Weight of the anchor"),
    "dynamic_tunnel.width": gettext_noop("Links followed in a tunnel"),
    "ant_colony.depth": gettext_noop("Links per ant"),
    "ant_colony.alpha": gettext_noop("Exponent of the pheromone (α)"),
    "ant_colony.beta": gettext_noop("Exponent of the promise (β)"),
    "dolphin.alpha": gettext_noop("Weight of relevance (α)"),
    "dolphin.beta": gettext_noop("Weight of closeness (β)"),
    "dolphin.gamma": gettext_noop("Weight of importance (γ)"),
    "shark.beta": gettext_noop("Share of the anchor (β)"),
    "shark.gamma": gettext_noop("Share inherited (γ)"),
    "space_evolution.pages": gettext_noop("Pages per cycle"),
    "options.context": gettext_noop("Words around links"),
}
PARAMETERS: Mapping[str, str] = {
    "order": gettext_noop("Order of links"),
    "tree": gettext_noop("Decision tree"),
    "training_pages": gettext_noop("Pages to learn from"),
    "tree_depth": gettext_noop("Depth of the tree"),
    "anchor": gettext_noop("Share of the anchor"),
    "off_topic": gettext_noop("Links of pages off topic"),
    "width": gettext_noop("Links of a page off topic"),
    "factor": gettext_noop("Factor on topic"),
    "depth": gettext_noop("Steps off topic"),
    "front": gettext_noop("Newest first"),
    "other_sites": gettext_noop("Other sites first"),
    "delta": gettext_noop("Share passed on (δ)"),
    "similar": gettext_noop("Similarity threshold"),
    "importance": gettext_noop("Kind of importance"),
    "normalise": gettext_noop("Normalisation"),
    "aggregate": gettext_noop("Several anchors"),
    "context": gettext_noop("Weight of the context"),
    "once_per_host": gettext_noop("Once per host"),
    "length": gettext_noop("Length of tunnels (k)"),
    "url": gettext_noop("Weight of the URL"),
    "hold": gettext_noop("Relevance without step cost"),
    "first_predict": gettext_noop("No step cost on the first page"),
    "near": gettext_noop("Near-topic words"),
    "mode": gettext_noop("Scheduling of tunnels"),
    "share": gettext_noop("Share for tunnels"),
    "page": gettext_noop("Weight of the page"),
    "step": gettext_noop("Cost of a step"),
    "cap": gettext_noop("Longest tunnel"),
    "host_budget": gettext_noop("Budget of a host"),
    "beyond": gettext_noop("Links beyond the tunnels"),
    "layers": gettext_noop("Layers"),
    "terms": gettext_noop("Words to distinguish layers"),
    "confidence": gettext_noop("Minimum probability"),
    "first": gettext_noop("Pages before learning"),
    "hub": gettext_noop("Share of hubs"),
    "every": gettext_noop("Pages between trainings"),
    "smoothing": gettext_noop("Smoothing"),
    "trust": gettext_noop("Trust in pre-trained weights"),
    "tunnel": gettext_noop("Credit through tunnels"),
    "together": gettext_noop("Pages chosen at once"),
    "feedback": gettext_noop("Learning judge"),
    "learn": gettext_noop("Learning weights"),
    "ants": gettext_noop("Ants"),
    "rho": gettext_noop("Evaporation (ρ)"),
    "q0": gettext_noop("Greed (q₀)"),
    "initial": gettext_noop("Initial pheromone"),
    "local": gettext_noop("Local evaporation"),
    "pool": gettext_noop("Pool of starts"),
    "starts": gettext_noop("Starts"),
    "h1": gettext_noop("Weight of the anchor (h₁)"),
    "h2": gettext_noop("Weight of the page (h₂)"),
    "h3": gettext_noop("Weight of the target (h₃)"),
    "quantile": gettext_noop("Share of links not fetched"),
    "threshold": gettext_noop("Minimum score"),
    "prior": gettext_noop("Weight of a link's words"),
    "siblings": gettext_noop("Links of the same page"),
    "revisit": gettext_noop("Links to fetched pages"),
    "similarity": gettext_noop("Kind of similarity"),
    "one_per_concept": gettext_noop("One link a concept"),
    "stop": gettext_noop("Early end"),
    "library": gettext_noop("Size of the library"),
    "toward": gettext_noop("Reference"),
    "pages": gettext_noop("Number of pages"),
    "minutes": gettext_noop("Time limit"),
    "relevant": gettext_noop("Relevant pages"),
    "pages_per_host": gettext_noop("Pages of one host"),
    "source": gettext_noop("Source of pages"),
    "fresh_days": gettext_noop("Freshness"),
    "known": gettext_noop("Stored pages"),
    "graph": gettext_noop("Link graph"),
    "ahead": gettext_noop("Chosen ahead"),
    "main_text": gettext_noop("Main text only"),
    "packed": gettext_noop("Compressed words"),
    "cache": gettext_noop("Parsed pages kept"),
    "history": gettext_noop("Run to learn from"),
    "random_seed": gettext_noop("Random seed"),
}
CHOICES: Mapping[str, str] = {
    "follow": gettext_noop("follow"),
    "reserve": gettext_noop("keep in reserve"),
    "drop": gettext_noop("leave out"),
    "similarity": gettext_noop("by similarity"),
    "page": gettext_noop("as on the page"),
    "timely": gettext_noop("TimelyRank"),
    "split": gettext_noop("in equal parts"),
    "opic": gettext_noop("OPIC"),
    "saturating": gettext_noop("against the median"),
    "log": gettext_noop("logarithm"),
    "rank": gettext_noop("by rank"),
    "none": gettext_noop("not at all"),
    "sum": gettext_noop("together"),
    "max": gettext_noop("the best one"),
    "share": gettext_noop("a share of the fetches"),
    "literal": gettext_noop("as published"),
    "promise": gettext_noop("greatest promise first"),
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
    "plain": gettext_noop("all alike"),
    "weighted": gettext_noop("by distance"),
    "count": gettext_noop("use up the budget"),
    "free": gettext_noop("do not count"),
}
PARTS: Mapping[str, str] = {
    "score": gettext_noop("score: all parts together"),
    "priority": gettext_noop("priority"),
    "anchor": gettext_noop("anchor text"),
    "context": gettext_noop("words around the link"),
    "parent_best": gettext_noop("best page with the link"),
    "parent_mean": gettext_noop("pages with the link, mean"),
    "siblings_best": gettext_noop("other links of a page with it, best"),
    "siblings_mean": gettext_noop("other links of the pages with it, mean"),
    "template": gettext_noop("pages of the same kind of address"),
    "host": gettext_noop("pages of the host"),
    "in_links": gettext_noop("number of links to it"),
    "depth": gettext_noop("clicks from a seed"),
    "off_topic_run": gettext_noop("pages off topic in a row before it"),
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
    "off_topic_before": gettext_noop("pages off topic in a row before it"),
    "D": gettext_noop("mixed score (D)"),
    "Ra": gettext_noop("relevance of the anchors (Ra)"),
    "Rd": gettext_noop("closeness to the seeds (Rd)"),
    "TR": gettext_noop("importance by links (TR)"),
    "relevance": gettext_noop("relevance of the page with the link"),
    "hub": gettext_noop("hub score of the page with the link"),
    "likeness": gettext_noop("similarity of anchor and address to the topic"),
    "page_similarity": gettext_noop("similarity of the page with the link"),
}
"""Names of the parts of a link's score."""
WHOLES = ("score", "priority", "worth", "potential", "D")
"""Parts that are totals of the other parts."""
QUEUES: Mapping[str, str] = {
    "given_up": gettext_noop("given up by a rule"),
    "reserve": gettext_noop("in reserve"),
    "other": gettext_noop("of no layer"),
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
    "without_hosts": gettext_noop("Not hosts"),
    "paths": gettext_noop("Only paths"),
    "without_paths": gettext_noop("Not paths"),
    "depth": gettext_noop("Clicks from a seed"),
}


def strategy(name: str) -> str:
    """A strategy's name in the user's language with its identifier; for strategies added in the settings only the identifier."""
    title = STRATEGIES.get(name)
    return f"{_(title)} ({name})" if title else name


def parameter(name: str, owner: str = "") -> str:
    """A parameter's name; `owner` is its strategy, or "options"."""
    title = OF_STRATEGY.get(f"{owner}.{name}") or PARAMETERS.get(name)
    return _(title) if title else name


def choice(name: str) -> str:
    """A choice's name with its identifier."""
    title = CHOICES.get(name)
    return f"{_(title)} ({name})" if title else name


def part(name: str) -> str:
    """The name of a part of a link's score."""
    return _(PARTS[name]) if name in PARTS else name


def parts(values: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """A link's score as (identifier, name, value) of each part: totals first, then parts by absolute value."""
    order = sorted(values, key=lambda name: (name not in WHOLES, -abs(values[name]), name))
    return [(name, part(name), values[name]) for name in order]


def queue(name: str) -> str:
    """The name of a strategy's queue."""
    if name.startswith("layer"):
        return _("layer %(number)s") % {"number": name.removeprefix("layer")}
    return _(QUEUES[name]) if name in QUEUES else name


def preset(name: str) -> str:
    """The name of a built-in preset."""
    return _(PRESETS[name])


def setting(way: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """The name of one of a topic's settings, as shown in its history."""
    if way == ("strategy",):
        return _("Strategy")
    if way[:2] == ("options", "scope"):
        return _(SCOPE[way[-1]]) if way[-1] in SCOPE else way[-1]
    owner = str(values.get("strategy", "")) if way[0] == "parameters" else "options"
    return parameter(way[-1], owner)
