"""Arguments of the command `deepweb harvest`, which harvests a form, or all forms of a cluster, and
stores the records. They are separate from `harvest_work`, so that showing the help loads no
libraries.
"""

from __future__ import annotations

from typing import Any

from crawlmgr.management.arguments import add_web_arguments
from deepweb.services.harvest_options import POLICIES

HELP = "ask a search form and store the records that come back"
WORK = "deepweb.commands.harvest_work"


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "form",
        nargs="?",
        metavar="FORM_OR_URL",
        help="number of a form, or the address of a page with one",
    )
    parser.add_argument(
        "--cluster", type=int, metavar="C", help="all forms of this cluster, out of one budget"
    )
    parser.add_argument(
        "--queries",
        type=int,
        default=100,
        metavar="N",
        help="queries for records at the most (default 100)",
    )
    parser.add_argument(
        "--requests", type=int, metavar="N", help="requests at the most, result pages included"
    )
    parser.add_argument(
        "--policy", choices=POLICIES, default="fresh", help="how queries are chosen (default fresh)"
    )
    parser.add_argument(
        "--seed-terms", default="", metavar="A,B", help="words to begin with, by comma"
    )
    parser.add_argument(
        "--max-pages",
        type=int,
        default=200,
        metavar="N",
        help="result pages of one query at the most (default 200)",
    )
    parser.add_argument(
        "--probes",
        type=int,
        default=240,
        metavar="N",
        help="random queries beside them, for the size (240)",
    )
    parser.add_argument(
        "--details",
        default="1000",
        metavar="N|all",
        help="detail pages fetched at the most (default 1000)",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        metavar="SHARE",
        help="end when this share of the database is surely reached",
    )
    parser.add_argument(
        "--no-stop-rule",
        action="store_true",
        help="spend the whole budget, whatever the queries bring",
    )
    parser.add_argument("--release", action="store_true", help="let this form be sent by POST")
    parser.add_argument("--random-seed", type=int, default=1)
    add_web_arguments(parser)
