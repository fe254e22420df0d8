"""Prediction of replies on boards whose lists show no last-reply times: a hazard model fitted on
the site's own threads, and simpler rules to compare it with.

Operational hours are clock hours weighted by how active the site usually is at that hour of the
day, 1 on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import Events, Floats, Ints, LocalClock
from forums.schedule.rhythm import DAY_HOURS, Intensity

RECENT_HOURS = (6.0, 24.0, 168.0)
# with fewer replies than this in the training history, no model is fitted, and replies are
# predicted as rate times elapsed time
MIN_REPLIES = 300
SAMPLES = 40_000
RIDGE = 3.0
NEWTON_STEPS = 40
AREA_POWER = 0.5
RATE_HOURS = 6.0
MIN_ACTIVITY = 0.1
LONGEST_LAG_DAYS = 60.0
LONGEST_WAIT_DAYS = 14.0


class ThreadHistory:
    """The posts that visits have found, sorted by thread and time: their times by the clock
    (`times`, epoch seconds) and in operational hours (`operational`), in which a quiet night counts
    less than an evening.

    `activity`: (24,), events of the whole site by local hour of the day, from which operational
    hours are derived.
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
        shape = np.maximum(activity / level, MIN_ACTIVITY) if level > 0 else np.ones(len(activity))
        self._activity = Intensity.of((shape / shape.mean())[None, :])
        self._clock = clock
        self.operational = self.active_hours(self.times)
        self.board = np.zeros(self.count, dtype=np.int64)
        self.board[events.thread] = events.board

    def active_hours(self, times: Floats) -> Floats:
        """Returns the hours from 1970 to each of `times` (epoch seconds), each weighted by the
        site's usual activity in it."""
        local = self._clock.local_hours(np.asarray(times, dtype=float))
        return self._activity.mass(np.zeros(local.shape, dtype=np.int64), local)

    def known(self, threads: Ints, until: Floats) -> Ints:
        """Returns for each of `threads` the position in `times` after its last post at or before
        `until` (epoch seconds, one per thread)."""
        offset = np.clip(until - self._origin, -0.5, self._span - 0.5)
        place = np.searchsorted(self._keys, threads * self._span + offset, side="right")
        return np.clip(place, self.first[threads], self.stop[threads])


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of m threads when each was last fetched, one entry per thread.

    replies: posts after the first; age, silence: operational hours (see the module) since the first
    and the last known post; recent: posts in the 6, 24 and 168 clock hours before the fetch, (m,
    3); gap_hours: mean clock hours between posts (nan without a reply); last: epoch seconds of the
    last known post.
    """

    replies: Floats
    age: Floats
    silence: Floats
    recent: Floats
    gap_hours: Floats
    last: Floats


def facts(history: ThreadHistory, threads: Ints, fetched: Floats) -> Facts:
    """Returns the state of threads as they were fetched.

    Parameters
    ----------
    history : the posts of all threads.
    threads, fetched : (m,), thread number, and epoch seconds of the fetch; each thread must have a
        post by then.

    Returns
    -------
    facts : (m,) in each field; ages and silences in operational hours.
    """
    stop = history.known(threads, fetched)
    first = history.first[threads]
    last = np.maximum(stop - 1, first)
    now = history.active_hours(fetched)
    recent = np.column_stack(
        [stop - history.known(threads, fetched - hours * HOUR_SECONDS) for hours in RECENT_HOURS]
    )
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
    """Returns how far each thread is past its predicted next change.

    Parameters
    ----------
    known : the threads' state as fetched, (m,) in each field.
    now : epoch seconds.
    board_gap_hours : (m,), mean hours between posts of a thread of its board, used for threads
        without replies.

    Returns
    -------
    late : (m,), in units of the thread's mean gap between posts, (last - first known post) / n
        with n replies; from 0 on it is due.

    References
    ----------
    As in EIC, the forum paper's baseline, the next change is expected one mean gap after the last
    known post. Ranking threads by this relative lateness is not in the paper.
    """
    gap = np.maximum(
        np.where(np.isnan(known.gap_hours), board_gap_hours, known.gap_hours), 1.0 / 60.0
    )
    return (now - known.last) / HOUR_SECONDS / gap - 1.0


def rate_times_elapsed(known: Facts, elapsed: Floats) -> Floats:
    """Returns the expected replies after a fetch, at each thread's mean rate so far.

    Parameters
    ----------
    known : the threads' state as fetched, (m,) in each field.
    elapsed : (m,), operational hours since the fetch.

    Returns
    -------
    replies : (m,), (n + 1/2) / (age + 6 h) * elapsed, where n is the number of replies and age the
        thread's, in operational hours.
    """
    return (known.replies + 0.5) / (known.age + RATE_HOURS) * elapsed


def _features(known: Facts, elapsed: Floats) -> Floats:
    """Returns the inputs of the regression, (m, F), one row per thread: 1 (intercept), then log
    durations and counts, some squares and products."""
    age, silence = np.log(known.age + 1.0), np.log(known.silence + 0.25)
    size, wait = np.log(known.replies + 1.0), np.log(elapsed + 0.25)
    recent = np.log1p(known.recent)
    base = [age, silence, size, wait, recent[:, 0], recent[:, 1], recent[:, 2]]
    squares = [age**2, silence**2, size**2, wait**2, recent[:, 2] ** 2]
    products = [
        silence * size,
        silence * wait,
        age * size,
        age * silence,
        wait * recent[:, 1],
        wait * recent[:, 2],
        wait * size,
    ]
    return np.column_stack([np.ones(len(age)), *base, *squares, *products])


@dataclass(frozen=True, slots=True)
class HazardModel:
    """Expected replies between a fetch and now: Poisson regression E = exp(x' beta), where x are
    the standardised `_features` and beta are the `weights`.

    `trained_on` is the number of replies that the model was fitted to; with too few of them
    `weights` is None and `rate_times_elapsed` is used instead.
    """

    weights: Floats | None
    middle: Floats
    scale: Floats
    trained_on: int

    def expected(self, known: Facts, elapsed: Floats) -> Floats:
        """Returns the expected replies within `elapsed` operational hours (clock hours weighted by
        the site's activity) after the fetch; `known` and `elapsed` have one entry per thread."""
        if self.weights is None:
            return rate_times_elapsed(known, elapsed)
        rows = (_features(known, elapsed) - self.middle) / self.scale
        return np.asarray(np.exp(np.clip(rows @ self.weights, -20.0, 6.0)))

    def score(self, known: Facts, elapsed: Floats, power: float = AREA_POWER) -> Floats:
        """Returns the value of fetching each thread now, for ranking: expected replies times
        elapsed^power. Power 0 finds most replies per fetch; 1/2 also prefers replies that have
        waited long."""
        return self.expected(known, elapsed) * np.maximum(elapsed, 0.0) ** power


def train(
    history: ThreadHistory,
    start: float,
    stop: float,
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> HazardModel:
    """Fits the hazard model to up to `samples` random triples (thread, time of fetch, now) within
    [start, stop), epoch seconds; nothing after `stop` is used.

    The fetch is up to 60 days after a random post, and now up to 14 days after the fetch; both
    times are log-uniform, so that young, busy and silent threads all occur. The model learns the
    number of posts between fetch and now. If these sum to fewer than MIN_REPLIES, a model without
    weights is returned (see `HazardModel`).
    """
    inside = np.flatnonzero((history.times >= start) & (history.times < stop - HOUR_SECONDS))
    if not len(inside):
        return HazardModel(None, np.zeros(0), np.ones(0), 0)
    post = rng.choice(inside, samples)
    threads = history.thread[post]
    lag = (
        np.exp(rng.uniform(np.log(0.05), np.log(LONGEST_LAG_DAYS * DAY_HOURS), samples))
        * HOUR_SECONDS
    )
    wait = (
        np.exp(rng.uniform(np.log(1.0), np.log(LONGEST_WAIT_DAYS * DAY_HOURS), samples))
        * HOUR_SECONDS
    )
    fetched = history.times[post] + lag
    use = fetched + wait < stop
    threads, fetched, now = threads[use], fetched[use], (fetched + wait)[use]
    target = (history.known(threads, now) - history.known(threads, fetched)).astype(float)
    if target.sum() < MIN_REPLIES:
        return HazardModel(None, np.zeros(0), np.ones(0), int(target.sum()))
    known = facts(history, threads, fetched)
    elapsed = history.active_hours(now) - history.active_hours(fetched)
    rows = _features(known, elapsed)
    middle, scale = rows.mean(axis=0), rows.std(axis=0)
    middle[0], scale[scale < 1e-9] = 0.0, 1.0
    weights = _poisson((rows - middle) / scale, target)
    return HazardModel(weights, middle, scale, int(target.sum()))


def _poisson(rows: Floats, target: Floats) -> Floats:
    """Returns the weights of a Poisson regression of `target` on `rows`, with a ridge penalty, by
    damped Newton steps; the first column of `rows` is the intercept, which is not penalised."""
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
    """Returns the events of the whole site by local hour of the day.

    Parameters
    ----------
    events : the site's events.
    clock : the site's local clock.
    start, stop : the interval [start, stop), epoch seconds.

    Returns
    -------
    activity : (24,), number of events.
    """
    part = events.between(start, stop)
    hours = np.floor(clock.local_hours(part.times) % DAY_HOURS).astype(np.int64)
    return np.bincount(np.minimum(hours, 23), minlength=24).astype(float)


def board_gaps(events: Events, start: float, stop: float) -> tuple[Floats, Floats]:
    """Returns the mean hours between posts, and between new threads, of each board.

    Parameters
    ----------
    events : the site's events.
    start, stop : the interval [start, stop), epoch seconds.

    Returns
    -------
    posts, threads : (boards,) each, hours; the whole length of the interval for a board with none
        or one.
    """
    part = events.between(start, stop)
    span = (stop - start) / HOUR_SECONDS
    posts = np.bincount(part.board, minlength=len(events.boards))
    openers = np.bincount(part.board[part.opener], minlength=len(events.boards))
    return span / np.maximum(posts, 1), span / np.maximum(openers, 1)
