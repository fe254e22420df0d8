"""Detection of missing posts: visits of a forum find no posts for longer than its own rhythm
explains, or far fewer than usual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forums.events import Ints

MIN_HOURS = 72
MIN_ITEMS = 30
# with fewer items expected, a gap is no silence: a Poisson number with this mean is 0 once in 150
# times
MIN_EXPECTED = 5.0
BEYOND_LONGEST = 2.0

DROP = 0.3
# the items of this number of most recent days are compared with those of the same weekdays in
# earlier weeks
DROP_DAYS = 2
DROP_WEEKS = (
    4  # number of earlier weeks with whose same weekdays the last DROP_DAYS days are compared
)
DROP_RECORD_HOURS = 24 * (7 * DROP_WEEKS + 2 * DROP_DAYS)
DROP_LEAST_EXPECTED = 10.0
DROP_DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence at the end of a forum's record: its length in hours, the number of items that
    usually arrive in those hours of the day, and the largest such number for an earlier gap."""

    hours: int
    expected: float
    longest: float


def find_silence(counts: Ints, hours: Ints) -> Silence | None:
    """Returns the silence at the end of a record of hours; None if there is none that is unusual
    (as defined below), or if the record has fewer than 72 hours or fewer than 30 items.

    counts: (n,) new items of each hour, oldest first, up to the last hour that visits have covered.
    hours: (n,) local hour of the day, 0 to 23. The expected number in an hour is the mean of its
    hour of the day up to the last item, so that nights count little. Because replies come in
    bursts, at least 5 items must have been expected in the silence, and twice as many as in the
    longest gap before.

    >>> day = np.array([0] * 12 + [2] * 12)
    >>> find_silence(np.concatenate([np.tile(day, 5), np.zeros(30, int)]), np.arange(150) % 24)
    Silence(hours=30, expected=24.0, longest=0.0)
    """
    some = np.flatnonzero(counts)
    if len(counts) < MIN_HOURS or counts.sum() < MIN_ITEMS or some[-1] == len(counts) - 1:
        return None
    last = some[-1]
    seen = np.bincount(hours[: last + 1], minlength=24)
    brought = np.bincount(hours[: last + 1], weights=counts[: last + 1], minlength=24)
    usual = np.divide(brought, seen, out=np.zeros(24), where=seen > 0)
    until = np.concatenate(
        [[0.0], np.cumsum(usual[hours])]
    )  # until[i] is the number of items expected before hour i
    longest = float((until[some[1:]] - until[some[:-1] + 1]).max(initial=0.0))
    expected = float(until[-1] - until[last + 1])
    if expected < max(MIN_EXPECTED, BEYOND_LONGEST * longest):
        return None
    return Silence(len(counts) - 1 - int(last), round(expected, 1), round(longest, 1))


@dataclass(frozen=True, slots=True)
class Drop:
    """The number of new items in the last two days, and the mean of the same two weekdays in the
    four weeks before."""

    items: int
    usual: float


def find_drop(counts: Ints) -> Drop | None:
    """Returns a drop of 30 % or more at the end of a record of hours, None if there is none or the
    record is too short.

    counts: (n,) new items of each hour, oldest first, up to the last hour that visits have covered;
    at least 32 days of them. The last two days are compared with the mean of the same weekdays of
    the four weeks before, which must be ten items or more. The logarithm of the ratio must also be
    three standard deviations (of the logarithms of all two-day sums of those weeks) below 0. On two
    forums' logs this gives four to six false alarms a year. If 60 % of the posts are no longer
    seen, two thirds of the cases are detected within two days.

    >>> find_drop(np.tile([0, 2, 3, 1], 200))
    >>> find_drop(np.concatenate([np.tile([0, 2, 3, 1], 188), np.tile([0, 1, 1, 1], 12)]))
    Drop(items=36, usual=72.0)
    """
    span = 24 * DROP_DAYS
    if len(counts) < DROP_RECORD_HOURS:
        return None
    until = np.concatenate([[0], np.cumsum(counts)])
    spans = until[span:] - until[:-span]  # spans[-1] is the sum of the last two days
    weeks = spans[[-1 - 168 * week for week in range(1, DROP_WEEKS + 1)]]
    before = spans[-1 - span - 24 * np.arange(7 * DROP_WEEKS)]
    items, usual = int(spans[-1]), float(weeks.mean())
    spread = float(np.log(before + 1.0).std())
    if usual < DROP_LEAST_EXPECTED or items > (1 - DROP) * usual:
        return None
    if np.log((items + 1) / (usual + 1)) > -DROP_DEVIATIONS * spread:
        return None
    return Drop(items, round(usual, 1))
