"""The job that writes an export, in steps of some seconds. After a kill it continues from the last
progress that is safe on disk."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from crawlmgr.models import Export, Run, RunState
from crawlmgr.services import archive, export_writers, exports, saved_exports

STEP_SECONDS = 5.0
KEYS = 100_000  # maximum number of objects exported in one step
Pulse = Callable[[], None]


class _Gone(Exception):
    """Raised if the files of an unfinished export are lost, or were left by an earlier version."""


class ExportJob:
    """Implements `crawlmgr.jobs.Job` for the run of an export.

    The run's `result` holds the progress: the keys of the last object exported (`at`) and of the
    last one to export (`until`), the number of rows and the writer's state; at the end the file's
    name. If a kill leaves a complete file, the next attempt uses it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        parameters = run.parameters
        since = parameters["filter"]["since"]
        bound = datetime.fromisoformat(since) if since else None
        self.chosen = exports.Filter(
            parameters["filter"]["site"], parameters["filter"]["run"], bound
        )
        self.table, self.format = str(parameters["table"]), str(parameters["format"])
        self.shape = exports.Shape(tuple(parameters["columns"]), bool(parameters["bom"]))
        self.place = saved_exports.folder(run.target or 0)
        ending = "warc.gz" if self.format == saved_exports.WARC else self.format
        self.name = f"{self.table}-{run.created.astimezone(UTC):%Y%m%d-%H%M%S}-{run.pk}.{ending}"
        self.work = self.place / f"work-{run.pk}"

    def step(self, pulse: Pulse) -> Callable[[], None] | str:
        export = Export.objects.filter(pk=self.run.target).first()
        if export is None:
            shutil.rmtree(self.place, ignore_errors=True)
            return "removed"
        done = self.run.result
        if "file" in done:
            return "exported"
        exports.spare_memory()
        lost = not self.work.is_dir() and not (self.place / self.name).exists()
        self.work.mkdir(parents=True, exist_ok=True)
        with _alone(self.work / "lock", pulse):
            if "until" not in done or lost:
                return self._begin(export)
            further = done["at"] < done["until"]
            try:
                return self._further(pulse) if further else self._finish(export, pulse)
            except _Gone:
                return self._begin(export)

    def ended(self, state: str, now: datetime) -> None:
        """Deletes the working folder if the run is finished or stopped; a paused or failed run
        keeps it, because it may be resumed."""
        if state in (RunState.FINISHED, RunState.STOPPED):
            transaction.on_commit(lambda: shutil.rmtree(self.work, ignore_errors=True))

    def _begin(self, export: Export) -> Callable[[], None]:
        table = exports.tables()[self.table]
        header = list(table.header(self.chosen))
        exports.picked(self.table, header, self.shape)
        rows = table.query(self.chosen)
        last = rows.order_by("-pk").values_list("pk", flat=True).first()
        found: dict[str, Any] = {
            "at": 0,
            "until": last or 0,
            "things": rows.count(),
            "read": 0,
            "rows": 0,
        }
        found |= {"columns": header, "writer": {}}
        saved_exports.tidy(export.pk, self.work.name)
        return partial(self._tell, found)

    def _further(self, pulse: Pulse) -> Callable[[], None]:
        done = dict(self.run.result)
        if self.format == saved_exports.WARC:
            return partial(self._tell, {**done, "at": done["until"], "read": done["things"]})
        table = exports.tables()[self.table]
        wanted = exports.picked(self.table, done["columns"], self.shape)
        writer, end = self._writer(done), time.monotonic() + STEP_SECONDS
        try:
            keys = self._keys(table, done)
            for place in range(0, len(keys), table.chunk):
                some = keys[place : place + table.chunk]
                rows = table.of_keys(some, done["columns"])
                batch = list(
                    rows if wanted is None else ([row[column] for column in wanted] for row in rows)
                )
                writer.add(batch)
                done |= {
                    "rows": done["rows"] + len(batch),
                    "read": done["read"] + len(some),
                    "at": some[-1],
                }
                pulse()
                if time.monotonic() >= end:
                    break
            else:
                if len(keys) < KEYS:
                    done["at"] = done["until"]
            done["writer"] = writer.kept()
        finally:
            writer.close()
        return partial(self._tell, done)

    def _keys(self, table: exports.Table, done: dict[str, Any]) -> list[int]:
        """Returns the primary keys of the objects to export in the next step. All are read in one
        query, because each query may have to sort a filtered table."""
        rows = table.query(self.chosen).filter(pk__gt=done["at"], pk__lte=done["until"])
        return list(rows.order_by("pk").values_list("pk", flat=True)[:KEYS])

    def _writer(self, done: dict[str, Any]) -> export_writers.Writer:
        header = list(self.shape.columns) or done["columns"]
        kinds = exports.tables()[self.table].kinds
        bom, state = self.shape.bom, done["writer"]
        try:
            return export_writers.opened(
                self.format, self.work, self.table, header, kinds, bom=bom, state=state
            )
        except FileNotFoundError:
            raise _Gone from None

    def _finish(self, export: Export, pulse: Pulse) -> Callable[[], None]:
        done, path = dict(self.run.result), self.place / self.name
        if not path.exists():
            self._whole(path, done, pulse)
        about = {
            "table": self.table,
            "format": self.format,
            "filter": self.chosen.as_json(),
            "written": self.run.created.isoformat(),
        }
        manifest = exports.described(
            path, about, done["rows"], list(self.shape.columns) or done["columns"]
        )
        return partial(self._store, export, manifest)

    def _whole(self, path: Path, done: dict[str, Any], pulse: Pulse) -> None:
        if self.format == saved_exports.WARC:
            archive.export_run(self.chosen.run or 0, path, self.run.created, pulse)
            return
        writer = self._writer(done)
        try:
            writer.finish(path, pulse)
        finally:
            writer.close()

    def _store(self, export: Export, manifest: dict[str, Any]) -> None:
        saved_exports.store(export, self.run, self.name, manifest, datetime.now(UTC))
        self._tell(
            {
                **self.run.result,
                "file": self.name,
                "bytes": manifest["bytes"],
                "sha256": manifest["sha256"],
                "writer": {},
            }
        )

    def _tell(self, result: dict[str, Any]) -> None:
        self.run.result = result
        Run.objects.filter(pk=self.run.pk).update(result=result)


@contextmanager
def _alone(path: Path, pulse: Pulse) -> Iterator[None]:
    """Context manager that waits for an exclusive lock on a file. It prevents two workers from
    writing at the same time if one of them has lost the run without having noticed it. The
    operating system releases the lock when the process ends.
    """
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pulse()
                time.sleep(0.1)
        yield
