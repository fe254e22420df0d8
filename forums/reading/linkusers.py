"""Recognises links to users' profiles by their addresses, by words such as "by" before them, and,
for the ambiguous `/space/7`, by whether they are headings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from crawlmgr.web.pages.outline import Outline
from forums.reading.addresses import names_user
from forums.reading.patterns import leads_to
from forums.reading.values import ends_by, is_name

# the part of an address pattern that stands for a user's name, possibly with digits in it
_VARIED = re.compile(r"[#*]+(?:[-_.]?[#*]+)*|[a-z]{1,24}#")
_SPACE = re.compile(r"/spaces?/\d+/?")  # a user's own pages on some sites, boards on others


def leads_to_user(url: str, pattern: str) -> bool:
    """Tells whether an address of the page's own site is that of a user's profile. `pattern` is its
    address pattern (see `patterns`)."""
    return names_user(url) and (
        leads_to(pattern) != "thread" or names_user(url.rstrip("/").rsplit("/", 1)[-1])
    )


def board_spaces(page: Outline, links: Sequence[tuple[int, str, str]]) -> frozenset[str]:
    """Returns the addresses of the form `/space/7` that are boards on this page: all addresses of
    that form or none. They are boards if at least three of them, and at least two thirds, are
    linked only once and in a heading. `links` are (node, address, fragment)."""
    found = [(node, url) for node, url, _ in links if _SPACE.fullmatch(urlsplit(url).path)]
    times = Counter(url for _, url in found)
    heading = {url for node, url in found if times[url] == 1 and _in_heading(page, node)}
    return (
        frozenset(times)
        if len(heading) >= 3 and 3 * len(heading) >= 2 * len(times)
        else frozenset()
    )


def called_users(
    page: Outline, links: Sequence[tuple[int, str, str]], found: Mapping[str, str]
) -> frozenset[str]:
    """Finds address patterns of users by words such as "by" before links. A pattern is returned if
    such a word precedes links to at least two of its addresses and at least two fifths of its
    links, and if all its links have as text a name of at most 40 characters. links: (node, address,
    fragment); found: the pattern of each address."""
    said: dict[str, set[str]] = defaultdict(set)
    named: dict[str, list[int]] = defaultdict(list)
    count: Counter[str] = Counter()
    for node, url, _ in links:
        pattern, first = _VARIED.sub("*", found[url]), page.piece_from[node]
        if first == page.piece_to[node]:
            continue  # The link is on an image and has no text.
        named[pattern].append(node)
        if (
            first
            and page.pieces[first - 1].line == page.pieces[first].line
            and ends_by(page.pieces[first - 1].text)
        ):
            said[pattern].add(url)
            count[pattern] += 1
    people = {
        pattern
        for pattern, urls in said.items()
        if len(urls) >= 2
        and 5 * count[pattern] >= 2 * len(named[pattern])
        and leads_to(pattern) != "thread"
        if all(len(text) <= 40 and is_name(text) for text in map(page.text, named[pattern]))
    }
    return frozenset(pattern for pattern in found.values() if _VARIED.sub("*", pattern) in people)


def _in_heading(page: Outline, node: int) -> bool:
    return any(page.tags[at] in ("h2", "h3", "h4", "h5") for at in (node, page.parents[node]))
