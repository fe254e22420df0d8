"""Small generated webs for strategies: pages by name, each with its words and its links as (target,
anchor, context)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from crawlmgr.text.similarity import simhash
from crawlmgr.text.tokens import tokenize
from focused.graph import MemoryGraph, Node, State
from focused.judge.relevance import Relevance, Topic
from focused.pages import Content, Link, Page
from focused.run.loop import Outside, Trail, crawl
from focused.strategies.base import Strategy, strategy_class

WebLink = str | tuple[str, str] | tuple[str, str, str]
DOCUMENTS = ("focused crawler fetches topical pages", "crawler follows topical links of pages")
ON = "crawler fetches topical pages"
OFF = "garden soup recipe tomato"


def url(name: str) -> str:
    return name if "://" in name else f"http://site.example/{name}"


class Web:
    """A source of pages by name. `get` raises Outside for a page that does not exist, and returns
    None for one in `broken`."""

    def __init__(
        self, pages: Mapping[str, tuple[str, Sequence[WebLink]]], broken: Sequence[str] = ()
    ) -> None:
        self.pages = {
            url(name): self._content(url(name), text, links)
            for name, (text, links) in pages.items()
        }
        self.broken = {url(name) for name in broken}
        self.asked: list[str] = []

    def get(self, wanted: str) -> Content | None:
        self.asked.append(wanted)
        if wanted in self.broken:
            return None
        if wanted not in self.pages:
            raise Outside(wanted)
        return self.pages[wanted]

    @staticmethod
    def _content(own: str, text: str, links: Sequence[WebLink]) -> Content:
        found = []
        for link in links:
            target, anchor, context = (*((link,) if isinstance(link, str) else link), "", "")[:3]
            found.append(
                Link(url(target), anchor, tuple(tokenize(anchor)), Counter(tokenize(context)))
            )
        words = Counter(tokenize(f"{text} {own.rpartition('/')[2]}"))
        return Content(own, text, words, tuple(found), simhash(words))


def topic(seeds: Sequence[str], **changes: object) -> Topic:
    return Topic(
        "t",
        tuple(url(seed) for seed in seeds),
        **{"documents": DOCUMENTS, "threshold": 0.3, **changes},
    )


def order(
    name: str,
    web: Web,
    seeds: Sequence[str],
    pages: int = 1000,
    about: Topic | None = None,
    history: Sequence[object] = (),
    seed: int = 1,
    **values: object,
) -> list[str]:
    """The names of the pages in the order in which a strategy fetches them."""
    return [
        step.url.replace("http://site.example/", "")
        for step in run(name, web, seeds, pages, about, history, seed, **values).steps
    ]


def run(
    name: str,
    web: Web,
    seeds: Sequence[str],
    pages: int = 1000,
    about: Topic | None = None,
    history: Sequence[object] = (),
    seed: int = 1,
    **values: object,
) -> Trail:
    graph = MemoryGraph()
    about = about or topic(seeds)
    strategy = strategy_class(name)(Relevance(about), graph, random.Random(seed), values, history)
    return crawl(strategy, graph, web, about.seeds, pages)


def random_web(seed: int, pages: int = 60, links: int = 4, on_topic: float = 0.3) -> Web:
    """A connected random web in which every page has its own words and anchors; a given share of
    the pages is on topic."""
    rng = random.Random(seed)
    words = ON.split() + OFF.split() + [f"word{i}" for i in range(40)]
    found: dict[str, tuple[str, list[WebLink]]] = {}
    names = [f"p{i}" for i in range(pages)]
    for i, name in enumerate(names):
        text = " ".join([ON if rng.random() < on_topic else OFF, *rng.choices(words, k=5)])
        targets = rng.sample(names, links)
        if i + 1 < pages:
            targets.append(names[i + 1])
        out: list[WebLink] = [
            (target, " ".join(rng.choices(words, k=2)), " ".join(rng.choices(words, k=4)))
            for target in dict.fromkeys(targets)
            if target != name
        ]
        found[name] = (text, out)
    return Web(found)


def build(
    name: str, about: Topic | None = None, history: Sequence[object] = (), **values: object
) -> Strategy:
    """Returns the strategy `name` with parameters `values` and an empty graph, not started; `about`
    is its topic."""
    return strategy_class(name)(
        Relevance(about or topic(["s"])), MemoryGraph(), random.Random(1), values, history
    )


def start(
    name: str,
    links: Sequence[WebLink],
    relevant: bool = False,
    similarity: float = 0.0,
    about: Topic | None = None,
    **values: object,
) -> Strategy:
    """Returns a strategy that has just expanded its only seed "s" with the given links; `values`
    are its parameters."""
    strategy = build(name, about, **values)
    strategy.start([url("s")])
    fetch(strategy, "s", links, relevant, similarity)
    return strategy


def fetch(
    strategy: Strategy,
    name: str,
    links: Sequence[WebLink],
    relevant: bool = False,
    similarity: float = 0.0,
) -> Node:
    """Tells a strategy that a page with links was fetched."""
    node = strategy.graph.add(url(name), 1, None)
    strategy.graph.drop(node)
    node.state = State.FETCHED
    content = Web({name: ("", links)}).pages[url(name)]
    strategy.expand(node, Page(node.url, node.depth, content, similarity, relevant))
    return node


def node(strategy: Strategy, name: str) -> Node | None:
    """The node of a page by its name."""
    return strategy.graph.node(url(name))
