"""Features for classifying forms by type: numbers such as the deep-web paper's counts of controls;
concepts (such as "search") and words, each with the position in which it occurs (button, label,
title ...)."""

from __future__ import annotations

import math
import re
from collections import Counter
from urllib.parse import unquote, urlsplit

from deepweb.form_rules import rule_type
from deepweb.form_words import concept_names, concepts_in, words
from deepweb.search_forms import Form

FEATURES_VERSION = 3
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
    kinds = Counter(field.kind for field in form.fields)
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
    }
    verdict = rule_type(form)
    found[f"rule:{verdict.rule}"] = found[f"rule_type:{verdict.type}"] = 1.0
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
