"""The method of the deep-web paper end to end: its seeds, rounds and stop reasons; and what the
forms of a cluster share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from crawlmgr.frontier import hosts
from deepweb.answers.retrieved import Term
from deepweb.choice.next_query import policy_of
from deepweb.choice.opening import paid_words
from deepweb.forms import clusters
from deepweb.forms.clustering import TITLE
from deepweb.harvest_options import HarvestOptions
from deepweb.harvest_session import HarvestSession
from deepweb.models import Cluster, Form, Harvest, Query, QueryKind
from tests.deepweb.test_admin import client
from tests.deepweb.test_harvest import found, harvest, the_form
from tests.site.search import SearchServer, SearchSite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_hosts() -> None:
    """Forgets what is remembered of hosts, because loopback sites reuse ports of earlier tests."""
    hosts.forget()


HEAVIEST = ["river", "zzz", "stone", "eagle", "ocean", "paper", "silver"]


def in_cluster(form: Form, terms: list[str]) -> Cluster:
    row = Cluster.objects.create(name="books", terms=terms, forms_count=1, made=datetime.now(UTC))
    Form.objects.filter(pk=form.pk).update(cluster=row)
    return row


def asked(kind: QueryKind) -> list[str]:
    return [query.terms[0][1] for query in Query.objects.filter(kind=kind).order_by("number")]


def test_it_begins_with_the_heaviest_words_of_the_cluster_and_ends_by_its_own_rules() -> None:
    with SearchServer(SearchSite(books=200, layout="list")) as server:
        found(server)
        in_cluster(the_form(), HEAVIEST)
        run = harvest(
            the_form(), policy="paper", seed_terms=[], stop_rules=True, queries=100, rounds=3
        )
        assert asked(QueryKind.SEED) == HEAVIEST[:5], "each once, whatever it brings"
        assert len(asked(QueryKind.POLICY)) == 10 and not asked(QueryKind.TRIAL)
        assert run.stopped_by == "rounds"
        run = harvest(
            the_form(),
            policy="paper",
            seed_terms=[],
            stop_rules=True,
            queries=100,
            min_candidates=60,
        )
        assert run.stopped_by == "too_few_candidates"


def test_its_words_weigh_by_how_often_and_where_they_stand() -> None:
    with SearchServer(SearchSite(books=80, layout="list")) as server:
        found(server)
        run = harvest(the_form(), policy="paper", seed_terms=["river", "stone"], queries=2)
    bench = HarvestSession(
        Harvest.objects.get(run=run), HarvestOptions.from_mapping(run.parameters)
    )
    policy = policy_of(bench)
    pk, listed = next(iter(bench.listed_fields.items()))
    said = policy.word_weights(pk)  # type: ignore[union-attr]
    first = listed["title"].split()[0].lower()
    rest = (
        " ".join(
            value
            for name, value in listed.items()
            if name != "title" and not value.startswith("http")
        )
        .lower()
        .split()
    )
    assert said[Term("q", first)] == TITLE + rest.count(first)


def test_forms_of_a_cluster_share_the_words_that_paid() -> None:
    with SearchServer(SearchSite(books=60, layout="list")) as server:
        found(server)
        form = the_form()
        row = in_cluster(form, ["books"])
        harvest(form, queries=6, seed_terms=["river", "stone"])
        other = Form.objects.get(pk=form.pk)
        other.pk, other.signature = None, "another"
        other.save()
        best = list(
            Query.objects.filter(new__gt=0, kind__in=("seed", "policy")).order_by("-new", "pk")
        )
        words = [
            query.terms[0][1]
            for query in best
            if len(query.terms) == 1 and query.terms[0][1].isalpha()
        ]
        assert paid_words(other)[0] == words[0] and set(paid_words(other)) <= set(words)
        assert paid_words(form) == [], "its own words are no other form's"
        Form.objects.filter(pk=other.pk).update(cluster=None)
        assert paid_words(Form.objects.get(pk=other.pk)) == [] and row.pk


def test_the_desk_makes_clusters_with_shares_and_shows_how_well_they_hold() -> None:
    with SearchServer(SearchSite(books=20)) as server:
        found(server)
    form = the_form()
    for number, words in enumerate(
        (["ship", "sea"], ["ship", "sea", "sail"], ["law", "court"], ["law", "court", "judge"])
    ):
        form.pk, form.signature = None, f"copy{number}"
        form.words = {"page": dict.fromkeys(words, 1.0), "form": {words[-1]: 2.0}}
        form.save()
    Form.objects.exclude(signature__startswith="copy").delete()
    desk = client("operator")
    for bad in ({"c1": "-1"}, {"c1": "0", "c2": "0"}, {"c2": "nan"}, {"c1": "x"}):
        desk.post(reverse("admin:clusters-make"), {"k": "2", **bad})
        assert not Cluster.objects.exists()
    desk.post(reverse("admin:clusters-make"), {"k": "2", "c1": "2", "c2": "0.5"})
    rows = list(Cluster.objects.all())
    assert len(rows) == 2 and {row.how["c1"] for row in rows} == {2.0}
    whole = sum(row.silhouette * row.forms_count for row in rows) / 4
    assert whole == pytest.approx(rows[0].how["silhouette"])
    assert {"ship", "sail"} <= set(rows[0].terms) or {"ship", "sail"} <= set(rows[1].terms), (
        "words of page and form"
    )
    page = desk.get(reverse("admin:form-clusters")).content.decode()
    assert f"{whole:.3f}" in page and "(C1) 2 ·" in page
    assert clusters.cluster(datetime.now(UTC), method="literal")["k"] <= 4
