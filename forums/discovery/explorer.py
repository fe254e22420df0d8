"""Learns a forum from 20 to 60 of its pages: returns the pages to fetch next, is given the fetched
pages, and returns the model that it learned.

It makes no requests itself; its caller fetches the pages. What to fetch next depends only on what
was fetched: the same pages in the same order lead to the same plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from crawlmgr.text.dates_zones import ZoneGuess
from forums.discovery import build, pagers, teacher
from forums.discovery import candidates as overview_pages
from forums.discovery.candidates import Candidates, all_boards, board_rows, mixed, thread_rows
from forums.discovery.evidence import zone_guess
from forums.discovery.model import SiteModel
from forums.discovery.pages import FetchedPage, PageFacts, facts
from forums.discovery.shapes import board_identity, host, never_requested, page_key
from forums.reading import PageKind, PageReading, read_page
from forums.reading.document import host_of

_FORUM_LINK = re.compile(
    r"(?:board|forum|community) ?index|forums?|boards?|(?:all"
    r" )?categories|community|discussions?|message ?boards?|论坛|論壇"
    r"|论坛首页|(?:全部)?(?:版块|版塊|板块|分类|分類)|社区|社區|首页|フォーラム|掲示板|カテゴリ|포럼|게시판|foren|foren-?übersicht"
    r"|forum-?index"
    r"|index du forum|foros?|índice|fórum|fóruns|форумы?|список форумов|index|home",
    re.I,
)

MOST_HOSTS = (
    2  # other hosts of which one address is asked, whether they are former ones of the site
)
SHORT = 8  # a thread with up to this many replies is taken to fit on one page
_USUAL_PLACES = ("/forum/", "/forums/", "/bbs/", "/community/")


@dataclass(frozen=True, slots=True)
class ExplorerSettings:
    """Limits of an exploration.

    most_pages: pages fetched in all; of these, `reserve` are kept for threads and further pages,
    however many boards there are. most_up: pages tried to find the index above the start page.
    most_mixed: pages read of a list that mixes the threads of all boards. threads: number of long
    threads read; short_threads: number of threads read that fit on one page. hints: whether the
    page reader may use its knowledge of forum software. teacher: whether related pages are compared
    and, where they disagree, other readings are tried.
    """

    most_pages: int = 60
    reserve: int = 8
    most_up: int = 6
    most_mixed: int = 10
    threads: int = 3
    short_threads: int = 6
    hints: bool = True
    teacher: bool = True


class Wanted(NamedTuple):
    """A page to fetch next and its purpose: start, up (an index above the start page), board, list
    (a further page of a list), thread."""

    url: str
    why: str


class Explorer:
    """The exploration of one site.

    Until `done` is true, the caller fetches the pages that `wanted()` returns, and passes each
    result to `feed` or `failed`. `site()` may be called at any time and returns what is known so
    far. If `timezone` (IANA name) is given, it is not guessed.
    """

    def __init__(
        self,
        start_url: str,
        settings: ExplorerSettings | None = None,
        *,
        timezone: str | None = None,
        reader: Callable[..., PageReading] = read_page,
    ) -> None:
        self.start_url = start_url
        self.settings = settings or ExplorerSettings()
        self._timezone = timezone
        self._reader = reader
        self._pages: dict[str, PageFacts] = {}
        self._former: set[str] = set()
        self._html: dict[str, FetchedPage] = {}
        self._failed: dict[str, str] = {}
        self._plan: list[Wanted] | None = None
        self._readings: dict[tuple[str, str, bool | None], PageReading] = {}

    @property
    def done(self) -> bool:
        """True if no more pages are wanted."""
        return not self.wanted()

    @property
    def asked(self) -> int:
        """The number of pages that were fetched or could not be fetched."""
        return len(self._pages) + len(self._failed)

    def feed(self, page: FetchedPage) -> None:
        """Adds a fetched page; adding it again changes nothing."""
        key = page_key(page.url)
        if key in self._pages:
            return
        self._plan = None
        own = host_of(next(iter(self._html.values()), page).final_url)
        asked, came = host_of(page.url), host_of(page.final_url)
        if came != own and asked in map(host_of, self._left_out()):
            self._failed[key] = "other_host"
            return
        self._html[key] = page
        # The same address on another host: not a short link, which leads anywhere.
        if asked != came == own and _path(page.url) == _path(page.final_url):
            self._former.add(asked)
            for other, facts_read in self._pages.items():
                if facts_read.reading.elsewhere:
                    self._pages[other] = self._read(self._html[other])
        self._pages[key] = self._read(page)

    def _read(self, page: FetchedPage) -> PageFacts:
        if page.status >= 400:
            return facts(page, PageReading(PageKind.other))
        reading = self._reader(
            page.html,
            page.final_url,
            page.fetched_at,
            hints=self.settings.hints,
            former=frozenset(self._former),
        )
        return facts(page, reading)

    def _left_out(self) -> list[str]:
        """Returns the addresses of rows that lists show on other hosts."""
        return [url for page in self._pages.values() for url in page.reading.elsewhere]

    def _other_hosts(self) -> Iterator[Wanted]:
        """Yields, for up to MOST_HOSTS other hosts to which rows of lists lead, the address of one
        row: its answer shows whether that host is a former one of the site."""
        tried = {host_of(page.url) for page in self._html.values()}
        tried |= {host_of(f"//{key}") for key in self._failed}
        firsts: dict[str, str] = {}
        for url in self._left_out():
            firsts.setdefault(host_of(url), url)
        for name, url in list(firsts.items())[:MOST_HOSTS]:
            if name not in tried and not never_requested(url):
                yield Wanted(url, "thread")

    def failed(self, url: str, reason: str) -> None:
        """Records that a page could not be fetched; it is not wanted again."""
        self._failed[page_key(url)] = reason
        self._plan = None

    def wanted(self) -> list[Wanted]:
        """Returns the pages to fetch next, most informative first; empty if enough is known or the
        limit of pages is reached."""
        if self._plan is None:
            room = max(0, self.settings.most_pages - self.asked)
            plan: dict[str, Wanted] = {}
            for item in self._most_informative():
                key = page_key(item.url)
                if key not in self._pages and key not in self._failed:
                    plan.setdefault(key, item)
            self._plan = list(plan.values())[:room]
        return list(self._plan)

    def _most_informative(self) -> Iterator[Wanted]:
        start = self._start()
        if isinstance(start, str):
            yield Wanted(start, "start")
            return
        ways_up = list(self._ways_up(start))
        if ways_up:
            yield ways_up[0]  # one address at a time: its page shows whether to try another
            return
        candidates = self._candidates()
        if not candidates.found and start.kind is PageKind.other:
            fresh = (Wanted(url, "list") for url in overview_pages.to_try(start))
            yield from islice(filter(self._is_new, fresh), 1)
            return
        room = self.settings.most_pages - self.settings.reserve - self.asked
        unsettled = list(self._unsettled(candidates))[: max(0, room)]
        rivals = [wanted for wanted in self._rivals() if self._is_new(wanted)]
        further = [wanted for wanted in self._further_mixed() if self._is_new(wanted)]
        yield from self._other_hosts()
        yield from unsettled
        behind = (
            []
            if unsettled
            else [wanted for wanted in self._behind(candidates) if self._is_new(wanted)]
        )
        yield from behind[
            :1
            # one address first: if it leads to a list, the other boards' lists have addresses of
            # that form
        ]
        yield from rivals
        if not rivals:
            yield from further
        if not unsettled and not rivals and not further and not behind:
            yield from self._samples(candidates)

    def _start(self) -> PageFacts | str:
        """Returns the page from which the exploration starts: the start page, or if that is no
        forum's, the first page of one to which it leads by refreshes or frames; the address of the
        next page to fetch if that is not known yet."""
        first = self._pages.get(page_key(self.start_url))
        if first is None:
            return self.start_url
        ways, seen = [first], {first.asked_key, first.key}
        for page in ways:
            if page.kind is not PageKind.other:
                return page
            for url in page.ahead:
                key = page_key(url)
                if key in seen or key in self._failed or never_requested(url):
                    continue
                seen.add(key)
                if key in self._pages:
                    ways.append(self._pages[key])
                elif len(ways) <= self.settings.most_up:
                    return url
        return first

    def _is_new(self, wanted: Wanted) -> bool:
        return page_key(wanted.url) not in self._pages and page_key(wanted.url) not in self._failed

    def _rivals(self) -> Iterator[Wanted]:
        """Yields the targets of all next-page links of pages that have several; the page behind a
        link shows whether it is the right one."""
        if self.settings.teacher:
            for url in pagers.untried(list(self._pages.values())):
                yield Wanted(url, "list")

    def _behind(self, candidates: Candidates) -> Iterator[Wanted]:
        """Yields the addresses of lists of threads to which boards' pages without threads of their
        own link."""
        pages = [
            one.overview
            for one in candidates.found.values()
            if one.sure and one.overview is not None
        ]
        for url in (
            overview_pages.wanted(pages, list(self._pages.values()))
            if self.settings.teacher
            else ()
        ):
            yield Wanted(url, "board")

    @property
    def pages(self) -> list[PageFacts]:
        """The pages fetched so far, in the order of fetching. If pages of one kind have several
        links that may lead to the next page, `next` is the address of the one that was found to do
        so."""
        return pagers.with_next_links(self._pages.values(), self._sources())

    def _sources(self) -> dict[PageKind, str]:
        return pagers.sources(list(self._pages.values())) if self.settings.teacher else {}

    def _candidates(self) -> Candidates:
        start = self._start()
        key = page_key(start) if isinstance(start, str) else start.asked_key
        return Candidates(self.pages, self._failed, key, self._sources())

    def _unsettled(self, candidates: Candidates) -> Iterator[Wanted]:
        shapes = candidates.board_shapes()
        hosts = {host(self.start_url), *(host(page.url) for page in self._pages.values())}
        order = sorted(candidates.found.values(), key=lambda c: (not c.sure, c.counted, c.position))
        for candidate in order:
            if host(candidate.url) in hosts and candidates.kind_of(candidate, shapes) == "unknown":
                yield Wanted(candidate.url, "board")

    def _ways_up(self, start: PageFacts) -> Iterator[Wanted]:
        """Yields the next address that may be the index above the start page: at most one, because
        the page found there shows whether to try another. Once that index is found, yields the
        pages above it instead (see `_above_index`). Yields nothing if the limit of tries is reached
        or a page that was tried lists the threads of all boards.
        """
        for tried, url in enumerate(self._above(start)):
            key = page_key(url)
            page = self._pages.get(key)
            if page is None and key not in self._failed:
                if tried < self._most_up(start):
                    yield Wanted(url, "up")
                return
            if page is not None and page.kind is PageKind.index and self._covers(page, start):
                yield from self._above_index(page)
                return
            if page is not None and all_boards(page):
                return

    def _above_index(self, index: PageFacts) -> Iterator[Wanted]:
        """Yields the first page of an index's breadcrumb: `index` may list only the boards of one
        category. If it was read already and is no forum page (kind `other`), also up to two links
        that seem to lead to the forum. Leaves out requested pages, other hosts and
        `never_requested` addresses."""
        ways = [crumb.url for crumb in index.crumbs[:1]]
        for page in self._pages.values():
            if page.kind is PageKind.other and page.key in map(page_key, ways):
                ways += _forum_links(page)[:2]
        for url in ways:
            key = page_key(url)
            known = key == index.key or key in self._pages or key in self._failed
            if not known and not never_requested(url) and host(url) == host(index.url):
                yield Wanted(url, "up")

    def _most_up(self, start: PageFacts) -> int:
        if start.kind is PageKind.index:
            return 1
        return min(3, self.settings.most_up) if all_boards(start) else self.settings.most_up

    def _above(self, start: PageFacts) -> Iterator[str]:
        seen = {start.key}
        crumbs = [crumb.url for crumb in start.crumbs]
        named = _forum_links(start)
        if start.kind is PageKind.index:
            ways = (
                crumbs[:1]
                if page_key(start.url) not in {page_key(url) for url in crumbs[:1]}
                else []
            )
        elif all_boards(start):
            ways = [*crumbs[:2], *named[:3]]
        else:
            ways = [*crumbs[:4], *named[:4], *_ancestors(start.url)]
            if start.kind is PageKind.other:
                ways += [urljoin(start.url, guess) for guess in _USUAL_PLACES]
            ways += [
                url
                for page in self._pages.values()
                if page.kind is PageKind.other
                for url in _forum_links(page)[:3]
            ]
        for url in ways:
            key = page_key(url)
            if key not in seen and host(url) == host(start.url) and not never_requested(url):
                seen.add(key)
                yield url

    @staticmethod
    def _covers(index: PageFacts, start: PageFacts) -> bool:
        """Tells whether an index page covers the start page of the exploration.

        If the start page is the list of one board, the index must link to that board or to one of
        the boards in its breadcrumb (if the start page has no breadcrumb, any index does).
        Otherwise one board row is enough, or two if the start page is an index itself.
        """
        rows = {board_identity(row.url) for row in board_rows(index)}
        if len(rows) < 2 and start.kind is PageKind.index:
            return False
        if start.kind is PageKind.threadlist and not mixed(start):
            own = {
                board_identity(start.url),
                *(board_identity(crumb.url) for crumb in start.crumbs),
            }
            return bool(rows & own) or not start.crumbs
        return bool(rows)

    def _further_mixed(self) -> Iterator[Wanted]:
        """Yields the next page of a list of all boards' threads, as long as further pages show new
        boards."""
        pages = [page for page in self.pages if all_boards(page)]
        if not pages or len(pages) >= self.settings.most_mixed:
            return
        known: set[str] = set()
        fresh = []
        for page in pages:
            keys = {board_identity(row.board_url) for row in thread_rows(page) if row.board_url}
            fresh.append(bool(keys - known))
            known |= keys
        follow = pages[-1].reading.next
        if follow and (len(pages) < 3 or any(fresh[-2:])):
            yield Wanted(follow, "list")

    def _samples(self, candidates: Candidates) -> Iterator[Wanted]:
        """Yields pages that show how the site's pages are built: page 2 of one list, the thread
        with most replies in each of several lists (those with most pages and rows first), short
        threads, and page 2 of one thread.
        """
        shapes = candidates.board_shapes()
        lists = [
            c.pages[0]
            for c in candidates.found.values()
            if c.pages and candidates.kind_of(c, shapes) == "board"
        ]
        lists = [page for page in lists if thread_rows(page)]
        lists.sort(key=lambda page: (page.reading.next is None, -len(thread_rows(page))))
        for page in lists[:1]:
            if page.reading.next and not any(self._follows(page, other) for other in lists):
                yield Wanted(page.reading.next, "list")
        for page in lists[: self.settings.threads]:
            row = max(thread_rows(page), key=lambda row: (row.replies or 0, not row.pinned))
            yield Wanted(row.url, "thread")
        if self.settings.teacher:
            yield from self._short(lists)
        for page in self.pages:
            if (
                page.kind is PageKind.thread
                and page.reading.next
                and (page.reading.current or 1) == 1
            ):
                yield Wanted(page.reading.next, "thread")
                return

    def _short(self, lists: list[PageFacts]) -> Iterator[Wanted]:
        """Yields threads that fit on one page, so that the row of each can be compared with all its
        posts; from different boards in turn, with different numbers of replies."""
        counts: set[int | None] = set()
        for number in range(self.settings.short_threads):
            page = lists[number % len(lists)] if lists else None
            rows = (
                [row for row in thread_rows(page) if not row.pinned and row.replies is not None]
                if page
                else []
            )
            fit = [
                row
                for row in rows
                if 1 <= (row.replies or 0) <= SHORT and row.replies not in counts
            ]
            if fit:
                row = fit[number // len(lists) % len(fit)]
                counts.add(row.replies)
                yield Wanted(row.url, "thread")

    @staticmethod
    def _follows(page: PageFacts, other: PageFacts) -> bool:
        return page.reading.next is not None and page_key(page.reading.next) == other.key

    def site(self) -> SiteModel:
        """Returns the model of the site, from what is known so far."""
        pages = self.pages
        guess = zone_guess(pages)
        if self._timezone:
            guess = ZoneGuess(self._timezone, 0, "given", 1.0)
        candidates = self._candidates()
        compared = (
            teacher.taught(pages, self._html) if self.settings.teacher and self.done else None
        )
        model = build.site_model(candidates, guess, self.start_url, self._read_again, compared)
        return replace(model, former_hosts=tuple(sorted(self._former)))

    def _read_again(self, page: PageFacts, timezone: str, day_first: bool | None) -> PageReading:
        """Reads a page of the sample again for the preview, in the site's time zone and with its
        order of day and month (`day_first`). Returns the reading, which is cached."""
        key = (page.asked_key, timezone, day_first)
        if key not in self._readings:
            source = self._html[page.asked_key]
            self._readings[key] = self._reader(
                source.html,
                source.final_url,
                source.fetched_at,
                hints=self.settings.hints,
                timezone=timezone,
                day_first=day_first,
                former=frozenset(self._former),
            )
        return self._readings[key]


def _path(url: str) -> str:
    """Returns an address without its host, in the spelling that is compared."""
    return page_key(url).partition("/")[2]


def _forum_links(page: PageFacts) -> list[str]:
    """Returns the addresses of links whose text says that they lead to a forum or its index."""
    return [link.url for link in page.links if _FORUM_LINK.fullmatch(link.text.strip())]


def _ancestors(url: str) -> Iterator[str]:
    """Yields the addresses of the folders above an address, nearest first."""
    parts = urlsplit(url)
    path = parts.path
    while path not in ("", "/"):
        path = path.rstrip("/").rpartition("/")[0] + "/"
        # a last segment that is a number, as in /topic/12/, is the thread's own address, no folder
        if not path.rstrip("/").rpartition("/")[2].isdigit():
            yield urljoin(url, path)
    if not parts.path.strip("/") and parts.query:
        yield urljoin(url, "/")
