"""Rhythms of boards from stored posts: the events of a period, the rates from which plans are made,
and the threads that are predicted to have replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Count, F, Q, Sum

from crawlmgr.conf import CrawlSettings
from forums.models import Basis, Board, BoardHour, Plan, Post, ReplyModel, Site, Thread, Visit
from forums.schedule import equations
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import Bools, Events, Floats, Ints, LocalClock, from_rows
from forums.schedule.reply_hazard import (
    HazardModel,
    ThreadHistory,
    facts,
    site_activity,
    train,
)
from forums.schedule.rhythm import (
    OPTIMAL_PROFILE,
    PAPER_PROFILE,
    BoardEvents,
    BoardProfiles,
    ProfileOptions,
    estimate,
    pooled_prior,
)

FINEST_SECONDS = 3600  # posts whose times are less precise than this are not used for hourly rates


# assumed requests per visit as long as no visit was made: one list page and one thread page
USUAL_REQUESTS = 2.0


MIN_KNOWN_DAYS = 0.25


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The n boards of one plan with the estimates of their rates; arrays are (n,), in the order of
    `boards`.

    site: index of the board's site in `sites` (ids) and `zones`. importance: W, the site's times
    the board's importance. profiles, plain: rates by local hour of the site, importance included.
    In `plain`, the daily rhythm is the board's own, as in the forum paper; in `profiles`, it is
    shrunk towards the site's. prior: whether the board has the other boards' mean rates for lack of
    history. known_days: longest history of a board. requests: mean requests of a visit.
    """

    boards: tuple[Board, ...]
    sites: tuple[int, ...]
    site: Ints
    zones: tuple[ZoneInfo, ...]
    importance: Floats
    profiles: BoardProfiles
    plain: BoardProfiles
    prior: Bools
    known_days: float
    requests: Floats

    @property
    def basis(self) -> str:
        """Whether the rates come from the boards' own history: a value of `Basis`, HISTORY (all
        boards), MIXED or PRIOR (none)."""
        if self.prior.all():
            return str(Basis.PRIOR)
        return str(Basis.MIXED if self.prior.any() else Basis.HISTORY)


def posts_per_weight(found: Rhythm, theta: float) -> Floats:
    """Returns the mean number of posts that make up one weighted event of each board, (n,)."""
    return equations.posts_per_weight(
        found.profiles.new_per_day, found.profiles.replies_per_day, theta, found.importance
    )


def boards_of(plan: Plan) -> list[Board]:
    """Returns the boards that a plan visits: those of its site, or of all sites without an active
    plan of their own."""
    rows = (
        Board.objects.filter(enabled=True)
        .select_related("site")
        .defer("unfinished", "site__structure")
    )
    own = plan.site_id is not None
    rows = rows.filter(site_id=plan.site_id) if own else rows.exclude(site__plan__active=True)
    return list(rows.order_by("site_id", "position", "id"))


def stored_events(board_ids: Sequence[int], since: datetime, until: datetime) -> Events:
    """Returns the stored posts of these boards with since <= time < until as an event log; boards
    and threads are named by their ids."""
    wanted = set(board_ids)
    sites = Board.objects.filter(pk__in=board_ids) if len(board_ids) <= 500 else Board.objects.all()
    rows = Post.objects.filter(
        thread__site_id__in=sites.values("site_id"),
        posted__gte=since,
        posted__lt=until,
        precision_seconds__lte=FINEST_SECONDS,
    ).values_list("thread__board_id", "thread_id", "page", "position", "posted")
    return from_rows(
        (str(board), str(thread), page == 1 and position == 0, posted.timestamp())
        for board, thread, page, position, posted in rows.iterator(chunk_size=5000)
        if board in wanted and posted is not None
    )


def rhythm(plan: Plan, now: datetime, boards: Sequence[Board] | None = None) -> Rhythm:
    """Estimates the present rates of the boards of a plan (or of `boards`); `plan` may be unsaved,
    as for a preview."""
    chosen = tuple(boards_of(plan) if boards is None else boards)
    site_ids = tuple(dict.fromkeys(board.site_id for board in chosen))
    number = {pk: index for index, pk in enumerate(site_ids)}
    site = np.array([number[board.site_id] for board in chosen], dtype=np.int64)
    first = {board.site_id: board.site for board in reversed(chosen)}
    zones = tuple(first[pk].zone for pk in site_ids)
    importance = np.array(
        [equations.importance(board.site.importance, board.importance) for board in chosen]
    )
    spans = np.array([known_days(board, now, plan.history_days) for board in chosen])
    events = _hours(chosen, now - timedelta(days=plan.history_days + 1), now, plan.bins)
    profiles, plain = (
        _estimated(plan, now, zones, site, importance, spans, events, shrink)
        for shrink in (True, False)
    )
    prior = spans < MIN_KNOWN_DAYS
    for found in (profiles, plain):
        pooled_prior(found, prior, plan.theta, importance)
    return Rhythm(
        chosen,
        site_ids,
        site,
        zones,
        importance,
        profiles,
        plain,
        prior,
        float(spans.max(initial=0.0)),
        _requests(chosen, now),
    )


def known_days(board: Board, now: datetime, most: float) -> float:
    """Returns the number of days of a board's history that are stored, at most `most`: from the
    oldest posts that its first complete visit could read (`history_days` back) to its last visit; 0
    before the first complete visit.
    """
    since, last = board.watched_since or board.complete_at, board.last_visit
    if since is None or last is None:
        return 0.0
    back = CrawlSettings.from_mapping(board.site.settings).history_days
    return float(min(most, max(0.0, (min(last, now) - since).total_seconds() / 86400 + back)))


def _hours(
    boards: Sequence[Board], since: datetime, now: datetime, bins: int
) -> tuple[Ints, Floats, Bools]:
    """Returns board number, epoch seconds and first-post flag of each event since a time, as
    parallel arrays. If `bins` (parts of the day) is at most 24, events are taken from hourly counts
    and placed in the middle of their hour.
    """
    place = {board.pk: index for index, board in enumerate(boards)}
    if bins > 24:
        log = stored_events(list(place), since, now)
        numbers = np.array([place[int(name)] for name in log.boards], dtype=np.int64)
        return (numbers[log.board] if len(log) else log.board), log.times, log.opener
    rows = BoardHour.objects.filter(hour__gte=since)
    if len(place) <= 500:
        rows = rows.filter(board_id__in=list(place))
    table = [
        (place[board], hour.timestamp(), threads, replies)
        for board, hour, threads, replies in rows.values_list(
            "board_id", "hour", "threads", "replies"
        ).iterator(chunk_size=5000)
        if board in place
    ]
    values = np.array(table, dtype=float).reshape(-1, 4)
    counts = values[:, 2:].astype(np.int64)
    number = np.concatenate(
        [np.repeat(values[:, 0], counts[:, 0]), np.repeat(values[:, 0], counts[:, 1])]
    ).astype(np.int64)
    moments = np.concatenate(
        [np.repeat(values[:, 1], counts[:, 0]), np.repeat(values[:, 1], counts[:, 1])]
    )
    opener = np.arange(len(number)) < counts[:, 0].sum()
    return number, moments + HOUR_SECONDS / 2, opener


def _estimated(
    plan: Plan,
    now: datetime,
    zones: Sequence[ZoneInfo],
    site: Ints,
    importance: Floats,
    spans: Floats,
    events: tuple[Ints, Floats, Bools],
    shrink: bool,
) -> BoardProfiles:
    """Estimates the boards' rates for each site separately, because every site has its own zone and
    length of history. zones: by site number; site, importance, spans: for each board, the number of
    its site, its importance and its days of stored history; events: parallel arrays of board
    number, epoch seconds and first-post flag; shrink: whether the boards' rhythms are shrunk to
    that of their site."""
    count, (board, times, opener), end = len(site), events, now.timestamp()
    prior = OPTIMAL_PROFILE if shrink else PAPER_PROFILE
    options = ProfileOptions(
        window_days=plan.history_days,
        half_life_days=plan.half_life_days,
        bins=plan.bins,
        kappa_factor=prior.kappa_factor,
        prior_days=prior.prior_days,
        prior_per_day=prior.prior_per_day,
    )
    parts: list[BoardProfiles] = []
    rows_of: list[Ints] = []
    for number, zone in enumerate(zones):
        members = np.flatnonzero(site == number)
        place = np.full(count, -1)
        place[members] = np.arange(len(members))
        rows = place[board] >= 0 if len(board) else np.zeros(0, dtype=bool)
        clock = LocalClock(zone, end - (plan.history_days + 2) * 86400, end + 86400)
        known = BoardEvents(place[board[rows]], clock.local_hours(times[rows]), opener[rows])
        local_end = float(clock.local_hours(np.array([end]))[0])
        days = max(float(spans[members].max()), MIN_KNOWN_DAYS)
        parts.append(
            estimate(
                known,
                len(members),
                local_end,
                options,
                plan.theta,
                importance[members],
                days_known=days,
            )
        )
        rows_of.append(members)
    return _joined(parts, rows_of, count, plan.bins)


def _joined(
    parts: Sequence[BoardProfiles], rows: Sequence[Ints], count: int, bins: int
) -> BoardProfiles:
    whole = BoardProfiles(
        rates=np.zeros((count, bins)),
        weights=np.zeros(count),
        new_per_day=np.zeros(count),
        replies_per_day=np.zeros(count),
        shape=np.full((count, bins), 1.0 / bins),
    )
    for part, members in zip(parts, rows, strict=True):
        for name in ("rates", "weights", "new_per_day", "replies_per_day", "shape"):
            getattr(whole, name)[members] = getattr(part, name)
    return whole


def _requests(boards: Sequence[Board], now: datetime) -> Floats:
    """Returns the mean number of requests per visit of each board in the last seven days, (n,), at
    least 1. The first import of a board and visits that read nothing are no part of it. For a board
    without other visits it is the mean of its site; USUAL_REQUESTS if the site had none either."""
    visits = Visit.objects.filter(
        Visit.READ, finished__gte=now - timedelta(days=7), started__gt=F("board__watched_since")
    )
    sums = (
        visits.values("board_id")
        .annotate(n=Count("id"), asked=Sum("requests", filter=Q(requests__gt=0)))
        .order_by()
    )
    found = {row["board_id"]: (row["asked"] or 0, row["n"]) for row in sums}
    totals: dict[int, tuple[int, int]] = {}
    for board in boards:
        asked, n = found.get(board.pk, (0, 0))
        before = totals.get(board.site_id, (0, 0))
        totals[board.site_id] = (before[0] + asked, before[1] + n)
    result = np.full(len(boards), USUAL_REQUESTS)
    for index, board in enumerate(boards):
        asked, n = found.get(board.pk) or totals[board.site_id]
        if n and asked:
            result[index] = asked / n
    return np.maximum(result, 1.0)


HISTORY_DAYS = 90.0


RETRAIN = timedelta(days=1)


FETCHES_A_VISIT = 12


MIN_EXPECTED = (
    0.02  # a thread is fetched only if at least this many replies are expected since its last fetch
)


SEED = 1


def needed(board: Board) -> bool:
    """Tells whether the board's lists show neither the times of last replies nor reply counts, so
    that changes are predicted."""
    if board.has_last_reply is not False:
        return False
    return not Thread.objects.filter(board=board, replies__isnull=False).exists()


def choose(board: Board, now: datetime, most: int = FETCHES_A_VISIT) -> list[Thread]:
    """Returns the threads to fetch in this visit, at most `most`, best first: by the replies
    expected since their last fetch, times the square root of the time since then. Threads with
    fewer than MIN_EXPECTED, deleted ones, and pending ones (which are fetched anyway) are left out.
    """
    since = now - timedelta(days=HISTORY_DAYS)
    events = stored_events([board.pk], since, now)
    ids = [int(name) for name in events.threads]
    known = Thread.objects.in_bulk(ids) if ids else {}
    usable = [
        n
        for n, pk in enumerate(ids)
        if known[pk].fetched_at is not None and known[pk].gone_at is None
    ]
    usable = [n for n in usable if not known[ids[n]].pending]
    if not usable:
        return []
    model, activity = _model(board.site, now)
    history = ThreadHistory(events, _clock(board.site, since, now), activity)
    threads = np.array(usable, dtype=np.int64)
    fetched = np.array([(known[ids[n]].fetched_at or now).timestamp() for n in usable])
    fetched = np.maximum(fetched, history.times[history.first[threads]])
    found = facts(history, threads, fetched)
    elapsed = np.maximum(
        history.active_hours(np.full(len(threads), now.timestamp()))
        - history.active_hours(fetched),
        0.0,
    )
    expected, score = model.expected(found, elapsed), model.score(found, elapsed)
    order = [
        n
        for n in np.argsort(-score, kind="stable").tolist()
        if expected[n] >= MIN_EXPECTED and elapsed[n] > 0
    ]
    return [known[ids[usable[n]]] for n in order[:most]]


def _clock(site: Site, since: datetime, now: datetime) -> LocalClock:
    return LocalClock(site.zone, since.timestamp() - 86400, now.timestamp() + 86400)


def _model(site: Site, now: datetime) -> tuple[HazardModel, np.ndarray]:
    """Returns the site's hazard model and its activity by hour of the day, (24,); fitted again if
    older than a day."""
    kept = ReplyModel.objects.filter(site=site).first()
    if kept is None or now - kept.trained_at >= RETRAIN:
        kept = _trained(site, now)
    weights = np.array(kept.weights) if kept.weights else None
    model = HazardModel(weights, np.array(kept.middle), np.array(kept.scale), kept.trained_on)
    return model, np.array(kept.activity, dtype=float)


def _trained(site: Site, now: datetime) -> ReplyModel:
    since = now - timedelta(days=HISTORY_DAYS)
    boards = list(Board.objects.filter(site=site).values_list("pk", flat=True))
    events: Events = stored_events(boards, since, now)
    clock, start, stop = _clock(site, since, now), since.timestamp(), now.timestamp()
    activity = site_activity(events, clock, start, stop)
    history = ThreadHistory(events, clock, activity)
    found = train(history, start, stop, np.random.default_rng(SEED))
    values = {
        "trained_at": now,
        "trained_on": found.trained_on,
        "weights": [] if found.weights is None else found.weights.tolist(),
        "middle": found.middle.tolist(),
        "scale": found.scale.tolist(),
        "activity": activity.tolist(),
    }
    return ReplyModel.objects.update_or_create(site=site, defaults=values)[0]
