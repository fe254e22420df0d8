"""The ant colony paper's own rule for duplicates: of two links whose concepts overlap only one is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from focused.ontology import OntologySimilarity
from focused.pages import Link

LEAST = 0.9
"""IFCo from which on two concepts count as the same."""


class OnePerConcept:
    """Keeps the first link to each concept: one whose anchor names a concept that overlaps with one named by a kept link to
    another address (IFCo, eq. (10), at 0.9 or more) is left out. Links without concepts are kept.

    The rule takes pages for equal that are only about the same; `left_out` tells what it dropped, for who wants to count that.
    """

    def __init__(self, measure: OntologySimilarity) -> None:
        self._measure = measure
        self._kept: dict[str, str] = {}
        """Concepts, and those that overlap with them, with the address that was kept."""
        self._same = lru_cache(maxsize=10_000)(lambda concept: measure.overlapping(concept, LEAST))
        self.left_out: dict[str, str] = {}
        """Addresses that were left out, each with the one that was kept in its place."""

    def kept(self, links: Iterable[Link]) -> list[Link]:
        """The links that are not left out, in their order."""
        found = []
        for link in links:
            concepts = self._concepts(link)
            other = next((self._kept[one] for one in concepts if self._kept.get(one, link.url) != link.url), None)
            if other is not None:
                self.left_out.setdefault(link.url, other)
                continue
            for concept in concepts:
                for same in self._same(concept):
                    self._kept.setdefault(same, link.url)
            found.append(link)
        return found

    def _concepts(self, link: Link) -> Mapping[str, None]:
        return dict.fromkeys(concept for word in link.anchor_words for concept in self._measure.concepts_of(word))
