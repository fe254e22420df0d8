"""The ant colony paper's duplicate rule: of two links with overlapping concepts only one is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from focused.ontology import OntologySimilarity
from focused.pages import Link

LEAST = 0.9
"""IFCo from which two concepts count as equal."""


class OnePerConcept:
    """Keeps the first link to each concept. A link is dropped if its anchor names nearly the same concept as that of a kept
    link to another address: the overlap factor IFCo of the concepts (eq. (10) of the ant colony paper) is at least 0.9. Links
    whose anchors name no concept are kept.

    The rule takes pages on one subject for duplicates; `left_out` lists what it dropped, so that the loss can be measured.
    """

    def __init__(self, measure: OntologySimilarity) -> None:
        self._measure = measure
        self._kept: dict[str, str] = {}
        """For each concept that a kept link names, and each concept overlapping with one, the address of that link."""
        self._same = lru_cache(maxsize=10_000)(lambda concept: measure.overlapping(concept, LEAST))
        self.left_out: dict[str, str] = {}
        """Dropped addresses, each with the one kept instead."""

    def kept(self, links: Iterable[Link]) -> list[Link]:
        """Those of the links that the rule keeps, in their order; the dropped ones are added to `left_out`."""
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
