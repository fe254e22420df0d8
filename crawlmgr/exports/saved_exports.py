"""Saved exports: definitions of exports whose files are written on request or by a schedule, can be
downloaded at a secret address, and are deleted with their definition; and the job that writes one,
in steps of some seconds. After a kill, the job continues from the last progress that is safe on
disk."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import IO, Any

from django.conf import settings
from django.db import transaction

from crawlmgr import installation
from crawlmgr.archive import archive
from crawlmgr.exports import exports, file_writers, text_formats
from crawlmgr.models import ACTIVE, Every, Export, ExportFile, Run, RunState, Timing, events
from crawlmgr.runs import runs
from crawlmgr.schedule import due as missed
from crawlmgr.schedule import timings

KIND = "export"
WARC = "warc"
MAX_KEPT = 1000
MAX_DAYS = 36_500
FORMATS = (*exports.FORMATS, WARC)


def check(export: Export) -> None:
    """Raises ValueError with a one-line message if the definition of an export is invalid."""
    if not export.name.strip() or len(export.name) > 100:
        raise ValueError("an export needs a name of at most 100 characters")
    if export.table not in exports.tables():
        raise ValueError(
            f"there is no table {export.table!r}; there are {', '.join(exports.tables())}"
        )
    if export.format not in FORMATS:
        raise ValueError(f"there is no format {export.format!r}; there are {', '.join(FORMATS)}")
    if extra := file_writers.lacking(export.format):
        raise ValueError(installation.advice(extra))
    if export.format == WARC and (export.table != "pages" or export.run is None):
        raise ValueError("WARC holds the pages of one run: choose the table pages and name the run")
    if export.every_hours not in Every.values:
        raise ValueError(
            f"an export is written every {', '.join(map(str, Every.values[1:]))} hours, or 0: only"
            " on request"
        )
    if not 1 <= export.keep <= MAX_KEPT:
        raise ValueError(f"1 to {MAX_KEPT} files can be kept")
    if export.days is not None and not 1 <= export.days <= MAX_DAYS:
        raise ValueError(f"the number of last days must be 1 to {MAX_DAYS}")
    table = exports.tables()[export.table]
    exports.picked(
        export.table, table.header(chosen(export, export.created)), exports.Shape(export.columns)
    )


def chosen(export: Export, now: datetime) -> exports.Filter:
    """Returns the filter of an export that is written now. Of its two time bounds (a date, and a
    number of last days) the later one applies."""
    lately = now - timedelta(days=export.days) if export.days else None
    return exports.Filter(
        export.site,
        export.run,
        max((bound for bound in (export.since, lately) if bound), default=None),
    )


def add(export: Export) -> Export:
    """Saves a new export; one with a schedule is due at once. Raises ValueError if it is
    invalid."""
    check(export)
    export.next_at = export.created if export.every_hours else None
    export.save()
    return export


def begin(export: Export, *, now: datetime, user: Any = None) -> Export:
    """Saves a new export. If it has no schedule, a run that writes its file is started at once;
    otherwise the dispatcher starts the runs. Raises ValueError if the export is invalid."""
    made = add(export)
    if not made.every_hours:
        start(made, now=now, user=user)
    return made


def document(export: Export) -> dict[str, Any]:
    """Returns an export as a JSON document for the API, with its files, newest first. The secret of
    its download address is not contained, since only a digest of it is stored."""
    names = (
        "name",
        "table",
        "format",
        "columns",
        "site",
        "run",
        "since",
        "days",
        "bom",
        "every_hours",
        "keep",
        "next_at",
    )
    files = export.files.order_by("-pk").values("name", "written", "rows", "bytes", "sha256", "by")
    found = {name: getattr(export, name) for name in names}
    return {
        "id": export.pk,
        **found,
        "created": export.created,
        "has_address": bool(export.digest),
        "files": list(files),
    }


def plan(export: Export, *, every_hours: int, keep: int, now: datetime) -> None:
    """Sets an export's interval in hours (0: only on request) and number of kept files. Raises
    ValueError if one is invalid."""
    again = every_hours != export.every_hours
    export.every_hours, export.keep = every_hours, keep
    check(export)
    if again:
        due = now + timedelta(hours=every_hours)
        export.next_at = (
            timings.when(timings.of(KIND, export.pk), due, now) if every_hours else None
        )
    export.save(update_fields=["every_hours", "keep", "next_at"])


def repeat(export: int, seconds: int | None, now: datetime) -> None:
    """Sets the interval of the export with this id in seconds (None: only on request). Called for
    the page of schedules through settings.REPEATED. Raises ValueError if the interval is out of
    range."""
    found = Export.objects.filter(pk=export).first()
    if found is None:
        raise ValueError(f"there is no export {export}")
    hours, rest = divmod(seconds or 0, 3600)
    plan(found, every_hours=-1 if rest else hours, keep=found.keep, now=now)


def start(
    export: Export, *, now: datetime, user: Any = None, start: bool = True, scheduled: bool = False
) -> Run:
    """Creates the run that writes a file of an export, and queues it if `start` is set.
    `scheduled`: the run is started by the dispatcher, not by a user. Raises runs.Busy while another
    run is writing a file of the same export.
    """
    parameters = {
        "table": export.table,
        "format": export.format,
        "filter": chosen(export, now).as_json(),
        "columns": export.columns,
        "bom": export.bom,
    }
    one = f"{KIND} {export.pk}"
    return runs.create(
        KIND,
        export.name,
        target=export.pk,
        exclusive=one,
        parameters=parameters,
        now=now,
        user=user,
        start=start,
        scheduled=scheduled,
    )


def start_due(now: datetime) -> int:
    """Starts the writing of every export that is due; returns the number started. For several
    missed starts, one file is written. An export outside its working hours is postponed until they
    begin. Called by the dispatcher.
    """
    due = list(Export.objects.filter(next_at__lte=now))
    hours = timings.of_many(KIND, [export.pk for export in due]) if due else {}
    return sum(_start_due(export, hours.get(export.pk), now) for export in due)


@transaction.atomic
def _start_due(export: Export, hours: Timing | None, now: datetime) -> bool:
    following, held = _following(export, hours, now), timings.opens(hours, now)
    if not Export.objects.filter(pk=export.pk, next_at=export.next_at).update(
        next_at=held or following
    ):
        return False
    missed.record_missed(export.name, export.next_at, export.every_hours * 3600, now)
    if held:
        return False
    try:
        start(export, now=now, scheduled=True)
    except runs.Busy:
        return False
    return True


def _following(export: Export, hours: Timing | None, now: datetime) -> datetime | None:
    """Returns the time at which an export that is due now will be due again; None if it has no
    schedule."""
    if export.next_at is None or not export.every_hours:
        return None
    step = timedelta(hours=export.every_hours)
    return timings.when(hours, export.next_at + step * ((now - export.next_at) // step + 1), now)


def retime(export: int, hours: Timing, now: datetime) -> None:
    """Moves the next writing of an export into the working hours `hours`, which were changed.
    Called through settings.TIMED."""
    for one in Export.objects.filter(pk=export, next_at__isnull=False):
        Export.objects.filter(pk=export).update(
            next_at=timings.soonest(hours, one.next_at, now, one.every_hours * 3600)
        )


def folder(export: int) -> Path:
    """Returns the folder with the files of the export with this id."""
    return Path(settings.EXPORT_DIR) / str(export)


def path_of(file: ExportFile) -> Path:
    """Returns the path of a finished file. Raises FileNotFoundError if the file is gone."""
    path = folder(file.export_id) / Path(file.name).name
    if not path.is_file():
        raise FileNotFoundError(file.name)
    return path


def opened(file: ExportFile, *, manifest: bool) -> tuple[IO[bytes], str, str]:
    """Opens a finished file, or its manifest, for a download; returns (stream, file name, media
    type). Raises OSError if the file is gone."""
    path = path_of(file)
    if manifest:
        return (
            exports.manifest_of(path).open("rb"),
            f"{file.name}.manifest.json",
            "application/json",
        )
    ending = path.name.removesuffix(".gz").rpartition(".")[2]
    return path.open("rb"), file.name, text_formats.TYPES.get(ending, "application/octet-stream")


def newest(export: Export) -> ExportFile | None:
    """Returns the most recently written file of an export; None if there is none."""
    return export.files.order_by("-pk").first()


def open_address(export: Export, now: datetime) -> str:
    """Makes a new secret for an export's download address, which replaces an older one, and returns
    it. Only a digest is stored, so the secret cannot be shown again."""
    secret = token_urlsafe(32)
    Export.objects.filter(pk=export.pk).update(digest=_digest(secret))
    events.note("export_opened", export.name, now=now)
    return secret


def close_address(export: Export, now: datetime) -> None:
    """Revokes an export's download address."""
    if Export.objects.filter(pk=export.pk).exclude(digest="").update(digest=""):
        events.note("export_closed", export.name, now=now)


def by_secret(secret: str, now: datetime) -> Export | None:
    """Returns the export with this secret and records the time of the download; None if no export
    has it."""
    found = (
        Export.objects.filter(digest=_digest(secret)).first() if 20 <= len(secret) <= 100 else None
    )
    if found is not None:
        Export.objects.filter(pk=found.pk).update(fetched=now)
    return found


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def remove(export: Export, now: datetime) -> None:
    """Deletes an export with its files. Raises runs.Busy while a file is being written."""
    with transaction.atomic():
        busy = Run.objects.filter(kind=KIND, target=export.pk, state__in=ACTIVE).first()
        if busy is not None:
            raise runs.Busy(busy)
        place = folder(export.pk)
        timings.forget(KIND, export.pk)
        export.delete()
        transaction.on_commit(lambda: shutil.rmtree(place, ignore_errors=True))
    events.note("export_removed", export.name, now=now)


def remove_by_key(pk: int, now: datetime, user: Any = None) -> None:
    """Deletes the export with this id if it still exists. Called through settings.DELETABLE. Raises
    runs.Busy while a file is being written."""
    export = Export.objects.filter(pk=pk).first()
    if export is not None:
        remove(export, now)


def store(export: Export, run: Run, name: str, manifest: dict[str, Any], now: datetime) -> None:
    """Stores the row of a finished file and deletes the oldest rows beyond `export.keep`; when the
    transaction commits, their files are deleted. Must be called inside a transaction."""
    ExportFile.objects.create(
        export=export,
        by=run,
        name=name,
        written=now,
        rows=manifest["rows"],
        bytes=manifest["bytes"],
        sha256=manifest["sha256"],
    )
    kept = list(export.files.order_by("-pk").values_list("pk", flat=True)[: export.keep])
    export.files.exclude(pk__in=kept).delete()
    transaction.on_commit(lambda: tidy(export.pk, name))


def tidy(export: int, current: str) -> None:
    """Deletes all files in an export's folder except those recorded in the database and `current`,
    the one being written."""
    place = folder(export)
    named = {current, *ExportFile.objects.filter(export=export).values_list("name", flat=True)}
    for path in place.iterdir() if place.is_dir() else ():
        if path.name.removesuffix(".manifest.json") in named:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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
        self.folder = folder(run.target or 0)
        ending = "warc.gz" if self.format == WARC else self.format
        self.name = f"{self.table}-{run.created.astimezone(UTC):%Y%m%d-%H%M%S}-{run.pk}.{ending}"
        self.work = self.folder / f"work-{run.pk}"

    def step(self, pulse: Pulse) -> Callable[[], None] | str:
        export = Export.objects.filter(pk=self.run.target).first()
        if export is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return "removed"
        done = self.run.result
        if "file" in done:
            return "exported"
        exports.spare_memory()
        lost = not self.work.is_dir() and not (self.folder / self.name).exists()
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
        tidy(export.pk, self.work.name)
        return partial(self._tell, found)

    def _further(self, pulse: Pulse) -> Callable[[], None]:
        done = dict(self.run.result)
        if self.format == WARC:
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

    def _writer(self, done: dict[str, Any]) -> file_writers.Writer:
        header = list(self.shape.columns) or done["columns"]
        kinds = exports.tables()[self.table].column_types
        bom, state = self.shape.bom, done["writer"]
        try:
            return file_writers.opened(
                self.format, self.work, self.table, header, kinds, bom=bom, state=state
            )
        except FileNotFoundError:
            raise _Gone from None

    def _finish(self, export: Export, pulse: Pulse) -> Callable[[], None]:
        done, path = dict(self.run.result), self.folder / self.name
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
        if self.format == WARC:
            archive.export_run(self.chosen.run or 0, path, self.run.created, pulse)
            return
        writer = self._writer(done)
        try:
            writer.finish(path, pulse)
        finally:
            writer.close()

    def _store(self, export: Export, manifest: dict[str, Any]) -> None:
        store(export, self.run, self.name, manifest, datetime.now(UTC))
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
