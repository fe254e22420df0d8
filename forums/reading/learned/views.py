"""Numeric features of whole readings, as input of the models that predict a page's kind, a list's
quality, and how reliable a reading is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log, log1p

import numpy as np

from crawlmgr.web.pages.outline import Outline
from forums.reading.document import Page
from forums.reading.learned.bodies import BodyTable
from forums.reading.learned.choose import LINK_SHARE, above, best_of
from forums.reading.learned.links import LinkTable
from forums.reading.learned.signals import LONGEST_LABEL
from forums.reading.lists.row_sets import RowSet
from forums.reading.posts.post_set import PostSet
from forums.reading.words import SUBJECT_WORDS

WEIGHTS = (
    "address",
    "topics_posts",
    "replies_views",
    "last_thread",
    "head",
    "sorted",
    "many",
    "people",
)


def rows_view(rows: RowSet) -> list[float]:
    """Returns the features of a list: 1, the logarithm of the number of rows, its quality by the
    rules, shares of rows with times, counts and users, mean lengths, and each weight of the
    evidence that the rows are boards (see `RowSet.weights`).
    """
    n = len(rows.rows)
    weights = rows.weights
    return [
        1.0,
        log1p(n),
        rows.quality,
        rows.group.share("times"),
        rows.group.share("counts"),
        rows.group.text_share,
        float(rows.is_labelled),
        float(rows.is_titles_only),
        sum(any(link.is_user for link in row.links) for row in rows.rows) / n,
        sum(len(row.title.text) for row in rows.rows) / n / 40,
        sum(len(row.text) for row in rows.rows) / n / 200,
        *(weights.get(name, 0.0) for name in WEIGHTS),
    ]


# a link counts as good if its score is at least this share of the mean of the page's three best
# scores
_WELL = 0.5


def words_view(page: Page) -> list[float]:
    """Returns for each kind of words in `SUBJECT_WORDS` three shares: of the page's elements, links
    and short texts whose class, address or text contains such a word."""
    outline = page.outline
    tables = (
        Counter(name for name in outline.classes if name),
        Counter(link.url for link in page.links),
        Counter(piece.text for piece in outline.pieces if len(piece.text) <= LONGEST_LABEL),
    )
    totals = (len(outline), len(page.links), len(outline.pieces))
    counts = np.asarray([_containing(table) for table in tables])
    made: list[float] = (counts.T / np.maximum(1, totals)).ravel().tolist()
    return made


def _containing(table: Mapping[str, int]) -> list[int]:
    """Returns for each kind of words in `SUBJECT_WORDS` how many of the strings counted in `table`
    contain such a word. All strings are searched as lines of one text, which is faster than one by
    one."""
    lines = [text.lower() for text in table]
    starts, times = (
        np.cumsum([0, *(len(line) + 1 for line in lines)]),
        np.asarray([*table.values(), 0]),
    )
    made = []
    for form in SUBJECT_WORDS:
        places = [match.start() for match in form.finditer("\n".join(lines))]
        made.append(int(times[np.unique(np.searchsorted(starts, places, side="right")) - 1].sum()))
    return made


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def urls_of(rows: RowSet | None) -> set[str]:
    """Returns the addresses that the titles of a list's rows lead to; empty for None."""
    return {row.title.url for row in rows.rows} if rows else set()


def list_view(table: LinkTable, scores: np.ndarray, rows: RowSet, kind: int) -> list[float]:
    """Returns features for predicting a list's quality: contents of the rows, scores of their links
    compared with those of other links, and how many other links with good scores are inside the
    rows (many if a row is a category of several boards). scores: one per link of `table`; kind:
    position in `KINDS`."""
    nodes = np.asarray([link.node for link in table.links], dtype=np.int64)[
        scores >= _WELL * best_of(scores)
    ]
    starts = np.searchsorted(nodes, [row.start for row in rows.rows])
    held = np.searchsorted(nodes, [row.end for row in rows.rows]) - starts
    own = np.isin([row.title.node for row in rows.rows], nodes)
    evidence = list_doubt(table, scores, urls_of(rows), set())[1:]
    return [
        float(kind),
        *rows_view(rows),
        *evidence,
        rows.board_weight,
        float((held - own).mean()),
        float((held > 1).mean()),
    ]


def links_view(page: Page, table: LinkTable, scores: np.ndarray) -> list[float]:
    """Returns 20 features of a page's links for predicting its kind. For titles and for boards: how
    high the links' scores are, how many are high, and what share of the page's text those links
    contain. scores: (links, 3), as in `TwoReadings.link_scores`."""
    if not len(scores):
        return [0.0] * 20
    made: list[float] = []
    for kind in (1, 2):
        values = scores[:, kind]
        taken = above(values, LINK_SHARE)
        named = [link for link, chosen in zip(table.links, taken, strict=True) if chosen]
        keys = {link.key for link in named}
        made += [
            float(values.max()),
            best_of(values),
            best_of(values, 10),
            log1p(len(named)),
            log1p(len(keys)),
            float(values[taken].mean()),
            float(values[taken].sum() / max(1e-9, values.sum())),
            min(1.0, sum(len(link.text) for link in named) / max(1, page.text_total)),
        ]
    return [
        *made,
        made[1] - made[9],
        float(scores[:, 1].sum()),
        float(scores[:, 2].sum()),
        float(scores[:, 0].mean()),
    ]


def bodies_view(
    page: Page, table: BodyTable, scores: np.ndarray, chosen: Sequence[int]
) -> list[float]:
    """Returns 8 features of a page's texts for predicting its kind: how high the candidates' scores
    are, how many texts were chosen, and what share of the page's text they contain. scores: one per
    candidate of `table`; chosen: positions of the chosen candidates."""
    if not len(scores):
        return [0.0] * 8
    nodes = [int(table.nodes[at]) for at in chosen]
    own = scores[list(chosen)]
    chars = sum(page.outline.text_length(node) for node in nodes)
    return [
        float(scores.max()),
        best_of(scores),
        best_of(scores, 10),
        log1p(len(nodes)),
        float(own.mean()) if len(own) else 0.0,
        float(own.sum() / max(1e-6, scores.sum())),
        chars / max(1, page.text_total),
        log1p(chars / max(1, len(nodes))),
    ]


def agreement(outline: Outline, nodes: Sequence[int], posts: PostSet | None) -> float:
    """Returns how far rules and models agree on the texts of posts, in [0, 1]: the number of texts
    found by the models (`nodes`) that lie inside a text found by the rules (`posts`) or contain
    one, divided by the larger of the two numbers of texts. 0 if the rules found no text."""
    own = sorted({body for body in posts.bodies if body is not None}) if posts else []
    if not own:
        return 0.0
    starts, ends = np.asarray(own), np.asarray([outline.ends[node] for node in own])
    met = 0
    for node in nodes:
        at = int(np.searchsorted(starts, node, side="right")) - 1
        inside = at >= 0 and node < ends[at]
        holds = at + 1 < len(own) and starts[at + 1] < outline.ends[node]
        met += inside or holds
    return met / max(1, len(nodes), len(own))


def list_doubt(
    table: LinkTable, scores: np.ndarray, chosen: set[str], other: set[str]
) -> list[float]:
    """Returns 7 features of how reliable a list is: its agreement with the other reading, the
    scores of its links and of links left out. chosen: addresses of its rows; other: addresses of
    the rows of the other reading (rules or models).
    """
    best: dict[str, float] = {}
    for link, score in zip(table.links, scores, strict=True):
        if link.url in chosen:
            best[link.url] = max(best.get(link.url, 0.0), float(score))
    taken = np.asarray([link.url in chosen for link in table.links], dtype=bool)
    top, rest = best_of(scores), scores[~taken]
    numbers = table.clusters[:, 1]
    alike = np.isin(numbers, np.unique(numbers[taken])) & ~taken
    values = list(best.values()) or [0.0]
    return [
        _shared(chosen, other),
        float(np.mean(values)),
        min(values),
        top,
        float(rest.max()) if len(rest) else 0.0,
        float((rest > 0.3 * top).sum()) / max(1, len(chosen)),
        float(alike.sum()) / max(1, int(taken.sum())),
    ]


def best_inside(
    table: BodyTable, scores: np.ndarray, outline: Outline, nodes: Sequence[int]
) -> list[float]:
    """Returns for each of the texts `nodes` the highest score of the candidates inside it; 0
    without any."""
    made = []
    for node in nodes:
        inside = (table.nodes >= node) & (table.nodes < outline.ends[node])
        made.append(float(scores[inside].max()) if inside.any() else 0.0)
    return made


def thread_doubt(
    table: BodyTable,
    scores: np.ndarray,
    outline: Outline,
    nodes: Sequence[int],
    same: float,
    named: float,
) -> list[float]:
    """Returns eight numbers from which the reliability of a reading of posts is predicted. nodes:
    the posts' texts; same: agreement of rules and models (see `agreement`); named: share of posts
    with an author."""
    covered = np.zeros(len(outline) + 1, dtype=bool)
    for node in nodes:
        covered[node : outline.ends[node]] = True
    sums = np.concatenate([[0], np.cumsum(covered)])
    ends = np.asarray([outline.ends[node] for node in table.nodes.tolist()], dtype=np.int64)
    rest = scores[sums[ends] == sums[table.nodes]]
    top, own = best_of(scores), best_inside(table, scores, outline, nodes) or [0.0]
    return [
        same,
        float(np.mean(own)),
        min(own),
        top,
        float(rest.max()) if len(rest) else 0.0,
        float((rest > 0.5 * top).sum()) / max(1, len(nodes)),
        0.0,
        named,
    ]


def doubt_view(shares: np.ndarray, kind: int, records: int, rest: Sequence[float]) -> list[float]:
    """Returns all features from which the reliability of a reading is predicted. shares:
    probability of each of the four kinds; kind: position of the chosen kind; records: their number;
    rest: further features from `list_doubt` (and the list's quality) or `thread_doubt`."""
    first, second = np.sort(shares)[::-1][:2]
    return [
        float(first),
        float(first - second),
        log(float(first) / (1.02 - float(first))),
        *(float(kind == at) for at in range(4)),
        log1p(records),
        float(records == 0),
        *(rest or [0.0] * 8),
    ]
