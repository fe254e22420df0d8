"""The words of a form's page in two word spaces, Pc (words of the page) and Fc (words of the form);
each occurrence has a weight K that depends on its position (table 1 of the deep-web paper)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lxml.html import HtmlElement

from deepweb.query_words import query_words
from deepweb.search_forms import parse_page

TITLE, HEADING, BOLD, UPPER, OPTION = 3.0, 2.0, 1.5, 1.2, 0.5
"""The weights K of table 1 of the deep-web paper: in the title; in headings, and in text at most
three blocks from the form; in bold text; in the upper third of the page; in options of the form."""

NEAR_BLOCKS = 3
_BLOCKS = frozenset(
    (
        "p",
        "div",
        "li",
        "tr",
        "td",
        "th",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "section",
        "article",
        "header",
        "footer",
        "nav",
        "aside",
    )
    + (
        "main",
        "form",
        "table",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "fieldset",
        "pre",
        "blockquote",
        "center",
    )
)
_UNSEEN = frozenset(("script", "style", "noscript", "template", "iframe", "svg"))
_HEADINGS = frozenset(("h1", "h2", "h3", "legend", "caption"))
_BOLD = frozenset(("b", "strong", "em", "i", "h4", "h5", "h6", "th", "label"))
_PROMPTS = ("placeholder", "title", "alt", "aria-label")


@dataclass(frozen=True, slots=True)
class FormPageWords:
    """For each word of the page space and of the form space: the sum of the weights K of its
    occurrences, which eq. (1) of the deep-web paper needs (`K * tf`, where all K are equal and tf
    is the number of occurrences)."""

    page: Mapping[str, float]
    form: Mapping[str, float]


class _Piece(NamedTuple):
    text: str
    block: int
    kind: str


def words_of_form_page(
    html: str | bytes, form_index: int, split: Callable[[str], list[str]] = query_words
) -> FormPageWords:
    """Returns the weighted words of a page (Pc of the deep-web paper) and of its form number
    `form_index` (Fc), counted from 0 over all `<form>` tags. No words if it cannot be read. `split`
    splits a text into words.

    Pc is taken from the page without that form; an occurrence weighs K by its position; outside the
    title, the product of the two largest that apply. Fc is taken from the form's text, labels,
    prompts and button names, and from its options with weight 0.5.
    """
    root = parse_page(html)
    if root is None:
        return FormPageWords({}, {})
    form = next(
        (element for place, element in enumerate(root.iter("form")) if place == form_index), None
    )
    pieces = _pieces(root, form)
    own = [piece for piece in pieces if piece.kind == "form"]
    near = (own[0].block - NEAR_BLOCKS, own[-1].block + NEAR_BLOCKS) if own else (1, 0)
    letters = sum(len(piece.text) for piece in pieces if piece.kind not in ("option", "title"))
    page: defaultdict[str, float] = defaultdict(float)
    inside: defaultdict[str, float] = defaultdict(float)
    passed = 0
    for piece in pieces:
        if piece.kind in ("form", "option"):
            for word in split(piece.text):
                inside[word] += OPTION if piece.kind == "option" else 1.0
        else:
            weight = _weight(piece, near, passed * 3 < letters)
            for word in split(piece.text):
                page[word] += weight
        if piece.kind not in ("option", "title"):
            passed += len(piece.text)
    return FormPageWords(dict(page), dict(inside))


def _weight(piece: _Piece, near: tuple[int, int], upper: bool) -> float:
    if piece.kind == "title":
        return TITLE
    found = [UPPER] if upper else []
    if piece.kind == "heading" or near[0] <= piece.block <= near[1]:
        found.append(HEADING)
    if piece.kind == "bold":
        found.append(BOLD)
    largest = sorted(found, reverse=True)[:2]
    return largest[0] * (largest[1] if len(largest) > 1 else 1.0) if largest else 1.0


def _pieces(root: HtmlElement, form: HtmlElement | None) -> list[_Piece]:
    found: list[_Piece] = []
    block = 0
    stack: list[tuple[HtmlElement, str, bool]] = [(root, "plain", False)]
    while stack:
        node, kind, leaving = stack.pop()
        if leaving:
            block += node.tag in _BLOCKS
            if node.tail and node.tail.strip():
                found.append(_Piece(node.tail, block, kind))
            continue
        stack.append((node, kind, True))
        if not isinstance(node.tag, str) or node.tag in _UNSEEN:
            continue
        block += node.tag in _BLOCKS
        inner = "form" if node is form else _kind_inside(node.tag, kind)
        if inner == "form":
            shown = [node.get(name) for name in _PROMPTS]
            shown += [node.get("value")] if node.get("type") in ("submit", "button") else []
            found += [_Piece(text, block, "form") for text in shown if text]
        if node.text and node.text.strip() and node.tag not in ("textarea",):
            found.append(_Piece(node.text, block, inner))
        stack.extend((child, inner, False) for child in reversed(node))
    return found


def _kind_inside(tag: str, kind: str) -> str:
    if kind == "form":
        return "option" if tag == "option" else "form"
    if kind != "plain":
        return kind
    if tag == "title":
        return "title"
    if tag in _HEADINGS:
        return "heading"
    return "bold" if tag in _BOLD else "plain"
