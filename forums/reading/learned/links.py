"""Candidates for titles of threads and names of boards: the links whose texts contain letters or
digits, with features for the model.

Links in similar positions of the page form a cluster. There are four ways of clustering, by what is
equal: the tag path from the root; the path of shapes (tags with class names) from the root; the
last three shapes of that path; the form of the address. The features of a link describe the link
itself, the row around it, and its cluster in each of the four clusterings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log1p

import numpy as np

from forums.reading.document import Link, Page
from forums.reading.learned.bodies import Groups, numbered
from forums.reading.learned.signals import HEADINGS, Signals
from forums.reading.lists.row_groups import loose_pattern
from forums.reading.patterns import leads_to
from forums.reading.values import count
from forums.reading.words import NOT_NAMES

MAX_LINKS = 3_000
ROW_TAGS = ("tr", "li", "article", "dl", "div", "p", "section", "td", "h3", "h2")
# numbers of the clusterings for which links get, besides the features of their cluster, those of
# their row
_ROW_WIDTHS = (1, 2)
_BESIDE = 40  # largest number of links of a row that are examined
_CLIMB = 14  # largest number of a link's ancestors that are considered as its row
_NEXT = 400  # largest distance, in nodes, to the next row that is regarded as adjacent
_HEAD = 14  # number of texts directly before a list that are examined as its header
_ROW_TIMES = 12  # largest number of dates and times of day in a row that are examined


@dataclass
class LinkTable:
    """The links of a page that may name records (candidates). The rows of `links`, `features` and
    `clusters` correspond; `clusters` (links, 4) holds the number of each link's cluster in each of
    the four clusterings.
    """

    links: list[Link]
    features: np.ndarray
    clusters: np.ndarray


def candidates(page: Page) -> list[Link]:
    """Returns the links that may name a thread or a board: the first 3,000 with at least one letter
    or digit and at most 400 characters."""
    found = []
    for link in page.links:
        text = link.text
        if not text or len(text) > 400 or not any(map(str.isalnum, text)):
            continue
        found.append(link)
        if len(found) >= MAX_LINKS:
            break
    return found


@lru_cache(maxsize=16_384)
def _address(pattern: str) -> tuple[float, float, float, float, float]:
    lead = leads_to(pattern)
    path = pattern.partition("/")[2]
    return (
        float(lead == "thread"),
        float(lead == "board"),
        float(lead == "post"),
        float("#" in path),
        float("*" in path),
    )


@lru_cache(maxsize=16_384)
def _wording(text: str) -> tuple[float, float, float, float, float, float]:
    return (
        log1p(len(text)),
        log1p(text.count(" ")),
        sum(map(str.isalpha, text)) / len(text),
        float(any(map(str.isdigit, text))),
        float(count(text) is not None),
        float(text.lower() in NOT_NAMES),
    )


def _own(page: Page, signals: Signals, links: list[Link], keys: Groups) -> np.ndarray:
    """Returns the features of each link by itself, (links, features): its text, address, position,
    tags around it, and class names. keys: the links grouped by their key, that is by target."""
    own_path = page.url.partition("?")[0].rstrip("/") + "/"
    words = [
        [
            *_wording(link.text),
            float(link.is_user),
            float(link.is_local),
            *_address(link.pattern),
            float(" t:" in link.key),
            float(link.key == page.key),
            float(bool(link.fragment)),
            float("?" in link.url),
            float(link.url.startswith(own_path)),
        ]
        for link in links
    ]
    lengths = np.asarray([len(link.text) for link in links])
    nodes = np.asarray([link.node for link in links], dtype=np.int64)
    above = [nodes]
    for _ in range(3):
        above.append(np.where(above[-1] >= 0, signals.parents[above[-1]], -1))
    chain = np.stack(above)
    same = keys.numbers
    columns = [
        keys.sizes[same],
        keys.firsts[same] == np.arange(len(links)),
        keys.max(lengths)[same] == lengths,
        nodes / signals.size,
        signals.first[nodes] / max(1, signals.pieces),
        signals.depth[nodes],
        signals.has_tag(chain, *HEADINGS).any(axis=0),
        signals.has_tag(chain, "td", "th").any(axis=0),
        signals.has_tag(chain, "li").any(axis=0),
        signals.has_tag(chain, "strong", "b").any(axis=0),
        signals.has_tag(nodes, *HEADINGS),
    ]
    placed = [signals.framed[nodes], signals.asides(nodes), signals.roles(nodes, 4)]
    return np.column_stack([np.asarray(words, dtype=np.float64), *columns, *placed])


def _rows(signals: Signals, nodes: np.ndarray, keys: np.ndarray, groups: Groups) -> np.ndarray:
    """Returns the node range of each link's row, (links, 2): the largest element around the link in
    which all links of its cluster have its key (lead to the same thread). If a later sibling of
    that element is the cluster's next row, the range extends up to it. nodes, keys: of each link;
    groups: the clusters."""
    order, own = groups.order, keys[groups.order]
    size, new_group = len(signals.ends) - 1, np.zeros(len(order), dtype=bool)
    new_group[groups.starts] = True
    new_run = new_group | np.concatenate([[True], own[1:] != own[:-1]])
    runs, placed = np.cumsum(new_run) - 1, nodes[order]
    firsts = np.flatnonzero(new_run)
    before = np.where(new_group[firsts], -1, placed[firsts - 1])[runs]
    following = np.append(firsts[1:], len(order))
    ends_group = np.append(new_group, True)[following]
    after = np.where(ends_group, size, np.append(placed, size)[following])[runs]
    tops, going = placed.copy(), np.ones(len(order), dtype=bool)
    for _ in range(_CLIMB):
        above = signals.parents[tops]
        going = going & (above >= 0) & (above > before) & (signals.ends[above] <= after)
        if not going.any():
            break
        tops = np.where(going, above, tops)
    ends = signals.ends[tops]
    step = np.append(tops[1:], 0) - tops
    beside = np.append(signals.parents[tops[1:]], -2) == signals.parents[tops]
    joined = ~np.append(new_group[1:], True) & beside & (step > 0) & (step < _NEXT)
    made = np.zeros((len(order), 2), dtype=np.int64)
    made[order] = np.column_stack([tops, np.where(joined, np.maximum(ends, tops + step), ends)])
    return made


class _Seen:
    """The candidate links as parallel arrays, one entry per link. `keys` (of the linked threads),
    `texts` and `patterns` (of the addresses) hold numbers instead of strings, equal numbers for
    equal strings."""

    def __init__(self, links: list[Link]) -> None:
        self.nodes = np.asarray([link.node for link in links], dtype=np.int64)
        self.lengths = np.asarray([len(link.text) for link in links], dtype=np.int64)
        self.keys = numbered([link.key for link in links])
        self.texts = numbered([link.text for link in links])
        self.patterns = numbered([link.pattern for link in links])
        self.users = np.asarray([link.is_user for link in links], dtype=np.float64)
        self.local = np.asarray([link.is_local for link in links], dtype=np.float64)


class _Beside:
    """All links of a page as arrays, from which features of the links next to a candidate in its
    row are computed."""

    def __init__(self, page: Page, links: list[Link]) -> None:
        found = page.links
        order: dict[str, int] = {}
        leads = [leads_to(link.pattern) for link in found]
        self.nodes = np.asarray([link.node for link in found], dtype=np.int64)
        self.keys = np.asarray(
            [order.setdefault(link.key, len(order)) for link in found], dtype=np.int64
        )
        self.lengths = np.asarray([len(link.text) for link in found], dtype=np.int64)
        self.threads = np.asarray([lead == "thread" for lead in leads], dtype=bool)
        anchored = [bool(link.fragment) for link in found]
        self.posts = np.asarray([lead == "post" for lead in leads], dtype=bool) | np.asarray(
            anchored, dtype=bool
        )
        self.boards = np.asarray([lead == "board" for lead in leads], dtype=bool)
        self.own = np.searchsorted(
            self.nodes, np.asarray([link.node for link in links], dtype=np.int64)
        )

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Returns the features of the other links in the row of each candidate, (candidates, 7),
        each at most 9. Of each row the first 40 links are examined. rows: the node range of each
        candidate's row.

        The columns: whether the candidate has the longest text; the number of other targets;
        whether there is a link to another thread, to a post, to a board (three columns); the number
        of other links to the same target; the number of links before the candidate.
        """
        low, high = np.searchsorted(self.nodes, rows[:, 0]), np.searchsorted(self.nodes, rows[:, 1])
        high = np.minimum(high, low + _BESIDE)
        own, size = self.own, len(self.nodes)
        width = max(1, int((high - low).max(initial=0)))
        at = low[:, None] + np.arange(width)
        held = at < high[:, None]
        at = np.minimum(at, size - 1)
        inside = (low <= own) & (own < high)
        keys = np.where(held, self.keys[at], -1)
        other = held & (keys != self.keys[own][:, None])
        ranked = np.sort(keys, axis=1)
        distinct = ((ranked[:, 1:] != ranked[:, :-1]) & (ranked[:, 1:] >= 0)).sum(axis=1) + (
            ranked[:, 0] >= 0
        )
        same = (high - low) - other.sum(axis=1) - inside
        made = np.column_stack(
            [
                ~(held & (self.lengths[at] > self.lengths[own][:, None])).any(axis=1),
                distinct - (inside & (same == 0)),
                (self.threads[at] & other).any(axis=1),
                (self.posts[at] & held).sum(axis=1) - (inside & self.posts[own]) > 0,
                (self.boards[at] & held).sum(axis=1) - (inside & self.boards[own]) > 0,
                same,
                np.clip(own - low, 0, high - low),
            ]
        ).astype(np.float64)
        lone = (high - low < 2) & (low <= own) & (own < np.maximum(high, low + 1))
        made[lone] = [1.0, 0, 0, 0, 0, 0, 0]
        return np.minimum(made, 9.0)


def _row_features(
    signals: Signals, nodes: np.ndarray, rows: np.ndarray, beside: _Beside
) -> np.ndarray:
    """Returns the features of the row around each link, (links, features): amounts of text, links,
    users, times, numbers and images, the link's position in it, labels of fields, the row's other
    links, and the row's tag. nodes: the links' nodes; rows: the node range of each link's row;
    beside: all links of the page."""
    start, end = rows[:, 0], rows[:, 1]
    first, last = signals.first[start], signals.first[np.minimum(end, signals.size)]
    last = np.maximum(last, signals.last[start])
    own = signals.chars[signals.last[nodes]] - signals.chars[signals.first[nodes]]
    chars = signals.chars[last] - signals.chars[first]
    columns = [
        np.log1p(chars),
        own / np.maximum(1.0, chars),
        np.log1p(signals.links[end] - signals.links[start]),
        np.log1p(signals.users[end] - signals.users[start]),
        np.log1p(signals.times[end] - signals.times[start]),
        np.log1p(signals.numbers[last] - signals.numbers[first]),
        np.log1p(signals.images[end] - signals.images[start]),
        (signals.linked[last] - signals.linked[first]) / np.maximum(1.0, chars),
        (nodes - start) / np.maximum(1, end - start),
        (signals.first[nodes] - first) / np.maximum(1, last - first),
    ]
    tags = signals.tag_columns(start, ROW_TAGS)
    return np.column_stack(
        [
            *columns,
            np.minimum(signals.labels[last] - signals.labels[first], 2.0),
            beside.features(rows),
            tags,
        ]
    )


def _cluster_features(
    signals: Signals, seen: _Seen, groups: Groups, rows: np.ndarray, inside: np.ndarray
) -> np.ndarray:
    """Returns the features of each cluster, (clusters, features): number of links, different
    targets and texts, share of the page's text, how regularly they are spaced, means of the row
    features, the header above, and whether the rows' times descend. groups: the clusters; rows: the
    node range of each link's row; inside: the features of these rows.
    """
    n, lengths, nodes = groups.sizes, seen.lengths, seen.nodes
    keys, texts = groups.distinct(seen.keys), groups.distinct(seen.texts)
    chars = np.expm1(inside[:, 0])
    tops = signals.parents[rows[:, 0]] + 1
    head = signals.first[rows[groups.firsts, 0]]
    columns = [
        np.log1p(n),
        np.log1p(keys),
        keys / n,
        texts / np.maximum(1, keys),
        np.log1p(groups.mean(lengths)),
        np.minimum(1.0, groups.sum(lengths) / signals.total),
        groups.spread(lengths),
        np.minimum(groups.sum(chars) / signals.total, 1.0),
        np.minimum(groups.steadiness(nodes), 5.0),
        nodes[groups.firsts] / signals.size,
        nodes[groups.lasts] / signals.size,
        groups.mean(seen.users),
        groups.mean(seen.local),
        groups.distinct(seen.patterns) / n,
        groups.distinct(tops) / n,
        groups.spread(chars),
        groups.mean(inside),
        np.minimum(signals.labels[head] - signals.labels[np.maximum(0, head - _HEAD)], 1.0),
        _falling(signals, rows, groups),
    ]
    return np.column_stack(columns)


def _falling(signals: Signals, rows: np.ndarray, groups: Groups) -> np.ndarray:
    """Returns, for each cluster of links, the share of pairs of successive rows with times in which
    the newest time does not increase from one to the next; -1 for a cluster of fewer than three
    links or two such pairs. rows: start and end of each link's row."""
    nodes, seconds = signals.time_order
    if not len(nodes):
        return np.full(len(groups.sizes), -1.0)
    low, high = np.searchsorted(nodes, rows[:, 0]), np.searchsorted(nodes, rows[:, 1])
    at = low[:, None] + np.arange(_ROW_TIMES)
    held = at < high[:, None]
    newest = np.where(held, seconds[np.minimum(at, len(nodes) - 1)], -np.inf).max(axis=1)
    shown = np.asarray(held.any(axis=1))
    timed = groups.order[shown[groups.order]]
    one, other = timed[:-1], timed[1:]
    pairs = groups.numbers[one] == groups.numbers[other]
    one, other, of = one[pairs], other[pairs], groups.numbers[other[pairs]]
    asked = np.bincount(of, minlength=len(groups.sizes))
    fallen = np.bincount(of, weights=newest[other] <= newest[one], minlength=len(groups.sizes))
    made: np.ndarray = np.where(
        (groups.sizes >= 3) & (asked >= 2), fallen / np.maximum(1, asked), -1.0
    )
    return made


def link_table(page: Page, signals: Signals) -> LinkTable:
    """Returns the candidate links of a page with their features and clusters."""
    links = candidates(page)
    if not links:
        return LinkTable([], np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.int64))
    seen = _Seen(links)
    whole, near = signals.chains
    widths = [
        numbered([page.outline.paths[link.node] for link in links]),
        numbered(whole[seen.nodes].tolist()),
        numbered(near[seen.nodes].tolist()),
        numbered([loose_pattern(link.pattern) for link in links]),
    ]
    parts, beside = [_own(page, signals, links, Groups(seen.keys))], _Beside(page, links)
    for width, numbers in enumerate(widths):
        groups = Groups(numbers)
        rows = _rows(signals, seen.nodes, seen.keys, groups)
        inside = _row_features(signals, seen.nodes, rows, beside)
        block = _cluster_features(signals, seen, groups, rows, inside)[numbers]
        parts.append(np.column_stack([inside, block]) if width in _ROW_WIDTHS else block)
    parts.append(np.tile(np.asarray(signals.of_page), (len(links), 1)))
    return LinkTable(links, np.hstack(parts).astype(np.float32), np.column_stack(widths))
