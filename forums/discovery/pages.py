"""Facts of one fetched page that discovery needs besides its reading: links, breadcrumb, titles,
evidence of the time zone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from urllib.parse import urldefrag, urljoin

from lxml.html import HtmlElement

from crawlmgr.text.dates import DateContext, Moment, decide_day_first, find_time, parse_time
from crawlmgr.text.dates_zones import Pair, page_clock, stated_offset
from crawlmgr.web.pages.html import scan
from crawlmgr.web.pages.tree import bounded_markup, parse
from forums.discovery.shapes import page_key
from forums.reading import PageKind, PageReading
from forums.reading.values import declared_language

MAX_LINKS = 3000
MAX_MARKS = 80
MAX_FEEDS = 6
MAX_AHEAD = 8
_MAX_TEXTS = 20_000
_MAX_BLOCKS = 40
_CRUMBS = re.compile(
    r"crumb|navtree|nav_?path|linktree|pathway|location|position|(?:^|[\s_-])path(?:$|[\s_-])"
    r"|\bpt\b",
    re.I,
)
_EMPTY = re.compile(
    r"\bno (?:threads?|topics?|posts?|discussions?|messages?|questions?)\b|nothing (?:has been"
    r" )?posted|keine (?:themen|beiträge)"
    r"|aucun (?:sujet|message)|no hay (?:temas|mensajes)|nessun (?:argomento|messaggio)|нет"
    r" (?:тем|сообщений)"
    r"|暂无|尚无|还没有|没有(?:主题|帖子)"
    r"|まだ(?:投稿|スレッド)|게시물이 없",
    re.I,
)
_STEP = re.compile(r"[»›>→/:|·\\-]|::|&gt;")
_EXPLICIT = re.compile(r"[+-]\d\d:?\d\d$|Z$|GMT|UTC|^\d{10}(?:\d{3})?$")
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml"))
_TIME_ATTRIBUTES = (
    "datetime",
    "title",
    "data-time",
    "data-timestamp",
    "data-original-title",
    "data-title",
)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A fetched page: `url` was requested, and the response came from `final_url`, after
    redirects; `refresh` is the value of its header Refresh."""

    url: str
    final_url: str
    html: str
    fetched_at: datetime
    status: int = 200
    refresh: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A link of a page: its address, how often it occurs on the page (`times`), and its text; if it
    occurs several times, the first text that contains words."""

    url: str
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What discovery uses of one page of the sample.

    `key` and `asked_key` identify the address that answered and the one requested (see `page_key`).
    `crumbs`: links of the breadcrumb, top first. `titles`: texts of headings and title. `stated`:
    texts that state a UTC offset; `pairs`: times as shown with the true time, for guessing the time
    zone. `day_first`: whether dates have the day before the month, None if not shown. `marks`:
    frequent class names. `says_empty`: a text says that there are no threads. `feeds`: addresses of
    linked feeds. `ahead`: addresses to which a page that is no forum's leads by a refresh or in
    frames.
    """

    url: str
    key: str
    asked_key: str
    status: int
    fetched_at: datetime
    reading: PageReading
    links: tuple[Seen, ...] = ()
    crumbs: tuple[Seen, ...] = ()
    titles: tuple[str, ...] = ()
    site_name: str = ""
    language: str = ""
    stated: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    day_first: bool | None = None
    marks: frozenset[str] = frozenset()
    says_empty: bool = False
    feeds: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()

    @property
    def kind(self) -> PageKind:
        return self.reading.kind


def facts(page: FetchedPage, reading: PageReading) -> PageFacts:
    """Parses a fetched page and returns its `PageFacts`: links, titles, language and the like, with
    its `reading`."""
    key, asked = page_key(page.final_url), page_key(page.url)
    root = parse(bounded_markup(page.html)[0])
    if root is None or page.status >= 400:
        return PageFacts(page.final_url, key, asked, page.status, page.fetched_at, reading)
    base = next(
        (urljoin(page.final_url, b.get("href")) for b in root.iter("base") if b.get("href")),
        page.final_url,
    )
    texts = list(_texts(root))
    return PageFacts(
        page.final_url,
        key,
        asked,
        page.status,
        page.fetched_at,
        reading,
        links=tuple(_links(root, base)),
        crumbs=tuple(_crumbs(root, base)),
        titles=tuple(_titles(root)),
        site_name=_site_name(root),
        language=_language(root, texts),
        stated=tuple(text for text in texts if len(text) < 300 and stated_offset(text) is not None)[
            :3
        ],
        pairs=tuple(_pairs(root, texts, page.fetched_at)),
        day_first=decide_day_first(text for text in texts if len(text) < 60),
        marks=frequent_class_names(root),
        says_empty=any(len(text) < 120 and _EMPTY.search(text) for text in texts),
        feeds=tuple(islice(_feeds(root, base), MAX_FEEDS)),
        ahead=tuple(islice(_ahead(page), MAX_AHEAD)) if reading.kind is PageKind.other else (),
    )


def _ahead(page: FetchedPage) -> Iterator[str]:
    """Yields the addresses to which a page leads by a refresh or in frames."""
    for link in scan(page.html, page.final_url, refresh=page.refresh).links:
        if link.tag in ("meta", "frame"):
            yield urldefrag(link.url).url


def _texts(root: HtmlElement) -> Iterator[str]:
    for count, element in enumerate(root.iter()):
        if count > _MAX_TEXTS:
            return
        if not isinstance(element.tag, str) or element.tag in (
            "script",
            "style",
            "noscript",
            "textarea",
        ):
            continue
        for text in (element.text, element.tail):
            if text and not text.isspace():
                yield " ".join(text.split())


def _words_of(element: HtmlElement) -> str:
    text = " ".join(element.text_content().split())
    if not text:
        image = next(iter(element.iter("img")), None)
        text = (image.get("alt") or image.get("title") or "").strip() if image is not None else ""
    return text[:200]


def _seen(element: HtmlElement, base: str) -> Seen | None:
    href = (element.get("href") or "").strip()
    if (
        not href
        or href[0] == "#"
        or href[:11].lower() == "javascript:"
        or href[:7].lower() == "mailto:"
    ):
        return None
    try:
        url = urldefrag(urljoin(base, href)).url
    except ValueError:
        return None
    return Seen(url, _words_of(element)) if url[:4].lower() == "http" else None


def _links(root: HtmlElement, base: str) -> Iterator[Seen]:
    """Yields the links of a page in order, each address once, with its first text that contains
    words."""
    known: dict[str, Seen] = {}
    for count, element in enumerate(root.iter("a")):
        if count >= MAX_LINKS:
            break
        seen = _seen(element, base)
        if seen is None:
            continue
        before = known.get(seen.url)
        known[seen.url] = (
            seen
            if before is None
            else Seen(seen.url, _telling(before.text, seen.text), before.times + 1)
        )
    yield from known.values()


def _telling(first: str, second: str) -> str:
    """Returns the first of two texts of one link that contains letters; the first one if none
    does."""
    return first if any(map(str.isalpha, first)) or not any(map(str.isalpha, second)) else second


def _feeds(root: HtmlElement, base: str) -> Iterator[str]:
    """Yields the addresses of the feeds named in a page's head (`link rel=alternate`), in order."""
    for element in root.iter("link"):
        told = (
            (element.get("rel") or "").lower().split(),
            (element.get("type") or "").strip().lower(),
        )
        if "alternate" in told[0] and told[1] in _FEED_TYPES:
            seen = _seen(element, base)
            if seen is not None:
                yield seen.url


def _crumbs(root: HtmlElement, base: str) -> list[Seen]:
    """Returns the breadcrumb of a page: the links from the forum's root to this page, top first. If
    several elements have names typical of breadcrumbs, the first one with "crumb" in its name is
    used, otherwise the one with most links.
    """
    best: list[Seen] = []
    tried = 0
    for element in root.iter(
        "nav", "div", "ul", "ol", "p", "td", "span", "section", "dl", "h1", "h2", "h3"
    ):
        name = " ".join(element.get(key) or "" for key in ("class", "id", "aria-label", "itemtype"))
        if not name or not _CRUMBS.search(name):
            continue
        tried += 1
        if tried > _MAX_BLOCKS:
            break
        links = [seen for a in element.iter("a") if (seen := _seen(a, base)) is not None]
        links = list({seen.url: seen for seen in reversed(links)}.values())[::-1]
        if (
            1 <= len(links) <= 8
            and len(_words_of(element)) < 400
            and (len(links) > len(best) or "crumb" in name.lower())
        ):
            best = links
            if "crumb" in name.lower():
                break
    return best or _unnamed_crumbs(root, base)


def _unnamed_crumbs(root: HtmlElement, base: str) -> list[Seen]:
    """Returns a breadcrumb that no class name marks: two or more links in one block, with nothing
    between them but » or similar characters."""
    for count, element in enumerate(root.iter("a")):
        if count > 60:
            break
        parent = element.getparent()
        chain = [element]
        following = element
        while (
            _STEP.fullmatch((following.tail or "").strip() or "x")
        ) and following.getnext() is not None:
            following = following.getnext()
            if following.tag != "a":
                break
            chain.append(following)
        if (
            parent is not None
            and len(chain) >= 2
            and "»›>→".find((element.tail or "").strip()[:1] or "x") >= 0
        ):
            return [seen for a in chain if (seen := _seen(a, base)) is not None]
    return []


def _titles(root: HtmlElement) -> Iterator[str]:
    for name in ("h1", "title", "h2"):
        for element in list(root.iter(name))[:2]:
            text = _words_of(element)
            if text:
                yield text


def _site_name(root: HtmlElement) -> str:
    for element in root.iter("meta"):
        if (element.get("property") or element.get("name") or "").lower() in (
            "og:site_name",
            "application-name",
        ):
            return (element.get("content") or "").strip()
    return ""


_SCRIPTS = (("ja", "぀", "ヿ"), ("ko", "가", "힯"), ("ru", "а", "я"), ("zh", "一", "鿿"))


_ENGLISH_TIME = re.compile(
    r"\b\d{1,2},? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]{0,6}\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]{0,6}\.? \d{1,2}\b"
    r"|\b(?:minutes?|hours?|days?|weeks?|months?) ago\b|\b(?:yesterday|today)\b[, at]*\d",
    re.I,
)


def _language(root: HtmlElement, texts: list[str]) -> str:
    """Returns the language of a page's interface; "" if unknown. It is the declared language;
    otherwise "en" if at least three times are written in English; otherwise the language of a
    script that makes up more than a fifth of the letters in very short texts (longer ones are by
    users, who may write in another language)."""
    if told := declared_language(root):
        return told
    if sum(len(text) <= 60 and _ENGLISH_TIME.search(text) is not None for text in texts) >= 3:
        return "en"
    letters = "".join(
        character
        for text in texts
        if len(text) <= 12
        for character in text.lower()
        if character.isalpha()
    )
    for language, first, last in _SCRIPTS:
        if letters and sum(first <= character <= last for character in letters) > 0.2 * len(
            letters
        ):
            return language
    return ""


def _pairs(root: HtmlElement, texts: Iterable[str], fetched_at: datetime) -> Iterator[Pair]:
    """Yields evidence of the time zone: pairs of a time as the site shows it and the true time,
    from a clock on the page, from an exact time next to "5 minutes ago", or from a stated UTC
    offset."""
    context = DateContext(fetched_at, language=declared_language(root))
    for text in texts:
        words = page_clock(text) if len(text) < 200 else None
        moment = find_time(words, context) if words else None
        if moment is not None and not moment.relative:
            yield Pair(_nearest_day(moment, fetched_at), fetched_at, 0)
    found = 0
    for element in root.iter(
        "time", "span", "abbr", "div", "td", "a", "p", "li", "small", "em", "i", "b"
    ):
        for name in _TIME_ATTRIBUTES:
            told = element.get(name)
            if not told or found > 60:
                continue
            exact = parse_time(told, context)
            if exact is None or exact.relative or exact.precision_seconds > 60:
                continue
            shown = parse_time(" ".join(element.text_content()[:80].split()), context)
            pair = _pair(told, exact, shown)
            if pair is not None:
                found += 1
                yield pair


def _pair(relative: str, exact: Moment, shown: Moment | None) -> Pair | None:
    if shown is None:
        return None
    if _EXPLICIT.search(relative.strip()):
        if shown.relative or shown.precision_seconds > 60:
            return None
        return Pair(shown.value, exact.value, 0)
    if shown.relative and shown.precision_seconds <= 3600:
        return Pair(exact.value, shown.value, shown.precision_seconds)
    return None


def _nearest_day(moment: Moment, fetched_at: datetime) -> datetime:
    """Moves a time that was shown without a date to the day that brings it closest to the time of
    fetching."""
    difference = (moment.value - fetched_at).total_seconds()
    return (
        moment.value - timedelta(days=round(difference / 86400))
        if abs(difference) < 3 * 86400
        else moment.value
    )


def frequent_class_names(root: HtmlElement) -> frozenset[str]:
    """Returns the class names that determine a page's looks, and that a new theme changes: the most
    frequent ones without digits."""
    counts: dict[str, int] = {}
    for element in root.iter():
        names = element.get("class") if isinstance(element.tag, str) else None
        for name in (names or "").split():
            if not re.search(r"\d", name):
                counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    return frozenset(ranked[:MAX_MARKS])
