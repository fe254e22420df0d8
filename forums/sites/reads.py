"""Database queries for the forum pages and charts: each reads a bounded number of rows by key, or
sums over them; and when a board or forum is next visited, or why it is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Cast, Substr

from crawlmgr.database.paging import ListPage, Order, fetch_page
from crawlmgr.models import Run, RunState
from crawlmgr.runs import run_reads
from crawlmgr.runs.run_reads import at_work
from crawlmgr.workers.nodes import all_paused
from forums.models import Board, BoardHour, Look, OverviewSource, Post, Site, Thread, Visit

LATE = timedelta(minutes=10)


LEFT_OUT, PAUSED, ALL_PAUSED, VISIT_PAUSED = "left_out", "paused", "all_paused", "visit_paused"


@dataclass(frozen=True, slots=True)
class Due:
    """The next visit of a board or forum.

    `at` is its time or, with `until`, the earliest likely time. Without a visit both are None and
    `held` is the reason: LEFT_OUT (the board), PAUSED (the forum), ALL_PAUSED (all crawling) or
    VISIT_PAUSED (another visit of the forum). `since` is the last time (`until` or `at`) if it has
    passed; `late` is True if it passed more than LATE ago.
    """

    at: datetime | None = None
    until: datetime | None = None
    held: str = ""
    since: datetime | None = None
    late: bool = False


def with_paused_visits(sites: Collection[int]) -> set[int]:
    """Returns the forums (ids) with a paused visit: no other visit of them starts before it is
    resumed or stopped."""
    return {site for site, run in at_work("forum", sites).items() if run.state == RunState.PAUSED}


def due(
    at: datetime | None,
    until: datetime | None,
    now: datetime,
    *,
    enabled: bool = True,
    paused: bool = False,
    hold: bool = False,
    visit_paused: bool = False,
) -> Due:
    """Returns the next visit of a board from its stored time `at` and the end `until` of the likely
    span, if it has one.

    There is no next visit in four cases, which the result names: the board is not to be visited
    (`enabled` False), its forum is paused (`paused`), all crawling is paused (`hold`), or a visit
    of its forum is paused (`visit_paused`).
    """
    reasons = (
        (LEFT_OUT, not enabled),
        (PAUSED, paused),
        (ALL_PAUSED, hold),
        (VISIT_PAUSED, visit_paused),
    )
    for held, holds in reasons:
        if holds:
            return Due(held=held)
    last = until or at
    return Due(
        at,
        until,
        "",
        last if last is not None and last < now else None,
        last is not None and last < now - LATE,
    )


def of_board(
    board: Board,
    now: datetime,
    *,
    hold: bool,
    visits_paused: Collection[int],
    paused: bool | None = None,
) -> Due:
    """Returns the next visit of a board. `hold`: whether all crawling is paused. `paused`: whether
    the board's forum is paused, None to read this from the board. `visits_paused`: ids of the
    forums that have a paused visit.
    """
    stands = board.site.paused if paused is None else paused
    at, until, stopped = board.next_visit, board.next_until, board.site_id in visits_paused
    return due(
        at, until, now, enabled=board.enabled, paused=stands, hold=hold, visit_paused=stopped
    )


def with_next_visits(
    rows: Iterable[dict[str, object]], now: datetime, *, site: int, paused: bool
) -> list[dict[str, object]]:
    """Returns the rows of a forum's boards, completed for the API: if a pause or a setting holds up
    the visits of a board, its stored `next_visit` and `next_until` are replaced by None and `held`
    tells the reason; otherwise `held` is "".
    """
    hold, stopped, found = all_paused(), bool(with_paused_visits([site])), []
    for row in rows:
        at, until = row["next_visit"], row["next_until"]
        assert at is None or isinstance(at, datetime)  # noqa: S101 - columns of a board
        assert until is None or isinstance(until, datetime)  # noqa: S101
        said = due(
            at,
            until,
            now,
            enabled=bool(row["enabled"]),
            paused=paused,
            hold=hold,
            visit_paused=stopped,
        )
        found.append({**row, "next_visit": said.at, "next_until": said.until, "held": said.held})
    return found


BY_NAME = Order(("name", "id"), downwards=False)


IN_THREAD = Order(("page", "position", "id"), downwards=False)


BOARDS_A_PAGE = 200


TREE_LIMIT = (
    300  # largest number of boards of a site in the navigation tree; further ones are left out
)


TREE_SITES = 60


class LastVisit(NamedTuple):
    """When a board, or any board of a site, was last visited: `complete`, by a visit that read its
    list to the end; `tried`, by any visit."""

    complete: datetime | None = None
    tried: datetime | None = None

    @property
    def tried_since(self) -> bool:
        """Tells whether a visit of more than LATE (ten minutes) after the complete one was not."""
        return bool(self.complete and self.tried and self.tried - self.complete > LATE)


@dataclass(slots=True)
class SiteRow:
    """A site with the values that the list of forums shows. `overdue`: number of its overdue
    boards; `run`: its active visit; `failed`: its last run, if that failed."""

    site: Site
    boards: int = 0
    last: LastVisit = LastVisit()
    due: Due = Due()
    overdue: int = 0
    run: Run | None = None
    failed: Run | None = None

    @property
    def state(self) -> str:
        """The state of a site in one word: that of its active run; otherwise failed, paused,
        overdue, new or fresh."""
        if self.run is not None:
            return str(self.run.state)
        marks = (
            ("failed", self.failed),
            ("paused", self.site.paused),
            ("overdue", self.overdue),
            ("new", not self.last.tried),
        )
        return next((word for word, mark in marks if mark), "fresh")


@dataclass(slots=True)
class BoardRow:
    """A board with its nesting depth below other boards, its last visit and its next visit."""

    board: Board
    depth: int = 0
    visit: Visit | None = None
    due: Due = Due()

    @property
    def last(self) -> LastVisit:
        """When the board was last visited."""
        return LastVisit(self.board.complete_at, self.board.last_visit)

    @property
    def halted(self) -> bool:
        """True if the board is not visited because another visit of its forum is paused, or because
        all crawling is paused."""
        return self.due.held in (VISIT_PAUSED, ALL_PAUSED)


@dataclass(slots=True)
class BoardDays:
    """Number of posts (first posts and replies) of one board by local day; days without posts are
    missing."""

    name: str
    days: dict[date, int] = field(default_factory=dict)


def all_sites() -> QuerySet[Site]:
    """Returns every site, without the large JSON columns."""
    return Site.objects.defer("structure", "settings")


def sites(query: Mapping[str, str], now: datetime, size: int = 50) -> ListPage:
    """Returns one page of the list of sites by name, as SiteRow; `query`, the request's query
    string, selects the page. Makes a fixed number of queries, whatever the number of sites."""
    page = fetch_page(Site.objects.defer("structure", "settings"), BY_NAME, size=size, query=query)
    return ListPage(with_freshness(page.rows, now), page.newer, page.older)


def with_freshness(rows: Sequence[Site], now: datetime) -> list[SiteRow]:
    """Returns a SiteRow for each of these sites: sums over its boards, its next visit and its
    active or failed run."""
    found = {site.pk: SiteRow(site) for site in rows}
    hold = all_paused()
    late, working = overdue(now - LATE), {run.target: run for run in active_runs(list(found))}
    stopped = {target for target, run in working.items() if run.state == RunState.PAUSED}
    sums = (
        Board.objects.filter(site_id__in=list(found))
        .values("site_id")
        .annotate(
            number=Count("id"),
            complete=Max("complete_at"),
            last=Max("last_visit"),
            next=Min("next_visit", filter=Q(enabled=True)),
            late=Count("id", filter=late),
        )
    )
    for row in sums.order_by():
        entry = found[row["site_id"]]
        entry.boards = row["number"]
        entry.last = LastVisit(row["complete"], row["last"])
        entry.due = due(
            row["next"],
            None,
            now,
            paused=entry.site.paused,
            hold=hold,
            visit_paused=row["site_id"] in stopped,
        )
        entry.overdue = 0 if entry.due.held else row["late"]
    _note_spans(found, now)
    for target, run in working.items():
        found[target or 0].run = run
    _note_failures(found)
    return list(found.values())


def _note_spans(found: Mapping[int, SiteRow], now: datetime) -> None:
    """Adds to each site's row the end of the time span in which its next visit is likely, if that
    visit has no planned time."""
    planned = Board.objects.filter(
        site_id__in=list(found), enabled=True, next_visit__isnull=False, next_until__isnull=False
    )
    for site, at, until in planned.order_by().values_list("site_id", "next_visit", "next_until"):
        if at == found[site].due.at:
            found[site].due = due(at, until, now)


def _note_failures(found: Mapping[int, SiteRow]) -> None:
    """Adds to each site its last run, if that failed."""
    newest = (
        Run.objects.filter(kind="forum", target=OuterRef("pk")).order_by("-id").values("pk")[:1]
    )
    last = (
        Site.objects.filter(pk__in=list(found))
        .order_by()
        .annotate(newest=Subquery(newest))
        .values("newest")
    )
    for run in Run.objects.filter(pk__in=last, state=RunState.FAILED).defer("parameters", "result"):
        if run.target is not None:
            found[run.target].failed = run


def active_runs(site_ids: Sequence[int]) -> list[Run]:
    """Returns the active visits (running, waiting or paused) of these sites."""
    return list(run_reads.at_work("forum", set(site_ids)).values())


def tree_sites(limit: int = TREE_SITES) -> list[Site]:
    """Returns the sites for the navigation tree, by name; one more than `limit` if there are
    more."""
    return list(Site.objects.only("id", "name", "paused")[: limit + 1])


def ordered(boards: Sequence[Board]) -> list[tuple[Board, int]]:
    """Returns boards as a tree in preorder, each with its depth; boards in a cycle of parents are
    appended with depth 0."""
    known = {board.pk for board in boards}
    children: dict[int | None, list[Board]] = defaultdict(list)
    for board in sorted(boards, key=lambda one: (one.position, one.pk)):
        children[board.parent_id if board.parent_id in known else None].append(board)
    found: list[tuple[Board, int]] = []
    placed: set[int] = set()
    stack = [(board, 0) for board in reversed(children[None])]
    while stack:
        board, depth = stack.pop()
        if board.pk not in placed:
            placed.add(board.pk)
            found.append((board, depth))
            stack += [(child, depth + 1) for child in reversed(children[board.pk])]
    return found + [(board, 0) for board in boards if board.pk not in placed]


def tree_boards(site_id: int, limit: int = TREE_LIMIT) -> list[tuple[Board, int]]:
    """Returns a site's first boards for the navigation tree, with depths."""
    rows = Board.objects.filter(site_id=site_id).only(
        "id", "name", "parent_id", "position", "enabled", "site_id"
    )
    return ordered(list(rows.order_by("position", "id")[:limit]))


def boards(site: Site, number: int = 1) -> tuple[list[BoardRow], int]:
    """Returns page `number` (from 1; the nearest one if there is none) of a site's boards in tree
    order, each with its last visit, and the number of pages; three queries."""
    order = ordered(
        list(Board.objects.filter(site=site).only("id", "parent_id", "position", "site_id"))
    )
    pages = max(1, -(-len(order) // BOARDS_A_PAGE))
    number = min(max(1, number), pages)
    shown = {
        board.pk: depth
        for board, depth in order[(number - 1) * BOARDS_A_PAGE : number * BOARDS_A_PAGE]
    }
    latest = (
        Visit.objects.filter(board=OuterRef("pk"), started__isnull=False)
        .order_by("-started")
        .values("pk")[:1]
    )
    rows = {
        board.pk: board
        for board in Board.objects.filter(pk__in=shown).annotate(latest=Subquery(latest))
    }
    visits = Visit.objects.defer("state").in_bulk(
        [board.latest for board in rows.values() if board.latest]
    )
    return [
        BoardRow(rows[pk], depth, visits.get(rows[pk].latest))
        for pk, depth in shown.items()
        if pk in rows
    ], pages


def overdue(since: datetime) -> Q:
    """Returns a query condition for scheduled boards that should have been visited before `since`:
    the time of their next visit (or the end of the time span in which it is likely, if they have
    one) is before `since`."""
    return Q(enabled=True, next_visit__lt=since) & (
        Q(next_until__isnull=True) | Q(next_until__lt=since)
    )


def all_boards() -> QuerySet[Board]:
    """Returns every board with its forum, without the large JSON columns."""
    return Board.objects.select_related("site").defer(
        "unfinished", "site__structure", "site__settings", "site__rules"
    )


def with_visits(rows: Sequence[Board], now: datetime) -> list[BoardRow]:
    """Returns a BoardRow for each of these boards, with its last and next visit; a fixed number of
    queries, whatever the number of boards."""
    latest = (
        Visit.objects.filter(board=OuterRef("pk"), started__isnull=False)
        .order_by("-started")
        .values("pk")[:1]
    )
    keys = (
        Board.objects.filter(pk__in=[board.pk for board in rows])
        .order_by()
        .annotate(latest=Subquery(latest))
    )
    visits = Visit.objects.defer("state").in_bulk(
        [one for one in keys.values_list("latest", flat=True) if one]
    )
    last_visits = {visit.board_id: visit for visit in visits.values()}
    hold = all_paused()
    stopped = with_paused_visits({board.site_id for board in rows})
    dues = [of_board(board, now, hold=hold, visits_paused=stopped) for board in rows]
    return [
        BoardRow(board, 0, last_visits.get(board.pk), said)
        for board, said in zip(rows, dues, strict=True)
    ]


def threads(board: Board) -> QuerySet[Thread]:
    """Returns the threads of a board, without the large JSON column."""
    return Thread.objects.filter(board=board).defer("signature")


def all_threads() -> QuerySet[Thread]:
    """Returns every thread with its board and forum."""
    big = ("signature", "board__unfinished", "site__structure", "site__settings", "site__rules")
    return Thread.objects.select_related("site", "board").defer(*big)


def all_posts() -> QuerySet[Post]:
    """Returns every post with its thread, board and forum."""
    names = ("thread__title", "thread__url", "thread__board__name", "thread__site__name")
    return Post.objects.select_related("thread__board", "thread__site").only(
        "text", "author", "posted", "first_seen", "url", "post_id", *names
    )


def recent_threads(site: Site, limit: int = 12) -> list[Thread]:
    """Returns the threads of a site with the most recent replies."""
    rows = (
        Thread.objects.filter(site=site, last_reply__isnull=False)
        .select_related("board")
        .defer("signature")
    )
    return list(rows.order_by("-last_reply", "-id")[:limit])


def posts(thread: Thread, query: Mapping[str, str], size: int = 40) -> ListPage:
    """Returns one page of the posts of a thread, in order; `query`, the request's query string,
    selects the page."""
    return fetch_page(Post.objects.filter(thread=thread), IN_THREAD, size=size, query=query)


def visits(board: Board, query: Mapping[str, str], size: int = 15) -> ListPage:
    """Returns one page of the visits of a board, newest first; `query`, the request's query string,
    selects the page."""
    return fetch_page(
        Visit.objects.filter(board=board)
        .select_related("run")
        .defer("state", "run__parameters", "run__result"),
        size=size,
        query=query,
    )


def visits_of_run(run: Run, limit: int = 300) -> list[Visit]:
    """Returns the visits of a run in the order in which they are made."""
    rows = Visit.objects.filter(run=run).select_related("board").defer("state", "board__unfinished")
    return list(rows.order_by("id")[:limit])


def due_next(limit: int = 8) -> list[Board]:
    """Returns the boards with the earliest next visits, in forums that are not paused; none while
    all crawling is paused."""
    if all_paused():
        return []
    rows = Board.objects.filter(
        enabled=True, next_visit__isnull=False, site__paused=False
    ).select_related("site")
    return list(
        rows.defer("unfinished", "site__structure", "site__settings").order_by("next_visit", "id")[
            :limit
        ]
    )


def site_runs(site: Site, limit: int = 40) -> list[Run]:
    """Returns the last runs that visited a site, oldest first."""
    return list(
        Run.objects.filter(kind="forum", target=site.pk)
        .defer("parameters", "result")
        .order_by("-id")[:limit]
    )[::-1]


def board_visits(board: Board, limit: int = 60) -> list[Visit]:
    """Returns the last visits of a board, oldest first."""
    rows = (
        Visit.objects.filter(board=board, started__isnull=False)
        .defer("state")
        .order_by("-started")[:limit]
    )
    return list(rows)[::-1]


def posts_by_day(site: Site, now: datetime, days: int = 30, top: int = 7) -> list[BoardDays]:
    """Returns the posts per day, over the last `days` days, of the `top` boards of a site with most
    posts, in the site's time zone; a last entry without a name sums all other boards, if they have
    posts."""
    since = now - timedelta(days=days)
    sums = BoardHour.objects.filter(board__site=site, hour__gt=since)
    totals = (
        sums.values("board_id", "board__name")
        .annotate(n=Sum("threads") + Sum("replies"))
        .order_by("-n")
    )
    names = {row["board_id"]: row["board__name"] for row in totals[:top]}
    rows = {pk: BoardDays(name) for pk, name in names.items()}
    rest = BoardDays("")
    local = site.zone
    # all other boards are summed by the database, so that the number of rows read does not grow
    # with the number of boards
    shown = Case(When(board_id__in=names, then="board_id"), default=0)
    by_hour = (
        sums.values(shown=shown, at=F("hour"))
        .annotate(n=Sum("threads") + Sum("replies"))
        .values_list("shown", "at", "n")
    )
    days_of: dict[
        datetime, date
    ] = {}  # converting an hour to a day is expensive, and each hour occurs once per board
    for board_id, hour, posts in by_hour.iterator():
        day = days_of.get(hour) or days_of.setdefault(hour, hour.astimezone(local).date())
        target = rows.get(board_id, rest).days
        target[day] = target.get(day, 0) + posts
    return [*rows.values(), *([rest] if rest.days else [])]


def board_by_day(
    board: Board, local: ZoneInfo, now: datetime, days: int = 30
) -> dict[date, tuple[int, int]]:
    """Returns the numbers of new threads and replies of one board by local day, over the last
    `days` days; days without posts are missing."""
    found: dict[date, tuple[int, int]] = {}
    rows = BoardHour.objects.filter(board=board, hour__gt=now - timedelta(days=days)).values_list(
        "hour", "threads", "replies"
    )
    for hour, opened, replies in rows:
        day = hour.astimezone(local).date()
        before = found.get(day, (0, 0))
        found[day] = (before[0] + opened, before[1] + replies)
    return found


def last_days(now: datetime, local: ZoneInfo, days: int = 30) -> list[date]:
    """Returns the last `days` days in a time zone, today last."""
    today = now.astimezone(UTC).astimezone(local).date()
    return [today - timedelta(days=back) for back in range(days - 1, -1, -1)]


@dataclass(frozen=True, slots=True)
class VisitSums:
    """Sums over visits: the number of posts stored for the first time that were posted after their
    board was first watched, and the total time from their posting to the visit that found them."""

    waited_seconds: float = 0.0
    arrived: int = 0

    @property
    def mean_wait_seconds(self) -> float | None:
        """Mean seconds from posting to the visit that found the post; None without posts."""
        return self.waited_seconds / self.arrived if self.arrived else None


_SUMS = {
    "waited_seconds": Sum(F("delay_new_seconds") + F("delay_replies_seconds"), default=0.0),
    "arrived": Sum(F("arrived_new") + F("arrived_replies"), default=0),
}


def visit_sums(since: datetime) -> VisitSums:
    """Returns the sums over visits that ended since a time."""
    return VisitSums(**Visit.objects.filter(finished__gte=since).aggregate(**_SUMS))


def by_day(now: datetime, days: int) -> list[VisitSums]:
    """Returns the sums over the visits that ended on each of the last `days` days (UTC), oldest
    first; the last entry is today."""
    rows = Visit.objects.filter(finished__gte=_first_day(now, days))
    day = Substr(Cast("finished", CharField()), 1, 10)
    sums: Mapping[str, VisitSums] = {
        row.pop("day"): VisitSums(**row)
        for row in rows.annotate(day=day).values("day").annotate(**_SUMS).order_by()
    }
    return [sums.get(name, VisitSums()) for name in _day_names(now, days)]


def posted(since: datetime, until: datetime) -> int:
    """Counts the stored posts published in a period, whenever they were fetched."""
    return Post.objects.filter(posted__gte=since, posted__lte=until).count()


def posted_by_day(now: datetime, days: int) -> list[int]:
    """Counts the stored posts published on each of the last `days` days (UTC), oldest first; the
    last entry is today."""
    rows = Post.objects.filter(posted__gte=_first_day(now, days), posted__lte=now)
    day = Substr(Cast("posted", CharField()), 1, 10)
    sums = dict(rows.annotate(day=day).order_by().values_list("day").annotate(Count("pk")))
    return [sums.get(name, 0) for name in _day_names(now, days)]


def _first_day(now: datetime, days: int) -> datetime:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1)


def _day_names(now: datetime, days: int) -> list[str]:
    first = _first_day(now, days).date()
    return [(first + timedelta(days=number)).isoformat() for number in range(days)]


def late(now: datetime) -> int:
    """Counts the boards whose visit is overdue by more than LATE (ten minutes), in forums that are
    not paused; 0 while all crawling is paused."""
    return int(late_boards(Board.objects.all(), now).aggregate(count=Count("id"))["count"])


def late_boards(rows: QuerySet[Board], now: datetime) -> QuerySet[Board]:
    """Returns those of the boards `rows` whose visit is overdue by more than LATE (ten minutes), in
    forums that are not paused; none while all crawling is paused."""
    return rows.none() if all_paused() else rows.filter(overdue(now - LATE), site__paused=False)


PATTERN_DAYS = 28


MAX_VISITS = 20_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """A board's posts and visits of the last weeks, in its site's local time. week: total posts by
    weekday (7, Monday first) and hour (24). posts, visits: mean numbers per day by hour (24)."""

    week: list[list[int]]
    posts: list[float]
    visits: list[float]


def pattern(board: Board, local: ZoneInfo, now: datetime, days: int = PATTERN_DAYS) -> Pattern:
    """Counts posts and visits of a board in the last `days` days by hour and weekday; two
    queries."""
    since = now - timedelta(days=days)
    week = [[0] * 24 for _ in range(7)]
    visits = [0.0] * 24
    rows = BoardHour.objects.filter(board=board, hour__gte=since).values_list(
        "hour", "threads", "replies"
    )
    for hour, threads, replies in rows.iterator(chunk_size=5000):
        at = hour.astimezone(local)
        week[at.weekday()][at.hour] += threads + replies
    made = (
        Visit.objects.filter(board=board, started__gte=since)
        .order_by("-started")
        .values_list("started", flat=True)
    )
    for started in filter(None, made[:MAX_VISITS]):
        visits[started.astimezone(local).hour] += 1.0 / days
    return Pattern(week, [sum(row[hour] for row in week) / days for hour in range(24)], visits)


@dataclass(frozen=True, slots=True)
class ShownCounts:
    """What an overview page of the site (index, newest list, ...; `source`) last showed about a
    board: its numbers of threads and posts, None if not shown. waiting: by how much this number of
    posts has grown since the board's last visit.
    """

    source: OverviewSource
    threads: int | None
    posts: int | None
    waiting: int


def shown_counts(board: Board) -> list[ShownCounts]:
    """Returns what each source of the site last showed about a board; sources that do not show it
    are left out."""
    found = []
    for source in OverviewSource.objects.filter(site_id=board.site_id, enabled=True).order_by("pk"):
        threads, posts, _last = source.shown.get(str(board.pk)) or (None, None, None)
        if source.read_at is None or str(board.pk) not in source.shown:
            continue
        before = Look.objects.filter(
            source=source, state=Look.State.DONE, read_at__lte=board.last_visit or source.found
        )
        then = before.order_by("-read_at").values_list("shown", flat=True).first() or {}
        known = (then.get(str(board.pk)) or (None, None, None))[1]
        waiting = max(0, int(posts) - int(known)) if posts is not None and known is not None else 0
        found.append(ShownCounts(source, threads, posts, waiting))
    return found
