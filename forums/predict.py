"""Prediction of replies on boards without last-reply times: a hazard model fitted on the site's own threads, and simpler rules
for comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forums.events import Events, Floats, Ints, LocalClock
from forums.intensity import DAY_HOURS, Intensity
from forums.law import HOUR_SECONDS

RECENT_HOURS = (6.0, 24.0, 168.0)
# with fewer replies than this in the training history, no model is fitted, and replies are predicted as rate times elapsed time
LEAST_REPLIES = 300
SAMPLES = 40_000
RIDGE = 3.0
NEWTON_STEPS = 40
AREA_POWER = 0.5
RATE_HOURS = 6.0
LEAST_ACTIVITY = 0.1
LONGEST_LAG_DAYS = 60.0
LONGEST_WAIT_DAYS = 14.0
MEDIAN_GRID_DAYS = 90.0


class ThreadHistory:
    """Posts of threads as seen in visits: times by thread, in a clock in which the site is equally active all day.

    `activity`: (24,), events by local hour of the whole site; durations are measured in its hours, so that a night counts less
    than an evening.
    """

    def __init__(self, events: Events, clock: LocalClock, activity: Floats) -> None:
        order = np.lexsort((events.times, events.thread))
        self.count = len(events.threads)
        self.times = events.times[order]
        self.thread = events.thread[order]
        self._origin = float(events.times.min()) if len(events) else 0.0
        self._span = float(events.times.max()) - self._origin + 1.0 if len(events) else 1.0
        self._keys = self.thread * self._span + (self.times - self._origin)
        self.first = np.searchsorted(self.thread, np.arange(self.count))
        self.stop = np.searchsorted(self.thread, np.arange(self.count), side="right")
        level = float(activity.mean())
        shape = np.maximum(activity / level, LEAST_ACTIVITY) if level > 0 else np.ones(len(activity))
        self._activity = Intensity.of((shape / shape.mean())[None, :])
        self._clock = clock
        self.operational = self.active_hours(self.times)
        self.board = np.zeros(self.count, dtype=np.int64)
        self.board[events.thread] = events.board

    def active_hours(self, times: Floats) -> Floats:
        """Operational hours since the epoch at these times (epoch seconds): hours weighted by the site's usual activity, 1 on
        average."""
        local = self._clock.local_hours(np.asarray(times, dtype=float))
        return self._activity.mass(np.zeros(local.shape, dtype=np.int64), local)

    def known(self, threads: Ints, until: Floats) -> Ints:
        """Index after the last post of each thread at or before `until` (epoch seconds, one per thread)."""
        offset = np.clip(until - self._origin, -0.5, self._span - 0.5)
        place = np.searchsorted(self._keys, threads * self._span + offset, side="right")
        return np.clip(place, self.first[threads], self.stop[threads])


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of threads at their last fetch; one entry per thread, durations in operational hours.

    replies: posts after the first; age: since the first post; silence: since the last known post; recent: posts in the 6, 24 and
    168 hours before the fetch, (m, 3); gap_hours: mean clock time between posts (nan without a reply); last: epoch seconds of the
    last known post.
    """

    replies: Floats
    age: Floats
    silence: Floats
    recent: Floats
    gap_hours: Floats
    last: Floats


def facts(history: ThreadHistory, threads: Ints, fetched: Floats) -> Facts:
    """The facts of threads fetched at these moments (epoch seconds); each must have a post by then."""
    stop = history.known(threads, fetched)
    first = history.first[threads]
    last = np.maximum(stop - 1, first)
    now = history.active_hours(fetched)
    recent = np.column_stack([stop - history.known(threads, fetched - hours * HOUR_SECONDS) for hours in RECENT_HOURS])
    replies = np.maximum(stop - first - 1, 0).astype(float)
    lasted = (history.times[last] - history.times[first]) / HOUR_SECONDS
    return Facts(
        replies=replies,
        age=np.maximum(now - history.operational[first], 0.0),
        silence=np.maximum(now - history.operational[last], 0.0),
        recent=recent.astype(float),
        gap_hours=np.divide(lasted, replies, out=np.full(len(threads), np.nan), where=replies > 0),
        last=history.times[last],
    )


def overdue(known: Facts, now: float, board_gap_hours: Floats) -> Floats:
    """EIC: how far each thread is past its predicted next change, relative to its mean gap; 0 and more means due.

    The next change is expected at t_last + (t_last - t_first) / n, with the board's mean gap for threads without reply
    (board_gap_hours, one a thread). The forum paper's baseline; ranking by relative lateness is this program's addition.
    """
    gap = np.maximum(np.where(np.isnan(known.gap_hours), board_gap_hours, known.gap_hours), 1.0 / 60.0)
    return (now - known.last) / HOUR_SECONDS / gap - 1.0


def rate_times_elapsed(known: Facts, elapsed: Floats) -> Floats:
    """Expected replies within `elapsed` hours at the thread's mean rate so far: (n + 1/2) / (age + 6 h) * elapsed. Elapsed time
    and age in operational hours, see `ThreadHistory.active_hours`."""
    return (known.replies + 0.5) / (known.age + RATE_HOURS) * elapsed


def _features(known: Facts, elapsed: Floats) -> Floats:
    """Log durations and counts, their squares and products, (m, F); the intercept comes first."""
    age, silence = np.log(known.age + 1.0), np.log(known.silence + 0.25)
    size, wait = np.log(known.replies + 1.0), np.log(elapsed + 0.25)
    recent = np.log1p(known.recent)
    base = [age, silence, size, wait, recent[:, 0], recent[:, 1], recent[:, 2]]
    squares = [age**2, silence**2, size**2, wait**2, recent[:, 2] ** 2]
    products = [silence * size, silence * wait, age * size, age * silence, wait * recent[:, 1], wait * recent[:, 2], wait * size]
    return np.column_stack([np.ones(len(age)), *base, *squares, *products])


@dataclass(frozen=True, slots=True)
class HazardModel:
    """Poisson regression of the replies in (fetch, now]: E = exp(x' beta), x standardised log durations and counts.

    `trained_on` is the number of replies in its sample; with too few of them `weights` is None and the expectation is
    `rate_times_elapsed`.
    """

    weights: Floats | None
    middle: Floats
    scale: Floats
    trained_on: int

    def expected(self, known: Facts, elapsed: Floats) -> Floats:
        """Expected replies within `elapsed` operational hours after the fetch, at least 0."""
        if self.weights is None:
            return rate_times_elapsed(known, elapsed)
        rows = (_features(known, elapsed) - self.middle) / self.scale
        return np.asarray(np.exp(np.clip(rows @ self.weights, -20.0, 6.0)))

    def score(self, known: Facts, elapsed: Floats, power: float = AREA_POWER) -> Floats:
        """Value of fetching now: expected replies times elapsed^power; 0 maximises precision, 1/2 also weights their waiting
        time."""
        return self.expected(known, elapsed) * np.maximum(elapsed, 0.0) ** power

    def next_reply(self, known: Facts) -> Floats:
        """Median operational hours from the fetch to the next reply, P(none until s) = exp(-E(s)) = 1/2; inf beyond 90 days."""
        waits = np.geomspace(0.1, MEDIAN_GRID_DAYS * DAY_HOURS, 120)
        grown = np.array([self.expected(known, np.full(len(known.age), wait)) for wait in waits])
        reached = np.maximum.accumulate(grown, axis=0) >= np.log(2.0)
        return np.where(reached.any(axis=0), waits[reached.argmax(axis=0)], np.inf)


def train(history: ThreadHistory, start: float, stop: float, rng: np.random.Generator, samples: int = SAMPLES) -> HazardModel:
    """Fits the hazard on data known before `stop`: random (thread, fetch, now) triples of [start, stop), epoch seconds.

    A triple starts at a random post, the fetch is a log-uniform lag after it (at most 60 days) and now a log-uniform wait after
    the fetch (at most 14 days), so that young, busy and silent threads all occur. Target: posts in (fetch, now].
    """
    inside = np.flatnonzero((history.times >= start) & (history.times < stop - HOUR_SECONDS))
    if not len(inside):
        return HazardModel(None, np.zeros(0), np.ones(0), 0)
    post = rng.choice(inside, samples)
    threads = history.thread[post]
    lag = np.exp(rng.uniform(np.log(0.05), np.log(LONGEST_LAG_DAYS * DAY_HOURS), samples)) * HOUR_SECONDS
    wait = np.exp(rng.uniform(np.log(1.0), np.log(LONGEST_WAIT_DAYS * DAY_HOURS), samples)) * HOUR_SECONDS
    fetched = history.times[post] + lag
    use = fetched + wait < stop
    threads, fetched, now = threads[use], fetched[use], (fetched + wait)[use]
    target = (history.known(threads, now) - history.known(threads, fetched)).astype(float)
    if target.sum() < LEAST_REPLIES:
        return HazardModel(None, np.zeros(0), np.ones(0), int(target.sum()))
    known = facts(history, threads, fetched)
    elapsed = history.active_hours(now) - history.active_hours(fetched)
    rows = _features(known, elapsed)
    middle, scale = rows.mean(axis=0), rows.std(axis=0)
    middle[0], scale[scale < 1e-9] = 0.0, 1.0
    weights = _poisson((rows - middle) / scale, target)
    return HazardModel(weights, middle, scale, int(target.sum()))


def _poisson(rows: Floats, target: Floats) -> Floats:
    """Poisson regression with a ridge by damped Newton steps; the first column is the intercept, which is not penalised."""
    penalty = np.full(rows.shape[1], RIDGE)
    penalty[0] = 0.0
    weights = np.zeros(rows.shape[1])
    weights[0] = np.log(max(float(target.mean()), 1e-9))

    def loss(at: Floats) -> float:
        line = np.clip(rows @ at, -30.0, 30.0)
        return float(np.exp(line).sum() - target @ line + 0.5 * penalty @ at**2)

    now = loss(weights)
    for _ in range(NEWTON_STEPS):
        mean = np.exp(np.clip(rows @ weights, -30.0, 30.0))
        slope = rows.T @ (mean - target) + penalty * weights
        step = np.linalg.solve((rows * mean[:, None]).T @ rows + np.diag(penalty + 1e-9), slope)
        size = 1.0
        while size > 1e-4 and loss(weights - size * step) > now:
            size /= 2.0
        weights = weights - size * step
        before, now = now, loss(weights)
        if before - now <= 1e-7 * max(abs(now), 1.0):
            break
    return weights


def site_activity(events: Events, clock: LocalClock, start: float, stop: float) -> Floats:
    """Events of the whole site by local hour of the day, (24,), between two times."""
    part = events.between(start, stop)
    hours = np.floor(clock.local_hours(part.times) % DAY_HOURS).astype(np.int64)
    return np.bincount(np.minimum(hours, 23), minlength=24).astype(float)


def board_gaps(events: Events, start: float, stop: float) -> tuple[Floats, Floats]:
    """Mean hours between posts, and between new threads, of each board within [start, stop). For a board with at most one it
    is the length of the interval."""
    part = events.between(start, stop)
    span = (stop - start) / HOUR_SECONDS
    posts = np.bincount(part.board, minlength=len(events.boards))
    openers = np.bincount(part.board[part.opener], minlength=len(events.boards))
    return span / np.maximum(posts, 1), span / np.maximum(openers, 1)
