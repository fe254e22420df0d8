"""Search sites are deleted while harvests begin: nothing is queried twice, and nothing is left
behind."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
from django.db import IntegrityError, connection

from crawlmgr import engine, jobs
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs
from crawlmgr.upkeep import removals as leaving
from deepweb import harvests
from deepweb.forms import sources
from deepweb.models import Form, Harvest, Query, Record, Source
from tests.deepweb.test_harvest import OPEN, found, harvest, now, the_form
from tests.site.search import SearchServer, SearchSite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_hosts() -> None:
    hosts.forget()


def test_deleting_a_site_ends_the_runs_at_it_also_one_in_work() -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
        form = the_form()
        look = sources.find([server.url], now=now(), settings=OPEN, start=False)
        asking = harvests.start([form], {"queries": 40}, now=now(), settings=OPEN, begin=False)
        other = sources.find(["http://other.example/"], now=now(), start=False)

        def delete(*_: object) -> None:
            if Source.objects.filter(pk=form.source_id).exists():
                sources.delete(form.source, now())

        with pytest.raises(IntegrityError):
            engine.run_slice(look.pk, on_page=delete)
        engine.run_slice(look.pk)
    states = dict(
        Run.objects.filter(pk__in=[look.pk, asking.pk, other.pk]).values_list("pk", "state")
    )
    assert states == {
        look.pk: RunState.STOPPED,
        asking.pk: RunState.STOPPED,
        other.pk: RunState.QUEUED,
    }


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_of_two_harvests_begun_at_once_that_share_a_form_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with SearchServer(SearchSite()) as server:
        found(server)
    first = the_form()
    second = the_form()
    second.pk, second.signature = None, "another"
    second.save()
    met, outcomes, create = threading.Barrier(2), [], runs.create

    def waiting(*given: Any, **named: Any) -> Run:
        with contextlib.suppress(threading.BrokenBarrierError):
            met.wait(2)
        return create(*given, **named)

    monkeypatch.setattr(runs, "create", waiting)

    def begin(forms: list[Form]) -> None:
        try:
            outcomes.append(harvests.start(forms, {}, now=now(), begin=False))
        except runs.Busy as busy:
            outcomes.append(busy)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=begin, args=(chosen,)) for chosen in ([first, second], [first])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(one).__name__ for one in outcomes) == ["Busy", "Run"]


def test_a_large_site_is_deleted_by_a_run_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "BATCH", 9)
    monkeypatch.setattr(leaving, "AT_ONCE", 20)
    with SearchServer(SearchSite()) as server:
        found(server)
        asked = harvest(the_form(), queries=6)
        source, form = Source.objects.get(), the_form()
        kept = Source.objects.create(
            url="http://other.example/", key_hash=1, name="other", created=now()
        )
        made = sources.start_removal(source, now())
        assert made is not None and Record.objects.exists()
        for busy in (
            lambda: harvests.start([form], {}, now=now(), begin=False),
            lambda: sources.find([server.url], now=now()),
        ):
            with pytest.raises(runs.Busy):
                busy()
    assert jobs.run_slice(made.pk) == RunState.FINISHED
    assert not any(table.objects.exists() for table in (Record, Query, Harvest, Form)) and list(
        Source.objects.all()
    ) == [kept]
    made.refresh_from_db()
    assert (
        made.result["removed"] == made.result["rows"] and Run.objects.filter(pk=asked.pk).exists()
    )
