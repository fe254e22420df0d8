"""Options of a topic run: budgets, sources of pages, storage of the link graph. They are typed, for
forms and the command line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from focused.parameters import gettext_noop, parameter

SOURCES = ("net", "archive", "mixed")
GRAPHS = ("memory", "database")
PAGES_PER_HOST = 20_000
"""Default limit of pages fetched from one host in a run; its further addresses are dropped. Without
a limit, a host that generates addresses without end (search results, filters) would use up a run
over many hosts. 20,000 pages take five hours at the usual delay."""
CONTEXTS = ("plain", "weighted")
"""Names of the ways to weigh the words around a link; keys of `focused.parse.CONTEXTS`."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a topic run. The budgets `minutes`, `relevant` and `pages_per_host` are unlimited
    if 0; the budget `pages` is at least 1 and always applies."""

    pages: int = parameter(
        1000,
        gettext_noop("Maximum number of pages to fetch"),
        1,
        100_000_000,
        title=gettext_noop("Number of pages"),
    )
    minutes: float = parameter(
        0.0,
        gettext_noop("Maximum number of minutes (0: no limit)"),
        0,
        1_000_000,
        title=gettext_noop("Time limit"),
    )
    relevant: int = parameter(
        0,
        gettext_noop("Stop after N relevant pages (0: no limit)"),
        0,
        100_000_000,
        title=gettext_noop("Relevant pages"),
    )
    pages_per_host: int = parameter(
        PAGES_PER_HOST,
        gettext_noop(
            "Pages to fetch from one host at most (0: no limit); by default none if the scope is"
            " one host"
        ),
        0,
        1_000_000_000,
        title=gettext_noop("Pages of one host"),
    )
    source: str = parameter(
        "net",
        gettext_noop(
            "Where pages come from: the network, the archive, or the archive first and then the"
            " network"
        ),
        choices=SOURCES,
        title=gettext_noop("Source of pages"),
    )
    fresh_days: float = parameter(
        0.0,
        gettext_noop(
            "If pages come from the archive first, then the network: age in days from which a"
            " stored page is fetched again (0: never)"
        ),
        0,
        10_000,
        title=gettext_noop("Refetch after (days)"),
    )
    known: str = parameter(
        "count",
        gettext_noop(
            "If pages come from the archive first, then the network: whether those from the archive"
            " count towards the maximum number of pages"
        ),
        choices=("count", "free"),
        title=gettext_noop("Stored pages"),
    )
    graph: str = parameter(
        "memory",
        gettext_noop(
            "Where the link graph is stored: in memory (small, fast) or in the database (large)"
        ),
        choices=GRAPHS,
        title=gettext_noop("Link graph"),
    )
    ahead: int = parameter(
        0,
        gettext_noop(
            "Number of addresses to choose ahead, while earlier pages are still being fetched (0:"
            " as many as keep the connection busy)"
        ),
        0,
        512,
        title=gettext_noop("Links chosen ahead"),
    )
    canonical: bool = parameter(
        True,
        gettext_noop(
            "Take the address that a page gives as its own (rel=canonical) as another address of"
            " the same page"
        ),
        title=gettext_noop("Use rel=canonical"),
    )
    sitemaps: bool = parameter(
        False,
        gettext_noop(
            "Also read the sitemaps of the seeds' hosts (named in robots.txt); the addresses most"
            " on topic are queued"
        ),
        title=gettext_noop("Read sitemaps"),
    )
    context: str = parameter(
        "plain",
        gettext_noop("How words around a link are weighted"),
        choices=CONTEXTS,
        title=gettext_noop("Words around links"),
    )
    main_text: bool = parameter(
        False,
        gettext_noop("Judge pages by their main text, without menus"),
        title=gettext_noop("Main text only"),
    )
    packed: bool = parameter(
        True,
        gettext_noop("Store the words of pages compressed"),
        title=gettext_noop("Compressed words"),
    )
    cache: int = parameter(
        256,
        gettext_noop("Pages of the archive that a worker keeps parsed in memory"),
        0,
        100_000,
        title=gettext_noop("Parsed pages kept"),
    )
    history: int = parameter(
        0,
        gettext_noop("Number of an earlier run that the strategy learns from (0: none)"),
        0,
        10**15,
        title=gettext_noop("Run to learn from"),
    )
    random_seed: int = parameter(
        1,
        gettext_noop("Seed of the random numbers of randomised strategies"),
        0,
        2**31,
        title=gettext_noop("Random seed"),
    )

    def as_json(self) -> dict[str, Any]:
        """Returns the options as plain values by name."""
        return asdict(self)
