"""Numeric features for the models of the page's kind, of the quality of its lists, and of the doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log, log1p

import numpy as np

from crawlmgr.web.outline import Outline
from forums.reading.document import Page
from forums.reading.learned.bodies import BodyTable
from forums.reading.learned.choose import LINK_SHARE, above, best_of
from forums.reading.learned.links import LinkTable
from forums.reading.learned.rules_view import rows_view
from forums.reading.learned.signals import LONGEST_LABEL
from forums.reading.lists import RowSet
from forums.reading.posts_set import PostSet
from forums.reading.words import SUBJECT_WORDS

_WELL = 0.5  # share of the page's best score from which a link's score counts as good


def words_view(page: Page) -> list[float]:
    """For elements, links and short texts of the page: the share whose class, address or text contains a word of each kind in
    `SUBJECT_WORDS`."""
    outline = page.outline
    tables = (
        Counter(name for name in outline.classes if name), Counter(link.url for link in page.links),
        Counter(piece.text for piece in outline.pieces if len(piece.text) <= LONGEST_LABEL),
    )  # fmt: skip
    totals = (len(outline), len(page.links), len(outline.pieces))
    counts = np.asarray([_containing(table) for table in tables])
    made: list[float] = (counts.T / np.maximum(1, totals)).ravel().tolist()
    return made


def _containing(table: Mapping[str, int]) -> list[int]:
    """For each kind of `SUBJECT_WORDS`, how often the strings of a table occur that contain one of its words. All strings are
    searched at once, as lines of one text, which is faster than one by one."""
    lines = [text.lower() for text in table]
    starts, times = np.cumsum([0, *(len(line) + 1 for line in lines)]), np.asarray([*table.values(), 0])
    made = []
    for form in SUBJECT_WORDS:
        places = [match.start() for match in form.finditer("\n".join(lines))]
        made.append(int(times[np.unique(np.searchsorted(starts, places, side="right")) - 1].sum()))
    return made


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def urls_of(rows: RowSet | None) -> set[str]:
    """The addresses that the rows of a list lead to."""
    return {row.title.url for row in rows.rows} if rows else set()


def list_view(table: LinkTable, scores: np.ndarray, rows: RowSet, kind: int) -> list[float]:
    """Features of a list for predicting its quality: what its rows contain, how its links score compared with the others, and
    how many other links with good scores are inside its rows, as boards are below the name of their category."""
    nodes = np.asarray([link.node for link in table.links], dtype=np.int64)[scores >= _WELL * best_of(scores)]
    starts = np.searchsorted(nodes, [row.start for row in rows.rows])
    held = np.searchsorted(nodes, [row.end for row in rows.rows]) - starts
    own = np.isin([row.title.node for row in rows.rows], nodes)
    evidence = list_doubt(table, scores, urls_of(rows), set())[1:]
    return [float(kind), *rows_view(rows), *evidence, rows.board_weight, float((held - own).mean()), float((held > 1).mean())]


def links_view(page: Page, table: LinkTable, scores: np.ndarray) -> list[float]:
    """Features of the links' scores, for titles and for boards: how high they are, how many are high, and how much of the
    page those links make up."""
    if not len(scores):
        return [0.0] * 20
    made: list[float] = []
    for kind in (1, 2):
        values = scores[:, kind]
        taken = above(values, LINK_SHARE)
        named = [link for link, chosen in zip(table.links, taken, strict=True) if chosen]
        keys = {link.key for link in named}
        made += [
            float(values.max()), best_of(values), best_of(values, 10), log1p(len(named)), log1p(len(keys)),
            float(values[taken].mean()), float(values[taken].sum() / max(1e-9, values.sum())),
            min(1.0, sum(len(link.text) for link in named) / max(1, page.text_total)),
        ]  # fmt: skip
    return [*made, made[1] - made[9], float(scores[:, 1].sum()), float(scores[:, 2].sum()), float(scores[:, 0].mean())]


def bodies_view(page: Page, table: BodyTable, scores: np.ndarray, chosen: Sequence[int]) -> list[float]:
    """Features of the texts' scores: how high they are, how many texts were chosen, and how much of the page these make up."""
    if not len(scores):
        return [0.0] * 8
    nodes = [int(table.nodes[at]) for at in chosen]
    own = scores[list(chosen)]
    chars = sum(page.outline.text_length(node) for node in nodes)
    return [
        float(scores.max()), best_of(scores), best_of(scores, 10), log1p(len(nodes)), float(own.mean()) if len(own) else 0.0,
        float(own.sum() / max(1e-6, scores.sum())), chars / max(1, page.text_total), log1p(chars / max(1, len(nodes))),
    ]  # fmt: skip


def agreement(outline: Outline, nodes: Sequence[int], posts: PostSet | None) -> float:
    """Share of the learned texts (`nodes`) that are also in the rules' posts: one is inside the other, or contains it. In [0,
    1]."""
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


def list_doubt(table: LinkTable, scores: np.ndarray, chosen: set[str], other: set[str]) -> list[float]:
    """Features for and against a list: `chosen` are the addresses of its rows, `other` those of the rows found by the other
    reader (rules or models)."""
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
        _shared(chosen, other), float(np.mean(values)), min(values), top, float(rest.max()) if len(rest) else 0.0,
        float((rest > 0.3 * top).sum()) / max(1, len(chosen)), float(alike.sum()) / max(1, int(taken.sum())),
    ]  # fmt: skip


def best_inside(table: BodyTable, scores: np.ndarray, outline: Outline, nodes: Sequence[int]) -> list[float]:
    """The highest score inside each of several texts; 0 for none."""
    made = []
    for node in nodes:
        inside = (table.nodes >= node) & (table.nodes < outline.ends[node])
        made.append(float(scores[inside].max()) if inside.any() else 0.0)
    return made


def thread_doubt(
    table: BodyTable, scores: np.ndarray, outline: Outline, nodes: Sequence[int], same: float, named: float
) -> list[float]:
    """Features for and against posts: `nodes` are their texts, `same` is the agreement of rules and models, `named` the share
    of posts with an author."""
    covered = np.zeros(len(outline) + 1, dtype=bool)
    for node in nodes:
        covered[node : outline.ends[node]] = True
    sums = np.concatenate([[0], np.cumsum(covered)])
    ends = np.asarray([outline.ends[node] for node in table.nodes.tolist()], dtype=np.int64)
    rest = scores[sums[ends] == sums[table.nodes]]
    top, own = best_of(scores), best_inside(table, scores, outline, nodes) or [0.0]
    return [
        same, float(np.mean(own)), min(own), top, float(rest.max()) if len(rest) else 0.0,
        float((rest > 0.5 * top).sum()) / max(1, len(nodes)), 0.0, named,
    ]  # fmt: skip


def doubt_view(shares: np.ndarray, kind: int, records: int, rest: Sequence[float]) -> list[float]:
    """All features for the doubt about a reading: the `shares` (probabilities) of the four kinds, the chosen kind, the number
    of records, and their evidence."""
    first, second = np.sort(shares)[::-1][:2]
    return [
        float(first), float(first - second), log(float(first) / (1.02 - float(first))), *(float(kind == at) for at in range(4)),
        log1p(records), float(records == 0), *(rest or [0.0] * 8),
    ]  # fmt: skip
