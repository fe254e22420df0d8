"""Recognises crawler traps (endless sets of generated addresses) by the form of an address, and
counters in addresses by what their pages bring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_CALENDAR = re.compile(
    r"(?:^|[/_.?&=\-])(?:calendar|kalender|calendrier|calendario|agenda|ical|datebook|rili|日历)(?:$"
    r"|[^a-z])"
    r"|/(?:day|week|month|year)\.(?:php|asp|aspx|cgi|pl)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)((?:1[89]|2\d|3\d)\d\d)(?:(?:0[1-9]|1[0-2])(?:[0-3]\d)?)?(?!\d)")


@dataclass(frozen=True, slots=True)
class TrapLimits:
    """Limits by which an address counts as a trap.

    A trap has a path segment that occurs `max_segment_repeats` times, more than `max_depth` path
    segments, or more than `max_length` characters. If `current_year` is set, calendar pages more
    than `calendar_years` away from it are traps; if it is None, every calendar page with a year in
    its address is.
    """

    max_segment_repeats: int = 3
    max_depth: int = 20
    max_length: int = 2000
    current_year: int | None = None
    calendar_years: int = 1


DEFAULT_LIMITS = TrapLimits()
BARREN_PAGES = 40
"""Pages in a row that bring nothing new after which a counter is a trap. Series of pages that
differ in their numbers only and are no trap, such as issues of a journal, are seldom longer."""
COPIES_SEEN, COPIES_SHARE = 4, 0.75
"""Number of copies among the pages of one shape, and their share, from which its addresses are
fetched last."""
SHAPES_KEPT, CONTENTS_KEPT = 5_000, 5_000
_NUMBER = re.compile(r"-?\d+")


def trap_reason(url: str, limits: TrapLimits = DEFAULT_LIMITS) -> str | None:
    """Returns why an address looks like a trap: "too_long", "too_deep" (too many path segments),
    "repeated_segment" or "calendar"; None if it does not. `url` must be canonical."""
    if len(url) > limits.max_length:
        return "too_long"
    start = url.find("/", 8)
    tail = url[start:] if start > 0 else "/"
    path = tail.partition("?")[0]
    if path.count("/") >= min(limits.max_segment_repeats, limits.max_depth):
        segments = [segment for segment in path.split("/") if segment]
        if len(segments) > limits.max_depth:
            return "too_deep"
        if any(segments.count(segment) >= limits.max_segment_repeats for segment in set(segments)):
            return "repeated_segment"
    years = _YEAR.findall(
        tail
    )  # searched for before `_CALENDAR`, because that is faster and few addresses contain a year
    if years and _CALENDAR.search(tail):
        near = limits.current_year
        if near is None or any(abs(int(year) - near) > limits.calendar_years for year in years):
            return "calendar"
    return None


def counter_shape(url: str) -> str:
    """Returns an address with each number of its path and query replaced by 0, "" without one.

    >>> counter_shape("http://h1.example/cal/2099/12?day=3")
    'http://h1.example/cal/0/0?day=0'
    """
    start = url.find("/", 8)
    tail = url[start:] if start > 0 else ""
    shape = _NUMBER.sub("0", tail)
    return url[:start] + shape if shape != tail or "0" in tail else ""


def folder_shape(url: str) -> str:
    """Returns what an address shares with others of its folder: host, path up to the last "/" with
    each number replaced by 0, and the names of the parameters.

    >>> folder_shape("http://a.example/print/2/some-title?lang=en&id=4")
    'http://a.example/print/0/*?id&lang'
    """
    parts = urlsplit(url)
    folder = _NUMBER.sub("0", parts.path.rpartition("/")[0])
    names = "&".join(sorted({pair.partition("=")[0] for pair in parts.query.split("&") if pair}))
    return f"{parts.scheme}://{parts.netloc}{folder}/*{'?' if names else ''}{names}"


class Copies:
    """Learns which shapes of addresses (`folder_shape`) lead to copies of pages that other
    addresses have too: mirrors, print versions, the same page in each session. Keeps a bounded
    number of shapes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def see(self, url: str, repeats: bool) -> None:
        """Learns from a page; `repeats`: it nearly duplicates an earlier one."""
        if len(self._known) >= SHAPES_KEPT:
            self._known.clear()
        shape = folder_shape(url)
        pages, copies = self._known.get(shape, (0, 0))
        self._known[shape] = (pages + 1, copies + repeats)

    def is_likely(self, url: str) -> bool:
        """Tells whether an address has a shape of which at least COPIES_SEEN pages and
        COPIES_SHARE of all pages so far were copies."""
        pages, copies = self._known.get(folder_shape(url), (0, 0))
        return copies >= COPIES_SEEN and copies >= COPIES_SHARE * pages


_FILE = re.compile(r"/[^/?#]*\.([a-z][a-z0-9]{0,4})$", re.IGNORECASE)
_SCRIPTS = frozenset("html htm xhtml shtml php asp aspx jsp do cgi pl cfm".split())


def file_shape(url: str) -> str:
    """Returns what the address of a file shares with those of others of its kind: host and ending,
    for an ending that is none of a page (".iso"); for other addresses `counter_shape`.

    >>> file_shape("http://a.example/iso/disk-1.ISO"), file_shape("http://a.example/get.php?id=7")
    ('http://a.example/*.iso', 'http://a.example/get.php?id=0')
    """
    start = url.find("/", 8)
    ending = _FILE.search(url, start) if start > 0 else None
    if ending is None or ending[1].lower() in _SCRIPTS:
        return counter_shape(url)
    return f"{url[:start]}/*.{ending[1].lower()}"


@dataclass(slots=True)
class _Counter:
    """The pages of one shape of addresses: their contents without numbers, as hashes, and how many
    of the last ones brought nothing new."""

    contents: set[int] = field(default_factory=set)
    barren: int = 0


class Counters:
    """Learns for each shape of addresses (`counter_shape`) whether its pages bring anything new: a
    content that differs from earlier ones by more than numbers, or unknown links to addresses of
    another shape. Keeps a bounded number of shapes and contents."""

    def __init__(self) -> None:
        self._known: dict[str, _Counter] = {}

    def see(self, url: str, words: Iterable[str], unknown: Iterable[str]) -> str:
        """Learns from a page; `unknown` are those of its links that the run has not seen. Returns
        the shape of its address when that has just become a trap, else ""."""
        shape = counter_shape(url)
        if not shape:
            return ""
        if len(self._known) >= SHAPES_KEPT:
            self._known.clear()
        known = self._known.setdefault(shape, _Counter())
        content = hash(frozenset(word for word in words if not _NUMBER.search(word)))
        if content not in known.contents or any(self._leads_on(shape, link) for link in unknown):
            known.barren = 0
        else:
            known.barren += 1
        if len(known.contents) < CONTENTS_KEPT:
            known.contents.add(content)
        return shape if known.barren == BARREN_PAGES else ""

    def _leads_on(self, shape: str, link: str) -> bool:
        """Tells whether a link leads to another shape, one whose pages bring something."""
        other = counter_shape(link)
        known = self._known.get(other)
        return other != shape and (known is None or 2 * known.barren < BARREN_PAGES)
