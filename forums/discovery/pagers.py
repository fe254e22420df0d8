"""Which of the addresses that a page offers as its next one is right: told by the pages behind them.

A page may offer several (a link for people, one in its head, one that only scripts follow). The right one leads to a page of
the same kind whose rows are new; one that leads to the same rows again, to other things or nowhere is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forums.discovery.pages import PageFacts
from forums.discovery.shapes import page_key
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord, thread_key

KINDS = (PageKind.threadlist, PageKind.thread)
MOST_TRIED = 2  # pages of a kind whose further addresses are tried where they offer several


@dataclass(frozen=True, slots=True)
class Pager:
    """What a sample told of one way to further pages: `source` is where the address stands (see `PageReading.rivals`);
    `kept` of `tried` of them led to new rows."""

    kind: PageKind
    source: str
    kept: int
    tried: int


def row_keys(reading: PageReading) -> frozenset[str]:
    """What tells the rows of a page apart from those of another one; pinned rows, which stand on many pages, left out."""
    keys = []
    for record in reading.records:
        if isinstance(record, ThreadRecord) and not record.pinned:
            keys.append(thread_key(record.url))
        elif isinstance(record, PostRecord):
            keys.append(record.post_id or f"{record.author} {record.posted and record.posted.value} {record.text[:200]}")
    return frozenset(keys)


def tested(pages: Sequence[PageFacts]) -> list[Pager]:
    """All ways of which the sample holds both ends, by kind in the order of their merits."""
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
    """The way of each kind that leads on; only where one that was tried beats another, or failed and leaves another untried."""
    best: dict[PageKind, Pager] = {}
    ways = tested(pages)
    for kind in KINDS:
        own = [pager for pager in ways if pager.kind is kind]
        good = [pager for pager in own if pager.kept * 2 > pager.tried]
        if good and len(good) < len(own):
            best[kind] = good[0]
    return best


def sources(pages: Sequence[PageFacts]) -> dict[PageKind, str]:
    """`chosen`, as what `followed` takes."""
    return {kind: pager.source for kind, pager in chosen(pages).items()}


def followed(reading: PageReading, source: str) -> PageReading:
    """The reading with the next page that stands where `source` says; without one where the page has none there."""
    return replace(reading, next=dict(reading.rivals).get(source)) if source else reading


def settled(pages: Iterable[PageFacts], sources: Mapping[PageKind, str]) -> list[PageFacts]:
    """The pages with the next page of each as the chosen ways have it."""
    return [replace(page, reading=followed(page.reading, sources[page.kind])) if page.kind in sources else page for page in pages]


def untried(pages: Sequence[PageFacts]) -> Iterator[str]:
    """The addresses that would tell rival ways apart: of the first pages of each kind that offer several."""
    for kind in KINDS:
        several = [page for page in pages if page.kind is kind and len({page_key(url) for _at, url in page.reading.rivals}) > 1]
        for page in several[:MOST_TRIED]:
            if kind not in chosen(pages):
                yield from (url for _source, url in page.reading.rivals)
