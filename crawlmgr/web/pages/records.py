"""Groups the repeated sub-trees of a page into records. The input is a list of anchors, such as
links to threads or times; each record contains at least one. The result is the sub-tree, or the run
of sibling sub-trees, that makes up each record.

The method is similar to MDR and DEPTA (data regions are runs of similar siblings) and to mining by
tag paths, but it starts from anchors and uses no edit distance, only operations on the integers of
`crawlmgr.web.pages.outline`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from crawlmgr.web.pages.outline import Outline

Record = tuple[int, ...]
"""A record as the node numbers of its top elements: one, or several siblings in order."""


def _widest(page: Outline, node: int, before: int, after: int) -> int:
    """Returns the highest ancestor of `node`, or `node` itself, whose sub-tree contains neither
    node `before`, which precedes `node` in document order, nor node `after`, which follows it."""
    best, above = node, page.parents[node]
    while above >= 0 and above > before and page.ends[above] <= after:
        best, above = above, page.parents[above]
    return best


def _level(page: Outline, anchors: Sequence[int], widest: Sequence[int]) -> int | None:
    """Returns the number (in `page.paths`) of the tag path that the records' top elements have in
    common; None if no path fits. `widest` is parallel to `anchors`: the highest ancestor of each
    anchor that contains no anchor of another record.

    Each anchor votes for the path of its node in `widest`. The path with most votes wins, the
    deeper one in a tie. It needs two votes, and 60 % of the anchors must have it on the way up to
    their node in `widest`. Otherwise groups that hold a single record each could win, and their
    headings would be taken into the records.
    """
    votes = Counter(page.paths[node] for node in widest)
    depth = {page.paths[node]: page.depths[node] for node in widest}
    passed: Counter[int] = Counter()
    for anchor, top in zip(anchors, widest, strict=True):
        node = anchor
        while node >= top:
            if page.paths[node] in votes:
                passed[page.paths[node]] += 1
            node = page.parents[node]
    fitting = [
        path for path, count in votes.items() if count >= 2 and passed[path] >= 0.6 * len(anchors)
    ]
    return max(fitting, key=lambda path: (votes[path], depth[path])) if fitting else None


def _at_level(page: Outline, anchor: int, path: int | None) -> int | None:
    """Returns the nearest ancestor of node `anchor`, or `anchor` itself, whose tag path has the
    number `path`; None without one."""
    node = anchor
    while node >= 0:
        if page.paths[node] == path:
            return node
        node = page.parents[node]
    return None


def _sketch(page: Outline, node: int) -> tuple[str, tuple[str, ...]]:
    """Returns a node's tag name with its class names, and the tags of its first eight children;
    records have equal ones."""
    return page.shapes[node], tuple(page.tags[child] for child in page.children(node, 8))


def siblings_of_tops(page: Outline, tops: list[int]) -> list[Record]:
    """Completes the records of flat layouts, in which a record consists of several siblings, and
    returns all records in the order of `tops`.

    `tops` are the top nodes of the records found so far, in document order. If they are siblings,
    mostly with equal numbers of nodes in between, these nodes are added to the records. Those that
    resemble the nodes before the first top belong to the top after them (`_leading`), the rest to
    the top before.
    """
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
            after = (
                after[: len(after) - lead] if len(after) > lead else after[: max(0, usual - lead)]
            )
        records.append((*before, top, *after))
    return records


def _preceding(page: Outline, node: int) -> list[int]:
    """Returns the siblings before a node, in document order."""
    parent = page.parents[node]
    return [child for child in page.children(parent) if child < node] if parent >= 0 else []


def _following(page: Outline, node: int, count: int) -> list[int]:
    """Returns at most `count` siblings after a node, in document order."""
    run: list[int] = []
    after, parent = page.ends[node], page.parents[node]
    while len(run) < count and parent >= 0 and after < page.ends[parent]:
        run.append(after)
        after = page.ends[after]
    return run


def _leading(page: Outline, tops: list[int], between: dict[int, list[int]], usual: int) -> int:
    """Returns how many siblings before each of `tops` (the main elements of the records) belong to
    its record. `between` maps each top to the nodes between it and the next one; `usual` is the
    most frequent number of these nodes.

    Counts the siblings before the first top, from the nearest on, that look like those before a
    later top. 0 if these are `usual` many and similar nodes follow the last top: they then belong
    to the preceding top."""
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
        alike = sum(
            1 for a, b in zip(tail, model, strict=False) if _sketch(page, a) == _sketch(page, b)
        )
        lead = lead if alike < len(model) else 0
    return lead


def records_around(
    page: Outline,
    anchors: Sequence[tuple[int, Hashable]],
    lone: Callable[[int], bool] | None = None,
) -> list[tuple[Hashable, Record]]:
    """Finds the record around the anchors of each key, and returns (key, record) pairs in document
    order.

    `anchors` are (node, key) pairs in document order; nodes with the same key belong to one record,
    whose position is that of the first. A record is the highest sub-tree with anchors of one key
    only, reduced to the tag path that the records share. In a flat layout it also contains the
    siblings up to the next record. Keys whose anchors are inside the record of another key
    (sub-boards named in a board's row) get no record. A single key's record is its first anchor or
    the nearest ancestor for which `lone` returns True; the result is empty if there is none.
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
    return list(
        zip((key for key, _ in tops), siblings_of_tops(page, [top for _, top in tops]), strict=True)
    )


def _tops(
    page: Outline, anchors: Sequence[tuple[int, Hashable]], first: dict[Hashable, int]
) -> list[tuple[Hashable, int]]:
    """Returns the key and the topmost node of each record, in document order; keys without a record
    are left out. `anchors` is that of `records_around`; `first` maps each key to its first anchor
    node."""
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
