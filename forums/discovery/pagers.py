"""Choice among the addresses that a page offers as its next page, by the pages behind them.

A page may offer several (a link for readers, one in its head, one that only scripts use). The right one leads to a page of the
same kind with new rows; one that leads to the same rows, to something else or nowhere is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forums.discovery.pages import PageFacts
from forums.discovery.shapes import page_key
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord, thread_key

KINDS = (PageKind.threadlist, PageKind.thread)
MOST_TRIED = 2  # pages of a kind whose next addresses are tried if they offer several


@dataclass(frozen=True, slots=True)
class Pager:
    """What a sample showed about one kind of pagination link: `source` is its position (see `PageReading.rivals`); `kept` of
    `tried` such links led to new rows."""

    kind: PageKind
    source: str
    kept: int
    tried: int


def row_keys(reading: PageReading) -> frozenset[str]:
    """Keys by which the rows of one page can be compared with those of another. Pinned rows have none, because they are on
    many pages."""
    keys = []
    for record in reading.records:
        if isinstance(record, ThreadRecord) and not record.pinned:
            keys.append(thread_key(record.url))
        elif isinstance(record, PostRecord):
            keys.append(record.post_id or f"{record.author} {record.posted and record.posted.value} {record.text[:200]}")
    return frozenset(keys)


def tested(pages: Sequence[PageFacts]) -> list[Pager]:
    """All kinds of pagination links of which the sample contains the page and its target, by kind of page, best first."""
    asked = {page.asked_key: page for page in pages}
    counts: dict[tuple[PageKind, str], list[int]] = {}
    for page in pages:
        if page.kind not in KINDS:
            continue
        own = row_keys(page.reading)
        for source, url in page.reading.rivals:
            behind = asked.get(page_key(url))
            if behind is not None and behind.asked_key != page.asked_key:
                tally = counts.setdefault((page.kind, source), [0, 0])
                tally[0] += behind.kind is page.kind and bool(row_keys(behind.reading) - own)
                tally[1] += 1
    found = [Pager(kind, source, kept, tried) for (kind, source), (kept, tried) in counts.items()]
    return sorted(found, key=lambda pager: (pager.kind, -pager.kept / pager.tried, -pager.kept))


def chosen(pages: Sequence[PageFacts]) -> dict[PageKind, Pager]:
    """The best pagination link of each kind of page; only if a tested one beats another, or failed and leaves another
    untested."""
    best: dict[PageKind, Pager] = {}
    ways = tested(pages)
    for kind in KINDS:
        own = [pager for pager in ways if pager.kind is kind]
        good = [pager for pager in own if pager.kept * 2 > pager.tried]
        if good and len(good) < len(own):
            best[kind] = good[0]
    return best


def sources(pages: Sequence[PageFacts]) -> dict[PageKind, str]:
    """The position of the chosen next link for each kind of page, as `followed` takes it."""
    return {kind: pager.source for kind, pager in chosen(pages).items()}


def followed(reading: PageReading, source: str) -> PageReading:
    """The reading with the next page from the position `source`; None if the page has none there."""
    return replace(reading, next=dict(reading.rivals).get(source)) if source else reading


def settled(pages: Iterable[PageFacts], sources: Mapping[PageKind, str]) -> list[PageFacts]:
    """The pages of the sample, with their next page taken from the chosen positions."""
    return [replace(page, reading=followed(page.reading, sources[page.kind])) if page.kind in sources else page for page in pages]


def untried(pages: Sequence[PageFacts]) -> Iterator[str]:
    """The addresses that would distinguish rival links: from the first pages of each kind that offer several."""
    for kind in KINDS:
        several = [page for page in pages if page.kind is kind and len({page_key(url) for _at, url in page.reading.rivals}) > 1]
        for page in several[:MOST_TRIED]:
            if kind not in chosen(pages):
                yield from (url for _source, url in page.reading.rivals)
