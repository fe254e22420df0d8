"""Saved exports: written step by step, complete after any kill, on schedule, and available at an
address that can be withdrawn."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from crawlmgr import jobs
from crawlmgr.archive import archive
from crawlmgr.exports import exports, file_writers, saved_exports
from crawlmgr.models import Every, Export, ExportFile, Run, RunState
from crawlmgr.runs import runs
from forums.models import Post
from tests.crawlmgr.admin.rows import NOW, world

pytestmark = pytest.mark.django_db(transaction=True)


class Killed(BaseException):
    """Simulates the end of the process: nothing after it is executed."""


@pytest.fixture(autouse=True)
def place(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORT_DIR = tmp_path / "exports"
    return tmp_path / "exports"


def wish(**values: Any) -> Export:
    return Export(
        **{
            "name": "all posts",
            "table": "posts",
            "format": "csv",
            "created": NOW,
            "keep": 5,
            **values,
        }
    )


def kept(**values: Any) -> Export:
    return saved_exports.add(wish(**values))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes exports write two rows per step, so that there are many points at which a test can
    interrupt them."""
    monkeypatch.setattr(saved_exports, "STEP_SECONDS", -1.0)
    chunks = {name: table.chunk for name, table in exports.tables().items()}
    for table in exports.tables().values():
        object.__setattr__(table, "chunk", 2)
    yield
    for name, table in exports.tables().items():
        object.__setattr__(table, "chunk", chunks[name])


def rows_of(path: Path, fmt: str) -> int:
    """The number of rows of a file as counted by a parser of its format."""
    if fmt == "csv":
        return len(list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))) - 1
    if fmt == "json":
        return len(json.loads(path.read_text(encoding="utf-8")))
    if fmt == "jsonl":
        return len([json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]])
    if fmt == "parquet":
        return int(parquet.read_table(path).num_rows)
    if fmt == "sqlite":
        base = sqlite3.connect(path)
        (count,) = base.execute("SELECT count(*) FROM posts").fetchone()
        base.close()
        return int(count)
    with zipfile.ZipFile(path) as book:
        return book.read("xl/worksheets/sheet1.xml").count(b"<row ") - 1


def direct(export: Export, path: Path) -> bytes:
    """The same export written by the command in one go."""
    shape = exports.Shape(export.columns, export.bom)
    exports.write_file(
        export.table,
        path,
        fmt=export.format,
        chosen=saved_exports.chosen(export, NOW),
        now=NOW,
        shape=shape,
    )
    return path.read_bytes()


@pytest.mark.parametrize("fmt", exports.FORMATS)
def test_a_file_written_in_many_steps_is_the_one_written_at_once(
    fmt: str, tmp_path: Path, steps: None, place: Path
) -> None:
    world(9)
    export = kept(
        format=fmt, columns=["author", "text", "posted"] if fmt == "csv" else [], bom=True
    )
    run = saved_exports.start(export, now=NOW)
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    file = export.files.get()
    path = saved_exports.path_of(file)
    whole = direct(export, tmp_path / f"whole.{fmt}")
    run.refresh_from_db()
    assert run.stopped_by == "exported" and run.items >= 5 and file.by_id == run.pk
    if fmt in ("csv", "json", "jsonl", "xlsx"):
        assert (
            path.read_bytes() == whole
            if fmt != "xlsx"
            else _members(path) == _members(tmp_path / f"whole.{fmt}")
        )
    assert rows_of(path, fmt) == file.rows > 0
    manifest = json.loads(exports.manifest_of(path).read_text(encoding="utf-8"))
    assert (manifest["rows"], manifest["sha256"]) == (file.rows, file.sha256)
    assert {one.name for one in path.parent.iterdir()} == {file.name, f"{file.name}.manifest.json"}


def _members(path: Path) -> dict[str, bytes]:
    """The files in a workbook, except the one with the time of its creation."""
    with zipfile.ZipFile(path) as book:
        return {name: book.read(name) for name in book.namelist() if name != "docProps/core.xml"}


@pytest.mark.parametrize("fmt", exports.FORMATS)
def test_killed_at_any_moment_it_is_written_once_and_whole(
    fmt: str, tmp_path: Path, steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends in turn at each point at which something was about to be written, renamed or
    stored."""
    world(5)
    export = kept(format=fmt)
    expected = direct(export, tmp_path / "whole")
    left = [0]

    def dying(name: str, owner: Any) -> None:
        real = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return real(*given, **named)

        monkeypatch.setattr(owner, name, call)

    kind = type(file_writers.opened(fmt, tmp_path, "posts", ["a"], {}))
    for name, owner in (
        ("add", kind),
        ("kept", kind),
        ("finish", kind),
        ("replace", os),
        ("described", exports),
        ("store", saved_exports),
        ("_tell", saved_exports.ExportJob),
        ("tidy", saved_exports),
    ):
        dying(name, owner)
    run, kills = saved_exports.start(export, now=NOW), 0
    for place_of_death in range(1, 200):
        left[0] = place_of_death % 7 + 1
        try:
            state = jobs.run_slice(run.pk)
        except Killed:
            kills += 1
            _torn(saved_exports.folder(export.pk) / f"work-{run.pk}")
            Run.objects.filter(pk=run.pk).update(lease_until=None)
            continue
        assert state == RunState.FINISHED
        break
    assert kills > 3
    file = export.files.get()
    path = saved_exports.path_of(file)
    left[0] = 0
    assert rows_of(path, fmt) == file.rows == Post.objects.count() > 4
    if fmt in ("csv", "json", "jsonl"):
        assert path.read_bytes() == expected
    assert {one.name for one in path.parent.iterdir()} == {file.name, f"{file.name}.manifest.json"}


@pytest.mark.parametrize("done", [False, True])
def test_an_export_whose_files_are_of_an_earlier_version_begins_again(
    done: bool, steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state, stored between two steps, names files that do not exist."""
    world(5)
    run = saved_exports.start(kept(format="xlsx"), now=NOW)
    job = saved_exports.ExportJob(run)
    for _step in range(2):
        stored = job.step(lambda: None)
        assert callable(stored)
        stored()
    for path in job.work.glob("rows*"):
        path.unlink()
    if done:
        job._tell({**run.result, "at": run.result["until"]})
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    file = ExportFile.objects.get()
    assert rows_of(saved_exports.path_of(file), "xlsx") == file.rows == Post.objects.count() > 4


def _torn(work: Path) -> None:
    """Appends bytes to unfinished output files, as if a process was killed after a write and before
    recording its progress."""
    for name in ("part", "rows1"):
        if (work / name).exists() and (work / name).read_bytes()[:6] != b"SQLite":
            with (work / name).open("ab") as file:
                file.write(b"torn,\xff")


def test_only_the_newest_files_are_kept(place: Path) -> None:
    world(2)
    export = kept(keep=2)
    for day in range(4):
        run = saved_exports.start(export, now=NOW + timedelta(days=day))
        assert jobs.run_slice(run.pk) == RunState.FINISHED
    names = list(export.files.values_list("name", flat=True))
    assert len(names) == 2
    assert {one.name for one in (place / str(export.pk)).iterdir()} == {
        *names,
        *(f"{name}.manifest.json" for name in names),
    }


def test_a_schedule_starts_each_writing_once_and_makes_up_for_what_was_missed_with_one() -> None:
    export = kept(every_hours=Every.DAY)
    assert (saved_exports.start_due(NOW), saved_exports.start_due(NOW)) == (1, 0)
    export.refresh_from_db()
    assert export.next_at == NOW + timedelta(days=1)
    assert saved_exports.start_due(NOW + timedelta(days=9, hours=1)) == 0, (
        "it is still being written"
    )
    export.refresh_from_db()
    assert export.next_at == NOW + timedelta(days=10)
    Run.objects.update(state=RunState.FINISHED)
    assert saved_exports.start_due(NOW + timedelta(days=12, hours=5)) == 1
    saved_exports.plan(export, every_hours=0, keep=1, now=NOW)
    assert Run.objects.count() == 2 and saved_exports.start_due(NOW + timedelta(days=99)) == 0


def test_an_address_opens_its_export_until_it_is_taken_back() -> None:
    first, second = kept(), kept(name="other")
    secret = saved_exports.open_address(first, NOW)
    newer = saved_exports.open_address(first, NOW)
    found = saved_exports.by_secret(newer, NOW)
    assert found is not None and found.pk == first.pk != second.pk
    assert saved_exports.by_secret(secret, NOW) is None and saved_exports.by_secret("", NOW) is None
    assert newer not in Export.objects.get(pk=first.pk).digest
    saved_exports.close_address(first, NOW)
    assert saved_exports.by_secret(newer, NOW) is None


def test_the_pages_of_a_run_come_as_a_warc_file(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = world(3)
    run = Run.objects.get(pk=keys["run"])
    export = kept(table="pages", format="warc", run=run.pk)
    writing = saved_exports.start(export, now=NOW)
    assert jobs.run_slice(writing.pk) == RunState.FINISHED
    path = saved_exports.path_of(export.files.get())
    assert path.name.endswith(".warc.gz") and path.read_bytes()[:2] == b"\x1f\x8b"
    assert archive.check_file(path) is not None


def test_removing_takes_the_files_along_and_waits_for_the_writing(place: Path) -> None:
    world(2)
    export = kept()
    run = saved_exports.start(export, now=NOW)
    with pytest.raises(runs.Busy):
        saved_exports.remove(export, NOW)
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    saved_exports.remove(export, NOW)
    assert not ExportFile.objects.exists() and not list(place.iterdir())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": " "}, "needs a name"),
        ({"table": "x"}, "no table 'x'"),
        ({"format": "xml"}, "no format 'xml'"),
        ({"format": "warc"}, "the pages of one run"),
        ({"every_hours": 5}, "every 1, 6, 24, 168 hours"),
        ({"keep": 0}, "1 to 1000"),
        ({"days": 0}, "1 to 36500"),
        ({"columns": ["colour"]}, "no column 'colour'"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_line(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        kept(**values)
    assert "\n" not in str(error.value) and not Export.objects.exists()
