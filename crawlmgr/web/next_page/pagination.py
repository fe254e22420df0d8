"""Finds the pagination links of a page: next, last, and the numbered ones.

Page numbers have priority: links are grouped by their address without the number that counts pages,
and the group whose addresses fit the page's own wins over the small pagers beside the titles of a
list. Only if the numbers show no next page, words and arrows in many languages, `rel=next` and
class names are used; they must lead to the same list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin

from lxml.html import HtmlElement

from crawlmgr.web.next_page.pagination_groups import (
    SURE,
    PageGroup,
    PageLink,
    best_group,
    in_pager,
    unlinked_numbers,
)
from crawlmgr.web.next_page.pagination_urls import (
    Address,
    address,
    moves_cursor,
    same_list,
    similarity,
    slots,
)
from crawlmgr.web.next_page.pagination_words import (
    NEXT_NAME,
    NEXT_NAME_JOINED,
    leads_to_neighbour,
    page_direction,
    page_number,
)

# at most this many links are examined, half from the beginning and half from the end of the page
MAX_LINKS = 20_000
_LONGEST_TEXT = 60
_NEXT_CURSOR = re.compile(
    r"_?next_?id|(?:next|page)?_?cursor|page_?token|next_?(?:page_?)?token", re.I
)


class PageLinks(NamedTuple):
    """Absolute addresses of the other pages of the list or thread that a page belongs to, and the
    page's own number (`current`).

    `pages` are the addresses of the numbered links in the order of their numbers, followed by
    `last` (if not among them); `next` is None on the last page, or if no link to the next page was
    found. `next_links` are all addresses that may be the next page, as (origin, address) with the
    origin "numbers", "word" or "head" (`rel=next` in the head): if there are several, only fetching
    them shows which one is right. `numbered` are the pages whose numbers are known, as (number,
    address) in their order.
    """

    next: str | None = None
    pages: tuple[str, ...] = ()
    last: str | None = None
    current: int | None = None
    next_links: tuple[tuple[str, str], ...] = ()
    numbered: tuple[tuple[int, str], ...] = ()


class Answered(NamedTuple):
    """What is known of a page that answers a query: which page of the answer it is (`number`), and
    a function that tells whether an address repeats the query."""

    number: int
    repeats: Callable[[str], bool]


def _any_address(_url: str) -> bool:
    """The default of `find_pages`: accepts every address."""
    return True


def find_pages(
    root: HtmlElement,
    url: str,
    fits: Callable[[str], bool] = _any_address,
    answered: Answered | None = None,
) -> PageLinks:
    """Finds the pagination links of the page at `url`. Every field of the result is None or () if
    there are none.

    `root` is the page's tree, whose <base href> is honoured. Ignored are small pagers beside titles
    of a list, and links to the previous or next thread, also as `rel=next`. `fits` tells whether an
    address can be a page of the same list or thread. Where nothing shows the next page of an answer
    to a query (`answered`), nor that it is the last, weaker evidence is enough: see
    `_next_of_answer`. Time and memory are linear in the number of links, of which at most MAX_LINKS
    are examined.
    """
    base = _base(root, url)
    links = [link for link in _candidates(root, base) if fits(link.url)]
    pages = [address(url), *(address(other) for other in _other_names(root, base))]
    found = _of_links(root, base, links, pages, fits)
    is_last = bool(found.pages) and found.current is not None
    if answered is None or is_last or found.next not in (None, url):
        return found
    return found._replace(next=_next_of_answer(links, pages[0], answered, _Paths(root, base)))


def _of_links(
    root: HtmlElement,
    base: str,
    links: list[PageLink],
    pages: list[Address],
    fits: Callable[[str], bool],
) -> PageLinks:
    group = best_group(links, pages)
    follow = _next_by_group(group, links) if group is not None else None
    next_links = [("numbers", follow)]
    if follow is None and (group is None or not _is_last(group, links)):
        word = _next_by_word(links, pages, group, _Paths(root, base))
        head = _next_in_head(root, base, pages, group)
        follow = word or (head if head is not None and fits(head) else None)
        next_links.append(("word", word))
    next_links.append(("head", _head_link(root, base, pages)))
    known = {
        address: source
        for source, address in reversed(next_links)
        if address is not None and fits(address)
    }
    offered = tuple(
        (source, address)
        for source, address in next_links
        if address is not None and known.get(address) == source
    )
    if group is None:
        return _without_group(links, pages, follow)._replace(next_links=offered)
    numbered: dict[int, str] = {}
    for number, link in group.links:
        numbered.setdefault(number, link.url)
    last = _last(group, links, numbered)
    if last is not None and last not in numbered.values():
        numbered[group.page(address(last)) or max(numbered) + 1] = last
    pages_by_number = tuple(sorted(numbered.items()))
    ordered = tuple(dict.fromkeys(url for _number, url in pages_by_number))
    return PageLinks(follow, ordered, last, group.current, offered, pages_by_number)


def _base(root: HtmlElement, url: str) -> str:
    """Returns the address that the page's relative links are resolved against."""
    for element in root.iter("base"):
        href = element.get("href")
        if href:
            return _join(url, href) or url
    return url


def _join(base: str, href: str) -> str | None:
    """Returns a link's absolute address without its fragment; None for a link within the page and
    for anything but http(s)."""
    href = href.strip()
    if not href or href[0] == "#" or href[:11].lower() == "javascript:":
        return None
    try:
        joined = urldefrag(urljoin(base, href)).url
    except ValueError:
        return None
    return joined if joined[:4].lower() == "http" else None


def _other_names(root: HtmlElement, base: str) -> Iterator[str]:
    """Yields the addresses that the page declares as its own, which may differ from the requested
    one: canonical link, og:url."""
    for element in root.iter("link"):
        if "canonical" in (element.get("rel") or "").lower() and element.get("href"):
            joined = _join(base, element.get("href"))
            if joined:
                yield joined
    for element in root.iter("meta"):
        if element.get("property") == "og:url" and element.get("content"):
            joined = _join(base, element.get("content"))
            if joined:
                yield joined


def _anchors(root: HtmlElement) -> list[HtmlElement]:
    anchors: list[HtmlElement] = list(root.iter("a"))
    return (
        anchors
        if len(anchors) <= MAX_LINKS
        else anchors[: MAX_LINKS // 2] + anchors[-MAX_LINKS // 2 :]
    )


def _candidates(root: HtmlElement, base: str) -> Iterator[PageLink]:
    """Yields the links that could be pagination links: with a number, a word such as "next" or an
    arrow as text, with `rel=next`, or with a label or class that means "next"."""
    for element in _anchors(root):
        href = element.get("href")
        if not href:
            continue
        text = _text(element)
        number = page_number(text) if text else None
        word = page_direction(text) if number is None and text else None
        rel_next = "next" in (element.get("rel") or "").lower().split()
        named = number is None and word is None and len(text) <= 30 and _named_next(element, text)
        if number is None and word is None and not rel_next and not named:
            continue
        url = _join(base, href)
        if url is None or leads_to_neighbour(href):
            continue
        yield PageLink(element, url, address(url), number, word, rel_next, named)


def _text(element: HtmlElement) -> str:
    """Returns the text of a link, at most 61 characters, which is more than pagination links have;
    for an image its alternative text. "" if there is none."""
    if not len(element):
        return (element.text or "").strip()[: _LONGEST_TEXT + 1]
    parts: list[str] = []
    size = 0
    for piece in element.itertext():
        parts.append(piece)
        size += len(piece)
        if size > 4 * _LONGEST_TEXT:
            break
    text = " ".join("".join(parts).split())
    if not text:
        for image in element.iter("img"):
            text = (image.get("alt") or image.get("title") or "").strip()
    return text[: _LONGEST_TEXT + 1]


def _named_next(element: HtmlElement, text: str) -> bool:
    """Tells whether a link is called "next" in its aria-label or title. If its text has at most two
    characters, also a class or id counts: of the link, of its first two child elements, or of its
    parent if that contains only the link.
    """
    for name in ("aria-label", "title"):
        if page_direction(element.get(name) or "") == "next":
            return True
    if len(text) > 2:
        return False
    nearby = [element, *list(element)[:2]]
    parent = element.getparent()
    if parent is not None and len(parent) == 1:
        nearby.append(parent)
    names = " ".join(f"{part.get('class') or ''} {part.get('id') or ''}" for part in nearby)
    return bool(NEXT_NAME.search(names)) or any(
        NEXT_NAME_JOINED.search(name) for name in names.split()
    )


def _next_by_group(group: PageGroup, links: list[PageLink]) -> str | None:
    """Returns the address of the page after the current one: that of the link with its number as
    text, otherwise that of a link with another text ("next") whose address contains its number;
    None if there is none, or the current page is unknown.
    """
    if group.current is None:
        return None
    for number, link in group.links:
        if number == group.current + 1:
            return link.url
    for link in links:
        if link.number is None and group.page(link.target) == group.current + 1:
            return link.url
    return None


def _is_last(group: PageGroup, links: list[PageLink]) -> bool:
    """Tells whether the current page is the last one: its number is known, and no link to its list
    has a higher one."""
    if group.current is None:
        return False
    numbers = [number for number, _ in group.links]
    numbers += [number for link in links if (number := group.page(link.target)) is not None]
    return max(numbers) <= group.current


class _Paths:
    """Hosts and paths to which the links of a page lead, including links that show only an icon;
    collected on first use."""

    def __init__(self, root: HtmlElement, base: str) -> None:
        self._root, self._base = root, base

    @cached_property
    def _all(self) -> frozenset[tuple[str, str]]:
        joined = (_join(self._base, element.get("href") or "") for element in _anchors(self._root))
        targets = [address(url) for url in dict.fromkeys(joined) if url is not None]
        return frozenset((target.host, target.path.rstrip("/")) for target in targets)

    def link_to(self, host: str, path: str) -> bool:
        """Tells whether a link of the page leads to this host and path; `path` is given without a
        final slash."""
        return (host, path) in self._all


def _next_by_word(
    links: list[PageLink], pages: list[Address], group: PageGroup | None, paths: _Paths
) -> str | None:
    """Returns the address of the link that says "next" (by text, `rel`, label or class) and has the
    best evidence of leading to the next page of the same list; None if there is none. `pages` are
    the addresses of the page itself.
    """
    best: tuple[float, str] | None = None
    lone = {link.url for link in links if link.word == "next" and _adds_numbers(link.target, pages)}
    for link in links:
        if link.number is not None or link.word in ("previous", "first", "last"):
            continue
        if not (link.word == "next" or link.rel_next or link.named):
            continue
        sure = link.rel_next or any(
            other.number is not None and other.url == link.url for other in links
        )
        sure = sure or (
            link.word == "next"
            and any(char.isdigit() for char in _bare_number(link.target.path)[0])
        )
        leads = (
            _leads_on(link.target, pages, group)
            or (sure and _adds_a_page(link.target, pages, paths))
            or (lone == {link.url} and group is None)
        )
        if not leads and not (
            link.rel_next and any(moves_cursor(page, link.target) for page in pages)
        ):
            continue
        score = (
            2.0 * (link.word == "next")
            + 1.5 * link.rel_next
            + 1.0 * link.named
            + 1.0 * in_pager(link.element)
        )
        if best is None or score > best[0]:
            best = score, link.url
    return best[1] if best else None


def _leads_on(target: Address, pages: list[Address], group: PageGroup | None) -> bool:
    """Tells whether the address `target` can be the page after the current one: by its number in
    `group` (the links to pages of the list; None: none found), otherwise by a page number that is
    larger than the current page's, or by a cursor in its query. `pages` are all addresses of the
    current page (requested and declared)."""
    if group is not None:
        number = group.page(target)
        if number is not None:
            return group.current is None or number == group.current + 1
    if any(
        target != page and same_list(page, target) and _counts_up(page, target) for page in pages
    ):
        return True
    here = any(page.host == target.host for page in pages)
    if here and any(_NEXT_CURSOR.fullmatch(key) and value for key, value in target.query):
        return True
    front = any(
        page.path in ("", "/") and not page.query and page.host == target.host for page in pages
    )
    # a site's home page can be the first page of a list whose second page has a path of its own
    return front and any(slot.named and slot.number == 2 for slot in slots(target))


def _next_of_answer(
    links: list[PageLink], page: Address, answered: Answered, paths: _Paths
) -> str | None:
    """Returns the address of the page after `page`, which answers a query: that of the first link
    that says "next" or has the next page's number as text, and whose address repeats the query or
    differs from the page's own by one larger number; or that of the only link that says "next", has
    the page's path, and counts further than the page's own address, where what it lacks counts as
    0. None if there is none.
    """
    said = [link for link in links if link.word == "next" or link.rel_next]
    own = {slot.template: slot.number for slot in slots(page)}
    for link in (*said, *(link for link in links if link.number == answered.number + 1)):
        counted = any(
            slot.number > own.get(slot.template, slot.number) for slot in slots(link.target)
        )
        if answered.repeats(link.url) or counted or _adds_a_page(link.target, [page], paths):
            return link.url
    before = {name: int(value) for name, value in page.query if value.isdecimal()}
    further = [
        link
        for link in said
        if (link.target.host, link.target.path) == (page.host, page.path)
        and any(v.isdecimal() and int(v) > before.get(name, 0) for name, v in link.target.query)
    ]
    urls = {link.url for link in further if link.rel_next} or {link.url for link in further}
    return urls.pop() if len(urls) == 1 else None


def _adds_a_page(target: Address, pages: list[Address], paths: _Paths) -> bool:
    """Tells whether a "next" link only appends a page number to the path, as from /t/title/19/ to
    /t/title/19/2/, or increases it by one.

    In the latter case the path without the number must contain an id and be linked on the page:
    /entry/20/ is no further page of /entry/19/.
    """
    base, number = _bare_number(target.path)
    for page in pages:
        if number is None or page.host != target.host or page.query != target.query:
            continue
        if page.path.rstrip("/") == base:
            return number == 2
        own_base, own = _bare_number(page.path)
        if (
            own_base == base
            and own is not None
            and number == own + 1
            and any(char.isdigit() for char in base)
        ):
            return paths.link_to(target.host, base)
    return False


def _adds_numbers(target: Address, pages: list[Address]) -> bool:
    """Tells whether an address is one of `pages`, which has parameters, with further parameters
    that are numbers: a list from a time or a number on, as in ?f=1&t=1722277075&a=2. This is
    evidence for the only link of a page that says "next"."""
    for page in pages:
        own, other = dict(page.query).items(), dict(target.query).items()
        same = (page.host, page.path) == (target.host, target.path)
        if same and own and own < other and all(value.isdecimal() for _, value in other - own):
            return True
    return False


def _bare_number(path: str) -> tuple[str, int | None]:
    """Returns (path without its last segment, that segment as a number) if it is a number of at
    most four digits, otherwise (whole path, None)."""
    base, _slash, last = path.rstrip("/").rpartition("/")
    return (
        (base, int(last))
        if last.isascii() and last.isdigit() and len(last) <= 4
        else (path.rstrip("/"), None)
    )


def _counts_up(page: Address, target: Address) -> bool:
    """Tells whether `target` may be a later page than `page`: False if both addresses have a number
    that counts pages in the same position and that of `target` is not the larger one."""
    own = {slot.template: slot.number for slot in slots(page)}
    return all(slot.number > own[slot.template] for slot in slots(target) if slot.template in own)


def _next_in_head(
    root: HtmlElement, base: str, pages: list[Address], group: PageGroup | None
) -> str | None:
    """Returns the address that `rel=next` in the page's head names; None if there is none or it
    cannot be the page after the current one (see `_leads_on`)."""
    for element in root.iter("link"):
        if "next" not in (element.get("rel") or "").lower().split():
            continue
        url = _join(base, element.get("href") or "")
        if (
            url is not None
            and not leads_to_neighbour(url)
            and _leads_on(address(url), pages, group)
        ):
            return url
    return None


def _head_link(root: HtmlElement, base: str, pages: list[Address]) -> str | None:
    """Returns the address that `rel=next` in the page's head names, if it has the same host and
    path as the page; only its query differs, for example in a cursor that contains no page number.
    None if there is none."""
    for element in root.iter("link"):
        if "next" in (element.get("rel") or "").lower().split():
            url = _join(base, element.get("href") or "")
            if url is None or leads_to_neighbour(url):
                continue
            target = address(url)
            if any(
                target != page and (target.host, target.path) == (page.host, page.path)
                for page in pages
            ):
                return url
    return None


def _last(group: PageGroup, links: list[PageLink], numbered: dict[int, str]) -> str | None:
    """Returns the address of the page with the highest number among all links to the list; None if
    that is the current page. `numbered` maps the page numbers of the numbered links to their
    addresses."""
    highest, url = max(numbered.items())
    for link in links:
        number = group.page(link.target)
        if number is not None and number > highest:
            highest, url = number, link.url
    return url if group.current is None or highest > group.current else None


def _without_group(links: list[PageLink], pages: list[Address], follow: str | None) -> PageLinks:
    """Returns the result for a page without a row of page numbers. `follow` is the next page; the
    last page is that of a link "last". If the only numbered link is "1" and the current number
    stands beside it as plain text, as on the second page of two, the first page and this number are
    included."""
    last = _last_by_word(links, pages)
    for link in links:
        if link.number == 1 and any(_first_of(page, link.target) for page in pages):
            lone = PageGroup("", 1, 1, [(1, link)])
            own = [number for number in unlinked_numbers(lone) if number > 1]
            if own:
                return PageLinks(follow, (link.url,), last, own[0])
    return PageLinks(next=follow, last=last)


def _first_of(page: Address, target: Address) -> bool:
    """Tells whether `target` may be the first page of the list that `page` belongs to: `page` has a
    number that counts pages, and `target` is the same address without it or with another one."""
    return any(slot.named and similarity(slot.template, target) >= SURE for slot in slots(page))


def _last_by_word(links: list[PageLink], pages: list[Address]) -> str | None:
    """Returns the address of a link that says "last" and leads to a later page of the same list;
    None if there is none."""
    for link in links:
        if link.word == "last" and any(
            same_list(page, link.target) and _counts_up(page, link.target) for page in pages
        ):
            return link.url
    return None
