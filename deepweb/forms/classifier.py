"""The trained classifier of forms by type: its features, among them the deep-web paper's rules, and
its weights, which are read from a JSON file and evaluated without pickle or a learning library."""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np

from deepweb.form_roles import asks_for_something_else, only_orders_a_list
from deepweb.forms.field_roles import FieldRole, concept_names, concepts_in, words
from deepweb.forms.types import FormType
from deepweb.search_forms import Form, read_forms

_CHOICES = ("select", "radio", "checkbox")


class RuleType(NamedTuple):
    """The type of a form by the rules, and the name of the rule that decided."""

    type: FormType
    rule: str


def rule_type(form: Form) -> RuleType:
    """Returns the type of a form by the rules of the deep-web paper, and the rule that decided. The
    first that applies decides:

    1. Password fields: login or registration; password recovery if there is nothing else. 2. A text
      area: contact. 3. A file
    field: other. 4. A quantity, or words of an order and none of a search: order. 5. Nothing to
    fill in: other. 6. An e-mail, phone or captcha field, at most two one-line inputs: newsletter,
    or password recovery if its words say so. 7. Another e-mail field: registration if its words say
    so, else other. 8. A search word in tag, button or prompt, or a query field: search.
    9. One text box sent by GET: search. All else: other.
    """
    passwords, lines = (
        form.of_kind("password"),
        form.of_kind("text", "search", "email", "tel", "url", "number"),
    )
    concepts = concepts_in(_tag_words(form))
    if passwords:
        return _with_password(form, len(passwords), len(lines), concepts)
    if any(field.role is not FieldRole.CAPTCHA for field in form.of_kind("textarea")):
        return RuleType(FormType.CONTACT, "textarea")
    if form.of_kind("file"):
        return RuleType(FormType.OTHER, "file")
    roles = {field.role for field in form.fields}
    if FieldRole.QUANTITY in roles or ("order" in concepts and "search" not in concepts):
        return RuleType(FormType.ORDER, "order_words")
    if not lines and not form.of_kind("select", "date", "month", "range"):
        return RuleType(FormType.OTHER, "nothing_to_fill")
    if roles & {FieldRole.EMAIL, FieldRole.PHONE, FieldRole.CAPTCHA} and len(lines) <= 2:
        recovery = "recover" in concepts or "recover" in concepts_in(form.text[:400])
        return RuleType(
            FormType.PASSWORD_RECOVERY if recovery else FormType.NEWSLETTER, "mailing_list"
        )
    if FieldRole.EMAIL in roles:
        return RuleType(
            FormType.REGISTRATION if "register" in concepts else FormType.OTHER, "personal"
        )
    if "search" in concepts or FieldRole.QUERY in roles:
        return RuleType(FormType.SEARCH, "search_word")
    if len(lines) == 1 and form.method == "get":
        return RuleType(FormType.SEARCH, "one_box_get")
    return RuleType(FormType.OTHER, "none")


def _with_password(form: Form, passwords: int, lines: int, concepts: frozenset[str]) -> RuleType:
    if passwords >= 2:
        return RuleType(
            FormType.PASSWORD_RECOVERY if not lines else FormType.REGISTRATION, "two_passwords"
        )
    if lines <= 2 and not ("register" in concepts and "login" not in concepts):
        return RuleType(FormType.LOGIN, "one_password")
    many = lines > 2 or any(form.of_kind(kind) for kind in _CHOICES)
    return RuleType(
        FormType.REGISTRATION if many or "register" in concepts else FormType.LOGIN,
        "password_and_more",
    )


def _tag_words(form: Form) -> str:
    buttons = " ".join(
        f"{field.label} {field.value} {field.placeholder} {field.name}"
        for field in form.fields
        if field.kind in _BUTTONS
    )
    prompts = " ".join(field.placeholder for field in form.text_fields)
    action = form.action if form.action != form.page_url else ""
    return f"{action.split('://')[-1].partition('/')[2]} {form.css} {buttons} {prompts}"


FEATURES_VERSION = 4


_KINDS = (
    "text",
    "search",
    "email",
    "tel",
    "url",
    "number",
    "password",
    "checkbox",
    "radio",
    "select",
    "textarea",
    "file",
    "hidden",
    "submit",
    "image",
    "button",
    "reset",
    "date",
)


_CONCEPTS_ONLY = ("choice", "title", "above", "around")


"""Positions from which only concepts are used, because their other words would overfit to single
sites."""


_BUTTONS = ("submit", "image", "button")


_NOT_TYPED = ("hidden", "submit", "image", "button", "reset")


_MAX_WORD = 24


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


_PRICE = re.compile(r"[$€£¥₩₽]\s?\d|\d\s?[$€£¥₩₽]|\d[.,]\d\d\s?(eur|usd|kr|zł|руб|元|円|원)", re.I)


_FLIPS = re.compile(r"[?&/](?:page|p|pg|start|offset)[=/-]?\d+", re.I)


_EMPTY_VALUES = {"", "on", "1", "0", "true", "yes"}


def places(form: Form) -> dict[str, list[str]]:
    """Returns the texts of a form by position (button, action, name, label, heading and so on),
    each position with a list of phrases."""
    address, page = urlsplit(form.action), urlsplit(form.page_url)
    typed = [field for field in form.fields if field.kind not in _NOT_TYPED]
    return {
        "button": [
            f"{field.label} {field.value} {field.placeholder}"
            for field in form.fields
            if field.kind in _BUTTONS
        ],
        "button_name": [
            f"{field.name} {field.css}" for field in form.fields if field.kind in _BUTTONS
        ],
        "action": [
            unquote(f"{address.path} {address.query}") if form.action != form.page_url else ""
        ],
        "css": [form.css],
        "name": [f"{field.name} {field.css}" for field in typed],
        "label": [f"{field.label} {field.placeholder} {_prompt(field.value)}" for field in typed],
        "choice": [option.label for field in typed for option in field.options[:8]],
        "hidden": [
            f"{field.name} {field.value[:40]}" for field in form.fields if field.kind == "hidden"
        ],
        "heading": [form.headings],
        "text": [form.text],
        "link": [form.links],
        "url": [unquote(f"{page.path} {page.query}")],
        "title": [form.title],
        "above": [form.above],
        "around": [form.around],
    }


def _prompt(value: str) -> str:
    return "" if value.lower() in _EMPTY_VALUES or len(value) > 60 else value


def counts(form: Form) -> dict[str, float]:
    """Returns the numeric features of a form by name, between 0 and about 8; zeros are left out.
    They are: the deep-web paper's counts of controls; properties such as the method and the numbers
    of text lines, letters and links; the type by `rule_type`; the roles of the fields; and the
    concepts, such as "search", named in each position (see `places`).
    """
    kinds = Counter(
        field.kind
        for field in form.fields
        if (field.kind, field.role) != ("textarea", FieldRole.CAPTCHA)
    )
    typed = [field for field in form.fields if field.kind not in _NOT_TYPED]
    said = places(form)
    found: dict[str, float] = {f"kind:{kind}": math.log1p(kinds[kind]) for kind in _KINDS}
    lines = (
        kinds["text"]
        + kinds["search"]
        + kinds["email"]
        + kinds["tel"]
        + kinds["url"]
        + kinds["number"]
    )
    letters = len(form.text)
    found |= {
        "post": float(form.method == "post"),
        "get": float(form.method == "get"),
        "self": float(form.action == form.page_url),
        "multipart": float("multipart" in form.enctype),
        "other_host": float(urlsplit(form.action).hostname != urlsplit(form.page_url).hostname),
        "lines": math.log1p(lines),
        "one_line": float(lines == 1),
        "two_lines": float(lines == 2),
        "no_line": float(lines == 0),
        "typed": math.log1p(len(typed)),
        "one_typed": float(len(typed) == 1),
        "one_password": float(kinds["password"] == 1),
        "two_passwords": float(kinds["password"] >= 2),
        "only_email": float(
            lines == 1
            and any(
                "email" in concepts_in(f.name + " " + f.label) or f.kind == "email" for f in typed
            )
        ),
        "options": math.log1p(
            sum(len(field.options) for field in form.fields if field.kind == "select")
        ),
        "letters": math.log1p(letters),
        "letters_a_field": math.log1p(letters / (1 + len(typed))),
        "links": math.log1p(form.links.count("http") + form.links.count("/") / 4),
        "required": float(any(field.required for field in typed)),
        "only_buttons": float(not typed),
        "one_select": float(kinds["select"] == 1 and len(typed) == 1),
        "price": float(_PRICE.search(form.text) is not None),
        "flips": float(len(_FLIPS.findall(form.links)) > 1),
        "question": float("?" in form.text or "？" in form.text),
        "index": math.log1p(form.index),
        "orders_a_list": float(only_orders_a_list(form)),
        "asks_else": float(asks_for_something_else(form)),
    }
    ruled = rule_type(form)
    found[f"rule:{ruled.rule}"] = found[f"rule_type:{ruled.type}"] = 1.0
    for place, phrases in said.items():
        hits: Counter[str] = Counter()
        for phrase in phrases:
            hits.update(concepts_in(phrase[:2_000]))
        many = place in ("name", "label", "choice", "hidden")
        for concept in concept_names():
            if hits[concept]:
                found[f"{concept}@{place}"] = math.log1p(hits[concept]) if many else 1.0
                found[f"{concept}@any"] = 1.0
    for field in typed:
        found[f"role:{field.role}"] = found.get(f"role:{field.role}", 0.0) + 1.0
    return {
        name: math.log1p(value) if name.startswith("role:") else value
        for name, value in found.items()
        if value
    }


def word_features(form: Form) -> dict[str, float]:
    """Returns the word features of a form: the key is position and word (`button=search`,
    `name=q`), the value 1. Words of scripts without spaces are split into pairs of characters."""
    found: dict[str, float] = {}
    for place, phrases in places(form).items():
        if place in _CONCEPTS_ONLY:
            continue
        for phrase in phrases:
            for word in words(phrase[:1_500]).split():
                for piece in _pieces(word):
                    found[f"{place}={piece}"] = 1.0
    return found


def _pieces(word: str) -> list[str]:
    if word.isdigit() or len(word) > _MAX_WORD:
        return []
    if _CJK.search(word):
        return [word[i : i + 2] for i in range(max(1, len(word) - 1))]
    return [word]


MODEL_FORMAT = "crawlmgr-form-model"


MODEL_VERSION = 1


WORD_NORM = 2.0


"""Euclidean length to which the vector of a form's words is scaled, relative to its numeric
features."""


_BINDABLE = ("text", "search", "number", "date", "range", "select", "radio", "checkbox")


class ModelError(ValueError):
    """Raised for a model file that is damaged or does not belong to this version."""


@dataclass(frozen=True, slots=True)
class Classification:
    """A form's type, the classifier's `confidence` in it (its probability, in [0, 1]), whether the
    form can be queried, and the probability of every type (`probabilities`)."""

    type: FormType
    confidence: float
    searchable: bool
    probabilities: Mapping[FormType, float]


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

    def probabilities(self, form: Form) -> np.ndarray:
        """Returns the probability of every class, in the order of `classes`; they sum to 1."""
        return self.probabilities_of(counts(form), word_features(form))

    def probabilities_of(
        self, numbers: Mapping[str, float], words: Mapping[str, float]
    ) -> np.ndarray:
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

    def classify(self, form: Form) -> Classification:
        """Returns the likeliest type of a form. It is `searchable` if the type is search and it has
        a field to query and no password or file field."""
        shares = self.probabilities(form)
        best = int(shares.argmax())
        found = self.classes[best]
        return Classification(
            type=found,
            confidence=float(shares[best]),
            searchable=found is FormType.SEARCH and can_be_asked(form),
            probabilities=dict(zip(self.classes, map(float, shares), strict=True)),
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


def classify_html(
    html: str | bytes, url: str, model: FormModel
) -> tuple[Form | None, Classification]:
    """Classifies the HTML of a form, or one form of a page. Returns the form and its
    classification.

    If there are several forms, it takes the one most likely to be a search form that can be
    queried; if none can, the one with most fields. Without any form, returns None and the type
    other with confidence 0.
    """
    read = [(form, model.classify(form)) for form in read_forms(html, url, cut=False)]
    if not read:
        return None, Classification(FormType.OTHER, 0.0, False, {})
    askable = [pair for pair in read if pair[1].searchable]
    if askable:
        return max(askable, key=lambda pair: pair[1].confidence)
    return max(read, key=lambda pair: len(pair[0].fields))
