"""Search sites end to end over real HTTP: forms are found and queried, results are paged through;
no other form is ever submitted."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState, Url, UrlState
from crawlmgr.runs import runs
from deepweb import harvests, reads
from deepweb.forms import clusters, sources, stored
from deepweb.models import (
    Cluster,
    Form,
    Harvest,
    Query,
    QueryKind,
    QueryState,
    Record,
    Source,
)
from deepweb.size import probing
from tests.site.search import Reply, SearchServer, SearchSite

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(autouse=True)
def fresh_hosts() -> None:
    hosts.forget()


def found(server: SearchServer, **kwargs: Any) -> Run:
    run = sources.find([server.url], now=now(), settings=OPEN, start=False, **kwargs)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def the_form() -> Form:
    return Form.objects.get(type="search")


def harvest(form: Form, ends: RunState = RunState.FINISHED, **wishes: Any) -> Run:
    asked = {
        "queries": 40,
        "probes": 0,
        "details": 0,
        "stop_rules": False,
        "seed_terms": ["river", "stone"],
        **wishes,
    }
    run = harvests.start([form], asked, now=now(), settings=OPEN, begin=False)
    assert engine.run_slice(run.pk) == ends
    run.refresh_from_db()
    return run


def numbers() -> set[int]:
    return {
        int(parse_qs(urlsplit(url).query)["id"][0])
        for url in Record.objects.values_list("url", flat=True)
    }


def test_every_form_of_a_site_is_found_once_and_typed() -> None:
    with SearchServer(SearchSite()) as server:
        run = found(server)
        assert run.stopped_by == "complete"
        kinds = Counter(Form.objects.values_list("type", flat=True))
        assert (
            kinds["search"] == 1
            and kinds["login"] == 1
            and kinds["registration"] == 1
            and kinds["newsletter"] == 1
        )
        assert kinds["contact"] == 1 and Form.objects.count() == 6
        assert not server.site.submitted and not server.site.posts
        assert not any("/private/" in line for line in server.site.log)
        assert (
            found(server).pk != run.pk and Form.objects.count() == 6
        )  # inspected again: nothing is stored twice


def test_depth_and_pages_are_kept() -> None:
    with SearchServer(SearchSite()) as server:
        found(server, depth=0)
        assert [line for line in server.site.log if line != "GET /robots.txt"] == ["GET /"]
        found(server, pages=2)
        assert Url.objects.filter(state=UrlState.DROPPED, reason="page_limit").exists()


@pytest.mark.once
@pytest.mark.parametrize(
    ("layout", "paging"),
    [
        *(("table", "link"), ("list", "button"), ("flat", "number")),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in (("list", "link"), ("table", "number"))
        ),
    ],
)
def test_records_are_found_whatever_the_list_looks_like(layout: str, paging: str) -> None:
    with SearchServer(SearchSite(books=80, layout=layout, paging=paging)) as server:
        found(server)
        run = harvest(the_form())
        site = server.site
        assert numbers() == set(site.all), run.result
        assert Record.objects.count() == len(site.all)
        for record in Record.objects.all():
            book = site.all[int(record.url.rpartition("=")[2])]
            assert book.title in record.fields.values() and book.author in " ".join(
                record.fields.values()
            )
        assert run.result["efficiency"] >= 0.9 and run.result["records"] == len(site.all)
        asked = [line for line in site.log if "q=" in line]
        assert len(asked) == len(set(asked)), "a result page was asked for twice"


def test_records_without_pages_of_their_own_are_told_apart_by_what_they_say() -> None:
    with SearchServer(SearchSite(books=60, layout="bare", paging="number")) as server:
        found(server)
        harvest(the_form())
        said = Record.objects.values_list("text", flat=True)
        assert all(
            any(book.title in text and book.note in text for text in said)
            for book in server.site.all.values()
        )
        assert Record.objects.count() == len(server.site.all)


@pytest.mark.once
@pytest.mark.parametrize(("asks", "cut"), [("choices", 12), ("years", 12), ("choices", 0)])
def test_a_form_without_a_box_for_words_is_asked_by_its_choices_and_ranges(
    asks: str, cut: int
) -> None:
    with SearchServer(
        SearchSite(books=150, asks=asks, cut=cut, layout="list", paging="link", states_total=False)
    ) as server:
        found(server)
        run = harvest(the_form(), queries=60, seed_terms=[])
        bound = [{name for name, _ in query.terms} for query in Query.objects.filter(kind="policy")]
        assert all(len(names) <= 3 for names in bound) and max(map(len, bound)) == (2 if cut else 1)
        assert len(numbers()) >= (0.85 if cut else 1.0) * len(server.site.all), run.result
        assert numbers() <= set(server.site.all) and Record.objects.count() == len(numbers())


def test_a_cut_answer_is_refined_by_a_choice_beside_the_word() -> None:
    with SearchServer(SearchSite(books=300, cut=8, paging="none")) as server:
        found(server)
        harvest(the_form(), queries=50)
        refined = Query.objects.filter(kind="policy", terms__1__isnull=False)
        valid = sum(query.state == QueryState.VALID for query in refined)
        assert refined.exists() and valid >= 0.8 * refined.count()


def test_where_words_in_the_dark_bring_nothing_a_choice_alone_tells_words_that_do() -> None:
    with SearchServer(SearchSite(books=60, paging="link")) as server:
        found(server)
        run = harvest(
            the_form(), seed_terms=[f"unheardof{place}" for place in range(30)], queries=30
        )
    log = list(Query.objects.filter(kind__in=("seed", "policy")).order_by("number"))
    first = next(place for place, query in enumerate(log) if query.found)
    assert first <= 5 and [name for name, _ in log[first].terms] == ["kind"], (
        "not all the words in vain come first"
    )
    assert [name for name, _ in log[first + 1].terms] == ["q"] and log[first + 1].found, (
        "a word of the records found"
    )
    assert len(numbers()) == 60, run.result


@pytest.mark.once
@pytest.mark.parametrize("layout", ["data", "ranked"])
def test_records_are_found_in_data_for_a_script_and_behind_addresses_that_repeat_the_query(
    layout: str,
) -> None:
    with SearchServer(SearchSite(books=80, layout=layout)) as server:
        found(server)
        harvest(the_form())
        assert numbers() == set(server.site.all) and Record.objects.count() == len(server.site.all)
        for record in Record.objects.all():
            book = server.site.all[int(record.url.rpartition("=")[2])]
            assert book.title in record.fields.values() and (
                layout == "ranked" or record.fields["author.name"] == book.author
            )


def test_a_lone_result_that_the_site_leads_to_is_a_record() -> None:
    with SearchServer(SearchSite(books=9, leads_on=True)) as server:
        found(server)
        run = harvest(
            the_form(), seed_terms=["river", "stone", "eagle", "ocean", "paper", "silver"]
        )
        lone = Query.objects.filter(returned=1, state=QueryState.VALID)
        assert lone.exists() and numbers() == set(server.site.all), run.result
        assert Record.objects.count() == 9
        by_number = {int(record.url.rpartition("=")[2]): record for record in Record.objects.all()}
        assert all(
            server.site.all[number].author in record.fields.values()
            for number, record in by_number.items()
        )


def test_detail_pages_add_their_fields() -> None:
    with SearchServer(SearchSite(books=40)) as server:
        found(server)
        run = harvest(the_form(), details=1000)
        assert run.result["details"] == 40
        for record in Record.objects.all():
            book = server.site.all[int(record.url.rpartition("=")[2])]
            shown = (
                record.fields["Author"],
                record.fields["Year"],
                record.fields["Kind"],
                record.fields["Note"],
            )
            assert shown == (book.author, str(book.year), book.kind, book.note)
            assert record.fields["title"] == book.title and record.detail_at is not None
        limited = harvest(the_form(), details=7)
        assert limited.result["details"] == 7


class LoginBeside(SearchSite):
    """Shows a form to log in on every page of results, and there no search form."""

    def answer(self, method: str, path: str, body: str, cookie: str) -> Reply:
        status, headers, html = super().answer(method, path, body, cookie)
        if path.startswith("/search?"):
            html = re.sub(r"<form.*?</form>", "", html, flags=re.DOTALL)
            html = html.replace("</body>", f"<aside>{LOGIN}</aside></body>")
        return status, headers, html


def test_a_form_to_log_in_beside_an_answer_without_results_is_no_wall() -> None:
    with SearchServer(LoginBeside(books=60)) as server:
        found(server)
        # the last word occurs in no book
        run = harvest(the_form(), seed_terms=["river", "stone", "tachymeter"], queries=12)
        assert run.result["records"] > 10
        assert Harvest.objects.get().stopped_by != "login_required"
        empty = Query.objects.filter(returned=0).exclude(kind=QueryKind.NONSENSE)
        assert {row.state for row in empty} == {QueryState.NOTHING}


def test_a_cut_is_noticed_and_what_is_held_back_is_known() -> None:
    with SearchServer(SearchSite(books=300, cut=8, paging="none", states_total=False)) as server:
        found(server)
        harvest(the_form(), queries=30)
        row = Harvest.objects.get()
        cut = Query.objects.filter(harvest=row, overflowed=True, kind="policy")
        assert cut.exists() and set(cut.values_list("returned", flat=True)) == {8}
        assert not Query.objects.filter(harvest=row, overflowed=True, returned__lt=8).exists()


def test_a_post_form_waits_for_its_release_and_is_then_asked_with_token_and_session() -> None:
    with SearchServer(SearchSite(method="post", paging="button", books=60)) as server:
        found(server)
        form = the_form()
        with pytest.raises(harvests.Refused) as refused:
            harvests.start([form], {}, now=now(), settings=OPEN, begin=False)
        assert refused.value.code == "post_not_released" and not server.site.posts
        stored.release(form, True)
        form.refresh_from_db()
        run = harvest(form)
        assert numbers() == set(server.site.all), run.result
        assert not Query.objects.filter(state=QueryState.ERROR).exists()
        plain = [
            " ".join(part for part in post.split("&") if "csrf" not in part)
            for post in server.site.posts
        ]
        assert len(plain) == len(set(plain)), "a POST was sent twice"


def test_forms_that_are_no_search_forms_are_never_sent() -> None:
    with SearchServer(SearchSite(books=60)) as server:
        found(server)
        for form in Form.objects.exclude(type="search"):
            stored.release(form, True)
            with pytest.raises(harvests.Refused):
                harvests.start([form], {}, now=now(), settings=OPEN, begin=False)
        for form in Form.objects.filter(
            type__in=("login", "registration", "newsletter", "contact")
        ):
            stored.correct(
                form, "search", None, now()
            )  # not even if a user says that it is a search form
            form.refresh_from_db()
            with pytest.raises(harvests.Refused):
                harvests.start([form], {}, now=now(), settings=OPEN, begin=False)
        harvest(the_form_by("/search"))
        assert not server.site.submitted and not server.site.posts


def the_form_by(path: str) -> Form:
    return next(form for form in Form.objects.all() if urlsplit(form.action).path == path)


def test_a_corrected_type_holds() -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        form = the_form()
        stored.correct(form, "other", None, now())
        form.refresh_from_db()
        assert (form.kind, form.searchable) == ("other", False)
        found(server)
        form.refresh_from_db()
        assert form.kind == "other"
        with pytest.raises(harvests.Refused):
            harvests.start([form], {}, now=now(), settings=OPEN, begin=False)
        stored.correct(form, "", None, now())
        form.refresh_from_db()
        assert (form.kind, form.searchable) == ("search", True)


HTML = {"content-type": "text/html"}
LOGIN = (
    "<form action=/do/login method=post><input name=user><input type=password name=p><input"
    " type=submit value=Login></form>"
)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((200, HTML, "<html><body><p>Nothing here.</p></body></html>"), "no_results"),
        ((500, HTML, "<p>broken</p>"), "http_500"),
        ((200, HTML, LOGIN), "login_required"),
        ((403, HTML, "<p>forbidden</p>"), "http_403"),
        ((404, HTML, "<p>gone</p>"), "no_results"),
    ],
)
def test_a_form_that_brings_nothing_ends_with_its_reason(
    answer: tuple[int, dict[str, str], str], reason: str
) -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        server.site.failing["/search"] = lambda count: answer
        ends = (
            RunState.FAILED if reason == "http_500" else RunState.FINISHED
        )  # with 500 the site counts as not reached
        run = sources_settings(harvest, max_attempts=1)(the_form(), ends)
        assert Harvest.objects.get().stopped_by == reason
        assert run.stopped_by == reason and run.result["records"] == 0 and not server.site.submitted


def sources_settings(call: Any, **settings: Any) -> Any:
    """Returns a function that gives the site the additional crawl settings `settings`, then calls
    `call`."""

    def changed(*args: Any, **kwargs: Any) -> Any:
        Source.objects.update(parameters={**OPEN, **settings})
        return call(*args, **kwargs)

    return changed


def test_a_form_that_never_answers_ends_with_time_out() -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        server.site.delay_seconds = 1.0
        begun = time.monotonic()
        run = sources_settings(harvest, max_attempts=1, read_timeout_seconds=0.1)(
            the_form(), RunState.FAILED
        )
        assert (
            Harvest.objects.get().stopped_by.startswith("timeout")
            and time.monotonic() - begun < 200
        )
        assert run.stopped_by == Harvest.objects.get().stopped_by


def test_robots_txt_is_obeyed() -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        form = the_form()
        Form.objects.filter(pk=form.pk).update(
            described={
                **form.described,
                "action": form.action.replace("/search", "/private/search"),
            }
        )
        harvest(Form.objects.get(pk=form.pk))
        assert Harvest.objects.get().stopped_by == "not asked: robots" and reads.nothing_was_asked(
            Run.objects.latest("pk")
        )
        assert not any("private/search" in line for line in server.site.log)


def test_one_fault_in_between_is_survived() -> None:
    with SearchServer(SearchSite(books=60)) as server:
        found(server)
        server.site.failing["/search"] = lambda count: (
            (502, HTML, "<p>busy</p>") if count % 9 == 0 else None
        )
        harvest(the_form())
        assert numbers() == set(server.site.all)


def test_one_budget_is_spread_over_the_forms_of_a_cluster_by_what_they_bring() -> None:
    with (
        SearchServer(SearchSite(books=200, seed=1)) as rich,
        SearchServer(SearchSite(books=3, seed=2)) as poor,
    ):
        for server in (rich, poor):
            found(server)
        made = clusters.cluster(now(), k=1)
        cluster = Cluster.objects.get(pk=made["clusters"][0]["cluster"])
        chosen = harvests.of_cluster(cluster)
        assert len(chosen) == 2
        wishes = {
            "queries": 20,
            "probes": 0,
            "details": 0,
            "stop_rules": False,
            "seed_terms": ["river", "stone", "eagle"],
        }
        run = harvests.start(chosen, wishes, now=now(), settings=OPEN, begin=False)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        asked = dict(Harvest.objects.values_list("form__source__name", "queries"))
        values = sorted(asked.values())
        assert sum(values) == 20 and values[1] >= 2 * values[0]


def test_two_runs_do_not_ask_one_form_at_once() -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        harvests.start([the_form()], {}, now=now(), settings=OPEN, begin=False)
        with pytest.raises(runs.Busy):
            harvests.start([the_form()], {}, now=now(), settings=OPEN, begin=False)


def test_the_command_ends_a_run_that_asks_its_form_and_then_harvests(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with SearchServer(SearchSite(books=20)) as server:
        found(server)
        form = the_form()
        wishes = {"queries": 1, "probes": 0, "details": 0, "seed_terms": ["river"]}
        other = harvests.start(
            [form], wishes, now=now(), settings=OPEN, begin=False, scheduled=True
        )
        words = (
            "--queries",
            "12",
            "--probes",
            "0",
            "--details",
            "0",
            "--seed-terms",
            "river,stone",
            "--no-stop-rule",
        )
        call_command(
            "deepweb", "harvest", str(form.pk), *words, "--allow-private", "--delay", "0", "--json"
        )
        out = capsys.readouterr()
    document = json.loads(out.out)
    assert (
        document["run"] != other.pk
        and document["queries"] > 1
        and f"Run {other.pk} of this form is active" in out.err
    )
    assert (
        Run.objects.get(pk=other.pk).state == RunState.FINISHED
        and Harvest.objects.get(run=other.pk).queries == 1
    )


def test_a_harvest_of_many_forms_waits_for_a_run_that_asks_one_of_them() -> None:
    with (
        SearchServer(SearchSite(books=20, seed=1)) as one,
        SearchServer(SearchSite(books=20, seed=2)) as other,
    ):
        for server in (one, other):
            found(server)
        stored = list(Form.objects.filter(type="search").order_by("pk"))
        assert len(stored) == 2
        alone = harvests.start(stored[1:], {}, now=now(), settings=OPEN, begin=False)
        with pytest.raises(runs.Busy) as refused:
            harvests.start(stored, {}, now=now(), settings=OPEN, begin=False)
        assert refused.value.run == alone
        harvests.start(stored[:1], {}, now=now(), settings=OPEN, begin=False)


def test_the_key_of_a_run_over_many_things_tells_all_of_them() -> None:
    long = list(range(1_000_000, 1_000_040))
    assert runs.exclusive_key("find", long) != runs.exclusive_key("find", [*long[:-1], 7])
    assert runs.exclusive_key("find", long) == runs.exclusive_key("find", reversed(long))
    assert len(runs.exclusive_key("harvest", long)) <= 80


def test_a_harvest_ends_when_the_wished_share_of_the_database_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(harvests, "COVERAGE_FROM", 4)
    monkeypatch.setattr(probing, "FROM_QUERIES", 4)
    monkeypatch.setattr(
        probing, "A_QUERY", 8
    )  # more probes than usual, since some words are from a field that is not searched
    with SearchServer(SearchSite(books=250, layout="bare", a_page=40)) as server:
        found(server)
        run = harvest(the_form(), queries=200, probes=32, coverage=0.7, random_seed=2)
        assert run.result["stopped_by"] == "coverage" and run.result["queries"] < 200
        low, high = run.result["estimated_total"]
        assert run.result["records"] >= 0.7 * high and low <= 1.3 * 250 and high >= 250 / 1.3


def test_wishes_that_make_no_sense_are_refused() -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        for wrong in ({"policy": "guess"}, {"queries": 0}, {"details": -1}, {"coverage": 1.5}):
            with pytest.raises(ValueError):
                harvests.start([the_form()], wrong, now=now(), settings=OPEN, begin=False)
        assert not Run.objects.filter(kind=harvests.KIND).exists()


def test_a_run_over_several_sites_has_the_exceptions_of_each_and_no_more() -> None:
    rows = sources.add(
        ["http://10.0.0.1/"], now(), {"allow_private": "10.0.0.1", "respect_robots": False}
    )
    rows += sources.add(["http://10.0.0.2:8080/"], now(), {"allow_private": "10.0.0.2:8080,*"})
    rows += sources.add(["http://public.example/"], now())
    run = Run.objects.create(
        kind="deepweb-find",
        label="x",
        created=now(),
        parameters={"sources": [row.pk for row in rows]},
    )
    settings = sources.settings_of_all(rows, run)
    assert settings.allowed_private == {"10.0.0.1", "10.0.0.2:8080"} and settings.respect_robots
    assert sources.settings_of_all(rows[1:2], run).allowed_private == {
        "10.0.0.2:8080"
    }  # the invalid exception "*" is ignored
    run.parameters["settings"] = {"allow_private": "10.0.0.3"}
    assert sources.settings_of_all(rows, run).allowed_private == {"10.0.0.3"}


def test_answers_and_pages_read_in_part_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        monkeypatch.setattr("deepweb.answers.page.exceeds", lambda html: True)
        run = harvest(the_form(), queries=2)
        assert Record.objects.exists()
        assert Url.objects.filter(run=run, reason="read_in_part").exists()
        assert all(Query.objects.filter(state=QueryState.VALID).values_list("partial", flat=True))
        monkeypatch.setattr("deepweb.crawler.exceeds", lambda html: True)
        run = found(server)
        read = Url.objects.filter(run=run, state=UrlState.DONE)
        assert set(read.values_list("reason", flat=True)) == {"read_in_part"}
