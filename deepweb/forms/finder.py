"""Reads a page in the search for forms: its forms, and the links to follow with their scores. Uses
no database."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from crawlmgr.web.pages.html import scan
from crawlmgr.web.traps import trap_reason
from crawlmgr.web.url import UrlError, canonical, host_key, registered_domain
from deepweb.search_forms import Form, forms_of_tree, parse_page

_WORD = re.compile(r"[^\W\d_]{2,}")


_PRIOR: Mapping[str, float] = {
    **dict.fromkeys(
        (
            "search",
            "advanced",
            "suche",
            "recherche",
            "buscar",
            "busca",
            "cerca",
            "zoeken",
            "szukaj",
            "поиск",
        ),
        2.5,
    ),
    **dict.fromkeys(("搜索", "搜", "查询", "检索", "查找", "検索", "검색"), 2.5),
    **dict.fromkeys(
        (
            "find",
            "query",
            "catalog",
            "catalogue",
            "katalog",
            "database",
            "databases",
            "lookup",
            "opac",
            "finder",
        ),
        1.5,
    ),
    **dict.fromkeys(
        (
            "library",
            "archive",
            "archives",
            "collection",
            "collections",
            "directory",
            "browse",
            "index",
            "data",
        ),
        0.7,
    ),
    **dict.fromkeys(("数据库", "目录", "资料", "文献"), 1.5),
    **dict.fromkeys(
        (
            "login",
            "signin",
            "register",
            "signup",
            "logout",
            "cart",
            "privacy",
            "terms",
            "cookie",
            "cookies",
        ),
        -1.5,
    ),
    **dict.fromkeys(
        (
            "contact",
            "about",
            "help",
            "rss",
            "feed",
            "print",
            "download",
            "share",
            "登录",
            "注册",
            "隐私",
        ),
        -0.8,
    ),
}


_POSITION = 0.4


_SMOOTHING = 2.0


_KEPT = 2_000


def link_words(url: str, anchor: str) -> list[str]:
    """Returns the distinct words of a link's anchor ("a:") and of its address ("u:"). Chinese
    anchors are not segmented: only words of the built-in word list are found in them.

    >>> link_words("https://example.org/catalog/find.php", "Search")
    ['a:search', 'u:catalog', 'u:find', 'u:php']
    """
    text = anchor.casefold()
    chinese = [word for word in _PRIOR if not word.isascii() and word in text]
    own = [word for word in _WORD.findall(text) if word not in chinese]
    parts = urlsplit(url)
    address = _WORD.findall(unquote(f"{parts.path} {parts.query}").casefold())
    return list(
        dict.fromkeys(
            [f"a:{word}" for word in [*chinese, *own]] + [f"u:{word}" for word in address]
        )
    )


class LinkScorer:
    """Scores links by the log odds that they lead to a search form: a prior for each word,
    corrected by the links of this site that were followed.

    score = sum over the link's words of ln((hits + 2 p) / (misses + 2 (1 - p))) + 0.4 (1 - place).
    Here p is the word's prior probability; hits and misses are the followed links of this site with
    the word that led to a new search form and that did not; place is the link's position on its
    page, from 0 (top) to 1 (end).
    """

    def __init__(self, counts: Mapping[str, Iterable[int]] | None = None) -> None:
        self.counts: dict[str, list[int]] = {
            word: list(pair) for word, pair in (counts or {}).items()
        }

    def score(self, url: str, anchor: str, place: float = 0.5) -> float:
        """Returns the score of the link to `url` with the text `anchor`, higher if it more likely
        leads to a search form; `place` is its position on the page from 0 (top) to 1 (end)."""
        found = 0.0
        for word in link_words(url, anchor):
            prior = 1 / (1 + math.exp(-_PRIOR.get(word[2:], 0.0)))
            hits, misses = self.counts.get(word, (0, 0))
            found += math.log((hits + _SMOOTHING * prior) / (misses + _SMOOTHING * (1 - prior)))
        return found + _POSITION * (1 - min(1.0, max(0.0, place)))

    def learn(self, url: str, anchor: str, led_to_form: bool) -> None:
        """Counts, for each word of the anchor text and address of a followed link, whether the link
        led to a new search form."""
        for word in link_words(url, anchor):
            if word in self.counts or len(self.counts) < _KEPT:
                self.counts.setdefault(word, [0, 0])[0 if led_to_form else 1] += 1


LINKS_A_PAGE = 300


PAGES_A_SHAPE = 4


_DIGITS = re.compile(r"\d+")


_FILES = re.compile(
    r"\.(?:csv|json|xml|zip|gz|tgz|bz2|xz|pdf|docx?|xlsx?|pptx?|jpe?g|png|gif|svg|webp|ico|css|js"
    r"|mp[34]|avi|mov|exe|deb|rpm|iso|atom|rss)$",
    re.I,
)


class ScoredLink(NamedTuple):
    """A link to follow: address, anchor text, and score (higher: more likely to lead to a search
    form)."""

    url: str
    anchor: str
    score: float


class PageForms(NamedTuple):
    """The forms of a page, its language and title, and its links within the site as (address,
    anchor text, position on the page from 0 to 1)."""

    forms: list[Form]
    language: str
    title: str
    links: list[tuple[str, str, float]]


def read_page(html: str, url: str) -> PageForms:
    """Reads the forms and links of a page. Links to other sites, to files that are not pages, and
    traps (endless generated addresses) are left out."""
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
        if (
            same_site(address, url)
            and not _FILES.search(urlsplit(address).path)
            and trap_reason(address) is None
        ):
            seen.setdefault(address, (address, link.anchor[:200], place / whole))
    return PageForms(forms, page.lang, page.title, list(seen.values()))


def same_site(url: str, other: str) -> bool:
    """Tells whether two addresses belong to one site: the same host and port, or the same
    registered domain."""
    if host_key(url) == host_key(other):
        return True
    domain = registered_domain(urlsplit(url).hostname or "")
    return bool(domain) and domain == registered_domain(urlsplit(other).hostname or "")


def shape(url: str) -> str:
    """Returns the pattern that addresses generated by one script have in common: host, directory
    without numbers, names of parameters.

    >>> shape("http://a.org/item/12?sort=x") == shape("http://a.org/item/9?sort=y")
    True
    """
    parts = urlsplit(url)
    directory, _, last = parts.path.rpartition("/")
    last = (
        _DIGITS.sub("#", last)
        if "." in last or last.isdigit()
        else "*"
        if directory.count("/") >= 2
        else last
    )
    names = ",".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    return f"{parts.netloc}{_DIGITS.sub('#', directory)}/{last}?{names}"


def links_to_follow(page: PageForms, scorer: LinkScorer, shapes: Counter[str]) -> list[ScoredLink]:
    """Returns the links of a page to follow, highest score first, at most 300. Of addresses with
    the same `shape` at most four are taken in the whole crawl: enough to learn whether pages of
    this kind have forms.

    `shapes` counts the links taken so far by shape; the function updates it.
    """
    scored = [
        ScoredLink(url, anchor, scorer.score(url, anchor, place))
        for url, anchor, place in page.links
    ]
    scored.sort(key=lambda link: -link.score)
    taken = []
    for link in scored:
        kind = shape(link.url)
        if shapes[kind] < PAGES_A_SHAPE:
            shapes[kind] += 1
            taken.append(link)
        if len(taken) >= LINKS_A_PAGE:
            break
    return taken
