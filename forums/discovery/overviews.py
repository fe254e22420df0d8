"""Overview sources among the pages of a sample: index pages with figures of boards, and lists of
all boards' threads."""

from __future__ import annotations

from collections.abc import Iterable

from forums.discovery.candidates import all_boards, board_rows, thread_rows
from forums.discovery.model import SourceFound
from forums.discovery.pages import PageFacts
from forums.discovery.shapes import board_identity, page_key
from forums.reading import PageKind

MIN_BOARDS = 2


def sources(pages: Iterable[PageFacts], board_urls: Iterable[str]) -> tuple[SourceFound, ...]:
    """Returns the pages that show two or more of the boards: indexes with figures of boards, then
    first pages of lists of several boards' threads.

    A page is left out if larger ones of its kind show all of its boards.
    """
    known = {board_identity(url) for url in board_urls}
    found: dict[str, list[SourceFound]] = {"index": [], "newest": []}
    for page in pages:
        if page.kind is PageKind.index:
            with_figures = [
                row
                for row in board_rows(page)
                if (row.threads, row.posts, row.last_reply) != (None, None, None)
            ]
            rows = {board_identity(row.url) for row in with_figures}
            kind = "index"
        elif (
            all_boards(page)
            and (page.reading.current or 1) == 1
            and any(row.last_reply for row in thread_rows(page))
        ):
            rows = {board_identity(row.board_url) for row in thread_rows(page) if row.board_url}
            kind = "newest"
        else:
            continue
        boards = tuple(sorted(rows & known))
        if len(boards) >= MIN_BOARDS:
            found[kind].append(SourceFound(page.url, kind, boards))
    return tuple(one for kind in found.values() for one in _widest(kind))


def _widest(found: list[SourceFound]) -> list[SourceFound]:
    """Returns the sources that show at least one board which no larger source shows; each address
    once."""
    kept: list[SourceFound] = []
    for one in sorted(found, key=lambda source: (-len(source.boards), len(source.url))):
        shown = {board for other in kept for board in other.boards}
        if set(one.boards) - shown and page_key(one.url) not in {
            page_key(other.url) for other in kept
        }:
            kept.append(one)
    return kept
