"""`bench strategies`: targets found at 10, 25 and 50 % of the pages, strategy by topic, beside the packs' reference figures."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from crawlmgr.text.tokens import Tokenizer
from focused.archive import Archive
from focused.comparison import Entry, compare, read_labels
from focused.evaluate import Label, bootstrap_difference, targets
from focused.files import read_text, topic_from_files
from focused.parse import CONTEXTS, Parser
from focused.strategies import BUILT_IN
from focused.topics import Topic

HELP = "strategy × topic: targets found at 10, 25 and 50 % of the pages (--data: folder with packs of recorded sites)"
SHARES = ("10", "25", "50")
REFERENCES = {"breadth_first": "bfs", "best_first": "best_first_parent", "shark": "shark"}
TOLERANCE = 0.95


def add_arguments(parser: Any) -> None:
    parser.add_argument("--strategies", default=",".join(BUILT_IN), help="names by comma (default: all)")
    parser.add_argument("--topics", default="", help="names by comma (default: all)")
    parser.add_argument("--draws", type=int, default=1, help="runs with other random numbers; more than 1: ties at random")
    parser.add_argument("--other-documents", type=int, default=0, help="further runs, each with four other samples")
    parser.add_argument("--keywords", action="store_true", help="give the packs' keywords beside the samples")
    parser.add_argument("--context", choices=sorted(CONTEXTS), default="plain")
    parser.add_argument("--main-text", action="store_true", help="menus left out of the pages' words")


def run(options: dict[str, Any]) -> dict[str, Any]:
    if not options["data"]:
        raise CommandError("bench strategies needs --data: a folder with packs (pages.warc.gz, topics, baselines.json)")
    packs = sorted(path.parent for path in Path(options["data"]).glob("*/pages.warc.gz"))
    if not packs:
        raise CommandError(f"no pack in {options['data']}: none of its folders holds pages.warc.gz")
    started = time.process_time()
    wanted = set(filter(None, options["topics"].split(",")))
    rows: list[dict[str, Any]] = []
    for pack in packs:
        folders = sorted(path for path in (pack / "topics").iterdir() if not wanted or path.name in wanted)
        if not folders:
            continue
        archive = Archive([pack / "pages.warc.gz"], Parser(Tokenizer(), CONTEXTS[options["context"]], main=options["main_text"]))
        references = json.loads(read_text(pack / "baselines.json"))["topics"]
        for folder in folders:
            say(f"{pack.name} {folder.name}")
            rows.extend(_topic_rows(pack.name, folder, archive, references[folder.name], options))
    return {"rows": rows, "summary": _summary(rows), "seconds": time.process_time() - started}


def _topic_rows(
    pack: str, folder: Path, archive: Archive, reference: Mapping[str, Any], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    topic, _ = topic_from_files(
        folder.name,
        folder / "seeds.txt",
        [folder / "documents"],
        keywords_file=folder / "keywords.txt" if options["keywords"] else None,
    )
    labels = read_labels(read_text(folder / "labels.csv").splitlines(), archive)
    budgets = {share: int(reference["budget"][share]) for share in SHARES}
    rows = []
    for name in options["strategies"].split(","):
        found: dict[str, list[int]] = {share: [] for share in SHARES}
        started = time.process_time()
        for drawn, left_out in _draws(topic, archive, labels, options):
            for seed in range(1, options["draws"] + 1):
                (outcome,) = compare(
                    drawn,
                    archive,
                    [Entry(name)],
                    max(budgets.values()),
                    labels=labels,
                    random_seed=seed,
                    random_ties=options["draws"] > 1,
                )
                scored = targets(labels) - left_out
                for share, budget in budgets.items():
                    found[share].append(sum(step.url in scored for step in outcome.trail.steps[:budget]))
        compared = reference["results"].get(REFERENCES.get(name, ""), {})
        rows.append(
            {
                "pack": pack,
                "topic": folder.name,
                "seeds": reference["seed_mode"],
                "targets": len(targets(labels)),
                "strategy": name,
                "found": {share: mean(values) for share, values in found.items()},
                "reference": {share: compared[share]["mean"] for share in SHARES} if compared else None,
                "seconds": time.process_time() - started,
            }
        )
    return rows


def _draws(
    topic: Topic, archive: Archive, labels: Mapping[str, Label], options: Mapping[str, Any]
) -> list[tuple[Topic, frozenset[str]]]:
    """The topic as given, then with samples drawn from the relevant pages; those pages are left out of the score."""
    draws = [(topic, frozenset[str]())]
    pool = sorted(targets(labels))
    rng = random.Random(7)  # noqa: S311 - a fixed draw that can be repeated
    for _ in range(options["other_documents"]):
        chosen = rng.sample(pool, 4)
        texts = [" ".join(page.words) for url in chosen if (page := archive.get(url)) is not None]
        draws.append((replace(topic, documents=tuple(texts)), frozenset(chosen)))
    return draws


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a strategy: mean recall at each share over the topics, topics within 5 % of the reference at 25 %, and the
    difference of recall at 25 % to best_first with its 95 % interval (paired bootstrap over topics)."""
    summary = []
    base = [_recall(row) for row in rows if row["strategy"] == "best_first"]
    for name in dict.fromkeys(row["strategy"] for row in rows):
        own = [row for row in rows if row["strategy"] == name]
        compared = [row for row in own if row["reference"]]
        summary.append(
            {
                "strategy": name,
                "mean_recall": {share: mean(row["found"][share] / row["targets"] for row in own) for share in SHARES},
                "topics": len(own),
                "above_best_first": _above([_recall(row) for row in own], base),
                "within_5_percent": sum(_reaches(row) for row in compared) if compared else None,
                "seconds": sum(row["seconds"] for row in own),
            }
        )
    return summary


def _above(recalls: list[float], base: list[float]) -> tuple[float, float, float] | None:
    return bootstrap_difference(recalls, base, np.random.default_rng(1)) if base else None


def _recall(row: Mapping[str, Any]) -> float:
    return float(row["found"]["25"] / row["targets"])


def _reaches(row: Mapping[str, Any]) -> bool:
    return bool(row["found"]["25"] >= TOLERANCE * row["reference"]["25"])


def table(result: dict[str, Any]) -> str:
    rows = result["rows"]
    topics = list(dict.fromkeys((row["topic"], row["seeds"]) for row in rows))
    lines = []
    for name in dict.fromkeys(row["strategy"] for row in rows):
        own = {row["topic"]: row for row in rows if row["strategy"] == name}
        lines.append([name, *(_cell(own[topic]["found"]) for topic, _ in topics)])
        if any(row["reference"] for row in own.values()):
            lines.append(["  reference", *(_cell(own[topic]["reference"]) for topic, _ in topics)])
    header = ["targets at 10/25/50 %", *(f"{topic} ({seeds})" for topic, seeds in topics)]
    summary = [
        (
            s["strategy"],
            *(s["mean_recall"][share] for share in SHARES),
            "{:+.3f} [{:+.3f}, {:+.3f}]".format(*s["above_best_first"]) if s["above_best_first"] else None,
            s["within_5_percent"],
            round(s["seconds"], 1),
        )
        for s in result["summary"]
    ]
    names = ("strategy", "recall 10 %", "25 %", "50 %", "above best_first", "topics within 5 %", "CPU seconds")
    return plain_table(header, lines) + "\n\n" + plain_table(names, summary)


def _cell(found: Mapping[str, float]) -> str:
    return "/".join(f"{found[share]:.0f}" for share in SHARES)
