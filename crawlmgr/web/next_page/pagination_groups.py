"""Groups of numbered pagination links, one group for each form of address, and the choice of the
group that belongs to the page's own list. Links of one group have the same address except for the
number that counts pages.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from lxml.html import HtmlElement

from crawlmgr.web.next_page.pagination_urls import (
    Address,
    Slot,
    page_of,
    relation,
    similarity,
    slots,
)
from crawlmgr.web.next_page.pagination_words import CURRENT_NAME, PAGER_NAME, page_number

# Least score (see `_score`) of a group of links that is accepted as the page's pagination. A group
# with a single page number only reaches it if its addresses are similar to the page's own, and more
# easily inside an element that is named as a pager.
_MIN_SCORE = 2.5
_MAX_GROUPS = 60  # at most this many groups are examined in detail, those with the highest scores
SURE = 0.99


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link that may lead to another page of the list, with the evidence for it. `target` is its
    parsed `url`, `number` the page number in its text (None without one), `rel_next` whether its
    `rel` says "next"."""

    element: HtmlElement
    url: str
    target: Address
    number: int | None
    word: (
        str | None
        # which page the link's text names: "next", "previous", "last" or "first"; None for any
        # other text
    )
    rel_next: bool
    named: bool  # whether a class, id or title of the link says "next"


@dataclass(slots=True)
class PageGroup:
    """Links whose addresses differ only in one number u, which depends on the page number n in the
    link's text: u = base + step * (n - 1). `links` are (n, link) pairs; `template` is the address
    with a placeholder for u; `current` is the number of the current page, None if unknown."""

    template: str
    step: int
    base: int
    links: list[tuple[int, PageLink]] = field(default_factory=list)
    score: float = 0.0
    current: int | None = None

    def page(self, target: Address) -> int | None:
        """Returns the page number of an address of this group; None for an address that does not
        fit the group's template."""
        for slot in slots(target):
            if slot.template == self.template:
                return page_of(slot.number, self.step, self.base)
        return None


def best_group(links: list[PageLink], pages: list[Address]) -> PageGroup | None:
    """Returns the group of numbered links that most likely leads to the other pages of this page's
    list; None if none is likely enough. `pages` are the addresses of the page itself (requested and
    canonical)."""
    collected: dict[str, list[tuple[int, Slot, PageLink]]] = defaultdict(list)
    for link in links:
        if link.number is not None:
            for slot in slots(link.target):
                collected[slot.template].append((link.number, slot, link))
    groups = []
    for template, members in collected.items():
        named = any(slot.named for _, slot, _ in members)
        found = relation([(number, slot.number) for number, slot, _ in members], named)
        if found is None:
            continue
        step, base = found
        fitting = [
            (number, link)
            for number, slot, link in members
            if slot.number == base + step * (number - 1)
        ]
        if fitting:
            group = PageGroup(template, step, base, fitting)
            group.score = _score(group, pages, named)
            groups.append(group)
    groups = _without_shared_links(groups)[:_MAX_GROUPS]
    for group in groups:
        if group.score < _MIN_SCORE and _continues(group, links):
            # this group is the page's pager, although the page's own address differs in form from
            # its links (rewritten URLs)
            group.score += 2.5
    rows = Counter(_place(group.links[0][1].element) for group in groups)
    for group in groups:
        if rows[_place(group.links[0][1].element)] > 2:
            # more than two groups at the same position in repeated elements are small pagers beside
            # the titles of a list
            group.score -= 4
    best = max(groups, key=lambda group: group.score, default=None)
    if best is None or best.score < _MIN_SCORE:
        return None
    _add_first_page(best, links)
    best.current = _current(best, pages)
    return best


def _without_shared_links(groups: list[PageGroup]) -> list[PageGroup]:
    """Returns the groups in descending order of score. A link that belongs to several groups stays
    only in the best of them; groups without remaining links are left out."""
    taken: set[int] = set()
    kept = []
    for group in sorted(
        groups, key=lambda group: (-group.score, -len(group.links), group.template)
    ):
        group.links = [(number, link) for number, link in group.links if id(link) not in taken]
        if group.links:
            taken.update(id(link) for _, link in group.links)
            kept.append(group)
    return kept


def _continues(group: PageGroup, links: list[PageLink]) -> bool:
    """Tells whether the pager of the group shows a number without a link, which is taken for the
    current page, and a "next" link leads to the page after it."""
    numbers = {number for number, _ in group.links}
    own = [number for number in unlinked_numbers(group) if number not in numbers]
    return bool(own) and any(
        link.word == "next" and group.page(link.target) == own[0] + 1 for link in links
    )


def _score(group: PageGroup, pages: list[Address], named: bool) -> float:
    """Returns how likely the group leads to pages of this page's list, as points from about -1 to
    8; `_MIN_SCORE` of them are enough. `pages` are the addresses of the page itself; `named`: a
    word in the group's addresses says that their number counts pages."""
    alike = max(similarity(group.template, page) for page in pages)
    numbers = {number for number, _ in group.links}
    first = group.links[0][1].element
    score = 4.0 * alike + min(len(numbers), 3) * 0.7 + (1.0 if named else 0.0)
    if in_pager(first):
        score += 1.0
    if group.step > 1:
        score -= 0.5
    return score - 1.5 if alike == 0 else score


def _place(element: HtmlElement) -> str:
    """Returns the position of a link on the page as text: tags and classes of up to six ancestors.
    It is equal for corresponding links of repeated elements, such as the rows of a list."""
    steps: list[str] = []
    node = element.getparent()
    while node is not None and len(steps) < 6:
        steps.append(f"{node.tag}.{re.sub(r'[0-9]+', '', node.get('class') or '')}")
        node = node.getparent()
    return "/".join(steps)


def in_pager(element: HtmlElement) -> bool:
    """Tells whether an element or one of its four nearest ancestors has a class, id or role that
    names a pager."""
    node = element
    for _ in range(5):
        if node is None:
            return False
        if (
            PAGER_NAME.search(f"{node.get('class') or ''} {node.get('id') or ''}")
            or node.get("role") == "navigation"
        ):
            return True
        node = node.getparent()
    return False


def _add_first_page(group: PageGroup, links: list[PageLink]) -> None:
    """Adds to the group the links with the text "1" in the same block; their address often lacks
    the part that counts pages, and therefore does not fit the template."""
    parents = {_around(link.element) for _, link in group.links}
    known = {id(link) for _, link in group.links}
    for link in links:
        if link.number == 1 and id(link) not in known and _around(link.element) in parents:
            group.links.append((1, link))


def _around(element: HtmlElement) -> HtmlElement:
    """Returns the block of pagination links that contains a link: its nearest ancestor with more
    than one child element, at most five levels up."""
    node = element.getparent()
    for _ in range(4):
        if node is None or node.getparent() is None or len(node) > 1:
            break
        node = node.getparent()
    return node if node is not None else element


def _current(group: PageGroup, pages: list[Address]) -> int | None:
    """Returns the number of the current page: from its address, from a highlighted link, or from a
    number that is not a link. If none of these shows it, a number that the links lack: 1 if no link
    has it, otherwise the only gap in their numbers. None if there is no gap or more than one."""
    for page in pages:
        own = group.page(page)
        if own is not None:
            return own
    if max(similarity(group.template, page) for page in pages) >= SURE:
        return 1
    for number, link in group.links:
        if _marked(link.element):
            return number
    numbers = {number for number, _ in group.links}
    fresh = [n for n in unlinked_numbers(group) if n not in numbers and n <= max(numbers) + 1]
    if fresh:
        return fresh[0]
    if 1 not in numbers:
        return 1
    gaps = [number for number in range(min(numbers), max(numbers)) if number not in numbers]
    return gaps[0] if len(gaps) == 1 else None


def _marked(element: HtmlElement) -> bool:
    """Tells whether a link is marked as the current page by aria-current or a class, of its own or
    of its parent if that contains only the link."""
    parent = element.getparent()
    for node in (element, parent if parent is not None and len(parent) == 1 else None):
        if node is not None and (
            node.get("aria-current") or CURRENT_NAME.search(node.get("class") or "")
        ):
            return True
    return False


def unlinked_numbers(group: PageGroup) -> list[int]:
    """Returns page numbers that are shown in the group's pager without a link, those in highlighted
    elements first. One of them is usually the current page."""
    marked: list[int] = []
    plain: list[int] = []
    for block in dict.fromkeys(_around(link.element) for _, link in group.links[:12]):
        for seen, node in enumerate(block.iter()):
            if seen > 400:
                break
            if not isinstance(node.tag, str) or node.tag in ("script", "style", "option", "input"):
                continue
            if (
                node.tag != "a"
                or not node.get("href")
                or node.get("href", "").startswith(("#", "javascript:"))
            ):
                number = page_number(node.text or "")
                if number is not None and not _inside_link(node, block):
                    (marked if _is_marker(node) else plain).append(number)
            number = page_number(node.tail or "") if node is not block else None
            if number is not None:
                plain.append(number)
    return marked + plain


def _is_marker(node: HtmlElement) -> bool:
    return node.tag in ("strong", "b", "em") or bool(
        node.get("aria-current") or CURRENT_NAME.search(node.get("class") or "")
    )


def _inside_link(node: HtmlElement, block: HtmlElement) -> bool:
    parent = node.getparent()
    while parent is not None and parent is not block:
        if parent.tag == "a" and parent.get("href"):
            return True
        parent = parent.getparent()
    return False
