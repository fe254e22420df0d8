"""Tests of a run's report: its counts agree with the stored data, are the same in the web
interface, the API and the command line, and are kept when the run ends instead of being computed
again."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr import engine
from crawlmgr.api.shared import run_report
from crawlmgr.models import Host, Page, Run, RunHost, RunState, RunTally, Url, UrlState
from crawlmgr.runs import run_reads, runs
from tests.crawlmgr.admin.rows import user
from tests.site.server import LocalSite, Reply, Request

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _site(site: LocalSite) -> list[str]:
    tried: Counter[str] = Counter()

    def flaky(request: Request) -> Reply:
        tried["flaky"] += 1
        return (
            Reply(b"busy", status=503)
            if tried["flaky"] == 1
            else Reply(b"<p>fine</p>", content_type="text/html")
        )

    site.add("/robots.txt", Reply(b"User-agent: *\nDisallow: /secret\n", content_type="text/plain"))
    for name in ("a", "b"):
        site.add(f"/{name}", Reply(b"<p>page</p>" * 10, content_type="text/html; charset=utf-8"))
    site.add("/data", Reply(b"{}", content_type="application/json"))
    site.add("/gone", Reply(b"gone", status=404, content_type="text/html"))
    site.add("/broken", Reply(b"no", status=500))
    site.add("/flaky", flaky)
    return [
        site.url(path) for path in ("/a", "/b", "/data", "/gone", "/broken", "/flaky", "/secret")
    ]


def _crawled(settings: LazySettings, urls: list[str], **wishes: Any) -> Run:
    settings.CRAWLERS = {"plain": "tests.crawlmgr.frontier.test_in_flight_pool.Plain"}
    settings.RUNS_WITH_SEEDS = ["plain"]
    links = [{"url": url, "key": url} for url in urls]
    run = runs.create(
        "plain",
        "plain",
        parameters={"links": links, "settings": {"max_attempts": 2, **wishes}},
        now=NOW,
        start=False,
    )
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def test_the_report_is_what_happened(settings: LazySettings) -> None:
    with LocalSite() as site:
        run = _crawled(settings, _site(site))
    told = run_reads.report(run, NOW)
    statuses = {row["status"]: row["answers"] for row in told["statuses"]}
    assert statuses == {"200": 4, "404": 1, "500": 2, "503": 1}
    assert told["retries"] == 2 and told["answers_429_or_503"] == 1
    assert (
        sum(row["pages"] for row in told["types"])
        == told["pages"]
        == Page.objects.filter(run=run).count()
    )
    assert {row["type"]: row["pages"] for row in told["types"]}["application/json"] == 1
    assert sum(row["bytes"] for row in told["types"]) == sum(
        Page.objects.filter(run=run).values_list("received_bytes", flat=True)
    )
    (host,) = told["hosts"]
    assert (host["pages"], host["failed"], host["bytes"]) == (
        told["pages"],
        told["failed"],
        told["bytes"],
    )
    assert {row["outcome"]: row["urls"] for row in told["seeds"]} == {
        "done": 5,
        "failed http_500": 1,
        "refused robots": 1,
    }
    assert sum(row["urls"] for row in told["outcomes"]) == Url.objects.filter(run=run).count() == 7
    assert told["stopped_by"] == "complete" and told["seconds"] >= 0


def test_page_command_and_api_say_the_same(settings: LazySettings, capsys: Any) -> None:
    with LocalSite() as site:
        run = _crawled(settings, _site(site))
    told = run_reads.report(run, NOW)
    call_command("run", "report", str(run.pk), "--json")
    by_command = json.loads(capsys.readouterr().out)
    by_api = run_report(None, run.pk)  # type: ignore[arg-type]
    for part in (
        "statuses",
        "types",
        "hosts",
        "seeds",
        "outcomes",
        "pages",
        "bytes",
        "retries",
        "stopped_by",
    ):
        assert by_command[part] == by_api[part] == told[part], part
    call_command("run", "report", str(run.pk))
    assert "application/json" in capsys.readouterr().out
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("viewer"))
    page = client.get(f"/admin/runs/{run.pk}/").content.decode()
    assert (
        "Final report" in page and "application/json" in page and "failed: HTTP status 500" in page
    )
    with pytest.raises(CommandError, match="there is no run 999"):
        call_command("run", "report", "999")


@pytest.mark.parametrize(
    ("host", "code", "sentence"),
    [
        (
            {"crawl_delay_seconds": 120.0},
            "crawl_delay",
            "Its robots.txt asks for 120 s between two requests",
        ),
        ({"delay_seconds": 60.0}, "delay", "The delay between two requests to it is 60 s."),
        ({"failures": 1}, "failures", "1 request to the host failed"),
        (
            {"failures": 3, "crawl_delay_seconds": 120.0},
            "failures",
            "3 requests to the host failed one after another",
        ),
        (
            {"retry_after_until": NOW + HOUR, "failures": 1},
            "retry_after",
            "The host asked us to wait",
        ),
    ],
)
def test_page_and_commands_say_why_a_run_waits(
    host: dict[str, Any], code: str, sentence: str, capsys: Any
) -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    until = datetime.now(UTC) + HOUR
    Host.objects.filter(pk=_host().pk).update(
        **{name: until if name == "retry_after_until" else value for name, value in host.items()}
    )
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, waiting_for="a.example", waiting_until=until
    )
    call_command("run", "report", str(run.pk), "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["waiting_for"], report["waiting_because"]) == ("a.example", code)
    assert datetime.fromisoformat(report["waiting_until"]) == until
    call_command("run", "list", "--json")
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert (listed["id"], listed["state"], listed["waiting_for"]) == (
        run.pk,
        "running",
        "a.example",
    )
    assert listed["waiting_because"] == code
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("viewer"))
    assert sentence in client.get(f"/admin/runs/{run.pk}/").content.decode()
    runs.stop(run.pk, NOW)
    run.refresh_from_db()
    assert run_reads.report(run, NOW)["waiting_because"] == ""


def test_the_list_of_runs_gives_those_at_work_first(capsys: Any) -> None:
    ended = [
        runs.create("plain", f"ended {number}", parameters={}, now=NOW, start=False).pk
        for number in range(3)
    ]
    Run.objects.filter(pk__in=ended).update(
        state=RunState.FINISHED, stopped_by="complete", finished=NOW
    )
    queued = runs.create("plain", "queued", parameters={}, now=NOW, start=False).pk
    call_command("run", "list", "--ended", "2", "--json")
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert [row["id"] for row in listed] == [queued, ended[2], ended[1]]
    call_command("run", "list")
    assert "ended 2" in capsys.readouterr().out


def test_outcomes_are_kept_when_a_run_ends_and_not_counted_again(settings: LazySettings) -> None:
    with LocalSite() as site:
        run = _crawled(settings, _site(site))
    told = run_reads.report(run, NOW)["outcomes"]
    Url.objects.filter(run=run).delete()  # as pruning does
    with CaptureQueriesContext(connection) as asked:
        assert run_reads.report(Run.objects.get(pk=run.pk), NOW)["outcomes"] == told
    assert not any(
        "crawlmgr_url" in one["sql"] or '"crawlmgr_page"' in one["sql"]
        for one in asked.captured_queries
    )


def test_a_run_that_is_stopped_while_it_waits_keeps_its_outcomes() -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    host = _host()
    Url.objects.create(
        run=run, host=host, key_hash=1, url="http://a/", state=UrlState.WAITING, added_at=NOW
    )
    runs.stop(run.pk, NOW)
    run.refresh_from_db()
    assert run_reads.report(run, NOW)["outcomes"] == [{"state": "waiting", "reason": "", "urls": 1}]
    assert run.outcomes is not None


def test_many_addresses_of_a_run_at_work_are_counted_now_and_then_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    monkeypatch.setattr(run_reads, "MANY", 10)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, requests=10)
    run.refresh_from_db()
    Url.objects.create(
        run=run, host=_host(), key_hash=1, url="http://a/", state=UrlState.DONE, added_at=NOW
    )
    first = run_reads.report(run, NOW)["outcomes"]
    Url.objects.create(
        run=run, host=_host(), key_hash=2, url="http://b/", state=UrlState.DONE, added_at=NOW
    )
    assert (
        run_reads.report(run, NOW)["outcomes"]
        == first
        == [{"state": "done", "reason": "", "urls": 1}]
    )


def test_a_run_of_an_older_version_says_null_where_nothing_was_counted() -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED, requests=7, fetched=7)
    told = run_reads.report(Run.objects.get(pk=run.pk), NOW)
    assert (
        told["statuses"] is None
        and told["types"] is None
        and told["hosts"] is None
        and told["pages"] == 7
    )


def test_the_report_asks_as_much_for_many_hosts_as_for_few() -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    counts = []
    for number in (3, 60):
        for place in range(number):
            RunTally.objects.update_or_create(
                run=run, what="status", name=str(200 + place), defaults={"number": place + 1}
            )
            RunHost.objects.update_or_create(
                run=run, host=_host(f"h{place}"), defaults={"fetched": place}
            )
        with CaptureQueriesContext(connection) as asked:
            told = run_reads.report(run, NOW)
        counts.append(len(asked))
    assert (
        counts[0] == counts[1]
        and len(told["hosts"]) == run_reads.MAX_HOSTS
        and told["hosts"][0]["pages"] == 59
    )


def _host(key: str = "a.example") -> Host:
    return Host.objects.get_or_create(key=key)[0]
