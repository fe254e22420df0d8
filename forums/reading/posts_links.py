"""Links of posts that lead to users, recognised by their use on the page if their addresses contain no known word for users."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import unquote

from forums.reading.document import Link, Page

_NAME_LENGTH = 24


def link_of(page: Page, node: int) -> Link | None:
    """The link that `node` is, or that is at most three levels above it; None if there is none."""
    for _ in range(4):
        if node < 0:
            return None
        if node in page.link_at:
            return page.link_at[node]
        node = page.outline.parents[node]
    return None


def writers(page: Page, people: Sequence[Sequence[tuple[str, int]]]) -> list[Link | None]:
    """For each post the link on its author's name; None without one. people: (name, node) candidates of each post, best first."""
    return [link_of(page, found[0][1]) if found else None for found in people]


def repeats(links: Sequence[Link | None]) -> bool:
    """Tells whether the links are on people's names: they have several targets, each always under one name, that recur in several
    posts. A thread, board or reply is linked by its name only once."""
    names: dict[str, set[str]] = defaultdict(set)
    times: dict[str, int] = defaultdict(int)
    for link in links:
        if link is not None:
            names[link.url].add(link.text)
            times[link.url] += 1
    if len(names) < 2 or any(len(texts) > 1 for texts in names.values()):
        return False
    return max(times.values()) >= 2 and len({next(iter(texts)) for texts in names.values()}) == len(names)


def spells(link: Link) -> bool:
    """Tells whether the end of an address spells the text of its link, as `/p/anna` does for "anna"."""
    name = _plain(link.text)
    return len(name) >= 2 and _plain(unquote(link.url.rstrip("/")).rsplit("/", 1)[-1].rpartition("=")[2]).endswith(name)


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def are_short(links: Sequence[Link | None]) -> bool:
    """Tells whether the links' texts are as short as names: one or two words in each, rarely three."""
    texts = [link.text for link in links if link is not None]
    words = sum(len(text.split()) for text in texts)
    dense = any(len(text) > 8 and max(text) >= "\u2e80" for text in texts)
    return bool(texts) and not dense and words <= 1.4 * len(texts) and max(map(len, texts)) <= _NAME_LENGTH
