"""Every sentence of a strategy or a parameter is marked for translation."""

import random
from collections.abc import Callable

from focused.admin import titles
from focused.admin.parameter_words import SENTENCES
from focused.graph import MemoryGraph, Node
from focused.loop import crawl
from focused.options import RunOptions
from focused.parameters import parameters_of
from focused.relevance import Relevance
from focused.strategies import BUILT_IN, strategy_class
from focused.strategies.base import Strategy
from focused.strategies.link_features import FEATURES
from tests.focused.webs import random_web, topic, url


def test_sentences_of_strategies_and_options_are_all_marked() -> None:
    shown = {parameter.help for parameter in parameters_of(RunOptions)}
    for name in BUILT_IN:
        found = strategy_class(name)
        shown |= {found.summary, *(parameter.help for parameter in found.parameters())}
    assert shown == set(SENTENCES)


def test_every_strategy_has_a_name() -> None:
    assert set(titles.STRATEGIES) == {strategy_class(name).name for name in BUILT_IN}


def test_the_parts_of_every_score_have_names() -> None:
    parts, queues = set(FEATURES), set[str]()
    web = random_web(3)
    for name in BUILT_IN:
        strategy = strategy_class(name)(Relevance(topic(["p0"])), MemoryGraph(), random.Random(1))
        waiting = strategy.select

        def watched(strategy: Strategy = strategy, waiting: Callable[[], Node | None] = waiting) -> Node | None:
            node = waiting()
            if node is not None:
                parts.update(strategy.explain(node))
                queues.add(node.queue)
            return node

        strategy.select = watched
        crawl(strategy, strategy.graph, web, [url("p0")], 40)
    assert parts <= set(titles.PARTS), "a part of a score without a name"
    assert {name for name in queues if not name.startswith("layer")} <= {"", *titles.QUEUES}
