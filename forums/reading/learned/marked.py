"""Posts that a page marks by the vocabulary of schema.org (microdata)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lxml.html import HtmlElement

from crawlmgr.text.dates import Moment, parse_time
from forums.reading.document import Page
from forums.reading.learned.assemble import LearnedPosts
from forums.reading.model import PostRecord

_OPENINGS = frozenset(("discussionforumposting", "question", "socialmediaposting"))
_REPLIES = frozenset(("comment", "answer", "usercomments"))
_NO_FORUM = frozenset(
    "article newsarticle blogposting reportagenewsarticle product recipe movie event localbusiness"
    " hotel book course softwareapplication".split()
)
_TEXTS = frozenset(("text", "articlebody", "commenttext"))
_TIMES = frozenset(("datepublished", "datecreated", "commenttime"))
_AUTHORS = frozenset(("author", "creator"))
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Item:
    """An element with a type of schema.org, and the values that belong to it and not to an item
    inside it: `properties` are pairs of lower-case name and node."""

    node: int
    kind: str
    owner: int
    properties: list[tuple[str, int]]

    def nodes(self, names: frozenset[str]) -> Iterator[int]:
        """Yields the nodes of the properties that have one of the names."""
        return (node for name, node in self.properties if name in names)


class MarkedPosts:
    """The posts of a page as its microdata gives them; none on pages whose items are comments on
    something else than a thread (an article, a product), and on lists of several threads.

    A comment below an answer or a question is no post of its own, as on the sites that have both.
    """

    def __init__(self, page: Page) -> None:
        self.page = page

    @cached_property
    def _items(self) -> dict[int, Item]:
        outline, items = self.page.outline, dict[int, Item]()
        if "schema.org/" not in self.page.source:
            return items
        owners: list[int] = []  # nodes of the items around the current node
        for node, element in enumerate(outline.elements):
            while owners and outline.ends[owners[-1]] <= node:
                owners.pop()
            owner = owners[-1] if owners else -1
            names = (element.get("itemprop") or "").lower().split()
            if owner >= 0:
                items[owner].properties.extend((name, node) for name in names)
            if element.get("itemscope") is not None:
                kind = (element.get("itemtype") or "").rstrip("/").rpartition("/")[2].lower()
                items[node] = Item(node, kind, owner, [])
                owners.append(node)
        return items

    @cached_property
    def posts(self) -> list[Item]:
        """The items that are posts, in page order; each has a text."""
        items = self._items
        kinds = [item.kind for item in items.values()]
        if _NO_FORUM & set(kinds) or sum(kind in _OPENINGS for kind in kinds) > 1:
            return []
        return [
            item
            for item in items.values()
            if (item.kind in _OPENINGS or item.kind in _REPLIES and not self._is_aside(item))
            and self._body(item) is not None
        ]

    @property
    def is_thread(self) -> bool:
        """Tells whether the page marks the opening post of a thread or a question."""
        return any(item.kind in _OPENINGS for item in self.posts)

    def _is_aside(self, item: Item) -> bool:
        owner = self._items.get(item.owner)
        return item.kind == "comment" and owner is not None and owner.kind in ("question", "answer")

    def _body(self, item: Item) -> int | None:
        outline = self.page.outline
        return next((n for n in item.nodes(_TEXTS) if outline.text_length(n)), None)

    def _author(self, item: Item) -> str | None:
        outline = self.page.outline
        for node in item.nodes(_AUTHORS):
            person = self._items.get(node)
            named = [n for name, n in person.properties if name == "name"] if person else [node]
            for at in named:
                element = outline.elements[at]
                name = " ".join((element.get("content") or outline.text(at)).split())
                if name and len(name) <= LONGEST_NAME:
                    return name
        return None

    def _posted(self, item: Item) -> Moment | None:
        outline = self.page.outline
        for node in item.nodes(_TIMES):
            element = outline.elements[node]
            for told in (element.get("content"), element.get("datetime"), outline.text(node)):
                moment = parse_time(told, self.page.dates) if told else None
                if moment is not None:
                    return moment
        return None

    def over(
        self, read: Sequence[tuple[HtmlElement, PostRecord]]
    ) -> list[tuple[HtmlElement, PostRecord]]:
        """Returns the posts in page order as (element, record), given those read without regard to
        marks: `read` itself if fewer are marked, otherwise the marked ones. Of these each is the
        post of `read` whose text begins in the marked text, or else read beside that text. It has
        the marked author, and the marked time if none was read."""
        bodies = [body for item in self.posts if (body := self._body(item)) is not None]
        if len(bodies) < max(1, len(read)):
            return list(read)
        left, found = list(read), list[tuple[HtmlElement, PostRecord] | None]()
        for body in bodies:
            text = self.page.outline.text(body)
            same = [pair for pair in left if (first := _beginning(pair[1])) and first in text]
            found.append(same[0] if same else None)
            left = [pair for pair in left if not same or pair[1] is not same[0][1]]
        beside = list(LearnedPosts(self.page, bodies).records()) if None in found else []
        if None in found and len(beside) != len(bodies):
            return list(read)
        pairs = [pair or beside[at] for at, pair in enumerate(found)]
        return [
            (element, self._known(item, record))
            for item, (element, record) in zip(self.posts, pairs, strict=True)
        ]

    def _known(self, item: Item, record: PostRecord) -> PostRecord:
        return replace(
            record,
            author=self._author(item) or record.author,
            posted=record.posted or self._posted(item),
        )


def _beginning(record: PostRecord) -> str:
    return record.text.partition("\n")[0][:LONGEST_NAME].strip()
