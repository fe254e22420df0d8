"""The strategy `fish` (De Bra and Post 1994), fish search in the form with priorities of Hersovici
et al. (1998): paths that stay off topic for too many steps are abandoned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crawlmgr.web.url import host_key
from focused.graph import Node
from focused.pages import Link, Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy


class Fish(Strategy):
    """Gives links a potential (their priority) and a number of remaining steps, by the parameters
    width, factor and depth:

    - Relevant page: its first width * factor links get potential 1, and all its links `depth`
      steps.
    - Off-topic page: its first `width` links get potential 0.5, and all its links one step less
      than the page has. The links of a page without remaining steps are dropped.
    - Other links get potential 0. With `front`, links of the newest relevant page precede those of
      earlier ones.
    """

    name = "fish"
    title = gettext_noop("Fish search")
    summary = gettext_noop(
        "Links of pages on topic first, and only a few steps beyond pages off topic."
    )
    resumable = True
    rule = "rule_depth"

    @dataclass(frozen=True, slots=True)
    class Settings:
        width: int = parameter(
            5,
            gettext_noop("Number of links followed from an off-topic page"),
            1,
            1000,
            title=gettext_noop("Links followed from a page off topic"),
        )
        factor: float = parameter(
            1.5,
            gettext_noop("Factor by which more links are followed from a page on topic"),
            1,
            10,
            title=gettext_noop("Factor for pages on topic"),
        )
        depth: int = parameter(
            3,
            gettext_noop("Maximum number of steps off topic"),
            1,
            20,
            title=gettext_noop("Maximum steps off topic"),
        )
        front: bool = parameter(
            True,
            gettext_noop(
                "The newest page on topic first (as in the original paper), not the oldest"
            ),
            title=gettext_noop("Newest first"),
        )
        other_sites: bool = parameter(
            False,
            gettext_noop("Links to other sites before links to the page's own"),
            title=gettext_noop("Other sites first"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pages = 0

    def state(self) -> dict[str, Any]:
        return {"pages": self._pages}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._pages = state["pages"]

    def prepare_seed(self, node: Node) -> None:
        node.data["left"] = self.settings.depth

    def expand(self, node: Node, page: Page) -> None:
        settings = self.settings
        left = settings.depth if page.relevant else node.get("left", 0) - 1
        if left < 0:
            self.drop_links(node, (link.url for link in page.links))
            return
        self._pages += 1
        chosen = int(settings.width * settings.factor) if page.relevant else settings.width
        best = 1.0 if page.relevant else 0.5
        if page.relevant and settings.front:
            # slightly above the priorities of all earlier links, so that the newest relevant page
            # comes first
            best += self._pages * 1e-9
        for number, link in enumerate(self._ordered(page)):
            child = self.open(node, link.url)
            if child is None:
                continue
            known = not self.needs_queueing(child)
            child.data["left"] = max(left, child.get("left", 0))
            potential = best if number < chosen else 0.0
            if not known or potential > child.priority:
                self.graph.push(child, potential, parent=node.url)

    def _ordered(self, page: Page) -> Sequence[Link]:
        if not self.settings.other_sites:
            return page.links
        own = host_key(page.url)
        return sorted(page.links, key=lambda link: host_key(link.url) == own)
