"""Rules that divide a day's visits among boards: equal, proportional (eq. (6) of the forum paper),
square-root, and greedy by marginal gain."""

from __future__ import annotations

import math

import numpy as np

from forums.events import Floats, Ints

UNBOUNDED = np.iinfo(np.int64).max


class BudgetError(ValueError):
    """No timetable can satisfy the budget."""


def rounded(shares: Floats, total: int, floor: int = 1) -> Ints:
    """Rounds `shares` * total to whole numbers that sum to `total` exactly, none below `floor`, by
    largest remainders.

    Boards with less than the floor get the floor, the rest is divided among the others in
    proportion. Ties go to the lower index. If all shares are zero, all boards get equal shares.
    Raises BudgetError when floor * n > total.
    """
    shares = np.maximum(np.asarray(shares, dtype=float), 0.0)
    count = len(shares)
    if floor * count > total:
        raise BudgetError(f"{total} visits cannot give {count} boards {floor} each")
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    if shares.sum() <= 0:
        shares = np.ones(count)
    held = np.zeros(count, dtype=bool)
    ideal = shares / shares.sum() * total
    while True:
        low = ~held & (ideal < floor)
        if not low.any():
            break
        held |= low
        ideal[held] = floor
        rest = shares[~held].sum()
        ideal[~held] = shares[~held] / rest * (total - floor * held.sum()) if rest > 0 else 0.0
    visits: Ints = np.floor(ideal + 1e-9).astype(np.int64)
    missing = total - int(visits.sum())
    remainder = np.where(held, -1.0, ideal - visits)
    visits[np.argsort(-remainder, kind="stable")[:missing]] += 1
    return visits


def square_root(rates: Floats, total: int, costs: Floats | None = None) -> Ints:
    """Returns numbers of visits by the square-root law: m_i proportional to sum_h sqrt(f_i(h)),
    divided by sqrt(cost_i) for unequal costs; at least 1, sum `total`.

    rates: (n, bins), f_i(h), importance included; costs: (n,), requests per visit. Source: the
    Cauchy-Schwarz inequality for the delay D = sum over i of the integral of f_i / (2 u_i), with
    u_i visits per hour; Sia, Cho and Cho.
    """
    roots = np.sqrt(rates).sum(axis=1)
    return rounded(roots / np.sqrt(costs) if costs is not None else roots, total)


def greedy(costs: Floats, total: int) -> Ints:
    """Returns the numbers of visits that minimise sum_i D_i(m_i) with sum m_i = total and every m_i
    >= 1, (n,).

    costs: (n, mmax), the delays D_i(1) … D_i(mmax) with that many visits; beyond mmax D_i(m) =
    D_i(mmax) mmax / m, its asymptotic form. Exact where each D_i is convex; rows that are not are
    replaced by their greatest convex minorant. Raises BudgetError when total < n.
    """
    count = len(costs)
    if total < count:
        raise BudgetError(f"{total} visits are fewer than {count} boards")
    return 1 + _largest_gains(_gains(_convex(costs), total - count), total - count)


def greedy_by_requests(costs: Floats, requests_per_visit: Floats, total_requests: float) -> Ints:
    """Returns the numbers m_i of visits to each board that minimise the total delay sum_i D_i(m_i)
    within a budget of requests, every m_i >= 1, by ranking marginal gains per request.

    costs: (n, mmax), the delays D_i(1) … D_i(mmax), continued as in `greedy`; requests_per_visit:
    (n,). Visits that no longer fit are skipped in favour of cheaper ones. Exact if all visits need
    equally many requests, otherwise within one visit of the fractional optimum. Raises BudgetError
    when one visit to each board is already too much, or a visit costs no request.
    """
    price = np.asarray(requests_per_visit, dtype=float)
    left = total_requests - float(price.sum())
    if left < 0 or (price <= 0).any():
        raise BudgetError("the requests do not suffice for one visit to each board")
    most = int(left // price.min())
    gains = _gains(_convex(costs), most)
    board, step = np.divmod(
        np.argsort(-(gains / price[:, None]), axis=None, kind="stable"), gains.shape[1]
    )
    visits = np.ones(len(costs), dtype=np.int64)
    for owner, number in zip(board.tolist(), step.tolist(), strict=True):
        if number == visits[owner] - 1 and price[owner] <= left + 1e-9:
            visits[owner] += 1
            left -= price[owner]
    return visits


def _convex(costs: Floats) -> Floats:
    """Returns the greatest convex minorant of each board's costs (row of `costs`); most rows are
    unchanged."""
    result = np.array(costs, dtype=float)
    for row in np.flatnonzero((np.diff(result, n=2, axis=1) < -1e-9 * result[:, :1]).any(axis=1)):
        values, hull = result[row], [0]
        for point in range(1, len(values)):
            while len(hull) > 1:
                a, b = hull[-2], hull[-1]
                if (values[b] - values[a]) * (point - a) < (values[point] - values[a]) * (b - a):
                    break
                hull.pop()
            hull.append(point)
        result[row] = np.interp(np.arange(len(values)), hull, values[hull])
    return result


def _gains(costs: Floats, extra: int) -> Floats:
    """Returns the gains D(m) - D(m + 1) of one more visit of each board (row) with m = 1, 2, …
    visits (column). Where a gain is larger than an earlier one in its row, it is reduced to that.
    There are enough columns for any division of `extra` visits.
    """
    known = costs.shape[1]
    want = min(extra, known - 1)
    gains = costs[:, :want] - costs[:, 1 : want + 1]
    if (
        extra > want
    ):  # more visits than `costs` has columns: their gains assume a cost proportional to 1 / visits
        more = np.arange(known, min(extra + 1, _max_visits(costs, extra)))
        tail = costs[:, -1:] * known * (1.0 / more - 1.0 / (more + 1.0))
        gains = np.concatenate([gains, tail], axis=1)
    return np.maximum(np.minimum.accumulate(gains, axis=1), 0.0) if gains.shape[1] else gains


def _max_visits(costs: Floats, extra: int) -> int:
    """Returns an upper bound of the number of visits that `greedy` gives one board from `costs` and
    `extra` visits beyond one per board: the number of columns of `costs`, plus 2, plus twice the
    largest share of all visits divided in proportion to the square roots of the last column."""
    roots = np.sqrt(np.maximum(costs[:, -1], 0.0))
    share = roots.max() / roots.sum() if roots.sum() > 0 else 1.0
    return int(costs.shape[1]) + 2 + math.ceil(2 * share * (extra + len(costs)))


def _largest_gains(gains: Floats, extra: int) -> Ints:
    """Returns for each row how many of its gains are among the `extra` largest of all rows, (n,);
    gains in a row do not increase, so these are its first ones."""
    count = len(gains)
    if extra == 0 or count == 0:
        return np.zeros(count, dtype=np.int64)
    flat = gains.ravel()
    border = np.partition(flat, len(flat) - extra)[len(flat) - extra]
    taken = (gains > border).sum(axis=1)
    ties = (gains == border).sum(axis=1)
    missing = extra - int(taken.sum())
    before = np.concatenate([[0], np.cumsum(ties)[:-1]])
    numbers: Ints = (taken + np.clip(missing - before, 0, ties)).astype(np.int64)
    return numbers
