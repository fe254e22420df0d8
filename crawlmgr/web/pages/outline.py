"""The outline of a page: its elements and texts in document order, as parallel lists of integers
and short strings. An element is identified by its node number, its index in these lists."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

MAX_NODES = 120_000
MAX_TEXT = 4_000_000  # characters of text; the rest of a longer page is not read

MAX_SPAN = 1_000  # greatest rowspan that is honoured

SKIPPED = frozenset(
    {"script", "style", "template", "textarea", "select", "iframe", "object", "head", "datalist"}
)
BLOCKS = frozenset(
    """
        address article aside blockquote body br caption center dd details dialog div dl dt fieldset
        figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre
        section summary table tbody td tfoot th thead tr ul
    """.split()
)
_STATE = re.compile(
    r"^(?:odd|even|alt|new|old|unread|read|hot|first|last|active|current|clearfix|cf|js|is|has|no"
    r"|bg|row|trow|alternate|"
    r"visited|selected|highlight|first-?post|first-?item|normal|online|offline|hidden|visible|"
    r"(?:[a-z]+[-_]{1,2})?(?:sticky|stickied|pinned|featured|locked|closed|announce(?:ment)?|unread"
    r"|solved|answered|moved|important))$",
    re.I,
)
_INLINE = re.compile(r"time|date|ago|icon|badge|mark|emoji|link|name|count|number|label")
_DIGITS = re.compile(r"\d+")
# "odd" and "even" inside class names that alternate from row to row: matches rowOdd and
# msgevenTable, but not "event"
_ALTERNATING = re.compile(r"(?<=[a-zA-Z])[-_]?(?:[oO]dd|[eE]ven|ODD|EVEN)(?=[A-Z]|$)")


class Piece(NamedTuple):
    """A run of text. `node` is the node number of the element that contains it, `line` the number
    of the line on which a browser would show it (block elements start a new line)."""

    text: str
    node: int
    line: int


class Outline:
    """The elements of a page in document order, as parallel lists indexed by node number.

    `ends[i]` is the number of the first node after the sub-tree of node i. `paths[i]` is a number
    for the tag path from the root to i, the same for equal paths. `shapes[i]` is the tag name with
    the class names that similar elements share (see `lasting_classes`), `ordinals[i]` the index of
    i among its siblings with the same shape. `pieces` are the texts in document order; those in the
    sub-tree of i are `pieces[piece_from[i]:piece_to[i]]`. `rowspan_counts`: for a table row into
    whose first columns cells of earlier rows extend (rowspan), their number; the ordinals of the
    row's own cells count them too. `is_cut`: the page exceeded the limits, so that its end is
    missing.
    """

    def __init__(self) -> None:
        self.elements: list[HtmlElement] = []
        self.tags: list[str] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.ends: list[int] = []
        self.paths: list[int] = []
        self.shapes: list[str] = []
        self.ordinals: list[int] = []
        self.classes: list[str] = []
        self.pieces: list[Piece] = []
        self.piece_from: list[int] = []
        self.piece_to: list[int] = []
        self.rowspan_counts: dict[int, int] = {}
        self.is_cut = False
        self._relative: dict[tuple[int, int], str] = {}

    def __len__(self) -> int:
        return len(self.tags)

    def text(self, node: int) -> str:
        """Returns all text in the sub-tree of a node, pieces joined by spaces."""
        return " ".join(
            piece.text for piece in self.pieces[self.piece_from[node] : self.piece_to[node]]
        )

    def text_length(self, node: int) -> int:
        """Returns the number of characters of text in the sub-tree of a node."""
        return self._lengths[self.piece_to[node]] - self._lengths[self.piece_from[node]]

    @cached_property
    def _lengths(self) -> list[int]:
        """List whose item i is the total length of the texts before `pieces[i]`; computed on first
        use."""
        return list(accumulate((len(piece.text) for piece in self.pieces), initial=0))

    def children(self, node: int, most: int = MAX_NODES) -> list[int]:
        """Returns the node numbers of the child elements of a node, at most the first `most`."""
        found: list[int] = []
        ends = self.ends
        child, end = node + 1, ends[node]
        while child < end and len(found) < most:
            found.append(child)
            child = ends[child]
        return found

    def contains(self, node: int, other: int) -> bool:
        """Tells whether node `other` is `node` itself or in its sub-tree."""
        return node <= other < self.ends[node]

    def relative(self, node: int, top: int) -> str:
        """Returns the path from node `top` (exclusive) down to `node`, such as "tr.row/td#1/a":
        `shapes`, each with its ordinal unless that is 0. Corresponding elements of repeated records
        have equal paths below their records.
        """
        known, climbed = self._relative, []
        while node > top and (top, node) not in known:
            climbed.append(node)
            node = self.parents[node]
        path = known[top, node] if node > top else ""
        for inner in reversed(climbed):
            ordinal = self.ordinals[inner]
            own = f"{self.shapes[inner]}#{ordinal}" if ordinal else self.shapes[inner]
            path = known[top, inner] = f"{path}/{own}" if path else own
        return path


@lru_cache(maxsize=8_192)
def lasting_classes(value: str) -> str:
    """Returns up to two class names of the class attribute `value`, joined by ".": those that
    similar elements share. Digits are removed, and names that express a state (odd, unread, sticky
    …) are left out."""
    kept = []
    for token in value.split()[:6]:
        bare = _ALTERNATING.sub("", _DIGITS.sub("", token).strip("-_"))
        if len(bare) > 1 and not _STATE.match(bare):
            kept.append(bare)
    return ".".join(kept[:2])


def _is_own_block(tag: str) -> bool:
    """Tells whether a custom element (with a hyphen in its name) starts a new line; False if its
    name says that it is a time, an icon or something else inside a line."""
    return "-" in tag and _INLINE.search(tag) is None


def _is_hidden_noscript(element: HtmlElement) -> bool:
    """Tells whether a `<noscript>` element is left out of the outline: True unless it holds at
    least five links, paragraphs or list items, as on script-based sites that provide the page's
    content there for robots."""
    return sum(1 for _ in element.iter("a", "p", "article", "li")) < 5


class _Builder:
    """Builds an Outline in one pass over the tree; `build` may be called once."""

    def __init__(self, root: HtmlElement) -> None:
        self.made = Outline()
        self.walker = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        self.line = 0
        self.text_left = MAX_TEXT
        self.path_numbers: dict[tuple[int, str], int] = {}
        self.shape_of: dict[tuple[str, str], str] = {}
        self.seen: list[dict[str, int]] = [{}]
        self.open: list[int] = [-1]
        # node number of the rows' parent -> (shape of a row's first cell, number of further rows
        # that this cell spans)
        self.spanning: dict[int, list[tuple[str, int]]] = {}

    def build(self) -> Outline:
        made, opened = self.made, self.open
        for event, element in self.walker:
            if event == "start":
                tag = element.tag
                if tag in SKIPPED or tag == "noscript" and _is_hidden_noscript(element):
                    self.walker.skip_subtree()
                    continue
                if len(made.tags) >= MAX_NODES or self.text_left <= 0:
                    made.is_cut = True
                    break
                self._start(element, tag)
            elif event == "end":
                if opened[-1] >= 0 and made.elements[opened[-1]] is element:
                    self._end(element)
                elif element.tail:
                    self._text(element.tail)
            elif element.tail:
                self._text(element.tail)
        while len(self.open) > 1:
            self._close(self.open[-1])
        return made

    def _start(self, element: HtmlElement, tag: str) -> None:
        made, parent = self.made, self.open[-1]
        raw = element.get("class") or ""
        shape = self.shape_of.get((tag, raw))
        if shape is None:
            stable = lasting_classes(raw)
            shape = self.shape_of[tag, raw] = f"{tag}.{stable}" if stable else tag
        node = len(made.tags)
        above = made.paths[parent] if parent >= 0 else -1
        made.paths.append(self.path_numbers.setdefault((above, tag), len(self.path_numbers)))
        made.elements.append(element)
        made.tags.append(tag)
        made.parents.append(parent)
        made.depths.append(len(self.open) - 1)
        made.shapes.append(shape)
        seen = self.seen[-1]
        ordinal = seen.get(shape, 0)
        made.ordinals.append(ordinal)
        seen[shape] = ordinal + 1
        made.classes.append(raw)
        made.ends.append(node + 1)
        made.piece_from.append(len(made.pieces))
        made.piece_to.append(len(made.pieces))
        self.open.append(node)
        self.seen.append(self._spanned(node, parent) if tag == "tr" else {})
        if tag in ("td", "th"):
            self._span(element, node, parent)
        if tag in BLOCKS or _is_own_block(tag):
            self.line += 1
        text = element.text
        if text:
            self._text(text)

    def _spanned(self, row: int, table: int) -> dict[str, int]:
        """Counts the cells of earlier rows that extend into the first columns of table row `row`
        (rowspan), by their shape (tag and class names); also records their total in
        `rowspan_counts`. `table` is the parent of the row.
        """
        going = self.spanning.get(table, [])
        if going:
            self.made.rowspan_counts[row] = len(going)
            self.spanning[table] = [(shape, left - 1) for shape, left in going if left > 1]
        return Counter(shape for shape, _ in going) if going else {}

    def _span(self, element: HtmlElement, node: int, row: int) -> None:
        """Records the rowspan of the table cell `node` if it is the first of its row."""
        rows = element.get("rowspan") or ""
        if (
            row >= 0
            and self.made.tags[row] == "tr"
            and node == row + 1
            and rows.isdigit()
            and 1 < int(rows) <= MAX_SPAN
        ):
            self.spanning.setdefault(self.made.parents[row], []).append(
                (self.made.shapes[node], int(rows) - 1)
            )

    def _end(self, element: HtmlElement) -> None:
        tag = self.made.tags[self.open[-1]]
        self._close(self.open[-1])
        if tag in BLOCKS or _is_own_block(tag):
            self.line += 1
        tail = element.tail
        if tail and self.open[-1] >= 0:
            self._text(tail)

    def _close(self, node: int) -> None:
        self.made.ends[node] = len(self.made.tags)
        self.made.piece_to[node] = len(self.made.pieces)
        self.open.pop()
        self.seen.pop()

    def _text(self, text: str) -> None:
        text = " ".join(text.split())
        if text and self.open[-1] >= 0:
            self.text_left -= len(text)
            self.made.pieces.append(Piece(text, self.open[-1], self.line))


def outline(root: HtmlElement) -> Outline:
    """Returns the elements and texts of a parsed page in document order (see `Outline`), collected
    in one pass; what follows after MAX_NODES elements or MAX_TEXT characters of text is left out.
    """
    return _Builder(root).build()
