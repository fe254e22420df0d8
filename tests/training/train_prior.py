"""The work of the command `topic train-prior`."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, say, table
from focused.strategies.adaptive import PRIOR_FILE
from focused.strategies.link_features import FEATURES
from tests.training import packs, prior


def run(options: dict[str, Any]) -> Result:
    without = set(filter(None, options["without"].split(",")))
    try:
        found = [pack for pack in packs.folders(options["data"]) if pack.name not in without]
        if not found:
            raise ValueError("every pack is left out")
        trained, lessons = prior.train_several(found, options["trainings"], say, options["seed"])
        stored = prior.as_json(trained, [pack.name for pack in found])
        out = options["out"] or PRIOR_FILE
        beside = out.with_name(out.name + ".new")
        beside.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        beside.replace(out)
    except (OSError, ValueError, KeyError) as error:
        raise CommandError(str(error)) from error
    rows = [
        (name, *values)
        for name, *values in zip(FEATURES, *(column.tolist() for column in trained), strict=True)
    ]
    return Result(
        {**stored, "lessons": lessons}, table(("feature", "mean", "spread", "weight"), rows)
    )
