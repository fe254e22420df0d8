"""Grouping of repeated sub-trees of a page into records: an outline of the tree, and the spans that repeat around anchors.

Similar to MDR and DEPTA (data regions are runs of similar siblings) and to mining by tag paths, but driven by anchors: given the
nodes that occur once in each record (a link to a thread, a time), it finds the sub-tree, or the run of sibling sub-trees, of
each. It uses no edit distance: one pass over the tree, then operations on integers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

MAX_NODES = 120_000
MAX_TEXT = 4_000_000  # characters; the rest of a longer page is not read

MAX_SPAN = 1_000  # rows that one cell may span

SKIPPED = frozenset({"script", "style", "template", "textarea", "select", "iframe", "object", "head", "datalist"})
BLOCKS = frozenset(
    """address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead
    tr ul""".split()
)
_STATE = re.compile(
    r"^(?:odd|even|alt|new|old|unread|read|hot|first|last|active|current|clearfix|cf|js|is|has|no|bg|row|trow|alternate|"
    r"visited|selected|highlight|first-?post|first-?item|normal|online|offline|hidden|visible|"
    r"(?:[a-z]+[-_]{1,2})?(?:sticky|stickied|pinned|featured|locked|closed|announce(?:ment)?|unread|solved|answered|moved|important))$",
    re.I,
)
_INLINE = re.compile(r"time|date|ago|icon|badge|mark|emoji|link|name|count|number|label")
_DIGITS = re.compile(r"\d+")
# matches rowOdd and msgevenTable, but not "event"
_ALTERNATING = re.compile(r"(?<=[a-zA-Z])[-_]?(?:[oO]dd|[eE]ven|ODD|EVEN)(?=[A-Z]|$)")


class Piece(NamedTuple):
    """A run of text: `node` is its element, `line` the number of its line as displayed."""

    text: str
    node: int
    line: int


class Outline:
    """The elements of a page in document order, as parallel lists indexed by node number.

    `ends[i]` is the first node after the sub-tree of i, `paths[i]` numbers the tag path from the root, `shapes[i]` the tag with
    its stable classes, `ordinals[i]` the index among siblings of the same shape; `pieces` are the texts in order, those of
    sub-tree i being `pieces[piece_from[i]:piece_to[i]]`. `leads` maps table rows to the number of their first columns that belong
    to cells of rows above (rowspan); these count in the ordinals of the row's own cells. `is_cut` when the page was larger than
    the limits.
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
        self.leads: dict[int, int] = {}
        self.is_cut = False
        self._relative: dict[tuple[int, int], str] = {}

    def __len__(self) -> int:
        return len(self.tags)

    def text(self, node: int) -> str:
        """The text of a sub-tree, pieces joined by spaces."""
        return " ".join(piece.text for piece in self.pieces[self.piece_from[node] : self.piece_to[node]])

    def text_length(self, node: int) -> int:
        """Characters of text in a sub-tree."""
        return self._lengths[self.piece_to[node]] - self._lengths[self.piece_from[node]]

    @cached_property
    def _lengths(self) -> list[int]:
        """Cumulative lengths of the texts; computed when the outline is complete."""
        return list(accumulate((len(piece.text) for piece in self.pieces), initial=0))

    def children(self, node: int, most: int = MAX_NODES) -> list[int]:
        """The child elements of a node, the first `most` of them."""
        found: list[int] = []
        child, end = node + 1, self.ends[node]
        while child < end and len(found) < most:
            found.append(child)
            child = self.ends[child]
        return found

    def contains(self, node: int, other: int) -> bool:
        """Tells whether `other` is `node` or inside it."""
        return node <= other < self.ends[node]

    def relative(self, node: int, top: int) -> str:
        """The path from `top` down to `node`: the key of a column of aligned records."""
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


def lasting_classes(value: str) -> str:
    """The classes that an element shares with similar ones: without digits and words of state (odd, unread, sticky …)."""
    kept = []
    for token in value.split()[:6]:
        bare = _ALTERNATING.sub("", _DIGITS.sub("", token).strip("-_"))
        if len(bare) > 1 and not _STATE.match(bare):
            kept.append(bare)
    return ".".join(kept[:2])


@lru_cache(maxsize=1_024)
def _is_own_block(tag: str) -> bool:
    """Tells whether a custom element (with a hyphen in its name) starts a new line: all but those for times and marks."""
    return "-" in tag and _INLINE.search(tag) is None


def _is_hidden_noscript(element: HtmlElement) -> bool:
    """Tells whether to ignore a `<noscript>`: it counts only if it contains the page's content, as some script-based sites
    provide for robots."""
    return element.tag == "noscript" and sum(1 for _ in element.iter("a", "p", "article", "li")) < 5


class _Builder:
    def __init__(self, root: HtmlElement) -> None:
        self.made = Outline()
        self.walker = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        self.line = 0
        self.text_left = MAX_TEXT
        self.path_numbers: dict[tuple[int, str], int] = {}
        self.shape_of: dict[tuple[str, str], str] = {}
        self.seen: list[dict[str, int]] = [{}]
        self.open: list[int] = [-1]
        self.spanning: dict[int, list[tuple[str, int]]] = {}  # first cells of earlier rows, and how many more rows they span

    def build(self) -> Outline:
        made = self.made
        for event, element in self.walker:
            if event == "start":
                if element.tag in SKIPPED or _is_hidden_noscript(element):
                    self.walker.skip_subtree()
                    continue
                if len(made.tags) >= MAX_NODES or self.text_left <= 0:
                    made.is_cut = True
                    break
                self._start(element)
            elif event == "end":
                if element.tag not in SKIPPED and made.elements and self._is_open(element):
                    self._end(element)
                elif element.tail:
                    self._text(element.tail)
            elif element.tail:
                self._text(element.tail)
        while len(self.open) > 1:
            self._close(self.open[-1])
        return made

    def _is_open(self, element: HtmlElement) -> bool:
        return self.open[-1] >= 0 and self.made.elements[self.open[-1]] is element

    def _start(self, element: HtmlElement) -> None:
        made, tag, parent = self.made, element.tag, self.open[-1]
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
        if element.text:
            self._text(element.text)

    def _spanned(self, row: int, table: int) -> dict[str, int]:
        """Number of cells of rows above that extend into this row by rowspan, before its own cells, by their shape."""
        going = self.spanning.get(table, [])
        if going:
            self.made.leads[row] = len(going)
            self.spanning[table] = [(shape, left - 1) for shape, left in going if left > 1]
        return Counter(shape for shape, _ in going) if going else {}

    def _span(self, element: HtmlElement, node: int, row: int) -> None:
        """Records the rowspan of a cell that is the first of its row."""
        rows = element.get("rowspan") or ""
        if row >= 0 and self.made.tags[row] == "tr" and node == row + 1 and rows.isdigit() and 1 < int(rows) <= MAX_SPAN:
            self.spanning.setdefault(self.made.parents[row], []).append((self.made.shapes[node], int(rows) - 1))

    def _end(self, element: HtmlElement) -> None:
        self._close(self.open[-1])
        if element.tag in BLOCKS or _is_own_block(element.tag):
            self.line += 1
        if element.tail and self.open[-1] >= 0:
            self._text(element.tail)

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
    """The outline of a parsed page: one pass, bounded by MAX_NODES elements and MAX_TEXT characters."""
    return _Builder(root).build()


Record = tuple[int, ...]
"""The nodes (siblings in order) whose sub-trees make up one record."""


def _widest(page: Outline, node: int, before: int, after: int) -> int:
    """The highest ancestor of `node` that begins after node `before` and ends no later than node `after`."""
    best, above = node, page.parents[node]
    while above >= 0 and above > before and page.ends[above] <= after:
        best, above = above, page.parents[above]
    return best


def _level(page: Outline, anchors: Sequence[int], widest: Sequence[int]) -> int | None:
    """The tag path of the records of these anchors: the one that most records end at, among those that two records end at and
    that most anchors pass on their way up to the end of their own (a group with a single record would otherwise swallow
    its heading)."""
    votes = Counter(page.paths[node] for node in widest)
    depth = {page.paths[node]: page.depths[node] for node in widest}
    passed: Counter[int] = Counter()
    for anchor, top in zip(anchors, widest, strict=True):
        node = anchor
        while node >= top:
            if page.paths[node] in votes:
                passed[page.paths[node]] += 1
            node = page.parents[node]
    fitting = [path for path, count in votes.items() if count >= 2 and passed[path] >= 0.6 * len(anchors)]
    return max(fitting, key=lambda path: (votes[path], depth[path])) if fitting else None


def _at_level(page: Outline, anchor: int, path: int | None) -> int | None:
    """The ancestor of `anchor` at the tag path `path`; None if there is none."""
    node = anchor
    while node >= 0:
        if page.paths[node] == path:
            return node
        node = page.parents[node]
    return None


def _sketch(page: Outline, node: int) -> tuple[str, tuple[str, ...]]:
    return page.shapes[node], tuple(page.tags[child] for child in page.children(node, 8))


def siblings_of_tops(page: Outline, tops: list[int]) -> list[Record]:
    """Completes records of flat layouts: if the top nodes of records are siblings with equal numbers of other nodes between them,
    those belong to the records. What precedes the first top shows which of them come before the top."""
    gaps: Counter[int] = Counter()
    between: dict[int, list[int]] = {}
    for left, right in zip(tops, tops[1:], strict=False):
        if page.parents[left] != page.parents[right]:
            continue
        run: list[int] = []
        node = page.ends[left]
        while node < right and len(run) < 12:
            run.append(node)
            node = page.ends[node]
        gaps[len(run)] += 1
        between[left] = run
    if not gaps or gaps[0] * 2 > sum(gaps.values()):
        return [(top,) for top in tops]
    usual = max(gaps, key=lambda size: (gaps[size], -size))
    defined = page.tags[tops[0]] == "dt"
    if usual > 8 or (gaps[usual] < 2 and usual > 3 and not defined) or gaps[usual] * 3 < len(tops):
        return [(top,) for top in tops]
    lead = _leading(page, tops, between, usual)
    records: list[Record] = []
    previous: list[int] = []
    for at, top in enumerate(tops):
        before = previous[len(previous) - lead :] if lead and len(previous) >= lead else []
        if at == 0 and lead:
            before = _preceding(page, top)[-lead:]
        after = between.get(top)
        if after is None:
            after = _following(page, top, usual - lead)
            previous = []
        else:
            previous = after
            after = after[: len(after) - lead] if len(after) > lead else after[: max(0, usual - lead)]
        records.append((*before, top, *after))
    return records


def _preceding(page: Outline, node: int) -> list[int]:
    parent = page.parents[node]
    return [child for child in page.children(parent) if child < node] if parent >= 0 else []


def _following(page: Outline, node: int, count: int) -> list[int]:
    run: list[int] = []
    after, parent = page.ends[node], page.parents[node]
    while len(run) < count and parent >= 0 and after < page.ends[parent]:
        run.append(after)
        after = page.ends[after]
    return run


def _leading(page: Outline, tops: list[int], between: dict[int, list[int]], usual: int) -> int:
    """The number of siblings before each top that belong to its record: as many as look the same before the first top."""
    model = next((run for run in between.values() if len(run) == usual), [])
    ahead = _preceding(page, tops[0])
    lead = 0
    for wanted in range(1, min(usual, len(ahead)) + 1):
        if _sketch(page, ahead[-wanted]) == _sketch(page, model[-wanted]):
            lead = wanted
        else:
            break
    if lead == usual and len(_following(page, tops[-1], 1)) and usual:
        tail = _following(page, tops[-1], usual)
        alike = sum(1 for a, b in zip(tail, model, strict=False) if _sketch(page, a) == _sketch(page, b))
        lead = lead if alike < len(model) else 0
    return lead


def records_around(
    page: Outline,
    anchors: Sequence[tuple[int, Hashable]],
    lone: Callable[[int], bool] | None = None,
) -> list[tuple[Hashable, Record]]:
    """Finds the record around each key, in document order.

    `anchors` are (node, key) in document order; nodes of one key belong to one record, the first of them decides where it is. A
    record is the highest sub-tree with nodes of one key only, brought to the level that the records share, with the siblings
    between records where the layout is flat. Further keys inside a record of that level (sub-boards named in a board's row) get
    no record of their own. A single key has no neighbour to stop at: its record is the first ancestor for which `lone` is true;
    without one there is no record.
    """
    first: dict[Hashable, int] = {}
    for node, key in anchors:
        first.setdefault(key, node)
    if len(first) == 1:
        key, node = next(iter(first.items()))
        while node >= 0 and not (lone and lone(node)):
            node = page.parents[node]
        return [(key, (node,))] if node >= 0 else []
    tops = _tops(page, anchors, first)
    return list(zip((key for key, _ in tops), siblings_of_tops(page, [top for _, top in tops]), strict=True))


def _tops(page: Outline, anchors: Sequence[tuple[int, Hashable]], first: dict[Hashable, int]) -> list[tuple[Hashable, int]]:
    """The top node of the record of each key that has one."""
    position = {node: at for at, (node, _) in enumerate(anchors)}
    widest = []
    for key, node in first.items():
        left = right = position[node]
        while left >= 0 and anchors[left][1] == key:
            left -= 1
        while right < len(anchors) and anchors[right][1] == key:
            right += 1
        before = anchors[left][0] if left >= 0 else -1
        after = anchors[right][0] if right < len(anchors) else len(page)
        widest.append(_widest(page, node, before, after))
    path = _level(page, list(first.values()), widest)
    if path is None:
        return list(zip(first, widest, strict=True))
    tops: list[tuple[Hashable, int]] = []
    taken: set[int] = set()
    for key, node in first.items():
        top = _at_level(page, node, path)
        if top is not None and top not in taken:
            taken.add(top)
            tops.append((key, top))
    return sorted(tops, key=lambda pair: pair[1])
