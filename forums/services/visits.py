"""Visits of boards: starts them, processes their list and thread pages, and ends each with a
reason; unfinished work is stored for the next visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from django.db.models import F

from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.services import events
from crawlmgr.services.frontier import NewUrl
from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.url import url_hash
from forums import incremental
from forums.models import Board, Thread, Visit
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord
from forums.services import (
    backoff,
    delays,
    doubts,
    moves,
    plans,
    predictions,
    reach,
    structures,
    threads,
)

# reasons that do not count as failed fetches: the thread is deleted, not accessible, or not to be
# indexed
NO_FAULT = frozenset(
    {"http_401", "http_403", "http_404", "http_410", "http_451", "robots", "robots_meta"}
)
# distance between the priorities of two boards' requests, so that the boards are visited one after
# another
STEP = 10.0


def predicted(boards: Sequence[Board], now: datetime) -> dict[int, list[Thread]]:
    """Returns, for each board whose lists do not show changes, the threads expected to have new
    replies, by board id. Takes seconds in large forums."""
    return {
        board.pk: predictions.choose(board, now) for board in boards if predictions.needed(board)
    }


def begin(
    run: Run, boards: Sequence[Board], expected: Mapping[int, Sequence[Thread]]
) -> list[NewUrl]:
    """Creates a visit for each board; returns its first addresses: the top of the list, threads
    left pending by earlier visits, and the threads `expected` to have new replies (by board id)."""
    links: list[NewUrl] = []
    settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
    for index, board in enumerate(boards):
        visit, _made = Visit.objects.get_or_create(run=run, board=board)
        base = -STEP * index
        further = bool(board.unfinished) or reach.deeper(board, settings, run.created)
        payload = {"conditional": bool(board.watermark and not further)}
        links.append(
            NewUrl(
                board.url,
                "list",
                key=f"visit {visit.pk} list 1",
                group=visit.pk,
                payload=payload,
                priority=base,
            )
        )
        for thread in Thread.objects.filter(board=board, pending=True).order_by("-last_reply")[
            :5000
        ]:
            links.append(thread_link(visit.pk, thread, base + 2))
        links += [thread_link(visit.pk, thread, base + 3) for thread in expected.get(board.pk, ())]
    return links


def thread_link(visit_id: int, thread: Thread, priority: float) -> NewUrl:
    again = thread.fetched_at is not None and thread.last_page_url
    payload = {
        "thread": thread.pk,
        "page": max(1, thread.last_page) if again else 1,
        "found": False,
    }
    return _page_link(thread.last_page_url if again else thread.url, visit_id, payload, priority)


def _page_link(url: str, visit_id: int, payload: dict[str, Any], priority: float) -> NewUrl:
    key = (
        f"visit {visit_id} thread {payload['thread']} {'back ' if payload.get('back') else ''}{url}"
    )
    return NewUrl(url, "thread", key=key, group=visit_id, payload=payload, priority=priority)


def _load(item: Url, now: datetime) -> Visit:
    visit = Visit.objects.select_related("board__site").get(pk=item.group)
    if visit.started is None:
        visit.started = now
        Visit.objects.filter(pk=visit.pk).update(started=now)
    return visit


def _add(visit: Visit, item: Url, response: FetchResponse | None, **deltas: int) -> None:
    requests = max(1, item.attempts) + (len(response.redirects) if response else 0)
    size = response.received_bytes if response else 0
    changes = {"requests": requests, "bytes": size, **deltas}
    Visit.objects.filter(pk=visit.pk).update(
        **{name: F(name) + delta for name, delta in changes.items() if delta}
    )


def store_list(
    run: Run,
    item: Url,
    response: FetchResponse,
    reading: PageReading | None,
    settings: CrawlSettings,
    now: datetime,
) -> Stored:
    """Processes one list page of a board: stores its rows, queues changed threads, and decides on
    the next page or the end of the list."""
    visit = _load(item, now)
    if not response.not_modified and (reading is None or response.failure is not None):
        reason = (
            f"{response.failure.value}: {response.detail}"
            if response.failure
            else f"http_{response.status}"
        )
        return list_failed(run, item, reason, now, response=response)
    _add(visit, item, response, list_pages=1)
    backoff.record_success(visit.board)
    if response.not_modified or reading is None:
        same = replace(
            incremental.VisitState.from_json(visit.state), stopped_by="not_modified", complete=True
        )
        return _list_done(run, visit, item, now, same, [])
    limits = reach.facts(visit, settings)
    walk = incremental.Visit(
        limits, visit.started or now, incremental.VisitState.from_json(visit.state)
    )
    records = cast(
        "list[ThreadRecord]", [r for r in reading.records if reading.kind == PageKind.threadlist]
    )
    if visit.board.site.layout.get("moved"):
        moves.follow(visit.board.site_id, [moves.of_record(record) for record in records])
    rows = [(threads.to_row(record), record) for record in records]
    if limits.since is not None:
        walk.state.reach = limits.since.isoformat()
    known = _known(visit.board, [row.key for row, _r in rows], limits.since)
    since = _fetched_since(visit, list(known))
    decision = walk.read(
        item.url, [row for row, _r in rows], reading.next, known, since, _rivals(reading, settings)
    )
    if not reading.complete:
        walk.state.doubt("rows_left_out")
    if walk.state.proved and walk.state.proved != visit.state.get("proved"):
        structures.learn_pager(
            visit.board.site, str(PageKind.threadlist), walk.state.proved, now=now, run_id=run.pk
        )
    never = (
        visit.board.has_last_reply is None and not Thread.objects.filter(board=visit.board).exists()
    )
    if walk.state.stopped_by == "no_records" and never:
        walk.state.stopped_by, walk.state.complete = (
            "empty_board",
            True,
        )  # the board never had a thread, so nothing is missing
    owed = [row.key for row in decision.changed]
    # Rows of threads that were already on an earlier list page of this visit are not stored: they
    # may count posts made since the thread's page was fetched, and storing them would hide these
    # posts from the next visit.
    met = {row.key for row in (*decision.changed, *decision.unchanged, *decision.old)}
    stored = threads.store_rows(
        visit.board, [pair for pair in rows if pair[0].key in met], owed, now
    )
    links = [thread_link(visit.pk, stored[key], item.priority + 1) for key in owed]
    if decision.next_url:
        links.append(
            NewUrl(
                decision.next_url,
                "list",
                key=f"visit {visit.pk} list {walk.state.pages_read + 1}",
                group=visit.pk,
                priority=item.priority,
            )
        )
    _note_board(visit.board, rows, reading)
    Visit.objects.filter(pk=visit.pk).update(
        state=walk.state.to_json(),
        unchanged=F("unchanged") + len(decision.unchanged),
        rows_new=F("rows_new") + len(rows),
    )
    visit.state = walk.state.to_json()
    outcome = (
        _list_done(run, visit, item, now, walk.state, links)
        if not decision.next_url
        else Stored(links=links)
    )
    outcome.counts["unchanged"] = outcome.counts.get("unchanged", 0) + len(decision.unchanged)
    outcome.title = reading.title
    return outcome


def _known(board: Board, keys: list[str], since: datetime | None) -> dict[str, Any]:
    """Returns the signatures, by key, of those threads that are stored. With a bound `since` on
    their age, threads that were skipped as too old are left out: they are fetched if they are
    recent enough by now."""
    stored = Thread.objects.filter(site_id=board.site_id, key__in=keys)
    if since is not None and board.watermark is not None:
        stored = stored.exclude(fetched_at__isnull=True, pending=False)
    return dict(stored.values_list("key", "signature"))


def _rivals(reading: PageReading, settings: CrawlSettings) -> Sequence[tuple[str, str]]:
    return reading.next_links if settings.use_teacher and reading.next else ()


def _fetched_since(visit: Visit, keys: list[str]) -> frozenset[str]:
    """Returns the keys of threads that targeted visits (of threads named by overview sources) have
    fetched since the board's list was last read completely. They have changed since then, so their
    unchanged rows do not prove that the rows below are unchanged."""
    since = visit.board.complete_at
    targeted = Visit.objects.filter(board__site_id=visit.board.site_id, kind=Visit.Kind.TARGETED)
    if since is None or not targeted.filter(finished__gte=since).exists():
        return frozenset()
    rows = Thread.objects.filter(site_id=visit.board.site_id, key__in=keys, fetched_at__gte=since)
    return frozenset(rows.values_list("key", flat=True))


def _note_board(
    board: Board, rows: Sequence[tuple[incremental.Row, Any]], reading: PageReading
) -> None:
    if not rows:
        return
    shows = any(row.last_reply is not None for row, _record in rows)
    sort = reading.sort or board.sort
    if (board.has_last_reply, board.sort) != (shows, sort):
        Board.objects.filter(pk=board.pk).update(has_last_reply=shows, sort=sort or "")


def _list_done(
    run: Run,
    visit: Visit,
    item: Url,
    now: datetime,
    state: incremental.VisitState,
    links: list[NewUrl],
) -> Stored:
    visit.state = state.to_json()
    Visit.objects.filter(pk=visit.pk).update(state=visit.state, stopped_by=state.stopped_by[:60])
    if not links:
        finish_if_done(run, visit, item, now)
    return Stored(links=links)


def list_failed(
    run: Run, item: Url, reason: str, now: datetime, *, response: FetchResponse | None = None
) -> Stored:
    """Ends a visit's reading of list pages because one could not be read; `reason` is the code of
    the failure. The list counts as incomplete, except if the failed page is page 1 when it is read
    again at the end of the visit.
    """
    visit = _load(item, now)
    _add(visit, item, response, failed=1)
    if not visit.list_pages:
        backoff.record_failure(visit.board, reason, now)
    state = incremental.VisitState.from_json(visit.state)
    if state.phase != "recheck":
        state.stopped_by, state.complete = reason, False
        state.last_url = state.last_url or item.url
    else:
        state.complete = True
    state.next_url = ""
    outcome = _list_done(run, visit, item, now, state, [])
    outcome.state, outcome.reason = UrlState.FAILED, reason
    return outcome


def store_thread(
    run: Run,
    item: Url,
    response: FetchResponse,
    reading: PageReading | None,
    settings: CrawlSettings,
    now: datetime,
) -> Stored:
    """Processes one page of a thread: stores its posts, then queues the next or the previous page,
    or ends the thread."""
    visit = _load(item, now)
    thread = Thread.objects.get(pk=item.payload["thread"])
    page = int(item.payload["page"])
    records = (
        cast("tuple[PostRecord, ...]", reading.records)
        if reading is not None and reading.kind == PageKind.thread
        else ()
    )
    if reading is None or response.status != 200 or not records:
        reason = f"http_{response.status}" if response.status != 200 else "no_posts"
        return thread_failed(run, item, reason, now, response=response)
    if page > 1 and not item.payload.get("back") and threads.same_again(thread, page, records):
        return _no_next_page(run, visit, thread, item, response, now)
    _add(visit, item, response)
    stored = threads.store_page(thread, page, records, now)
    delays.note(visit, stored.arrivals, now)
    if page == 1:
        threads.set_opening(thread, records)
    found = bool(item.payload.get("found")) or bool(stored.new or stored.altered)
    payload = {
        "thread": thread.pk,
        "page": page,
        "found": found,
        "back": item.payload.get("back", False),
    }
    outcome = Stored(counts={"items": stored.new}, title=reading.title)
    Visit.objects.filter(pk=visit.pk).update(posts_new=F("posts_new") + stored.new)
    lost = (
        thread.fetched_at is not None
        and not stored.known
        and page > 1
        and page == thread.last_page
        and not payload["back"]
    )
    if lost:
        back = thread.previous_page_url or thread.url
        where = page - 1 if thread.previous_page_url else 1
        outcome.links = [
            _page_link(back, visit.pk, {**payload, "page": where, "back": True}, item.priority)
        ]
    elif reading.next and page < settings.max_thread_pages:
        spare = [url for _source, url in _rivals(reading, settings) if url != reading.next]
        further = {**payload, "page": page + 1, **({"spare": spare} if spare else {})}
        outcome.links = [_page_link(reading.next, visit.pk, further, item.priority + 0.01)]
    if (
        outcome.links
        and not Url.objects.filter(run=run, key_hash=url_hash(outcome.links[0].key)).exists()
    ):
        if not lost:
            Thread.objects.filter(pk=thread.pk).update(previous_page_url=item.url)
        return outcome
    outcome.links = ()
    _thread_done(visit, thread, (item.url, page), found, outcome, now, complete=reading.complete)
    finish_if_done(run, visit, item, now)
    return outcome


def _no_next_page(
    run: Run, visit: Visit, thread: Thread, item: Url, response: FetchResponse | None, now: datetime
) -> Stored:
    """Handles a supposed next page of a thread that shows the same posts again, or none. Another
    candidate linked on the previous page is tried; if none is left, the previous page was the last.
    """
    page = int(item.payload["page"])
    outcome = Stored(reason="no_next_page")
    spare = list(item.payload.get("spare", ()))
    if spare:
        payload = {**item.payload, "spare": spare[1:]}
        outcome.links = [_page_link(spare[0], visit.pk, payload, item.priority)]
        if not Url.objects.filter(run=run, key_hash=url_hash(outcome.links[0].key)).exists():
            return outcome
        outcome.links = ()
    last = (thread.previous_page_url or thread.url, page - 1)
    _thread_done(visit, thread, last, bool(item.payload.get("found")), outcome, now)
    finish_if_done(run, visit, item, now)
    return outcome


def _thread_done(
    visit: Visit,
    thread: Thread,
    last: tuple[str, int],
    found: bool,
    outcome: Stored,
    now: datetime,
    *,
    complete: bool = True,
) -> None:
    """Marks a thread as fetched after its last page was read (`last`: the page's address and
    number), compares the count in its row with its posts, and counts it in the visit and in
    `outcome`. found: new or changed posts were found; complete: the page reader left out no posts
    of the page."""
    first = threads.fetched(thread, now, {"last_page_url": last[0], "last_page": last[1]})
    _compare(visit, thread, complete, now)
    deltas = {"fetched": 1, "changed": int(found), "new" if first else "updated": 1}
    Visit.objects.filter(pk=visit.pk).update(
        **{name: F(name) + delta for name, delta in deltas.items()}
    )
    outcome.counts["new" if first else "updated"] = 1


def contradicted(visit_id: int | None) -> bool:
    """Tells whether most threads compared in a visit contradict the site model's rule that relates
    the reply count in a list to the number of posts. False if the visit does not exist, the rule is
    unconfirmed, or too few threads were compared.
    """
    visit = Visit.objects.filter(pk=visit_id).select_related("board__site").first()
    if visit is None:
        return False
    kept, of = incremental.VisitState.from_json(visit.state).told
    held = [
        one for one in visit.board.site.structure.get("lessons") or () if one["claim"] == "replies"
    ]
    held = [
        one
        for one in held
        if one["of"] >= doubts.FEWEST and one["kept"] >= doubts.HOLDS * one["of"]
    ]
    return bool(held) and of >= doubts.FEWEST_OF_VISIT and kept < doubts.CONTRADICTED * of


def _compare(visit: Visit, thread: Thread, complete: bool, now: datetime) -> None:
    """Compares the number of stored posts of a thread with that in its row, and counts the result
    in the visit's state. A page that was read incompletely is noted as doubtful unless the numbers
    agree."""
    state = incremental.VisitState.from_json(visit.state)
    agrees = threads.agrees(thread, visit.board.site.structure.get("counts_posts"))
    if agrees is None and complete:
        return
    if agrees is not None:
        state.told = [state.told[0] + agrees, state.told[1] + 1]
    if not complete and not agrees:
        state.doubt("posts_left_out")
    visit.state = state.to_json()
    Visit.objects.filter(pk=visit.pk).update(state=visit.state)


def thread_failed(
    run: Run, item: Url, reason: str, now: datetime, *, response: FetchResponse | None = None
) -> Stored:
    """Handles a thread page that could not be read. If it is not the first page and has
    disappeared, the page before it (or the first) is requested, once. If it is not the first and
    has no posts, the thread may just have no further page (see `_no_next_page`). Any other failure
    is recorded."""
    visit = _load(item, now)
    thread = Thread.objects.get(pk=item.payload["thread"])
    vanished = reason in ("http_404", "http_410")
    _add(visit, item, response, failed=0 if vanished else 1)
    page = int(item.payload["page"])
    outcome = Stored(state=UrlState.FAILED, reason=reason)
    if vanished and page > 1 and not item.payload.get("back"):
        back = thread.previous_page_url if thread.previous_page_url != item.url else ""
        where = page - 1 if back else 1
        payload = {"thread": thread.pk, "page": where, "found": True, "back": True}
        outcome.links = [_page_link(back or thread.url, visit.pk, payload, item.priority)]
        return outcome
    if (
        reason == "no_posts"
        and page > 1
        and not item.payload.get("back")
        and (item.payload.get("spare") or threads.all_stored(thread))
    ):
        return _no_next_page(run, visit, thread, item, response, now)
    threads.missed(thread, now, gone=vanished)
    if reason not in NO_FAULT:
        state = incremental.VisitState.from_json(visit.state)
        code = reason.partition(":")[0]
        state.owing[code] = state.owing.get(code, 0) + 1
        visit.state = state.to_json()
        Visit.objects.filter(pk=visit.pk).update(state=visit.state)
    finish_if_done(run, visit, item, now)
    return outcome


def finish_if_done(run: Run, visit: Visit, item: Url | None, now: datetime) -> None:
    """Ends a visit whose list has been read and whose threads have all been processed. `item`: the
    address being processed, which does not count as outstanding."""
    visit.refresh_from_db()
    if not visit.stopped_by or visit.finished:
        return
    others = Url.objects.filter(
        run=run, group=visit.pk, state__in=[UrlState.WAITING, UrlState.CLAIMED]
    )
    if item is not None:
        others = others.exclude(pk=item.pk)
    if not others.exists():
        finish(visit, now)


def finish(visit: Visit, now: datetime) -> None:
    """Stores the visit's end and what the board's next visit needs.

    The board's watermark is advanced if its list was read completely, even if threads failed; these
    stay pending. If threads failed, or most have another number of posts than the list shows, the
    visit is stored as incomplete with this as the reason.
    """
    state = incremental.VisitState.from_json(visit.state)
    if visit.kind == Visit.Kind.TARGETED:
        _finish_targeted(visit, state, now)
        return
    stopped_by, complete = visit.stopped_by, state.complete
    if complete and state.owing:
        stopped_by, complete = max(state.owing, key=lambda code: state.owing[code]), False
    board = Board.objects.get(pk=visit.board_id)
    if doubts.after_visit(board, state, now) and complete:
        stopped_by, complete = "in_doubt", False
    board.last_visit = now
    board.next_visit, board.next_until = plans.next_visit(board, now)
    if state.complete:
        if state.stopped_by != "not_modified":
            board.watermark = incremental.watermark(state, visit.started or now)
        board.read_since = datetime.fromisoformat(state.reach) if state.reach else board.read_since
        board.complete_at, board.unfinished = now, {}
        board.watched_since = board.watched_since or visit.started or now
    elif state.last_url and state.pages_read:
        board.unfinished = {"url": state.last_url, "page": state.page, "since": now.isoformat()}
    names = [
        "last_visit",
        "next_visit",
        "next_until",
        "watermark",
        "complete_at",
        "watched_since",
        "read_since",
        "unfinished",
    ]
    board.save(update_fields=names)
    state.seen = []
    Visit.objects.filter(pk=visit.pk).update(
        finished=now,
        started=visit.started or now,
        complete=complete,
        stopped_by=stopped_by[:60],
        state=state.to_json(),
    )
    if not complete and stopped_by not in ("max_pages", "stopped", "in_doubt"):
        events.warn("visit_incomplete", f"{board.name}: {stopped_by}", now=now, run_id=visit.run_id)


def _finish_targeted(visit: Visit, state: incremental.VisitState, now: datetime) -> None:
    """Ends a targeted visit, which read no list: the state for the board's own visits is not
    affected."""
    reason = (
        max(state.owing, key=lambda code: state.owing[code]) if state.owing else visit.stopped_by
    )
    values = {
        "finished": now,
        "complete": not state.owing and reason == "targeted",
        "stopped_by": reason[:60],
    }
    Visit.objects.filter(pk=visit.pk).update(**values)


def cut_short(run: Run, reason: str, now: datetime) -> None:
    """Ends every visit of a run that will not continue, with this reason; threads not fetched stay
    pending."""
    for visit in Visit.objects.filter(run=run, finished__isnull=True).select_related("board"):
        if visit.started is None:
            visit.started = now
        if visit.kind == Visit.Kind.TARGETED:
            visit.stopped_by = reason
        state = incremental.VisitState.from_json(visit.state)
        if not visit.stopped_by:
            visit.stopped_by = state.stopped_by = reason
            state.complete = False
            visit.state = state.to_json()
        finish(visit, now)
