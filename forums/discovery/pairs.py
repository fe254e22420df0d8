"""Finds threads that the pages fetched during discovery show twice: as a row of a list, and as the
thread's own pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from forums.discovery.pages import PageFacts
from forums.reading import PageKind, PostRecord, ThreadRecord, thread_key


@dataclass(frozen=True, slots=True)
class Seen:
    """A thread that a sample shows twice: as row number `at` of the list `page`, and on pages of
    its own (`pages`, consecutive from its first page). `whole`: whether these are all pages of the
    thread, so that all its posts are known.
    """

    key: str
    row: ThreadRecord
    page: PageFacts
    at: int
    pages: tuple[PageFacts, ...]
    whole: bool

    @property
    def posts(self) -> list[PostRecord]:
        """The posts of the thread on its pages in the sample, in order."""
        return [
            record
            for page in self.pages
            for record in page.reading.records
            if isinstance(record, PostRecord)
        ]


def threads_seen(pages: Sequence[PageFacts]) -> list[Seen]:
    """Returns the threads that are rows of a list in the sample and whose first page is in the
    sample too."""
    rows: dict[str, tuple[ThreadRecord, PageFacts, int]] = {}
    own: dict[str, dict[int, PageFacts]] = defaultdict(dict)
    for page in pages:
        if page.kind is PageKind.threadlist:
            for at, record in enumerate(page.reading.records):
                if isinstance(record, ThreadRecord):
                    rows.setdefault(thread_key(record.url), (record, page, at))
        elif page.kind is PageKind.thread and page.reading.records:
            own[thread_key(page.url)].setdefault(page.reading.current or 1, page)
    found = []
    for key, numbered in own.items():
        told = rows.get(key)
        if told is None or 1 not in numbered:
            continue
        run = [numbered[number] for number in range(1, len(numbered) + 1) if number in numbered]
        whole = (
            len(run) == len(numbered)
            and run[-1].reading.next is None
            and len(run[-1].reading.pages) <= len(run)
        )
        found.append(Seen(key, *told, tuple(run), whole))
    return found
