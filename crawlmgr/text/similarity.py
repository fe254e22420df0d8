"""Similarity of two texts: cosine of word weights, and semantic similarity of weighted word lists,
based on a similarity of single words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import sqrt

WordSimilarity = Callable[[str, str], float]
"""Type of functions that return the similarity of two words in [0, 1]: 1 only for equal words, or
an ontology's similarity of their concepts."""


def norm(vector: Mapping[str, float]) -> float:
    """Returns the Euclidean length of a vector, given as weights by word."""
    return sqrt(sum(weight * weight for weight in vector.values()))


def dot(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Returns the inner product of two vectors, given as weights by word."""
    if len(a) > len(b):
        a, b = b, a
    return sum(weight * b[word] for word, weight in a.items() if word in b)


def cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Returns the cosine of two vectors given as weights by word, sum_i a_i b_i / (|a| |b|), eq.
    (1) of the tunnelling paper. It is in [0, 1] for weights >= 0, and 0 if a vector is empty."""
    product = dot(a, b)
    if product == 0.0:
        return 0.0
    return min(1.0, product / (norm(a) * norm(b)))


def bigrams(text: str) -> set[str]:
    """Returns the pairs of neighbouring characters in a text; for a text of one character, this
    character."""
    return {text[i : i + 2] for i in range(len(text) - 1)} or ({text} if text else set())


def same_word(a: str, b: str) -> float:
    """Returns 1 for equal words, otherwise 0."""
    return 1.0 if a == b else 0.0


def semantic(
    topic: Mapping[str, float],
    page: Mapping[str, float],
    alike: WordSimilarity = same_word,
    *,
    greedy: bool = True,
    among: Collection[str] | None = None,
) -> float:
    """Returns Sem(T, U), eq. (8) of the ant colony paper: the similarity in [0, 1] of two weighted
    word lists, `topic` with weights t_i and `page` with weights u_j; s_ij = `alike`(i, j) is the
    similarity of topic word i and page word j.

    With `greedy`: sum_i t_i max_j(u_j s_ij) / sum_i t_i u_j*, where j* is the page word that gives
    the maximum for i; if no page word is similar to i, u_j* is the weight of the page's heaviest
    word. A text compared with itself gives 1.

    Without `greedy`: the sum over all pairs, sum_ij t_i u_j s_ij / sum_ij t_i u_j, which is below 1
    even for a text compared with itself.

    `among` saves time with `greedy`: words that are not in it are compared only with themselves
    (None: each word is compared with all). If one of the lists is empty, the result is 0.
    """
    if not topic or not page:
        return 0.0
    if not greedy:
        pairs = dot(topic, page) if alike is same_word else _all_pairs(topic, page, alike)
        return pairs / (sum(topic.values()) * sum(page.values()))
    heaviest = max(page.values())
    others = (
        page if among is None else {word: weight for word, weight in page.items() if word in among}
    )
    above = below = 0.0
    for word, weight in topic.items():
        score, partner = _best(word, page, others if among is None or word in among else {}, alike)
        above += weight * score
        below += weight * (partner or heaviest)
    return above / below


def _all_pairs(
    topic: Mapping[str, float], page: Mapping[str, float], alike: WordSimilarity
) -> float:
    """Returns the sum over all pairs of a topic word and a page word of the product of their
    weights and their similarity."""
    return sum(t * u * alike(a, b) for a, t in topic.items() for b, u in page.items())


def _best(
    word: str, page: Mapping[str, float], others: Mapping[str, float], alike: WordSimilarity
) -> tuple[float, float]:
    """Finds the page word that matches the topic word `word` best: with the largest product of its
    weight and its similarity to `word`. Returns this product and the weight, (0, 0) if no word is
    similar. `page` maps the page's words to weights; only `word` itself and the words of `others`,
    a part of `page`, are candidates."""
    own = page.get(word, 0.0)
    if alike is same_word:
        return own, own
    itself = (own * alike(word, word), own) if own else (0.0, 0.0)
    score, partner = max(
        ((weight * alike(word, other), weight) for other, weight in others.items()), default=itself
    )
    score, partner = max((score, partner), itself)
    return (score, partner) if score > 0 else (0.0, 0.0)
