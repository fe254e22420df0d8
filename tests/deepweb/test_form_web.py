"""Harvests of forms on the local web that are unusual or were read wrongly before; the web itself
knows how many records can be found."""

from __future__ import annotations

import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from deepweb import harvests
from deepweb.forms import sources, stored
from deepweb.models import Form, Harvest, Query, QueryState, Record
from tests.benches.forms.harvest_forms import oracle, right_records
from tests.benches.forms.kinds import BY_NAME, KINDS, small
from tests.benches.forms.web import FormServer, FormSite
from tests.deepweb.test_harvest import OPEN, now

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.once,
]  # not run on PostgreSQL, which test_harvest covers
RECORDS = 160


@pytest.fixture(autouse=True)
def fresh_hosts() -> None:
    hosts.forget()


def harvested(
    name: str, queries: int = 14, records: int = RECORDS, seed: int = 1
) -> tuple[FormSite, Harvest]:
    site = FormSite(small(BY_NAME[name], records), seed)
    with FormServer(site) as server:
        look = sources.find([server.url], now=now(), depth=0, pages=1, settings=OPEN, start=False)
        engine.run_slice(look.pk)
        form = Form.objects.get(type="search")
        if form.method == "post":
            stored.release(form, True)
            form.refresh_from_db()
        wishes = {"queries": queries, "probes": 0, "details": 0, "stop_rules": False}
        run = harvests.start([form], wishes, now=now(), settings=OPEN, begin=False)
        engine.run_slice(run.pk)
    return site, Harvest.objects.get(run=run)


@pytest.mark.parametrize(
    ("name", "box"),
    [
        ("box_page", "page"),
        ("box_from", "from"),
        ("script_form", "q"),
        ("aspnet", "ctl00$Main$txtFind"),
        ("load_more", "q"),
    ],
)
def test_a_box_is_found_whatever_its_name_and_make(name: str, box: str) -> None:
    site, harvest = harvested(name)
    assert harvest.records >= 0.7 * oracle(site, harvest.queries) and harvest.form.learned == {
        box: "query"
    }
    assert Record.objects.count() == harvest.records <= RECORDS


def test_a_choice_that_the_form_does_not_say_to_be_needed_is_found_by_trying() -> None:
    site, harvest = harvested("required_unmarked", 24)
    assert harvest.form.learned == {"q": "query", "place": "required"}
    valid = Query.objects.filter(harvest=harvest, state=QueryState.VALID)
    assert valid.exists() and all(
        {name for name, _ in query.terms} == {"q", "place"} for query in valid
    )
    assert len({tuple(query.terms[1]) for query in valid}) == len(site.pages.values("place"))


def test_few_records_are_enough_for_words_of_their_own() -> None:
    _, harvest = harvested(
        "required_select", 20, records=2000, seed=902
    )  # the first word queried finds only seven records
    asked = [
        dict(query.terms)["q"]
        for query in Query.objects.filter(harvest=harvest).exclude(kind="nonsense")
    ]
    assert set(asked) & {"collection", "life", "home"} == set() and harvest.records > 500


def test_nothing_is_asked_without_a_word_where_answers_are_cut() -> None:
    _, harvest = harvested(
        "cut_ranked", 8, records=2000, seed=901
    )  # the first answer is complete, the next is truncated
    assert Query.objects.filter(harvest=harvest, overflowed=True).exists()
    assert not any(dict(query.terms)["q"] == "" for query in Query.objects.filter(harvest=harvest))


def test_a_box_that_is_not_heeded_opens_the_whole_table() -> None:
    _, harvest = harvested("open_filters", 3)
    assert harvest.records == RECORDS and not Query.objects.filter(overflowed=True).exists()


def test_a_filter_of_column_operator_and_value_is_bound_as_one() -> None:
    _, harvest = harvested("column_filters", 30)
    assert harvest.form.learned == {"value": "query", "column": "required", "op": "required"}
    valid = Query.objects.filter(harvest=harvest, state=QueryState.VALID)
    filtered = [query for query in valid if dict(query.terms)["column"]]
    assert len(filtered) >= 8 and all(["op", "contains"] in query.terms for query in filtered)
    assert (
        harvest.records >= 0.5 * RECORDS
        and len({dict(query.terms)["column"] for query in valid}) >= 3
    )


def test_a_range_beside_no_words_is_cut_into_cells_where_the_records_lie() -> None:
    site, harvest = harvested("number_range", 12)
    assert harvest.records >= 0.6 * RECORDS
    cut = Query.objects.filter(harvest=harvest, kind="policy", overflowed=True)
    assert cut.exists() and all(query.returned == site.kind.cut for query in cut)


@pytest.mark.parametrize("name", ["ranges", "all_at_once", "empty_lists_all", "abroad"])
def test_every_page_is_followed_and_every_record_is_one(name: str) -> None:
    site, harvest = harvested(name)
    assert harvest.records >= 0.9 * RECORDS
    assert len(right_records(site, Record.objects.values_list("url", "fields"))) == harvest.records


def test_records_in_another_script_are_asked_for_before_the_end() -> None:
    _, harvest = harvested("two_scripts", 40)
    texts = Record.objects.values_list("text", flat=True)
    assert sum(not text.isascii() for text in texts) >= 0.25 * RECORDS
    asked = {dict(query.terms)["q"] for query in Query.objects.filter(harvest=harvest)}
    assert "人" in asked


def test_a_page_that_a_script_fills_is_told_after_three_equal_answers() -> None:
    _, harvest = harvested("script_page")
    assert harvest.stopped_by == "answered_by_script" and harvest.requests == 3


def test_pages_that_a_site_makes_up_are_left_with_a_doubt() -> None:
    _, harvest = harvested("invented_pages", 6)
    assert harvest.state["doubt"] == "invented_pages"
    assert harvest.records <= RECORDS and harvest.requests < 40


@pytest.mark.slow
def test_the_local_web_has_thirty_kinds_of_form_and_a_bar_for_each() -> None:
    assert len(KINDS) >= 30 and len(BY_NAME) == len(KINDS)
    for kind in KINDS:
        site = FormSite(small(kind, 60))
        assert (not kind.by_script) <= oracle(site, 5) <= 60, kind.name
        assert site.answer("GET", "/", "", "").status == 200
