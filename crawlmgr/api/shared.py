"""API operations that do not belong to one crawler: state of the installation, runs, hosts, events,
all exportable tables, and saved exports."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from django.db import close_old_connections
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext_noop
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import AwareDatetime

from crawlmgr.api.base import api, changes, page_of
from crawlmgr.exports import exports, file_writers, saved_exports
from crawlmgr.exports import text_formats as export_formats
from crawlmgr.frontier import host_reads
from crawlmgr.models import Event, Every, Export, Host, Run
from crawlmgr.runs import run_reads, runs
from crawlmgr.schedule import recurring
from crawlmgr.workers import nodes

Limit = Annotated[int, Query(ge=1, le=1000, description="maximum number of rows per page")]
Key = Annotated[int, Query(ge=0, lt=2**63)]
# at most this many event streams are served by one web process at once; each occupies a thread
STREAMS = 4
STREAM_SECONDS = 300
TICK_SECONDS = 2.0
_streams = threading.BoundedSemaphore(STREAMS)


class Narrow(Schema):
    """Query parameters that restrict exported rows: to a site or a run (ids), and to rows made
    since a time (`since`)."""

    # a function, typed as a class
    site: int | None = Query(None, ge=0, lt=2**63)  # type: ignore[type-arg]
    # a function, typed as a class
    run: int | None = Query(None, ge=0, lt=2**63)  # type: ignore[type-arg]
    # a function, typed as a class
    since: AwareDatetime | None = Query(  # type: ignore[type-arg]
        None, description="only rows since this time; ISO 8601 with a time zone"
    )

    def filter(self) -> exports.Filter:
        return exports.Filter(self.site, self.run, self.since)


class Page(Schema):
    rows: list[dict[str, Any]]
    next: int | None


class TablePage(Page):
    table: str
    columns: list[str]


def _now() -> datetime:
    return datetime.now(UTC)


def state(now: datetime) -> dict[str, Any]:
    """Returns the numbers of the web interface's status bar, and the last error, as a dictionary
    for JSON."""
    found = nodes.status(now)
    last = found.last_error
    return {
        "nodes": found.nodes,
        "workers": found.workers,
        "silent_nodes": found.silent,
        "pages_a_minute": found.pages_a_minute,
        "in_flight": host_reads.in_flight_total(now),
        "runs": {
            "running": found.running,
            "waiting": found.waiting,
            "queued": found.queued,
            "paused": found.paused,
        },
        "last_problem": None if last is None else _event(last),
    }


@api.get("/status", tags=["installation"], summary=gettext_noop("State of the installation"))
def status(request: HttpRequest) -> dict[str, Any]:
    return state(_now())


@api.get(
    "/schedules",
    tags=["installation"],
    summary=gettext_noop("Scheduled items: how often, when next, in which hours"),
)
def schedule_list(request: HttpRequest, limit: Limit = 100) -> dict[str, Any]:
    return recurring.documents(_now(), limit)


@api.get("/nodes", tags=["installation"], summary=gettext_noop("Worker nodes"))
def node_list(request: HttpRequest) -> dict[str, Any]:
    return {"nodes": nodes.listing(_now())}


RUN_FIELDS = (
    *(
        "id",
        "kind",
        "label",
        "target",
        "state",
        "scheduled",
        "wanted",
        "stopped_by",
        "detail",
        "waiting_for",
        "waiting_until",
    ),
    *(
        "created",
        "started",
        "finished",
        "progressed",
        "fetched",
        "failed",
        "refused",
        "requests",
        "bytes",
        "new",
        "updated",
    ),
    *("unchanged", "items", "busy", "retries", "waits", "waited_seconds", "result"),
)
HOST_FIELDS = (
    *(
        "id",
        "key",
        "next_at",
        "delay_seconds",
        "connections",
        "crawl_delay_seconds",
        "retry_after_until",
        "failures",
    ),
    *(
        "last_status",
        "last_error",
        "last_request_at",
        "robots_verdict",
        "requests",
        "bytes",
        "errors",
        "refused_by_robots",
    ),
)


def run_document(pk: int) -> dict[str, Any]:
    """Returns a run as the API shows it, by its database key. Raises Run.DoesNotExist if there is
    none."""
    return run_reads.with_waits([Run.objects.values(*RUN_FIELDS).get(pk=pk)], _now())[0]


@api.get(
    "/runs",
    response=Page,
    tags=["runs"],
    summary=gettext_noop("Runs, newest first"),
    description=gettext_noop("For the next page, pass the `next` of this one as `before`."),
)
def run_list(
    request: HttpRequest,
    kind: str = "",
    state: str = "",
    before: Key | None = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    rows = Run.objects.order_by("-pk")
    rows = rows.filter(kind=kind) if kind else rows
    rows = rows.filter(state=state) if state else rows
    rows = rows if before is None else rows.filter(pk__lt=before)
    found = run_reads.with_waits(list(rows.values(*RUN_FIELDS)[:limit]), _now())
    return page_of(found, limit, [row["id"] for row in found])


@api.get("/runs/{int:run}", tags=["runs"], summary=gettext_noop("One run"))
def run_page(request: HttpRequest, run: int) -> dict[str, Any]:
    return run_document(run)


@api.get(
    "/runs/{int:run}/report",
    tags=["runs"],
    summary=gettext_noop(
        "The report of a run: status codes, content types, hosts, outcomes of addresses"
    ),
)
def run_report(request: HttpRequest, run: int) -> dict[str, Any]:
    return run_reads.report(Run.objects.get(pk=run), _now())


@api.post(
    "/runs/{int:run}/{action}",
    auth=changes,
    tags=["runs"],
    summary=gettext_noop("Pause, resume or stop a run"),
    description=gettext_noop(
        "Current work is finished first; `wanted` in the response is the requested action. `resume`"
        " also accepts failed runs."
    ),
)
def run_action(
    request: HttpRequest, run: int, action: Literal["pause", "resume", "stop"]
) -> dict[str, Any]:
    {"pause": runs.pause, "resume": runs.resume, "stop": runs.stop}[action](run, _now())
    return run_document(run)


@api.get(
    "/hosts",
    response=Page,
    tags=["installation"],
    summary=gettext_noop("Hosts, and when each may be requested next"),
)
def host_list(request: HttpRequest, after: Key = 0, limit: Limit = 100) -> dict[str, Any]:
    found = list(Host.objects.filter(pk__gt=after).order_by("pk").values(*HOST_FIELDS)[:limit])
    return page_of(found, limit, [row["id"] for row in found])


@api.get(
    "/tables",
    tags=["data"],
    summary=gettext_noop("Tables that can be read and exported"),
    description=gettext_noop(
        "Lists the columns of each table. The table `records` has different columns for each site:"
        " when its rows are read page by page, they are in `fields`."
    ),
)
def table_list(request: HttpRequest) -> dict[str, Any]:
    found = {name: (table.plain or table).columns for name, table in exports.tables().items()}
    tables = [{"name": name, "columns": list(columns)} for name, columns in found.items()]
    formats = [fmt for fmt in exports.FORMATS if not file_writers.lacking(fmt)]
    return {"tables": tables, "formats": formats}


@api.get(
    "/tables/{table}",
    response=TablePage,
    tags=["data"],
    summary=gettext_noop("Rows of a table, oldest first"),
)
def table_rows(
    request: HttpRequest,
    table: str,
    narrow: Query[Narrow],
    after: Key | None = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    known = exports.tables().get(table)
    if known is None:
        raise HttpError(404, f"There is no table {table[:40]!r}; see /tables.")
    known = known.plain or known
    rows: list[dict[str, Any]] = []
    keys = []
    for key, found in known.keyed(known.columns, narrow.filter(), after=after, limit=limit):
        keys.append(key)
        rows += [dict(zip(known.columns, row, strict=True)) for row in found]
    return {"table": table, "columns": list(known.columns), **page_of(rows, limit, keys)}


@api.get(
    "/export/{table}.{fmt}",
    tags=["data"],
    summary=gettext_noop("A whole table as CSV, JSON or JSON lines"),
    description=gettext_noop(
        "`columns`: comma-separated names. For the formats that are not text (XLSX, Parquet,"
        " SQLite) use `manage.py export`."
    ),
)
def export(
    request: HttpRequest,
    table: str,
    fmt: str,
    narrow: Query[Narrow],
    columns: str = "",
    bom: bool = False,
) -> HttpResponse | StreamingHttpResponse:
    shape = exports.Shape(tuple(filter(None, (name.strip() for name in columns.split(",")))), bom)
    try:
        pieces = exports.stream(table, fmt=fmt, chosen=narrow.filter(), shape=shape)
    except KeyError:
        raise HttpError(404, f"There is no export {table[:40]}.{fmt[:10]}; see /tables.") from None
    headers = {
        "Content-Disposition": f'attachment; filename="{table}.{fmt}"',
        "Cache-Control": "no-store",
    }
    return StreamingHttpResponse(pieces, content_type=export_formats.TYPES[fmt], headers=headers)


def _event(one: Event) -> dict[str, Any]:
    level = Event.Level(one.level).name.lower()
    concerns = {"run": one.run_id, "host": one.host_id}
    return {
        "id": one.pk,
        "at": one.at,
        "level": level,
        "code": one.code,
        "text": one.text,
        **concerns,
    }


@api.get(
    "/events",
    response=Page,
    tags=["installation"],
    summary=gettext_noop("Events, oldest first"),
    description=gettext_noop(
        "`level`: 20 for all events, 30 for warnings and errors, 40 for errors only."
    ),
)
def event_list(
    request: HttpRequest, after: Key = 0, level: int = 0, limit: Limit = 100
) -> dict[str, Any]:
    found = [
        _event(one)
        for one in Event.objects.filter(pk__gt=after, level__gte=level).order_by("pk")[:limit]
    ]
    return page_of(found, limit, [row["id"] for row in found])


@api.get(
    "/stream",
    tags=["installation"],
    summary=gettext_noop("State and events as server-sent events"),
    description=gettext_noop(
        "`status` every two seconds if it changed, `event` for each new event with its id. "
        "Ends after five minutes; a client that comes back with `Last-Event-ID` or `after` misses "
        "nothing."
    ),
)
def stream(request: HttpRequest, after: Key | None = None) -> StreamingHttpResponse:
    told = request.headers.get("Last-Event-ID", "")
    start = int(told) if told.isascii() and told.isdigit() and len(told) < 19 else after
    if not _streams.acquire(blocking=False):
        raise HttpError(
            503,
            f"{STREAMS} streams are already open; try again later, or poll /status and /events.",
        )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(_Stream(start), content_type="text/event-stream", headers=headers)


class _Stream:
    """The response body of one stream of server-sent events: new events, and the state of the
    installation when it changes. It counts as one of the STREAMS until it ends or the client
    disconnects."""

    def __init__(self, after: int | None) -> None:
        newest = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        self.after, self.shown = newest if after is None else after, ""
        self.pieces = self._run()
        self.open = True

    def __iter__(self) -> Iterator[bytes]:
        return self.pieces

    def _run(self) -> Generator[bytes]:
        """Yields the parts of the stream: every two seconds the new events and the state, or a
        comment if it has not changed."""
        end = time.monotonic() + STREAM_SECONDS
        while time.monotonic() < end:
            text = json.dumps(state(_now()), default=str)
            fresh = [
                _event(one) for one in Event.objects.filter(pk__gt=self.after).order_by("pk")[:100]
            ]
            close_old_connections()
            for one in fresh:
                self.after = one["id"]
                yield (
                    f"id: {one['id']}\nevent: event\ndata:"
                    f" {json.dumps(one, ensure_ascii=False, default=str)}\n\n".encode()
                )
            yield (
                b": still here\n\n"
                if text == self.shown
                else f"event: status\ndata: {text}\n\n".encode()
            )
            self.shown = text
            time.sleep(TICK_SECONDS)

    def close(self) -> None:
        self.pieces.close()
        if self.open:
            self.open = False
            _streams.release()


router = Router(tags=["exports"])


class NewExport(Schema):
    """A new export. `days` limits it to rows of that many days before the file is written;
    `every_hours` is the interval at which files are written (0: only on request), `keep` the number
    of files kept."""

    name: str
    table: str
    format: str = "csv"
    columns: list[str] = []
    site: int | None = None
    run: int | None = None
    since: AwareDatetime | None = None
    days: int | None = None
    bom: bool = False
    every_hours: int = Every.NEVER
    keep: int = 5


class PlanOfExport(Schema):
    """How often an export is written, in hours, and how many files are kept; what is None stays as
    it is."""

    every_hours: int | None = None
    keep: int | None = None


@router.get("", response=Page, summary=gettext_noop("Saved exports, oldest first"))
def kept_list(request: HttpRequest, after: Key = 0, limit: Limit = 100) -> dict[str, Any]:
    rows = list(Export.objects.filter(pk__gt=after).order_by("pk")[:limit])
    return page_of([saved_exports.document(row) for row in rows], limit, [row.pk for row in rows])


@router.post("", auth=changes, summary=gettext_noop("Save an export and write its first file"))
def kept_add(request: HttpRequest, wanted: NewExport) -> dict[str, Any]:
    made = saved_exports.begin(Export(**wanted.dict(), created=_now()), now=_now())
    return saved_exports.document(made)


@router.get("/{int:export}", summary=gettext_noop("One export with its files"))
def kept_page(request: HttpRequest, export: int) -> dict[str, Any]:
    return saved_exports.document(Export.objects.get(pk=export))


@router.patch(
    "/{int:export}",
    auth=changes,
    summary=gettext_noop("Change how often an export is written and how many files are kept"),
)
def kept_plan(request: HttpRequest, export: int, plan: PlanOfExport) -> dict[str, Any]:
    found = Export.objects.get(pk=export)
    every = found.every_hours if plan.every_hours is None else plan.every_hours
    saved_exports.plan(
        found,
        every_hours=every,
        keep=found.keep if plan.keep is None else plan.keep,
        now=_now(),
    )
    return saved_exports.document(found)


@router.post(
    "/{int:export}/write",
    auth=changes,
    summary=gettext_noop("Write an export now"),
    description=gettext_noop(
        "The response is the run that writes the file; its `result` shows the progress."
    ),
)
def kept_write(request: HttpRequest, export: int) -> dict[str, Any]:
    return run_document(saved_exports.start(Export.objects.get(pk=export), now=_now()).pk)


@router.get(
    "/{int:export}/file",
    summary=gettext_noop("The newest file of an export"),
    description=gettext_noop(
        "With `manifest`, a description of the file instead (filter, columns, rows, SHA-256)."
    ),
)
def kept_file(request: HttpRequest, export: int, manifest: bool = False) -> FileResponse:
    file = saved_exports.newest(Export.objects.get(pk=export))
    if file is None:
        raise HttpError(404, "No file has been written yet.")
    try:
        content, name, kind = saved_exports.opened(file, manifest=manifest)
    except OSError:
        raise HttpError(404, "The file is gone.") from None
    return FileResponse(
        content,
        as_attachment=True,
        filename=name,
        content_type=kind,
        headers={"Cache-Control": "no-store"},
    )


@router.post(
    "/{int:export}/address",
    auth=changes,
    summary=gettext_noop("Create an address that needs no token"),
    description=gettext_noop(
        "The address always returns the newest file. It is shown only in this response; an earlier"
        " address stops working."
    ),
)
def kept_open(request: HttpRequest, export: int) -> dict[str, Any]:
    secret = saved_exports.open_address(Export.objects.get(pk=export), datetime.now(UTC))
    return {"address": request.build_absolute_uri(reverse("export-address", args=[secret]))}


@router.delete(
    "/{int:export}/address", auth=changes, summary=gettext_noop("Withdraw the address of an export")
)
def kept_close(request: HttpRequest, export: int) -> dict[str, Any]:
    found = Export.objects.get(pk=export)
    saved_exports.close_address(found, datetime.now(UTC))
    found.refresh_from_db()
    return saved_exports.document(found)


@router.delete(
    "/{int:export}", auth=changes, summary=gettext_noop("Remove an export with its files")
)
def kept_remove(request: HttpRequest, export: int) -> dict[str, Any]:
    found = Export.objects.get(pk=export)
    saved_exports.remove(found, datetime.now(UTC))
    return {"removed": export}


api.add_router("/exports", router)
