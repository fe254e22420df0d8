"""The command `deepweb train`: trains the form classifier on labelled forms and reports its
accuracy on unseen domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

import deepweb
from crawlmgr.management import database
from crawlmgr.management.base import Result, say, table
from deepweb.form_training import Example, Scores, TrainingError, measure, read_examples, train
from deepweb.jsonl import LinesError
from deepweb.services import training

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


def run(options: dict[str, Any]) -> Result:
    if options["folds"] < 2:
        raise CommandError("At least two folds are needed.")
    try:
        examples = read_examples(options["file"])
        if options["corrected"]:
            examples += _corrected()
        more = [example for file in options["more"] for example in read_examples(file)]
        learned, rules = measure(
            examples,
            options["folds"],
            options["random_seed"],
            on_fold=lambda fold: say(f"fold {fold + 1} of {options['folds']}"),
            more=more,
        )
        model = train([*examples, *more])
    except (LinesError, TrainingError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    out = options["out"] or Path(deepweb.__file__).with_name("form_model.json")
    if not options["dry_run"]:
        out.write_text(
            json.dumps(model.to_json(), ensure_ascii=False, indent=0, separators=(",", ":")) + "\n",
            encoding="utf-8",
        )
        say(f"The model is in {out}.")
    answer = {
        "forms": len(examples),
        "domains": len({example.domain for example in examples}),
        "more": len(more),
        "folds": options["folds"],
        "random_seed": options["random_seed"],
        "learned": learned.to_json(),
        "rules": rules.to_json(),
        "features": len(model.weights),
        "model": None if options["dry_run"] else str(out),
    }
    return Result(answer, report(learned, rules))


def _corrected() -> list[Example]:
    """Returns the forms whose type operators corrected, from the database, as examples."""
    database.ready()
    return training.corrected_examples()


def report(learned: Scores, rules: Scores) -> str:
    """Formats a text report: F1 by type, of the learned model and of the rules, and the confusion
    table of the learned model."""
    types = list(learned.confusion)
    rows: list[tuple[Any, ...]] = [(name, learned.f1[name], rules.f1.get(name)) for name in types]
    rows += [
        ("macro F1", learned.macro_f1, rules.macro_f1),
        ("accuracy", learned.accuracy, rules.accuracy),
    ]
    confusion = [(name, *(learned.confusion[name][guess] for guess in types)) for name in types]
    return (
        table(("F1", "learned", "rules"), rows)
        + "\n\n"
        + table(("true \\ predicted", *types), confusion)
    )
