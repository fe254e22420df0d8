"""What a page shows of a site's forms and of the ways to more: read without a database."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from crawlmgr.web.budget import cpu_budget
from crawlmgr.web.html import scan
from crawlmgr.web.traps import trap_reason
from crawlmgr.web.url import UrlError, canonical, host_key, registered_domain
from deepweb.links_to_forms import LinkScorer
from deepweb.search_forms import Form, forms_of_tree, parse_page

LINKS_A_PAGE = 300
PAGES_A_SHAPE = 4
_DIGITS = re.compile(r"\d+")
_FILES = re.compile(
    r"\.(?:csv|json|xml|zip|gz|tgz|bz2|xz|pdf|docx?|xlsx?|pptx?|jpe?g|png|gif|svg|webp|ico|css|js|mp[34]|avi|mov|exe|deb|rpm|iso|atom|rss)$",
    re.I,
)


class Way(NamedTuple):
    """A link worth following, with its score."""

    url: str
    anchor: str
    score: float


class PageForms(NamedTuple):
    """The forms of a page, its language and title, and its links that stay on the site."""

    forms: list[Form]
    language: str
    title: str
    links: list[tuple[str, str, float]]


@cpu_budget()
def read_page(html: str, url: str) -> PageForms:
    """Forms and links of a page; links as (address, anchor, place on the page from 0 to 1). Raises OverBudget where reading
    takes too much CPU."""
    root = parse_page(html)
    forms = forms_of_tree(root, url) if root is not None else []
    page = scan(html, url)
    seen: dict[str, tuple[str, str, float]] = {}
    whole = max(1, len(page.links))
    for place, link in enumerate(page.links):
        try:
            address = canonical(link.url)
        except UrlError:
            continue
        if same_site(address, url) and not _FILES.search(urlsplit(address).path) and trap_reason(address) is None:
            seen.setdefault(address, (address, link.anchor[:200], place / whole))
    return PageForms(forms, page.lang, page.title, list(seen.values()))


def same_site(url: str, other: str) -> bool:
    """Whether two addresses are of one site: the same host and port, or the same registered domain."""
    if host_key(url) == host_key(other):
        return True
    domain = registered_domain(urlsplit(url).hostname or "")
    return bool(domain) and domain == registered_domain(urlsplit(other).hostname or "")


def shape(url: str) -> str:
    """What addresses made by one program have in common: host, directory without numbers, names of parameters.

    >>> shape("http://a.org/item/12?sort=x") == shape("http://a.org/item/9?sort=y")
    True
    """
    parts = urlsplit(url)
    directory, _, last = parts.path.rpartition("/")
    last = _DIGITS.sub("#", last) if "." in last or last.isdigit() else "*" if directory.count("/") >= 2 else last
    names = ",".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    return f"{parts.netloc}{_DIGITS.sub('#', directory)}/{last}?{names}"


def ways(page: PageForms, scorer: LinkScorer, shapes: Counter[str]) -> list[Way]:
    """The links worth following, best first, few of one shape: a form stands on the first pages of a kind or on none.

    `shapes` counts what was taken of each shape and is added to.
    """
    scored = sorted(
        (Way(url, anchor, scorer.score(url, anchor, place)) for url, anchor, place in page.links), key=lambda w: -w.score
    )
    taken = []
    for way in scored:
        kind = shape(way.url)
        if shapes[kind] < PAGES_A_SHAPE:
            shapes[kind] += 1
            taken.append(way)
        if len(taken) >= LINKS_A_PAGE:
            break
    return taken
