"""History is pruned in small batches, each kind after its own retention time; the space that this
frees is shown before."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_q.models import OrmQ

from crawlmgr import tasks
from crawlmgr.models import Event, Host, HostHour, Page, Retention, Run, Url, WarcFile
from crawlmgr.upkeep import pruning, removals
from forums.models import Visit
from tests.forums.planned import make_site

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


def events(number: int, days: int) -> None:
    Event.objects.bulk_create(
        Event(at=NOW - timedelta(days=days), level=20, code="x") for _ in range(number)
    )


def test_no_transaction_drops_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "BATCH", 10)
    events(35, 91)
    with CaptureQueriesContext(connection) as caught:
        assert pruning.prune(NOW) == (
            {"events": 35, "failed_logins": 0, "tasks": 0, "nodes": 0, "sessions": 0},
            False,
        )
    deleted = [
        query["sql"]
        for query in caught.captured_queries
        if query["sql"].startswith('DELETE FROM "crawlmgr_event"')
    ]
    assert len(deleted) == 4 and not Event.objects.exists()


def test_each_kind_is_kept_as_long_as_its_setting_says(settings: Any) -> None:
    settings.KEEP_DAYS = {"events": 5, "hours": 0}
    host = Host.objects.create(key="a.example")
    HostHour.objects.create(host=host, hour=NOW - timedelta(days=4000))
    events(2, 4)
    events(3, 6)
    assert [one[:3] for one in pruning.frees(NOW)] == [("events", 5, 3), ("hours", 0, 0)]
    assert (
        pruning.prune(NOW).rows == {"events": 3, "sessions": 0}
        and Event.objects.count() == 2
        and HostHour.objects.count() == 1
    )


def test_addresses_go_only_with_runs_that_ended_for_good_and_only_when_asked(settings: Any) -> None:
    assert settings.KEEP_DAYS["addresses"] == 0
    settings.KEEP_DAYS = {"addresses": 30}
    host, old = Host.objects.create(key="a.example"), NOW - timedelta(days=31)
    for number, (state, finished) in enumerate(
        (("finished", old), ("stopped", old), ("failed", old), ("running", None), ("finished", NOW))
    ):
        run = Run.objects.create(
            kind="forum", label="x", state=state, created=old, finished=finished
        )
        first = Url.objects.create(
            run=run, host=host, key_hash=number, url="http://a.example/", added_at=old
        )
        Url.objects.create(
            run=run,
            host=host,
            key_hash=number + 100,
            url="http://a.example/b",
            added_at=old,
            parent=first,
        )
    assert pruning.frees(NOW)[0].rows == 4 and pruning.prune(NOW).rows["addresses"] == 4
    assert sorted(Url.objects.values_list("run__state", flat=True).distinct()) == [
        "failed",
        "finished",
        "running",
    ]


def test_the_command_tells_before_it_drops(capsys: pytest.CaptureFixture[str]) -> None:
    events(3, 91)
    call_command("prune", "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (
        told["dropped"] is False
        and {"kind": "events", "keep_days": 90, "rows": 3, "bytes": told["kinds"][0]["bytes"]}
        in told["kinds"]
        and Event.objects.count() == 3
    )
    call_command("prune", "--json")
    assert json.loads(capsys.readouterr().out)["dropped"] is True and not Event.objects.exists()


@pytest.fixture
def archive_folder(settings: Any, tmp_path: Path) -> Path:
    settings.ARCHIVE_DIR = tmp_path
    return tmp_path


def ended(kind: str, days: int, state: str = "finished") -> Run:
    at = NOW - timedelta(days=days)
    return Run.objects.create(
        kind=kind, label="x", state=state, created=at, finished=None if state == "running" else at
    )


def fetched(run: Run, days: int, number: int = 3, **more: Any) -> None:
    host, at = Host.objects.get_or_create(key="a.example")[0], NOW - timedelta(days=days)
    first = Page.objects.count()
    Page.objects.bulk_create(
        Page(
            run=run,
            host=host,
            key_hash=first + n,
            url="http://a.example/",
            url_hash=1,
            fetched_at=at,
            **more,
        )
        for n in range(number)
    )


def test_what_the_desk_set_holds_before_the_environment(settings: Any) -> None:
    settings.KEEP_DAYS = {"events": 90, "tasks": 30}
    assert pruning.keep({"events": 7, "tasks": 30}, now=NOW) == ["events"]
    assert pruning.kept() == {"events": 7, "tasks": 30} and Retention.objects.count() == 1
    for wrong in ({"events": -1}, {"events": 36_501}, {"posts": 1}):
        with pytest.raises(ValueError, match="not a number of days"):
            pruning.keep(wrong, now=NOW)
    events(4, 8)
    assert pruning.prune(NOW).rows["events"] == 4


def test_fetch_records_go_but_for_those_of_active_runs(settings: Any) -> None:
    settings.KEEP_DAYS = {"fetches": 30}
    for run in (ended("forum", 40), ended("forum", 40, "running")):
        fetched(run, 40)
        fetched(run, 10)
    told = pruning.frees(NOW)[0]
    assert told.rows == 3 and 3 * 100 < told.bytes < 3 * 1000
    assert pruning.prune(NOW).rows["fetches"] == 3
    assert (
        sorted(Page.objects.values_list("run__state", flat=True))
        == ["finished"] * 3 + ["running"] * 6
    )


def test_ended_runs_go_with_what_is_theirs_alone(settings: Any) -> None:
    settings.KEEP_DAYS = {"runs": 30}
    site = make_site("f", (1.0,))
    old, kept = (
        ended("forum", 40),
        [
            ended("forum", 10),
            ended("forum", 40, "running"),
            ended("topic", 40),
            ended("deepweb-harvest", 40),
        ],
    )
    for run in (old, *kept):
        fetched(run, 40)
    Visit.objects.create(run=old, board=site.boards.get(), started=NOW)
    told = pruning.frees(NOW)[0]
    assert told.rows == 5 and told.bytes > 0
    assert pruning.prune(NOW).rows["runs"] == 5
    assert (
        set(Run.objects.all()) == set(kept)
        and not Visit.objects.exists()
        and Page.objects.count() == 12
    )


def test_archive_files_go_from_the_disk_and_their_pages_stay(
    settings: Any, archive_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KEEP_DAYS = {"archive": 30}
    monkeypatch.setattr(removals, "BATCH", 2)
    for name, days in (("old", 40), ("young", 10)):
        (archive_folder / name).write_bytes(b"x" * 1000)
        run = ended("forum", days)
        file = WarcFile.objects.create(
            name=name, created=NOW - timedelta(days=days), bytes=1000, run=run
        )
        fetched(run, days, warc=file, warc_offset=7)
    assert pruning.frees(NOW)[0] == ("archive", 30, 1, False, 1000)
    assert pruning.prune(NOW).rows["archive"] == 1
    assert [path.name for path in archive_folder.iterdir()] == [
        "young"
    ] and WarcFile.objects.get().name == "young"
    assert (
        sorted(Page.objects.values_list("warc__name", "warc_offset"), key=str)
        == [("young", 7)] * 3 + [(None, None)] * 3
    )


def test_a_name_that_leads_out_of_the_archive_removes_nothing(
    settings: Any, archive_folder: Path
) -> None:
    settings.KEEP_DAYS = {"archive": 30}
    outside = archive_folder.parent / "outside"
    outside.write_text("x")
    WarcFile.objects.create(name="../outside", created=NOW - timedelta(days=40))
    assert pruning.prune(NOW).rows["archive"] == 1 and outside.exists()


def test_a_file_that_is_gone_already_is_no_obstacle(settings: Any, archive_folder: Path) -> None:
    settings.KEEP_DAYS = {"archive": 30}
    WarcFile.objects.create(name="gone", created=NOW - timedelta(days=40))
    assert pruning.prune(NOW).rows["archive"] == 1 and not WarcFile.objects.exists()


def test_counting_for_a_page_ends_at_a_bound() -> None:
    events(30, 91)
    told = {one.kind: one for one in pruning.frees(NOW, most=10)}["events"]
    assert (told.rows, told.more) == (10, True)
    told = {one.kind: one for one in pruning.frees(NOW, {"events": 100}, most=10)}["events"]
    assert (told.keep_days, told.rows, told.more) == (100, 0, False)


def test_a_task_ends_with_its_slice_and_another_goes_on(
    monkeypatch: pytest.MonkeyPatch, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(removals, "BATCH", 10)
    settings.SLICE_SECONDS = 0
    events(35, 91)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.prune()
    assert Event.objects.count() == 35 and OrmQ.objects.count() == 1
    settings.SLICE_SECONDS = 1000
    with django_capture_on_commit_callbacks(execute=True):
        assert tasks.prune()["events"] == 35
    assert OrmQ.objects.count() == 1
