"""`bench harvest`: measures harvests of a form over a known database: coverage by policy compared
with a greedy oracle, estimated size, and correctness of records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from deepweb.answers.retrieved import Term
from deepweb.choice.terms import WordMode, words_of
from tests.benches.forms import harvest_forms
from tests.benches.forms.hidden_database import BOX, HiddenDatabase, greedy_oracle

SAMPLE = 500
_MANAGE = Path(__file__).resolve().parents[3] / "manage.py"


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--forms", action="store_true", help="a local web of forms of every make instead of --url"
    )
    parser.add_argument(
        "--only-forms", default="", metavar="A,B", help="with --forms: these kinds of form"
    )
    parser.add_argument(
        "--form-records",
        type=int,
        default=2000,
        metavar="N",
        help="with --forms: records of each site",
    )
    parser.add_argument(
        "--form-probes",
        type=int,
        default=0,
        metavar="N",
        help="with --forms: random probes (default 0)",
    )
    parser.add_argument(
        "--keep-log", action="store_true", help="with --forms: each query in the JSON"
    )
    parser.add_argument(
        "--random-seed", type=int, default=1, help="with --forms: another seed gives other records"
    )
    parser.add_argument("--url", default="", help="page of the search form")
    parser.add_argument(
        "--truth", default="", metavar="FILE", help='JSON {"records": [{"url", "fields": {…}}]}'
    )
    parser.add_argument(
        "--only", default="", metavar="PREFIX", help="records of the truth whose address begins so"
    )
    parser.add_argument(
        "--fields", default="", metavar="A,B", help="fields that the form searches, for the oracle"
    )
    parser.add_argument(
        "--match",
        choices=[mode.value for mode in WordMode],
        default="words",
        help="how the form matches",
    )
    parser.add_argument("--cut", type=int, help="results that the form shows at the most")
    parser.add_argument(
        "--queries", type=int, help="queries of each harvest (default 100; 40 with --forms)"
    )
    parser.add_argument("--policies", default="paper,frequency,fresh")
    parser.add_argument(
        "--seeds", type=int, default=3, help="random seeds for the size estimate (default 3)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    options = {**options, "queries": options["queries"] or (40 if options["forms"] else 100)}
    if options["forms"]:
        return harvest_forms.measure(options)
    if not (options["url"] and options["truth"] and options["fields"]):
        raise CommandError("give --url, --truth and --fields, or --forms", returncode=2)
    started = time.perf_counter()
    records = [
        r
        for r in json.loads(Path(options["truth"]).read_text("utf-8"))["records"]
        if r["url"].startswith(options["only"])
    ]
    if not records:
        raise CommandError("the truth has no record with such an address", returncode=2)
    rows = []
    for policy in options["policies"].split(","):
        found, _ = _harvest(
            options, ["--policy", policy, "--probes", "0", "--details", "0", "--no-stop-rule"]
        )
        say(f"{policy}: {found['records']} of {len(records)} records, {found['requests']} requests")
        rows.append({"policy": policy, **_figures(found, len(records))})
    bar = _oracle(options, records)
    sizes, equal = [], []
    for seed in range(1, options["seeds"] + 1):
        found, exported = _harvest(options, ["--random-seed", str(seed), "--no-stop-rule"])
        sizes.append(
            {
                "seed": seed,
                "interval": found["estimated_total"],
                "reason": found["estimate_reason"],
                "records": found["records"],
            }
        )
        equal.append(_equal(exported, records, seed))
        say(
            f"seed {seed}: {sizes[-1]['interval'] or sizes[-1]['reason']}, equal"
            f" {equal[-1]['equal']} of {equal[-1]['compared']}"
        )
    return {
        "records": len(records),
        "policies": rows,
        "oracle": bar,
        "oracle_share": {row["policy"]: row["found"] / bar[-1] for row in rows} if bar else {},
        "sizes": sizes,
        "hits": sum(
            bool(s["interval"]) and s["interval"][0] <= len(records) <= s["interval"][1]
            for s in sizes
        ),
        "equal": equal,
        "seconds": time.perf_counter() - started,
    }


def _figures(found: dict[str, Any], whole: int) -> dict[str, Any]:
    curve = [records for _, records in found["curve"]]
    points = {
        str(at): curve[at - 1] / whole for at in (10, 25, 50, 100, 150, 200) if at <= len(curve)
    }
    return {
        "found": found["records"],
        "coverage": found["records"] / whole,
        "efficiency": found["efficiency"],
        "requests": found["requests"],
        "at": points,
    }


def _harvest(
    options: dict[str, Any], further: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Runs one harvest by the command line, with a database of its own; `further` are additional
    arguments of the command. Returns the command's result and the exported records."""
    with tempfile.TemporaryDirectory(prefix="harvest-") as folder:
        environment = {**os.environ, "CRAWLMGR_DATA": folder}
        words = [
            "deepweb",
            "harvest",
            options["url"],
            "--queries",
            str(options["queries"]),
            *further,
        ]
        told = _manage([*words, "--allow-private", "--delay", "0", "--json"], environment)
        lines = _manage(
            ["export", "records", "--format", "jsonl", "--out", "-"], environment
        ).splitlines()
        return json.loads(told), [json.loads(line) for line in lines]


def _manage(words: Sequence[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, str(_MANAGE), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CommandError(
            done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{words[0]} failed"
        )
    return done.stdout


def _oracle(options: dict[str, Any], records: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the number of records found after each query of a greedy oracle, which knows the
    database and queries single words of the searched fields.
    """
    names, mode = options["fields"].split(","), WordMode(options["match"])
    terms = [
        [
            Term(BOX, word)
            for word in words_of("\n".join(str(r["fields"].get(n, "")) for n in names), mode)
        ]
        for r in records
    ]
    return greedy_oracle(HiddenDatabase(terms, options["cut"]), options["queries"])


def _equal(
    exported: Sequence[dict[str, Any]], records: Sequence[dict[str, Any]], seed: int
) -> dict[str, Any]:
    """Compares a random sample of the harvested records that have detail pages (`exported`) with
    the true ones (`records`). Returns how many were "compared", how many have the true value in all
    fields ("equal"), and a few of the others with the fields that differ ("wrong")."""
    truth = {record["url"]: record["fields"] for record in records}
    whole = [row for row in exported if row["_detail_at"]]
    chosen = np.random.default_rng(seed).permutation(len(whole))[:SAMPLE]
    wrong: list[str] = []
    for place in chosen:
        row = whole[int(place)]
        true = truth.get(row["url"], {"url": "unknown"})
        bad = [
            name
            for name, value in true.items()
            if value not in (None, "") and str(row.get(name) or "") != str(value)
        ]
        if bad:
            wrong.append(f"{row['url']}: {', '.join(bad)}")
    return {"compared": len(chosen), "equal": len(chosen) - len(wrong), "wrong": wrong[:5]}


def table(result: dict[str, Any]) -> str:
    if "forms" in result:
        return harvest_forms.table(result)
    points = list(result["policies"][0]["at"]) if result["policies"] else []
    header = ("policy", *(f"@{point}" for point in points), "valid", "requests", "of oracle")
    body = [
        (
            row["policy"],
            *(row["at"].get(p) for p in points),
            row["efficiency"],
            row["requests"],
            result["oracle_share"][row["policy"]],
        )
        for row in result["policies"]
    ]
    bar = [result["oracle"][int(point) - 1] / result["records"] for point in points]
    parts = [plain_table(header, [*body, ("oracle", *bar, None, None, 1.0)])]
    sizes = [
        (s["seed"], *(s["interval"] or (None, None)), s["reason"], s["records"])
        for s in result["sizes"]
    ]
    parts.append(plain_table(("seed", "low", "high", "why not", "records"), sizes))
    parts.append(
        f"{result['records']} records in truth; {result['hits']} of {len(result['sizes'])}"
        " intervals hold it"
    )
    parts.append(
        plain_table(("compared", "equal"), [(e["compared"], e["equal"]) for e in result["equal"]])
    )
    return "\n\n".join(parts)
