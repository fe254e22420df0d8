"""The trained classifier of forms by type. Its weights are read from a JSON file and evaluated
without pickle or a learning library."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from deepweb.form_features import FEATURES_VERSION, counts, word_features
from deepweb.form_types import FormType
from deepweb.search_forms import Form, read_forms

MODEL_FORMAT = "crawlmgr-form-model"
MODEL_VERSION = 1
WORD_NORM = 2.0
"""Euclidean length to which the vector of a form's words is scaled, relative to its numeric
features."""

_BINDABLE = ("text", "search", "number", "date", "range", "select", "radio", "checkbox")


class ModelError(ValueError):
    """Raised for a model file that is damaged or does not belong to this version."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A form's type, the classifier's `confidence` in it (its probability, in [0, 1]), whether the
    form can be queried, and the probability of every type (`shares`)."""

    type: FormType
    confidence: float
    searchable: bool
    shares: Mapping[FormType, float]


@dataclass(frozen=True, slots=True)
class FormModel:
    """Multinomial logistic regression over named features.

    The score of class c is bias_c + sum over f of x_f * w_fc + (WORD_NORM / |v|) * sum over g of
    v_g * w_gc. Here x_f are the form's numeric features, v_g its word features, and |v| is the
    length of the vector v; only features that the model knows count. The probabilities are
    softmax(score). `weights` maps a feature's name to its weights w, indexed by class; the names of
    word features contain "=".
    """

    classes: tuple[FormType, ...]
    bias: np.ndarray
    weights: Mapping[str, np.ndarray]

    def shares(self, form: Form) -> np.ndarray:
        """Returns the probability of every class, in the order of `classes`; they sum to 1."""
        return self.shares_of(counts(form), word_features(form))

    def shares_of(self, numbers: Mapping[str, float], words: Mapping[str, float]) -> np.ndarray:
        """Returns the probabilities of the classes, in the order of `classes`, from computed
        features: `numbers` (numeric features by name) and `words` (word features by name)."""
        scores = self.bias.astype(float).copy()
        for name, value in numbers.items():
            row = self.weights.get(name)
            if row is not None:
                scores += value * row
        known = [
            (self.weights[name], value) for name, value in words.items() if name in self.weights
        ]
        norm = math.sqrt(sum(value * value for _, value in known))
        for row, value in known:
            scores += (WORD_NORM * value / norm) * row
        scores = np.exp(scores - scores.max())
        shares: np.ndarray = scores / scores.sum()
        return shares

    def classify(self, form: Form) -> Verdict:
        """Returns the likeliest type of a form. It is `searchable` if the type is search and it has
        a field to query and no password or file field."""
        shares = self.shares(form)
        best = int(shares.argmax())
        found = self.classes[best]
        return Verdict(
            type=found,
            confidence=float(shares[best]),
            searchable=found is FormType.SEARCH and can_be_asked(form),
            shares=dict(zip(self.classes, map(float, shares), strict=True)),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the model as the content of its file; weights are rounded to three decimals."""
        return {
            "format": MODEL_FORMAT,
            "version": MODEL_VERSION,
            "features": FEATURES_VERSION,
            "classes": [str(name) for name in self.classes],
            "bias": [round(float(value), 3) for value in self.bias],
            "weights": {
                name: [round(float(value), 3) for value in row]
                for name, row in sorted(self.weights.items())
            },
        }


def can_be_asked(form: Form) -> bool:
    """Tells whether a form has a field that a query can fill in, and no field that a query must
    never fill in (password, file)."""
    return bool(form.of_kind(*_BINDABLE)) and not form.of_kind("password", "file")


def model_from_json(document: Any) -> FormModel:
    """Reads a model from the content that `to_json` wrote. Raises ModelError with the reason if the
    content is invalid."""
    if not isinstance(document, dict) or document.get("format") != MODEL_FORMAT:
        raise ModelError("this is no form model")
    if document.get("version") != MODEL_VERSION or document.get("features") != FEATURES_VERSION:
        raise ModelError(
            f"model version {document.get('version')} for features {document.get('features')}; "
            f"this program reads {MODEL_VERSION} for {FEATURES_VERSION}: train it anew"
        )
    try:
        classes = tuple(FormType(name) for name in document["classes"])
        bias = np.array(document["bias"], dtype=float)
        weights = {
            str(name): np.array(row, dtype=float) for name, row in document["weights"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"a damaged form model: {error}") from error
    whole = [bias, *weights.values()]
    if not classes or any(
        row.shape != (len(classes),) or not np.isfinite(row).all() for row in whole
    ):
        raise ModelError("a damaged form model: weights of another shape, or no numbers")
    return FormModel(classes, bias, weights)


def load_model(path: Path) -> FormModel:
    """Loads a model from a JSON file. Raises ModelError for an invalid one."""
    try:
        return model_from_json(json.loads(path.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path.name} is no JSON file") from error


@functools.cache
def shipped_model() -> FormModel:
    """Returns the model packaged with the program."""
    return model_from_json(
        json.loads(
            resources.files("deepweb").joinpath("form_model.json").read_text(encoding="utf-8")
        )
    )


def classify_html(html: str | bytes, url: str, model: FormModel) -> tuple[Form | None, Verdict]:
    """Classifies the HTML of a form, or one form of a page. Returns the form and its verdict.

    If there are several forms, it takes the one most likely to be a search form that can be
    queried; if none can, the one with most fields. Without any form, returns None and the type
    other with confidence 0.
    """
    read = [(form, model.classify(form)) for form in read_forms(html, url, cut=False)]
    if not read:
        return None, Verdict(FormType.OTHER, 0.0, False, {})
    askable = [pair for pair in read if pair[1].searchable]
    if askable:
        return max(askable, key=lambda pair: pair[1].confidence)
    return max(read, key=lambda pair: len(pair[0].fields))
