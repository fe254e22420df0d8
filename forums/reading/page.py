"""`read_page`: reads a page of a forum from its HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from lxml.html import HtmlElement

from crawlmgr.web.next_page.pagination import find_pages
from forums.reading.addresses import first_page, names_post, thread_key
from forums.reading.best_candidates import MIN_QUALITY, BestCandidates, inside
from forums.reading.corrections import KindRules, SiteCorrections, corrected
from forums.reading.document import Link, Page
from forums.reading.learned.two_readings import TwoReadings, doubt_of
from forums.reading.learned.weights import shipped
from forums.reading.lists.board_records import BoardRows
from forums.reading.lists.row_groups import shapes_of
from forums.reading.lists.row_sets import RowSet
from forums.reading.lists.rows import Row
from forums.reading.lists.thread_records import ThreadRows, board_address, sort_of
from forums.reading.model import (
    BoardRecord,
    PageKind,
    PageReading,
    PostRecord,
    Records,
    Shapes,
    ThreadRecord,
)
from forums.reading.patterns import leads_to, patterns
from forums.reading.posts.post_records import PostRows, opening_post
from forums.reading.posts.post_set import PostSet

_GENERATOR = re.compile(
    r"discuz|phpbb|vbulletin|xenforo|mybb|smf|simple"
    r" machines|discourse|nodebb|flarum|phpwind|vanilla|invision|punbb|fluxbb|"
    r"bbpress|woltlab|misago",
    re.I,
)
_NAMES = {"simple machines": "smf", "invision": "ips"}
# Signs of forum software as (name, words, pattern). The pattern is matched on the page in lower
# case, and only if the page contains one of the words, since every match contains one: searching
# for fixed words is faster.
_MARKS = tuple(
    (name, words.split(), re.compile(form))
    for name, words, form in (
        (
            "discuz",
            'discuz! id="ct" id="nv_forum" forum.php?mod=forumdisplay',
            (
                r"powered by"
                r" (?:<[^>]+>|\s)*discuz!|id=\"(?:ct|nv_forum)\"|forum\.php\?mod=forumdisplay"
            ),
        ),
        (
            "phpbb",
            "phpbb topiclist viewforum.php?f=",
            r"powered by (?:<[^>]+>|\s)*phpbb|class=\"[^\"]*topiclist|viewforum\.php\?f=\d",
        ),
        ("xenforo", 'id="xf" xenforo', r"<html[^>]+id=\"xf\"|xenforo"),
        (
            "vbulletin",
            "vbulletin",
            r"vbulletin[-_](?:global|menu|css)|powered by (?:<[^>]+>|\s)*vbulletin",
        ),
        ("mybb", "mybb", r"powered by (?:<[^>]+>|\s)*mybb|mybb\."),
        ("smf", "machines smf_theme_url", r"simple machines|smf_theme_url"),
        ("nodebb", 'component=" nodebb', r"component=\"(?:category/topic|post/content)\"|nodebb"),
        ("flarum", "flarum-", r"flarum-(?:content|loading|json)"),
        ("phpwind", "phpwind", r"phpwind"),
        ("tieba", "j_thread_list l_post_bright", r"j_thread_list|l_post_bright"),
        ("vanilla", "vanillicon itemdiscussion", r"vanillicon|class=\"[^\"]*itemdiscussion"),
        ("flaskbb", "flaskbb", r"powered by (?:<[^>]+>|\s)*flaskbb"),
        (
            "spirit",
            "js-clickable-area comments_list__comment",
            r"js-clickable-area|comments_list__comment",
        ),
        ("machina", "topic-name-link forum-name-link", r"topic-name-link|forum-name-link"),
    )
)
# numbers of characters searched at the beginning and the end of a page, where forum software names
# itself
_HEAD, _TAIL = 60_000, 30_000
_THREAD_ADDRESS = (
    r"viewtopic|showthread|viewthread|/thread-\d|/threads?/|/topic/|/discussion/\d"
    r"|[?&]topic=\d|/t/[^/]+/\d|/d/\d|/p/\d"
)
_LIST_ADDRESS = (
    r"viewforum|forumdisplay|/forum-\d|/forums/[^/]+\.\d|/categories/[^/]+$"
    r"|[?&]board=\d|/c/[^/]+/\d"
)
_KINDS = (
    (PageKind.thread, re.compile(_THREAD_ADDRESS, re.I)),
    (PageKind.threadlist, re.compile(_LIST_ADDRESS, re.I)),
)


def engine_of(page: Page, source: str) -> str:
    """Returns the name of the forum software of a page: from its generator tag, otherwise from the
    first mark found in `source`, the page's markup; "unknown" if there is none."""
    element = page.root.find(".//meta[@name='generator']")
    found = _GENERATOR.search(element.get("content", "")) if element is not None else None
    if found:
        name = found.group().lower()
        return _NAMES.get(name, name)
    ends = source if len(source) <= _HEAD + _TAIL else f"{source[:_HEAD]}\n{source[-_TAIL:]}"
    ends = ends.lower()
    told = (
        name
        for name, words, mark in _MARKS
        if any(word in ends for word in words) and mark.search(ends)
    )
    return next(told, "unknown")


def expected_kind(engine: str, url: str) -> PageKind | None:
    """Returns the kind of page that known forum software has at addresses of this form; None if the
    form or the software (`engine` "unknown") is not known."""
    if engine == "unknown":
        return None
    return next((kind for kind, form in _KINDS if form.search(url)), None)


_NO_SHAPES = Shapes()
# evidence code of a page that exceeds the size limits, of which only the beginning was read
CUT = "cut"
_ELSEWHERE = "Rows that lead to another host were left out."
# evidence code of a page read without the operator's corrections, because one could not be
# evaluated; the first doubt says which and why
UNCORRECTED = "uncorrected"


class Read(NamedTuple):
    """A reading of a page, and the element of each of its records, in the order of the records."""

    reading: PageReading
    elements: tuple[HtmlElement, ...]


def read_page(
    html: str | bytes,
    url: str,
    fetched_at: datetime,
    *,
    hints: bool = True,
    timezone: str = "UTC",
    day_first: bool | None = None,
    expect: PageKind | None = None,
    rules: SiteCorrections | None = None,
    counts_posts: bool | None = None,
    known: Shapes = _NO_SHAPES,
    former: frozenset[str] = frozenset(),
) -> PageReading:
    """Reads a page of a forum. Never raises for a page's contents.

    The kind of page is chosen by the scores of hand-written rules and trained models (see
    `TwoReadings`).

    Parameters
    ----------
    html, url : the page and its address.
    fetched_at : time of the fetch, aware; relative times of the page are counted from it.
    hints : if False, the forum software is not recognised and not used as a hint.
    timezone, day_first : of the site (IANA name), for times without zone and dates such as
        3/4/2026; None: not known.
    expect : the kind of page that the site's model expects at this address; it decides close cases.
    rules : the operator's corrections. If one is invalid, or takes more than its limit of time and
        memory, the page is read without them, with the evidence "uncorrected".
    counts_posts : whether the numbers in the site's lists are posts (True) or replies (False); None
        if not known.
    known : the shapes of links on the site's other lists (see `shapes_of`), used only if `expect`
        is a list of threads. They tell which groups of links are thread titles and which are not.
    former : hosts (see `host_of`) that redirect to the site's; links to them are the site's own.

    Returns
    -------
    reading : kind, records, links to further pages, doubts and evidence. Of a page that exceeds the
        limits of size, links or text the beginning is read, with the evidence "cut"; no limit is
        one of time.
    """
    return read_regions(
        html,
        url,
        fetched_at,
        hints=hints,
        timezone=timezone,
        day_first=day_first,
        expect=expect,
        rules=rules,
        counts_posts=counts_posts,
        known=known,
        former=former,
    )[0]


def read_regions(
    html: str | bytes,
    url: str,
    fetched_at: datetime,
    *,
    hints: bool = True,
    timezone: str = "UTC",
    day_first: bool | None = None,
    expect: PageKind | None = None,
    rules: SiteCorrections | None = None,
    counts_posts: bool | None = None,
    known: Shapes = _NO_SHAPES,
    former: frozenset[str] = frozenset(),
    seconds: float | None = None,
) -> tuple[PageReading, tuple[HtmlElement, ...]]:
    """Reads a page as `read_page` does, and also returns the element of each record.

    Parameters
    ----------
    html, url, fetched_at, … : as of `read_page`.
    seconds : has no effect. It is taken for scripts written for 0.1.0, where it limited the CPU
        time; what limits reading now is the size of the page.

    Returns
    -------
    reading, elements : the elements are in the order of the records and belong to one tree: the row
        of a thread or board (the first element if several form one record), or the element around a
        post.
    """
    page = Page(html, url, fetched_at, timezone, day_first, former)
    page.is_thread_address &= expect is not PageKind.threadlist
    engine = engine_of(page, page.source) if hints else "unknown"
    stated, problem = None, ""
    try:
        stated = rules.kind_of(url) if rules else None
    except ValueError as error:
        rules, problem = None, str(error)
    expected = expect or expected_kind(engine, url)
    second = TwoReadings(
        page, shipped(), known=known if expect is PageKind.threadlist else _NO_SHAPES
    )
    shares = second.kind_shares(expected)
    agreed = stated or second.agreed(expect)
    told = "" if agreed or expect not in (None, PageKind.thread) else second.told_thread
    kind = PageKind.thread if told else agreed or second.final_kind(shares, expected)
    evidence = ("stated",) if stated else _by_shapes(second) if kind is expect else ()
    evidence = (told,) if told else evidence
    try:
        read = read_as(second, kind, rules.for_kind(kind) if rules else None)
    except ValueError as error:
        read, problem = read_as(second, kind), str(error)
    doubt = doubt_of(second, shares, read.reading, bool(evidence))
    if counts_posts is not None and kind is PageKind.threadlist:
        read = read._replace(
            reading=replace(
                read.reading, records=tuple(_counted(read.reading.records, counts_posts))
            )
        )
    elsewhere = _elsewhere(page, read.reading)
    doubts = [
        *([problem] if problem else []),
        *doubt.doubts,
        *(["Only the beginning of the page was read."] if page.is_cut else []),
        *([_ELSEWHERE] if elsewhere else []),
    ]
    links = find_pages(page.root, url, _own_pages(kind, url))
    codes = (*([CUT] if page.is_cut else []), *([UNCORRECTED] if problem else []))
    reading = replace(
        read.reading,
        next=links.next,
        next_links=links.next_links,
        pages=links.pages,
        last=links.last,
        current=links.current,
        numbered=links.numbered,
        engine=engine,
        confidence=doubt.confidence,
        complete=doubt.complete and len(doubts) == len(doubt.doubts),
        doubts=tuple(doubts),
        evidence=(*evidence, *codes),
        utc_offsets=tuple(sorted(page.offsets.items())),
        elsewhere=elsewhere,
    )
    return reading, read.elements


def _elsewhere(page: Page, reading: PageReading) -> tuple[str, ...]:
    """Returns the links that a list of threads leaves out although they are in the places of its
    titles and have the same form of address on another host."""
    if reading.kind is not PageKind.threadlist:
        return ()
    urls = {record.url for record in reading.records if isinstance(record, ThreadRecord)}
    forms = {_place(page, link) for link in page.links if link.is_local and link.url in urls}
    others = (link for link in page.links if not link.is_local and link.url not in urls)
    return tuple(dict.fromkeys(link.url for link in others if _place(page, link) in forms))


def _place(page: Page, link: Link) -> tuple[int, str]:
    return page.outline.paths[link.node], link.pattern.partition("/")[2]


def _by_shapes(second: TwoReadings) -> tuple[str, ...]:
    """Returns the evidence code saying that the shapes of links on the site's other lists decided
    the reading, as a tuple of one; () if they decided nothing."""
    return (
        ("known_titles",)
        if second.has_known_titles
        else ("known_others",)
        if second.has_only_others
        else ()
    )


def _own_pages(kind: PageKind, url: str) -> Callable[[str], bool]:
    """Returns a function that tells whether an address may be a further page of the page at `url`.
    If the page is a thread whose id is in its address, only addresses with this id pass, so that
    page links of the board shown above are not taken for the thread's. Otherwise all addresses
    pass."""
    own = thread_key(url)
    if kind is not PageKind.thread or " t:" not in own:
        return lambda _other: True
    return lambda other: thread_key(other) == own


def read_as(second: TwoReadings, kind: PageKind, rules: KindRules | None = None) -> Read:
    """Reads the page as one kind, whether or not it is of that kind, and applies the operator's
    `rules` for this kind.

    `second` holds the page and its candidate readings. The reading has no records if none were
    found or `kind` is `other`.
    """
    page = second.page
    base = PageReading(kind, title=_title(page))
    if kind is PageKind.threadlist:
        return _thread_list(second, base, rules)
    if kind is PageKind.index:
        return _index(page, second.boards, base, rules)
    if kind is PageKind.thread:
        posts = [] if second.are_posts_elsewhere else _posts(page, second)
        posts = posts or (list(second.posts.records()) if second.posts else [])
        posts = [second.mail] if second.mail else second.marked.over(posts)
        if rules:
            posts = corrected(page, rules, PostRecord(None, None, ""), posts)
        records = tuple(post for _, post in posts)
        address = _thread_address(page)
        elements = tuple(element for element, _ in posts)
        reading = replace(
            base,
            records=records,
            thread_id=thread_key(address or page.url).partition(" ")[2] or None,
            address=address,
            board_url=_board_above(page, elements[0]) if elements else None,
        )
        return Read(reading, elements)
    return Read(base, ())


def _thread_address(page: Page) -> str | None:
    """Returns the address of the thread of a page whose own address names only a post: the one that
    the page declares as its own, or to which its title is linked. None for other pages."""
    if not names_post(page.url):
        return None
    declared = [page.absolute(url) for url in page.root.xpath("//link[@rel='canonical']/@href")]
    titled = [link.url for link in page.links if link.is_local and link.text in page.own_titles]
    return next(
        (
            first_page(url)
            for url in (*declared, *titled)
            if not names_post(url) and leads_to(patterns([url])[url]) == "thread"
        ),
        None,
    )


def _board_above(page: Page, first: HtmlElement) -> str | None:
    """Returns the address of the last board that is linked above the first post."""
    end = next((n for n, one in enumerate(page.outline.elements) if one is first), 0)
    boards = (
        link.url
        for link in reversed(page.links_in(0, end))
        if link.is_local and not link.is_user and leads_to(link.pattern) == "board"
    )
    return next(boards, None)


def _index(page: Page, found: RowSet | None, base: PageReading, rules: KindRules | None) -> Read:
    rows = BoardRows(found) if found else None
    pairs = list(zip(_elements(page, rows.rows), rows.records(), strict=True)) if rows else []
    if rules:
        pairs = corrected(page, rules, BoardRecord("", ""), pairs)
    reading = replace(
        base,
        records=tuple(board for _, board in pairs),
        boards=tuple(rows.sub_boards()) if rows else (),
    )
    return Read(reading, tuple(element for element, _ in pairs))


def _counted(records: Records, counts_posts: bool) -> Iterator[ThreadRecord]:
    """Yields the thread records with `replies` recomputed for a site whose lists are known to count
    posts (`counts_posts` True) or replies (False). Knowledge of the whole site overrides what the
    single page suggested.
    """
    for record in records:
        if isinstance(record, ThreadRecord) and record.replies is not None:
            shown = record.replies + bool(record.counts_posts)
            record = replace(
                record,
                replies=max(0, shown - 1) if counts_posts else shown,
                counts_posts=counts_posts,
            )
        if isinstance(record, ThreadRecord):
            yield record


def _elements(page: Page, rows: list[Row]) -> list[HtmlElement]:
    return [page.outline.elements[row.record[0]] for row in rows]


def _thread_list(second: TwoReadings, base: PageReading, rules: KindRules | None) -> Read:
    page, found, rows = second.page, second.lists, second.threads
    pairs = (
        list(zip(_elements(page, rows.rows), ThreadRows(rows).records(), strict=True))
        if rows
        else []
    )
    if rules:
        pairs = corrected(page, rules, ThreadRecord("", ""), pairs)
    boards: list[BoardRecord] = []
    if (
        found.boards
        and found.boards.quality >= MIN_QUALITY
        and not (rows and inside(found.boards, rows))
    ):
        boards = BoardRows(found.boards).records()
    records = tuple(record for _, record in pairs)
    reading = replace(
        base,
        records=records,
        boards=tuple(boards),
        shapes=shapes_of(page, [row.title for row in rows.rows]) if rows else _NO_SHAPES,
        sort=sort_of(list(records)),
        board_url=board_address([record.board_url for record in records if record.board_url]),
    )
    return Read(reading, tuple(element for element, _ in pairs))


def _posts(page: Page, second: TwoReadings) -> list[tuple[HtmlElement, PostRecord]]:
    found = second.found
    if not found.posts or found.posts.quality * 1.8 < MIN_QUALITY:
        return []
    opening = opening_post(page, found.posts)
    only = None if opening or len(found.posts.spans) > 1 else _only_reply(page, found)
    parts = [posts for posts in (opening, second.with_texts(found.posts), only) if posts]
    return [pair for posts in parts for pair in PostRows(posts).records()]


def _only_reply(page: Page, found: BestCandidates) -> PostSet | None:
    """Returns the single reply on a page whose first post has a different structure; None if there
    is none.

    Candidates are the sets of a single post that come after the first post and have at least 60 %
    of its quality. The post must certainly have an author, or a class or id that calls it a post.
    The first of these sets in page order is returned.
    """
    assert found.posts is not None  # noqa: S101 - asked only for a page with posts
    end, best = found.posts.spans[0].end, 0.6 * found.posts.quality
    later = [
        posts
        for posts in found.others
        if len(posts.spans) == 1
        and posts.spans[0].start >= end
        and posts.quality >= best
        and posts.plain_share >= 0.5
        and (
            posts.is_sure(0)
            or posts.has_byline(0)
            and posts.writers[0] is not None
            or _is_marked_post(page, posts)
        )
    ]
    return min(later, key=lambda posts: posts.spans[0].start, default=None)


def _is_marked_post(page: Page, posts: PostSet) -> bool:
    """Tells whether the class or id of the only post's element, or of that element's parent, says
    comment, reply or post."""
    node = posts.spans[0].start
    return any(
        page.roles_of(at) & {"comments", "replies", "posts"}
        for at in (node, page.outline.parents[node])
        if at >= 0
    )


def _title(page: Page) -> str:
    """Returns the title of the page: the first heading that the document's `<title>` contains,
    otherwise that `<title>`."""
    for heading in page.headings:
        if 2 < len(heading) <= 200 and heading.casefold() in page.title.casefold():
            return heading
    return page.title
