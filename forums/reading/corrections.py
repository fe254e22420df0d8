"""An operator's corrections of how a site's pages are read: selectors (CSS or XPath) for their
records and fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from lxml.html import HtmlElement

from forums.reading.document import Page
from forums.reading.model import BoardRecord, PageKind, PostRecord, ThreadRecord
from forums.reading.values import clean_name, count, inner_counts
from forums.selectors import bounded

AnyRecord = TypeVar("AnyRecord", BoardRecord, ThreadRecord, PostRecord)
_COUNTS = frozenset({"replies", "views", "threads", "posts", "number"})
_TIMES = frozenset({"created", "last_reply", "posted"})
_LINKS = frozenset({"url", "last_post_url", "board_url", "parent"})
NOTHING = (  # a selector that matches nothing, for a field that is empty on this site
    "./self::nothing"
)
_FLAGS = frozenset({"pinned", "locked"})


@dataclass(frozen=True, slots=True)
class KindRules:
    """Corrections for one kind of page: a selector for the records (`records`; empty to keep the
    records found) and selectors for single fields inside a record, as (role, selector).

    A selector is CSS (with `::text` and `::attr(name)` as in parsel), or XPath if it starts with
    `/`, `./` or `(`. Roles are the field names of the record types. `learned` are selectors learned
    from the site's own pages: the value that such a selector finds replaces the one read; if it
    finds nothing, the value read stays.
    """

    records: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    learned: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SiteCorrections:
    """The corrections of a site for each kind of page (`kinds`), and regular expressions of
    addresses whose kind the operator states (`addresses`)."""

    kinds: tuple[tuple[PageKind, KindRules], ...] = ()
    addresses: tuple[tuple[str, PageKind], ...] = ()

    def for_kind(self, kind: PageKind) -> KindRules | None:
        """Returns the corrections of one kind of page; None if there are none."""
        return next((rules for named, rules in self.kinds if named is kind), None)

    def corrects(self, kind: PageKind) -> bool:
        """Tells whether the operator corrected records or fields of a kind of page."""
        own = self.for_kind(kind)
        return own is not None and bool(own.records or own.fields)

    def kind_of(self, url: str) -> PageKind | None:
        """Returns the kind that the operator states for an address; None if he states none. Raises
        ValueError, which names the pattern, for an invalid or too costly one."""
        at = bounded.first_match([pattern for pattern, _kind in self.addresses], url)
        return self.addresses[at][1] if at is not None else None

    def to_json(self) -> dict[str, Any]:
        """Returns a JSON-ready form that `from_json` reads. It does not contain learned
        selectors."""
        return {
            "kinds": {
                str(kind): {"records": rules.records, "fields": dict(rules.fields)}
                for kind, rules in self.kinds
            },
            "addresses": [[pattern, str(kind)] for pattern, kind in self.addresses],
        }

    def over(self, learned: SiteCorrections | None) -> SiteCorrections:
        """Returns these corrections with the fields of `learned` added as learned selectors, except
        for fields that the operator corrected."""
        taught = dict(learned.kinds) if learned else {}
        own = dict(self.kinds)
        kinds = []
        for kind in dict.fromkeys((*own, *taught)):
            rules = own.get(kind, KindRules())
            corrected_roles = dict(rules.fields)
            fields = taught[kind].fields if kind in taught else ()
            kept = tuple(
                (role, selector) for role, selector in fields if role not in corrected_roles
            )
            kinds.append((kind, KindRules(rules.records, rules.fields, kept)))
        return SiteCorrections(tuple(kinds), self.addresses)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> SiteCorrections:
        """Restores rules from what `to_json` returns. Raises KeyError, TypeError, ValueError or
        AttributeError for other values."""
        kinds = tuple(
            (
                PageKind(kind),
                KindRules(
                    str(rules["records"]),
                    tuple((str(a), str(b)) for a, b in rules["fields"].items()),
                ),
            )
            for kind, rules in value.get("kinds", {}).items()
        )
        addresses = tuple(
            (str(pattern), PageKind(kind)) for pattern, kind in value.get("addresses", [])
        )
        return SiteCorrections(kinds, addresses)


def _text(found: Any) -> str:
    return " ".join(
        (found.text_content() if isinstance(found, HtmlElement) else str(found)).split()
    )


def value_of(page: Page, role: str, found: list[Any]) -> Any:
    """Converts what the selector of the field `role` found to the field's value: an address, time,
    number or text; None if nothing was found or it is not a valid value. For a flag (pinned,
    locked), returns whether anything was found.
    """
    if role in _FLAGS:
        return bool(found)
    if not found:
        return None
    first = found[0]
    if role in _LINKS:
        href = first.get("href", "") if isinstance(first, HtmlElement) else str(first)
        return page.absolute(href) if href else None
    if role in _TIMES:
        told = (
            [first.get(name, "") for name in ("datetime", "title")]
            if isinstance(first, HtmlElement)
            else []
        )
        return next(
            (moment for text in (*told, _text(first)) if text and (moment := page.moment(text))),
            None,
        )
    text = _text(first)
    if role in _COUNTS:
        inner = inner_counts(text)
        return value if (value := count(text)) is not None else inner[0][0] if inner else None
    return clean_name(text) if role in ("author", "last_author") else text


def corrected(
    page: Page, rules: KindRules, empty: AnyRecord, found: list[tuple[HtmlElement, AnyRecord]]
) -> list[tuple[HtmlElement, AnyRecord]]:
    """Returns the records of a page with their elements, as changed by the rules.

    `found` are the (element, record) pairs read without rules, `empty` is the record to fill for
    elements that only the rules select. Records left with neither an address nor an author are
    dropped. Raises ValueError, which names the selector, for an invalid or too costly one, and for
    one of records that finds none where some are read without it."""
    known = {field.name for field in fields(empty)}
    own: list[tuple[str, str]] = [pair for pair in rules.fields if pair[0] in known]
    selectors = list(dict.fromkeys(selector for _role, selector in (*own, *rules.learned)))
    elements, records = [element for element, _record in found], [record for _e, record in found]
    values: dict[str, list[list[Any]]] = {}
    if rules.records or (selectors and found):
        rows, values = bounded.pick(page.root, page.source, rules.records, selectors, elements)
        if rules.records:
            if found and not rows:
                raise ValueError(f"{rules.records}{bounded.NOTHING_FOUND}")
            read = {id(element): record for element, record in found}
            elements, records = rows, [read.get(id(element), empty) for element in rows]
    made = []
    for at, (element, record) in enumerate(zip(elements, records, strict=True)):
        changes = {role: value_of(page, role, values[selector][at]) for role, selector in own}
        kept = {
            role: value
            for role, value in changes.items()
            if value is not None or getattr(empty, role) is None
        }
        for role, selector in rules.learned:
            value = value_of(page, role, values[selector][at])
            if value not in (None, "") or (selector == NOTHING and getattr(empty, role) is None):
                kept[role] = value
        record = replace(record, **kept)
        if getattr(record, "url", None) or getattr(record, "author", None):
            made.append((element, record))
    return made
