"""Checks how a site's pages are read by comparing related sample pages (a list and its threads):
tests claims such as "the number of replies is right", and for each false claim looks for a selector
that reads the field correctly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from crawlmgr.text.dates import Moment
from forums.discovery.claims import (
    Region,
    Seen,
    Tally,
    agree,
    newest,
    one_name_each,
    regions,
    selectors_to_compare,
    tallies,
    threads_seen,
)
from forums.discovery.model import ClaimResult
from forums.discovery.pages import FetchedPage, PageFacts
from forums.reading import PageKind, thread_key
from forums.reading.corrections import NOTHING, KindRules, SiteCorrections
from forums.reading.values import count

FEWEST = (
    3  # the reading of a field is replaced only if at least this many threads could be compared
)
HOLDS = 0.8  # a claim holds if it is right in at least this share of the compared cases
# a selector is used only if its share of agreeing cases exceeds that of the default reading by this
GAIN = 0.2
LITTLE_GAIN = 0.02  # the limit instead of GAIN for a selector whose values agree in all cases
# If the creation times in lists are right in at most this share of the compared threads, and no
# other selector does better, they are not read: the text is probably something else.
WRONG = 1 / 3
COVERS = 0.9
# author names count as right if at least this share of the names has a single profile address each
OF_PEOPLE = 0.97

_Choice = tuple[PageKind, str, str]  # a chosen selector: (kind of page, role, selector)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing lists with the pages of their threads. lessons: how often each claim,
    such as "the number of replies is right", held. rules: selectors for the fields that were read
    wrong without them; None if there are none.
    """

    lessons: tuple[ClaimResult, ...] = ()
    rules: SiteCorrections | None = None


def taught(pages: Sequence[PageFacts], sources: Mapping[str, FetchedPage]) -> Comparison:
    """Compares what a list shows about a thread with the thread's own page, for all threads of
    which the sample has both. Returns how often they agree in each field, and selectors for the
    fields that were read wrong. sources: the fetched pages, by the key of the requested address."""
    # in the order of their addresses: two looks that fetch in another order learn the same
    seen = threads_seen(sorted(pages, key=lambda page: page.asked_key))
    told = {tally.claim: tally for tally in tallies(seen)}
    if not seen:
        return Comparison()
    table = _Table(seen, sources)
    chosen: list[_Choice] = []
    found = _people(table, told)
    chosen += found
    for claim in ("replies", "last_reply", "created"):
        chosen += _field(table, told, claim)
    lessons = tuple(
        ClaimResult(tally.claim, tally.kept, tally.of, tally.choice) for tally in told.values()
    )
    return Comparison(lessons, _rules(chosen) if chosen else None)


def _rules(chosen: Sequence[_Choice]) -> SiteCorrections:
    kinds = dict.fromkeys(kind for kind, _role, _selector in chosen)
    return SiteCorrections(
        tuple(
            (kind, KindRules("", tuple((r, s) for k, r, s in chosen if k is kind)))
            for kind in kinds
        )
    )


class _Table:
    """Gives access to the list rows and the posts of the threads `seen` (those with both a list row
    and pages in the sample), as regions of their pages. The regions of a page are computed when
    first needed."""

    def __init__(self, seen: Sequence[Seen], sources: Mapping[str, FetchedPage]) -> None:
        self.seen = seen
        self._sources = sources
        self._read: dict[str, list[Region]] = {}

    def _regions(self, page: PageFacts) -> list[Region]:
        if page.asked_key not in self._read:
            self._read[page.asked_key] = regions(self._sources[page.asked_key], page.kind)
        return self._read[page.asked_key]

    def rows(self) -> list[Region | None]:
        """Returns for each thread of the sample (`seen`) its row on the page that lists it; None if
        the row was not read."""
        lists = {thread.page.asked_key: thread.page for thread in self.seen}
        by_key = {
            thread_key(one.record.url): one
            for page in lists.values()
            for one in self._regions(page)
        }
        return [by_key.get(thread.key) for thread in self.seen]

    def posts(self) -> list[list[Region]]:
        """Returns for each thread in `seen` its posts."""
        return [
            [one for page in thread.pages for one in self._regions(page)] for thread in self.seen
        ]


def _people(table: _Table, by_claim: dict[str, Tally]) -> list[_Choice]:
    """Returns the selectors to use for authors and last authors; updates the tallies in `by_claim`.

    None are needed if nearly every name has one profile address, every post has an author, and each
    row names that of the first post. Otherwise other pairs of selectors, for posts and for rows,
    are tried.
    """
    posts = table.posts()
    people = one_name_each((one.record.author, one.profile()) for thread in posts for one in thread)
    author = by_claim.get("author", Tally("author", 0, 0))
    if people is not None:
        said = sum(bool(one.record.author and one.profile()) for thread in posts for one in thread)
        by_claim["people"] = Tally("people", round(people * said), said)
    signed = all(one.record.author for thread in posts for one in thread)
    good = (people is None or people >= OF_PEOPLE) and author.share == 1.0 and signed
    if good or len(table.seen) < FEWEST or not all(posts):
        return []
    rows = table.rows()
    best = _best_pair(rows, posts)
    if best is None:
        return []
    post, row, kept, of, share = best
    found: list[_Choice] = []
    if post:
        found.append((PageKind.thread, "author", post))
        if share is not None:
            said = by_claim["people"].of if "people" in by_claim else 0
            by_claim["people"] = Tally("people", round(share * said), said, post)
    if row:
        found.append((PageKind.threadlist, "author", row))
    by_claim["author"] = Tally("author", kept, of, row or post)
    if not of:
        del by_claim["author"]
    return found + _last_author(table, rows, posts, post, by_claim)


def _names(some: Sequence[Region], selector: str) -> list[str]:
    values = [one.value("author", selector) for one in some]
    return [str(value).strip() if value else "" for value in values]


def _named(some: Sequence[Region], values: Sequence[str]) -> bool:
    """Tells whether the values that a selector finds in these records can be names of users: nearly
    all records have one, most are neither times nor counts, and most are not equal."""
    told = [(one.page, value) for one, value in zip(some, values, strict=True) if value]
    names = Counter(value for _page, value in told)
    if len(told) < COVERS * len(values) or len(names) < 2:
        return False
    other = sum(count(value) is not None or bool(page.moment(value)) for page, value in told)
    return other * 2 <= len(told) and max(names.values()) * 3 <= 2 * len(told)


def _titles(values: Sequence[str], titles: Collection[str]) -> bool:
    """Tells whether some of the values that a selector for user names finds are titles of threads
    (`titles`), so it is wrong."""
    return any(value in titles for value in values)


# (selector for names in posts, selector for names in list rows, number of threads in which they
# agree, number of threads compared, share of posts whose author name occurs with a single profile
# address)
_Pair = tuple[str, str, int, int, float | None]
_Names = tuple[list[str], float | None, float]


def _best_pair(rows: Sequence[Region | None], posts: Sequence[Sequence[Region]]) -> _Pair | None:
    """Finds the best selectors for author names, in posts and in rows, rated by how often posts
    have a name, names agree in a thread, and a name has its own profile address. Returns both
    selectors, the numbers of agreeing and of compared threads, and the share by `one_name_each`. If
    only the names in posts are certainly right, the selector for rows is NOTHING (no match). None
    if no pair is good enough and clearly better than no selectors. rows, posts: one entry per
    thread.
    """
    every = [one for thread in posts for one in thread]
    here = [row for row in rows if row is not None]
    of_posts: dict[str, _Names] = {}
    profiles = [one.profile() for one in every]
    titles = {row.record.title.strip() for row in here}
    for selector in selectors_to_compare(every):
        names = _names(every, selector)
        if selector and (not _named(every, names) or _titles(names, titles)):
            continue
        share = one_name_each(zip(names, profiles, strict=True))
        if not selector or share is not None or _varies(posts, selector):
            of_posts[selector] = (
                [names[at] for at in _starts(posts)],
                share,
                fmean(map(bool, names)),
            )
    scored = []
    for row in selectors_to_compare(here):
        told = [one.value("author", row) if one is not None else None for one in rows]
        names = [str(value).strip() if value else "" for value in told]
        shown = [name for name, one in zip(names, rows, strict=True) if one is not None]
        if row and (not _named(here, shown) or _titles(shown, titles)):
            continue
        for post, (firsts, share, signed) in of_posts.items():
            if _worse(of_posts[post], of_posts[""]):
                continue
            cases = [
                name == first for name, first in zip(names, firsts, strict=True) if name or first
            ]
            score = (
                (fmean(cases) if cases else 0.0) + (share if share is not None else 0.5) + signed
            )
            scored.append((score, -len(row) - len(post), post, row, sum(cases), len(cases), share))
    now = next(one for one in scored if one[2:4] == ("", ""))
    best = max(scored)
    perfect = best[4] == best[5] and (best[6] is None or best[6] >= OF_PEOPLE)
    if best[0] < now[0] + (LITTLE_GAIN if perfect else GAIN) or best[5] < FEWEST:
        return None
    if best[4] >= HOLDS * best[5] and (best[6] is None or best[6] >= HOLDS):
        return best[2:]
    alone = best[6] is not None and best[6] >= OF_PEOPLE
    # Only the selector for posts is kept: its names fit the profile links, but no names in list
    # rows agree with them.
    return (best[2], NOTHING, 0, 0, best[6]) if alone else None


def _worse(new: _Names, old: _Names) -> bool:
    """Tells whether other names of posts, each given as (names, share of names with one profile,
    share of posts with a name), fit the profiles less well than the old ones, or sign fewer posts.
    """
    return new[2] < old[2] or (old[1] is not None and (new[1] is None or new[1] < old[1]))


def _starts(posts: Sequence[Sequence[Region]]) -> list[int]:
    """Returns the position of each thread's first post in the list of all threads' posts."""
    starts, at = [], 0
    for thread in posts:
        starts.append(at)
        at += len(thread)
    return starts


def _varies(posts: Sequence[Sequence[Region]], selector: str) -> bool:
    """Tells whether a selector finds more than one value in most threads (of those with at least
    three posts): an author's name differs from post to post, whereas a thread's subject is repeated
    in all of them."""
    several = [thread for thread in posts if len(thread) > 2]
    return sum(len(set(_names(thread, selector))) > 1 for thread in several) * 2 > len(several)


def _last_author(
    table: _Table,
    rows: Sequence[Region | None],
    posts: Sequence[Sequence[Region]],
    post: str,
    tallies: dict[str, Tally],
) -> list[_Choice]:
    cases = [
        (row, _names(thread[-1:], post)[0])
        for seen, row, thread in zip(table.seen, rows, posts, strict=True)
        if row is not None and seen.whole and len(thread) > 1
    ]
    if len(cases) < FEWEST or not any(row.record.last_author for row, _name in cases):
        return []
    shown = [row for row, _name in cases]
    found = {one: _names(shown, one) for one in selectors_to_compare(shown)}
    scored = [
        (
            sum(value == name for value, (_row, name) in zip(values, cases, strict=True)),
            -len(selector),
            selector,
        )
        for selector, values in found.items()
        if not selector or _named(shown, values)
    ]
    kept, _length, selector = max(scored)
    if kept < HOLDS * len(cases):
        # no reading agrees: leave the field empty rather than fill it with a wrong name
        selector = NOTHING
    tallies["last_author"] = Tally("last_author", kept, len(cases), selector)
    return [(PageKind.threadlist, "last_author", selector)] if selector else []


def _field(table: _Table, by_claim: dict[str, Tally], claim: str) -> list[_Choice]:
    """Returns the selector to use for the field `claim` of list rows (a number or time), as a list
    of at most one choice; empty if the field is read well enough without one (HOLDS), or if no
    selector is good enough.

    A good selector agrees with the threads' pages in at least the share HOLDS of threads, and GAIN
    more than without it. If there is none and the creation time is mostly wrong (WRONG), the
    selector is NOTHING (no match). Updates `by_claim`.
    """
    now = by_claim.get(claim)
    if now is None or now.of < FEWEST or now.share >= HOLDS:
        return []
    both = zip(table.rows(), table.seen, strict=True)
    pairs = [
        (row, seen) for row, seen in both if row is not None and (seen.whole or claim == "created")
    ]
    best: tuple[float, int, str, str] = (0.0, 0, "", "")
    for selector in selectors_to_compare([row for row, _seen in pairs]):
        values = [row.value(claim, selector) for row, _seen in pairs]
        if selector and len({str(value) for value in values if value is not None}) < 2:
            continue
        for choice, holds in _READINGS[claim].items():
            kept = sum(
                value is not None and holds(value, seen)
                for value, (_row, seen) in zip(values, pairs, strict=True)
            )
            best = max(best, (kept / len(pairs), -len(selector), selector, choice))
    share, _length, selector, choice = best
    if not selector or share < HOLDS or share < now.share + GAIN:
        wrong = claim == "created" and now.of > FEWEST and now.share <= WRONG
        return [(PageKind.threadlist, claim, NOTHING)] if wrong else []
    by_claim[claim] = Tally(claim, round(share * len(pairs)), len(pairs), choice or selector)
    return [(PageKind.threadlist, claim, selector)]


def _same_time(value: Any, true: Moment | None) -> bool:
    return isinstance(value, Moment) and bool(agree(value, true))


_READINGS: dict[str, dict[str, Callable[[Any, Seen], bool]]] = {
    "replies": {
        "replies": lambda value, seen: value == len(seen.posts) - 1,
        "posts": lambda value, seen: value == len(seen.posts),
    },
    "last_reply": {"": lambda value, seen: _same_time(value, newest(seen.posts))},
    "created": {"": lambda value, seen: _same_time(value, seen.posts[0].posted)},
}
