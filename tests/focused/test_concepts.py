"""Tests the rule that keeps one link per concept: on examples, in ant colony crawls, and the count
of wrongly omitted links."""

from __future__ import annotations

from crawlmgr.text.tokens import Tokenizer, tokenize
from focused.judge.ontology import OntologySimilarity, read_csv
from focused.judge.relevance import Topic
from focused.lab.comparison import Entry, run_entry
from focused.pages import Link
from focused.strategies.ant_colony import OnePerConcept
from tests.focused.webs import OFF, ON, Web, topic, url

TREE = read_csv(
    "concept,broader,labels\nvehicle,,\ncar,vehicle,car;automobile\nbus,vehicle,bus\nsoup,,soup"
)


def link(name: str, anchor: str) -> Link:
    return Link(url(name), anchor, tuple(tokenize(anchor)), {})


class Held(Web):
    """A generated web that supports `url in web`, as archives do, so that strategies can be
    compared on it."""

    def __contains__(self, wanted: str) -> bool:
        return wanted in self.pages


def test_the_overlap_of_concepts_by_hand() -> None:
    measure = OntologySimilarity(TREE, Tokenizer())
    assert (
        measure.overlap("car", "car") == 1.0
        and measure.overlap("car", "bus") == 0.5
        and measure.overlap("car", "soup") == 0.0
    )
    assert measure.overlapping("car", 0.9) == {"car"} and measure.overlapping("car", 0.5) == {
        "car",
        "bus",
        "vehicle",
    }
    (word,) = tokenize("automobile")
    assert measure.concepts_of(word) == ("car",) and measure.concepts_of("nowhere") == ()


def test_the_first_link_to_a_concept_is_kept() -> None:
    rule = OnePerConcept(OntologySimilarity(TREE, Tokenizer()))
    first = [
        link("a", "cars"),
        link("b", "an automobile"),
        link("c", "bus"),
        link("d", "no concept"),
        link("a", "automobiles"),
    ]
    assert [one.url for one in rule.kept(first)] == [url("a"), url("c"), url("d"), url("a")]
    assert [one.url for one in rule.kept([link("e", "bus"), link("a", "car")])] == [url("a")], (
        "it holds from page to page"
    )
    assert rule.left_out == {url("b"): url("a"), url("e"): url("c")}


def test_ants_leave_links_out_and_the_wrong_drops_are_counted() -> None:
    pages = {
        "s": (OFF, [("a", "car"), ("b", "automobile"), ("copy", "cars"), ("c", "bus")]),
        "a": (ON, []),
        "b": ("quite another page about the making of violins in small workshops", []),
        "copy": (ON, []),
        "c": (OFF, [("b", "violins")]),
    }
    web = Held(pages)
    web.pages[url("copy")] = type(web.pages[url("a")])(
        url("copy"), "", web.pages[url("a")].words, (), web.pages[url("a")].fingerprint
    )
    about: Topic = topic(["s"], ontology=TREE.as_json(), ontology_weight=0.0)
    every = run_entry(about, web, Entry("ant_colony"), 10)
    assert len(every.steps) == 5 and (every.left_out, every.left_out_wrongly) == (0, 0)
    ruled = run_entry(about, web, Entry("ant_colony", {"one_per_concept": True}), 10)
    names = [step.url.rpartition("/")[2] for step in ruled.steps]
    assert sorted(names) == ["a", "b", "c", "s"], "b came by another page's link without a concept"
    assert (ruled.left_out, ruled.left_out_wrongly) == (2, 1), "copy repeats a, b does not"
    assert ruled.stopped_by == "rule_concepts"
