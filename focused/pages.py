"""A fetched page as strategies see it: words, links with anchor and context words, and its score."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class LazyWords(Mapping[str, float]):
    """Weighted words that are worked out when they are first asked for: many strategies never ask."""

    __slots__ = ("_make", "_words")

    def __init__(self, make: Callable[[], Mapping[str, float]]) -> None:
        self._make: Callable[[], Mapping[str, float]] | None = make
        self._words: Mapping[str, float] = {}

    def _all(self) -> Mapping[str, float]:
        if self._make is not None:
            self._words, self._make = self._make(), None
        return self._words

    def __getitem__(self, word: str) -> float:
        return self._all()[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, float]:
        return self._all().items()


class LazyList(Sequence[str]):
    """Words in their order that are worked out from `texts` when they are first asked for."""

    __slots__ = ("_make", "_texts", "_words")

    def __init__(self, make: Callable[[list[str]], tuple[str, ...]], texts: list[str]) -> None:
        self._make = make
        self._texts = texts
        self._words: tuple[str, ...] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """All of them."""
        if self._words is None:
            self._words = self._make(self._texts)
        return self._words

    def __getitem__(self, place: Any) -> Any:
        return self.words[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)


class Link(NamedTuple):
    """One link of a page; links to the same URL are one, their anchors joined.

    `context` are the words around the anchor without the anchor's own, weighted by the parser (the plain one: each 1).
    """

    url: str
    anchor: str
    anchor_words: Sequence[str]
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
