"""Looks: overview sources of a site kept and read, what they showed stored, the threads that a newest list names fetched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Avg, F

from crawlmgr.engine import Stored
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.services.frontier import NewUrl
from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.url import url_hash
from forums import incremental
from forums.discovery.overviews import LEAST_BOARDS
from forums.discovery.shapes import board_identity
from forums.models import Board, Look, OverviewSource, Site, SourceKind, Thread, Visit
from forums.reading import BoardRecord, PageReading, ThreadRecord, board_key
from forums.services import threads, visits

FIRST = 1e5  # looks come before all boards of their run
MOST_COST = 20


def note(site: Site, now: datetime) -> None:
    """Keeps the sources that the site's model names; those that it names no longer are read no more."""
    named = {url_hash(one["url"]): one for one in site.structure.get("sources", ())}
    for key, one in named.items():
        OverviewSource.objects.get_or_create(
            site=site, url_hash=key, defaults={"url": one["url"], "kind": one["kind"], "found": now, "boards": _boards(site, one)}
        )
    OverviewSource.objects.filter(site=site).exclude(url_hash__in=list(named)).update(enabled=False)


def _boards(site: Site, found: dict[str, Any]) -> list[int]:
    named = set(found.get("boards", ()))
    boards = Board.objects.filter(site=site).order_by("pk").values_list("pk", "url")
    return [pk for pk, url in boards if board_identity(url) in named]


def ask(source: OverviewSource, now: datetime) -> Look:
    """A look at a source that is to be taken; its run takes it up."""
    return Look.objects.create(source=source, at=now, cost=source.cost)


def begin(run: Run, now: datetime) -> list[NewUrl]:
    """The addresses of the looks that a run is to take; of a site saved before sources were looked for, its own page is one."""
    wanted = [*run.parameters.get("looks", ()), *_tried(run, now)]
    rows = Look.objects.filter(pk__in=wanted).select_related("source")
    found = []
    for look in rows:
        Look.objects.filter(pk=look.pk).update(run=run)
        payload = {"look": look.pk, "conditional": bool(look.source.shown)}
        found.append(NewUrl(look.source.url, "overview", key=f"look {look.pk}", payload=payload, priority=FIRST))
    return found


def _tried(run: Run, now: datetime) -> list[int]:
    """Looks by which it turns out whether a page is a source: of a site with boards that were read to their end, once; they cost
    the plan nothing. The source is read no more unless it has told about boards."""
    site = Site.objects.get(pk=run.target)
    if "sources" not in site.structure and not OverviewSource.objects.filter(site=site).exists():
        if Board.objects.filter(site=site, complete_at__isnull=False).count() < LEAST_BOARDS:
            return []
        OverviewSource.objects.create(
            site=site, kind=SourceKind.INDEX, url=site.url, url_hash=url_hash(site.url), found=now, enabled=False
        )
    rows = OverviewSource.objects.filter(site=site, enabled=False, read_at__isnull=True, looks__isnull=True)
    return [Look.objects.create(source=source, at=now, cost=0).pk for source in rows]


def _told(look: Look, reading: PageReading, now: datetime) -> bool:
    """Whether a page that was tried is a source, and of which kind; it is then."""
    source = look.source
    boards = _index(source, reading)
    rows = [row for row in reading.records if isinstance(row, ThreadRecord) and row.board_url and row.last_reply is not None]
    mixed = len({board_key(row.board_url) for row in rows if row.board_url})
    if max(len(boards), mixed) >= LEAST_BOARDS:
        source.kind = SourceKind.INDEX if len(boards) >= LEAST_BOARDS else SourceKind.NEWEST
        source.enabled = True
    OverviewSource.objects.filter(pk=source.pk).update(kind=source.kind, enabled=source.enabled, read_at=now)
    return source.enabled


def store(run: Run, item: Url, response: FetchResponse, reading: PageReading | None, now: datetime) -> Stored:
    """What a look showed; a page that shows no board at all has failed."""
    look = Look.objects.select_related("source__site").get(pk=item.payload["look"])
    if response.not_modified and look.source.shown:
        return _unchanged(look, response, now)
    if response.status != 200 or reading is None:
        return failed(item, f"http_{response.status}" if response.status != 200 else "unreadable", now)
    if not look.source.enabled and not _told(look, reading, now):
        return failed(item, "no_boards", now)
    if look.source.kind == SourceKind.INDEX:
        stored = Stored(title=reading.title)
        shown = _index(look.source, reading)
    else:
        stored, shown = _newest(run, look, reading, now)
    if not shown:
        return failed(item, "no_boards", now)
    size = response.received_bytes
    values = {"state": Look.State.DONE, "read_at": now, "shown": shown, "bytes": size, "threads": len(stored.links)}
    Look.objects.filter(pk=look.pk).update(**values)
    source = look.source
    source.boards = sorted({*source.boards, *map(int, shown)})
    source.shown, source.read_at, source.cost = {**source.shown, **shown}, now, _cost(source, size)
    source.save(update_fields=["boards", "shown", "read_at", "cost"])
    return stored


def _unchanged(look: Look, response: FetchResponse, now: datetime) -> Stored:
    """A page that is as it was shows what it showed; it cost a request and hardly a byte."""
    values = {"state": Look.State.DONE, "read_at": now, "shown": look.source.shown, "bytes": response.received_bytes}
    Look.objects.filter(pk=look.pk).update(**values)
    OverviewSource.objects.filter(pk=look.source_id).update(read_at=now)
    return Stored()


def failed(item: Url, reason: str, now: datetime) -> Stored:
    """A look that told nothing: the loop goes on with what it knew."""
    values = {"state": Look.State.FAILED, "reason": reason[:60], "read_at": now}
    Look.objects.filter(pk=item.payload["look"]).update(**values)
    return Stored(state=UrlState.FAILED, reason=reason[:60])


def _cost(source: OverviewSource, size: int) -> int:
    """What a look costs in visits of the same site: by requests or bytes, whichever is more; at least one."""
    recent = Visit.objects.filter(board__site_id=source.site_id, requests__gt=0).order_by("-id")[:100]
    usual = Visit.objects.filter(pk__in=recent.values("pk")).aggregate(asked=Avg("requests"), size=Avg("bytes"))
    if not usual["asked"] or not usual["size"]:
        return 1
    return max(1, min(MOST_COST, round(max(1.0 / usual["asked"], size / usual["size"]))))


def _index(source: OverviewSource, reading: PageReading) -> dict[str, list[float | None]]:
    """The figures of each board that an index shows, by its number."""
    known = dict(Board.objects.filter(site_id=source.site_id).values_list("key", "pk"))
    shown: dict[str, list[float | None]] = {}
    rows = [*reading.records, *reading.boards]
    for row in rows:
        board = known.get(board_key(row.url)) if isinstance(row, BoardRecord) else None
        if board is None or (row.threads, row.posts, row.last_reply) == (None, None, None):  # type: ignore[union-attr]
            continue
        last = row.last_reply.value.timestamp() if row.last_reply is not None else None  # type: ignore[union-attr]
        shown[str(board)] = [row.threads, row.posts, last]  # type: ignore[union-attr]
    return shown


# --- newest lists ---------------------------------------------------------------------------------------------------------


def _newest(run: Run, look: Look, reading: PageReading, now: datetime) -> tuple[Stored, dict[str, list[float | None]]]:
    """Changed threads of a newest list are fetched at once, each in a targeted visit of its board.

    A row is compared as on the board's own list. A board that this run visits anyway is left to that visit.
    """
    site_id = look.source.site_id
    boards = {board.key: board for board in Board.objects.filter(site_id=site_id).select_related("site")}
    by_id = {board.pk: board for board in boards.values()}
    rows = [(threads.to_row(row), row) for row in reading.records if isinstance(row, ThreadRecord)]
    known = {one.key: one for one in Thread.objects.filter(site_id=site_id, key__in=[row.key for row, _record in rows])}
    shown: dict[str, list[float | None]] = {}
    changed: dict[int, list[tuple[incremental.Row, ThreadRecord]]] = {}
    for row, record in rows:
        home = _home(known.get(row.key), record, boards, by_id)
        if home is None:
            continue
        last = row.last_reply.value.timestamp() if row.last_reply is not None else 0.0
        newest = (shown.get(str(home.pk)) or [None, None, None])[2] or 0.0
        shown[str(home.pk)] = [None, None, max(newest, last) or None]
        before = known[row.key].signature if row.key in known else None
        told = incremental.signature(row)
        if before is None or (incremental.differs(before, told) and set(before) <= set(told)):
            changed.setdefault(home.pk, []).append((row, record))
    own = set(run.parameters["boards"])
    links: list[NewUrl] = []
    for pk, pairs in changed.items():
        if pk not in own and by_id[pk].watched_since is not None:
            links += _targeted(run, by_id[pk], pairs, now)
    return Stored(links=links, title=reading.title), shown


def _home(
    thread: Thread | None, record: ThreadRecord, boards: dict[str, Board], by_id: dict[int, Board]
) -> Board | None:
    """The board of a row: that which it names, else that of the thread as it is known."""
    if record.board_url and (named := boards.get(board_key(record.board_url))) is not None:
        return named
    return by_id.get(thread.board_id) if thread is not None else None


def _targeted(
    run: Run, board: Board, pairs: Sequence[tuple[incremental.Row, ThreadRecord]], now: datetime
) -> list[NewUrl]:
    """A visit of this board that fetches these threads only; the board's list, watermark and stop tests stay as they are."""
    visit, _made = Visit.objects.get_or_create(
        run=run, board=board, defaults={"kind": Visit.Kind.TARGETED, "started": now, "stopped_by": "targeted"}
    )
    stored = threads.seen(board, pairs, [row.key for row, _record in pairs], now)
    Visit.objects.filter(pk=visit.pk).update(rows_new=F("rows_new") + len(pairs))
    return [visits.thread_link(visit.pk, stored[row.key], FIRST - 1) for row, _record in pairs]
