"""The command `deepweb classify`: prints the types of forms read from a file of JSON lines, plain
or gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, table
from deepweb.forms.classifier import (
    ModelError,
    can_be_asked,
    classify_html,
    load_model,
    rule_type,
    shipped_model,
)


class LinesError(ValueError):
    """Raised for a file that is not valid JSON lines; its text names the line."""


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields (line number, document) for every line that is not empty. Raises LinesError for an
    invalid line, OSError if the file cannot be opened."""
    number = 0
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8")
        ) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                document = json.loads(line)
                if not isinstance(document, dict):
                    raise LinesError(f"{path.name}, line {number}: not a JSON object")
                yield number, document
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LinesError(f"{path.name}, after line {number}: cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise LinesError(f"{path.name}, line {number}: no JSON: {error.msg}") from error


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
    form, classification = classify_html(html, str(row.get("url") or ""), model)
    answer = {
        "id": row.get("id", number),
        "type": str(classification.type),
        "searchable": classification.searchable,
        "confidence": round(classification.confidence, 4),
    }
    if rules and form is not None:
        said = rule_type(form)
        answer |= {
            "type": str(said.type),
            "searchable": said.type == "search" and can_be_asked(form),
            "rule": said.rule,
        }
    return answer
