"""Tests that strategies are discovered from their files and define their own display texts, and
that all these texts are translated."""

import gettext
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from focused.admin import crawl as crawl_views
from focused.admin import titles
from focused.graph import MemoryGraph, Node
from focused.judge.relevance import Relevance
from focused.parameters import RunOptions, parameters_of
from focused.run.loop import crawl
from focused.strategies import base as strategies
from focused.strategies.base import BUILT_IN, Strategy, find, strategy_class
from focused.strategies.link_features import FEATURES
from tests.focused.webs import order, random_web, topic, url

ROOT = Path(__file__).resolve().parents[2]


def catalogue() -> set[str]:
    with (ROOT / "crawlmgr/locale/zh_Hans/LC_MESSAGES/django.mo").open("rb") as file:
        return set(gettext.GNUTranslations(file)._catalog)  # type: ignore[attr-defined]


def test_every_text_of_strategies_and_options_is_in_the_catalogue() -> None:
    shown = {text for one in parameters_of(RunOptions) for text in (one.help, one.title)}
    for name in BUILT_IN:
        found = strategy_class(name)
        shown |= {found.summary, found.title, *found.words.values()}
        shown |= {text for one in found.parameters() for text in (one.help, one.title)}
    assert shown <= catalogue() and "" not in shown


def test_a_file_with_a_strategy_is_all_that_one_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strategy from the contributor's guide in a file of its own is found by its name, shown
    with its texts, and can be run."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = (
        one
        for one in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        if "Strategy" in one
    )
    (tmp_path / "shortest_of_the_guide.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find(tmp_path, "")
    assert list(found) == ["shortest_first"]
    monkeypatch.setattr(
        strategies, "BUILT_IN", {**BUILT_IN, "shortest_first": found["shortest_first"].lstrip(".")}
    )
    monkeypatch.setattr(titles, "BUILT_IN", strategies.BUILT_IN)
    one = strategy_class("shortest_first")
    assert (
        titles.strategy("shortest_first") == one.title and "shortest_first" in titles.strategies()
    )
    assert "shortest_first" in {row["name"] for row in crawl_views.strategies()}
    web = random_web(3)
    reached = order("shortest_first", web, ["p0"])
    assert set(reached) == set(order("breadth_first", web, ["p0"])) and reached != order(
        "breadth_first", web, ["p0"]
    )


def test_two_strategies_of_one_name_are_refused(tmp_path: Path) -> None:
    for file in ("one", "two"):
        (tmp_path / f"{file}.py").write_text(
            'class Mine(Strategy):\n    name = "mine"\n', encoding="utf-8"
        )
    with pytest.raises(
        ValueError,
        match=r"two strategies are named mine: package\.one\.Mine and package\.two\.Mine",
    ):
        find(tmp_path, "package")


def test_the_parts_of_every_score_have_names() -> None:
    parts, queues = set(FEATURES), set[str]()
    web = random_web(3)
    for name in BUILT_IN:
        strategy = strategy_class(name)(Relevance(topic(["p0"])), MemoryGraph(), random.Random(1))
        waiting = strategy.select

        def watched(
            strategy: Strategy = strategy, waiting: Callable[[], Node | None] = waiting
        ) -> Node | None:
            node = waiting()
            if node is not None:
                parts.update(strategy.explain(node))
                queues.add(node.queue)
            return node

        strategy.select = watched
        crawl(strategy, strategy.graph, web, [url("p0")], 40)
    own = {word for name in BUILT_IN for word in strategy_class(name).words}
    assert parts <= {*titles.PARTS, *own}, "a part of a score without a name"
    assert {name for name in queues if not name.startswith("layer")} <= {"", *titles.QUEUES, *own}
