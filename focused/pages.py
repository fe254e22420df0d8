"""A fetched page as strategies see it: words, links with anchor and context words, and its score."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray


class LazyWords(Mapping[str, float]):
    """Weighted words that are worked out of what is `given` when they are first asked for: many strategies never ask."""

    __slots__ = ("_given", "_make", "_words")

    def __init__(self, make: Callable[..., Mapping[str, float]], *given: Any) -> None:
        self._make = make
        self._given: tuple[Any, ...] | None = given
        self._words: Mapping[str, float] = {}

    def _all(self) -> Mapping[str, float]:
        if self._given is not None:
            self._words, self._given = self._make(*self._given), None
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


WORD_BITS = 20


class HashedWords(NamedTuple):
    """Words by number (the lowest 20 bits of their CRC-32) and 1 + ln of how often each occurs, for learning from many pages."""

    numbers: NDArray[np.uint32]
    weights: NDArray[np.float32]


def hashed(words: Mapping[str, float]) -> HashedWords:
    """Word counts by number; counts below 1 weigh as 1."""
    numbers = np.fromiter((crc32(word.encode("utf-8", "surrogatepass")) for word in words), np.uint32, len(words))
    counts = np.fromiter(words.values(), np.float32, len(words))
    return HashedWords(numbers & np.uint32((1 << WORD_BITS) - 1), 1 + np.log(np.maximum(counts, 1.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a page holds, whoever fetched it: strategies share it, nobody changes it."""

    url: str
    title: str
    words: Mapping[str, int]
    links: tuple[Link, ...]
    fingerprint: int
    _hashed: list[HashedWords] = field(default_factory=list, init=False, repr=False)

    @property
    def hashed(self) -> HashedWords:
        """`hashed(words)`, worked out when it is first asked for: several runs may read one page."""
        if not self._hashed:
            self._hashed.append(hashed(self.words))
        return self._hashed[0]


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
