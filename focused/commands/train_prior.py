"""The command `topic train-prior`: trains the weights with which the strategy `adaptive` begins, on
recorded webs with labelled topics.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from focused.strategies.adaptive import PRIOR_FILE

WORK = "tests.training.train_prior"
HELP = "train the weights that `adaptive` begins with on recorded webs (--data: folder with packs)"


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="packs: pages.warc.gz, topics, baselines.json",
    )
    parser.add_argument("--without", default="", metavar="PACK,PACK", help="packs to leave out")
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="of the random draws (default 1): tells how much a training varies",
    )
    parser.add_argument(
        "--trainings",
        type=int,
        default=1,
        help="average of so many trainings, seeds counted up from --seed",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=PRIOR_FILE,
        metavar="FILE.json",
        help="default: the program's own file",
    )
