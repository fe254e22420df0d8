"""Claims: statements about which a list and the pages of its threads must agree (such as the number
of replies), and how often each holds on a sample; and the threads that a sample shows twice, as a
row of a list and as pages of their own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from lxml.html import HtmlElement

from crawlmgr.text.dates import Moment
from forums.discovery.correction_page import selectors
from forums.discovery.pages import FetchedPage, PageFacts
from forums.reading import PageKind, PostRecord, ThreadRecord, read_regions, thread_key
from forums.reading.addresses import names_user
from forums.reading.corrections import value_of
from forums.reading.document import Page
from forums.selectors.child import select


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


CLAIMS = ("replies", "author", "last_author", "last_reply", "created", "title", "order")


MINUTE_SECONDS = 60


# posts are in order of time if at least this share of the steps between them go in one direction
IN_ORDER = 0.9


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a claim held: in `kept` of `of` cases. `choice`: the reading for which it held, if
    there are several ("posts" or "replies" for what a list counts)."""

    claim: str
    kept: int
    of: int
    choice: str = ""

    @property
    def share(self) -> float:
        """The share of the cases in which the claim held, in [0, 1]; 1 without cases."""
        return self.kept / self.of if self.of else 1.0


def tallies(seen: Sequence[Seen]) -> list[Tally]:
    """Returns for each claim (such as "the list shows the right number of replies") in how many of
    the cases in the sample it held; claims that no case can test are left out."""
    found = [
        _replies(seen),
        _held(
            "author",
            [
                thread.row.author == thread.posts[0].author
                for thread in seen
                if _both(thread.row, thread.posts[0])
            ],
        ),
        _held(
            "last_author",
            [
                t.row.last_author == t.posts[-1].author
                for t in seen
                if t.whole and t.row.last_author
            ],
        ),
        _held(
            "last_reply",
            [
                same
                for t in seen
                if t.whole and (same := agree(t.row.last_reply, newest(t.posts))) is not None
            ],
        ),
        _held(
            "created",
            [same for t in seen if (same := agree(t.row.created, t.posts[0].posted)) is not None],
        ),
        _held("title", [_titled(t) for t in seen]),
        _held("order", [told for page in pages_of(seen) if (told := in_order(page)) is not None]),
    ]
    return [tally for tally in found if tally.of]


def _both(row: object, post: PostRecord) -> bool:
    return bool(getattr(row, "author", None) and post.author)


def _held(claim: str, cases: Sequence[bool]) -> Tally:
    return Tally(claim, sum(cases), len(cases))


def _replies(seen: Iterable[Seen]) -> Tally:
    """Finds out whether the numbers in lists count posts or only replies (posts - 1), from the
    threads whose posts are all known. Returns the alternative that is right for more of them, with
    the number of these threads and of all compared.
    """
    votes: Counter[str] = Counter()
    cases = 0
    for thread in seen:
        if not thread.whole or thread.row.replies is None:
            continue
        cases += 1
        over = thread.row.replies + bool(thread.row.counts_posts) - len(thread.posts)
        votes["replies" if over == -1 else "posts" if over == 0 else ""] += 1
    votes.pop("", None)
    choice, kept = votes.most_common(1)[0] if votes else ("", 0)
    return Tally("replies", kept, cases, choice)


def agree(shown: Moment | None, true: Moment | None) -> bool | None:
    """Tells whether the time that a list shows and the true time are equal within their precision;
    None if one is missing."""
    if shown is None or true is None:
        return None
    apart = abs((shown.value - true.value).total_seconds())
    return apart <= MINUTE_SECONDS + shown.precision_seconds + true.precision_seconds


def newest(posts: Sequence[PostRecord]) -> Moment | None:
    """Returns the latest time among the posts; None if no post has a time."""
    return max(
        (post.posted for post in posts if post.posted is not None),
        key=lambda moment: moment.value,
        default=None,
    )


def pages_of(seen: Iterable[Seen]) -> list[PageFacts]:
    """Returns the pages of these threads in the sample, without duplicates."""
    return list({page.key: page for thread in seen for page in thread.pages}.values())


def in_order(page: PageFacts) -> bool | None:
    """Tells whether at least 90 % of the steps between the times on a thread's page rise, or 90 %
    fall; None if fewer than three posts have times."""
    times = [
        record.posted.value
        for record in page.reading.records
        if isinstance(record, PostRecord) and record.posted
    ]
    if len(times) < 3:
        return None
    steps = [(b - a).total_seconds() for a, b in zip(times, times[1:], strict=False)]
    up, down = (
        sum(step >= -MINUTE_SECONDS for step in steps),
        sum(step <= MINUTE_SECONDS for step in steps),
    )
    return max(up, down) >= IN_ORDER * len(steps)


def _titled(thread: Seen) -> bool:
    """Tells whether the first page of a thread shows the title that its row has, possibly
    shortened."""
    title = " ".join(thread.row.title.split()).rstrip(".… ").casefold()
    page = thread.pages[0]
    told = [page.reading.title, *page.titles]
    return any(title and title in " ".join(one.split()).casefold() for one in told)


# selectors are derived from the texts of at most this many rows or posts, spread over the sample
MAX_FROM = 3
LONGEST_NAME = 60
# addresses of login and registration links: they look like links to user profiles, but are none
_NOBODY = re.compile(r"log-?(?:in|out|on)|sign-?(?:in|up|out)|regist|password", re.I)


@dataclass(frozen=True, slots=True)
class Region:
    """One record of a page: its element, the page (needed to parse values), and the record as read
    without selectors."""

    page: Page
    element: HtmlElement
    record: Any

    def value(self, role: str, selector: str) -> Any:
        """Returns the value of the field `role` that a selector finds in the record; selector ""
        stands for the value read without a selector. None if nothing is found."""
        if not selector:
            return getattr(self.record, role, None)
        try:
            return value_of(self.page, role, select(self.element, selector))
        except ValueError:
            return None

    def profile(self) -> str:
        """Returns the first address of a user's profile in the record, "" for none."""
        for link in self.element.iter("a"):
            href: str = urljoin(self.page.url, link.get("href") or "")
            if href and names_user(href) and not _NOBODY.search(href):
                return href.partition("#")[0]
        return ""


def regions(fetched: FetchedPage, kind: PageKind) -> list[Region]:
    """Returns the records of a fetched page, each with its element; [] unless the page is read as
    `kind`."""
    reading, elements = read_regions(
        fetched.html, fetched.final_url, fetched.fetched_at, expect=kind
    )
    if reading.kind is not kind:
        return []
    page = Page(fetched.html, fetched.final_url, fetched.fetched_at)
    return [
        Region(page, element, record)
        for element, record in zip(elements, reading.records, strict=False)
    ]


def selectors_to_compare(some: Sequence[Region], longest: int = LONGEST_NAME) -> list[str]:
    """Returns the selectors to compare: "", which stands for reading without a selector, and
    selectors of the elements whose text has up to `longest` characters, taken from at most MAX_FROM
    of the records `some`."""
    elements = [one.element for one in some][:12]
    found: dict[str, None] = {"": None}
    step = max(1, len(some) // MAX_FROM)
    for one in some[::step][:MAX_FROM]:
        found.update(dict.fromkeys(selectors(one.element, elements, longest)))
    return list(found)


def one_name_each(pairs: Iterable[tuple[Any, str]]) -> float | None:
    """Returns the share of the pairs (name, profile address) that belong together exclusively: the
    name occurs with no other address, and no other name occurs more often with the address. None if
    fewer than three pairs have both parts, or if there is only one address."""
    told = [(str(name), profile) for name, profile in pairs if name and profile]
    if len(told) < 3 or len({profile for _name, profile in told}) < 2:
        return None
    names: dict[str, Counter[str]] = {}
    profiles: dict[str, Counter[str]] = {}
    for name, profile in told:
        names.setdefault(name, Counter())[profile] += 1
        profiles.setdefault(profile, Counter())[name] += 1
    kept = sum(
        names[name].most_common(1)[0][0] == profile
        and len(names[name]) == 1
        and profiles[profile].most_common(1)[0][0] == name
        for name, profile in told
    )
    return kept / len(told)
