"""What several pages of a sample show together: the site's name, its time zone, and how the
addresses of further pages are formed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from crawlmgr.text.dates import Moment
from crawlmgr.text.dates_zones import ZoneGuess, guess_timezone_offset
from crawlmgr.web.next_page.pagination_urls import address, relation, similarity, slots
from forums.discovery import pagers
from forums.discovery.model import ClaimResult, PageNumbering
from forums.discovery.pagers import Pager
from forums.discovery.pages import PageFacts
from forums.reading import PageKind, PostRecord, ThreadRecord, thread_key

_TITLE_PARTS = re.compile(r"\s+[-–—|·•:»]+\s+|\s*[|»·•]\s*|\s+::\s+|_")
_NOT_A_NAME = re.compile(
    r"(?:board |forum )?index(?: page)?|forums?|home(?: ?page)?|board|powered by"
    r" .*|页面|首页|论坛|論壇|论坛首页|foren-?übersicht"
    r"|startseite|index du forum|accueil|foro|inicio|список форумов|главная(?:"
    r" страница)?|フォーラム|トップ|recent discussions"
    r"|latest(?: topics)?|all (?:discussions|categories|topics)|categories|page \d+|第 ?\d+ ?页",
    re.I,
)


def site_name(pages: Sequence[PageFacts], root: PageFacts | None, host: str) -> str:
    """Returns the site's name: as most pages state it, otherwise the common beginning or end of
    most titles, otherwise the title of its root page, otherwise `host`."""
    told = Counter(page.site_name for page in pages if page.site_name)
    if told:
        return told.most_common(1)[0][0]
    parts: Counter[str] = Counter()
    titles = {title for page in pages for title in page.titles if _TITLE_PARTS.search(title)}
    for title in titles:
        split = [part.strip() for part in _TITLE_PARTS.split(title) if part.strip()]
        parts.update({split[0], split[-1]})
    common = [
        part
        for part, n in parts.most_common(3)
        if n >= max(2, 0.6 * len(titles)) and not _NOT_A_NAME.fullmatch(part)
    ]
    if common:
        return common[0]
    for title in root.titles if root is not None else ():
        for part in _TITLE_PARTS.split(title):
            if part.strip() and not _NOT_A_NAME.fullmatch(part.strip()):
                return part.strip()[:200]
    return host


def counts_posts(pages: Sequence[PageFacts]) -> bool | None:
    """Tells whether the site's lists count posts (True) or replies (False), by comparing the count
    in a thread's row with its posts where the whole thread is on one page of the sample. None
    unless at least two threads, and 80 % of those compared, agree."""
    shown = {
        thread_key(record.url): record.replies + bool(record.counts_posts)
        for page in pages
        for record in page.reading.records
        if isinstance(record, ThreadRecord) and record.replies is not None
    }
    votes: Counter[bool] = Counter()
    for page in pages:
        posts = sum(isinstance(record, PostRecord) for record in page.reading.records)
        count = shown.get(thread_key(page.url))
        whole = (
            not page.reading.next
            and (page.reading.current or 1) == 1
            and len(page.reading.pages) <= 1
        )
        if posts and whole and count is not None and posts - 1 <= count <= posts:
            votes[count == posts] += 1
    if not votes:
        return None
    answer, number = votes.most_common(1)[0]
    return answer if number >= 2 and number >= 0.8 * votes.total() else None


def pager_lessons(pages: Sequence[PageFacts]) -> list[ClaimResult]:
    """Returns two results: how often the next page of a list of threads had new rows ("next_list"),
    and how often the next page of a thread had new posts ("next_thread"). Only next-page links
    whose target is in the sample are counted; a kind of page without any has no result."""
    names = {PageKind.threadlist: "next_list", PageKind.thread: "next_thread"}
    best = pagers.chosen(pages)
    used: dict[PageKind, Pager] = {}
    for pager in pagers.tested(pages):
        used.setdefault(pager.kind, best.get(pager.kind, pager))
    return [
        ClaimResult(names[kind], one.kept, one.tried, one.source if kind in best else "")
        for kind, one in used.items()
    ]


def zone_guess(pages: Sequence[PageFacts]) -> ZoneGuess:
    """Guesses the time zone of a site from its pages, whose times must have been read as if they
    were UTC."""
    latest = max((page.fetched_at for page in pages), default=None)
    if latest is None:
        return ZoneGuess("UTC", 0, "none", 0.0)
    ahead = max((_ahead_seconds(page) for page in pages), default=0.0)
    newest = max(
        (
            value
            for page in pages
            for value in _local_times(page)
            if (value - page.fetched_at).total_seconds() == ahead
        ),
        default=None,
    )
    languages = Counter(page.language for page in pages if page.language)
    return guess_timezone_offset(
        max((page.fetched_at for page in pages if _ahead_seconds(page) == ahead), default=latest),
        [text for page in pages for text in page.stated],
        [pair for page in pages for pair in page.pairs],
        newest,
        languages.most_common(1)[0][0] if languages else "",
        sorted({value for page in pages for value in _local_times(page)}, reverse=True)[:20],
    )


def _local_times(page: PageFacts) -> Iterator[datetime]:
    for record in page.reading.records:
        moments: tuple[Moment | None, ...]
        if isinstance(record, PostRecord):
            moments = (record.posted,)
        elif isinstance(record, ThreadRecord):
            moments = (record.last_reply, record.created)
        else:
            moments = (record.last_reply,)
        yield from (
            moment.value for moment in moments if moment is not None and not moment.relative
        )


def _ahead_seconds(page: PageFacts) -> float:
    return max(
        ((value - page.fetched_at).total_seconds() for value in _local_times(page)),
        default=-14 * 3600.0,
    )


def page_numbering(chains: Iterable[Sequence[str]]) -> PageNumbering | None:
    """Returns how addresses of further pages are formed, from chains of addresses of a first,
    second and (if known) third page: the most frequent result, None if there is none."""
    answers = Counter(answer for chain in chains if (answer := _numbering_of(chain)) is not None)
    return answers.most_common(1)[0][0] if answers else None


def _numbering_of(chain: Sequence[str]) -> PageNumbering | None:
    if len(chain) < 2:
        return None
    first, second = address(chain[0]), address(chain[1])
    options = [slot for slot in slots(second) if similarity(slot.template, first) >= 0.99]
    options.sort(key=lambda slot: not slot.named)
    for slot in options:
        points = [(2, slot.number)]
        points += [
            (3, third.number)
            for url in chain[2:3]
            for third in slots(address(url))
            if third.template == slot.template
        ]
        found = relation(points, slot.named)
        if found is not None:
            return PageNumbering(_difference(chain[0], chain[1], slot.number), *found)
    return PageNumbering(_difference(chain[0], chain[1], None), cursor=True)


def _difference(first: str, second: str, number: int | None) -> str:
    """Returns the part of the address `second` that `first` lacks, with the page number written as
    {n}; without a number, parameter values are written as {cursor}."""
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    while start and second[start - 1].isalnum() and second[start : start + 1].isalnum():
        start -= 1  # so that the part does not begin within a word or number
    start -= start > 0 and second[start - 1] in "?&/-_"
    tail = second[max(0, start) :]
    if number is None:
        return re.sub(r"=[^&]*", "={cursor}", tail)
    return re.sub(rf"(?<!\d){number}(?!\d)(?!.*(?<!\d){number}(?!\d))", "{n}", tail)
