"""`bench strategies`: counts the relevant pages found after fetching 10, 25 and 50 % of the
reachable pages, by strategy and topic, together with the packs' reference figures.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from crawlmgr.text.tokens import Tokenizer
from focused.lab.archive import Archive
from focused.lab.comparison import Entry, run_entry
from focused.lab.evaluate import bootstrap_difference, targets
from focused.run.parse import CONTEXTS, Parser
from focused.strategies.adaptive import Prior
from focused.strategies.base import BUILT_IN
from tests.training import packs, prior

SHARES = ("10", "25", "50")
REFERENCES = {"breadth_first": "bfs", "best_first": "best_first_parent", "shark": "shark"}
TOLERANCE = 0.95
NEAR = 0.03
PRIORED = ("adaptive",)
"""Strategies that begin with trained weights (a prior). If there are several packs, the prior is
trained on the others."""


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--strategies",
        default=",".join(BUILT_IN),
        help="names by comma (default: all), adaptive:frozen too",
    )
    parser.add_argument("--topics", default="", help="names by comma (default: all)")
    parser.add_argument(
        "--draws",
        type=int,
        default=1,
        help="runs with other random numbers; more than 1: ties at random",
    )
    parser.add_argument(
        "--other-documents", type=int, default=0, help="further runs, each with four other samples"
    )
    parser.add_argument(
        "--prior-seed", type=int, default=1, help="random draws of the priors' training (default 1)"
    )
    parser.add_argument(
        "--trainings",
        type=int,
        default=1,
        help="priors averaged over so many trainings, seeds counted up",
    )
    parser.add_argument(
        "--keywords", action="store_true", help="give the packs' keywords beside the samples"
    )
    parser.add_argument("--context", choices=sorted(CONTEXTS), default="plain")
    parser.add_argument(
        "--main-text", action="store_true", help="menus left out of the pages' words"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    if not options["data"]:
        raise CommandError(
            "bench strategies needs --data: a folder with packs (pages.warc.gz, topics,"
            " baselines.json)"
        )
    try:
        found = packs.folders(Path(options["data"]))
    except ValueError as error:
        raise CommandError(str(error)) from None
    started = time.process_time()
    parser = Parser(Tokenizer(), CONTEXTS[options["context"]], main=options["main_text"])
    priors = (
        _priors(found, options)
        if any(name in options["strategies"].split(",") for name in PRIORED)
        else {}
    )
    wanted = frozenset(filter(None, options["topics"].split(",")))
    rows: list[dict[str, Any]] = []
    for pack in found:
        archive = packs.open_archive(pack, parser)
        for one in packs.topics(pack, archive, keywords=options["keywords"], wanted=wanted):
            say(f"{pack.name} {one.name}")
            rows.extend(_topic_rows(one, archive, options, priors.get(pack.name)))
    return {"rows": rows, "summary": _summary(rows), "seconds": time.process_time() - started}


def _priors(found: Sequence[Path], options: Mapping[str, Any]) -> dict[str, Prior]:
    """Returns for each pack (recorded web with labelled topics), by name, the prior trained on all
    other packs, which `adaptive` starts with. Empty if there is only one pack: then the prior that
    comes with the program is used.
    """
    if len(found) < 2:
        return {}
    priors = {}
    for pack in found:
        others = [other for other in found if other != pack]

        def report(text: str, left_out: str = pack.name) -> None:
            say(f"prior without {left_out}: {text}")

        priors[pack.name], _lessons = prior.train_several(
            others, options["trainings"], report, options["prior_seed"]
        )
    return priors


def _topic_rows(
    one: packs.PackTopic, archive: Archive, options: Mapping[str, Any], without: Prior | None
) -> list[dict[str, Any]]:
    budgets = {share: one.budget(share) for share in SHARES}
    whole = targets(one.labels)
    rows = []
    for name in options["strategies"].split(","):
        entry = _entry(name, without)
        recalls: dict[str, list[float]] = {share: [] for share in SHARES}
        areas: list[float] = []
        started = time.process_time()
        for drawn, left_out in packs.draws(one, archive, options["other_documents"]):
            for seed in range(1, options["draws"] + 1):
                most, ties = max(budgets.values()), options["draws"] > 1
                trail = run_entry(drawn, archive, entry, most, random_seed=seed, random_ties=ties)
                scored = whole - left_out
                hits = [step.url in scored for step in trail.steps]
                for share, budget in budgets.items():
                    recalls[share].append(sum(hits[:budget]) / len(scored))
                areas.append(_area(hits, max(budgets.values()), len(scored)))
        rows.append(_row(one, name, recalls, areas, time.process_time() - started))
    return rows


def _entry(name: str, without: Prior | None) -> Entry:
    """Returns the comparison entry of the strategy `name`. `without`: for strategies that use a
    prior, the one trained without the recorded web under test; None for the prior that comes with
    the program. "adaptive:frozen" is `adaptive` with learning switched off. Raises CommandError for
    any other variant."""
    strategy, _, variant = name.partition(":")
    if variant not in ("", "frozen") or (variant and strategy not in PRIORED):
        raise CommandError(f"no variant {name}")
    values = {"learn": False, "feedback": False} if variant else {}
    given = {"prior": without} if without is not None and strategy in PRIORED else {}
    return Entry(strategy, values, name, given)


def _area(hits: Sequence[bool], pages: int, wanted: int) -> float:
    """Computes the mean recall over the first `pages` fetches, which is the area under the recall
    curve. `hits` tells for each fetch whether it found one of the `wanted` pages.
    """
    found = np.cumsum([*hits, *[False] * max(0, pages - len(hits))][:pages])
    return float(found.mean() / wanted)


def _row(
    one: packs.PackTopic,
    name: str,
    recalls: Mapping[str, list[float]],
    areas: list[float],
    seconds: float,
) -> dict[str, Any]:
    whole = len(targets(one.labels))
    compared = one.reference["results"].get(REFERENCES.get(name, ""), {})
    return {
        "pack": one.pack,
        "topic": one.name,
        "seeds": one.reference["seed_mode"],
        "targets": whole,
        "strategy": name,
        "recall": {share: mean(values) for share, values in recalls.items()},
        "recalls_25": recalls["25"],
        "found": {share: mean(values) * whole for share, values in recalls.items()},
        "area": mean(areas),
        "reference": {share: compared[share]["mean"] for share in SHARES} if compared else None,
        "seconds": seconds,
    }


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a row for each strategy: means over the topics of recall and of the area under its
    curve, and comparisons after a quarter of the pages (a pack is a file with one topic's pages,
    and the figure of a reference crawl if known):

    - `near_best`: topics where its recall is at most 3 points below that of the best strategy
      without trained prior;
    - `within_5_percent`: topics where it finds at least 95 % of that figure, None without one;
    - `above_best_first`: mean gain in recall over `best_first`, with a 95 % interval (paired
      bootstrap).
    """
    summary = []
    base = [_recall(row) for row in rows if row["strategy"] == "best_first"]
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["strategy"].partition(":")[0] not in PRIORED:
            key = row["pack"], row["topic"]
            best[key] = max(best.get(key, 0.0), _recall(row))
    best = {(row["pack"], row["topic"]): best.get((row["pack"], row["topic"]), 0.0) for row in rows}
    for name in dict.fromkeys(row["strategy"] for row in rows):
        own = [row for row in rows if row["strategy"] == name]
        compared = [row for row in own if row["reference"]]
        summary.append(
            {
                "strategy": name,
                "mean_recall": {
                    share: mean(row["recall"][share] for row in own) for share in SHARES
                },
                "mean_area": mean(row["area"] for row in own),
                "near_best": sum(
                    _recall(row) >= best[row["pack"], row["topic"]] - NEAR for row in own
                ),
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
    return float(row["recall"]["25"])


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
            (
                "{:+.3f} [{:+.3f}, {:+.3f}]".format(*s["above_best_first"])
                if s["above_best_first"]
                else None
            ),
            s["mean_area"],
            s["near_best"],
            s["within_5_percent"],
            round(s["seconds"], 1),
        )
        for s in result["summary"]
    ]
    names = (
        "strategy",
        "recall 10 %",
        "25 %",
        "50 %",
        "above best_first",
        "area",
        "near best",
        "within 5 %",
        "CPU seconds",
    )
    return plain_table(header, lines) + "\n\n" + plain_table(names, summary)


def _cell(found: Mapping[str, float]) -> str:
    return "/".join(f"{found[share]:.0f}" for share in SHARES)
