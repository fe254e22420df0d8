"""Candidates for titles of threads and names of boards: every link of a page that says something, with its features.

A link is judged by the company it keeps: clusters of links alike, at several widths at once, and the row around each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log1p

import numpy as np

from forums.reading.addresses import names_board
from forums.reading.document import Link, Page
from forums.reading.learned.signals import HEADINGS, Signals
from forums.reading.patterns import leads_to
from forums.reading.rowgroups import family
from forums.reading.values import count
from forums.reading.words import NOT_NAMES

MOST_LINKS = 3_000
ROW_TAGS = ("tr", "li", "article", "dl", "div", "p", "section", "td", "h3", "h2")
_ROW_WIDTHS = (1, 2)  # clusters at which the row of each link is told; at the others only their mean
_BESIDE = 40  # links of a row that are looked at
_CLIMB = 14  # elements above a link that can be its row


@dataclass
class LinkTable:
    """The candidate links of a page and their features, a row a link. `clusters` numbers, at each width, the cluster of
    each link."""

    links: list[Link]
    features: np.ndarray
    clusters: np.ndarray


def candidates(page: Page) -> list[Link]:
    """The links that may name something: with words for their text."""
    found = []
    for link in page.links:
        text = link.text
        if not text or len(text) > 400 or not any(map(str.isalnum, text)):
            continue
        found.append(link)
        if len(found) >= MOST_LINKS:
            break
    return found


def numbered(keys: Sequence[Hashable]) -> np.ndarray:
    """A number for each key, the same for the same."""
    numbers: dict[Hashable, int] = {}
    return np.asarray([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


@lru_cache(maxsize=16_384)
def _address(pattern: str) -> tuple[float, float, float, float, float]:
    lead = leads_to(pattern)
    path = pattern.partition("/")[2]
    return float(lead == "thread"), float(lead == "board"), float(lead == "post"), float("#" in path), float("*" in path)


def _own(page: Page, signals: Signals, links: list[Link]) -> np.ndarray:
    """Features of each link by itself."""
    outline = page.outline
    same: dict[str, list[int]] = defaultdict(list)
    for at, link in enumerate(links):
        same[link.key].append(at)
    longest = {key: max(len(links[at].text) for at in found) for key, found in same.items()}
    own_path = page.url.partition("?")[0].rstrip("/") + "/"
    made = []
    for at, link in enumerate(links):
        text, node, key = link.text, link.node, same[link.key]
        letters = sum(map(str.isalpha, text))
        tags = [outline.tags[node]]
        above = outline.parents[node]
        for _ in range(3):
            if above >= 0:
                tags.append(outline.tags[above])
                above = outline.parents[above]
        made.append(
            [
                log1p(len(text)), log1p(text.count(" ")), letters / len(text), float(any(map(str.isdigit, text))),
                float(count(text) is not None), float(text.lower() in NOT_NAMES), float(link.is_user), float(link.is_local),
                *_address(link.pattern), float(" t:" in link.key), float(link.key == page.key), float(bool(link.fragment)),
                float("?" in link.url), float(link.url.startswith(own_path)), float(len(key)), float(key[0] == at),
                float(longest[link.key] == len(text)), node / signals.size, signals.first[node] / max(1, signals.pieces),
                float(signals.depth[node]), float(any(tag in HEADINGS for tag in tags)), float("td" in tags or "th" in tags),
                float("li" in tags), float("strong" in tags or "b" in tags), float(tags[0] in HEADINGS),
                *signals.framed[node], float(page.is_aside(node)), *signals.roles(node, 4),
            ]
        )  # fmt: skip
    return np.asarray(made, dtype=np.float64)


def _row_of(page: Page, node: int, before: int, after: int) -> int:
    """The highest element around a node that begins after `before` and ends before `after`."""
    outline, best, above = page.outline, node, page.outline.parents[node]
    for _ in range(_CLIMB):
        if above < 0 or above <= before or outline.ends[above] > after:
            break
        best, above = above, outline.parents[above]
    return best


def _rows(page: Page, links: list[Link], members: list[int]) -> np.ndarray:
    """The range of nodes of the row of each link of a cluster: up to the next row where both are siblings."""
    outline, n = page.outline, len(members)
    nodes = [links[at].node for at in members]
    keys = [links[at].key for at in members]
    before, after, last = [-1] * n, [len(outline)] * n, -1
    for at in range(1, n):
        last = nodes[at - 1] if keys[at] != keys[at - 1] else last
        before[at] = last
    following = len(outline)
    for at in range(n - 2, -1, -1):
        following = nodes[at + 1] if keys[at] != keys[at + 1] else following
        after[at] = following
    tops = [_row_of(page, node, low, high) for node, low, high in zip(nodes, before, after, strict=True)]
    made = np.zeros((n, 2), dtype=np.int64)
    for at, top in enumerate(tops):
        end = outline.ends[top]
        if at + 1 < n and tops[at + 1] > top and outline.parents[tops[at + 1]] == outline.parents[top]:
            gap = tops[at + 1] - top
            end = max(end, tops[at + 1]) if gap < 400 else end
        made[at] = top, end
    return made


class _Beside:
    """The links of a page as arrays: what stands beside each in its row."""

    def __init__(self, page: Page, links: list[Link]) -> None:
        found = page.links
        order: dict[str, int] = {}
        leads = [leads_to(link.pattern) for link in found]
        self.nodes = np.asarray([link.node for link in found], dtype=np.int64)
        self.keys = np.asarray([order.setdefault(link.key, len(order)) for link in found], dtype=np.int64)
        self.lengths = np.asarray([len(link.text) for link in found], dtype=np.int64)
        self.threads = np.asarray([lead == "thread" for lead in leads], dtype=bool)
        anchored = [bool(link.fragment) for link in found]
        self.posts = np.asarray([lead == "post" for lead in leads], dtype=bool) | np.asarray(anchored, dtype=bool)
        self.boards = np.asarray([lead == "board" for lead in leads], dtype=bool)
        self.own = np.searchsorted(self.nodes, np.asarray([link.node for link in links], dtype=np.int64))

    def features(self, rows: np.ndarray) -> np.ndarray:
        """For each candidate what the other links of its row are, the first 40 of them."""
        low, high = np.searchsorted(self.nodes, rows[:, 0]), np.searchsorted(self.nodes, rows[:, 1])
        high = np.minimum(high, low + _BESIDE)
        made = np.zeros((len(rows), 7))
        for at, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            own = int(self.own[at])
            if b - a < 2 and a <= own < max(b, a + 1):
                made[at, 0] = 1.0
                continue
            keys, key, inside = self.keys[a:b], self.keys[own], a <= own < b
            other = keys != key
            distinct = set(keys.tolist())
            same = (b - a) - int(other.sum()) - inside
            made[at] = (
                not (self.lengths[a:b] > self.lengths[own]).any(),
                len(distinct) - (inside and not same),
                (self.threads[a:b] & other).any(),
                self.posts[a:b].sum() - (inside and self.posts[own]) > 0,
                self.boards[a:b].sum() - (inside and self.boards[own]) > 0,
                same,
                min(max(own - a, 0), b - a),
            )
        return np.minimum(made, 9.0)


def _row_features(page: Page, signals: Signals, nodes: np.ndarray, rows: np.ndarray, beside: _Beside) -> np.ndarray:
    """Features of the row of each link."""
    start, end = rows[:, 0], rows[:, 1]
    first, last = signals.first[start], signals.first[np.minimum(end, signals.size)]
    last = np.maximum(last, signals.last[start])
    own = signals.chars[signals.last[nodes]] - signals.chars[signals.first[nodes]]
    chars = signals.chars[last] - signals.chars[first]
    columns = [
        np.log1p(chars), own / np.maximum(1.0, chars), np.log1p(signals.links[end] - signals.links[start]),
        np.log1p(signals.users[end] - signals.users[start]), np.log1p(signals.times[end] - signals.times[start]),
        np.log1p(signals.numbers[last] - signals.numbers[first]), np.log1p(signals.images[end] - signals.images[start]),
        (signals.linked[last] - signals.linked[first]) / np.maximum(1.0, chars),
        (nodes - start) / np.maximum(1, end - start), (signals.first[nodes] - first) / np.maximum(1, last - first),
    ]  # fmt: skip
    tags = np.asarray([[page.outline.tags[row] == tag for tag in ROW_TAGS] for row in start.tolist()], dtype=np.float64)
    return np.column_stack([*columns, np.minimum(signals.labels[last] - signals.labels[first], 2.0), beside.features(rows), tags])


def _head(signals: Signals, piece: int) -> np.ndarray:
    """What the words right before a text name: the head above a list."""
    low = max(0, piece - 14)
    return np.minimum(signals.labels[piece] - signals.labels[low], 1.0)


def _cluster_features(page: Page, signals: Signals, own: list[Link], rows: np.ndarray, inside: np.ndarray) -> list[float]:
    """Features of a cluster, whose links are `own`: the same for each of them."""
    n = len(own)
    keys, texts = len({link.key for link in own}), len({link.text for link in own})
    lengths = [len(link.text) for link in own]
    nodes = np.asarray([link.node for link in own], dtype=np.float64)
    gaps = np.diff(nodes)
    row_chars: np.ndarray = np.expm1(inside[:, 0])
    covered = float(np.minimum(row_chars.sum() / signals.total, 1.0))
    steady = float(gaps.std()) / max(1.0, float(gaps.mean())) if n > 2 else 1.0
    tops = {page.outline.parents[int(start)] for start in rows[:, 0]}
    return [
        log1p(n), log1p(keys), keys / n, texts / max(1, keys), log1p(sum(lengths) / n), min(1.0, sum(lengths) / signals.total),
        float(np.std(lengths)) / max(1.0, float(np.mean(lengths))), covered, min(steady, 5.0), nodes[0] / signals.size,
        nodes[-1] / signals.size, sum(link.is_user for link in own) / n, sum(link.is_local for link in own) / n,
        len({link.pattern for link in own}) / n, len(tops) / n, float(row_chars.std()) / max(1.0, float(row_chars.mean())),
        *inside.mean(axis=0), *(_head(signals, int(signals.first[rows[0, 0]]))), _falling(signals, rows),
    ]  # fmt: skip


def _falling(signals: Signals, rows: np.ndarray) -> float:
    """Share of neighbouring rows whose newest times do not rise; -1 where few rows have times."""
    nodes, seconds = signals.time_order
    if len(rows) < 3 or not len(nodes):
        return -1.0
    low, high = np.searchsorted(nodes, rows[:, 0]), np.searchsorted(nodes, rows[:, 1])
    newest = [float(seconds[a:b].max()) for a, b in zip(low, np.minimum(high, low + 12), strict=True) if b > a]
    if len(newest) < 3:
        return -1.0
    return float(np.mean(np.diff(newest) <= 0))


def page_features(page: Page, signals: Signals) -> list[float]:
    """Features of the whole page."""
    path = page.url.partition("//")[2].partition("/")[2]
    lead = leads_to(page.pattern)
    return [
        float(page.is_thread_address), float(lead == "thread"), float(lead == "board"), float(names_board(page.board_key)),
        float(path.partition("?")[0] in ("", "index.php", "index.html")), log1p(signals.size), log1p(signals.total),
        log1p(len(page.links)), log1p(len(page.times)), float(signals.linked[-1] / signals.total),
        float(signals.users[-1] / max(1.0, signals.links[-1])), float(signals.numbers[-1] / max(1, signals.pieces)),
        float(page.root.find(".//textarea") is not None), len(page.root.findall(".//input[@type='password']")),
        *np.log1p(signals.labels[-1]),
    ]  # fmt: skip


def link_table(page: Page, signals: Signals) -> LinkTable:
    """The candidate links of a page with their features."""
    links = candidates(page)
    if not links:
        return LinkTable([], np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.int64))
    nodes = [link.node for link in links]
    whole, near = signals.chains
    widths = [
        numbered([page.outline.paths[node] for node in nodes]),
        numbered([int(whole[node]) for node in nodes]),
        numbered([int(near[node]) for node in nodes]),
        numbered([family(link.pattern) for link in links]),
    ]
    parts, places, beside = [_own(page, signals, links)], np.asarray(nodes, dtype=np.int64), _Beside(page, links)
    for width, numbers in enumerate(widths):
        groups: dict[int, list[int]] = defaultdict(list)
        for at, number in enumerate(numbers.tolist()):
            groups[number].append(at)
        rows = np.zeros((len(links), 2), dtype=np.int64)
        for members in groups.values():
            rows[members] = _rows(page, links, members)
        inside = _row_features(page, signals, places, rows, beside)
        shared = {
            number: _cluster_features(page, signals, [links[at] for at in members], rows[members], inside[members])
            for number, members in groups.items()
        }
        block = np.asarray([shared[number] for number in numbers.tolist()])
        parts.append(np.column_stack([inside, block]) if width in _ROW_WIDTHS else block)
    parts.append(np.tile(np.asarray(page_features(page, signals)), (len(links), 1)))
    return LinkTable(links, np.hstack(parts).astype(np.float32), np.column_stack(widths))
