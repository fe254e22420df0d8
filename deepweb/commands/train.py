"""The command `deepweb train`: trains the form classifier on labelled forms and reports its
accuracy on unseen domains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORK = "tests.training.train_forms"
HELP = (
    "rebuild the form classifier from labelled forms; figures by 5-fold cross-validation that never"
    " splits a domain"
)


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "file",
        type=Path,
        metavar="FORMS.jsonl[.gz]",
        help='lines {"html", "url", "type", "domain"?}',
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE.json",
        help="where the model goes (default: the program's own)",
    )
    parser.add_argument(
        "--folds", type=int, default=5, help="folds of the cross-validation (default 5)"
    )
    parser.add_argument(
        "--random-seed", type=int, default=1, help="how domains fall into folds (default 1)"
    )
    parser.add_argument(
        "--more",
        type=Path,
        action="append",
        default=[],
        metavar="FORMS.jsonl",
        help=(
            "further forms to train on, never judged; a line may say its weight, above 0 and at"
            " most 1 (may be repeated)"
        ),
    )
    parser.add_argument(
        "--corrected",
        action="store_true",
        help="add the forms whose type was corrected on the desk",
    )
    parser.add_argument("--dry-run", action="store_true", help="only measure, write no model")
