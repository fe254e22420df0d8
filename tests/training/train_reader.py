"""The work of the command `reader train`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, say, table
from forums.reading.learned.weights import CARD
from tests.training.reader.fit import fit, samples_of
from tests.training.reader.pages import READ_AT, saved_pages
from tests.training.reader.report import card, figures, reliability_words, table_rows
from tests.training.reader.scoring import FIGURES
from tests.training.reader.stored import scored


def run(options: dict[str, Any]) -> Result:
    try:
        names = [name for name in ("data", "other", "more") if options[name]]
        pages = [
            page
            for name in names
            for page in saved_pages(Path(options[name]), measured=name != "more")
        ]
        say(f"{len(pages)} pages")
        samples = samples_of(pages, READ_AT, options["leave_out"])
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, KeyError) as error:
        raise CommandError(
            f"{options['data']}: not a folder of pages with truth: {error}"
        ) from error
    if scored(samples, options["workers"], Path(options["keep"]) if options.get("keep") else None):
        say("scores of the first stage: stored ones")
    weights, outcomes = fit(samples, options["workers"])
    found, out = figures(samples, outcomes), Path(options["out"])
    weights.save(out)
    beside = out.with_name(CARD.name)
    part = beside.with_suffix(".part")
    part.write_text(
        json.dumps(card(samples, options["leave_out"], found), indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    part.replace(beside)
    text = "\n\n".join((table(["", *FIGURES], table_rows(found)), *reliability_words(found)))
    return Result({"weights": str(out), "bytes": out.stat().st_size, **found}, text)
