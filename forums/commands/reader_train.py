"""`reader train`: trains the page reader's weights and prints their accuracy on forum software or
sites excluded from training."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, say, table
from forums.reading.learned.weights import CARD, FILE
from forums.reading.training.fit import fit, samples_of
from forums.reading.training.pages import READ_AT, saved_pages
from forums.reading.training.report import card, figures, reliability_words, table_rows
from forums.reading.training.scoring import FIGURES
from forums.reading.training.stored import scored

HELP = "Train the weights of the page reader on saved pages with checked truth."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data", required=True, metavar="FOLDER", help="pages.csv with html/ and truth/"
    )
    parser.add_argument(
        "--other", default="", metavar="FOLDER", help="list.jsonl of pages that are no forum's"
    )
    parser.add_argument(
        "--more",
        default="",
        metavar="FOLDER",
        help="further pages with truth, trained on with less weight",
    )
    parser.add_argument(
        "--leave-out", choices=("engine", "site"), default="engine", help="what a fold keeps whole"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that train at once")
    parser.add_argument(
        "--keep",
        default="",
        metavar="FILE",
        help="keeps the first stage's scores; used while pages stay so",
    )
    parser.add_argument(
        "--out",
        default=str(FILE),
        metavar="FILE",
        help="where the weights go (default: the shipped ones)",
    )


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
