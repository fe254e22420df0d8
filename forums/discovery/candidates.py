"""Candidates for boards: addresses on the pages that discovery has fetched, where each was found,
and what its own page shows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from forums.discovery.pages import PageFacts, Seen
from forums.discovery.shapes import (
    board_identity,
    host,
    is_specific,
    never_requested,
    page_key,
    sends_or_asks,
    shape,
)
from forums.reading import BoardRecord, PageKind, ThreadRecord, board_key
from forums.reading.addresses import names_board

MAX_TRIED = 4  # largest number of links of one overview page that are tried in search of its list


_DIGITS = re.compile(r"\d")


def is_overview(page: PageFacts) -> bool:
    """Tells whether the page at a board's address may be an overview page that only links to the
    board's list of threads: it could be fetched, and was recognised as no kind of forum page."""
    return page.status < 400 and page.kind is PageKind.other


def onward(page: PageFacts) -> list[str]:
    """Returns the endings of the links to addresses below a page's own address: "threads" for a
    link to /board/7/threads on the page /board/7. Endings without digits come first. Links to
    forms, files and the like are left out.
    """
    own = page.key + "/"
    ends = [
        key.removeprefix(own)
        for link in page.links
        if (key := page_key(link.url)).startswith(own) and "?" not in key
    ]
    fit = [end for end in dict.fromkeys(ends) if end and not sends_or_asks(unquote(end))]
    return sorted(fit, key=lambda end: (bool(_DIGITS.search(end)), end.count("/")))


def behind(page: PageFacts, pages: Iterable[PageFacts]) -> PageFacts | None:
    """Returns the list of threads that an overview page links to, if it is in the sample; of
    several the one with a next page and most rows. None if there is none."""
    ends = set(onward(page))
    own = page.key + "/"
    lists = [
        other
        for other in pages
        if other.kind is PageKind.threadlist
        and other.asked_key.removeprefix(own) in ends
        and (other.reading.current or 1) == 1
        and any(isinstance(record, ThreadRecord) for record in other.reading.records)
    ]
    return max(
        lists,
        key=lambda other: (other.reading.next is not None, len(other.reading.records)),
        default=None,
    )


def wanted(overviews: Sequence[PageFacts], pages: Sequence[PageFacts]) -> Iterator[str]:
    """Yields the addresses to fetch in order to find the lists behind overview pages.

    If the sample has a list that an overview page links to, these are the links with the same
    ending (see `onward`) on all overview pages. Otherwise they are up to MAX_TRIED links of the
    overview page with most links, whose endings occur on more than half of the overview pages.

    overviews: overview pages of boards; pages: all pages of the sample.
    """
    if not overviews:
        return
    asked = {page.asked_key for page in pages}
    common = Counter(end for page in overviews for end in onward(page))
    found = [(page, list_) for page in overviews if (list_ := behind(page, pages)) is not None]
    if found:
        page, list_ = found[0]
        end = list_.asked_key.removeprefix(page.key + "/")
        yield from (_address(other, end) for other in overviews if end in onward(other))
        return
    first = max(overviews, key=lambda page: len(onward(page)))
    ends = [end for end in onward(first) if common[end] * 2 > len(overviews)]
    tried = [end for end in ends if f"{first.key}/{end}" in asked]
    if len(tried) < MAX_TRIED:
        yield from (_address(first, end) for end in ends[:MAX_TRIED] if end not in tried)


def _address(page: PageFacts, end: str) -> str:
    """Returns the full address of the link from `page` to the page's own path plus "/" and `end`;
    there must be one."""
    return next(link.url for link in page.links if page_key(link.url) == f"{page.key}/{end}")


# Where a candidate was found, the most reliable first.
INDEX, SUBBOARD, ROW, START, CRUMB, LINK = "index", "subboard", "row", "start", "crumb", "link"
# linked on a start page that is no forum's by its looks, or that lists all threads beside a menu of
# boards; taken if it is found to lead to a list of threads
TRIED = "tried"


_SURE = frozenset((INDEX, SUBBOARD, ROW))


_ALIKE = 0.7


@dataclass(slots=True)
class Candidate:
    """The address of a possible board, with what the pages fetched during discovery show about it.

    `sources`: the places where it was found. `row`: its row in a list of boards. `pages`: the page
    fetched for it, or the list of threads to which that page leads; [] if none was fetched.
    `overview`: the page fetched for it, if it shows no threads but may link to the board's list of
    threads. `failed`: the page could not be fetched.
    """

    key: str
    url: str
    position: int
    sources: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    parent_url: str | None = None
    row: BoardRecord | None = None
    pages: list[PageFacts] = field(default_factory=list)
    overview: PageFacts | None = None
    failed: bool = False

    @property
    def name(self) -> str:
        return next((name for name in self.names if name), "")

    @property
    def sure(self) -> bool:
        return bool(self.sources & _SURE)

    @property
    def counted(self) -> bool:
        """True if the candidate's row in an index shows a number of threads or a last reply; a row
        without them may be only a heading."""
        return self.row is not None and (
            self.row.threads is not None or self.row.last_reply is not None
        )


def thread_rows(page: PageFacts) -> list[ThreadRecord]:
    """Returns the thread records of a page; empty unless it is a list of threads."""
    return [record for record in page.reading.records if isinstance(record, ThreadRecord)]


def board_rows(page: PageFacts) -> list[BoardRecord]:
    """Returns the board records of an index page; empty for other pages."""
    return [record for record in page.reading.records if isinstance(record, BoardRecord)]


def mixed(page: PageFacts) -> bool:
    """Tells whether a list shows threads of several boards, with the board named in each row."""
    keys = {board_identity(row.board_url) for row in thread_rows(page) if row.board_url}
    return len(keys) >= 2


def own_list(page: PageFacts) -> bool:
    """Tells whether a page is the list of one board: the rows do not name several boards, or some
    of them name the page's own board."""
    if page.kind is not PageKind.threadlist:
        return False
    keys = [board_identity(row.board_url) for row in thread_rows(page) if row.board_url]
    return not mixed(page) or board_identity(page.url) in keys


def all_boards(page: PageFacts) -> bool:
    """Tells whether a page lists threads of several boards without being the list of one of
    them."""
    return mixed(page) and not own_list(page)


class Candidates:
    """Collects candidates for boards from the pages of a sample, in the order in which the pages
    were fetched.

    `found`: the candidates by key (see `board_identity`). `failed`: reason by address key for pages
    that could not be fetched.
    """

    def __init__(
        self,
        pages: Iterable[PageFacts],
        failed: Mapping[str, str],
        start_key: str,
        pagers: Mapping[PageKind, str] | None = None,
    ) -> None:
        self.pages = list(pages)
        self.pagers = dict(pagers or {})
        self.found: dict[str, Candidate] = {}
        self.failed = failed
        self._start_key = start_key
        self._collect()

    def _collect(self) -> None:
        indexes = [page for page in self.pages if page.kind is PageKind.index]
        for page in indexes:
            for row in board_rows(page):
                self._row(row, INDEX, page)
        for page in self.pages:
            for row in page.reading.boards:
                self._row(row, SUBBOARD, page)
            for thread in thread_rows(page):
                if thread.board_url:
                    self._add(thread.board_url, ROW, thread.board_name or "", None)
        if not indexes:
            self._above_threads()
        for page in self.pages:
            if page.asked_key == self._start_key and own_list(page):
                self._add(page.url, START, _own_name(page), None)
                for link in _boards_linked(page):
                    self._add(link.url, TRIED, link.text, None)
        if not self.found:
            self._behind_start()
        self._attach_pages()
        self._links_alike()
        self._attach_pages()

    def _above_threads(self) -> None:
        """Adds boards from the breadcrumbs of threads' pages: the last link that does not lead to
        the thread itself."""
        for page in self.pages:
            if page.kind is PageKind.thread and page.crumbs:
                above = [crumb for crumb in page.crumbs if page_key(crumb.url) != page.key]
                if above and not never_requested(above[-1].url):
                    self._add(above[-1].url, CRUMB, above[-1].text, None)

    def _behind_start(self) -> None:
        """Adds the links of the start page that have the form of one which leads to a list of
        threads."""
        start = next((page for page in self.pages if page.asked_key == self._start_key), None)
        links = [link for link in start.links if _names_a_board(link)] if start else []
        lists = {page.asked_key for page in self.pages if own_list(page)}
        forms = {shape(link.url) for link in links if page_key(link.url) in lists}
        for link in links:
            if shape(link.url) in forms:
                self._add(link.url, TRIED, link.text, None)

    def _row(self, row: BoardRecord, source: str, page: PageFacts) -> None:
        parent = row.parent
        if source == SUBBOARD and parent is None:
            parent = page.url
        candidate = self._add(row.url, source, row.name, parent)
        if candidate is not None and candidate.row is None:
            candidate.row = row

    def _add(self, url: str, source: str, name: str, parent: str | None) -> Candidate | None:
        key = board_identity(url)
        candidate = self.found.get(key)
        if candidate is None:
            candidate = self.found[key] = Candidate(key, url, len(self.found))
        candidate.sources.add(source)
        name = clean_name(name)
        if name and name not in candidate.names:
            candidate.names.append(name)
        if parent and candidate.parent_url is None and board_identity(parent) != key:
            candidate.parent_url = parent
        return candidate

    def _attach_pages(self) -> None:
        asked = {page.asked_key: page for page in self.pages} | {
            page.key: page for page in self.pages
        }
        lists: dict[str, PageFacts] = {}
        for page in self.pages:
            if page.kind is PageKind.threadlist and (page.reading.current or 1) == 1:
                lists.setdefault(board_identity(page.url), page)
        for candidate in self.found.values():
            answer = asked.get(page_key(candidate.url)) or lists.get(candidate.key)
            on = behind(answer, self.pages) if answer is not None and is_overview(answer) else None
            candidate.pages = [on or answer] if answer is not None else []
            candidate.overview = (
                answer if on is not None or (answer is not None and is_overview(answer)) else None
            )
            candidate.failed = page_key(candidate.url) in self.failed

    def board_shapes(self) -> frozenset[str]:
        """Returns the address shapes of the site's boards, except those that its threads have
        too."""
        threads = {shape(row.url) for page in self.pages for row in thread_rows(page)[:40]}
        counts = Counter(
            shape(candidate.url)
            for candidate in self.found.values()
            if is_specific(shape(candidate.url))
            and (own_list(candidate.pages[0]) if candidate.pages else candidate.sure)
            and (candidate.sure or candidate.sources & {CRUMB, TRIED})
        )
        return frozenset(form for form in counts if form not in threads)

    def _links_alike(self) -> None:
        """Adds the addresses that pages of the sample link and that have the same shape as the
        address of a known board."""
        shapes = self.board_shapes()
        if not shapes:
            return
        others = {page_key(row.url) for page in self.pages for row in thread_rows(page)} | _further(
            self.pages
        )
        for page in self.pages:
            for link in page.links:
                if (
                    shape(link.url) not in shapes
                    or page_key(link.url) in others
                    or not _names_a_board(link)
                ):
                    continue
                known = self.found.get(board_identity(link.url))
                if known is None or LINK in known.sources:
                    self._add(link.url, LINK, link.text, None)

    def kind_of(self, candidate: Candidate, shapes: frozenset[str]) -> str:
        """Returns the decision on a candidate: "board", "group" (a page that only contains boards),
        "no", or "unknown" while its page has not been fetched. shapes: address shapes of the site's
        boards."""
        if candidate.failed:
            return "no"
        if not candidate.pages:
            return "unknown"
        page = candidate.pages[0]
        if page.status >= 400 or host(page.url) != host(candidate.url):
            return "no"
        if page.kind is PageKind.threadlist:
            return "board" if own_list(page) or candidate.sure else "no"
        if page.kind is PageKind.index:
            return "group"
        if self._empty(candidate) or (
            shape(candidate.url) in shapes and candidate.counted and len(page.reading.records) <= 1
        ):
            # a board with one thread may be misread as a thread, but its row and address show that
            # it is a board
            return "board"
        if page.kind is PageKind.thread or shape(candidate.url) not in shapes:
            return "no"
        return "board" if self._like_a_board(page) or (candidate.sure and page.says_empty) else "no"

    @staticmethod
    def _empty(candidate: Candidate) -> bool:
        """Tells whether the candidate's row says that the board has no threads; then it is a board
        whatever its page looks like."""
        return candidate.row is not None and candidate.row.threads == 0

    def _like_a_board(self, page: PageFacts) -> bool:
        """Tells whether a page without rows has nearly the same class names as the page of one of
        the site's boards, so that it is taken for a board without threads."""
        return any(
            own_list(other)
            and other.marks
            and len(page.marks & other.marks) >= _ALIKE * len(page.marks | other.marks)
            for other in self.pages
        )


def _further(pages: Iterable[PageFacts]) -> set[str]:
    """Returns the keys of the addresses of further pages of thread lists; these belong to their
    board and are no boards themselves."""
    lists = [page for page in pages if page.kind is PageKind.threadlist]
    return {
        page_key(url)
        for page in lists
        for url in (
            page.reading.next,
            page.reading.last,
            *(url for _source, url in page.reading.next_links),
        )
        if url and page_key(url) != page.key
    }


def clean_name(name: str) -> str:
    """Returns a board's name from the text of a link: spaces collapsed, without a number in
    brackets at its end."""
    name = " ".join(name.split())
    return re.sub(r"\s*[(\[（]\s*\d[\d.,k]*\s*[)\]）]$", "", name)[:200]


def _own_name(page: PageFacts) -> str:
    if page.crumbs and page_key(page.crumbs[-1].url) == page.key:
        return page.crumbs[-1].text
    return page.reading.title or (page.titles[0] if page.titles else "")


def to_try(start: PageFacts) -> list[str]:
    """Returns the addresses to fetch in search of a list of threads behind a start page that is no
    forum's by its looks: the first link of each form of address on its host, forms of which it has
    most links first, at most MAX_TRIED."""
    forms: dict[str, list[str]] = defaultdict(list)
    for link in start.links:
        key = page_key(link.url)
        if host(link.url) == host(start.url) and key != start.key and _names_a_board(link):
            forms[shape(link.url)].append(link.url)
    return [urls[0] for urls in sorted(forms.values(), key=len, reverse=True)][:MAX_TRIED]


def _boards_linked(start: PageFacts) -> list[Seen]:
    """Returns the links of a start page, two or more, whose addresses are those of boards, if the
    page's own address is none: a list of threads of all boards, with the boards in a menu."""
    if names_board(board_key(start.url)):
        return []
    rows = {page_key(row.url) for row in thread_rows(start)}
    found = {
        board_identity(link.url): link
        for link in reversed(start.links)
        if host(link.url) == host(start.url)
        and names_board(board_key(link.url))
        and _names_a_board(link)
        and page_key(link.url) not in rows | {start.key}
    }
    return list(reversed(found.values())) if len(found) > 1 else []


def _names_a_board(link: Seen) -> bool:
    text = clean_name(link.text)
    return (
        bool(text)
        and not text.isdigit()
        and any(map(str.isalpha, text))
        and not never_requested(link.url)
    )
