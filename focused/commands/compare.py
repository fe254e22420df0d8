"""Runs the command `topic compare`: compares strategies over one archive with the same seeds and
number of fetches, measured by labels that the strategies do not see."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.database import upgrade
from crawlmgr.exports.text_formats import safe_cell
from crawlmgr.management.base import Result, missing_parts, say, table
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.warc import WarcError
from focused.judge.relevance import Topic, read_text, topic_from_files
from focused.lab.archive import Archive
from focused.lab.comparison import (
    MAX_DRAWS,
    TRAIL,
    Entry,
    Outcome,
    Winner,
    gathered,
    read_labels,
    run_entries,
    trail_rows,
    winner,
)
from focused.models import Topic as StoredTopic
from focused.parameters import read_settings
from focused.run.parse import CONTEXTS, Parser
from focused.strategies.base import strategy_class
from focused.topic import topics


def run(options: dict[str, Any]) -> Result:
    further = settings.TOPIC_STRATEGIES
    try:
        entries = [
            _entry(text, further) for text in options["strategies"].split(",") if text.strip()
        ]
        if not entries or options["pages"] < 1 or options["checkpoints"] < 1:
            raise ValueError(
                "give a strategy at least, one page or more, and one checkpoint or more"
            )
        if not (1 <= options["draws"] <= MAX_DRAWS and 1 <= options["repeats"] <= MAX_DRAWS):
            raise ValueError(f"draws and repeats lie between 1 and {MAX_DRAWS}")
        if options["trail"] and options["draws"] * options["repeats"] > 1:
            raise ValueError(
                "a trail is that of one run of each strategy: leave --draws and --repeats out"
            )
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    try:
        topic = _topic(options)
        parser = Parser(
            Tokenizer(topic.user_words), CONTEXTS[options["context"]], main=options["main_text"]
        )
        archive = Archive(options["archive"], parser)
        labels = (
            read_labels(read_text(options["labels"]).splitlines(), archive)
            if options["labels"]
            else None
        )
        cells = run_entries(
            topic,
            archive,
            entries,
            options["pages"],
            labels=labels,
            draws=options["draws"],
            repeats=options["repeats"],
            random_seed=options["random_seed"],
            checkpoints=options["checkpoints"],
            random_ties=options["random_ties"] or options["repeats"] > 1,
            growing=options["growing"],
            further=further,
            progress=say,
        )
        outcomes = [outcome for _, outcome in cells]
        if options["trail"]:
            _write_trail(options["trail"], [TRAIL, *trail_rows(outcomes, labels)])
    except (ValueError, WarcError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    data: dict[str, Any] = {"topic": topic.name, "pages_in_archive": len(archive)}
    missing = missing_parts(archive.missing)
    if len(cells) == len(entries):
        return Result(
            {**data, "results": [outcome.as_json() for outcome in outcomes]},
            _table(outcomes),
            missing=missing,
        )
    rows = gathered(cells, options["pages"])
    won = winner(rows)
    return Result(
        {**data, "results": rows, "verdict": won._asdict() if won else None},
        _gathered_table(rows, won),
        missing=missing,
    )


def _entry(text: str, further: dict[str, str]) -> Entry:
    name, *pairs = text.strip().split(":")
    values = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    read_settings(
        strategy_class(name, further).Settings, values
    )  # refuses invalid parameters before any file is read
    return Entry(name, values, text.strip() if pairs else "")


def _topic(options: dict[str, Any]) -> Topic:
    if options["seeds"] is None:
        upgrade.ready()
        stored = StoredTopic.objects.filter(name=options["name"]).first()
        if stored is None:
            raise ValueError(
                f"there is no topic {options['name']}; `topic add` makes one, or give --seeds FILE"
            )
        return topics.definition(stored)
    documents = [options["documents"]] if options["documents"] else []
    topic, bad = topic_from_files(options["name"], options["seeds"], documents, options["keywords"])
    for line in bad:
        say(f"{options['seeds'].name}, line {line.number}: no URL, left out: {line.text}")
    return topic


def _write_trail(path: Path, rows: list[tuple[object, ...]]) -> None:
    """Writes every fetch of every strategy as CSV, to a temporary file that is renamed when
    complete. Cells are escaped so that spreadsheets do not take them for formulas."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([safe_cell(value) for value in row] for row in rows)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _table(outcomes: list[Outcome]) -> str:
    header = (
        "strategy",
        "fetched",
        "relevant",
        "harvest rate",
        "recall",
        "similarity",
        "important",
        "seconds",
    )
    rows = [
        (
            o.entry.name,
            o.fetched,
            o.relevant,
            o.harvest_rate,
            o.recall,
            o.mean_similarity,
            o.important_found,
            round(o.seconds, 2),
        )
        for o in outcomes
    ]
    return table(header, rows)


def _gathered_table(rows: list[dict[str, Any]], won: Winner | None) -> str:
    """Formats a table of the entries' mean results, sorted by the area under the recall curve,
    largest first. With `won`, a line tells whether the difference between the best two is
    significant."""
    header = (
        "strategy",
        "runs",
        "fetched",
        "relevant",
        "harvest rate",
        "recall",
        "area",
        "95 % interval",
    )
    lines = [
        (
            *(
                row["strategy"],
                row["draws"],
                row["fetched"],
                row["relevant"],
                row["harvest_rate"],
                row["recall"],
                row["area"],
            ),
            "{:.3f} to {:.3f}".format(*row["area_interval"]) if row["area_interval"] else None,
        )
        for row in sorted(rows, key=lambda row: -row["area"])
    ]
    if won is None:
        return table(header, lines)
    chance = "the difference is real" if won.real else "the difference may be chance"
    return (
        f"{table(header, lines)}\n\n{won.best} before {won.second} by {won.gap:.3f} of the area:"
        f" {chance}"
    )
