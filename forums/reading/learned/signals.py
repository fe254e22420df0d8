"""Counts of what a page contains, as prefix sums over its nodes and over its texts, so that the
count in any range is a difference of two entries; and the roles that class names suggest. Nodes are
elements by number in document order; texts are numbered in page order."""

from __future__ import annotations

from functools import cached_property
from math import log1p

import numpy as np

from forums.reading.addresses import names_board
from forums.reading.document import Page
from forums.reading.page_times import Time
from forums.reading.patterns import leads_to
from forums.reading.values import count
from forums.reading.words import class_roles, text_roles

CLASS_NAMES = (
    "title",
    "topics",
    "posts",
    "replies",
    "views",
    "last",
    "author",
    "body",
    "pager",
    "tag",
    "date",
    "excerpt",
    "avatar",
    "edit",
    "signature",
    "quote",
)
TEXT_NAMES = (
    "topics",
    "posts",
    "replies",
    "views",
    "last",
    "board",
    "author",
    "created",
    "comments",
    "joined",
)
LONGEST_LABEL = 28
FRAMES = frozenset("nav header footer aside form".split())
HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())


def sums(values: np.ndarray) -> np.ndarray:
    """Returns prefix sums along the first axis with a leading zero: for the result `s`, the sum of
    values[a:b] is `s[b] - s[a]`."""
    made = np.zeros((values.shape[0] + 1, *values.shape[1:]), dtype=np.float64)
    np.cumsum(values, axis=0, out=made[1:])
    return made


class Signals:
    """Arrays from which features of any range of nodes or texts of a page are computed. `size`,
    `pieces`, `total`: numbers of nodes, texts and characters.

    - Prefix sums over nodes: `times`, `links`, `users` (links to users), `images`.
    - Prefix sums over texts: `chars`, `numbers` (texts that are counts), `short` (at most 12
      characters), `linked` (characters inside links), `labels` (short texts that name a field, one
      column per field).
    - By node: `first` and `last` (the range of its texts), `ends` (the node after its sub-tree),
      `depth`.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        outline = page.outline
        self.size = max(1, len(outline))
        self.pieces = len(outline.pieces)
        self.first = np.asarray([*outline.piece_from, self.pieces], dtype=np.int64)
        self.last = np.asarray([*outline.piece_to, self.pieces], dtype=np.int64)
        self.ends = np.asarray([*outline.ends, len(outline)], dtype=np.int64)
        self.depth = np.asarray([*outline.depths, 0], dtype=np.int64)
        lengths = np.asarray([len(piece.text) for piece in outline.pieces], dtype=np.float64)
        self.chars = sums(lengths)
        self.numbers = sums(
            np.asarray([self._is_count(piece.text) for piece in outline.pieces], dtype=np.float64)
        )
        self.short = sums((lengths <= 12).astype(np.float64))
        self.labels = sums(self._labels())
        self.linked = sums(
            np.asarray([at in page.piece_link for at in range(self.pieces)], dtype=np.float64)
            * lengths
        )
        self.times = self._by_node([time.node for time in page.times])
        self.links = self._by_node([link.node for link in page.links])
        self.users = self._by_node([link.node for link in page.links if link.is_user])
        self.images = self._by_node([node for node, tag in enumerate(outline.tags) if tag == "img"])
        self.total = max(1.0, float(self.chars[-1]))

    def _is_count(self, text: str) -> bool:
        return len(text) <= 12 and any(map(str.isdigit, text)) and count(text) is not None

    def _labels(self) -> np.ndarray:
        made = np.zeros((self.pieces, len(TEXT_NAMES)))
        for at, piece in enumerate(self.page.outline.pieces):
            if len(piece.text) <= LONGEST_LABEL and at not in self.page.date_parts:
                roles = text_roles(piece.text)
                if roles:
                    made[at] = [name in roles for name in TEXT_NAMES]
        return made

    def _by_node(self, nodes: list[int]) -> np.ndarray:
        made = np.zeros(self.size)
        if nodes:
            np.add.at(made, np.asarray(nodes), 1.0)
        return sums(made)

    @cached_property
    def of_page(self) -> list[float]:
        """The features of the page as a whole, the same for every element of it that is rated: the
        kind of page that its address suggests; numbers of nodes, characters, links, times, password
        fields and field labels; shares of linked text, of links to users and of texts that are
        counts; and whether it has a text area."""
        page = self.page
        path = page.url.partition("//")[2].partition("/")[2]
        lead = leads_to(page.pattern)
        return [
            float(page.is_thread_address),
            float(lead == "thread"),
            float(lead == "board"),
            float(names_board(page.board_key)),
            float(path.partition("?")[0] in ("", "index.php", "index.html")),
            log1p(self.size),
            log1p(self.total),
            log1p(len(page.links)),
            log1p(len(page.times)),
            float(self.linked[-1] / self.total),
            float(self.users[-1] / max(1.0, self.links[-1])),
            float(self.numbers[-1] / max(1, self.pieces)),
            float(page.root.find(".//textarea") is not None),
            len(page.root.findall(".//input[@type='password']")),
            *np.log1p(self.labels[-1]),
        ]

    @cached_property
    def time_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of the page's times in page order, and the times themselves in epoch seconds,
        as two parallel arrays."""
        found: list[Time] = self.page.times
        nodes = np.asarray([time.node for time in found], dtype=np.int64)
        return nodes, np.asarray([time.moment.value.timestamp() for time in found])

    @cached_property
    def parents(self) -> np.ndarray:
        """The parent of each node; -1 for the root."""
        return np.asarray([*self.page.outline.parents, -1], dtype=np.int64)

    @cached_property
    def tags(self) -> tuple[np.ndarray, dict[str, int]]:
        """An array with a number for each node's tag, and a dict from the name of each tag to its
        number."""
        numbers: dict[str, int] = {}
        return (
            np.asarray(
                [numbers.setdefault(tag, len(numbers)) for tag in self.page.outline.tags],
                dtype=np.int64,
            ),
            numbers,
        )

    def has_tag(self, nodes: np.ndarray, *names: str) -> np.ndarray:
        """Returns a mask of those `nodes` that have one of the tags `names`; False for node -1."""
        tags, numbers = self.tags
        wanted = np.zeros(len(numbers) + 1, dtype=bool)
        wanted[[numbers[name] for name in names if name in numbers]] = True
        mask: np.ndarray = wanted[tags[nodes]] & (nodes >= 0)
        return mask

    def tag_columns(self, nodes: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        """Returns whether each of `nodes` has each of the tags `names`, as 1 or 0, (nodes,
        names)."""
        tags, numbers = self.tags
        table = np.zeros((len(numbers) + 1, len(names)))
        for column, name in enumerate(names):
            if name in numbers:
                table[numbers[name], column] = 1.0
        mask: np.ndarray = table[tags[nodes]]
        return mask

    @cached_property
    def chains(self) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays of integers that identify similar positions, one entry per node. Entries are
        equal in the first if the nodes' paths from the root have the same tags and class names, in
        the second if the last three elements have.
        """
        numbers: dict[str, int] = {}
        shapes = np.asarray(
            [numbers.setdefault(shape, len(numbers)) + 1 for shape in self.page.outline.shapes],
            dtype=np.int64,
        )
        width, parents = len(numbers) + 1, self.parents[:-1]
        one = np.where(parents >= 0, shapes[parents], 0)
        two = np.where(parents >= 0, one[parents], 0)
        near = np.unique((two * width + one) * width + shapes, return_inverse=True)[1]
        paths, used, depths = np.zeros(len(shapes), dtype=np.int64), 1, self.depth[:-1]
        by_depth = np.argsort(depths, kind="stable")
        for nodes in np.split(by_depth, np.flatnonzero(np.diff(depths[by_depth])) + 1):
            above = np.where(parents[nodes] >= 0, paths[parents[nodes]], 0)
            found, number = np.unique(above * width + shapes[nodes], return_inverse=True)
            paths[nodes] = number + used
            used += len(found)
        return paths, near

    @cached_property
    def framed(self) -> np.ndarray:
        """Whether each node is inside each of the elements `FRAMES` (navigation, header, footer,
        aside, form), as 1 or 0, one column per tag in alphabetical order; the last column is
        unused."""
        outline, made = self.page.outline, np.zeros((self.size, len(FRAMES) + 1))
        names = sorted(FRAMES)
        for node, tag in enumerate(outline.tags):
            if tag in FRAMES:
                made[node : outline.ends[node], names.index(tag)] = 1.0
        return made

    @cached_property
    def _hints(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the number of each node's class attribute (equal attributes have equal numbers),
        and a table, (numbers + 1, roles), with 1 for each role that an attribute suggests and 0 for
        others. The table's last row, all zeros, is for missing nodes."""
        numbers: dict[str, int] = {}
        own = np.asarray(
            [numbers.setdefault(name, len(numbers)) for name in self.page.outline.classes],
            dtype=np.int64,
        )
        table = np.zeros((len(numbers) + 1, len(CLASS_NAMES)))
        for name, at in numbers.items():
            if name and (found := class_roles(name)):
                table[at] = [role in found for role in CLASS_NAMES]
        return own, table

    def roles(self, nodes: np.ndarray, levels: int) -> np.ndarray:
        """Returns how strongly class names suggest each role (a field of CLASS_NAMES such as
        "author") for each of `nodes`, (nodes, roles): 1 / (1 + n) if the n-th ancestor is the
        nearest whose classes do (n = 0: the node itself), 0 if none does. `levels` elements are
        examined: the node and `levels` - 1 ancestors."""
        own, table = self._hints
        made = np.zeros((len(nodes), len(CLASS_NAMES)))
        for level in range(levels):
            hints = table[np.where(nodes >= 0, own[nodes], -1)]
            made = np.maximum(made, hints / (1 + level))
            nodes = np.where(nodes >= 0, self.parents[nodes], -1)
        return made

    def asides(self, nodes: np.ndarray) -> np.ndarray:
        """Returns whether each of `nodes` is in a side column, as 1 or 0."""
        return np.asarray([self.page.is_aside(node) for node in nodes.tolist()], dtype=np.float64)
