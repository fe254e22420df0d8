"""Training and cross-validation of the form classifier. Forms of one domain are never in both
training and test data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from lxml.html import HtmlElement
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from crawlmgr.web.url import registered_domain
from deepweb.choice.terms import language_of
from deepweb.commands.classify import read_lines
from deepweb.forms.classifier import WORD_NORM, FormModel, counts, rule_type, word_features
from deepweb.forms.types import FormType
from deepweb.search_forms import Form, around_of, headings_above, parse_page, read_forms, squeezed

MIN_DOMAINS = 2
"""A word is used only if forms of at least this many domains contain it."""

# inverse strength of regularisation; values from .5 to 3 change the accuracy less than it varies
# between folds
_STRENGTH = 1.0
# 1 gives every type the same total weight in training, 0 every form
_BALANCE = 0.7
_NEGLIGIBLE = 0.03
_UNSTATED = "--"


class TrainingError(ValueError):
    """Raised if nothing can be learned from the examples; its text says why."""


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled form: its type, its registered domain, its numeric features (`numbers`) and word
    features (`words`). `language` follows from its script or its page's declaration, "" if unknown;
    `weight` is its weight in training, 1 for a form of a real page."""

    form: Form
    type: FormType
    domain: str
    numbers: dict[str, float]
    words: dict[str, float]
    language: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Scores:
    """Quality of predictions: the accuracy; the F1 score of each type (`f1`) and the mean of these;
    and `confusion`, the number of forms by true type and then by predicted type.
    """

    accuracy: float
    macro_f1: float
    f1: dict[str, float]
    confusion: dict[str, dict[str, int]]

    def to_json(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "f1": self.f1,
            "confusion": self.confusion,
        }


def example_of(row: dict[str, Any]) -> Example:
    """Reads an example from a document `{"html", "url", "type", "domain"?, "page_html"?,
    "form_index"?, "weight"?, "lang"?}`, where "?" marks optional keys. Without a domain, the
    registered domain of the URL is used. If `page_html` is given, the surroundings of the form are
    read from that page, where it is the form at index `form_index`. Raises TrainingError for a
    missing key, an unknown type or an invalid weight."""
    try:
        kind, html, url = FormType(row["type"]), row["html"], row["url"]
    except KeyError as error:
        raise TrainingError(f"a line lacks {error}") from error
    except ValueError as error:
        raise TrainingError(f"no form type: {row['type']!r}") from error
    forms = read_forms(html, url, cut=False)
    form = forms[0] if forms else Form(url, url, "get", ())
    if forms and row.get("page_html"):
        form = _in_page(form, about_forms(parse_page(row["page_html"])), row.get("form_index", 0))
    domain = row.get("domain") or registered_domain(urlsplit(url).hostname or "")
    said = " ".join([form.title, form.text, *(field.words for field in form.fields)])
    language = language_of(said, row.get("lang") or _UNSTATED)
    language = "" if language == _UNSTATED else language
    return Example(
        form,
        kind,
        domain,
        counts(form),
        word_features(form),
        language,
        _weight(row.get("weight", 1.0)),
    )


def _weight(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 < value <= 1:
        raise TrainingError(f"a weight is a number above 0, at most 1, not {value!r}")
    return float(value)


class Surroundings(NamedTuple):
    """The title of a form's page, the nearest heading above the form, and the ids and classes of
    the elements around it."""

    title: str
    above: str
    around: str


def about_forms(root: HtmlElement | None) -> list[Surroundings]:
    """Returns for each form of a page, in page order, the page's title, the heading above the form,
    and the ids and classes of the elements around it; empty without a page (None)."""
    if root is None:
        return []
    title = squeezed(root.findtext(".//title") or "")
    forms = zip(root.iter("form"), headings_above(root), strict=True)
    return [Surroundings(title, above, around_of(form)) for form, above in forms]


def _in_page(form: Form, about: Sequence[Surroundings], index: int) -> Form:
    """Returns a copy of the form with the surroundings at `index` of `about`, which holds those of
    all forms of a page; the form itself if `index` is out of range."""
    return replace(form, **about[index]._asdict()) if 0 <= index < len(about) else form


def example_of_form(form: Form, kind: FormType) -> Example:
    """Returns an example from an already parsed form, such as one whose type an operator
    corrected."""
    return Example(
        form,
        kind,
        registered_domain(urlsplit(form.page_url).hostname or ""),
        counts(form),
        word_features(form),
    )


def read_examples(path: Path) -> list[Example]:
    """Returns the labelled forms of a file of JSON lines; an invalid line raises TrainingError with
    its number. Lines for forms of one page have the same "page_id", and only the first of them
    contains the "page_html".
    """
    examples = []
    pages: dict[str, list[Surroundings]] = {}
    for number, row in read_lines(path):
        try:
            html, page = row.pop("page_html", None), str(row.get("page_id") or number)
            if html:
                pages[page] = about_forms(parse_page(html))
            example = example_of(row)
            form = (
                _in_page(example.form, pages.get(page, ()), row.get("form_index", 0))
                if example.form.fields
                else example.form
            )
            examples.append(replace(example, form=form, numbers=counts(form)))
        except TrainingError as error:
            raise TrainingError(f"{path.name}, line {number}: {error}") from error
    return examples


def train(examples: Sequence[Example]) -> FormModel:
    """Trains a logistic regression; the total weights of the classes differ by less than their
    sizes (`_BALANCE`), and within a class each form weighs as `Example.weight` says. Forms without
    controls are left out. Raises TrainingError for fewer than two types.

    Each numeric feature is divided by its largest value, and the words of a form are scaled to a
    vector of length `WORD_NORM`. These scales are multiplied into the weights, so that the model
    reads unscaled features.
    """
    examples = [example for example in examples if example.form.fields]
    types = sorted({example.type for example in examples})
    if len(types) < 2:
        raise TrainingError("examples of at least two types are needed")
    names = _vocabulary(examples)
    columns = {name: place for place, name in enumerate(names)}
    matrix = _matrix(examples, columns)
    scale = np.maximum(abs(matrix).max(axis=0).toarray().ravel(), 1e-9)
    scale[[place for name, place in columns.items() if "=" in name]] = 1.0
    fitted = LogisticRegression(C=_STRENGTH, max_iter=1_000)
    fitted.fit(
        matrix @ sparse.diags(1 / scale),
        [str(example.type) for example in examples],
        sample_weight=_balanced(examples),
    )
    rows = _rows(fitted, types) / scale[:, None]
    bias = np.array(
        fitted.intercept_ if len(types) > 2 else [-fitted.intercept_[0], fitted.intercept_[0]]
    ).ravel()
    keep = {
        name: rows[place]
        for name, place in columns.items()
        if "=" not in name or abs(rows[place]).max() >= _NEGLIGIBLE
    }
    return FormModel(tuple(FormType(name) for name in fitted.classes_), bias, keep)


def _balanced(examples: Sequence[Example]) -> np.ndarray:
    """Returns the training weight of each example, in the order of `examples`: the rarer its type,
    the larger (`_BALANCE`)."""
    sums: dict[FormType, float] = defaultdict(float)
    for example in examples:
        sums[example.type] += example.weight
    share = sum(sums.values()) / len(sums)
    return np.array(
        [example.weight * (share / sums[example.type]) ** _BALANCE for example in examples]
    )


def _rows(fitted: LogisticRegression, types: Sequence[FormType]) -> np.ndarray:
    if len(types) > 2:
        rows: np.ndarray = fitted.coef_.T.copy()
        return rows
    return np.column_stack([-fitted.coef_[0], fitted.coef_[0]])


def _vocabulary(examples: Sequence[Example]) -> list[str]:
    domains: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        for word in example.words:
            domains[word].add(example.domain)
    numbers = {name for example in examples for name in example.numbers}
    return sorted(numbers) + sorted(
        word for word, seen in domains.items() if len(seen) >= MIN_DOMAINS
    )


def _matrix(examples: Sequence[Example], columns: dict[str, int]) -> sparse.csr_matrix:
    values, places, starts = [], [], [0]
    for example in examples:
        for name, value in example.numbers.items():
            values.append(value)
            places.append(columns[name])
        known = [columns[word] for word in example.words if word in columns]
        values += [WORD_NORM / max(1, len(known)) ** 0.5] * len(known)
        places += known
        starts.append(len(values))
    return sparse.csr_matrix((values, places, starts), shape=(len(examples), len(columns)))


def folds_by_domain(domains: Iterable[str], folds: int, random_seed: int) -> dict[str, int]:
    """Assigns each domain to one of `folds` folds, and returns the fold of each, so that all forms
    of a domain are in the same fold."""
    names = sorted(set(domains))
    np.random.default_rng(random_seed).shuffle(names)
    return {name: place % folds for place, name in enumerate(names)}


def cross_validate(
    examples: Sequence[Example],
    folds: int = 5,
    random_seed: int = 1,
    on_fold: Callable[[int], None] = lambda fold: None,
    more: Sequence[Example] = (),
) -> list[FormType]:
    """Returns the type predicted for each example by a model that was trained without the forms of
    its registered domain. `more` are additional examples for training only; those of that domain
    are left out too. `on_fold` is called with the number of each fold when it is done. Raises
    TrainingError if there are fewer domains than folds."""
    return [kind for kind, _ in predictions(examples, folds, random_seed, on_fold, more)]


def predictions(
    examples: Sequence[Example],
    folds: int = 5,
    random_seed: int = 1,
    on_fold: Callable[[int], None] = lambda fold: None,
    more: Sequence[Example] = (),
) -> list[tuple[FormType, float]]:
    """Returns the type predicted for each example as by `cross_validate`, whose parameters it
    takes, and the model's confidence in it, in [0, 1]. A form without controls gets the type other
    with confidence 0."""
    fold_of = folds_by_domain((example.domain for example in examples), folds, random_seed)
    if len(fold_of) < folds:
        raise TrainingError(f"{len(fold_of)} domains cannot be split into {folds} folds")
    predicted: list[tuple[FormType, float]] = [(FormType.OTHER, 0.0)] * len(examples)
    for fold in range(folds):
        model = train(
            [example for example in (*examples, *more) if fold_of.get(example.domain) != fold]
        )
        for place, example in enumerate(examples):
            if fold_of[example.domain] == fold and example.form.fields:
                shares = model.probabilities_of(example.numbers, example.words)
                predicted[place] = model.classes[int(shares.argmax())], float(shares.max())
        on_fold(fold)
    return predicted


def predict_by_rules(examples: Sequence[Example]) -> list[FormType]:
    """Returns the types predicted for the examples by the rules of the deep-web paper, for
    comparison with the trained model."""
    return [rule_type(example.form).type for example in examples]


def measure(
    examples: Sequence[Example],
    folds: int = 5,
    random_seed: int = 1,
    on_fold: Callable[[int], None] = lambda fold: None,
    more: Sequence[Example] = (),
) -> tuple[Scores, Scores]:
    """Returns two scores: of the trained model in cross-validation (see `cross_validate` for the
    parameters), and of the rules of the deep-web paper."""
    truth = [example.type for example in examples]
    learned = score(truth, cross_validate(examples, folds, random_seed, on_fold, more))
    return learned, score(truth, predict_by_rules(examples))


def score(truth: Sequence[FormType], predicted: Sequence[FormType]) -> Scores:
    """Compares true and predicted types, given in the same order. The mean F1 is that of the types
    that occur or were predicted.
    """
    types = sorted(set(truth) | set(predicted))
    confusion: dict[str, dict[str, int]] = {}
    for true in types:
        row = Counter(guess for real, guess in zip(truth, predicted, strict=True) if real is true)
        confusion[str(true)] = {str(guess): row[guess] for guess in types}
    f1 = {}
    for name in map(str, types):
        right = confusion[name][name]
        wrong = (
            sum(confusion[name].values()) + sum(row[name] for row in confusion.values()) - 2 * right
        )
        f1[name] = 2 * right / (2 * right + wrong)
    accuracy = sum(confusion[name][name] for name in confusion) / max(1, len(truth))
    return Scores(accuracy, sum(f1.values()) / len(f1), f1, confusion)
