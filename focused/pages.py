"""A fetched page as strategies see it: its words, its links with the words of anchors and around
them, and its similarity to the topic. Also decides whether the address that a page declares
as its own (rel=canonical) may stand for it."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from crawlmgr.web.url import UrlError, canonical


class Columns:
    """A set of numpy arrays (columns), one for each keyword argument `name=dtype`, that grow
    together by doubling their capacity. Only the first `size` elements of each are valid. An
    element may itself be an array: a column given as (float, 7) has seven numbers in each row.
    """

    def __init__(self, **kinds: Any) -> None:
        self.size = 0
        self._room = 256
        self._kinds = kinds
        for name, kind in kinds.items():
            setattr(self, name, np.zeros(self._room, dtype=kind))

    def __getattr__(self, name: str) -> NDArray[Any]:
        raise AttributeError(name)

    def extend(self, number: int) -> slice:
        """Appends `number` rows of zeros and returns the slice of their indices."""
        first, self.size = self.size, self.size + number
        while self.size > self._room:
            self._room *= 2
            for name in self._kinds:
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        return slice(first, self.size)


class LazyWords(Mapping[str, float]):
    """A mapping from words to weights, computed as `make(*given)` when first used, because many
    strategies never use it."""

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
    """A sequence of words, computed as `make(texts)` when first used."""

    __slots__ = ("_make", "_texts", "_words")

    def __init__(self, make: Callable[[list[str]], tuple[str, ...]], texts: list[str]) -> None:
        self._make = make
        self._texts = texts
        self._words: tuple[str, ...] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
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
    """One link of a page. Links to the same URL are merged: their anchors are joined, and the
    context is that of the first.

    `context` maps the words around the anchor, without those of the anchor itself, to weights. How
    these are computed depends on the parser (see `parse.CONTEXTS`); by default they are numbers of
    occurrences."""

    url: str
    anchor: str
    anchor_words: Sequence[str]
    context: Mapping[str, float]


WORD_BITS = 20


class HashedWords(NamedTuple):
    """The distinct words of a text as two parallel arrays: for each word its number (the lowest 20
    bits of its CRC-32), and 1 + ln of its number of occurrences. The relevance feedback
    (`focused.judge.probability`) uses them to learn from many pages.
    """

    numbers: NDArray[np.uint32]
    weights: NDArray[np.float32]


def hashed(words: Mapping[str, float]) -> HashedWords:
    """Converts word counts of a text to hash numbers with weights 1 + ln(count); counts below 1 are
    taken as 1."""
    numbers = np.fromiter(
        (crc32(word.encode("utf-8", "surrogatepass")) for word in words), np.uint32, len(words)
    )
    counts = np.fromiter(words.values(), np.float32, len(words))
    return HashedWords(
        numbers & np.uint32((1 << WORD_BITS) - 1), 1 + np.log(np.maximum(counts, 1.0))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The contents of a page, whether it comes from the network or an archive: `words` maps words
    to numbers of occurrences, `fingerprint` is the SimHash of the words. Strategies share it and do
    not modify it."""

    url: str
    title: str
    words: Mapping[str, int]
    links: tuple[Link, ...]
    fingerprint: int
    canonical: str = ""
    """The address that the page declares as its own (rel=canonical), "" if none."""
    is_cut: bool = False
    """Only the beginning of the page was read."""
    _hashed: list[HashedWords] = field(default_factory=list, init=False, repr=False)

    @property
    def hashed(self) -> HashedWords:
        """The page's words as hash numbers with weights, computed on first use and kept, since
        several runs may use one page."""
        if not self._hashed:
            self._hashed.append(hashed(self.words))
        return self._hashed[0]


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A fetched page in one run: the URL and depth of its node in the graph, its similarity to the
    topic when it was fetched, and whether it is more probably on topic than not (`relevant`).
    `probability` is 0 for a page that nearly duplicates an earlier one.
    """

    url: str
    depth: int
    content: Content
    similarity: float
    relevant: bool
    probability: float = 0.0

    @property
    def links(self) -> tuple[Link, ...]:
        return self.content.links


INDEX_FILES = (
    "index.html",
    "index.htm",
    "index.php",
    "index.asp",
    "index.aspx",
    "index.jsp",
    "default.htm",
    "default.aspx",
)
PAGE_PARAMETERS = frozenset(
    "page p pg pn paged pagenum pageno pageindex cpage start offset skip from st curpage".split()
)


def given(content: Content) -> str:
    """Returns the address that a page declares as its own (rel=canonical), in canonical form, if it
    differs from the page's address and is on the same host; otherwise "".
    """
    if not content.canonical:
        return ""
    try:
        url = canonical(content.canonical)
    except UrlError:
        return ""
    return (
        url if url != content.url and urlsplit(url).netloc == urlsplit(content.url).netloc else ""
    )


def same_page(own: str, other: str) -> bool:
    """Tells, by the addresses alone, whether the declared address `other` of a page fetched as
    `own` certainly names the same page. The paths must be equal, apart from case, a final "/" and
    names such as index.html. `other` must have only parameters of `own`. Those that it lacks must
    not have numbers as values or names like "page". Otherwise, a site that declares its home page
    as the address of every page would hide all other pages.

    >>> same_page("http://a.example/t/?ref=top", "http://a.example/t")
    True
    >>> same_page("http://a.example/t?id=5", "http://a.example/t")
    False
    """
    mine, others = urlsplit(own), urlsplit(other)
    if _path(mine.path) != _path(others.path):
        return False
    left = parse_qsl(mine.query, keep_blank_values=True)
    for pair in parse_qsl(others.query, keep_blank_values=True):
        if pair not in left:
            return False
        left.remove(pair)
    return not any(name.lower() in PAGE_PARAMETERS or value.isdecimal() for name, value in left)


def _path(path: str) -> str:
    folder, _slash, name = path.rpartition("/")
    return (folder if name.lower() in INDEX_FILES else path).rstrip("/").lower()
