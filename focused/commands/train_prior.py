"""The command `topic train-prior`: trains the weights with which the strategy `adaptive` begins, on
recorded webs with labelled topics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, say, table
from focused import packs, prior
from focused.strategies.adaptive import PRIOR_FILE
from focused.strategies.link_features import FEATURES

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


def run(options: dict[str, Any]) -> Result:
    without = set(filter(None, options["without"].split(",")))
    try:
        found = [pack for pack in packs.folders(options["data"]) if pack.name not in without]
        if not found:
            raise ValueError("every pack is left out")
        trained, lessons = prior.train_several(found, options["trainings"], say, options["seed"])
        stored = prior.as_json(trained, [pack.name for pack in found])
        beside = options["out"].with_name(options["out"].name + ".new")
        beside.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        beside.replace(options["out"])
    except (OSError, ValueError, KeyError) as error:
        raise CommandError(str(error)) from error
    rows = [
        (name, *values)
        for name, *values in zip(FEATURES, *(column.tolist() for column in trained), strict=True)
    ]
    return Result(
        {**stored, "lessons": lessons}, table(("feature", "mean", "spread", "weight"), rows)
    )
