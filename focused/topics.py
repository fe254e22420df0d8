"""The definition of a topic as a value: seeds, samples, keywords, lexicons; and parsing of seeds
and keywords from text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from crawlmgr.web.url import canonical


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as every strategy sees it, without relevance labels for evaluation.

    `documents` are the texts of samples. `keywords` map words to weights in (0, 1], and so does
    `near` for words on pages that lead to relevant ones. `negative` words lower a page's score,
    `url_words` are searched for in URLs, tokenisation keeps `user_words` whole. A page is relevant
    from the similarity `threshold`; None: computed from the samples. `ontology` is as from
    `Ontology.as_json`, {} for none. `ontology_weight`, in [0, 1], is the weight of words that it
    relates to the topic's words. `marked` are pages that the operator marked in earlier runs:
    (words separated by spaces, whether on topic).
    """

    name: str
    seeds: tuple[str, ...]
    documents: tuple[str, ...] = ()
    keywords: Mapping[str, float] = field(default_factory=dict)
    near: Mapping[str, float] = field(default_factory=dict)
    negative: tuple[str, ...] = ()
    url_words: tuple[str, ...] = ()
    user_words: tuple[str, ...] = ()
    threshold: float | None = None
    ontology: Mapping[str, Any] = field(default_factory=dict)
    ontology_weight: float = 0.0
    marked: tuple[tuple[str, bool], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the topic as plain values, from which `from_json` restores it."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Topic:
        """Makes a topic from the values that `as_json` returned."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**known)


def _plain(value: Any) -> Any:
    return (
        list(value)
        if isinstance(value, tuple)
        else dict(value)
        if isinstance(value, Mapping)
        else value
    )


class BadLine(NamedTuple):
    """A line of a file of seeds that is not a URL: its number, from 1, and its text."""

    number: int
    text: str


def read_seeds(lines: Iterable[str]) -> tuple[list[str], list[BadLine]]:
    """Reads seed URLs from lines, with `#` for comments. Returns the distinct canonical URLs in
    order, and the lines that are not URLs.
    """
    seeds: dict[str, None] = {}
    bad: list[BadLine] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        try:
            seeds[canonical(text)] = None
        except ValueError:
            bad.append(BadLine(number, text))
    return list(seeds), bad


def read_keywords(text: str) -> dict[str, float]:
    """Reads keywords separated by commas or lines, each with an optional weight in (0, 1], as in
    "网页, crawler=0.5". Returns the weights by word, 1 by default. Raises ValueError if a weight is
    invalid.
    """
    found: dict[str, float] = {}
    for entry in text.replace("，", ",").replace("\n", ",").split(","):
        word, _, weight = entry.partition("=")
        if word.strip():
            value = float(weight) if weight.strip() else 1.0
            if not 0 < value <= 1:
                raise ValueError(f"weight of {word.strip()} is {value:g}, not in (0, 1]")
            found[word.strip()] = value
    return found
