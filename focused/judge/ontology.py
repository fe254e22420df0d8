"""Ontologies: concepts with their words and broader concepts; reading from Turtle or CSV;
similarity of two words by the concepts that they name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any

from crawlmgr.text.tokens import Tokenizer

COLUMNS = ("concept", "broader", "labels")
ALSO = {"concept_id": "concept", "parent_id": "broader", "terms": "labels"}
"""Alternative column names, used in tables of the Chinese thesaurus Cilin, with the names that
replace them."""
MAX_CONCEPTS = 5000
"""Maximum number of concepts of a topic's ontology; of a larger one the part around the topic's
words is kept."""
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_LABELS = (f"{_RDFS}label", f"{_SKOS}prefLabel", f"{_SKOS}altLabel", f"{_SKOS}hiddenLabel")
_ABOVE = (f"{_SKOS}broader", f"{_RDFS}subClassOf")
_BELOW = (f"{_SKOS}narrower",)
_BASE = (  # base of relative names; without one the parser would use the current folder
    "http://ontology.invalid/"
)
# Exceptions that the parser raises on text that is not Turtle: its syntax error, and others caused
# by its own defects.
_NO_TURTLE = (
    SyntaxError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-]+")


@dataclass(frozen=True, slots=True)
class Ontology:
    """An ontology without cycles. `labels` maps each concept to its labels (words or phrases);
    `broader` maps it to the concepts directly above it, none for a root."""

    labels: Mapping[str, tuple[str, ...]]
    broader: Mapping[str, tuple[str, ...]]

    def as_json(self) -> dict[str, Any]:
        """Returns the ontology as plain values, from which `from_json` restores it."""
        return {
            one: {"labels": list(self.labels[one]), "broader": list(self.broader.get(one, ()))}
            for one in self.labels
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Ontology:
        """Makes an ontology from the values that `as_json` returned."""
        labels = {one: tuple(value["labels"]) for one, value in values.items()}
        return cls(labels, {one: tuple(value["broader"]) for one, value in values.items()})

    def words(self) -> list[str]:
        """Returns every label once, in the order of the concepts."""
        return list(dict.fromkeys(label for labels in self.labels.values() for label in labels))

    def tree(self, most: int) -> list[tuple[int, str]]:
        """Returns at most `most` concepts as pairs (depth from 0, labels joined by commas), in the
        order of an indented list; a concept with several broader ones stands only under the first.
        """
        below: dict[str, list[str]] = {}
        for concept in self.labels:
            highs = self.broader.get(concept, ())
            below.setdefault(highs[0] if highs else "", []).append(concept)
        found: list[tuple[int, str]] = []
        ahead = [(0, one) for one in reversed(below.get("", []))]
        while ahead and len(found) < most:
            depth, concept = ahead.pop()
            found.append((depth, ", ".join(self.labels[concept])))
            ahead.extend((depth + 1, one) for one in reversed(below.get(concept, [])))
        return found

    def around(
        self, words: Iterable[str], tokenizer: Tokenizer, most: int = MAX_CONCEPTS
    ) -> Ontology:
        """Returns the part of the ontology around words, with at most `most` concepts: for each
        word the concepts whose labels contain it, their siblings, and all broader ones. A word
        whose part would exceed `most` is left out. Empty if no label contains any of the words."""
        of: dict[str, list[str]] = {}
        below: dict[str, list[str]] = {}
        for concept, labels in self.labels.items():
            for word in dict.fromkeys(word for label in labels for word in tokenizer(label)):
                of.setdefault(word, []).append(concept)
            for high in self.broader.get(concept, ()):
                below.setdefault(high, []).append(concept)
        kept: set[str] = set()
        for word in words:
            wanted = {
                one
                for own in of.get(word, ())
                for high in self.broader.get(own, ())
                for one in below[high]
            }
            wanted.update(of.get(word, ()))
            ahead = list(wanted)
            while ahead:
                highs = [high for high in self.broader.get(ahead.pop(), ()) if high not in wanted]
                wanted.update(highs)
                ahead += highs
            if len(kept | wanted) <= most:
                kept |= wanted
        found = {one: labels for one, labels in self.labels.items() if one in kept}
        return Ontology(
            found,
            {
                one: tuple(high for high in self.broader.get(one, ()) if high in kept)
                for one in found
            },
        )

    def as_csv(self) -> str:
        """Returns the ontology as CSV text that `read_csv` reads."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(
            (one, ";".join(self.broader.get(one, ())), ";".join(self.labels[one]))
            for one in self.labels
        )
        return out.getvalue()


def read_csv(text: str) -> Ontology:
    """Reads an ontology from CSV text with the header `concept,broader[,labels]` or
    `concept_id,parent_id[,terms]`. Several broader concepts or labels are separated by `;` or `|`;
    a concept without labels has its name as label.

    Raises ValueError if a column or a concept's name is missing (with the line's number), if there
    is no concept, or if the broader concepts form a cycle.
    """
    rows = csv.DictReader(text.splitlines())
    rows.fieldnames = [ALSO.get(name, name) for name in rows.fieldnames or ()]
    if not rows.fieldnames or not set(COLUMNS[:2]) <= set(rows.fieldnames):
        raise ValueError("an ontology in CSV needs the columns concept and broader")
    labels: dict[str, list[str]] = {}
    broader: dict[str, list[str]] = {}
    for row in rows:
        concept = (row["concept"] or "").strip()
        if not concept:
            raise ValueError(f"line {rows.line_num}: no concept")
        labels.setdefault(concept, []).extend(_split(row.get("labels")))
        broader.setdefault(concept, []).extend(_split(row["broader"]))
    return _whole(labels, broader)


def read_turtle(data: bytes) -> Ontology:
    """Reads an ontology from RDF Turtle. Concepts are resources with a label (rdfs:label,
    skos:prefLabel, altLabel, hiddenLabel; any language) or in a relation (skos:broader,
    skos:narrower, rdfs:subClassOf). Raises ValueError if the data is not Turtle or has no concept,
    or for a cycle of broader concepts."""
    # imported here because it takes a fifth of a second and is only needed for reading an ontology
    import rdflib

    graph = rdflib.Graph()
    try:
        graph.parse(data=data, format="turtle", publicID=_BASE)
    except _NO_TURTLE as error:
        raise ValueError(
            f"no Turtle: {' '.join(str(error).split())[:200] or 'it ends too early'}"
        ) from None
    labels: dict[str, list[str]] = {}
    broader: dict[str, list[str]] = {}
    for subject, predicate, target in sorted(graph):
        if not isinstance(subject, rdflib.URIRef):
            continue  # blank nodes: restrictions and lists
        relation, one, other = str(predicate), str(subject), str(target)
        if relation in _LABELS and isinstance(target, rdflib.Literal):
            labels.setdefault(one, []).append(other.strip())
        elif relation in (*_ABOVE, *_BELOW) and isinstance(target, rdflib.URIRef):
            low, high = (one, other) if relation in _ABOVE else (other, one)
            broader.setdefault(low, []).append(high)
    return _whole(labels, broader)


def _split(cell: str | None) -> list[str]:
    return [piece.strip() for piece in (cell or "").replace("|", ";").split(";") if piece.strip()]


def _whole(labels: Mapping[str, Iterable[str]], broader: Mapping[str, Iterable[str]]) -> Ontology:
    """Builds the ontology from all concepts mentioned in `labels` or `broader`; a concept without
    label gets its own name as label. Raises ValueError if there is no concept, or if the relations
    contain a cycle.
    """
    named = dict.fromkeys(
        [*labels, *broader, *(high for highs in broader.values() for high in highs)]
    )
    if not named:
        raise ValueError("an ontology without concepts")
    kept = {
        one: tuple(dict.fromkeys(filter(None, labels.get(one, ())))) or (_local_name(one),)
        for one in named
    }
    above = {
        one: tuple(dict.fromkeys(high for high in broader.get(one, ()) if high != one))
        for one in named
    }
    _highest_first(above)
    return Ontology(kept, above)


def _local_name(concept: str) -> str:
    name = re.split(r"[#/]", concept.rstrip("#/"))[-1] if "://" in concept else concept
    return " ".join(_CAMEL.sub(" ", name).split())


def _highest_first(broader: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """Returns all concepts, each after its broader ones. Raises ValueError if the relations contain
    a cycle."""
    try:
        return list(TopologicalSorter(broader).static_order())
    except CycleError as error:
        raise ValueError(f"{min(error.args[1])} stands above itself") from None


class OntologySimilarity:
    """Computes s(a, b), the similarity of two words, in [0, 1]: 1 for equal words, otherwise the
    greatest similarity of a concept of a and a concept of b. A word's concepts are those whose
    labels contain it; s is 0 if a word has none.

    The similarity of two concepts is 2 depth(lcs) / (depth(C1) + depth(C2)) times |Up(C1) ∩ Up(C2)|
    / max(depth(C1), depth(C2)), the latter at most 1 (Wu and Palmer, and eq. (10) of the ant colony
    paper). Up(C): C and the concepts above it. lcs: the deepest concept in both Up(C1) and Up(C2);
    without one the similarity is 0. depth: number of concepts on the longest path from a root, 1
    for a root. `words` are all words that occur in labels."""

    def __init__(self, ontology: Ontology, tokenizer: Tokenizer) -> None:
        self._concepts: dict[str, list[str]] = {}
        for concept, labels in ontology.labels.items():
            for word in dict.fromkeys(word for label in labels for word in tokenizer(label)):
                self._concepts.setdefault(word, []).append(concept)
        self.words = frozenset(self._concepts)
        self._up: dict[str, frozenset[str]] = {}
        self._depth: dict[str, int] = {}
        for concept in _highest_first(ontology.broader):
            highs = ontology.broader[concept]
            self._up[concept] = frozenset({concept}).union(*(self._up[high] for high in highs))
            self._depth[concept] = 1 + max((self._depth[high] for high in highs), default=0)
        self._pair = lru_cache(maxsize=1 << 18)(self._best)

    def __call__(self, a: str, b: str) -> float:
        if a == b:
            return 1.0
        if a not in self._concepts or b not in self._concepts:
            return 0.0
        return self._pair(a, b) if a < b else self._pair(b, a)

    def concepts(self, one: str, other: str) -> float:
        """Returns s(C1, C2) of two concepts, in [0, 1], eq. (10) of the ant colony paper."""
        common = self._up[one] & self._up[other]
        if not common:
            return 0.0
        nearest = max(self._depth[concept] for concept in common)
        return 2 * nearest / (self._depth[one] + self._depth[other]) * self.overlap(one, other)

    def overlap(self, one: str, other: str) -> float:
        """Returns IFCo, the overlap factor of eq. (10) of the ant colony paper: |Up(C1) ∩ Up(C2)| /
        max(depth(C1), depth(C2)), in [0, 1].
        """
        return min(
            1.0, len(self._up[one] & self._up[other]) / max(self._depth[one], self._depth[other])
        )

    def concepts_of(self, word: str) -> tuple[str, ...]:
        """Returns the concepts with a label that contains this word; () for none."""
        return tuple(self._concepts.get(word, ()))

    def overlapping(self, concept: str, least: float) -> frozenset[str]:
        """Returns the concepts whose overlap with `concept` is at least `least`, including
        itself."""
        return frozenset(other for other in self._up if self.overlap(concept, other) >= least)

    def _best(self, a: str, b: str) -> float:
        return max(
            self.concepts(one, other)
            for one, other in product(self._concepts[a], self._concepts[b])
        )
