"""Clustering of form pages in two word spaces, after the deep-web paper: weights by eq. (1),
similarity by eq. (3) as a dot product, k-means, and the paper's own algorithm as printed.

scipy and scikit-learn are imported inside the functions that use them: every worker and web page
imports this module, but few cluster anything.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from lxml.html import HtmlElement

from deepweb.choice.terms import query_words
from deepweb.search_forms import parse_page

TITLE, HEADING, BOLD, UPPER, OPTION = 3.0, 2.0, 1.5, 1.2, 0.5


"""The weights K of table 1 of the deep-web paper: in the title; in headings, and in text at most
three blocks from the form; in bold text; in the upper third of the page; in options of the form."""


NEAR_BLOCKS = 3


_BLOCKS = frozenset(
    (
        "p",
        "div",
        "li",
        "tr",
        "td",
        "th",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "section",
        "article",
        "header",
        "footer",
        "nav",
        "aside",
    )
    + (
        "main",
        "form",
        "table",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "fieldset",
        "pre",
        "blockquote",
        "center",
    )
)


_UNSEEN = frozenset(("script", "style", "noscript", "template", "iframe", "svg"))


_FRAME = frozenset(("nav", "footer"))


_FRAME_ROLES = frozenset(("navigation", "contentinfo"))


_HEADINGS = frozenset(("h1", "h2", "h3", "legend", "caption"))


_BOLD = frozenset(("b", "strong", "em", "i", "h4", "h5", "h6", "th", "label"))


_PROMPTS = ("placeholder", "title", "alt", "aria-label")


@dataclass(frozen=True, slots=True)
class FormPageWords:
    """For each word of the page space and of the form space: the sum of the weights K of its
    occurrences, which eq. (1) of the deep-web paper needs (`K * tf`, where all K are equal and tf
    is the number of occurrences)."""

    page: Mapping[str, float]
    form: Mapping[str, float]


class _Piece(NamedTuple):
    text: str
    block: int
    kind: str


def words_of_form_page(
    html: str | bytes, form_index: int, split: Callable[[str], list[str]] = query_words
) -> FormPageWords:
    """Returns the weighted words of a page (Pc of the deep-web paper) and of its form number
    `form_index` (Fc), counted from 0 over all `<form>` tags. No words if it cannot be read. `split`
    splits a text into words.

    Pc is taken from the page without that form; an occurrence weighs K by its position; outside the
    title, the product of the two largest that apply. Fc is taken from the form's text, labels,
    prompts and button names, and from its options with weight 0.5.
    """
    root = parse_page(html)
    if root is None:
        return FormPageWords({}, {})
    form = next(
        (element for place, element in enumerate(root.iter("form")) if place == form_index), None
    )
    pieces = _pieces(root, form)
    own = [piece for piece in pieces if piece.kind == "form"]
    near = (own[0].block - NEAR_BLOCKS, own[-1].block + NEAR_BLOCKS) if own else (1, 0)
    letters = sum(len(piece.text) for piece in pieces if piece.kind not in ("option", "title"))
    page: defaultdict[str, float] = defaultdict(float)
    inside: defaultdict[str, float] = defaultdict(float)
    passed = 0
    for piece in pieces:
        if piece.kind in ("form", "option"):
            for word in split(piece.text):
                inside[word] += OPTION if piece.kind == "option" else 1.0
        else:
            weight = _weight(piece, near, passed * 3 < letters)
            for word in split(piece.text):
                page[word] += weight
        if piece.kind not in ("option", "title"):
            passed += len(piece.text)
    return FormPageWords(dict(page), dict(inside))


def _weight(piece: _Piece, near: tuple[int, int], upper: bool) -> float:
    if piece.kind == "title":
        return TITLE
    found = [UPPER] if upper else []
    if piece.kind == "heading" or near[0] <= piece.block <= near[1]:
        found.append(HEADING)
    if piece.kind == "bold":
        found.append(BOLD)
    largest = sorted(found, reverse=True)[:2]
    return largest[0] * (largest[1] if len(largest) > 1 else 1.0) if largest else 1.0


def _pieces(root: HtmlElement, form: HtmlElement | None) -> list[_Piece]:
    found: list[_Piece] = []
    block, between = 0, False  # only blocks with text count; `between` two of them
    stack: list[tuple[HtmlElement, str, bool]] = [(root, "plain", False)]
    while stack:
        node, kind, leaving = stack.pop()
        between |= node.tag in _BLOCKS
        if leaving:
            if node.tail and node.tail.strip():
                block, between = block + between, False
                found.append(_Piece(node.tail, block, kind))
            continue
        stack.append((node, kind, True))
        if not isinstance(node.tag, str) or node.tag in _UNSEEN or _is_frame(node, form):
            continue
        inner = "form" if node is form else _kind_inside(node.tag, kind)
        if inner == "form":
            shown = [node.get(name) for name in _PROMPTS]
            shown += [node.get("value")] if node.get("type") in ("submit", "button") else []
            block, between = block + (between and any(shown)), between and not any(shown)
            found += [_Piece(text, block, "form") for text in shown if text]
        if node.text and node.text.strip() and node.tag not in ("textarea",):
            block, between = block + between, False
            found.append(_Piece(node.text, block, inner))
        stack.extend((child, inner, False) for child in reversed(node))
    return found


def _is_frame(node: HtmlElement, form: HtmlElement | None) -> bool:
    """Tells whether an element without the form is the menu or the foot of a page, whose words say
    nothing on its subject."""
    if node.tag not in _FRAME and node.get("role") not in _FRAME_ROLES:
        return False
    return form is None or all(parent is not node for parent in form.iterancestors())


def _kind_inside(tag: str, kind: str) -> str:
    if kind == "form":
        return "option" if tag == "option" else "form"
    if kind != "plain":
        return kind
    if tag == "title":
        return "title"
    if tag in _HEADINGS:
        return "heading"
    return "bold" if tag in _BOLD else "plain"


if TYPE_CHECKING:
    from scipy import sparse

C1, C2 = 1.2, 1.0


"""Weights of page and form in eq. (3), as set in the deep-web paper."""


_SAMPLE = 2_000


_NO_STRUCTURE = 0.03


_MOVED = 0.10


class TwoSpaces(NamedTuple):
    """The weights of n form pages by eq. (1), as two sparse matrices: `page` (pages, words of the
    page space) and `form` (pages, words of the form space)."""

    page: sparse.csr_matrix
    form: sparse.csr_matrix


@dataclass(frozen=True, slots=True)
class Space:
    """A set of words used as the dimensions of page vectors: `words`, the number of pages that
    contain each word (`frequencies`, parallel), and the number of all pages (`documents`)."""

    words: tuple[str, ...]
    frequencies: np.ndarray
    documents: int

    def weigh(self, pages: Sequence[Mapping[str, float]]) -> sparse.csr_matrix:
        """Returns the weights of pages by eq. (1) of the deep-web paper, (pages, words): S * ln(N /
        n_i), with N pages of which n_i contain the word, and S the sum of the weights K of the
        word's occurrences on the page. `pages` give S for the words of each page (see
        `FormPageWords`). A word on every page has weight 0: it belongs to the page template.

        If the space was made of a single page, the template is unknown, and ln(N / n_i) is replaced
        by 1. Words that are not in the space are left out."""
        from scipy import sparse  # half a second to load, see above

        idf = (
            np.log(self.documents / self.frequencies)
            if self.documents > 1
            else np.ones(len(self.words))
        )
        places = {word: place for place, word in enumerate(self.words)}
        values, columns, starts = [], [], [0]
        for page in pages:
            for word, summed in page.items():
                place = places.get(word)
                if place is not None and idf[place] > 0:
                    values.append(summed * idf[place])
                    columns.append(place)
            starts.append(len(values))
        return sparse.csr_matrix(
            (np.array(values, dtype=float), columns, starts), shape=(len(pages), len(self.words))
        )


def space_of(pages: Sequence[Mapping[str, float]], min_documents: int = 1) -> Space:
    """Returns the word space of all words of `pages`, without words that occur on fewer than
    `min_documents` pages. Raises ValueError if there is no page."""
    if not pages:
        raise ValueError("no pages, no space")
    frequencies: dict[str, int] = {}
    for page in pages:
        for word in page:
            frequencies[word] = frequencies.get(word, 0) + 1
    words = tuple(sorted(word for word, count in frequencies.items() if count >= min_documents))
    return Space(words, np.array([frequencies[word] for word in words], dtype=float), len(pages))


def spaces_of(pages: Sequence[FormPageWords]) -> tuple[Space, Space]:
    """Returns the word spaces Pc (words of the pages) and Fc (words of the forms) of a set of form
    pages."""
    return space_of([page.page for page in pages]), space_of([page.form for page in pages])


def joined(spaces: TwoSpaces, c1: float = C1, c2: float = C2) -> sparse.csr_matrix:
    """Returns a matrix with a row for each page, such that the dot product of two rows is the
    similarity of the pages by eq. (3): a row is the page vector scaled to length sqrt(C1 / (C1 +
    C2)), followed by the form vector scaled to length sqrt(C2 / (C1 + C2)).

    A row has length 1 if the page has words in both spaces; if the form has no words, only the
    first part of the row is not zero.
    """
    # a second to load, see above
    from scipy import sparse
    from sklearn.preprocessing import normalize

    whole = c1 + c2
    blocks = [
        normalize(spaces.page) * math.sqrt(c1 / whole),
        normalize(spaces.form) * math.sqrt(c2 / whole),
    ]
    return sparse.hstack(blocks).tocsr()


@dataclass(frozen=True, slots=True)
class Clustering:
    """A partition of n pages: the cluster of each page, from 0 to k-1 (`labels`); the k centres,
    one per row with the columns of `joined`'s matrix (`centres`); the mean similarity of the pages
    to the centres of their clusters (`cohesion`); and the number of iterations (`rounds`)."""

    labels: np.ndarray
    centres: np.ndarray
    cohesion: float
    rounds: int

    @property
    def k(self) -> int:
        """Number of clusters, including empty ones."""
        return len(self.centres)


def kmeans(rows: sparse.csr_matrix, k: int, random_seed: int, starts: int = 10) -> Clustering:
    """Clusters the rows of `joined` by k-means. For rows of length 1, ||x-y||² = 2 - 2 s with the
    similarity s of eq. (3), so that k-means maximises s, and the means are the centres of eq. (4).

    `k` is limited to the number of different pages; `starts` is the number of random starts, of
    which the best result is kept. Raises ValueError for k < 1 or no rows.
    """
    # a second to load, see above
    from sklearn.cluster import KMeans

    k = _possible(rows, k)
    fitted = KMeans(n_clusters=k, n_init=starts, random_state=random_seed).fit(rows)
    return Clustering(
        fitted.labels_,
        fitted.cluster_centers_,
        _cohesion(rows, fitted.labels_, fitted.cluster_centers_),
        fitted.n_iter_,
    )


def _possible(rows: sparse.csr_matrix, k: int) -> int:
    if k < 1 or rows.shape[0] == 0:
        raise ValueError(f"{k} clusters of {rows.shape[0]} pages")
    different = (
        {(row.indices.tobytes(), row.data.round(9).tobytes()) for row in rows} if k > 1 else {1}
    )
    return min(k, len(different))


def _cohesion(rows: sparse.csr_matrix, labels: np.ndarray, centres: np.ndarray) -> float:
    # a second to load, see above
    from sklearn.preprocessing import normalize

    unit = normalize(centres)
    return float(np.mean(np.asarray(rows.multiply(unit[labels]).sum(axis=1)).ravel()))


def literal(
    spaces: TwoSpaces,
    k: int,
    rng: np.random.Generator,
    c1: float = C1,
    c2: float = C2,
    moved: float = _MOVED,
    max_rounds: int = 100,
) -> Clustering:
    """Clusters pages by Algorithm 1 of the deep-web paper as printed. The first centres are k
    random pages; each page is assigned to the most similar centre by eq. (3), and that centre is
    updated at once by eq. (4) over raw weights. Rounds are repeated until fewer than the share
    `moved` of the pages changed their cluster, at most `max_rounds` times.
    """
    page, form = spaces.page.toarray(), spaces.form.toarray()
    k = _possible(joined(spaces, c1, c2), k)
    n = len(page)
    seeds = rng.choice(n, size=k, replace=False)
    sums = (page[seeds].copy(), form[seeds].copy())
    lengths = (np.linalg.norm(page, axis=1), np.linalg.norm(form, axis=1))
    labels = np.full(n, -1)
    labels[seeds] = np.arange(k)
    rounds, changed = 0, n
    while changed >= moved * n and changed and rounds < max_rounds:
        rounds, changed = rounds + 1, 0
        for place in range(n):
            rows = (page[place], form[place])
            alike = c1 * _cosines(sums[0], rows[0], lengths[0][place]) + c2 * _cosines(
                sums[1], rows[1], lengths[1][place]
            )
            best, old = int(alike.argmax()), int(labels[place])
            if best == old:
                continue
            changed += 1
            labels[place] = best
            for total, row in zip(sums, rows, strict=True):
                total[best] += row
                if old >= 0:
                    total[old] -= row
    centres = _means(joined(spaces, c1, c2), labels, k)
    return Clustering(labels, centres, _cohesion(joined(spaces, c1, c2), labels, centres), rounds)


def _cosines(sums: np.ndarray, row: np.ndarray, length: float) -> np.ndarray:
    norms = np.linalg.norm(sums, axis=1) * length
    cosines: np.ndarray = np.divide(sums @ row, norms, out=np.zeros(len(sums)), where=norms > 1e-12)
    return cosines


def _means(rows: sparse.csr_matrix, labels: np.ndarray, k: int) -> np.ndarray:
    from scipy import sparse  # half a second to load, see above

    member = sparse.csr_matrix(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(k, len(labels))
    )
    counts = np.maximum(np.asarray(member.sum(axis=1)), 1)
    return np.asarray((member @ rows).toarray() / counts)


def silhouette(rows: sparse.csr_matrix, labels: np.ndarray, random_seed: int) -> float | None:
    """Returns the mean silhouette of the pages by cosine distance, in [-1, 1]; `labels` are the
    clusters of the pages. With over 2,000 pages it is computed from a random sample. None if there
    is only one cluster, or each page is a cluster of its own.
    """
    # a second to load, see above
    from sklearn.metrics import silhouette_score

    different = len(set(labels.tolist()))
    if not 1 < different < len(labels):
        return None
    sample = _SAMPLE if len(labels) > _SAMPLE else None
    return float(
        silhouette_score(
            rows, labels, metric="cosine", sample_size=sample, random_state=random_seed
        )
    )


def silhouettes(rows: sparse.csr_matrix, labels: np.ndarray) -> dict[int, float]:
    """Returns the mean silhouette of each cluster by cosine distance, in [-1, 1], by its number in
    `labels` (the cluster of each page). Empty if there is only one cluster, if each page is a
    cluster of its own, or for over 2,000 pages, where the distances of all pairs would take too
    much memory."""
    # a second to load, see above
    from sklearn.metrics import silhouette_samples

    different = sorted(set(labels.tolist()))
    if not 1 < len(different) < len(labels) <= _SAMPLE:
        return {}
    own = silhouette_samples(rows, labels, metric="cosine")
    return {label: float(own[labels == label].mean()) for label in different}


class ChosenK(NamedTuple):
    """The clustering with the best number of clusters, its silhouette (None if the pages form only
    one cluster), and the silhouette of every number of clusters tried."""

    clustering: Clustering
    silhouette: float | None
    tried: dict[int, float]


def choose_k(
    rows: sparse.csr_matrix, random_seed: int, k_max: int | None = None, starts: int = 10
) -> ChosenK:
    """Clusters pages (rows of `joined`) into the number K of clusters with the largest silhouette,
    from 2 to `k_max` (default: max(10, sqrt(n/2)) for n pages) but at most half the pages; into one
    cluster if the largest silhouette is below 0.03. `starts` is the number of random starts of
    k-means for each K."""
    n = rows.shape[0]
    limit = min(n // 2, k_max or max(10, math.isqrt(n // 2)))
    best: tuple[float, Clustering] | None = None
    tried: dict[int, float] = {}
    for k in range(2, limit + 1):
        found = kmeans(rows, k, random_seed, starts)
        score = silhouette(rows, found.labels, random_seed)
        if score is None or found.k in tried:
            continue
        tried[found.k] = score
        if best is None or score > best[0]:
            best = score, found
    if best is None or best[0] < _NO_STRUCTURE:
        return ChosenK(kmeans(rows, 1, random_seed, starts), None, tried)
    return ChosenK(best[1], best[0], tried)


def assign(rows: sparse.csr_matrix, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each new page (a row of `rows`): the index of the most similar existing centre,
    and that similarity, in [0, 1]. The centres do not change."""
    # a second to load, see above
    from sklearn.preprocessing import normalize

    alike = rows @ normalize(centres).T
    return alike.argmax(axis=1), alike.max(axis=1)


def top_terms(
    weights: sparse.csr_matrix,
    words: Sequence[str],
    labels: np.ndarray,
    cluster: int,
    count: int = 10,
) -> list[str]:
    """Returns the `count` words with the largest sums of weights (eq. (1) of the deep-web paper)
    over the pages of a cluster, heaviest first, equal ones alphabetically. `weights` has shape
    (pages, words); `labels` holds the cluster of each page.

    The words name the cluster and are the seed words of section 2.2 of the deep-web paper."""
    sums = np.asarray(weights[labels == cluster].sum(axis=0)).ravel()
    order = sorted(
        np.flatnonzero(sums > 0).tolist(), key=lambda place: (-sums[place], words[place])
    )
    return [words[place] for place in order[:count]]


def flat_map(rows: sparse.csr_matrix) -> np.ndarray:
    """Returns coordinates (n, 2) for a map of the pages: the two principal components; all 0 for
    fewer than three pages."""
    # a second to load, see above
    from sklearn.decomposition import PCA

    n = rows.shape[0]
    if n < 3 or rows.shape[1] < 3:
        return np.zeros((n, 2))
    return np.asarray(PCA(n_components=2, svd_solver="arpack", random_state=0).fit_transform(rows))
