"""`read_page`: from the bytes of a page to its reading."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from lxml.html import HtmlElement

from crawlmgr.web.pagination import find_pages
from crawlmgr.web.records import Outline
from forums.reading.addresses import leads_to, names_board, thread_key
from forums.reading.boardrows import BoardRows
from forums.reading.document import Page
from forums.reading.engines import engine_of, expected_kind
from forums.reading.lists import RowSet, row_sets
from forums.reading.model import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord
from forums.reading.postrows import PostRows, opening_post
from forums.reading.posts import PostSet, post_sets
from forums.reading.rows import Row
from forums.reading.rules import KindRules, SiteRules, corrected
from forums.reading.threadrows import ThreadRows, board_address, sort_of
from forums.reading.words import class_roles

ENOUGH = 0.45  # quality below which rows or posts are not believed


class _Read(NamedTuple):
    """A reading and the elements of its records."""

    reading: PageReading
    elements: tuple[HtmlElement, ...]


@dataclass
class _Choice:
    """What a page may be, weighed."""

    threads: RowSet | None = None
    boards: RowSet | None = None
    posts: PostSet | None = None
    others: tuple[PostSet, ...] = ()


def read_page(
    html: str | bytes,
    url: str,
    fetched_at: datetime,
    *,
    hints: bool = True,
    timezone: str = "UTC",
    day_first: bool | None = None,
    expect: PageKind | None = None,
    rules: SiteRules | None = None,
) -> PageReading:
    """What the page at `url`, fetched at `fetched_at` (aware), shows. Never raises for what the page holds.

    Read by content: rows of links alike are weighed as boards or threads by what they hold, records around times as
    posts; the strongest reading gives the kind. `timezone` (IANA name) and `day_first` are the site's for times that do
    not say; `hints` lets known engines add certainty; `expect` is the kind that the site's model expects at this
    address and tips the scales where they are even; `rules` are the operator's corrections.
    """
    return read_regions(
        html, url, fetched_at, hints=hints, timezone=timezone, day_first=day_first, expect=expect, rules=rules
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
    rules: SiteRules | None = None,
) -> tuple[PageReading, tuple[HtmlElement, ...]]:
    """`read_page`, and the element of each record in the order of the records, all of one tree: the row that names a
    thread or board (the first of several that make one record), the block of a post."""
    page = Page(html, url, fetched_at, timezone, day_first)
    engine = engine_of(page, page.source) if hints else "unknown"
    stated = rules.kind_of(url) if rules else None
    found = _weigh(page)
    kind, confidence, evidence = _decide(page, found, expect or expected_kind(engine, url))
    if stated:
        kind, confidence, evidence = stated, 1.0, ("stated",)
    read = _read(page, found, kind, rules.for_kind(kind) if rules else None)
    links = find_pages(page.root, url)
    reading = replace(
        read.reading,
        next=links.next,
        pages=links.pages,
        last=links.last,
        current=links.current,
        engine=engine,
        confidence=confidence,
        evidence=evidence,
        utc_offsets=tuple(sorted(page.offsets.items())),
    )
    return reading, read.elements


def _weigh(page: Page) -> _Choice:
    posts = post_sets(page)
    sets = [rows for rows in row_sets(page) if not (posts and _in_texts(rows, posts[0]))]
    threads = [rows for rows in sets if rows.board_weight <= 0 and not rows.rows[0].title.is_user]
    boards = [rows for rows in sets if rows.board_weight > 0 and not any(_labels(rows, other) for other in threads)]
    return _Choice(_best(threads), _best(boards), posts[0] if posts else None, tuple(posts[1:]))


def _best(sets: list[RowSet]) -> RowSet | None:
    """The best of several lists of one kind: of nested ones the inner, where it has more rows."""
    if not sets:
        return None
    best = sets[0]
    for other in sets[1:]:
        if other.quality < 0.6 * best.quality or len(other.rows) <= len(best.rows):
            continue
        inside = sum(any(start <= row.start and row.end <= end for start, end in best.group.spans) for row in other.rows)
        if inside >= 0.6 * len(other.rows) and leads_to(other.group.pattern) == leads_to(best.group.pattern):
            best = other
    return best


def _in_texts(rows: RowSet, posts: PostSet) -> bool:
    """Whether the links that name the rows stand in, or after, the texts of posts: links of what people wrote."""
    if posts.quality < 0.7 or posts.own_words < 0.6 or (len(posts.spans) < 2 and " t:" not in rows.page.key):
        return False
    within, page = 0, rows.page.outline
    for row in rows.rows:
        at = bisect_left([span.start for span in posts.spans], row.title.node + 1) - 1
        body = posts.bodies[at] if at >= 0 else None
        if body is None or not posts.spans[at].holds(row.title.node):
            continue
        node, inside = row.title.node, page.contains(body, row.title.node)
        if (
            inside
            and (page.piece_from[node] > page.piece_from[body] or _is_quoted(page, node, body))
            or not inside
            and node > body
            and " t:" in rows.page.key
        ):
            within += 1
    return within >= 0.6 * len(rows.rows)


def _is_quoted(page: Outline, node: int, body: int) -> bool:
    """Whether a node stands in a quote inside a text."""
    while node > body:
        if page.tags[node] == "blockquote" or "quote" in class_roles(page.classes[node]):
            return True
        node = page.parents[node]
    return False


def _labels(boards: RowSet, threads: RowSet) -> bool:
    """Whether supposed boards only label the rows of a list of threads: they stand after its titles, and the same
    board in several rows."""
    if len(threads.rows) < 2 or threads.quality < ENOUGH:
        return False
    keys, after, named = set(), 0, 0
    for row in threads.rows:
        link = next((link for link in row.links if link.pattern == boards.group.pattern), None)
        if link is not None:
            named += 1
            keys.add(link.key)
            after += link.node > row.title.node
    return named >= 0.6 * len(threads.rows) and (len(keys) < named or (after == named and len(boards.rows) <= len(threads.rows)))


def _inside(inner: RowSet, outer: RowSet) -> bool:
    """Whether the links that name the rows of one list stand in the rows of another."""
    spans = outer.group.spans
    within = sum(any(start <= row.title.node < end for start, end in spans) for row in inner.rows)
    return within >= 0.7 * len(inner.rows)


def _decide(page: Page, found: _Choice, expect: PageKind | None) -> tuple[PageKind, float, tuple[str, ...]]:
    """The kind of the page, how sure it is, and what decided."""
    threads = found.threads.quality if found.threads else 0.0
    boards = found.boards.quality if found.boards else 0.0
    posts = found.posts.quality * 1.3 if found.posts else 0.0
    evidence = []
    if found.threads and found.boards and _inside(found.threads, found.boards):
        threads *= 0.3
        evidence.append("threads-in-boards")
    if found.boards and found.threads and found.boards.quality and threads >= ENOUGH and len(found.threads.rows) >= 3:
        own = names_board(page.board_key)
        boards *= 0.7 if own else 1.0
        if own:
            evidence.append("board-address")
    lead = leads_to(page.url.partition("://")[2])
    if " t:" in page.key:
        posts *= 1.4
        threads *= 0.6
        evidence.append("thread-address")
    if " t:" in page.key:
        boards *= 0.6
    if found.posts and found.threads and _posts_are_rows(found.posts, found.threads):
        posts *= 0.3
        evidence.append("rows-not-posts")
    if found.posts and found.boards and _posts_are_rows(found.posts, found.boards):
        posts *= 0.3
    if found.boards and len(found.boards.rows) < 2:
        boards *= 0.6
    values = {PageKind.threadlist: threads, PageKind.index: boards, PageKind.thread: posts}
    if expect in values and values[expect] >= 0.5 * ENOUGH:
        values[expect] *= 1.5
    kind = max(values, key=lambda name: values[name])
    best = values[kind]
    if best < ENOUGH:
        if " t:" in page.key and lead == "thread":
            return PageKind.thread, 0.3, ("address-only",)
        return PageKind.other, min(1.0, 1 - best), tuple(evidence)
    second = sorted(values.values())[-2]
    return kind, round(min(1.0, best) * min(1.0, 0.5 + (best - second)), 3), tuple(evidence)


def _posts_are_rows(posts: PostSet, rows: RowSet) -> bool:
    """Whether the supposed posts are rows of a list: each in its own row, with a link of the list as its text."""
    if len(rows.rows) < 2 and posts.own_words >= 0.5:
        return False
    spans = rows.group.spans
    inside = sum(any(start <= span.anchor.node < end for start, end in spans) for span in posts.spans)
    return inside >= 0.7 * len(posts.spans)


def _read(page: Page, found: _Choice, kind: PageKind, rules: KindRules | None) -> _Read:
    base = PageReading(kind, title=_title(page))
    if kind is PageKind.threadlist:
        return _thread_list(page, found, base, rules)
    if kind is PageKind.index:
        return _index(page, found, base, rules)
    if kind is PageKind.thread:
        posts = _posts(page, found)
        if rules:
            posts = corrected(page, rules, PostRecord(None, None, ""), posts)
        records = tuple(post for _, post in posts)
        thread_id = thread_key(page.url).partition(" ")[2] or None
        return _Read(replace(base, records=records, thread_id=thread_id), tuple(element for element, _ in posts))
    return _Read(base, ())


def _index(page: Page, found: _Choice, base: PageReading, rules: KindRules | None) -> _Read:
    rows = BoardRows(found.boards) if found.boards else None
    pairs = list(zip(_elements(page, rows.rows), rows.records(), strict=True)) if rows else []
    if rules:
        pairs = corrected(page, rules, BoardRecord("", ""), pairs)
    reading = replace(base, records=tuple(board for _, board in pairs), boards=tuple(rows.sub_boards()) if rows else ())
    return _Read(reading, tuple(element for element, _ in pairs))


def _elements(page: Page, rows: list[Row]) -> list[HtmlElement]:
    return [page.outline.elements[row.record[0]] for row in rows]


def _thread_list(page: Page, found: _Choice, base: PageReading, rules: KindRules | None) -> _Read:
    rows = found.threads
    pairs = list(zip(_elements(page, rows.rows), ThreadRows(rows).records(), strict=True)) if rows else []
    if rules:
        pairs = corrected(page, rules, ThreadRecord("", ""), pairs)
    boards: list[BoardRecord] = []
    if found.boards and found.boards.quality >= ENOUGH and not (found.threads and _inside(found.boards, found.threads)):
        boards = BoardRows(found.boards).records()
    records = tuple(record for _, record in pairs)
    reading = replace(
        base,
        records=records,
        boards=tuple(boards),
        sort=sort_of(list(records)),
        board_url=board_address([record.board_url for record in records if record.board_url]),
    )
    return _Read(reading, tuple(element for element, _ in pairs))


def _posts(page: Page, found: _Choice) -> list[tuple[HtmlElement, PostRecord]]:
    if not found.posts or found.posts.quality * 1.8 < ENOUGH:
        return []
    opening = opening_post(page, found.posts)
    return [*(PostRows(opening).records() if opening else []), *PostRows(found.posts).records()]


def _title(page: Page) -> str:
    """The title of the page: its first heading where the document's title contains it, else the document's title."""
    for heading in page.headings:
        if 2 < len(heading) <= 200 and heading.casefold() in page.title.casefold():
            return heading
    return page.title
