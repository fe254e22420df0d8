"""How reliable a reading is: its confidence, whether records may be missing, and the reasons for
doubt in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forums.reading.learned.choose import COMPLETED, best_of
from forums.reading.learned.two_readings import KINDS, TwoReadings
from forums.reading.model import PageKind, PageReading, PostRecord

_UNLIKELY = (
    0.6  # if the chosen kind has less than this probability, a doubt about the kind is reported
)
_DIFFERENT = (
    0.5  # if the readings of rules and models agree less than this (0 to 1), a doubt is reported
)


class Doubt(NamedTuple):
    """How reliable a reading is. `confidence` is the probability that it has exactly the right
    records; `complete` is False if records may be missing; `doubts` are the reasons in words."""

    confidence: float
    complete: bool
    doubts: tuple[str, ...]


def doubt_of(
    second: TwoReadings, shares: np.ndarray, reading: PageReading, is_stated: bool
) -> Doubt:
    """Returns how reliable the result for a page, `reading`, is. second: the page as read by the
    rules and by the trained models. shares: the probability of each kind of page in `KINDS`.
    is_stated: whether the kind is certain, because the operator or known link shapes of the site
    decided it."""
    if is_stated:
        shares = np.asarray([float(kind is reading.kind) for kind in KINDS])
    records = reading.records
    named = sum(bool(isinstance(record, PostRecord) and record.author) for record in records) / max(
        1, len(records)
    )
    features = second.doubt_features(shares, reading.kind, len(records), named)
    sure = second.sure(features)
    complete = second.is_whole(features)
    return Doubt(
        round(sure, 3), complete, tuple(_words(second, shares, reading, features[0], complete))
    )


def _words(
    second: TwoReadings,
    shares: np.ndarray,
    reading: PageReading,
    features: np.ndarray,
    complete: bool,
) -> list[str]:
    made = []
    rivals = {
        kind: share for kind, share in zip(KINDS, shares, strict=True) if kind is not reading.kind
    }
    if shares[KINDS.index(reading.kind)] < _UNLIKELY:
        made.append(
            f"The page may also be of the kind {max(rivals, key=lambda kind: rivals[kind])}."
        )
    if complete:
        return made
    if reading.kind in (PageKind.threadlist, PageKind.index):
        left = _left_out(second, reading)
        if left:
            made.append(f"{left} rows that look like the others were left out.")
    if reading.records and features[9] < _DIFFERENT:
        made.append("Two ways of reading found different records.")
    if not reading.records and reading.kind is not PageKind.other:
        made.append("No records were found.")
    return made or ["Records may be missing."]


def _left_out(second: TwoReadings, reading: PageReading) -> int:
    """Returns how many records `reading` may lack: the number of different addresses of links that
    are no record's title, but belong to a cluster with titles and have a score of at least
    COMPLETED times the mean of the page's three best scores.
    """
    scores = (
        second.link_scores[:, 1 if reading.kind is PageKind.threadlist else 2]
        if len(second.link_scores)
        else np.zeros(0)
    )
    urls = {getattr(record, "url", None) for record in reading.records}
    table = second.links
    taken = np.asarray([link.url in urls for link in table.links], dtype=bool)
    if not taken.any():
        return 0
    alike = np.isin(table.clusters[:, 1], np.unique(table.clusters[taken, 1])) & ~taken
    left = alike & (scores >= COMPLETED * best_of(scores))
    return len({table.links[at].url for at in np.flatnonzero(left)})
