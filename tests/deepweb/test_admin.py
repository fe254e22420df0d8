"""The admin pages of search sites: their content, permissions, and a number of queries that does
not grow with the rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crawlmgr.models import Run
from deepweb import reads
from deepweb.choice.chooser import By
from deepweb.forms.stored import form_to_json
from deepweb.models import Cluster, Form, Harvest, Query, Record, Source
from deepweb.search_forms import read_forms
from tests.crawlmgr.admin.rows import tight
from tests.training.train_forms import corrected_examples

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, tzinfo=UTC)
HTML = (
    "<h1>Books</h1><form action=/find><label for=q>Words</label><input id=q name=q><input"
    " type=submit value=Search></form>"
)


def client(role: str) -> Client:
    user = get_user_model().objects.create_user(
        f"{role}-user", password="a long pass phrase", is_staff=True
    )
    user.groups.add(Group.objects.get(name=role))
    browser = Client()
    browser.force_login(user)
    return browser


def filled(forms: int = 1, rows: int = 3) -> Harvest:
    """Creates a site with `forms` forms, and a harvest with queries and `rows` records; one value
    contains markup to be escaped."""
    source = Source.objects.create(
        url="http://books.example/", key_hash=forms, name="books.example", created=NOW, records=rows
    )
    cluster = Cluster.objects.create(
        name="books", terms=["book", "title"], forms_count=forms, made=NOW
    )
    described = form_to_json(read_forms(HTML, "http://books.example/")[0])
    for number in range(forms):
        form = Form.objects.create(
            source=source,
            signature=f"{number}",
            page_url=source.url,
            action="http://books.example/find",
            method="get",
            type="search",
            confidence=0.97,
            searchable=True,
            described=described,
            cluster=cluster,
            found=NOW,
        )
    run = Run.objects.create(
        kind="deepweb-harvest",
        label="books",
        created=NOW,
        state="finished",
        parameters={"policy": "fresh"},
    )
    harvest = Harvest.objects.create(
        run=run,
        form=form,
        queries=rows,
        valid=rows,
        records=rows,
        requests=rows,
        low=rows,
        high=rows * 2,
        stopped_by="queries",
    )
    for number in range(1, rows + 1):
        fields = {"Title": f"<script>alert({number})</script> river {number}", "Year": "1999"}
        record = Record.objects.create(
            source=source,
            form=form,
            key_hash=number,
            fields=fields,
            listed=fields,
            text="\n".join(fields.values()),
            first_seen=NOW,
        )
        Query.objects.create(
            harvest=harvest,
            number=number,
            kind="policy",
            terms=[["q", f"<b>{number}"]],
            state="valid",
            returned=1,
            new=1,
            found=[record.pk],
            records_after=number,
            requests_after=number,
            sent_at=NOW,
        )
    return harvest


def pages(harvest: Harvest) -> list[str]:
    form = harvest.form
    return [
        reverse("admin:sources"),
        reverse("admin:source", args=[form.source_id]),
        reverse("admin:search-form", args=[form.pk]),
        reverse("admin:harvest", args=[harvest.pk]),
        reverse("admin:form-clusters"),
        reverse("admin:records"),
        reverse("admin:record", args=[Record.objects.first().pk]),
        reverse("admin:run", args=[harvest.run_id]),
        reverse("admin:index"),
    ]


def test_every_page_shows_what_is_there_and_nothing_from_the_web_as_markup() -> None:
    harvest = filled()
    browser = client("viewer")
    for address in pages(harvest):
        answer = browser.get(address)
        assert answer.status_code == 200, address
        text = answer.content.decode()
        assert "<script>alert" not in text and "<b>1" not in text
    assert "books.example" in browser.get(reverse("admin:sources")).content.decode()
    assert (
        "chart-harvest" in browser.get(reverse("admin:harvest", args=[harvest.pk])).content.decode()
    )


def test_predictions_are_compared_with_what_came_for_each_way_to_choose() -> None:
    harvest, browser = filled(), client("operator")
    Query.objects.filter(harvest=harvest, number=1).update(
        bucket=By.RANGES, predicted=400, expected=41, new=37
    )
    Query.objects.filter(harvest=harvest, number=2).update(bucket=By.WORDS, predicted=9, new=3)
    assert reads.predictions(harvest) == [("by_ranges", 1, 41.0, 37)], "2 was asked earlier"
    text = browser.get(reverse("admin:harvest", args=[harvest.pk])).content.decode()
    assert all(said in text for said in ("New records expected", ">41<", ">37<"))


def test_empty_rooms_say_how_to_begin() -> None:
    browser = client("viewer")
    assert "No search site yet" in browser.get(reverse("admin:sources")).content.decode()
    assert "No cluster yet" in browser.get(reverse("admin:form-clusters")).content.decode()
    assert "No record yet" in browser.get(reverse("admin:records")).content.decode()


def test_forms_sites_and_records_are_told_in_words() -> None:
    harvest, browser = filled(), client("operator")
    form = harvest.form
    Form.objects.filter(pk=form.pk).update(language="en")
    address = reverse("admin:search-form", args=[form.pk])
    page = tight(browser.get(address))
    assert "<dd>English</dd>" in page and 'title="q">Words</label>' in page
    Form.objects.filter(pk=form.pk).update(language="zh-cn")
    assert "<dd>Chinese</dd>" in tight(browser.get(address))
    unread = Source.objects.create(
        url="http://gone.example/", key_hash=9, name="gone.example", created=NOW
    )
    assert (
        "No page of this site could be read yet."
        in browser.get(reverse("admin:source", args=[unread.pk])).content.decode()
    )
    first, second, third = Record.objects.order_by("pk")[:3]
    site = browser.get(reverse("admin:source", args=[form.source_id])).content.decode()
    beside = browser.get(reverse("admin:record", args=[second.pk])).content.decode()
    for one in (first, third):
        link = f'href="{reverse("admin:record", args=[one.pk])}"'
        assert link in site and link in beside


def test_a_post_form_is_released_where_the_page_says_that_it_is_not_sent() -> None:
    form, browser = filled().form, client("operator")
    Form.objects.filter(pk=form.pk).update(
        method="post", described={**form.described, "method": "post"}
    )
    address = reverse("admin:search-form", args=[form.pk])
    assert 'name="released" value="1"' in browser.get(address).content.decode()
    browser.post(reverse("admin:form-release", args=[form.pk]), {"released": "1"})
    page = browser.get(address).content.decode()
    assert 'name="released" value="0"' in page and 'name="released" value="1"' not in page


def test_viewers_change_nothing_and_operators_do() -> None:
    harvest = filled()
    form = harvest.form
    viewer, operator = client("viewer"), client("operator")
    posts = {
        reverse("admin:form-type", args=[form.pk]): {"type": "other"},
        reverse("admin:form-release", args=[form.pk]): {"released": "1"},
        reverse("admin:form-role", args=[form.pk]): {"name": "q", "role": "other"},
        reverse("admin:form-harvest", args=[form.pk]): {"queries": "5"},
        reverse("admin:form-try", args=[form.pk]): {"input-q": "river"},
        reverse("admin:source-find", args=[form.source_id]): {},
        reverse("admin:clusters-make"): {"k": "1"},
        reverse("admin:clusters-undo"): {},
        reverse("admin:cluster-name", args=[form.cluster_id]): {"name": "Old books"},
        reverse("admin:cluster-harvest", args=[form.cluster_id]): {"queries": "5"},
        reverse("admin:source-add"): {"addresses": "http://other.example/"},
        reverse("admin:source-delete", args=[form.source_id]): {"name": "books.example"},
    }
    for address, data in posts.items():
        assert viewer.post(address, data).status_code == 403, address
    assert operator.get(reverse("admin:source-delete", args=[form.source_id])).status_code == 403
    assert (
        operator.post(
            reverse("admin:cluster-name", args=[form.cluster_id]), {"name": "Old books"}
        ).status_code
        == 302
    )
    assert Cluster.objects.get().name == "Old books"
    operator.post(reverse("admin:form-type", args=[form.pk]), {"type": "login"})
    form.refresh_from_db()
    assert (form.kind, form.searchable, form.corrected_by.username) == (
        "login",
        False,
        "operator-user",
    )
    before = Run.objects.count()
    operator.post(
        reverse("admin:form-harvest", args=[form.pk]),
        {"queries": "5", "probes": "0", "details": "0", "min_gain": "0"},
    )
    assert Run.objects.count() == before, "a form that is no search form is not asked"


def test_what_a_field_is_for_is_shown_and_corrected() -> None:
    form = filled().form
    browser = client("operator")
    Form.objects.filter(pk=form.pk).update(learned={"q": "query"})
    address = reverse("admin:search-form", args=[form.pk])
    assert "query results" in browser.get(address).content.decode()
    browser.post(reverse("admin:form-role", args=[form.pk]), {"name": "q", "role": "fixed"})
    form.refresh_from_db()
    assert form.roles == {"q": "fixed"} and "user setting" in browser.get(address).content.decode()
    for wrong in ({"name": "nothing", "role": "query"}, {"name": "q", "role": "password"}):
        browser.post(reverse("admin:form-role", args=[form.pk]), wrong)
    form.refresh_from_db()
    assert form.roles == {"q": "fixed"}
    browser.post(reverse("admin:form-role", args=[form.pk]), {"name": "q", "role": ""})
    form.refresh_from_db()
    assert form.roles == {}


def test_an_operator_starts_harvests_trials_and_looks() -> None:
    form = filled().form
    browser = client("operator")
    wishes = {
        "queries": "5",
        "probes": "0",
        "details": "0",
        "min_gain": "0.01",
        "seed_terms": "river, stone",
        "policy": "paper",
    }
    answer = browser.post(reverse("admin:form-harvest", args=[form.pk]), wishes)
    run = Run.objects.latest("pk")
    assert answer.status_code == 302 and run.parameters["policy"] == "paper"
    assert run.parameters["seed_terms"] == ["river", "stone"] and run.created_by is not None
    Run.objects.filter(pk=run.pk).update(state="stopped")
    browser.post(reverse("admin:form-try", args=[form.pk]), {"input-q": "river"})
    tried = Run.objects.latest("pk")
    assert tried.parameters["fixed"] == [[["q", "river"]]]
    shown = browser.get(
        reverse("admin:harvest", args=[Harvest.objects.get(run=tried).pk])
    ).content.decode()
    assert "http://books.example/find?q=river" in shown
    answer = browser.post(
        reverse("admin:source-add"), {"addresses": "not an address", "depth": 3, "pages": 9}
    )
    assert answer.status_code == 422 and "addresses: 1" in answer.content.decode()
    answer = browser.post(
        reverse("admin:source-add"),
        {
            "addresses": "http://a.example/\n# no\nnot an address\nb.example",
            "depth": "2",
            "pages": "9",
            "delay_seconds": "1",
        },
    )
    assert (
        "Lines that are not web addresses: 3."
        in browser.get(reverse("admin:sources")).content.decode()
    )
    found = Run.objects.latest("pk")
    assert (
        answer.status_code == 302
        and len(found.parameters["sources"]) == 2
        and found.parameters["depth"] == 2
    )


def test_deleting_a_site_asks_for_its_name() -> None:
    form = filled().form
    browser = client("administrator")
    address = reverse("admin:source-delete", args=[form.source_id])
    assert browser.post(address, {"name": "wrong"}).status_code == 200 and Source.objects.exists()
    assert browser.post(address, {"name": "books.example"}).status_code == 302
    assert (
        not Source.objects.exists() and not Record.objects.exists() and not Harvest.objects.exists()
    )


def test_records_are_found_by_all_their_words() -> None:
    filled(rows=12)
    browser = client("viewer")
    assert "river 12" in browser.get(reverse("admin:records"), {"q": "RIVER 12"}).content.decode()
    assert (
        "Nothing matches."
        in browser.get(reverse("admin:records"), {"q": "river absent"}).content.decode()
    )


def test_no_page_queries_more_for_many_rows() -> None:
    few = filled(forms=1, rows=2)
    browser = client("viewer")
    counts = []
    for address in pages(few):
        browser.get(address)
        with CaptureQueriesContext(connection) as asked:
            browser.get(address)
        counts.append(len(asked))
    Source.objects.all().delete()
    Run.objects.all().delete()
    Cluster.objects.all().delete()
    many = filled(forms=30, rows=40)
    for address, before in zip(pages(many), counts, strict=True):
        browser.get(
            address
        )  # recomputes figures that are cached for some seconds, before queries are counted
        with CaptureQueriesContext(connection) as asked:
            browser.get(address)
        assert len(asked) <= before + 1, (
            f"{address}: {before} queries for few, {len(asked)} for many"
        )


def test_corrections_become_examples_to_train_on() -> None:
    form = filled().form
    assert corrected_examples() == []
    client("operator").post(reverse("admin:form-type", args=[form.pk]), {"type": "other"})
    examples = corrected_examples()
    assert [(example.type, example.form.action) for example in examples] == [
        ("other", "http://books.example/find")
    ]
    assert examples[0].numbers and examples[0].words
