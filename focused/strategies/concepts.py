"""The duplicate rule of the ant colony paper: of two links whose anchors name nearly the same
concept only one is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from focused.ontology import OntologySimilarity
from focused.pages import Link

MIN_OVERLAP = 0.9
"""Value of IFCo from which two concepts count as the same."""


class OnePerConcept:
    """Keeps only the first link to each concept. A link is dropped if its anchor names nearly the
    same concept as that of a kept link to another address: the overlap factor IFCo of the two
    concepts (eq. (10) of the ant colony paper) is at least 0.9. Links whose anchors name no concept
    are kept.

    The rule treats pages on the same subject as duplicates although their contents may differ;
    `left_out` lists what it dropped, so that the loss can be measured.
    """

    def __init__(self, measure: OntologySimilarity) -> None:
        self._measure = measure
        self._kept: dict[str, str] = {}
        """The address of the kept link, by concept: each concept that its anchor names, and each
        that nearly equals one of these."""
        self._same = lru_cache(maxsize=10_000)(
            lambda concept: measure.overlapping(concept, MIN_OVERLAP)
        )
        self.left_out: dict[str, str] = {}
        """Dropped addresses, each with the address that was kept instead."""

    def kept(self, links: Iterable[Link]) -> list[Link]:
        """Returns those of the links that the rule keeps, in their order. The addresses of the
        dropped ones are added to `left_out`.
        """
        found = []
        for link in links:
            concepts = self._concepts(link)
            other = next(
                (self._kept[one] for one in concepts if self._kept.get(one, link.url) != link.url),
                None,
            )
            if other is not None:
                self.left_out.setdefault(link.url, other)
                continue
            for concept in concepts:
                for same in self._same(concept):
                    self._kept.setdefault(same, link.url)
            found.append(link)
        return found

    def _concepts(self, link: Link) -> Mapping[str, None]:
        return dict.fromkeys(
            concept for word in link.anchor_words for concept in self._measure.concepts_of(word)
        )
