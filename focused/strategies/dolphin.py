"""The strategy `dolphin` (patent CN1564157): combines anchor relevance, depth and TimelyRank (a
kind of PageRank) in one score, which is updated with every page.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import median
from typing import Any

from crawlmgr.web.url import host_key
from focused.graph import Node, State
from focused.pages import Link, Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy

HUGE = 1e300
"""Upper limit of the unnormalised TimelyRank, which grows with the number of paths and would
overflow; larger values are set to it."""


class Dolphin(Strategy):
    """Orders URLs by D = alpha Ra + beta Rd + gamma TR. With the default values of the other
    parameters:

    - Ra, anchor relevance: cosine of the raw frequencies of the topic's words and of the words of
      all anchors (and, with lower weight, the words around them) that pointed to the URL so far;
      the same anchor from the same host counts once.
    - Rd, closeness: 1 / d, with d = 1 for seeds and one more for each click from them.
    - TR, TimelyRank: 1 initially; each fetched page adds its own TR to every page it links to. It
      is scaled to [0, 1] by TR / (TR + kappa), where kappa is the median over the frontier,
      computed again each time the number of fetched pages has doubled.
    """

    name = "dolphin"
    sum_to_one = ("alpha", "beta", "gamma")
    title = gettext_noop("Dolphin")
    summary = gettext_noop(
        "Anchor relevance, closeness to the seeds and link importance, mixed by three weights."
    )
    resumable = True

    @dataclass(frozen=True, slots=True)
    class Settings:
        alpha: float = parameter(
            0.4,
            gettext_noop("Weight of the relevance of anchor texts"),
            0,
            1,
            title=gettext_noop("Weight of relevance (α)"),
        )
        beta: float = parameter(
            0.3,
            gettext_noop("Weight of closeness to the seeds"),
            0,
            1,
            title=gettext_noop("Weight of closeness (β)"),
        )
        gamma: float = parameter(
            0.3,
            gettext_noop("Weight of importance by links"),
            0,
            1,
            title=gettext_noop("Weight of importance (γ)"),
        )
        importance: str = parameter(
            "timely",
            gettext_noop(
                "TimelyRank; TimelyRank divided equally among a page's links; or OPIC (a page's"
                " importance value, its “cash”, is divided among its links)"
            ),
            choices=("timely", "split", "opic"),
            title=gettext_noop("Kind of importance"),
        )
        normalise: str = parameter(
            "saturating",
            gettext_noop(
                "How TimelyRank is normalised to [0, 1]: relative to the frontier's median, by"
                " logarithm, by rank, or not at all (as in the original paper)"
            ),
            choices=("saturating", "log", "rank", "none"),
            title=gettext_noop("Normalisation"),
        )
        aggregate: str = parameter(
            "sum",
            gettext_noop("Anchor texts from several pages: combined, or only the best one"),
            choices=("sum", "max"),
            title=gettext_noop("Several anchors"),
        )
        context: float = parameter(
            0.5,
            gettext_noop("Weight of a word around the link relative to a word of its anchor text"),
            0,
            1,
            title=gettext_noop("Weight of the context"),
        )
        once_per_host: bool = parameter(
            True,
            gettext_noop("Count the same anchor from the same host once"),
            title=gettext_noop("Count once per host"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._topic_words = self.topic.counts
        self._topic_squares = sum(f * f for f in self._topic_words.values())
        self._fetched = 0
        self._next_epoch = 1
        self._kappa = 1.0
        self._greatest = 1.0
        self._ranks: Sequence[float] = ()

    def state(self) -> dict[str, Any]:
        own = {
            "fetched": self._fetched,
            "next_epoch": self._next_epoch,
            "kappa": self._kappa,
            "greatest": self._greatest,
        }
        return {**own, "ranks": list(self._ranks) if self.settings.normalise == "rank" else []}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._fetched, self._next_epoch, self._ranks = (
            state["fetched"],
            state["next_epoch"],
            state["ranks"],
        )
        self._kappa, self._greatest = state["kappa"], state["greatest"]

    def prepare_seed(self, node: Node) -> None:
        node.data.update(ra=1.0, tr=1.0)

    def expand(self, node: Node, page: Page) -> None:
        self._fetched += 1
        importance = node.get("tr", 1.0)
        share = (
            importance
            if self.settings.importance == "timely"
            else importance / max(1, len(page.links))
        )
        for link in page.links:
            child = self.graph.add(link.url, node.depth + 1, node.url)
            start = 0.0 if self.settings.importance == "opic" else 1.0
            child.data["tr"] = min(HUGE, child.get("tr", start) + share)
            if child.state >= State.FETCHED or child.depth == 0:
                continue
            self._update_anchor_relevance(child, page, link)
            score = self.score(child)
            if child.state == State.KNOWN or score != child.priority:
                self.graph.push(child, score, parent=node.url)
        if self.settings.importance == "opic":
            node.data["tr"] = 0.0  # its TimelyRank has been passed on to the pages it links to
        if self._fetched >= self._next_epoch:
            self._renew()

    def score(self, node: Node) -> float:
        """Returns the current priority D of a URL."""
        s = self.settings
        score: float = (
            s.alpha * node.get("ra", 0.0)
            + s.beta / (node.depth + 1)
            + s.gamma * self._normalised(node.get("tr", 1.0))
        )
        return score

    def explain(self, node: Node) -> Mapping[str, float]:
        return {
            "D": node.priority,
            "Ra": node.get("ra", 0.0),
            "Rd": 1 / (node.depth + 1),
            "TR": self._normalised(node.get("tr", 1.0)),
        }

    def _update_anchor_relevance(self, child: Node, page: Page, link: Link) -> None:
        """Updates the anchor relevance Ra of the URL of `child` by one more link to it, `link` on
        the page `page`."""
        if self.settings.once_per_host:
            heard = child.data.setdefault("heard", [])
            mark = f"{host_key(page.url)} {link.anchor}"
            if mark in heard:
                return
            heard.append(mark)
        if self.settings.aggregate == "max":
            _, ra = self._cosine({}, link)
            child.data["ra"] = max(ra, child.get("ra", 0.0))
        else:
            counts, ra = self._cosine(child.data.setdefault("anchors", {}), link)
            child.data.update(anchors=counts, ra=ra)

    def _cosine(self, counts: dict[str, float], link: Link) -> tuple[dict[str, float], float]:
        for word in link.anchor_words:
            counts[word] = counts.get(word, 0.0) + 1
        weight = self.settings.context
        if weight:
            for word, closeness in link.context.items():
                counts[word] = counts.get(word, 0.0) + weight * closeness
        dot = sum(
            count * self._topic_words[word]
            for word, count in counts.items()
            if word in self._topic_words
        )
        squares = sum(count * count for count in counts.values())
        return counts, dot / sqrt(self._topic_squares * squares) if dot else 0.0

    def _normalised(self, tr: float) -> float:
        match self.settings.normalise:
            case "saturating":
                return tr / (tr + self._kappa)
            case "log":
                return log(max(1.0, tr)) / log(self._greatest) if self._greatest > 1 else 0.0
            case "rank":
                return bisect_left(self._ranks, tr) / len(self._ranks) if self._ranks else 0.0
        return tr

    def _renew(self) -> None:
        self._next_epoch = 2 * self._fetched
        waiting = sorted(node.get("tr", 1.0) for node in self.graph.queued())
        if waiting and self.settings.gamma and self.settings.normalise != "none":
            self._kappa = median(waiting) or 1.0
            self._greatest = max(waiting[-1], self._greatest)
            self._ranks = waiting
            self.graph.reprioritise(lambda node: self.score(node) if node.depth else node.priority)
