"""The strategy `depth_first`, after Yang et al.: follows the newest links first. Among the links of
one page it prefers those whose words are most similar to the topic's words; it postpones links that
a decision tree predicts to lead off topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from crawlmgr.text.similarity import bigrams
from focused.graph import Node
from focused.judge.relevance import url_tokens
from focused.pages import Link, Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

LATER = "later"


class WordLikeness:
    """Computes how similar a word is to the topic's words: the greatest Jaccard similarity of the
    sets of character bigrams of the word and of a topic word, in [0, 1].
    """

    def __init__(self, topic_words: Iterable[str]) -> None:
        self._sizes: list[int] = []
        self._holders: dict[str, list[int]] = {}
        self._known: dict[str, float] = {}
        for number, word in enumerate(topic_words):
            pairs = bigrams(word)
            self._sizes.append(len(pairs))
            for pair in pairs:
                self._holders.setdefault(pair, []).append(number)

    def word(self, word: str) -> float:
        """Returns the similarity of one word to the topic's words, in [0, 1]."""
        found = self._known.get(word)
        if found is None:
            pairs = bigrams(word)
            shared = Counter(number for pair in pairs for number in self._holders.get(pair, ()))
            found = max(
                (n / (len(pairs) + self._sizes[number] - n) for number, n in shared.items()),
                default=0.0,
            )
            self._known[word] = found
        return found

    def words(self, words: Collection[str]) -> float:
        """Returns the mean similarity of several words, independent of their order; 0 without
        any."""
        return fsum(self.word(word) for word in words) / len(words) if words else 0.0


class DepthFirst(Strategy):
    """Fetches the most recently found link first. Links that are predicted to lead to off-topic
    pages wait behind all others.

    A decision tree predicts whether a link leads to a relevant page. It is trained once, on the
    first `training_pages` pages that were fetched through links, or on more if these are all
    relevant or all irrelevant. Its features are the similarity of the words in the link's anchor
    and URL to the topic's words, the similarity of the link's page to the topic, and the link's
    depth."""

    name = "depth_first"
    title = gettext_noop("Depth first")
    summary = gettext_noop(
        "Depth first; on each page the promising links first, and a decision tree postpones"
        " unpromising ones. Plain depth first is an option."
    )
    resumable = True

    @dataclass(frozen=True, slots=True)
    class Settings:
        order: str = parameter(
            "similarity",
            gettext_noop("Order of a page's links"),
            choices=("similarity", "page"),
            title=gettext_noop("Order of links"),
        )
        tree: bool = parameter(
            True,
            gettext_noop("Postpone links that a decision tree classifies as off topic"),
            title=gettext_noop("Decision tree"),
        )
        training_pages: int = parameter(
            30,
            gettext_noop("Number of pages that the tree is trained on"),
            5,
            10_000,
            title=gettext_noop("Training pages"),
        )
        tree_depth: int = parameter(
            3,
            gettext_noop("Maximum depth of the tree"),
            1,
            20,
            title=gettext_noop("Depth of the tree"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._count = 0.0
        self._tree: DecisionTreeClassifier | None = None
        self._samples: list[tuple[list[float], bool]] = []
        self._likeness = WordLikeness(sorted(self.topic.words))

    def state(self) -> dict[str, Any]:
        return {"count": self._count, "samples": self._samples}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._count = state["count"]
        self._samples = [(features, relevant) for features, relevant in state["samples"]]
        self._train()

    def select(self) -> Node | None:
        return self.graph.pop() or self.graph.pop(LATER)

    def expand(self, node: Node, page: Page) -> None:
        if self.settings.tree and self._tree is None and (features := node.get("features")):
            self._learn(features, page.relevant)
        scored = [(self._likeness_of(link), link.url) for link in page.links]
        if self.settings.order == "similarity":
            scored.sort(key=lambda pair: -pair[0])
        offered = [
            (child, likeness)
            for likeness, url in reversed(scored)
            if (child := self.open(node, url)) is not None
        ]
        promising = self._promising(
            [[likeness, page.similarity, float(child.depth)] for child, likeness in offered]
        )
        # The links are pushed in reverse order, because the one pushed last is popped first.
        for (child, likeness), good in zip(offered, promising, strict=True):
            child.data["features"] = [likeness, page.similarity, float(child.depth)]
            self._count += 1
            self.graph.push(child, self._count, "" if good else LATER, node.url)

    def explain(self, node: Node) -> Mapping[str, float]:
        features = node.get("features", [0.0, 0.0, 0.0])
        return dict(zip(("likeness", "page_similarity", "depth"), features, strict=True))

    def _likeness_of(self, link: Link) -> float:
        if self.settings.order == "page" and not self.settings.tree:
            return 0.0
        return self._likeness.words({*link.anchor_words, *url_tokens(link.url)})

    def _learn(self, features: list[float], relevant: bool) -> None:
        self._samples.append((features, relevant))
        self._train()

    def _train(self) -> None:
        """Trains the decision tree if there are `training_pages` examples and they include both
        relevant and irrelevant pages. The examples are kept, so that a resumed run can train the
        tree again."""
        answers = {answer for _, answer in self._samples}
        if len(self._samples) < self.settings.training_pages or len(answers) < 2:
            return
        # takes a second to import, needed only for training
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=self.settings.tree_depth, random_state=0)
        self._tree = tree.fit([x for x, _ in self._samples], [y for _, y in self._samples])

    def _promising(self, features: Sequence[Sequence[float]]) -> Sequence[bool]:
        if self._tree is None or not features:
            return [True] * len(features)
        return [bool(answer) for answer in self._tree.predict(features)]
