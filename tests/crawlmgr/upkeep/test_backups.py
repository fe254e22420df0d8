"""Scheduled backups: started when due and within their working hours, made in a process of their
own, limited in number, shown on the desk."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client, TestCase

from crawlmgr import jobs
from crawlmgr.models import BackupPlan, Event, Run, RunState
from crawlmgr.runs import runs
from crawlmgr.schedule import due, recurring, timings
from crawlmgr.upkeep import backups
from tests.crawlmgr.admin.rows import user

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC).replace(microsecond=0)
WHOLE = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(b'x' * 1000)"
WAITS = (
    "import sys, pathlib; open(sys.argv[2]).read(); pathlib.Path(sys.argv[1]).write_bytes(b'x' *"
    " 1000)"
)
FAILS = "import sys; sys.exit('CommandError: the disk is away')"


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> Path:
    settings.BACKUP_DIR = tmp_path / "backups"
    settings.MIN_FREE_BYTES = 0
    return tmp_path / "backups"


def _made_by(monkeypatch: pytest.MonkeyPatch, program: str, *further: str) -> None:
    monkeypatch.setattr(
        backups, "command", lambda path: [sys.executable, "-c", program, str(path), *further]
    )


def work(run: Run, seconds: float | None = None) -> str:
    """Executes one slice of the run, with its on-commit callbacks, which would not run otherwise
    because the test's transaction never commits. Returns the run's state."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        return jobs.run_slice(run.pk, seconds=seconds)


def _old(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    for day in range(1, number + 1):
        (folder / f"crawlmgr-202501{day:02d}-030000.tar").write_bytes(b"old")
    (folder / "mine.tar").write_bytes(b"nobody else's business")


def test_a_backup_is_made_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    _made_by(monkeypatch, WHOLE)
    _old(folder, 4)
    backups.put(every_hours=24, keep=3, now=NOW)
    run = backups.start(now=NOW)
    with pytest.raises(runs.Busy):
        backups.start(now=NOW)
    assert work(run) == RunState.FINISHED
    run.refresh_from_db()
    kept = [one.name for one in backups.files()]
    assert kept == [
        run.result["file"],
        "crawlmgr-20250104-030000.tar",
        "crawlmgr-20250103-030000.tar",
    ]
    assert (run.result["bytes"], run.result["removed"], run.stopped_by) == (1000, 2, "backed_up")
    assert {path.name for path in folder.iterdir()} == {*kept, "mine.tar"}


def test_a_process_that_says_why_it_failed_is_quoted(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    _made_by(monkeypatch, FAILS)
    _old(folder, 2)
    run = backups.start(now=NOW)
    for _ in range(3):
        with pytest.raises(backups.BackupFailed, match="the disk is away"):
            work(run)
    run.refresh_from_db()
    assert run.state == RunState.FAILED and "the disk is away" in run.detail
    assert len(backups.files()) == 2 and not list(folder.glob("*.l*")), (
        "no older one goes for one that failed"
    )
    _made_by(monkeypatch, WHOLE)
    runs.resume(run.pk, NOW)
    assert work(run) == RunState.FINISHED


def test_no_room_is_told_before_anything_is_written(settings: LazySettings, folder: Path) -> None:
    settings.MIN_FREE_BYTES = 10**18
    run = backups.start(now=NOW)
    with pytest.raises(backups.BackupFailed, match="no room"):
        work(run)
    assert list(folder.iterdir()) == []


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A pipe at which the backup process waits until the test opens it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    yield path


def test_whoever_has_the_run_next_waits_for_the_same_process(
    monkeypatch: pytest.MonkeyPatch, folder: Path, gate: Path
) -> None:
    _made_by(monkeypatch, WAITS, str(gate))
    monkeypatch.setattr(backups, "STEP_SECONDS", 0.0)
    run = backups.start(now=NOW)
    assert work(run, 0.3) == RunState.RUNNING
    first = next(folder.glob("*.lock")).read_text()
    backups._children.clear()  # as if another worker process continued the run
    assert work(run, 0.3) == RunState.RUNNING
    assert (
        next(folder.glob("*.lock")).read_text() == first
        and Run.objects.get(pk=run.pk).result["tries"] == 1
    )
    opener = threading.Thread(target=lambda: gate.write_text("go on"))
    opener.start()
    assert work(run) == RunState.FINISHED
    opener.join()
    assert len(backups.files()) == 1


def test_a_killed_process_is_started_again_and_a_stopped_run_leaves_none(
    monkeypatch: pytest.MonkeyPatch, folder: Path, gate: Path
) -> None:
    _made_by(monkeypatch, WAITS, str(gate))
    monkeypatch.setattr(backups, "STEP_SECONDS", 0.0)
    run = backups.start(now=NOW)
    work(run, 0.3)
    lock = next(folder.glob("*.lock"))
    first = int(lock.read_text().split()[0])
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    work(run, 0.3)
    second = int(lock.read_text().split()[0])
    assert second != first and Run.objects.get(pk=run.pk).result["tries"] == 2
    backups.sweep(NOW)
    assert lock.exists(), "its run goes on"
    runs.stop(run.pk, NOW)
    due.dispatch(NOW)
    assert os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]) == -signal.SIGKILL
    assert Run.objects.get(pk=run.pk).state == RunState.STOPPED and list(folder.iterdir()) == []


def test_one_is_started_for_those_missed_and_inside_the_hours() -> None:
    backups.put(every_hours=24, keep=3, now=NOW)
    assert (
        BackupPlan.objects.get().next_at == NOW + timedelta(hours=24)
        and due.dispatch(NOW)["started"] == 0
    )
    BackupPlan.objects.update(next_at=NOW - timedelta(days=3))
    assert due.dispatch(NOW)["started"] == 1 and due.dispatch(NOW)["started"] == 0
    run = Run.objects.get(kind=backups.KIND)
    assert run.scheduled and BackupPlan.objects.get().next_at == NOW + timedelta(days=1)
    assert Event.objects.get(code="schedule_missed").text.startswith("backup: 4 since")
    Run.objects.update(state=RunState.FINISHED, exclusive="")
    noon = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    BackupPlan.objects.update(next_at=noon)
    timings.put(backups.KIND, backups.ONLY, {"hours": "01:00-06:00"}, now=noon)
    opens = datetime(2026, 5, 2, 1, 0, tzinfo=UTC)
    assert BackupPlan.objects.get().next_at == opens and backups.start_due(noon) == 0
    assert backups.start_due(opens) == 1


def test_list_command_and_desk_say_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, folder: Path
) -> None:
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("administrator"))
    client.post("/admin/backups/plan/", {"every_hours": "168", "keep": "2"})
    call_command("schedule", "list", "--json")
    told = json.loads(capsys.readouterr().out)["schedules"]
    (one,) = (one for one in told if one["kind"] == "backup")
    assert (one["target"], one["interval_seconds"]) == (backups.ONLY, 7 * 86_400)
    page = client.get("/admin/schedules/")
    (row,) = (row for row in page.context["rows"] if row.one.kind == "backup")
    assert row.one.next_at == datetime.fromisoformat(one["next"]) and row.url == "/admin/backups/"
    client.post(row.start)
    run = Run.objects.get(kind="backup")
    assert not run.scheduled and client.get(row.hours_url).status_code == 200
    assert (
        client.get(f"/admin/runs/{run.pk}/").status_code == 200
        and f"#{run.pk}" in client.get(row.url).content.decode()
    )
    call_command("schedule", "every", "backup", "1", "24")
    call_command("backups", "--keep", "9", "--json")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["every_hours"], found["keep"], found["folder"], found["files"]) == (
        24,
        9,
        str(folder),
        [],
    )
    for wrong in (
        ["backups", "--keep", "0"],
        ["backups", "--every", "-1"],
        ["backups", "--now"],
        ["schedule", "every", "backup", "2", "24"],
    ):
        with pytest.raises(CommandError):
            call_command(*wrong)
    call_command("backups", "--every", "0")
    assert recurring.listing(NOW, 10) == [] and backups.plan().keep == 9
    client.post("/admin/backups/plan/", {"every_hours": "x", "keep": "0"})
    assert (backups.plan().every_hours, backups.plan().keep) == (0, 9)


def test_missed_starts_are_told_in_the_language_of_who_reads() -> None:
    backups.put(every_hours=24, keep=3, now=NOW)
    BackupPlan.objects.update(next_at=datetime(2026, 5, 1, 3, 0, tzinfo=UTC))
    backups.start_due(NOW)
    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(user("administrator"))
    for path in ("schedules/", "events/"):
        seen = client.get(f"/admin/{path}").content.decode()
        assert "备份：" in seen and "2026-05-01 03:00 UTC" in seen and "starts since" not in seen
