"""The probability with which a run takes its pages for relevant while it goes on."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from crawlmgr.text.tokens import tokenize
from focused.graph import MemoryGraph
from focused.judge.probability import FIRST, Judge, judged, reward, stuffed
from focused.judge.relevance import Relevance
from focused.pages import Page, hashed
from focused.run.loop import Walk
from focused.strategies.base import strategy_class
from tests.focused.webs import DOCUMENTS, OFF, ON, Web, random_web, run, topic, url

WORDS = [f"word{i}" for i in range(60)]


def pages(seed: int, share: float, size: int = 120) -> list[tuple[dict[str, int], bool]]:
    """Texts, a share of which has words of the topic among others."""
    draw = random.Random(seed)
    found = []
    for _ in range(size):
        on = draw.random() < share
        text = [*draw.sample(WORDS, 12), *((ON if on else OFF).split() * 2)]
        found.append((dict.fromkeys(text, 1), on))
    return found


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_pages_on_topic_are_placed_above_others_whatever_their_share(share: float) -> None:
    judge = Judge(Relevance(topic(["p0"], threshold=None)))
    known = pages(1, share)
    for words, _on in known:
        judge.see(hashed(words))
    values = [(judge(hashed(words), 0.0), on) for words, on in pages(2, share)]
    on, off = ([value for value, word in values if word == kind] for kind in (True, False))
    assert sum(a > b for a in on for b in off) > 0.95 * len(on) * len(off)
    assert all(0 < value < 1 for value in [*on, *off])


def test_marks_move_the_probabilities_of_later_pages() -> None:
    judge = Judge(Relevance(topic(["p0"], threshold=None)))
    for words, _on in pages(1, 0.3):
        judge.see(hashed(words))
    other = hashed(pages(2, 1.0, 1)[0][0])
    before = judge(other, 0.0)
    judge.calibration = (-6.0, 1.0)
    assert judge(other, 0.0) < before and judge(other, 0.0) < 0.5


def test_a_threshold_of_the_topic_decides_alone_and_few_pages_are_not_ranked() -> None:
    own = Judge(Relevance(topic(["p0"], threshold=0.3)))
    free = Judge(Relevance(topic(["p0"], threshold=None)))
    for words, _on in pages(1, 0.3, FIRST - 1):
        own.see(hashed(words))
        free.see(hashed(words))
    more = hashed({"crawler": 1})
    assert own(more, 0.3) == reward(0.3, 0.3) == 0.5 and own(more, 0.29) < 0.5
    assert free(more, 0.1) == 0.5
    free.see(more)
    assert free(more, 0.1) != 0.5


@pytest.mark.parametrize("name", ["best_first", "dynamic_tunnel", "adaptive"])
def test_a_copy_is_neither_relevant_nor_a_reward(name: str) -> None:
    text = " ".join([ON, *WORDS[:20]])
    web = Web({"a": (text, ["b", "c"]), "b": (text, []), "c": (f"{OFF} soup", [])})
    about = topic(["a", "b"], threshold=0.1)
    steps = {step.url: step for step in run(name, web, ["a", "b"], about=about).steps}
    assert not steps[url("b")].duplicate or not steps[url("b")].relevant
    strategy = strategy_class(name)(Relevance(about), MemoryGraph(), random.Random(1), {}, ())
    walk, seen = Walk(strategy, strategy.graph), []
    strategy.start(about.seeds)
    strategy.expand = lambda node, page: seen.append(page)  # type: ignore[method-assign]
    for target in ("a", "b"):
        node = strategy.graph.node(url(target))
        assert node is not None
        content = web.pages[url("a")]
        judged_page = walk.judge(node, replace(content, url=url(target)))
        assert judged_page is not None
        walk.expand(node, *judged_page)
    first, copy = seen
    assert first.relevant and first.probability >= 0.5
    assert not copy.relevant and copy.probability == copy.similarity == 0.0


def test_pages_judged_together_are_ordered_like_those_judged_one_by_one() -> None:
    web = random_web(3, 80)
    values = judged(Relevance(topic(["p0"], threshold=None)), web.pages.values())
    right = [
        value for value, page in zip(values, web.pages.values(), strict=True) if ON in page.title
    ]
    assert min(right) > 0.4 and len(values) == 80 and isinstance(right[0], float)
    assert Page("u", 0, next(iter(web.pages.values())), 0.0, False).probability == 0.0


def drawn(vocabulary: int, size: int, seed: int = 1) -> dict[str, int]:
    """A text of `size` words drawn from a list of `vocabulary` words."""
    draw = random.Random(seed)
    return Counter(draw.choices([f"crawler{i}" for i in range(vocabulary)], k=size))


@pytest.mark.parametrize(("vocabulary", "size"), [(20, 200), (50, 600), (40, 450), (120, 8000)])
def test_pages_drawn_from_few_words_are_doubted(vocabulary: int, size: int) -> None:
    assert stuffed(hashed(drawn(vocabulary, size))) > 0.9


@pytest.mark.parametrize("text", [*DOCUMENTS, "one two", "crawler " * 40])
def test_written_and_short_pages_are_not(text: str) -> None:
    assert stuffed(hashed(Counter(tokenize(text)))) == 0.0
    long = {f"word{i}": 1 + 300 // (i + 1) for i in range(400)}  # frequencies as in written texts
    assert stuffed(hashed(long)) == 0.0


def test_the_doubt_lowers_the_probability_and_such_pages_teach_nothing() -> None:
    judge, plain = (Judge(Relevance(topic(["p0"], threshold=None))) for _ in range(2))
    spam = [hashed(drawn(30, 300, seed)) for seed in range(40)]
    for number, (words, _on) in enumerate(pages(1, 0.3)):
        judge.see(hashed(words))
        plain.see(hashed(words))
        if number % 3 == 0:
            judge.see(spam[number // 3])
    assert judge(spam[0], 1.0) < 0.05
    other = hashed(pages(2, 1.0, 1)[0][0])
    assert judge(other, 0.0) == plain(other, 0.0)
