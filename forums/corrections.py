"""Builds reading rules from an operator's corrections, and computes what a rule changes on sample
pages. Without database access."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from crawlmgr.web.pages.tree import parse
from forums.anatomy import value_text
from forums.reading import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord, read_page
from forums.reading.page import UNCORRECTED
from forums.reading.rules import NOTHING as NOTHING
from forums.reading.rules import KindRules, SiteRules
from forums.selectors import bounded

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


def with_selector(rules: SiteRules | None, kind: PageKind, role: str, selector: str) -> SiteRules:
    """Returns the rules with a new selector for one field of a kind of page (role "": for the
    elements of the records); the kind's other rules stay."""
    rules = rules or SiteRules()
    own = rules.for_kind(kind) or KindRules()
    if role:
        kept = tuple(pair for pair in own.fields if pair[0] != role)
        new = KindRules(own.records, (*kept, (role, selector)))
    else:
        new = KindRules(selector, own.fields)
    others = tuple(pair for pair in rules.kinds if pair[0] is not kind)
    return SiteRules((*others, (kind, new)), rules.addresses)


def with_address(rules: SiteRules | None, pattern: str, kind: PageKind) -> SiteRules:
    """Returns the rules with the statement that addresses matching `pattern` are of this kind.
    Raises ValueError for an invalid, empty or too long regular expression."""
    rules = rules or SiteRules()
    if not pattern or len(pattern) > MAX_SELECTOR:
        raise ValueError(f"a pattern has 1 to {MAX_SELECTOR} characters")
    bounded.first_match([pattern], "")
    kept = tuple(pair for pair in rules.addresses if pair[0] != pattern)
    return SiteRules(rules.kinds, ((pattern, kind), *kept))


def effects(
    pages: Iterable[SamplePage],
    before: SiteRules | None,
    after: SiteRules,
    kind: PageKind,
    role: str,
    **options: Any,
) -> list[Effect]:
    """Returns the effect of replacing the rules `before` by `after` on each page, for the values of
    one field (role "": the field that identifies a record). options: how else the site's pages are
    read, arguments of `read_page`. Raises ValueError as `reading_by`."""
    found = []
    for page in pages:
        was, now = (reading_by(rules, page, kind, **options) for rules in (before, after))
        found.append(_effect(page, was, now, kind, role))
    return found


def reading_by(
    rules: SiteRules | None, page: SamplePage, kind: PageKind, **options: Any
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
