"""`bench forms`: how well forms are typed on domains never seen, rules beside it, over several splits."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from crawlmgr.management.base import table as plain_table
from deepweb.form_training import Scores, measure, read_examples

HELP = "form types by cross-validation over domains, with the rules alone beside it (--data: folder with forms.jsonl.gz)"


def add_arguments(parser: Any) -> None:
    parser.add_argument("--splits", type=int, default=5, help="how often the domains are split anew (default 5)")
    parser.add_argument("--folds", type=int, default=5)


def run(options: dict[str, Any]) -> dict[str, Any]:
    folder = Path(options["data"] or ".")
    started = time.perf_counter()
    examples = read_examples(folder / "forms.jsonl.gz")
    read_seconds = time.perf_counter() - started
    measured = [measure(examples, options["folds"], seed) for seed in range(1, options["splits"] + 1)]
    return {
        "forms": len(examples),
        "domains": len({example.domain for example in examples}),
        "folds": options["folds"],
        "splits": [_figures(learned) for learned, _ in measured],
        "rules": _figures(measured[0][1]),
        "read_ms_a_form": 1000 * read_seconds / max(1, len(examples)),
        "seconds": time.perf_counter() - started,
    }


def _figures(scores: Scores) -> dict[str, float]:
    return {"accuracy": scores.accuracy, "search_f1": scores.f1.get("search", 0.0), "macro_f1": scores.macro_f1}


def table(result: dict[str, Any]) -> str:
    names = ("accuracy", "search_f1", "macro_f1")
    rows: list[tuple[Any, ...]] = []
    for name in names:
        values = [split[name] for split in result["splits"]]
        rows.append((name, mean(values), pstdev(values), min(values), result["rules"][name]))
    return plain_table(("figure", "learned", "sd", "worst split", "rules"), rows)
