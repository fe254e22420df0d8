"""`bench forms`: measures how accurately the types of forms on unseen domains are classified,
compared with the rules alone, over several splits of the domains.

All figures compare with the labels of the data. Figures named "apart" leave out the forms that only
order a list or set the length of its pages (`only_orders_a_list`): by the specification these are
not searches, but most of them are labelled as searches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from crawlmgr.management.base import table as plain_table
from deepweb.form_roles import asks_for_something_else, only_orders_a_list
from deepweb.forms.types import FormType
from deepweb.submission import SURE
from tests.training.forms import (
    Example,
    Scores,
    predict_by_rules,
    predictions,
    read_examples,
    score,
)

FEW = 8
"""Languages with fewer forms than this are counted together."""


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--splits", type=int, default=5, help="how often the domains are split anew (default 5)"
    )
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument(
        "--first-split", type=int, default=1, help="number of the first split (default 1)"
    )
    parser.add_argument(
        "--more",
        action="append",
        default=[],
        metavar="FILE",
        help="further forms, trained on, never judged",
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    folder = Path(options["data"] or ".")
    started = time.perf_counter()
    examples = read_examples(folder / "forms.jsonl.gz")
    read_seconds = time.perf_counter() - started
    more = [example for file in options["more"] for example in read_examples(Path(file))]
    truth = [example.type for example in examples]
    first = options["first_split"]
    told = [
        predictions(examples, options["folds"], seed, more=more)
        for seed in range(first, first + options["splits"])
    ]
    types = [[kind for kind, _ in split] for split in told]
    by_rules = predict_by_rules(examples)
    kept = [place for place, example in enumerate(examples) if not only_orders_a_list(example.form)]
    return {
        "forms": len(examples),
        "domains": len({example.domain for example in examples}),
        "more": len(more),
        "folds": options["folds"],
        "splits": [_figures(score(truth, split)) for split in types],
        "rules": _figures(score(truth, by_rules)),
        "apart": {
            "forms": len(examples) - len(kept),
            "splits": [_figures_of(kept, truth, split) for split in types],
            "rules": _figures_of(kept, truth, by_rules),
        },
        "other_sent": [_sent(examples, split, FormType.OTHER) for split in told],
        "search_sent": [_sent(examples, split, FormType.SEARCH) for split in told],
        "languages": _by_language(examples, types),
        "read_ms_a_form": 1000 * read_seconds / max(1, len(examples)),
        "seconds": time.perf_counter() - started,
    }


def _sent(
    examples: Sequence[Example], predicted: Sequence[tuple[FormType, float]], true: FormType
) -> int:
    """Counts the forms of the type `true` that would be submitted without an operator's consent,
    because they are taken for search forms. `predicted` holds the predicted type and its
    probability for each example.
    """
    pairs = [
        (example, kind, sure)
        for example, (kind, sure) in zip(examples, predicted, strict=True)
        if example.type is true
    ]
    return sum(
        kind is FormType.SEARCH and sure >= SURE and not asks_for_something_else(e.form)
        for e, kind, sure in pairs
    )


def _by_language(
    examples: Sequence[Example], splits: Sequence[Sequence[FormType]]
) -> list[dict[str, Any]]:
    """Returns for each language the number of forms, and the means over all splits of the accuracy
    and of the F1 score of search forms (type "search"). The language with the most forms comes
    first.
    """
    sizes = Counter(example.language or "not stated" for example in examples)
    names = [
        (e.language or "not stated") if sizes[e.language or "not stated"] >= FEW else "others"
        for e in examples
    ]
    rows = []
    for name, forms in Counter(names).most_common():
        places = [place for place, own in enumerate(names) if own == name]
        scores = [
            score([examples[p].type for p in places], [split[p] for p in places])
            for split in splits
        ]
        search = [one.f1["search"] for one in scores if "search" in one.f1]
        accuracy = mean(one.accuracy for one in scores)
        rows.append(
            {
                "language": name,
                "forms": forms,
                "accuracy": accuracy,
                "search_f1": mean(search) if search else None,
            }
        )
    return rows


def _figures(scores: Scores) -> dict[str, float]:
    return {
        "accuracy": scores.accuracy,
        "search_f1": scores.f1.get("search", 0.0),
        "macro_f1": scores.macro_f1,
    }


def _figures_of(
    places: Sequence[int], truth: Sequence[FormType], predicted: Sequence[FormType]
) -> dict[str, float]:
    """Returns accuracy and F1 scores by name (see `_figures`), counting only the forms at the
    indices `places`. `truth` and `predicted` hold the true and the predicted type of every form."""
    return _figures(
        score([truth[place] for place in places], [predicted[place] for place in places])
    )


def table(result: dict[str, Any]) -> str:
    rows: list[tuple[Any, ...]] = []
    for judged, said in ((result, ""), (result["apart"], ", list-ordering forms apart")):
        for name in ("accuracy", "search_f1", "macro_f1"):
            values = [split[name] for split in judged["splits"]]
            rows.append(
                (name + said, mean(values), pstdev(values), min(values), judged["rules"][name])
            )
    languages = [
        (row["language"], row["forms"], row["accuracy"], row["search_f1"])
        for row in result["languages"]
    ]
    other, search = (", ".join(map(str, result[name])) for name in ("other_sent", "search_sent"))
    sent = f"sent without a person's word, by split: of type other {other}; of type search {search}"
    figures = plain_table(("figure", "learned", "sd", "worst split", "rules"), rows)
    apart = (
        "list-ordering forms (nothing to fill in but selects for order or page length):"
        f" {result['apart']['forms']}"
    )
    return (
        f"{figures}\n\n{apart}\n\n"
        f"{plain_table(('language', 'forms', 'accuracy', 'search F1'), languages)}\n\n{sent}"
    )
