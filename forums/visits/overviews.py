"""Overview sources: pages or feeds that show the state of many boards at once, such as the list of
a forum's newest threads.

Stores the sources, each reading of one (a look) and the figures that it showed. Threads that such a
list shows as changed are fetched by targeted visits of their boards. Threads named by feeds and
sitemaps are assigned to boards and compared with what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Avg, Count, F

from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.text.dates import Moment
from crawlmgr.web import robots
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.url import url_hash
from forums.discovery.build import MIN_BOARDS
from forums.discovery.shapes import board_identity, host, shape
from forums.models import Board, Look, OverviewSource, Site, SourceKind, Thread, Visit
from forums.reading import (
    BoardRecord,
    PageKind,
    PageReading,
    ThreadRecord,
    board_key,
    first_page,
    names_post,
    thread_key,
)
from forums.visits import board_state, incremental, moved_addresses, threads, visits

# frontier priority of source pages, so high that a run fetches them before the pages of its boards
FIRST = 1e5
MAX_COST = 20
# an address that may be a source is tried at most this often; if no try succeeds, it is given up
TRIES = 3
# most pages to read of a list of newest threads; if none goes back to the last reading, the reading
# is `Look.CUT`
MAX_PAGES = 3
MAX_SITEMAPS = 2
KINDS = frozenset((SourceKind.FEED, SourceKind.SITEMAP))
MAX_ROWS = 500  # largest number of entries of one feed that are used, newest first
SLACK = timedelta(
    seconds=60
)  # a thread has changed only if its entry is later than its newest fetched post by more than this
# an entry up to this much earlier than the last fetch of its thread may still be new: the site's
# clock may be behind ours
SKEW = timedelta(hours=1)
DATA = KINDS | {SourceKind.API}  # kinds of sources whose responses are not HTML pages


def note(site: Site, now: datetime) -> None:
    """Stores the overview sources listed in the site's model, and the sitemaps named in its
    robots.txt. Disables stored sources that are no longer listed, except sitemaps."""
    named = {url_hash(one["url"]): one for one in site.structure.get("sources", ())}
    named |= {url_hash(url): {"url": url, "kind": SourceKind.SITEMAP} for url in _sitemaps(site)}
    for key, one in named.items():
        boards = _boards(site, one)
        values = {
            "url": one["url"],
            "kind": one["kind"],
            "found": now,
            "boards": boards,
            "enabled": bool(boards),
        }
        values["names_threads"] = one["kind"] == SourceKind.NEWEST
        OverviewSource.objects.get_or_create(site=site, url_hash=key, defaults=values)
    others = OverviewSource.objects.filter(site=site).exclude(url_hash__in=list(named))
    # but not sitemaps: one that another sitemap lists is not named in robots.txt, and stays enabled
    others.exclude(kind=SourceKind.SITEMAP).update(enabled=False)


def _sitemaps(site: Site) -> tuple[str, ...]:
    """Returns the sitemaps named by the last robots.txt of the site's host, at most
    MAX_SITEMAPS."""
    told = site.host
    if told.robots_fetched_at is None or told.robots_expires_at is None:
        return ()
    rules = robots.RobotsRules(
        told.robots_text, told.robots_verdict, told.robots_fetched_at, told.robots_expires_at
    )
    return tuple(url for url in rules.sitemaps if host(url) == host(site.url))[:MAX_SITEMAPS]


def _boards(site: Site, found: dict[str, Any]) -> list[int]:
    named = set(found.get("boards", ()))
    boards = Board.objects.filter(site=site).order_by("pk").values_list("pk", "url")
    return [pk for pk, url in boards if board_identity(url) in named]


def ask(source: OverviewSource, now: datetime) -> Look:
    """Stores a request to read an overview source (a row of `Look`) and returns it. The page is
    fetched by the run that the caller starts with this row's id."""
    return Look.objects.create(source=source, at=now, cost=source.cost)


def begin(run: Run, now: datetime) -> list[NewUrl]:
    """Returns the requests for the overview pages that a run reads: those that the run was started
    for, and those that test whether an address can serve as an overview source."""
    wanted = [*run.parameters.get("looks", ()), *_tried(run, now)]
    rows = Look.objects.filter(pk__in=wanted).select_related("source")
    found = []
    for look in rows:
        Look.objects.filter(pk=look.pk).update(run=run)
        payload = {
            "look": look.pk,
            "conditional": bool(look.source.shown),
            "data": look.source.kind in DATA,
        }
        payload["index"] = (
            look.source.enabled
            and look.source.kind == SourceKind.INDEX
            and not look.source.names_threads
        )
        found.append(
            NewUrl(
                look.source.url, "overview", key=f"look {look.pk}", payload=payload, priority=FIRST
            )
        )
    return found


def _tried(run: Run, now: datetime) -> list[int]:
    """Creates `Look` rows for trying addresses that may be overview sources, and returns their ids;
    none if fewer than MIN_BOARDS boards of the site have been read completely. They are not charged
    to the plan's budget. An address is tried until it has been read once, at most TRIES times. If
    discovery did not look for sources, the site's own page is tried.
    """
    if Board.objects.filter(site=run.target, complete_at__isnull=False).count() < MIN_BOARDS:
        return []
    site = Site.objects.get(pk=run.target)
    if "sources" not in site.structure and not OverviewSource.objects.filter(site=site).exists():
        OverviewSource.objects.create(
            site=site,
            kind=SourceKind.INDEX,
            url=site.url,
            url_hash=url_hash(site.url),
            found=now,
            enabled=False,
        )
    rows = OverviewSource.objects.filter(site=site, enabled=False, read_at__isnull=True)
    if not CrawlSettings.from_mapping(run.parameters.get("settings", {})).use_apis:
        rows = rows.exclude(kind=SourceKind.API)
    rows = rows.annotate(tried=Count("looks")).filter(tried__lt=TRIES)
    return [Look.objects.create(source=source, at=now, cost=0).pk for source in rows]


def _told(look: Look, reading: PageReading, now: datetime) -> bool:
    """Tells whether the address read by `look` can serve as an overview source, which must show at
    least two boards. Stores the result and, for a source, whether it shows figures of boards or
    names their threads."""
    source = look.source
    figures = len(_index(source, reading)) >= MIN_BOARDS
    homes = {
        home.pk
        for row, _record, home, _thread in _placed(source, reading)
        if home is not None and row.last_reply
    }
    if figures or len(homes) >= MIN_BOARDS:
        source.names_threads = not figures
        if source.kind not in DATA:
            source.kind = SourceKind.INDEX if figures else SourceKind.NEWEST
        source.enabled = True
    values = {
        "kind": source.kind,
        "names_threads": source.names_threads,
        "enabled": source.enabled,
        "read_at": now,
    }
    OverviewSource.objects.filter(pk=source.pk).update(**values)
    return source.enabled


def _deeper(look: Look, response: FetchResponse, now: datetime) -> bool:
    """Tells whether a page read as a sitemap is a sitemap index; if so, stores the most recently
    changed sitemap in it as a source to try."""
    listed = (
        parse_sitemap(response.body, response.url)
        if look.source.kind == SourceKind.SITEMAP
        else None
    )
    if listed is None or listed.kind != "index":
        return False
    dated = [
        entry
        for entry in listed.entries
        if entry.lastmod is not None and host(entry.url) == host(look.source.url)
    ]
    newest = max(dated, key=lambda entry: entry.lastmod or now, default=None)
    if newest is not None:
        values = {"url": newest.url, "kind": SourceKind.SITEMAP, "found": now, "enabled": False}
        OverviewSource.objects.get_or_create(
            site=look.source.site, url_hash=url_hash(newest.url), defaults=values
        )
    OverviewSource.objects.filter(pk=look.source_id).update(read_at=now)
    return True


def store(
    run: Run, item: Url, response: FetchResponse, reading: PageReading | None, now: datetime
) -> Stored:
    """Stores what one fetched page of an overview source (index page or newest list) shows; returns
    the addresses to fetch next. The reading of the source counts as failed if it shows no boards.
    """
    look = Look.objects.select_related("source__site").get(pk=item.payload["look"])
    if response.not_modified and look.source.shown:
        return _unchanged(look, response, now)
    if response.status != 200 or reading is None:
        return failed(
            item, f"http_{response.status}" if response.status != 200 else "unreadable", now
        )
    if not look.source.enabled and (_deeper(look, response, now) or not _told(look, reading, now)):
        return failed(item, "no_boards", now)
    if not look.source.names_threads:
        stored, whole = Stored(title=reading.title), True
        shown = _index(look.source, reading)
    else:
        stored, shown, whole = _newest(run, look, reading, now)
    if not shown and not look.shown:
        return failed(item, "no_boards", now)
    pages, size = int(item.payload.get("page", 1)), look.bytes + response.received_bytes
    shown, named = _joined(look.shown, shown), look.threads + len(stored.links)
    Look.objects.filter(pk=look.pk).update(shown=shown, bytes=size, threads=named)
    if not whole and reading.next and pages < MAX_PAGES:
        payload = {**item.payload, "page": pages + 1, "conditional": False}
        further = NewUrl(
            reading.next,
            "overview",
            key=f"look {look.pk} page {pages + 1}",
            payload=payload,
            priority=FIRST,
        )
        stored.links = [*stored.links, further]
        return stored
    Look.objects.filter(pk=look.pk).update(
        state=Look.State.DONE, read_at=now, reason="" if whole else Look.CUT
    )
    source = look.source
    source.boards = sorted({*source.boards, *map(int, shown)})
    source.shown, source.read_at, source.cost = (
        {**source.shown, **shown},
        now,
        _cost(source, size, pages),
    )
    source.save(update_fields=["boards", "shown", "read_at", "cost"])
    board_state.record_success(source)
    return stored


def _joined(
    before: dict[str, list[float | None]], shown: dict[str, list[float | None]]
) -> dict[str, list[float | None]]:
    """Merges the figures of the pages of a list of newest threads; if several pages show a board,
    the first one counts. before: figures from the earlier pages, shown: from the latest page, both
    by board id."""
    return {**shown, **before}


def _unchanged(look: Look, response: FetchResponse, now: datetime) -> Stored:
    """Stores a reading whose page the server reported as unchanged: it shows the figures of the
    previous reading."""
    values = {
        "state": Look.State.DONE,
        "read_at": now,
        "shown": look.source.shown,
        "bytes": response.received_bytes,
    }
    Look.objects.filter(pk=look.pk).update(**values)
    OverviewSource.objects.filter(pk=look.source_id).update(read_at=now)
    board_state.record_success(look.source)
    return Stored()


def failed(item: Url, reason: str, now: datetime) -> Stored:
    """Stores that a reading of an overview source failed. The adaptive policy keeps its earlier
    data of the source, which is read less often from now on (see `backoff`)."""
    values = {"state": Look.State.FAILED, "reason": reason[:60], "read_at": now}
    Look.objects.filter(pk=item.payload["look"]).update(**values)
    board_state.record_failure(OverviewSource.objects.get(looks=item.payload["look"]), reason, now)
    return Stored(state=UrlState.FAILED, reason=reason[:60])


def cut_short(run: Run, now: datetime) -> None:
    """Marks unfinished readings of overview pages as failed when their run has ended, so that new
    ones may be requested."""
    Look.objects.filter(run=run, state=Look.State.ASKED).update(
        state=Look.State.FAILED, reason=Look.STOPPED, read_at=now
    )


def _cost(source: OverviewSource, size: int, pages: int) -> int:
    """Returns what a reading is charged, in visits: its requests divided by those of a mean recent
    visit of the site, or its bytes divided by those of such a visit, whichever is more; from 1 to
    MAX_COST.

    Only visits of boards' lists are charged to the budget, so the mean leaves out targeted visits,
    which are smaller.
    """
    recent = Visit.objects.filter(
        board__site_id=source.site_id, kind=Visit.Kind.LIST, requests__gt=0
    ).order_by("-id")[:100]
    usual = Visit.objects.filter(pk__in=recent.values("pk")).aggregate(
        asked=Avg("requests"), size=Avg("bytes")
    )
    if not usual["asked"] or not usual["size"]:
        return 1
    return max(1, min(MAX_COST, round(max(pages / usual["asked"], size / usual["size"]))))


def _index(source: OverviewSource, reading: PageReading) -> dict[str, list[float | None]]:
    """Returns the figures that an index shows, by board id: number of threads, number of posts,
    epoch seconds of the last post; None where a figure is not shown."""
    known = dict(Board.objects.filter(site_id=source.site_id).values_list("key", "pk"))
    shown: dict[str, list[float | None]] = {}
    for row in (*reading.records, *reading.boards):
        board = known.get(board_key(row.url)) if isinstance(row, BoardRecord) else None
        if (
            not isinstance(row, BoardRecord)
            or board is None
            or (row.threads, row.posts, row.last_reply) == (None, None, None)
        ):
            continue
        last = row.last_reply.value.timestamp() if row.last_reply is not None else None
        shown[str(board)] = [row.threads, row.posts, last]
    return shown


# --- newest lists
# --------------------------------------------------------------------------------------------------


def _placed(
    source: OverviewSource, reading: PageReading
) -> list[tuple[incremental.Row, ThreadRecord, Board | None, Thread | None]]:
    """Returns the threads that a source names, each as the row to compare, the record read, the
    thread's board, and the stored thread (None if unknown). The board is None if it cannot be
    determined. For a feed it is also None if the board's own list shows no times of last replies,
    because feed and list then cannot be compared.
    """
    told = source.kind in KINDS
    rows, places = (
        named_threads(reading) if told else _rows(reading),
        Places(source.site),
    )
    times = [row.last_reply.value for row, _record in rows if row.last_reply is not None]
    since = min(times) - SLACK if times else None
    known = moved_addresses.known(source.site_id, [row.url for row, _record in rows], since)
    found, seen = [], set()
    for row, record in rows:
        thread = known.get(row.key)
        if thread is not None:
            row = replace(row, key=thread.key, url=thread.url)
        if row.key in seen:  # several posts of one thread
            continue
        seen.add(row.key)
        home = places.home(row, record, thread)
        if told and home is not None and home.has_last_reply is False:
            home = None
        found.append((row, record, home, thread))
    return found


def _rows(reading: PageReading) -> list[Named]:
    return [(threads.to_row(row), row) for row in reading.records if isinstance(row, ThreadRecord)]


def _newest(
    run: Run, look: Look, reading: PageReading, now: datetime
) -> tuple[Stored, dict[str, list[float | None]], bool]:
    """Requests the changed threads of a site-wide list or feed of newest threads. `look` is the
    record of this reading of it.

    Returns three values:
    - the requests, in visits of the threads' boards that fetch only these threads; none for boards
      that this run visits itself,
    - by board id [None, None, epoch seconds of the newest post]: such sources do not show the
      counts of threads and posts,
    - whether the list or feed reaches back to its previous reading.

    A thread of a list has changed if its row differs from its stored signature; for feeds see
    `has_changed`.
    """
    told = look.source.kind in KINDS
    shown: dict[str, list[float | None]] = {}
    changed: dict[Board, list[tuple[incremental.Row, ThreadRecord, Thread | None]]] = {}
    placed = _placed(look.source, reading)
    for row, record, home, thread in placed:
        if home is None:
            continue
        last = row.last_reply.value.timestamp() if row.last_reply is not None else 0.0
        newest = (shown.get(str(home.pk)) or [None, None, None])[2] or 0.0
        shown[str(home.pk)] = [None, None, max(newest, last) or None]
        if has_changed(thread, row) if told else _differs(thread, row):
            changed.setdefault(home, []).append((row, record, thread))
    own = set(run.parameters["boards"])
    links: list[NewUrl] = []
    for board, triples in changed.items():
        asked = look.pk in run.parameters.get("looks", ())  # a try fetches nothing
        if asked and board.pk not in own and board.watched_since is not None:
            links += _targeted(run, board, triples, told, now)
    whole = reaches_back(
        [(row, record) for row, record, _home, _thread in placed], look.source.read_at
    )
    return Stored(links=links, title=reading.title), shown, whole


def _differs(thread: Thread | None, row: incremental.Row) -> bool:
    """Tells whether a row of a site-wide list shows that its thread has changed. Such a list may
    show less of a thread than the board's list; a row that lacks a part of the stored signature is
    not taken as a change."""
    if thread is None:
        return True
    told = incremental.signature(row)
    return incremental.differs(thread.signature, told) and set(thread.signature) <= set(told)


def _targeted(
    run: Run,
    board: Board,
    triples: Sequence[tuple[incremental.Row, ThreadRecord, Thread | None]],
    named_by_feed: bool,
    now: datetime,
) -> list[NewUrl]:
    """Returns the requests of a visit of this board that fetches only these threads, without
    changing the board's watermark. triples: row, record read, stored thread; named_by_feed: the
    threads were named by a feed."""
    visit, _made = Visit.objects.get_or_create(
        run=run,
        board=board,
        defaults={"kind": Visit.Kind.TARGETED, "started": now, "stopped_by": "targeted"},
    )
    places = Places(board.site)
    strange = [row for row, _record, thread in triples if not thread and places.unresolved(row)]
    links = [
        NewUrl(
            row.url,
            "post",
            key=f"visit {visit.pk} post {row.key}",
            group=visit.pk,
            priority=FIRST - 1,
        )
        for row in strange
    ]
    triples = [one for one in triples if one[0] not in strange]
    pairs = [(row, record) for row, record, _thread in triples]
    if (
        named_by_feed
    ):  # a title in a feed may be that of a post, so it is only used if no other is known
        pairs = [(row, plain(record, thread, board)) for row, record, thread in triples]
    stored = threads.store_rows(board, pairs, [row.key for row, _record in pairs], now)
    if named_by_feed:
        keep_signatures(
            stored,
            {row.key: thread.signature for row, _record, thread in triples if thread is not None},
        )
    Visit.objects.filter(pk=visit.pk).update(rows_new=F("rows_new") + len(pairs))
    return [
        *links,
        *(visits.thread_link(visit.pk, stored[row.key], FIRST - 1) for row, _record in pairs),
    ]


def store_post(
    run: Run, item: Url, response: FetchResponse, reading: PageReading | None, now: datetime
) -> Stored:
    """Requests the thread whose page was fetched under the address of a post, which a feed or list
    named; the thread is stored if it is new."""
    address = (reading.address if reading else None) or response.url
    if reading is None or reading.kind is not PageKind.thread or names_post(address):
        return visits.store_nothing(run, item, "no_thread", now, response=response)
    board = Board.objects.get(visits=item.group)
    found = moved_addresses.known(board.site_id, [address]).get(thread_key(address))
    if found is None:
        record = ThreadRecord(first_page(address), reading.title, board_url=board.url)
        row = threads.to_row(record)
        found = threads.store_rows(board, [(row, record)], [row.key], now)[row.key]
    Thread.objects.filter(pk=found.pk).update(pending=True)
    links = [visits.thread_link(item.group or 0, found, item.priority)]
    return visits.store_nothing(run, item, "post", now, response=response, links=links)


Named = tuple[incremental.Row, ThreadRecord]


def named_threads(reading: PageReading) -> list[Named]:
    """Returns the threads named by a feed or sitemap, without duplicates, newest first. An entry
    may be any post of its thread, so only its address, board, title and time are used. Entries
    without time are ignored."""
    newest: dict[str, Named] = {}
    for record in reading.records:
        times = (
            [at for at in (record.last_reply, record.created) if at]
            if isinstance(record, ThreadRecord)
            else []
        )
        if not isinstance(record, ThreadRecord) or not times:
            continue
        at = max(times, key=lambda moment: moment.value)
        told = ThreadRecord(
            record.url,
            record.title,
            last_reply=at,
            board_url=record.board_url,
            board_name=record.board_name,
        )
        row = threads.to_row(told)
        if row.key not in newest or _at(newest[row.key][0]) < at.value:
            newest[row.key] = (row, told)
    return sorted(newest.values(), key=lambda pair: _at(pair[0]), reverse=True)[:MAX_ROWS]


def _at(row: incremental.Row) -> datetime:
    assert row.last_reply is not None  # noqa: S101 - rows of feeds have a time
    return row.last_reply.value


def has_changed(thread: Thread | None, row: incremental.Row) -> bool:
    """Tells whether a thread may have unfetched posts: True if it is unknown (None), or if its feed
    entry `row` is newer than both its newest fetched post and its last fetch. (The entry may also
    be newer because of an edit.) False for a thread marked as deleted."""
    if thread is None:
        return True
    if thread.gone_at is not None:
        return False
    at, known = _at(row), thread.last_reply or thread.created
    since = thread.fetched_at
    return (known is None or at > known + SLACK) and (since is None or at > since - SKEW)


def keep_signatures(stored: dict[str, Thread], known: dict[str, dict[str, object]]) -> None:
    """Restores the earlier change signatures (`known`, by thread key) of threads that were just
    stored from a feed. Only the time of last change is taken from the feed, because a feed shows
    less than a list."""
    kept = [thread for key, thread in stored.items() if known.get(key)]
    for thread in kept:
        old = known[thread.key]
        thread.signature = {
            **old,
            **({k: v for k, v in thread.signature.items() if k in "tpr"} if "t" in old else {}),
        }
    Thread.objects.bulk_update(kept, ["signature"], batch_size=100)


class Places:
    """The boards of a site, for finding the board that a row of a feed or list belongs to."""

    def __init__(self, site: Site) -> None:
        self.boards = {
            board.key: board for board in Board.objects.filter(site=site).select_related("site")
        }
        self.by_id = {board.pk: board for board in self.boards.values()}
        names: dict[str, list[Board]] = {}
        for board in self.boards.values():
            names.setdefault(" ".join(board.name.casefold().split()), []).append(board)
        self._names = {name: found[0] for name, found in names.items() if len(found) == 1}
        self._shapes = frozenset((site.structure.get("patterns") or {}).get("thread", ()))

    def home(
        self, row: incremental.Row, record: ThreadRecord, thread: Thread | None
    ) -> Board | None:
        """Returns the board of a row; None if unknown. It is the board whose address the row
        contains, otherwise that of the known thread. For a new thread whose address has the form of
        threads, it is the board named in the row, or one whose address begins the row's."""
        if record.board_url and (own := self.boards.get(board_key(record.board_url))) is not None:
            return own
        if thread is not None:
            return self.by_id.get(thread.board_id)
        if shape(row.url) not in self._shapes:
            return None
        return self._names.get(
            " ".join((record.board_name or "").casefold().split())
        ) or self._above(row.url)

    def unresolved(self, row: incremental.Row) -> bool:
        """Tells whether only the page at a row's address shows to which thread it leads: the
        address names a post, or has neither a thread's id nor the form of threads."""
        unlike = bool(self._shapes) and shape(row.url) not in self._shapes
        return names_post(row.url) or (" " not in row.key and unlike)

    def _above(self, url: str) -> Board | None:
        path = urlsplit(url).path
        above = [
            board
            for board in self.boards.values()
            if path.startswith(_folder(board.url)) and len(_folder(board.url)) > 1
        ]
        return max(above, key=lambda board: len(_folder(board.url)), default=None)


def _folder(url: str) -> str:
    """Returns the beginning of the paths of all pages below the address `url`, such as "/a/" for
    "/a"; "/" if the address has a query, since its path does not tell which pages are below it."""
    parts = urlsplit(url)
    return "/" if parts.query else parts.path.rstrip("/") + "/"


def reaches_back(rows: Iterable[Named], to: datetime | None) -> bool:
    """Tells whether a list, newest first, reaches back to the time `to` or earlier, so that nothing
    since then is missing; True for a list without times."""
    times: list[Moment] = [
        row.last_reply for row, _record in rows if row.last_reply is not None and not row.pinned
    ]
    return to is None or not times or min(at.value for at in times) <= to


def plain(record: ThreadRecord, thread: Thread | None, board: Board) -> ThreadRecord:
    """Returns a feed's entry as a list row of its board. The title of a stored thread is not
    replaced by the entry's (it is set to ""), because the entry may be that of a post."""
    return replace(record, title="" if thread is not None else record.title, board_url=board.url)
