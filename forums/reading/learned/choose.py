"""Chooses the candidates (links or texts) that are records: those whose scores are high compared
with the others on the page, and those in similar positions. A score is the probability, by a model,
that the candidate is a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from crawlmgr.web.pages.outline import Outline
from forums.reading.document import Link
from forums.reading.learned.assemble import identities

FLOOR = 0.5
"""A candidate with at least this score is chosen, however high the scores of the other candidates
are."""
LINK_SHARE, BODY_SHARE = 0.65, 0.6
"""A candidate (link, text) is chosen if its score is at least this share of the mean of the page's
three best scores."""
COMPLETED = 0.25
"""Lower limit of the score, as a share of the mean of the page's three best scores, for further
candidates of a cluster of which at least the share HALF was chosen."""
HALF, MAJORITY = 0.5, 0.7
"""Shares of a cluster's candidates chosen by their own scores, from which more of the cluster are
chosen (those above COMPLETED), and from which all are."""
_WIDTHS = (1, 2)


def best_of(scores: np.ndarray, number: int = 3) -> float:
    """Returns the mean of the `number` highest scores; 0 without scores."""
    return float(np.sort(scores)[-number:].mean()) if len(scores) else 0.0


def above(scores: np.ndarray, share: float) -> np.ndarray:
    """Returns a mask of the scores that reach a limit: `share` times the mean of the page's three
    best scores, at most FLOOR. The limit is relative because the level of scores differs between
    forum software."""
    return scores >= min(FLOOR, share * best_of(scores))


def chosen_links(links: Sequence[Link], clusters: np.ndarray, scores: np.ndarray) -> list[int]:
    """Returns the positions in `links` of those that name records, one per target, ascending.
    scores: probability of each link to name a record of the kind sought; clusters: each link's
    cluster number in each clustering (see `LinkTable`).
    """
    if not len(scores):
        return []
    taken = above(scores, LINK_SHARE)
    low = scores >= COMPLETED * best_of(scores)
    for width in _WIDTHS:
        numbers = clusters[:, width]
        for number in np.unique(numbers[taken]):
            alike = numbers == number
            share = taken[alike].mean()
            if share >= HALF:
                taken = taken | (alike if share >= MAJORITY else alike & low)
    places = np.flatnonzero(taken)
    best: dict[str, int] = {}
    for at, name in zip(places, identities([links[int(at)] for at in places]), strict=True):
        if name not in best or scores[at] > scores[best[name]]:
            best[name] = int(at)
    return sorted(best.values())


def chosen_bodies(
    outline: Outline, nodes: np.ndarray, scores: np.ndarray, chains: Sequence[np.ndarray] = ()
) -> list[int]:
    """Returns the positions in `nodes` of the candidates accepted as texts of posts, in ascending
    order: the candidates with high scores, the best of each nested group, and candidates in
    positions similar to theirs. scores: each candidate's probability of being the text of a post;
    chains: one array per clustering, with the cluster number of each node of the page.
    """
    if not len(scores):
        return []
    taken: list[int] = []
    covered = np.zeros(len(outline) + 1, dtype=bool)
    _take(outline, nodes, scores, np.flatnonzero(above(scores, BODY_SHARE)), taken, covered)
    at_text = {
        (outline.piece_from[node], outline.piece_to[node]): at
        for at, node in enumerate(nodes.tolist())
    }
    for numbers in chains:
        for found, share in _positions(outline, nodes[taken].tolist(), numbers):
            more = [
                at_text.get((outline.piece_from[node], outline.piece_to[node])) for node in found
            ]
            low = 0.0 if share >= MAJORITY else COMPLETED * best_of(scores)
            _take(
                outline,
                nodes,
                scores,
                [at for at in more if at is not None and scores[at] >= low],
                taken,
                covered,
            )
    return sorted(taken)


def _take(
    outline: Outline,
    nodes: np.ndarray,
    scores: np.ndarray,
    more: Iterable[int],
    taken: list[int],
    covered: np.ndarray,
) -> None:
    """Adds the candidates `more` to `taken`, highest scores first, and marks their nodes in
    `covered`. `more` and `taken` contain indices of `nodes`. Candidates that overlap with one added
    before are left out."""
    for at in sorted(more, key=lambda at: -scores[at]):
        start, end = int(nodes[at]), outline.ends[nodes[at]]
        if not covered[start:end].any():
            covered[start:end] = True
            taken.append(int(at))


def _positions(
    outline: Outline, nodes: Sequence[int], numbers: np.ndarray
) -> Iterator[tuple[list[int], float]]:
    """Yields (elements, share) for each cluster of elements of which at least half (`share`) have
    exactly the text of one of `nodes`. Elements without text do not count. numbers: the cluster
    number of each node of the page.
    """
    texts = {(outline.piece_from[node], outline.piece_to[node]) for node in nodes}
    held = Counter[int]()
    for node in nodes:
        around = node
        while around >= 0 and (outline.piece_from[around], outline.piece_to[around]) in texts:
            held[int(numbers[around])] += 1
            around = outline.parents[around]
    for number in sorted(held):
        alike = [
            int(node)
            for node in np.flatnonzero(numbers == number)
            if outline.piece_from[node] < outline.piece_to[node]
        ]
        share = held[number] / len(alike)
        if share >= HALF:
            yield alike, share
