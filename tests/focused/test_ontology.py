"""Ontologies: parsed from Turtle and CSV, refused with a one-line message, and word similarities
computed by hand; a topic with an ontology, and the ants that use it."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.text.similarity import semantic
from crawlmgr.text.tokens import Tokenizer
from focused.graph import MemoryGraph
from focused.judge.ontology import Ontology, OntologySimilarity, read_csv, read_turtle
from focused.judge.relevance import Relevance, Topic
from focused.models import Topic as StoredTopic
from focused.strategies.ant_colony import AntColony
from focused.topic import topics
from tests.crawlmgr.admin.rows import user

CILIN = Path(__file__).resolve().parents[2] / "../shared/data/ontology/cilin.csv"
needs_cilin = pytest.mark.skipif(not CILIN.is_file(), reason="the shared thesaurus is not there")
TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://o.example/plants#> .
:plant skos:prefLabel "plant"@en, "Pflanze"@de ; skos:narrower :tree .
:tree rdfs:label "tree" .
:oak rdfs:subClassOf :tree ; skos:altLabel "oak"@en .
:redOak skos:broader :oak .
:rose skos:broader :plant ; rdfs:comment "not a word of it" ; rdfs:subClassOf [ rdfs:label "nor \
this" ] .
"""
TABLE = (
    "concept,broader,labels\nplant,,plant;Pflanze\ntree,plant,\noak,tree,oak\nred"
    " oak,oak,\nrose,plant,\n"
)


def measure(ontology: Ontology) -> OntologySimilarity:
    return OntologySimilarity(ontology, Tokenizer())


def test_turtle_and_csv_say_the_same() -> None:
    first, second = read_turtle(TURTLE.encode()), read_csv(TABLE)
    assert sorted(first.words()) == ["Pflanze", "oak", "plant", "red Oak", "rose", "tree"]
    assert sorted(word.lower() for word in first.words()) == sorted(
        word.lower() for word in second.words()
    )
    one, other = measure(first), measure(second)
    assert one.words == other.words and all(
        one(a, b) == other(a, b) for a in one.words for b in one.words
    )
    assert Ontology.from_json(json.loads(json.dumps(first.as_json()))) == first


def test_alike_by_hand() -> None:
    alike = measure(read_csv(TABLE))
    assert (
        alike("oak", "oak") == alike("nowhere", "nowhere") == 1.0 and alike("oak", "nowhere") == 0.0
    )
    # depths: plant 1, tree and rose 2, oak 3, red oak 4
    assert alike.concepts("oak", "rose") == pytest.approx(2 * 1 / 5 * 1 / 3)
    assert (
        alike.concepts("oak", "tree")
        == alike.concepts("tree", "oak")
        == pytest.approx(2 * 2 / 5 * 2 / 3)
    )
    assert alike("oak", "tree") == pytest.approx(8 / 15), (
        "the better of the two concepts that oak is a word of"
    )
    assert measure(read_csv("concept,broader\na,\nb,\n")).concepts("a", "b") == 0.0


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_alike_is_symmetric_and_a_share_in_any_ontology_without_circles(
    edges: list[tuple[int, int]],
) -> None:
    lines = [f"c{max(a, b)},c{min(a, b)}" for a, b in edges if a != b]
    alike = measure(read_csv("\n".join(["concept,broader", "c0,", *lines])))
    for a in alike.words:
        for b in alike.words:
            assert 0.0 <= alike(a, b) == alike(b, a) <= 1.0 and (a == b) <= (alike(a, b) == 1.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "needs the columns"),
        ("name,parent\na,b\n", "needs the columns"),
        ("concept,broader\n", "without concepts"),
        ("concept,broader\n ,b\n", "line 2: no concept"),
        ("concept,broader\na,b\nb,c\nc,a\nd,a\n", "a stands above itself"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_csv(text)


@pytest.mark.parametrize(
    "data",
    [
        b"@prefix : <x> .\n:a :b",
        b"\xff\xfe\x00",
        b"<p>no Turtle</p>",
        b"",
        b"<http://a> <http://b> <http://c> .",
    ],
)
def test_what_is_no_turtle_or_names_no_concept_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="Turtle|without concepts") as told:
        read_turtle(data)
    assert "\n" not in str(told.value)


PIECES = [*"@:<>\"[](){}.;,^_ #abx\\\n'0-", "@prefix ", " skos:broader ", "true"]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_text_breaks_the_reading(pieces: list[str]) -> None:
    try:
        assert read_turtle((TURTLE + "".join(pieces)).encode()).labels
    except ValueError as error:
        assert "\n" not in str(error)


def test_a_long_chain_of_concepts_is_climbed() -> None:
    chain = "\n".join(["concept,broader", "c0,", *(f"c{n},c{n - 1}" for n in range(1, 1000))])
    assert measure(read_csv(chain)).concepts("c999", "c998") == pytest.approx(
        2 * 999 / 1999 * 999 / 1000
    )


def test_a_text_is_like_the_topic_by_its_concepts() -> None:
    alike = measure(read_csv(TABLE))
    tree, page = {"tree": 1.0}, {"oak": 1.0, "soup": 1.0}
    assert semantic(tree, page) == 0.0
    assert (
        semantic(tree, page, alike)
        == semantic(tree, page, alike, among=alike.words)
        == pytest.approx(8 / 15)
    )
    assert semantic({"soup": 1.0}, page, alike, among=alike.words) == 1.0


def test_ants_that_weigh_word_by_word_use_the_topics_ontology() -> None:
    plain = Topic("t", ("http://a.example/",), keywords={"tree": 1.0})
    known = Topic(
        "t", ("http://a.example/",), keywords={"tree": 1.0}, ontology=read_csv(TABLE).as_json()
    )
    ants = [
        AntColony(Relevance(one), MemoryGraph(), random.Random(1), {"similarity": "words"})
        for one in (plain, known)
    ]
    assert [ant._relevance({"oak": 2.0}) for ant in ants] == [0.0, pytest.approx(8 / 15)]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["plants.ttl", "plants.csv"])
def test_a_topic_is_added_with_an_ontology(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    (tmp_path / name).write_text(TURTLE if name.endswith("ttl") else TABLE)
    add = [
        "topic",
        "add",
        "plants",
        "--seeds",
        str(tmp_path / "seeds.txt"),
        "--ontology",
        str(tmp_path / name),
    ]
    call_command(*add, "--keywords", "rose=0.3", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (
        told["concepts"] == 5
        and told["keywords"]["rose"] == 0.3
        and told["keywords"]["tree"] == 0.5
    )
    stored = topics.definition(StoredTopic.objects.get())
    assert (
        len(Ontology.from_json(stored.ontology).labels) == 5
        and Topic.from_json(json.loads(json.dumps(stored.as_json()))) == stored
    )


@pytest.mark.django_db
def test_an_ontology_alone_gives_the_topics_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    (tmp_path / "o.csv").write_text(TABLE)
    call_command(
        "topic",
        "add",
        "p",
        "--seeds",
        str(tmp_path / "seeds.txt"),
        "--ontology",
        str(tmp_path / "o.csv"),
        "--json",
    )
    assert set(json.loads(capsys.readouterr().out)["keywords"].values()) == {1.0}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "text", "status"),
    [("o.owl", "x", 2), ("o.ttl", "no turtle", 1), ("gone.csv", None, 1)],
)
def test_what_is_no_ontology_is_said_in_one_line(
    tmp_path: Path, name: str, text: Any, status: int
) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CommandError) as told:
        call_command(
            "topic",
            "add",
            "p",
            "--seeds",
            str(tmp_path / "seeds.txt"),
            "--ontology",
            str(tmp_path / name),
        )
    assert (
        told.value.returncode == status
        and "\n" not in str(told.value)
        and not StoredTopic.objects.exists()
    )


def test_a_synonym_that_shares_no_character_changes_the_order_of_every_kind_of_text() -> None:
    tree = read_csv("concept,broader,labels\nvehicle,,\ncar,vehicle,car;automobile\nsoup,,soup")
    plain = Topic("t", ("http://a.example/",), documents=("car motor wheel", "car motor road"))
    weighed = Topic(**{**plain.as_json(), "ontology": tree.as_json(), "ontology_weight": 0.5})
    without, by_it = Relevance(plain), Relevance(weighed)
    texts = ("automobile automobile garage", "soup soup garage", "car car garage")
    synonym, other, own = (Counter(by_it.tokenizer(text)) for text in texts)
    word = by_it.tokenizer("automobile")[0]
    assert without.page(synonym) == without.page(other) == 0
    assert by_it.page(own) > by_it.page(synonym) > by_it.page(other) == 0
    assert by_it.text([word]) > 0 == without.text([word])
    assert by_it.alike(word) == pytest.approx(0.5 * by_it.vector["car"])
    assert sum(part.share for part in by_it.explain(synonym)) == pytest.approx(by_it.page(synonym))
    assert by_it.page(own) == pytest.approx(without.page(own)), (
        "the topic's own words count as before"
    )


def test_a_tree_is_drawn_from_its_roots_and_goes_round_through_csv() -> None:
    found = read_csv(
        "concept,broader,labels\ncar,vehicle,car;automobile\nvehicle,,\nbus,vehicle,\nsoup,,"
    )
    assert found.tree(9) == [(0, "vehicle"), (1, "car, automobile"), (1, "bus"), (0, "soup")]
    assert len(found.tree(2)) == 2
    assert read_csv(found.as_csv()) == found


def test_a_table_may_name_its_columns_as_thesauri_do() -> None:
    found = read_csv("concept_id,parent_id,terms\nA,,thing\nAa,A,car|automobile\nAb,A,bus")
    assert found == read_csv("concept,broader,labels\nA,,thing\nAa,A,car;automobile\nAb,A,bus")


def test_of_a_large_ontology_the_part_around_words_is_taken() -> None:
    rows = [
        "A,,thing",
        "Aa,A,vehicle",
        "Aa1,Aa,car;automobile",
        "Aa2,Aa,bus",
        "Ab,A,dish",
        "Ab1,Ab,soup",
        "Ab2,Ab,bread",
    ]
    whole, tokenizer = read_csv("\n".join(["concept,broader,labels", *rows])), Tokenizer()
    part = whole.around(tokenizer("automobile soup nowhere"), tokenizer, 4)
    assert list(part.labels) == [
        "A",
        "Aa",
        "Aa1",
        "Aa2",
    ], "the word and what lies above and beside it; soup finds no room"
    assert part.broader == {"A": (), "Aa": ("A",), "Aa1": ("Aa",), "Aa2": ("Aa",)}
    small, large = OntologySimilarity(part, tokenizer), OntologySimilarity(whole, tokenizer)
    assert all(
        small.concepts(a, b) == large.concepts(a, b) for a in part.labels for b in part.labels
    )
    assert whole.around(["nowhere"], tokenizer, 4).labels == {}
    assert len(whole.around(tokenizer("automobile soup"), tokenizer, 7).labels) == 7


@needs_cilin
@pytest.mark.django_db
def test_the_chinese_thesaurus_is_cut_to_what_a_topic_needs() -> None:
    topic = topics.add(
        "车", ["http://a.example/"], keywords={"汽车": 1.0, "公路": 0.8}, now=datetime.now(UTC)
    )
    client = Client()
    client.force_login(user("operator"))
    with CILIN.open("rb") as file:
        shown = client.post(
            f"/admin/topics/{topic.pk}/ontology/", {"weight": "0.5", "file": file}, follow=True
        ).content.decode()
    topic.refresh_from_db()
    assert "around the topic&#x27;s words" in shown and 10 < len(topic.ontology) < 5000
    assert any("汽车" in one["labels"] for one in topic.ontology.values())
    soup = StoredTopic.objects.create(name="zzqx", keywords={"zzqx": 1.0}, added=datetime.now(UTC))
    with CILIN.open("rb") as file:
        refused = client.post(f"/admin/topics/{soup.pk}/ontology/", {"weight": "0.5", "file": file})
    assert refused.status_code == 422 and "none of the topic" in refused.content.decode()


@pytest.mark.django_db
def test_the_desk_takes_and_draws_an_ontology(tmp_path: Path) -> None:
    topic = topics.add(
        "cars", ["http://a.example/"], documents=[("one", "car motor")], now=datetime.now(UTC)
    )
    client = Client()
    client.force_login(user("operator"))
    address = f"/admin/topics/{topic.pk}/ontology/"
    assert "no ontology yet" in client.get(address).content.decode()
    table = "concept,broader,labels\ncar,vehicle,car;automobile\nvehicle,,"
    assert client.post(address, {"table": table, "weight": "0.4"}).status_code == 302
    html = client.get(address).content.decode()
    assert "car, automobile" in html and "2 concepts, 3 words" in html
    topic.refresh_from_db()
    assert topics.definition(topic).ontology_weight == 0.4
    for posted, said in (
        ({"table": "concept,broader\na,b\nb,a", "weight": "0.4"}, "stands above itself"),
        ({"table": "nothing", "weight": "0.4"}, "needs the columns"),
        ({"table": table, "weight": "7"}, "between 0 and 1"),
    ):
        wrong = client.post(address, posted)
        assert wrong.status_code == 422 and said in wrong.content.decode()
    file = SimpleUploadedFile("o.ttl", TURTLE.encode())
    assert client.post(address, {"file": file, "weight": "1"}).status_code == 302
    topic.refresh_from_db()
    assert "Pflanze" in topics.definition(topic).ontology["http://o.example/plants#plant"]["labels"]
