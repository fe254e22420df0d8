"""Statistics of a forum's history by board: events a day, daily rhythm as event rates that are
constant within bins of the day (for small boards shrunk to that of the site), and how irregular the
number of events a day is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forums.schedule.bounds import USUAL_THETA
from forums.schedule.equations import event_weights, weighted
from forums.schedule.events import Bools, Floats, Ints

DAY_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Intensity:
    """f_i(t) of n boards: weighted events per hour, constant within each of `bins` equal parts of a
    day, repeating daily.

    `rates` has shape (n, bins). F_i(t) = integral of f_i from 0 to t, S_i(t) = integral of u
    f_i(u); both are exact for any t, also negative or beyond one day. Methods take an array of
    board numbers and one of times in hours, which broadcast against each other, and return an array
    of the common shape.
    """

    rates: Floats
    width: float
    _mass: Floats
    _moment: Floats

    @classmethod
    def of(cls, rates: Floats) -> Intensity:
        """Creates the intensity from rates of shape (n, bins), weighted events per hour."""
        rates = np.atleast_2d(np.asarray(rates, dtype=float))
        count, bins = rates.shape
        width = DAY_HOURS / bins
        middle = (np.arange(bins) + 0.5) * width
        mass, moment = np.zeros((count, bins + 1)), np.zeros((count, bins + 1))
        np.cumsum(rates * width, axis=1, out=mass[:, 1:])
        np.cumsum(rates * width * middle, axis=1, out=moment[:, 1:])
        return cls(rates, width, mass, moment)

    @property
    def bins(self) -> int:
        return int(self.rates.shape[1])

    @property
    def per_day(self) -> Floats:
        """Weighted events a day of each board, shape (n,)."""
        return self._mass[:, -1]

    def _split(self, times: Floats) -> tuple[Floats, Ints, Floats]:
        """Returns for times in hours the number of whole days, the number of the bin in the day,
        and the hours since that day began."""
        days = np.floor(np.asarray(times, dtype=float) / DAY_HOURS)
        hours = times - days * DAY_HOURS
        return days, np.minimum((hours / self.width).astype(np.int64), self.bins - 1), hours

    def at(self, board: Ints, times: Floats) -> Floats:
        """Returns f_i(t), weighted events per hour; at a boundary between bins the rate of the bin
        that begins."""
        return self.rates[board, self._split(times)[1]]

    def mass(self, board: Ints, times: Floats) -> Floats:
        """Returns F_i(t): weighted events between hour 0 and t; negative for t before 0."""
        days, slot, hours = self._split(times)
        inside = self._mass[board, slot] + self.rates[board, slot] * (hours - slot * self.width)
        mass: Floats = days * self._mass[board, -1] + inside
        return mass

    def moment(self, board: Ints, times: Floats) -> Floats:
        """Returns S_i(t) = integral of u f_i(u) from 0 to t, weighted event-hours."""
        days, slot, hours = self._split(times)
        total, first = self._mass[board, -1], self._moment[board, -1]
        start = slot * self.width
        within = self._mass[board, slot] + self.rates[board, slot] * (hours - start)
        inside = self._moment[board, slot] + self.rates[board, slot] * (hours**2 - start**2) / 2.0
        moment: Floats = (
            days * first
            + DAY_HOURS * total * days * (days - 1.0) / 2.0
            + inside
            + DAY_HOURS * days * within
        )
        return moment

    def interval_cost(self, board: Ints, start: Floats, stop: Floats) -> Floats:
        """Returns C_i(a, b) = integral from a to b of f_i(t) (b - t) dt = b (F(b) - F(a)) - (S(b) -
        S(a)); eq. (8) of the forum paper.

        These are the weighted event-hours of the events that arrive between two visits, at a and b,
        and wait for the second.
        """
        # shift the interval to the first day, because differences of large integrals lose precision
        shift = np.floor(np.asarray(start, dtype=float) / DAY_HOURS) * DAY_HOURS
        a, b = start - shift, stop - shift
        cost = b * (self.mass(board, b) - self.mass(board, a)) - (
            self.moment(board, b) - self.moment(board, a)
        )
        return np.maximum(cost, 0.0)

    def day_cost(self, board: int, hours: Floats) -> float:
        """Returns how long a board's events wait if it is visited every day at these hours:
        expected weight times hours waited, summed over a day. Without visits: infinite, or 0 for a
        board without events."""
        if not len(hours):
            return float("inf") if self.per_day[board] > 0 else 0.0
        visits = np.sort(np.asarray(hours, dtype=float) % DAY_HOURS)
        following = np.append(visits[1:], visits[0] + DAY_HOURS)
        return float(self.interval_cost(np.full(len(visits), board), visits, following).sum())


def quantiles(density: Floats, board: Ints, share: Floats) -> Floats:
    """Returns the hour of the day by which a share of a board's daily density has passed,
    interpolated within the bin.

    Parameters
    ----------
    density : (n, bins), not negative, need not sum to one. Bins with density 0 are skipped; a row
        that is 0 everywhere counts as constant.
    board, share : (m,), the row of `density` to use, and a value in [0, 1).

    Returns
    -------
    hours : (m,), c = (h + (share - Q[h]) / sc[h]) K, where h is the bin that contains the
        quantile, sc[h] its share of the density, Q[h] the share before it, and K the hours per bin.

    References
    ----------
    The corrected step 2 of algorithm BRA of the forum paper.
    """
    density = np.where(density.sum(axis=1, keepdims=True) > 0, density, 1.0)
    bins = density.shape[1]
    edges = np.concatenate([np.zeros((len(density), 1)), np.cumsum(density, axis=1)], axis=1)
    target = share * edges[board, -1]
    rows = edges[board]
    slot = np.clip((rows <= target[:, None]).sum(axis=1) - 1, 0, bins - 1)
    index = np.arange(len(board))
    height = density[board, slot]
    empty = height <= 0  # true only if rounding has made the target equal to the row's sum
    inside = np.where(empty, 0.0, (target - rows[index, slot]) / np.where(empty, 1.0, height))
    hours: Floats = (slot + np.clip(inside, 0.0, 1.0)) * (DAY_HOURS / bins)
    return hours


LARGEST_KAPPA = 1e5


# hour of the day with most posts, assumed if there is no data: afternoons are busier than nights
PRIOR_PEAK_HOUR = 17.0


PRIOR_SWING = 0.6


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """How a history is converted to rates.

    window_days: length of the history used. half_life_days: age at which an event counts half
    (None: all count alike). bins: parts of a day (24: one hour each, the forum paper's K).
    smooth_bins: width of the cyclic moving mean over the bins (1: none). kappa_factor: factor on
    kappa (see `dirichlet_kappa`), with which a board's rhythm is shrunk to its site's; 0: no
    shrinkage, infinity: all boards of a site share one rhythm. prior_days: weight of the prior rate
    in days of history; prior_per_day: that rate, weighted events per day.
    """

    window_days: float = 20.0
    half_life_days: float | None = None
    bins: int = 24
    smooth_bins: int = 1
    kappa_factor: float = 1.0
    prior_days: float = 0.0
    prior_per_day: float = 0.0

    def __post_init__(self) -> None:
        if self.window_days <= 0 or self.bins < 1 or not 1 <= self.smooth_bins <= self.bins:
            raise ValueError(
                "a history needs a window above 0 days, at least one bin and a mean no wider than"
                " a day"
            )


PAPER_PROFILE = ProfileOptions(
    kappa_factor=0.0
)  # rates by eq. (5) and (7) of the forum paper, without shrinkage or prior


# Rates have a prior, so that boards without events in the history have a rate above 0. It was tuned
# on logs no benchmark uses.
OPTIMAL_PROFILE = ProfileOptions(prior_days=1.0, prior_per_day=1.0)


@dataclass(frozen=True, slots=True)
class BoardProfiles:
    """Estimates for n boards.

    - rates: (n, bins), weighted events per hour, f_i = WP_i SC_i / K, K hours per bin.
    - weights: (n,), WP of eq. (5), weighted events a day. new_per_day, replies_per_day: (n,), new
      threads Ng, replies Nr a day.
    - shape: (n, bins), SC of eq. (7), the share of a board's events in each part of the day; each
      row sums to 1.
    """

    rates: Floats
    weights: Floats
    new_per_day: Floats
    replies_per_day: Floats
    shape: Floats


@dataclass(frozen=True, slots=True)
class BoardEvents:
    """Events for estimation, parallel arrays with one entry per event: board number, hours since
    1970 on the site's local clock, and true for a new thread (false for a reply)."""

    board: Ints
    local_hours: Floats
    opener: Bools


def shape_counts(
    board: Ints, local_hours: Floats, weights: Floats, boards: int, bins: int
) -> Floats:
    """Returns weighted events by part of the day.

    Parameters
    ----------
    board, local_hours, weights : (events,), board number, hours on the local clock, and weight.
    boards, bins : numbers of boards and of parts of a day.

    Returns
    -------
    counts : (boards, bins), weighted events.

    References
    ----------
    The numerators of eq. (7) of the forum paper.
    """
    slot = np.floor((local_hours % DAY_HOURS) * (bins / DAY_HOURS)).astype(np.int64) % bins
    return (
        np.bincount(board * bins + slot, weights, boards * bins).astype(float).reshape(boards, bins)
    )


def dirichlet_kappa(counts: Floats, pool: Floats) -> float:
    """Returns the strength with which boards' daily rhythms are shrunk to a common one, by maximum
    likelihood: each row of counts is drawn from a Dirichlet-multinomial distribution with
    parameters kappa * pool.

    Parameters
    ----------
    counts : (n, bins), events of each board by part of the day.
    pool : (bins,), the common rhythm, sums to 1.

    Returns
    -------
    kappa : in [1, 1e5], large if the boards share one rhythm; 1e5 with fewer than two boards that
        have events.
    """
    # importing scipy takes longer than many commands take to run
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    used = pool > 0
    rows = counts[counts.sum(axis=1) > 0][:, used]
    if len(rows) < 2:
        return LARGEST_KAPPA
    total, prior = rows.sum(axis=1), pool[used] / pool[used].sum()

    def loss(log_kappa: float) -> float:
        kappa = np.exp(log_kappa)
        alpha = kappa * prior
        value = len(rows) * gammaln(kappa) - gammaln(total + kappa).sum()
        return -float(value + (gammaln(rows + alpha) - gammaln(alpha)).sum())

    best = minimize_scalar(loss, bounds=(0.0, float(np.log(LARGEST_KAPPA))), method="bounded")
    return float(np.exp(best.x))


def moving_mean(shape: Floats, width: int) -> Floats:
    """Returns the cyclic moving mean of each row.

    Parameters
    ----------
    shape : (n, bins).
    width : number of bins, at least 1; an even width is shifted forward by half a bin.

    Returns
    -------
    means : (n, bins).
    """
    if width == 1:
        return shape
    left = (width - 1) // 2
    return (
        np.asarray(sum(np.roll(shape, step, axis=1) for step in range(-left, width - left))) / width
    )


def estimate(
    events: BoardEvents,
    boards: int,
    end_hour: float,
    options: ProfileOptions,
    theta: float = USUAL_THETA,
    importance: Floats | None = None,
    days_known: float | None = None,
) -> BoardProfiles:
    """Estimates the rates of a site's boards from the events in the `window_days` before
    `end_hour`.

    - Rate, with a Gamma prior: (weighted events + prior_days * prior_per_day) / (days +
      prior_days). A site without events gets the prior rate, constant over the day.
    - Shape (share of events in each part of the day), shrunk to that of the site: p = (n s + kappa
      pool) / (n + kappa). s are the board's shares, n is the number of its events, pool the site's
      shares, kappa `dirichlet_kappa` of the site times `kappa_factor`.

    Parameters
    ----------
    events : the site's events, with hours on its local clock.
    boards : number of boards.
    end_hour : hours since 1970 on the local clock.
    options : window, bins, prior and shrinkage.
    theta : weight of a reply, in [0.01, 1].
    importance : (boards,), W of each board, above 0; None: 1.
    days_known : length of a history shorter than the window, in days.

    Returns
    -------
    profiles : rates (boards, bins) in weighted events per hour, and what they were made of.

    References
    ----------
    WP = W (Ng + theta Nr), eq. (5), and shares by eq. (7) of the forum paper.
    """
    days = min(options.window_days, days_known) if days_known is not None else options.window_days
    start = end_hour - days * DAY_HOURS
    inside = (events.local_hours >= start) & (events.local_hours < end_hour)
    board, hours, opener = events.board[inside], events.local_hours[inside], events.opener[inside]
    age = (end_hour - hours) / DAY_HOURS
    fade, effective = _fading(age, days, options.half_life_days)
    own = np.ones(boards) if importance is None else np.asarray(importance, dtype=float)
    new = np.bincount(board, fade * opener, boards) / effective
    replies = np.bincount(board, fade * ~opener, boards) / effective
    counts = shape_counts(board, hours, fade * event_weights(opener, theta), boards, options.bins)
    raw = shape_counts(board, hours, fade, boards, options.bins)
    shape = _shrunk(counts, raw, options)
    volume = weighted(new, replies, theta) * effective
    rate = (volume + options.prior_days * options.prior_per_day) / (effective + options.prior_days)
    weights = own * rate
    return BoardProfiles(
        rates=weights[:, None] * shape * (options.bins / DAY_HOURS),
        weights=weights,
        new_per_day=new,
        replies_per_day=replies,
        shape=shape,
    )


def _fading(age: Floats, days: float, half_life: float | None) -> tuple[Floats, float]:
    """Returns the weight of each event, which decays with its age in days (half-life `half_life`;
    None: all weights are 1), and the integral of this weight over `days` days. Dividing weighted
    counts by the integral gives daily rates.
    """
    if half_life is None:
        return np.ones(len(age)), days
    rate = np.log(2.0) / half_life
    return np.exp(-rate * age), float(-np.expm1(-rate * days) / rate)


def _shrunk(weighted: Floats, raw: Floats, options: ProfileOptions) -> Floats:
    """Returns the daily distributions of events of one site's boards, (boards, bins), shrunk
    towards the distribution of the whole site. weighted, raw: weighted and unweighted numbers of
    events by part of the day, (boards, bins)."""
    bins = options.bins
    pool = weighted.sum(axis=0)
    if pool.sum() <= 0:
        return np.full(weighted.shape, 1.0 / bins)
    pool = pool / pool.sum()
    kappa = options.kappa_factor
    if 0 < kappa < np.inf:
        kappa *= dirichlet_kappa(raw, pool)
    count, total = raw.sum(axis=1, keepdims=True), weighted.sum(axis=1, keepdims=True)
    own = np.divide(weighted, total, out=np.tile(pool, (len(weighted), 1)), where=total > 0)
    if kappa == np.inf:
        own = np.tile(pool, (len(weighted), 1))
    elif kappa > 0:
        own = (count * own + kappa * pool) / (count + kappa)
    return moving_mean(own, options.smooth_bins)


def pooled_prior(profiles: BoardProfiles, unknown: Bools, theta: float, importance: Floats) -> None:
    """Assigns the boards marked in `unknown` (n,), which have no history, the mean events a day and
    mean shape of the other boards; changes `profiles` in place.

    If no board has a history: one new thread and three replies a day, mostly in the afternoon,
    which is an assumption.
    """
    if not unknown.any():
        return
    known = ~unknown & (profiles.weights > 0)
    bins = profiles.shape.shape[1]
    if known.any():
        new, replies = (
            float(profiles.new_per_day[known].mean()),
            float(profiles.replies_per_day[known].mean()),
        )
        volume = float((profiles.weights[known] / importance[known]).mean())
        shape = (
            profiles.shape[known] * (profiles.weights[known] / importance[known])[:, None]
        ).sum(axis=0)
    else:
        new, replies, volume = 1.0, 3.0, weighted(1.0, 3.0, theta)
        hours = (np.arange(bins) + 0.5) * DAY_HOURS / bins
        shape = 1.0 + PRIOR_SWING * np.cos((hours - PRIOR_PEAK_HOUR) / DAY_HOURS * 2 * np.pi)
    profiles.new_per_day[unknown], profiles.replies_per_day[unknown] = new, replies
    profiles.shape[unknown] = shape / shape.sum()
    profiles.weights[unknown] = volume * importance[unknown]
    profiles.rates[unknown] = (
        profiles.weights[unknown, None] * profiles.shape[unknown] * (bins / DAY_HOURS)
    )


@dataclass(frozen=True, slots=True)
class Settling:
    """How far the estimates from the last `days` days of history differ from those of the longest
    history tried.

    weights_off: sum |w_d - w| / sum w over the boards, with a board's weight w_d from these days
    and w from the longest history. shapes_off: total variation distance, in [0, 1], between the two
    estimates of the shape of a board's rate over the day; mean over the boards, weighted by w.
    """

    days: float
    weights_off: float
    shapes_off: float


def settling(
    events: BoardEvents,
    boards: int,
    end_hour: float,
    options: ProfileOptions,
    days: Sequence[float],
    theta: float = USUAL_THETA,
) -> list[Settling]:
    """Returns how far estimates from shorter histories differ from those of the longest, one entry
    for each length in `days` up to the window, shortest first; [] without events. `theta`: weight
    of a reply relative to a new thread. The forum paper's claim that 20 days suffice can be checked
    with it."""
    found = {
        span: estimate(events, boards, end_hour, options, theta, days_known=span)
        for span in sorted(days)
        if span <= options.window_days
    }
    if not found:
        return []
    last = found[max(found)]
    total = last.weights.sum()
    if total <= 0:
        return []
    return [
        Settling(
            span,
            float(np.abs(one.weights - last.weights).sum() / total),
            float((0.5 * np.abs(one.shape - last.shape).sum(axis=1) * last.weights).sum() / total),
        )
        for span, one in found.items()
    ]
