"""The command `deepweb cluster`: clusters the search forms by subject."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import Result, table
from deepweb.forms import clustering, clusters


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--k",
        default="auto",
        metavar="K|auto",
        help="number of clusters, or auto: by silhouette (default)",
    )
    parser.add_argument(
        "--method",
        choices=("kmeans", "literal"),
        default="kmeans",
        help="k-means, or the source's own algorithm",
    )
    parser.add_argument(
        "--c1",
        type=float,
        default=clustering.C1,
        help=f"share of the page's words (default {clustering.C1})",
    )
    parser.add_argument(
        "--c2",
        type=float,
        default=clustering.C2,
        help=f"share of the form's words (default {clustering.C2})",
    )
    parser.add_argument("--random-seed", type=int, default=1)


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    k: int | None = None
    if options["k"] != "auto":
        if not options["k"].isdecimal() or int(options["k"]) < 1:
            raise CommandError(
                f"--k: {options['k']} is neither a number of at least 1 nor auto", returncode=2
            )
        k = int(options["k"])
    if options["c1"] < 0 or options["c2"] < 0 or options["c1"] + options["c2"] == 0:
        raise CommandError("--c1 and --c2 are shares: not below 0, and not both 0", returncode=2)
    try:
        found = clusters.cluster(
            SYSTEM.now(),
            k=k,
            method=options["method"],
            c1=options["c1"],
            c2=options["c2"],
            seed=options["random_seed"],
        )
    except ValueError as error:
        raise CommandError(f"{error}; `deepweb find ADDRESS` looks for some.") from None
    rows = [
        (row["cluster"], len(row["forms"]), ", ".join(row["top_terms"][:6]))
        for row in found["clusters"]
    ]
    worth = "" if found["silhouette"] is None else f", silhouette {found['silhouette']:.3f}"
    return Result(
        found, table(("cluster", "forms", "top terms"), rows) + f"\n{found['k']} clusters{worth}"
    )
