"""Candidates for the texts of posts: the block elements of a page that contain text, with features
for the model.

Candidates in similar positions of the page form a cluster. There are three ways of clustering, by
what is equal: the tag path from the root; the path of shapes (tags with class names) from the root;
the last three shapes of that path.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from forums.reading.document import Page
from forums.reading.learned.signals import Signals


def numbered(keys: Sequence[Hashable]) -> np.ndarray:
    """Returns a number for each key, equal for equal keys, counted from 0 in the order of first
    occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.asarray([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


class Groups:
    """Items ("members") that are divided into groups of one or more. `numbers` holds each member's
    group, from 0 and without gaps.

    `sizes`, `firsts` and `lasts` hold each group's size and its first and last member. `order` are
    the members sorted by group; `starts` are the positions in `order` at which the groups begin.
    `before` and `after` are parallel arrays of all pairs of members that follow each other within a
    group; `of_pairs` holds the group of each pair.
    """

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers
        self.order = np.argsort(numbers, kind="stable")
        self.sorted = numbers[self.order]
        self.starts = np.flatnonzero(np.concatenate([[True], self.sorted[1:] != self.sorted[:-1]]))
        self.sizes = np.diff(np.concatenate([self.starts, [len(numbers)]]))
        self.firsts = self.order[self.starts]
        self.lasts = self.order[self.starts + self.sizes - 1]
        pairs = self.sorted[1:] == self.sorted[:-1]
        self.before, self.after, self.of_pairs = (
            self.order[:-1][pairs],
            self.order[1:][pairs],
            self.sorted[1:][pairs],
        )

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Returns the sum of the members' values in each group. values: (members,) or (members,
        columns); result: (groups,) or (groups, columns)."""
        made: np.ndarray = np.add.reduceat(
            values[self.order].astype(np.float64), self.starts, axis=0
        )
        return made

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Returns the mean of the members' values in each group, with shapes as for `sum`."""
        found = self.sum(values)
        made: np.ndarray = found / (self.sizes[:, None] if found.ndim > 1 else self.sizes)
        return made

    def max(self, values: np.ndarray) -> np.ndarray:
        """Returns the highest of the members' values in each group."""
        made: np.ndarray = np.maximum.reduceat(values[self.order], self.starts)
        return made

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Returns for each group the standard deviation of its members' values divided by their
        mean, or by 1 if the mean is less than 1."""
        mean = self.mean(values)
        made: np.ndarray = np.sqrt(self.mean((values - mean[self.numbers]) ** 2)) / np.maximum(
            1.0, mean
        )
        return made

    def distinct(self, values: np.ndarray) -> np.ndarray:
        """Returns the number of different values in each group. values: an integer of at least 0
        for each member."""
        width = int(values.max()) + 1 if len(values) else 1
        return np.bincount(
            np.unique(self.numbers * width + values) // width, minlength=len(self.sizes)
        )

    def of_neighbours(self, values: np.ndarray) -> np.ndarray:
        """Returns the mean of `values` in each group; 0 for groups of one member. values: one entry
        for each pair of consecutive members of a group, in the order of the arrays `before` and
        `after`."""
        found = np.bincount(self.of_pairs, weights=values, minlength=len(self.sizes))
        made: np.ndarray = found / np.maximum(1, self.sizes - 1)
        return made

    def steadiness(self, places: np.ndarray) -> np.ndarray:
        """Returns for each group the standard deviation of the distances between neighbours,
        divided by their mean (0: evenly spaced); 1 for groups of fewer than three. places: each
        member's position on the page, such as its node number.
        """
        steps = (places[self.after] - places[self.before]).astype(np.float64)
        mean = self.of_neighbours(steps)
        spread = np.sqrt(self.of_neighbours((steps - mean[self.of_pairs]) ** 2)) / np.maximum(
            1.0, mean
        )
        made: np.ndarray = np.where(self.sizes > 2, spread, 1.0)
        return made


INLINE = frozenset(
    """
        a abbr acronym b bdi bdo big cite code em font i img input kbd label mark s samp small span
        strong sub sup time tt u button svg br hr option th
    """.split()
)
MAX_BODIES = 2_500
TAGS = (
    "div",
    "td",
    "p",
    "li",
    "article",
    "section",
    "dd",
    "pre",
    "blockquote",
    "main",
    "tr",
    "table",
    "ul",
    "h1",
)
_CHILDREN = 12  # largest number of an element's children that are examined
_FAR = 60.0  # larger distances between texts, counted in texts, are set to this value


@dataclass
class BodyTable:
    """The elements of a page that may be texts of posts (candidates). The rows of `nodes`,
    `features` and `clusters` correspond; `clusters` (candidates, 3) holds the number of each
    candidate's cluster in each of the three clusterings.
    """

    nodes: np.ndarray
    features: np.ndarray
    clusters: np.ndarray


def candidates(page: Page) -> list[int]:
    """Returns the nodes of the first 2,500 block elements with text; of nested ones with exactly
    the same text, the innermost."""
    outline = page.outline
    deepest: dict[tuple[int, int], int] = {}
    for node, tag in enumerate(outline.tags):
        first, last = outline.piece_from[node], outline.piece_to[node]
        if last > first and tag not in INLINE and tag not in ("html", "body"):
            deepest[first, last] = node  # later elements with the same range are further inside
    found = sorted(deepest.values())
    return found[:MAX_BODIES]


def _distances(signals: Signals, marks: np.ndarray, pieces: np.ndarray, back: bool) -> np.ndarray:
    """Returns for each text number in `pieces` the number of texts to the nearest of `marks` (text
    numbers, ascending): the last one before it with `back`, otherwise the first one at or after it.
    At most `_FAR`, also if there is none.
    """
    if not len(marks):
        return np.full(len(pieces), _FAR)
    at = np.searchsorted(marks, pieces, side="left")
    if back:
        near = marks[np.maximum(at - 1, 0)]
        return np.where(at > 0, np.minimum(pieces - near, _FAR), _FAR)
    near = marks[np.minimum(at, len(marks) - 1)]
    return np.where(at < len(marks), np.minimum(near - pieces, _FAR), _FAR)


def _own(page: Page, signals: Signals, nodes: np.ndarray) -> np.ndarray:
    """Returns the features of each candidate by itself and compared with its parent and
    grandparent, (candidates, features): amounts of text, times, links, users and images; position
    and depth; distances to the nearest times and user links; tags; class names; and the numbers of
    field labels (such as "Author") inside it and just before it."""
    outline = page.outline
    first, last, end = signals.first[nodes], signals.last[nodes], signals.ends[nodes]
    parents = np.maximum(0, signals.parents[nodes])
    grand = np.maximum(0, signals.parents[parents])
    chars = signals.chars[last] - signals.chars[first]

    def held(where: np.ndarray, around: np.ndarray) -> np.ndarray:
        inside: np.ndarray = where[signals.ends[around]] - where[around]
        return inside

    columns = [
        np.log1p(chars),
        (signals.linked[last] - signals.linked[first]) / np.maximum(1, chars),
        np.log1p(last - first),
        chars / signals.total,
        (signals.short[last] - signals.short[first]) / np.maximum(1, last - first),
        (signals.numbers[last] - signals.numbers[first]) / np.maximum(1, last - first),
        signals.depth[nodes],
        nodes / signals.size,
        first / max(1, signals.pieces),
        np.log1p(held(signals.times, nodes)),
        np.log1p(held(signals.users, nodes)),
        np.log1p(held(signals.links, nodes)),
        np.log1p(held(signals.images, nodes)),
        np.log1p(end - nodes),
    ]
    for around in (parents, grand):
        whole = signals.chars[signals.last[around]] - signals.chars[signals.first[around]]
        columns += [
            chars / np.maximum(1, whole),
            np.log1p(held(signals.times, around)),
            np.log1p(held(signals.users, around)),
            np.log1p(held(signals.images, around)),
            (first - signals.first[around])
            / np.maximum(1, signals.last[around] - signals.first[around]),
        ]
    times = np.unique(np.asarray([time.piece for time in page.times], dtype=np.int64))
    people = np.unique(
        np.asarray(
            [outline.piece_from[link.node] for link in page.links if link.is_user], dtype=np.int64
        )
    )
    columns += [
        np.log1p(_distances(signals, times, first, True)),
        np.log1p(_distances(signals, times, last, False)),
        np.log1p(_distances(signals, people, first, True)),
        np.log1p(_distances(signals, people, last, False)),
    ]
    low = np.maximum(0, first - 16)
    columns += list(np.minimum(signals.labels[first] - signals.labels[low], 2.0).T)
    columns += list(np.minimum(signals.labels[last] - signals.labels[first], 2.0).T)
    columns += [signals.tag_columns(nodes, TAGS), _below(signals)[nodes]]
    columns += [signals.framed[nodes], signals.asides(nodes), signals.roles(nodes, 4)]
    return np.column_stack(columns)


def _below(signals: Signals) -> np.ndarray:
    """Returns for each node whether its first 12 children include a <p>, a <br>, a <blockquote>, a
    <div> or table (1 or 0), and the number of these children, (nodes, 5)."""
    at = np.flatnonzero(signals.parents >= 0)
    at = at[np.argsort(signals.parents[at], kind="stable")]
    parents = signals.parents[at]
    rank = np.arange(len(at)) - np.searchsorted(parents, parents)
    at, parents = at[rank < _CHILDREN], parents[rank < _CHILDREN]
    made = np.zeros((signals.size, 5))
    for column, names in enumerate((("p",), ("br",), ("blockquote",), ("div", "table"))):
        made[parents[signals.has_tag(at, *names)], column] = 1.0
    made[:, 4] = np.bincount(parents, minlength=signals.size)
    return made


def _shared(signals: Signals, nodes: np.ndarray, own: np.ndarray, groups: Groups) -> np.ndarray:
    """Returns the features of each cluster of candidates, (clusters, features): number of members,
    their text and position, how regularly they are spaced, what is between neighbours, and the mean
    of each feature in `own` (features of the single candidates). groups: the clusters."""
    chars = np.expm1(own[:, 0])
    one, other = nodes[groups.before], nodes[groups.after]
    ends = np.minimum(signals.ends[one], other)
    apart = np.maximum(0, signals.chars[signals.first[other]] - signals.chars[signals.last[one]])
    columns = [
        np.log1p(groups.sizes),
        np.minimum(1.0, groups.sum(chars) / signals.total),
        groups.spread(chars),
        groups.max(chars) / signals.total,
        nodes[groups.firsts] / signals.size,
        nodes[groups.lasts] / signals.size,
        groups.steadiness(nodes),
        groups.of_neighbours(np.minimum(1.0, signals.times[other] - signals.times[ends])),
        groups.of_neighbours(np.minimum(1.0, signals.users[other] - signals.users[ends])),
        groups.of_neighbours(np.log1p(apart)),
        groups.mean(own),
    ]
    return np.column_stack(columns)


def body_table(page: Page, signals: Signals) -> BodyTable:
    """Returns the candidate texts of a page with their features and clusters."""
    nodes = np.asarray(candidates(page), dtype=np.int64)
    if not len(nodes):
        return BodyTable(
            nodes, np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.int64)
        )
    own = _own(page, signals, nodes)
    whole, near = signals.chains
    widths = [
        numbered([page.outline.paths[node] for node in nodes.tolist()]),
        numbered(whole[nodes].tolist()),
        numbered(near[nodes].tolist()),
    ]
    parts = [own]
    for numbers in widths:
        parts.append(_shared(signals, nodes, own, Groups(numbers))[numbers])
    parts.append(np.tile(np.asarray(signals.of_page), (len(nodes), 1)))
    return BodyTable(nodes, np.hstack(parts).astype(np.float32), np.column_stack(widths))
