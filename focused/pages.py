"""A fetched page as strategies see it: words, links with anchor and context words, and its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    """One link of a page; links to the same URL are one, their anchors joined.

    `context` are the words around the anchor without the anchor's own, weighted by the parser (the plain one: each 1).
    """

    url: str
    anchor: str
    anchor_words: tuple[str, ...]
    context: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a page holds, whoever fetched it: strategies share it, nobody changes it."""

    url: str
    title: str
    words: Mapping[str, int]
    links: tuple[Link, ...]
    fingerprint: int


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A fetched page in one run: its place in the graph and its similarity to the topic when it was fetched."""

    url: str
    depth: int
    content: Content
    similarity: float
    relevant: bool

    @property
    def links(self) -> tuple[Link, ...]:
        return self.content.links
