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
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Run, Url, UrlState, events
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.url import url_hash
from forums.discovery import structures
from forums.models import Board, Thread, Visit
from forums.plans import next_visits, stored_rhythms
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord
from forums.visits import board_state, delays, doubts, incremental, moved_addresses, threads

# reasons why a guest may not read a thread: no fault that an operator has to look at
BARRED = frozenset({"http_401", "http_403", "http_451", "login_needed", "robots", "robots_meta"})
# distance between the priorities of two boards' requests, so that the boards are visited one after
# another
STEP = 10.0


def predicted(boards: Sequence[Board], now: datetime) -> dict[int, list[Thread]]:
    """Returns, for each board whose lists do not show changes, the threads expected to have new
    replies, by board id. Takes seconds in large forums."""
    return {
        board.pk: stored_rhythms.choose(board, now)
        for board in boards
        if stored_rhythms.needed(board)
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
        further = bool(board.unfinished) or board_state.deeper(board, settings, run.created)
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
    """Returns the request of the first page to read of a thread: its first one, or that which was
    the last one, after the pages that were missing from earlier visits."""
    payload: dict[str, Any] = {"thread": thread.pk, "page": 1, "found": False}
    missing = thread.missing if thread.misses < threads.MISSES_ALLOWED else {}
    payload |= {"mend": True} if missing else {}
    if thread.fetched_at is None or not thread.last_page_url:
        return _page_link(thread.url, visit_id, payload, priority)
    last = [max(1, thread.last_page), thread.last_page_url]
    first, *ahead = sorted([*([int(number), one[0]] for number, one in missing.items()), last])
    payload |= {"page": first[0]} | (
        {"known": True, "end": last, "ahead": ahead} if missing else {}
    )
    return _page_link(first[1], visit_id, payload, priority)


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
    # each try and each redirect was a request to the site
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
    board_state.record_success(visit.board)
    if response.not_modified or reading is None:
        same = replace(
            incremental.VisitState.from_json(visit.state), stopped_by="not_modified", complete=True
        )
        return _list_done(run, visit, item, now, same, [])
    limits = board_state.facts(visit, settings)
    walk = incremental.Visit(
        limits, visit.started or now, incremental.VisitState.from_json(visit.state)
    )
    records = cast(
        "list[ThreadRecord]", [r for r in reading.records if reading.kind == PageKind.threadlist]
    )
    if visit.board.site.layout.get("moved"):
        moved_addresses.follow(
            visit.board.site_id, [moved_addresses.of_record(record) for record in records]
        )
    rows = [(threads.to_row(record), record) for record in records]
    if limits.since is not None:
        walk.state.read_back_to = limits.since.isoformat()
    guests = moved_addresses.told_elsewhere(visit.board, rows)
    walk.state.left_out(reading)
    known = threads.signatures(visit.board, [row.key for row, _r in rows], limits.since) | guests
    decision = walk.read(
        item.url,
        [row for row, _r in rows],
        reading.next,
        known,
        threads.fetched_since(visit, list(known)),
        _rivals(reading, settings),
    )
    # the first choice brought no new rows and another link did: later lists of the site follow it
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
    met = {row.key for row in (*decision.changed, *decision.unchanged, *decision.old)} - (
        guests.keys() - set(owed)
    )
    stored = threads.store_rows(
        visit.board, [pair for pair in rows if pair[0].key in met], owed, now
    )
    links = [thread_link(visit.pk, stored[key], item.priority + 1) for key in owed]
    if decision.next_url:
        # a key of its own, because the same address may be read again in this visit
        links.append(
            NewUrl(
                decision.next_url,
                "list",
                key=f"visit {visit.pk} list {walk.state.pages_read + 1}",
                group=visit.pk,
                priority=item.priority,
            )
        )
    threads.note_list(visit.board, [row for row, _r in rows], reading.sort)
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


def _rivals(reading: PageReading, settings: CrawlSettings) -> Sequence[tuple[str, str]]:
    return reading.next_links if settings.use_teacher and reading.next else ()


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
    # only a visit that read no page at all tells that the board does not answer
    if not visit.list_pages:
        board_state.record_failure(visit.board, reason, now)
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
    thread = Thread.objects.filter(pk=item.payload["thread"]).first()
    page = int(item.payload["page"])
    records = (
        cast("tuple[PostRecord, ...]", reading.records)
        if reading is not None and reading.kind == PageKind.thread
        else ()
    )
    if reading is None or response.status != 200 or not records:
        reason = f"http_{response.status}" if response.status != 200 else "no_posts"
    else:
        reason = moved_addresses.strange(thread, item.url, response, reading)
    if thread is None or reading is None or reason:
        return thread_failed(run, item, reason, now, response=response)
    end = item.payload.get("end")
    before = end[0] if end and end[0] != page else page - 1
    _add(visit, item, response)
    # many programs answer an address beyond the end with the last page
    if page > 1 and not item.payload.get("back") and threads.same_again(thread, before, records):
        return _no_next_page(run, visit, thread, item, now)
    stored = threads.store_page(thread, page, records, now)
    delays.note(visit, stored.arrivals, now)
    if page == 1:
        threads.set_opening(thread, records)
    found = bool(item.payload.get("found")) or bool(stored.new or stored.altered)
    payload = {
        **item.payload,
        "found": found,
        "end": max([page, item.url], end or [0, ""]),
        "missed": incremental.missed(item.payload, page, item.url, response.failure),
    }
    outcome = Stored(counts={"items": stored.new}, title=reading.title)
    Visit.objects.filter(pk=visit.pk).update(posts_new=F("posts_new") + stored.new)
    # no known post is left on the page where the thread ended: posts before it were removed, and
    # new ones may have moved to an earlier page
    lost = (
        thread.fetched_at is not None
        and not stored.known
        and page > 1
        and page == thread.last_page
        and not (payload.get("back") or payload.get("mend"))
    )
    if lost:
        back = thread.previous_page_url or thread.url
        where = page - 1 if thread.previous_page_url else 1
        payload |= {"back": True, "end": None, "ahead": ()}
        outcome.links = _first_unasked(run, visit, item, payload, {where: back})
    else:
        rivals = [url for _source, url in _rivals(reading, settings) if url != reading.next]
        payload["spare"] = () if payload.get("missed") else rivals
        ahead = incremental.pages_ahead(payload, page, reading, settings.max_thread_pages)
        outcome.links = _first_unasked(run, visit, item, payload, ahead)
    if outcome.links:
        if not lost:
            Thread.objects.filter(pk=thread.pk).update(previous_page_url=item.url)
        return outcome
    moved_addresses.note_board(visit, thread, reading.board_url)
    _thread_done(visit, thread, payload, outcome, now, complete=reading.complete)
    finish_if_done(run, visit, item, now)
    return outcome


def store_nothing(
    run: Run,
    item: Url,
    reason: str,
    now: datetime,
    *,
    response: FetchResponse | None = None,
    links: Sequence[NewUrl] = (),
) -> Stored:
    """Ends a request that shows no page of the thread it was made for, because the thread is stored
    under another address, or the page shows only which thread to request (`links`)."""
    visit = _load(item, now)
    _add(visit, item, response)
    links = [
        link
        for link in links
        if not Url.objects.filter(run=run, key_hash=url_hash(link.key)).exists()
    ]
    if not links:
        finish_if_done(run, visit, item, now)
    return Stored(links=links, reason=reason)


def _first_unasked(
    run: Run, visit: Visit, item: Url, payload: Mapping[str, Any], pages: Mapping[int, str]
) -> Sequence[NewUrl]:
    """Returns the request of the first of these pages of a thread that this run has not asked for;
    () if there is none. The others are kept in its payload."""
    links = [
        _page_link(url, visit.pk, {**payload, "page": number}, item.priority + 0.01)
        for number, url in sorted(pages.items())
    ]
    hashes = [url_hash(link.key) for link in links]
    asked = set(Url.objects.filter(run=run, key_hash__in=hashes).values_list("key_hash", flat=True))
    left = [link for link, key in zip(links, hashes, strict=True) if key not in asked]
    rest = [[link.payload["page"], link.url] for link in left[1:]]
    return [replace(link, payload={**link.payload, "ahead": rest}) for link in left[:1]]


def _no_next_page(run: Run, visit: Visit, thread: Thread, item: Url, now: datetime) -> Stored:
    """Handles a supposed next page of a thread that shows the same posts again, or none. Another
    candidate linked on the previous page is tried; if none is left, the previous page was the last.
    """
    page = int(item.payload["page"])
    outcome = Stored(reason="no_next_page")
    spare = list(item.payload.get("spare") or ())
    if spare:
        payload = {**item.payload, "spare": spare[1:]}
        outcome.links = _first_unasked(run, visit, item, payload, {page: spare[0]})
    if not outcome.links:
        end = item.payload.get("end") or [page - 1, thread.previous_page_url or thread.url]
        _thread_done(visit, thread, {**item.payload, "end": end}, outcome, now)
        finish_if_done(run, visit, item, now)
    return outcome


def _thread_done(
    visit: Visit,
    thread: Thread,
    payload: Mapping[str, Any],
    outcome: Stored,
    now: datetime,
    *,
    complete: bool = True,
) -> None:
    """Marks a thread as fetched after its last page was read (`end` in the payload: the page's
    number and address), compares the count in its row with its posts, and counts it in the visit
    and in `outcome`. `found` in the payload: new or changed posts were found; `missed`: pages that
    could not be read; complete: the page reader left out no posts of the page."""
    last = {"last_page": payload["end"][0], "last_page_url": payload["end"][1]}
    missed = payload.get("missed") or ()
    first = threads.fetched(thread, now, last, missed, again=bool(payload.get("mend")))
    if missed:
        _owe(visit, thread, missed, now)
    else:
        doubts.compare(visit, thread, complete)
    found = bool(payload.get("found"))
    deltas = {"fetched": 1, "changed": int(found), "new" if first else "updated": 1}
    Visit.objects.filter(pk=visit.pk).update(
        **{name: F(name) + delta for name, delta in deltas.items()}
    )
    outcome.counts["new" if first else "updated"] = 1


def thread_failed(
    run: Run, item: Url, reason: str, now: datetime, *, response: FetchResponse | None = None
) -> Stored:
    """Handles a thread page that could not be read. The thread goes on with the pages that pagers
    named after it; what is missing is noted with its reason, except for a page without posts or
    without address where the thread has as many posts as its row says. If the first page that was
    asked for is not the thread's first and has disappeared, an earlier one is requested."""
    visit = _load(item, now)
    thread = Thread.objects.filter(pk=item.payload["thread"]).first()
    if thread is None or reason == moved_addresses.SAME_THREAD:
        return store_nothing(run, item, moved_addresses.SAME_THREAD, now, response=response)
    vanished = reason in ("http_404", "http_410")
    _add(visit, item, response, failed=0 if vanished else 1)
    page, end = int(item.payload["page"]), item.payload.get("end")
    outcome = Stored(state=UrlState.FAILED, reason=reason)
    if vanished and page > 1 and not end:
        back = "" if item.payload.get("back") else thread.previous_page_url
        earlier = {page - 1: back} if back and back != item.url else {1: thread.url}
        payload = {**item.payload, "found": True, "back": True}
        outcome.links = _first_unasked(run, visit, item, payload, earlier)
        if outcome.links:
            return outcome
    ahead = dict(item.payload.get("ahead") or ())
    empty = page > 1 and (reason == "no_posts" or vanished)
    counted = empty and threads.all_stored(thread)
    no_more = item.payload.get("spare") or (counted and not ahead)
    if empty and no_more and not item.payload.get("back"):
        return _no_next_page(run, visit, thread, item, now)
    missed = [*(item.payload.get("missed") or ())]
    missed += [] if counted else [[page, item.url, reason]]
    payload = {**item.payload, "missed": missed, "spare": ()}
    if not item.payload.get("known"):  # of a known thread the other pages are stored
        ahead |= incremental.page_after(page, item.url, ahead)
    outcome.links = _first_unasked(run, visit, item, payload, ahead)
    if outcome.links:
        return outcome
    if end:
        _thread_done(visit, thread, payload, outcome, now)
    elif vanished:
        threads.gone(thread, now)
    else:
        threads.missed(thread, missed)
        _owe(visit, thread, missed, now)
    finish_if_done(run, visit, item, now)
    return outcome


def _owe(visit: Visit, thread: Thread, missed: threads.Missing, now: datetime) -> None:
    """Counts the pages of a thread that could not be read in the visit's state, each with its
    reason, and tells that the thread is given up if it was asked for often enough."""
    state = incremental.VisitState.from_json(visit.state)
    for number, url, reason in missed:
        state.owe(reason.partition(":")[0], number, url)
    visit.state = state.to_json()
    Visit.objects.filter(pk=visit.pk).update(state=visit.state)
    if threads.is_given_up(thread):
        text = "; ".join(f"{reason} {url}" for _number, url, reason in missed)
        events.warn("thread_given_up", text[:300], now=now, run_id=visit.run_id)


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
    moved_addresses.to_their_boards(visit, state)
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
    board.next_visit, board.next_until = next_visits.next_visit(board, now)
    if state.complete:
        if state.stopped_by != "not_modified":
            board.watermark = incremental.watermark(state, visit.started or now)
        board.read_since = (
            datetime.fromisoformat(state.read_back_to) if state.read_back_to else board.read_since
        )
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
    if not complete and stopped_by not in ("max_pages", "stopped", "in_doubt", *BARRED):
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
