"""Arguments of the command `topic compare`, which compares strategies over one archive with the
same seeds and number of fetches. They are separate from `compare_work`, so that showing the help
loads no libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from focused.options import CONTEXTS

HELP = (
    "run strategies over the same archive with the same seeds and number of fetches, no network;"
    " --trail FILE.csv writes every fetch of every strategy: what was fetched from where, how"
    " similar, whether a target"
)
WORK = "focused.commands.compare_work"


def add_arguments(parser: Any) -> None:
    parser.add_argument("name", help="the topic's name")
    parser.add_argument(
        "--strategies",
        required=True,
        help="names by comma; with parameters: shark:gamma=0.2:depth=5",
    )
    parser.add_argument(
        "--pages", type=int, required=True, metavar="N", help="fetches for each strategy"
    )
    parser.add_argument("--archive", type=Path, nargs="+", required=True, metavar="FILE.warc.gz")
    parser.add_argument(
        "--labels", type=Path, metavar="FILE.csv", help="the judge: url,label[,role][,depth]"
    )
    parser.add_argument("--random-seed", type=int, default=1)
    parser.add_argument(
        "--draws",
        type=int,
        default=1,
        help="draws of samples: the topic's own, then others by the labels",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        help="runs with other random numbers and ties in random order",
    )
    parser.add_argument(
        "--random-ties", action="store_true", help="take URLs of equal priority in random order"
    )
    parser.add_argument(
        "--growing",
        action="store_true",
        help="similarity curve weighed by what each run had fetched so far",
    )
    parser.add_argument(
        "--checkpoints", type=int, default=20, help="points of each curve (default 20)"
    )
    trail = (
        "write a row a fetch (what from where, how similar, its label), to read why one is ahead"
    )
    parser.add_argument("--trail", type=Path, metavar="FILE.csv", help=trail)
    parser.add_argument(
        "--context", choices=CONTEXTS, default="plain", help="how words around a link are weighed"
    )
    parser.add_argument(
        "--main-text", action="store_true", help="judge pages by their main text, menus left out"
    )
    files = parser.add_argument_group("the topic from files, in place of the one that was added")
    files.add_argument("--seeds", type=Path, metavar="FILE", help="one URL a line")
    files.add_argument(
        "--documents", type=Path, metavar="FILE_OR_FOLDER", help="samples of the topic"
    )
    files.add_argument(
        "--keywords", default="", metavar='"a,b=0.5"', help="words of the topic, with weights"
    )
