"""What a page shows where, counted once: prefix sums over its nodes and texts, and the roles of its elements."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from forums.reading.document import Page
from forums.reading.pagetimes import Time
from forums.reading.values import count
from forums.reading.words import class_roles, text_roles

CLASS_NAMES = (
    "title", "topics", "posts", "replies", "views", "last", "author", "body", "pager", "tag", "date", "excerpt", "avatar", "edit",
    "signature", "quote",
)  # fmt: skip
TEXT_NAMES = ("topics", "posts", "replies", "views", "last", "board", "author", "created", "comments", "joined")
LONGEST_LABEL = 28
FRAMES = frozenset("nav header footer aside form".split())
HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())


def sums(values: np.ndarray) -> np.ndarray:
    """Prefix sums with a leading zero: the sum over [a, b) is `s[b] - s[a]`."""
    made = np.zeros((values.shape[0] + 1, *values.shape[1:]), dtype=np.float64)
    np.cumsum(values, axis=0, out=made[1:])
    return made


class Signals:
    """Sums over the nodes (`*_at`) and the texts (`*_of`) of a page, each answering for any range at once."""

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
        self.numbers = sums(np.asarray([self._is_count(piece.text) for piece in outline.pieces], dtype=np.float64))
        self.short = sums((lengths <= 12).astype(np.float64))
        self.labels = sums(self._labels())
        self.linked = sums(np.asarray([at in page.piece_link for at in range(self.pieces)], dtype=np.float64) * lengths)
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
    def time_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of the times, in order, and their seconds."""
        found: list[Time] = self.page.times
        nodes = np.asarray([time.node for time in found], dtype=np.int64)
        return nodes, np.asarray([time.moment.value.timestamp() for time in found])

    @cached_property
    def chains(self) -> tuple[np.ndarray, np.ndarray]:
        """For each node the number of its path of shapes from the root, and of its last three shapes."""
        outline = self.page.outline
        whole: dict[tuple[int, str], int] = {}
        near: dict[tuple[str, str, str], int] = {}
        paths, last = np.zeros(self.size, dtype=np.int64), np.zeros(self.size, dtype=np.int64)
        shapes, parents = outline.shapes, outline.parents
        for node, parent in enumerate(parents):
            above = int(paths[parent]) if parent >= 0 else -1
            paths[node] = whole.setdefault((above, shapes[node]), len(whole))
            grand = parents[parent] if parent >= 0 else -1
            key = (shapes[node], shapes[parent] if parent >= 0 else "", shapes[grand] if grand >= 0 else "")
            last[node] = near.setdefault(key, len(near))
        return paths, last

    @cached_property
    def framed(self) -> np.ndarray:
        """Whether each node stands in navigation, a head, a foot, a column beside the matter or a form."""
        outline, made = self.page.outline, np.zeros((self.size, len(FRAMES) + 1))
        names = sorted(FRAMES)
        for node, parent in enumerate(outline.parents):
            if parent >= 0:
                made[node] = made[parent]
            if outline.tags[node] in FRAMES:
                made[node, names.index(outline.tags[node])] = 1.0
        return made

    def roles(self, node: int, levels: int) -> list[float]:
        """What the classes of an element and of those above it hint at: 1 for its own, less for each level above."""
        outline, made = self.page.outline, dict.fromkeys(CLASS_NAMES, 0.0)
        for level in range(levels):
            if node < 0:
                break
            if outline.classes[node]:
                for role in class_roles(outline.classes[node]):
                    if role in made:
                        made[role] = max(made[role], 1.0 / (1 + level))
            node = outline.parents[node]
        return list(made.values())
