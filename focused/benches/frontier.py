"""`bench frontier`: measures pages per CPU second of the whole crawl loop with 10,000 to 1,000,000
waiting URLs, with the URL graph in memory and in the database.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.benches.processes import answer_of
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table

HELP = "pages a CPU-second of the whole loop with few and many URLs waiting, and bytes per URL"
GRAPHS = ("memory", "database")


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--sizes", default="10000,100000,1000000", help="numbers of URLs waiting, by comma"
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=1000,
        help="pages fetched with that many waiting (default 1000)",
    )
    parser.add_argument(
        "--graphs", default="memory,database", help="memory, database or both, by comma"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="rounds, the median counts (default 1)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures every size and kind of graph in a process of its own, one size after another in each
    round, and returns the medians over the rounds. `ratio` in a row is the speed relative to the
    smallest size of the same kind of graph.
    """
    sizes = [int(size) for size in options["sizes"].split(",")]
    rows = []
    for graph in options["graphs"].split(","):
        if graph not in GRAPHS:
            raise CommandError(f"a graph is one of {', '.join(GRAPHS)}, not {graph}")
        measured: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
        for _ in range(options["rounds"]):
            for size in sizes:
                measured[size].append(
                    answer_of("focused.benches.frontier_side", graph, size, options["pages"])
                )
                say(
                    f"{graph}, {size} waiting: {measured[size][-1]['pages_per_second']:.0f} pages a"
                    " CPU-second"
                )
        first = _median([one["pages_per_second"] for one in measured[sizes[0]]])
        for size in sizes:
            row = {
                name: _median([one[name] for one in measured[size]]) for name in measured[size][0]
            }
            rows.append(
                {"graph": graph, "waiting": size, **row, "ratio": row["pages_per_second"] / first}
            )
    return {"pages": options["pages"], "rows": rows}


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each kind of graph and size."""
    rows = [
        (
            *(r["graph"], r["waiting"], round(r["pages_per_second"], 1), round(r["ratio"], 3)),
            *(round(1000 * r["graph_seconds_per_page"], 2), round(r["bytes_per_url"])),
        )
        for r in result["rows"]
    ]
    return text_table(
        ("graph", "waiting", "pages/CPU-s", "ratio", "ms/page without parsing", "bytes/URL"), rows
    )
