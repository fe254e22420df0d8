"""The work of the command `deepweb train`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

import deepweb
from crawlmgr.database import upgrade
from crawlmgr.management.base import Result, say, table
from deepweb.commands.classify import LinesError
from deepweb.forms.stored import described_form
from deepweb.forms.types import FormType
from deepweb.models import Form
from tests.training.forms import (
    Example,
    Scores,
    TrainingError,
    example_of_form,
    measure,
    read_examples,
    train,
)


def run(options: dict[str, Any]) -> Result:
    if options["folds"] < 2:
        raise CommandError("At least two folds are needed.")
    try:
        examples = read_examples(options["file"])
        if options["corrected"]:
            upgrade.ready()
            examples += corrected_examples()
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


def corrected_examples() -> list[Example]:
    """Returns the forms whose type an operator corrected, as examples for training the
    classifier."""
    rows = Form.objects.exclude(corrected="").defer("words").order_by("pk")
    return [example_of_form(described_form(row), FormType(row.corrected)) for row in rows]
