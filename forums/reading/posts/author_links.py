"""Finds the links on the names of posts' authors. If their addresses contain no known word for
users, they are recognised by how they are used on the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import unquote

from forums.reading.document import Link, Page

_NAME_LENGTH = 24


def link_of(page: Page, node: int) -> Link | None:
    """Returns the link whose node is `node` or one of its three nearest ancestors; None if there is
    none."""
    for _ in range(4):
        if node < 0:
            return None
        if node in page.link_at:
            return page.link_at[node]
        node = page.outline.parents[node]
    return None


def writers(page: Page, people: Sequence[Sequence[tuple[str, int]]]) -> list[Link | None]:
    """Returns for each post the link on its author's name; None where there is no author or link.
    people: (name, node) candidates of each post, best first."""
    return [link_of(page, found[0][1]) if found else None for found in people]


def repeats(links: Sequence[Link | None]) -> bool:
    """Tells whether the links are on people's names, judged by repetition: they lead to at least
    two addresses, at least one of these occurs more than once, all links to one address have the
    same text, and no two addresses have the same text. Links on the titles of threads, boards or
    replies do not recur in this way."""
    names: dict[str, set[str]] = defaultdict(set)
    times: dict[str, int] = defaultdict(int)
    for link in links:
        if link is not None:
            names[link.url].add(link.text)
            times[link.url] += 1
    if len(names) < 2 or any(len(texts) > 1 for texts in names.values()):
        return False
    return max(times.values()) >= 2 and len({next(iter(texts)) for texts in names.values()}) == len(
        names
    )


def address_ends_in_name(link: Link) -> bool:
    """Tells whether the end of a link's address is the text of the link, as in `/p/anna` for
    "anna"; case and punctuation are ignored."""
    name = _plain(link.text)
    return len(name) >= 2 and _plain(
        unquote(link.url.rstrip("/")).rsplit("/", 1)[-1].rpartition("=")[2]
    ).endswith(name)


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def are_short(links: Sequence[Link | None]) -> bool:
    """Tells whether the links' texts are as short as names: at most 24 characters, on average at
    most 1.4 words."""
    texts = [link.text for link in links if link is not None]
    words = sum(len(text.split()) for text in texts)
    dense = any(len(text) > 8 and max(text) >= "\u2e80" for text in texts)
    return (
        bool(texts)
        and not dense
        and words <= 1.4 * len(texts)
        and max(map(len, texts)) <= _NAME_LENGTH
    )
