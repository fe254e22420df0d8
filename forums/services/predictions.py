"""Chooses the threads to fetch on boards whose lists do not show replies, by the number of replies
expected since the last fetch."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from forums import reads
from forums.events import Events, LocalClock
from forums.models import Board, ReplyModel, Site, Thread
from forums.predict import HazardModel, ThreadHistory, facts, site_activity, train
from forums.services.rhythms import stored_events

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
    return LocalClock(reads.zone(site), since.timestamp() - 86400, now.timestamp() + 86400)


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
