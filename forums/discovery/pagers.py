"""Decides which of several next-page links is the right one, from the pages behind them.

A page may have several (a visible link, one in its head, one that only scripts use). The right one
leads to a page of the same kind with new rows; one that leads to the same rows, to another kind of
page or to no page is wrong. Links are distinguished by where on the page they were found, with the
names of the sources in `PageReading.next_links`, such as "head".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from crawlmgr.web.pages.html import links
from forums.discovery.pages import PageFacts
from forums.discovery.shapes import page_key
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord, thread_key

KINDS = (PageKind.threadlist, PageKind.thread)
# if pages have several next-page links, all of them are tried on at most this many pages of a kind
MAX_TRIED = 2


@dataclass(frozen=True, slots=True)
class Pager:
    """What a sample showed about the next-page links in one position (`source`) on pages of one
    kind: `kept` of the `tried` links led to new rows."""

    kind: PageKind
    source: str
    kept: int
    tried: int


def row_keys(reading: PageReading) -> frozenset[str]:
    """Returns keys by which the rows of a page are recognised on another one. Pinned rows have
    none, because they are repeated on many pages."""
    keys = []
    for record in reading.records:
        if isinstance(record, ThreadRecord) and not record.pinned:
            keys.append(thread_key(record.url))
        elif isinstance(record, PostRecord):
            keys.append(
                record.post_id
                or f"{record.author} {record.posted and record.posted.value} {record.text[:200]}"
            )
    return frozenset(keys)


def tested(pages: Sequence[PageFacts]) -> list[Pager]:
    """Returns for each kind of page and position of next-page links how often these links led to
    new rows, the best position of a kind first. Only links between pages of the sample `pages` can
    be tested."""
    asked = {page.asked_key: page for page in pages}
    counts: dict[tuple[PageKind, str], list[int]] = {}
    for page in pages:
        if page.kind not in KINDS:
            continue
        own = row_keys(page.reading)
        for source, url in page.reading.next_links:
            behind = asked.get(page_key(url))
            if behind is not None and behind.asked_key != page.asked_key:
                tally = counts.setdefault((page.kind, source), [0, 0])
                tally[0] += behind.kind is page.kind and bool(row_keys(behind.reading) - own)
                tally[1] += 1
    found = [Pager(kind, source, kept, tried) for (kind, source), (kept, tried) in counts.items()]
    return sorted(found, key=lambda pager: (pager.kind, -pager.kept / pager.tried, -pager.kept))


def chosen(pages: Sequence[PageFacts]) -> dict[PageKind, Pager]:
    """Returns for each kind of page the best place to take the next-page link from: page numbers,
    the word "next" or <head>. Kinds for which it makes no difference are omitted: the links in all
    places, or in none, mostly lead to new rows.
    """
    best: dict[PageKind, Pager] = {}
    ways = tested(pages)
    for kind in KINDS:
        own = [pager for pager in ways if pager.kind is kind]
        good = [pager for pager in own if pager.kept * 2 > pager.tried]
        if good and len(good) < len(own):
            best[kind] = good[0]
    return best


def sources(pages: Sequence[PageFacts]) -> dict[PageKind, str]:
    """Returns, by kind of page, the name of the best position of next-page links (see `chosen`), in
    the form that `with_next_links` takes."""
    return {kind: pager.source for kind, pager in chosen(pages).items()}


def followed(reading: PageReading, source: str) -> PageReading:
    """Returns the reading with `next` taken from the link at position `source`; `next` is None if
    the page has no link there. Unchanged if `source` is ""."""
    return replace(reading, next=dict(reading.next_links).get(source)) if source else reading


def without_nofollow(reading: PageReading, html: str, url: str) -> PageReading:
    """Returns the reading of the page at `url` without the records and the further pages that it
    links only with rel=nofollow."""
    found = links(html, url)
    free = {page_key(link.url) for link in found if not link.nofollow}
    marked = {page_key(link.url) for link in found if link.nofollow} - free
    if reading.next is not None and page_key(reading.next) in marked:
        reading = replace(reading, next=None)
    numbered = tuple(one for one in reading.numbered if page_key(one[1]) not in marked)
    if reading.kind is PageKind.thread:
        return replace(reading, numbered=numbered)
    left = tuple(one for one in reading.records if page_key(one.url) not in marked)
    # records of one kind, as in `reading`
    return replace(reading, records=left, numbered=numbered)  # type: ignore[arg-type]


def with_next_links(pages: Iterable[PageFacts], sources: Mapping[PageKind, str]) -> list[PageFacts]:
    """Returns the pages, each with `next` taken from the link position that `sources` names for its
    kind, if it names one."""
    return [
        (
            replace(page, reading=followed(page.reading, sources[page.kind]))
            if page.kind in sources
            else page
        )
        for page in pages
    ]


def untried(pages: Sequence[PageFacts]) -> Iterator[str]:
    """Yields the addresses to fetch to find out which of several next-page links is right. For each
    kind of page that is still undecided, these are the targets of all next-page links on the first
    two pages (MAX_TRIED) with different ones.
    """
    for kind in KINDS:
        several = [
            page
            for page in pages
            if page.kind is kind and len({page_key(url) for _, url in page.reading.next_links}) > 1
        ]
        for page in several[:MAX_TRIED]:
            if kind not in chosen(pages):
                yield from (url for _source, url in page.reading.next_links)
