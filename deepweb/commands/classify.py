"""The command `deepweb classify`: prints the types of forms read from a file of JSON lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, table
from deepweb.classifier import ModelError, can_be_asked, classify_html, load_model, shipped_model
from deepweb.form_rules import rule_type
from deepweb.jsonl import LinesError, read_lines


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE.jsonl[.gz]", help='lines {"id", "html", "url"}'
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--model", type=Path, metavar="FILE.json", help="a model that `deepweb train --out` wrote"
    )
    chosen.add_argument(
        "--rules", action="store_true", help="the rules alone, without the trained model"
    )


def run(options: dict[str, Any]) -> Result:
    try:
        model = load_model(options["model"]) if options["model"] else shipped_model()
        rows = [
            _classified(row, number, model, options["rules"])
            for number, row in read_lines(options["file"])
        ]
    except (LinesError, ModelError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    types = Counter(row["type"] for row in rows)
    return Result(rows, table(("type", "forms"), types.most_common()), lines=True)


def _classified(row: dict[str, Any], number: int, model: Any, rules: bool) -> dict[str, Any]:
    html = row.get("html")
    if not isinstance(html, str):
        raise LinesError(f"line {number} has no html")
    form, verdict = classify_html(html, str(row.get("url") or ""), model)
    answer = {
        "id": row.get("id", number),
        "type": str(verdict.type),
        "searchable": verdict.searchable,
        "confidence": round(verdict.confidence, 4),
    }
    if rules and form is not None:
        said = rule_type(form)
        answer |= {
            "type": str(said.type),
            "searchable": said.type == "search" and can_be_asked(form),
            "rule": said.rule,
        }
    return answer
