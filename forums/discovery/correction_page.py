"""The reading of a page prepared for display and correction: its rows and texts with selectors,
rules built from an operator's corrections, and what they change on sample pages. Only texts are
returned, never markup. Without database access."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin

from lxml.html import HtmlElement

from crawlmgr.text.dates import DateContext, Moment, find_time, parse_time
from crawlmgr.web.pages.tree import parse
from forums.reading import (
    BoardRecord,
    PageKind,
    PageReading,
    PostRecord,
    ThreadRecord,
    read_page,
    read_regions,
)
from forums.reading.corrections import NOTHING as NOTHING
from forums.reading.corrections import KindRules, SiteCorrections
from forums.reading.page import UNCORRECTED
from forums.reading.values import clean_name, count, declared_language, inner_counts
from forums.selectors import bounded
from forums.selectors.child import select

Record = BoardRecord | ThreadRecord | PostRecord


MAX_ROWS = 12


MAX_PIECES = 60


MAX_TEXT = 160


_SKIPPED = frozenset(("script", "style", "noscript", "template", "svg", "option"))


_TOLD = (
    "datetime",
    "title",
    "alt",
    "data-time",
    "data-timestamp",
    "id",
    "data-id",
    "data-post-id",
    "data-pid",
)


_NAMED = re.compile(r"[A-Za-z_][A-Za-z_-]*")


_GENERATED = re.compile(r"\d|^(?:js|is|has|odd|even|alt|first|last|active|hover)[-_]?$", re.I)


_COUNT_ROLES = ("replies", "views", "threads", "posts", "number")


_TIME_ROLES = ("last_reply", "posted", "created")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of a row. `source` is "text", or the name of the attribute that holds it; `role` is
    the field that it was read as ("" for none); `selector` (CSS or XPath) finds it in this row and,
    if possible, the corresponding text in the other rows.
    """

    text: str
    source: str
    role: str
    selector: str


@dataclass(frozen=True, slots=True)
class RowAnatomy:
    """One record of a page: its texts in reading order, and pairs of field name and value as
    text."""

    pieces: tuple[Piece, ...]
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PageAnatomy:
    """A page's kind, its first records (at most MAX_ROWS), and the total number of its records.
    `problem`: why it was read without the operator's corrections, "" if it was not."""

    kind: PageKind
    rows: tuple[RowAnatomy, ...]
    number: int
    problem: str = ""


class _Raw(NamedTuple):
    element: HtmlElement
    text: str
    source: str
    nth: int  # number of the text among the text nodes of its element, from 1; 0 for attributes


def dissect(
    html: str,
    url: str,
    fetched_at: datetime,
    *,
    timezone: str = "UTC",
    day_first: bool | None = None,
    **options: Any,
) -> PageAnatomy:
    """Reads a page as `read_page` does with the same arguments, and returns the reading prepared
    for display."""
    reading, elements = read_regions(
        html, url, fetched_at, timezone=timezone, day_first=day_first, **options
    )
    language = declared_language(elements[0].getroottree().getroot()) if elements else ""
    context = DateContext(fetched_at, timezone, day_first, language=language)
    records: tuple[Record, ...] = reading.records
    shown = list(zip(records, elements, strict=False))[:MAX_ROWS]
    rows = [element for _record, element in shown]
    return PageAnatomy(
        reading.kind,
        tuple(
            RowAnatomy(_pieces(element, record, rows, url, context), values(record))
            for record, element in shown
        ),
        len(reading.records),
        reading.doubts[0] if UNCORRECTED in reading.evidence else "",
    )


def values(record: Record) -> tuple[tuple[str, str], ...]:
    """Returns the filled fields of a record as pairs of name and text, in the order of the record's
    class."""
    return tuple(
        (field.name, told)
        for field in fields(record)
        if (told := value_text(getattr(record, field.name))) not in ("", None)
    )


def value_text(value: object) -> str:
    """Returns a field's value as a text: times in UTC to the minute, true flags as "✓", None and
    false flags as ""."""
    if value is None or value is False:
        return ""
    if value is True:
        return "✓"
    if isinstance(value, Moment):
        return f"{value.value:%Y-%m-%d %H:%M} UTC"
    return " ".join(str(value).split())[:MAX_TEXT]


def _raw(row: HtmlElement) -> Iterator[_Raw]:
    """Yields all texts of a row in reading order, including those of attributes that may hold
    times, names or ids."""
    stack: list[tuple[HtmlElement, bool]] = [(row, False)]
    counts: dict[HtmlElement, int] = {}
    while stack:
        element, after = stack.pop()
        if after:
            parent, tail = element.getparent(), element.tail
            counts[parent] = counts.get(parent, 0) + (tail is not None)
            if tail and not tail.isspace():
                yield _Raw(parent, tail, "text", counts[parent])
            continue
        if not isinstance(element.tag, str) or element.tag in _SKIPPED:
            continue
        for name in _TOLD:
            told = (element.get(name) or "").strip()
            if told and (name != "id" or element is row):
                yield _Raw(element, told, name, 0)
        if element.text is not None:
            counts[element] = 1
            if not element.text.isspace():
                yield _Raw(element, element.text, "text", 1)
        for child in reversed(element):
            stack += [(child, True), (child, False)]


def selectors(
    row: HtmlElement, rows: Sequence[HtmlElement], longest: int = MAX_TEXT
) -> tuple[str, ...]:
    """Returns the selectors (CSS or XPath, without duplicates) that find the short texts of `row`,
    each chosen so that it finds something in as many of `rows` as possible.

    longest: texts with more characters are left out.
    """
    found: dict[str, None] = {}
    for seen, raw in enumerate(_raw(row)):
        if seen >= MAX_PIECES:
            break
        if 0 < len(raw.text.strip()) <= longest:
            plain = selector(row, raw.element, rows, raw.source, raw.nth)
            found.setdefault(plain)
            # for a text from a title attribute, `selector` may select only the time within the
            # attribute, so a second selector for the attribute's whole text is added
            if raw.source == "title" and not plain.endswith(("::attr(title)", "/@title")):
                found.setdefault(
                    f"{plain}/@title" if plain.startswith("./") else f"{plain}::attr(title)"
                )
    return tuple(found)


def _pieces(
    row: HtmlElement, record: Record, rows: Sequence[HtmlElement], url: str, context: DateContext
) -> tuple[Piece, ...]:
    found: list[_Raw] = []
    for raw in _raw(row):
        if len(found) >= MAX_PIECES:
            break
        if raw.text.strip():
            found.append(raw)
    roles = _roles(found, record, url, context)
    return tuple(
        Piece(
            " ".join(raw.text.split())[:MAX_TEXT],
            raw.source,
            roles.get(at, ""),
            selector(row, raw.element, rows, raw.source, raw.nth),
        )
        for at, raw in enumerate(found)
    )


def _roles(found: Sequence[_Raw], record: Record, url: str, context: DateContext) -> dict[int, str]:
    """Returns the field that each text of a row was read as, by the text's index in `found`; texts
    that are no field's value are left out. Each field is assigned to the first text with its value;
    only the body of a post is assigned to all texts that are part of it.
    """
    roles: dict[int, str] = {}
    wanted = {field.name: getattr(record, field.name) for field in fields(record)}
    for role, value in sorted(wanted.items(), key=lambda pair: _ORDER.get(pair[0], 99)):
        if value is None or value is False or value == "" or role not in _ORDER:
            continue
        for at, raw in enumerate(found):
            if at not in roles and _gives(role, value, raw, url, context):
                roles[at] = role
                break
    body = " ".join(str(wanted.get("text") or "").split())
    for at, raw in enumerate(found):
        piece = " ".join(raw.text.split())
        if body and at not in roles and raw.source == "text" and len(piece) > 1 and piece in body:
            roles[at] = "text"
    return roles


_FOUND_FIRST = (
    *(
        "title",
        "name",
        "author",
        "posted",
        "last_reply",
        "created",
        "replies",
        "views",
        "threads",
        "posts",
    ),
    *("last_author", "board_name", "number", "post_id", "description"),
)


_ORDER = {name: place for place, name in enumerate(_FOUND_FIRST)}


def _gives(role: str, value: Any, raw: _Raw, url: str, context: DateContext) -> bool:
    text = " ".join(raw.text.split())
    if role in _TIME_ROLES:
        moment = parse_time(text, context) or (
            find_time(text, context) if raw.source == "text" else None
        )
        return moment is not None and moment.value == value.value
    if role in _COUNT_ROLES:
        told = count(text)
        inner = (
            [told] if told is not None else [number for number, _start, _end in inner_counts(text)]
        )
        return raw.source == "text" and any(number in (value, value + 1) for number in inner)
    if role == "post_id":
        return (
            str(value) in re.findall(r"\d+|\w+", text)
            if raw.source != "text"
            else text.lstrip("#") == str(value)
        )
    if raw.source != "text":
        return False
    if (
        role in ("title", "name")
        and _link(raw.element, url) not in ("", _plain(value, url))
        and text != value
    ):
        return False
    return bool(text == value or clean_name(text) == value)


def _plain(value: object, url: str) -> str:
    return urldefrag(urljoin(url, str(value))).url


def _link(element: HtmlElement, url: str) -> str:
    href = next(
        (one.get("href") for one in (element, *element.iterancestors("a")) if one.get("href")), ""
    )
    try:
        return urldefrag(urljoin(url, href)).url if href else ""
    except ValueError:
        return ""


def selector(
    row: HtmlElement,
    element: HtmlElement,
    rows: Sequence[HtmlElement],
    source: str = "text",
    nth: int = 1,
) -> str:
    """Returns a selector, relative to a row, that finds `element` as the first match in its own
    row, and something in as many of `rows` as possible.

    source: "text" or the attribute that holds the value; nth: number of the text node in the
    element. The result is a CSS selector, with `::attr` for attributes other than those of times;
    an XPath if no CSS selector fits, or for nth > 1.
    """
    if source == "text" and nth > 1:
        return f"{_path(row, element)}/text()[{nth}]"
    ending = (
        f"::attr({source})"
        if source not in ("text", "datetime", "title") or (source == "title" and element.tag == "a")
        else ""
    )
    best, most = _path(row, element), 0
    if element is row:
        own = next(iter(_names(row)), "")
        return f"{row.tag}{own}{ending}" if ending else best
    for candidate in _candidates(row, element):
        try:
            first = select(row, candidate)
        except ValueError:
            continue
        if not first or first[0] is not element:
            continue
        hits = sum(bool(select(other, candidate)) for other in rows)
        if hits > most:
            best, most = candidate, hits
        if hits == len(rows):
            break
    return (
        f"{best}{ending}" if not best.startswith("./") else f"{best}/@{source}" if ending else best
    )


def _names(element: HtmlElement) -> Iterator[str]:
    """Yields CSS selectors for the class names, `itemprop` and `rel` of an element that look
    hand-written (not generated, no mere state such as "active")."""
    for name in (element.get("class") or "").split():
        if _NAMED.fullmatch(name) and not _GENERATED.search(name):
            yield f".{name}"
    for attribute in ("itemprop", "rel"):
        told = element.get(attribute) or ""
        if _NAMED.fullmatch(told):
            yield f'[{attribute}="{told}"]'


def _candidates(row: HtmlElement, element: HtmlElement) -> Iterator[str]:
    own = list(_names(element))
    yield from own
    yield from (f"{element.tag}{name}" for name in own)
    above = element.getparent()
    while above is not None and above is not row:
        for name in _names(above):
            yield f"{name} {element.tag}"
            yield from (f"{name} {one}" for one in own)
        above = above.getparent()
    yield str(element.tag)
    yield _path(row, element)


def _path(row: HtmlElement, element: HtmlElement) -> str:
    """Returns the path from a row down to an element, as XPath."""
    steps: list[str] = []
    at = element
    while at is not row:
        parent = at.getparent()
        alike = [one for one in parent if one.tag == at.tag]
        steps.append(f"{at.tag}[{alike.index(at) + 1}]")
        at = parent
    return "/".join([".", *reversed(steps)]) if steps else "./self::*"


ROLES: dict[PageKind, tuple[str, ...]] = {
    PageKind.index: ("name", "url", "threads", "posts", "last_reply", "description", "parent"),
    PageKind.threadlist: (
        *(
            "title",
            "url",
            "author",
            "replies",
            "views",
            "last_reply",
            "created",
            "last_author",
            "last_post_url",
        ),
        *("board_url", "board_name", "pinned", "locked"),
    ),
    PageKind.thread: ("author", "posted", "text", "post_id", "url", "number"),
}


RECORDS: dict[PageKind, type] = {
    PageKind.index: BoardRecord,
    PageKind.threadlist: ThreadRecord,
    PageKind.thread: PostRecord,
}


MAX_SELECTOR = 500


_EXAMPLES = 4


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A stored page on which rules are tried; `number` is its key in the database."""

    number: int
    url: str
    html: str
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a changed rule on one page: kind of page, number of records and of filled
    fields before and after, and examples of changed values.

    `filled_*` count the records that have the field, `differing` those whose value changed;
    `examples` are pairs (value before, value after), "" for no value.
    """

    page: SamplePage
    kind_before: str
    kind_after: str
    records_before: int
    records_after: int
    filled_before: int
    filled_after: int
    differing: int
    examples: tuple[tuple[str, str], ...]

    @property
    def changes(self) -> bool:
        """True if the rule changes anything on the page."""
        return bool(self.differing) or (self.kind_before, self.records_before) != (
            self.kind_after,
            self.records_after,
        )


def checked(kind: PageKind, role: str, selector: str) -> str:
    """Returns the selector without surrounding spaces. Raises ValueError with a one-line message
    for an invalid field name or selector."""
    selector = selector.strip()
    if kind not in ROLES or (role and role not in ROLES[kind]):
        raise ValueError(f"{role!r} is no field of pages of kind {kind}")
    if not selector or len(selector) > MAX_SELECTOR:
        raise ValueError(f"a selector has 1 to {MAX_SELECTOR} characters")
    blank = "<p>x</p>"
    bounded.pick(parse(blank), blank, selector, [])
    return selector


def with_selector(
    rules: SiteCorrections | None, kind: PageKind, role: str, selector: str
) -> SiteCorrections:
    """Returns the rules with a new selector for one field of a kind of page (role "": for the
    elements of the records); the kind's other rules stay."""
    rules = rules or SiteCorrections()
    own = rules.for_kind(kind) or KindRules()
    if role:
        kept = tuple(pair for pair in own.fields if pair[0] != role)
        new = KindRules(own.records, (*kept, (role, selector)))
    else:
        new = KindRules(selector, own.fields)
    others = tuple(pair for pair in rules.kinds if pair[0] is not kind)
    return SiteCorrections((*others, (kind, new)), rules.addresses)


def with_address(rules: SiteCorrections | None, pattern: str, kind: PageKind) -> SiteCorrections:
    """Returns the rules with the statement that addresses matching `pattern` are of this kind.
    Raises ValueError for an invalid, empty or too long regular expression."""
    rules = rules or SiteCorrections()
    if not pattern or len(pattern) > MAX_SELECTOR:
        raise ValueError(f"a pattern has 1 to {MAX_SELECTOR} characters")
    bounded.first_match([pattern], "")
    kept = tuple(pair for pair in rules.addresses if pair[0] != pattern)
    return SiteCorrections(rules.kinds, ((pattern, kind), *kept))


def effects(
    pages: Iterable[SamplePage],
    before: SiteCorrections | None,
    after: SiteCorrections,
    kind: PageKind,
    role: str,
    **options: Any,
) -> list[Effect]:
    """Returns the effect of replacing the rules `before` by `after` on each page, for the values of
    one field (role "": the field that identifies a record). options: how else the site's pages are
    read, arguments of `read_page`. Raises ValueError as `reading_by`."""
    found = []
    for page in pages:
        was = read_page(page.html, page.url, page.fetched_at, expect=kind, rules=before, **options)
        now = reading_by(after, page, kind, **options)
        found.append(_effect(page, was, now, kind, role))
    return found


def reading_by(
    rules: SiteCorrections | None, page: SamplePage, kind: PageKind, **options: Any
) -> PageReading:
    """Reads a page by the rules. Raises ValueError, which names the selector or pattern, if one of
    them cannot be evaluated on this page within its limit of time and memory."""
    reading = read_page(page.html, page.url, page.fetched_at, expect=kind, rules=rules, **options)
    if UNCORRECTED in reading.evidence:
        raise ValueError(reading.doubts[0])
    return reading


def _effect(
    page: SamplePage, before: PageReading, after: PageReading, kind: PageKind, role: str
) -> Effect:
    was, now = (_column(reading, kind, role) for reading in (before, after))
    pairs = [
        (was[at] if at < len(was) else "", now[at] if at < len(now) else "")
        for at in range(max(len(was), len(now)))
    ]
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    return Effect(
        page,
        str(before.kind),
        str(after.kind),
        len(before.records),
        len(after.records),
        sum(map(bool, was)),
        sum(map(bool, now)),
        len(differing),
        tuple(differing[:_EXAMPLES]),
    )


def _column(reading: PageReading, kind: PageKind, role: str) -> list[str]:
    """Returns the values of one field in all records, as texts; empty if the page was not read as
    this kind.

    Without a role: the field that identifies a record (a thread's or board's address, a post's
    author).
    """
    if reading.kind is not kind:
        return []
    names = {field.name for field in fields(RECORDS[kind])}
    naming = role if role in names else "author" if kind is PageKind.thread else "url"
    return [value_text(_get(record, naming)) for record in reading.records]


def _get(record: object, name: str) -> object:
    return getattr(record, name, None)
