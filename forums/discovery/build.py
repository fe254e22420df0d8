"""Builds the model of a site from the candidates for boards found on a sample of its pages, with
its overview sources: pages and feeds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from crawlmgr.text.dates_zones import ZoneGuess
from forums.discovery import evidence, layout
from forums.discovery.candidates import (
    START,
    Candidate,
    Candidates,
    all_boards,
    board_rows,
    clean_name,
    thread_rows,
)
from forums.discovery.model import BoardFound, BoardUnread, SiteModel, SourceFound
from forums.discovery.pages import PageFacts
from forums.discovery.shapes import board_identity, host, page_key, shape
from forums.discovery.teacher import Comparison
from forums.reading import PageKind, PageReading, ThreadRecord, board_key, thread_key
from forums.reading.apis import api_address

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


FEED, API = "feed", "api"


MAX_FEEDS = 3


# for each forum software, the paths of two pages whose JSON guests may read: the boards, the
# threads of all boards
_LISTS = {
    "discourse": ("categories", "latest"),
    "nodebb": ("categories", "recent"),
    "flarum": ("tags", "all"),
}


def feed_sources(pages: Iterable[PageFacts], root: str, engine: str) -> tuple[SourceFound, ...]:
    """Returns up to MAX_FEEDS feeds linked by the root page or by pages that show several boards,
    those of the root page first, and the JSON lists of the forum software `engine`.

    A feed linked by the page of one board is left out, because it covers that board only, and so is
    any feed on another host.
    """
    fronts = [
        page
        for page in pages
        if page.kind is PageKind.index or all_boards(page) or page.key == page_key(root)
    ]
    fronts.sort(key=lambda page: page.key != page_key(root))
    feeds = {
        page_key(url): url
        for page in reversed(fronts)
        for url in reversed(page.feeds)
        if host(url) == host(root)
    }
    found = [SourceFound(url, FEED) for url in list(feeds.values())[::-1][:MAX_FEEDS]]
    return (*found, *(SourceFound(url, API) for url in _lists(root, engine)))


def _lists(root: str, engine: str) -> Iterator[str]:
    top = root if root.endswith("/") else root + "/"
    for name in _LISTS.get(engine, ()):
        address = api_address(engine, urljoin(top, name), root)
        if address is not None:
            yield address


_PREVIEW_ROWS = 6


ReadAgain = Callable[[PageFacts, str, bool | None], PageReading]


def site_model(
    candidates: Candidates,
    guess: ZoneGuess,
    start_url: str,
    read_again: ReadAgain,
    compared: Comparison | None = None,
) -> SiteModel:
    """Returns the model of a site, from the candidates of a sample and the guessed time zone.

    read_again: function that reads a page again, given its facts, the time zone and whether dates
    have the day first. compared: what the comparison of related pages showed, None if they were not
    compared.
    """
    pages = candidates.pages
    shapes = candidates.board_shapes()
    chosen = [c for c in candidates.found.values() if accepted(candidates, c, shapes)]
    votes = Counter(page.day_first for page in pages if page.day_first is not None)
    day_first = votes.most_common(1)[0][0] if votes else None
    root = root_page(pages, start_url)
    root_url = root.url if root is not None else start_url
    parents = _parents(chosen, candidates)
    boards = [
        _board(
            candidate,
            parents.get(candidate.key),
            lambda page: read_again(page, guess.name, day_first),
        )
        for candidate in chosen
    ]
    engines = Counter(page.reading.engine for page in pages if page.reading.engine != "unknown")
    engine = engines.most_common(1)[0][0] if engines else "unknown"
    threads = [page for page in pages if page.kind is PageKind.thread]
    return SiteModel(
        name=evidence.site_name(pages, root, urlsplit(root_url).netloc),
        root=root_url,
        engine=engine,
        timezone=guess.name,
        timezone_evidence=guess.evidence,
        timezone_confidence=round(guess.confidence, 3),
        day_first=day_first,
        boards=tuple(_in_order(_once(boards))),
        patterns=_patterns(chosen, pages),
        list_flip=evidence.page_numbering(_chains(pages, PageKind.threadlist)),
        thread_flip=evidence.page_numbering(_chains(pages, PageKind.thread)),
        posts_per_page=max(
            (len(page.reading.records) for page in threads if page.reading.next), default=None
        ),
        layouts=layout.learn(pages),
        pages_read=len(pages),
        counts_posts=evidence.counts_posts(pages),
        sources=(
            *sources(pages, [candidate.url for candidate in chosen]),
            *feed_sources(pages, root_url, engine),
        ),
        pagers=tuple((str(kind), source) for kind, source in candidates.pagers.items()),
        lessons=(*evidence.pager_lessons(pages), *(compared.lessons if compared else ())),
        rules=compared.rules.to_json() if compared and compared.rules else None,
        unread=tuple(_unread(candidates, chosen, shapes)),
    )


def accepted(candidates: Candidates, candidate: Candidate, shapes: frozenset[str]) -> bool:
    """Tells whether a candidate is taken as a board: because of its page or, if that was not
    fetched, because an index lists it and its address has the form of the site's other boards.
    shapes: the forms (see `shape`) of the boards' addresses.
    """
    kind = candidates.kind_of(candidate, shapes)
    if kind == "unknown":
        own_host = any(host(candidate.url) == host(page.url) for page in candidates.pages)
        return (
            own_host
            and candidate.sure
            and shape(candidate.url) in shapes
            and (candidate.counted or candidate.row is None)
        )
    if kind != "board":
        return False
    only_start = candidate.sources == {START}
    return not only_start or not shapes or shape(candidate.url) in shapes


_LOGIN = frozenset(("http_401", "http_403", "login"))


def _unread(
    candidates: Candidates, chosen: list[Candidate], shapes: frozenset[str]
) -> Iterator[BoardUnread]:
    """Yields the boards that an index or a list names but that were not accepted, each with the
    reason."""
    taken = {candidate.key for candidate in chosen}
    hosts = {host(page.url) for page in candidates.pages}
    for candidate in candidates.found.values():
        if candidate.key in taken or not candidate.sure or host(candidate.url) not in hosts:
            continue
        kind = candidates.kind_of(candidate, shapes)
        if kind == "group":
            continue
        told = candidates.failed.get(page_key(candidate.url), "")
        if not told and candidate.pages:
            status = candidate.pages[0].status
            told = f"http_{status}" if status >= 400 else "unreadable"
        reason = (
            "login" if told in _LOGIN else "robots" if told.startswith("robots") else told or "cut"
        )
        yield BoardUnread(candidate.url, candidate.name or candidate.url, reason)


def root_page(pages: list[PageFacts], start_url: str) -> PageFacts | None:
    """Returns the forum's root page: the index with most boards among those that no other index
    lists as a board. If there is no index, it is the list of the threads of all boards; without
    such a list, the start page (None if it was not fetched).
    """
    indexes = [page for page in pages if page.kind is PageKind.index and board_rows(page)]
    named = {page_key(row.url) for page in indexes for row in board_rows(page)}
    tops = [page for page in indexes if page.key not in named] or indexes
    if tops:
        return max(tops, key=lambda page: (len(board_rows(page)), -len(urlsplit(page.url).path)))
    everything = [page for page in pages if all_boards(page) and (page.reading.current or 1) == 1]
    if everything:
        return everything[0]
    return next((page for page in pages if page.asked_key == page_key(start_url)), None)


def _parents(chosen: list[Candidate], candidates: Candidates) -> dict[str, str]:
    """Returns the address of the parent board of each sub-board, by the sub-board's key. A parent
    is found by an index row, by the breadcrumb of the sub-board's page, as the only board whose
    page links to the sub-board, or as the only board whose list of threads includes the sub-board's
    threads."""
    urls = {candidate.key: candidate.url for candidate in chosen}
    parents: dict[str, str] = {}
    for candidate in chosen:
        told = board_identity(candidate.parent_url) if candidate.parent_url else None
        if told in urls and told != candidate.key:
            parents[candidate.key] = urls[told]
            continue
        crumbs = [board_identity(crumb.url) for page in candidate.pages for crumb in page.crumbs]
        above = [key for key in crumbs if key in urls and key != candidate.key]
        if above and (
            candidate.key not in crumbs or crumbs.index(candidate.key) > crumbs.index(above[-1])
        ):
            parents[candidate.key] = urls[above[-1]]
    _named_by_one(chosen, candidates, parents, urls)
    _listed_above(chosen, parents, urls)
    return {key: url for key, url in parents.items() if not _circle(key, parents)}


def _named_by_one(
    chosen: list[Candidate], candidates: Candidates, parents: dict[str, str], urls: dict[str, str]
) -> None:
    """Adds to `parents` the parent of each board that only one other board's page links to, if no
    index or list of all boards links to it. Links in thread rows and breadcrumbs do not count. Does
    nothing if fewer than four boards' pages are in the sample. urls: addresses of boards by key."""
    lists = {candidate.key: candidate.pages[0] for candidate in chosen if candidate.pages}
    if len(lists) < 4:
        return
    naming: dict[str, set[str]] = {key: set() for key in urls}
    for key, page in lists.items():
        aside = {board_identity(crumb.url) for crumb in page.crumbs} | {key}
        for link in _outside_rows(page) - aside:
            if link in naming:
                naming[link].add(key)
    fronts = [page for page in candidates.pages if page.kind is PageKind.index or all_boards(page)]
    front = {link for page in fronts for link in _outside_rows(page)}
    for candidate in chosen:
        by = naming[candidate.key]
        if len(by) == 1 and candidate.key not in parents and candidate.key not in front:
            parents[candidate.key] = urls[next(iter(by))]


def _listed_above(chosen: list[Candidate], parents: dict[str, str], urls: dict[str, str]) -> None:
    """Adds the parents of boards that are recognised as sub-boards by their threads: more than half
    of a board's threads are also in the list of exactly one other board, its parent, and make up
    less than half of that list."""
    rows = {
        c.key: {thread_key(row.url) for row in thread_rows(c.pages[0]) if not row.pinned}
        for c in chosen
        if c.pages
    }
    for key, own in rows.items():
        shared = {other: len(own & theirs) for other, theirs in rows.items() if other != key}
        holders = [
            other
            for other, both in shared.items()
            if both >= 2 and both * 2 > len(own) and both * 2 < len(rows[other])
        ]
        if len(holders) == 1 and key not in parents:
            parents[key] = urls[holders[0]]


def _outside_rows(page: PageFacts) -> set[str]:
    """Returns the keys of boards that a page links outside its thread rows."""
    rows = Counter(board_identity(row.board_url) for row in thread_rows(page) if row.board_url)
    links: Counter[str] = Counter()
    for link in page.links:
        links[board_identity(link.url)] += link.times
    return {key for key, times in links.items() if times > rows[key]}


def _circle(key: str, parents: dict[str, str]) -> bool:
    seen = {key}
    while key in parents:
        key = board_identity(parents[key])
        if key in seen:
            return True
        seen.add(key)
    return False


def _board(
    candidate: Candidate, parent_url: str | None, read_again: Callable[[PageFacts], PageReading]
) -> BoardFound:
    page = candidate.pages[0] if candidate.pages else None
    reading = read_again(page) if page is not None and page.kind is PageKind.threadlist else None
    rows = (
        [row for row in reading.records if isinstance(row, ThreadRecord)]
        if reading is not None
        else []
    )
    has_last_reply = (
        sum(row.last_reply is not None for row in rows) * 2 > len(rows) if rows else None
    )
    name = _name(candidate, page)
    return BoardFound(
        url=(
            page.url
            if page is not None and page.kind is PageKind.threadlist and _first_of(page)
            else candidate.url
        ),
        name=name,
        parent_url=parent_url,
        position=candidate.position,
        threads_seen=len(rows),
        has_last_reply=has_last_reply,
        sort=reading.sort if reading is not None else None,
        per_page=(
            sum(not row.pinned for row in rows) if reading is not None and reading.next else None
        ),
        rows=tuple(_preview(row) for row in rows[:_PREVIEW_ROWS]),
    )


def _name(candidate: Candidate, page: PageFacts | None) -> str:
    """Returns the name of a board: the heading of its page if that is part of the link's text (or
    there is no link text), otherwise the link's text; without both its address."""
    heading = clean_name(page.titles[0]) if page is not None and page.titles else ""
    if candidate.name and not (heading and heading in candidate.name):
        return candidate.name
    return heading or candidate.name or candidate.url


def _first_of(page: PageFacts) -> bool:
    return (page.reading.current or 1) == 1


def _preview(row: ThreadRecord) -> dict[str, Any]:
    return {
        "title": row.title,
        "url": row.url,
        "author": row.author,
        "replies": row.replies,
        "last_reply": row.last_reply.value.isoformat() if row.last_reply is not None else None,
        "pinned": row.pinned,
    }


def _once(boards: list[BoardFound]) -> list[BoardFound]:
    """Returns the boards without duplicates: of several addresses with the same board id, the first
    is kept."""
    return list({board_key(board.url): board for board in reversed(boards)}.values())[::-1]


def _in_order(boards: list[BoardFound]) -> list[BoardFound]:
    """Returns the boards in the order of discovery, each followed by its sub-boards."""
    children: dict[str | None, list[BoardFound]] = {}
    known = {board.url for board in boards}
    for board in sorted(boards, key=lambda board: board.position):
        children.setdefault(board.parent_url if board.parent_url in known else None, []).append(
            board
        )
    ordered: list[BoardFound] = []

    def place(parent: str | None) -> None:
        for board in children.pop(parent, []):
            ordered.append(board)
            place(board.url)

    place(None)
    return ordered


def _chains(pages: list[PageFacts], kind: PageKind) -> list[list[str]]:
    """Returns the addresses of successive pages of one list or thread (its first page, page 2 and,
    if known, page 3), for each first page of a kind in the sample; longest chain first."""
    by_key = {page.key: page for page in pages} | {page.asked_key: page for page in pages}
    chains = []
    for page in pages:
        if page.kind is kind and page.reading.next and (page.reading.current or 1) == 1:
            chain = [page.url, page.reading.next]
            second = by_key.get(page_key(page.reading.next))
            if second is not None and second.reading.next:
                chain.append(second.reading.next)
            chains.append(chain)
    return sorted(chains, key=len, reverse=True)


def _patterns(
    chosen: list[Candidate], pages: list[PageFacts]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns pairs (kind of page, its up to four most frequent address shapes); the kinds are
    index, list, thread, and alias for other addresses of threads (last post, unread). Kinds without
    addresses are missing."""
    rows = [row for page in pages for row in thread_rows(page)]
    threads = Counter(shape(row.url) for row in rows)
    aliases = Counter(shape(row.last_post_url) for row in rows if row.last_post_url)
    others: dict[str, set[str]] = defaultdict(set)
    for page in pages:
        here = {thread_key(row.url) for row in thread_rows(page)}
        for link in page.links:
            if shape(link.url) not in threads and thread_key(link.url) in here:
                others[shape(link.url)].add(thread_key(link.url))
    aliases.update({form: len(keys) for form, keys in others.items() if len(keys) > 2})
    found = {
        "index": Counter(shape(page.url) for page in pages if page.kind is PageKind.index),
        "list": Counter(shape(candidate.url) for candidate in chosen),
        "thread": threads,
        "alias": Counter({form: n for form, n in aliases.items() if form not in threads}),
    }
    return tuple(
        (kind, tuple(form for form, _ in counts.most_common(4)))
        for kind, counts in found.items()
        if counts
    )
