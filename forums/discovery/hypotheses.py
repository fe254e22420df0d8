"""Candidate selectors for a field of rows or posts: each short text of some rows or posts yields
selectors, and each selector is evaluated on all sampled pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from lxml.html import HtmlElement

from forums.discovery.pages import FetchedPage
from forums.reading import PageKind, read_regions
from forums.reading.addresses import names_user
from forums.reading.corrections import value_of
from forums.reading.document import Page
from forums.selectors.child import select
from forums.sites.correction_page import selectors

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
