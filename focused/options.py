"""Options of a topic run: budgets, sources of pages, storage of the graph; typed, for forms and the command line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from focused.parameters import parameter

SOURCES = ("net", "archive", "mixed")
GRAPHS = ("memory", "database")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a topic run. A budget of 0 means none; the budget of pages always applies."""

    pages: int = parameter(1000, "Pages to fetch at most", 1, 100_000_000)
    minutes: float = parameter(0.0, "Minutes at most (0: no limit)", 0, 1_000_000)
    relevant: int = parameter(0, "Stop after N relevant pages (0: no limit)", 0, 100_000_000)
    pages_per_host: int = parameter(0, "Pages to fetch from one host at most (0: no limit)", 0, 1_000_000_000)
    source: str = parameter("net", "Where pages come from: the network, the archive, or the archive first and then the "
                                   "network", choices=SOURCES)
    fresh_days: float = parameter(0.0, "Mixed runs: age in days from which a stored page is fetched again (0: never)", 0, 10_000)
    known: str = parameter(
        "count", "Whether pages from the archive use up the budget of a mixed run, or do not count", choices=("count", "free")
    )
    graph: str = parameter("memory", "Where the link graph is stored: in memory (small, fast) or in the database "
                                     "(large)", choices=GRAPHS)
    ahead: int = parameter(
        0, "Number of addresses chosen ahead, before the pages of earlier ones have arrived (0: as many as keep the "
           "connection busy)", 0, 512
    )
    context: str = parameter("plain", "How words around a link are weighted", choices=("plain", "weighted"))
    main_text: bool = parameter(False, "Judge pages by their main text, without menus")
    packed: bool = parameter(True, "Store the words of pages compressed")
    cache: int = parameter(256, "Pages of the archive that a worker keeps parsed in memory", 0, 100_000)
    history: int = parameter(0, "Number of an earlier run that the strategy learns from (0: none)", 0, 10**15)
    random_seed: int = parameter(1, "Seed of the random numbers of randomised strategies", 0, 2**31)

    def as_json(self) -> dict[str, Any]:
        """The options as plain values."""
        return asdict(self)
