"""Event logs of a forum: new threads and replies with their board and time, read from files."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from forums.schedule.equations import HOUR_SECONDS, event_weights
from forums.schedule.opening_hours_arrays import Openings, mask

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]


Bools = NDArray[np.bool_]


DAY_SECONDS = 86400.0


HEADER = ["board", "thread", "kind", "ts"]


KEPT_BAD_ROWS = 20


FEW, FEWEST, FAR_SECONDS = 1_000, 20, 30 * 86_400.0  # see `without_outliers`


# valid times of an event: from the year 1900 to the last second of 8999, well within the years 1 to
# 9999 that datetime covers, because periods before and after an event are computed, too
EARLIEST_TS = -2208988800


LATEST_TS = 221845391999


class EventsError(ValueError):
    """The file cannot be read as an event log."""


class BadRow(NamedTuple):
    """A row of a CSV file that was left out: its line number (the header is line 1; 0 for rows that
    are told together) and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class BadRows:
    """The number of rows of a CSV file that were left out, and the first of them (at most
    KEPT_BAD_ROWS)."""

    count: int = 0
    first: tuple[BadRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one or several boards, sorted by time (at equal times a first post comes before
    replies).

    `boards` and `threads` are names; `board` and `thread` hold for each event a position in them.
    `times` are epoch seconds in UTC; `opener` is true for a new thread, false for a reply. All four
    arrays have one entry per event.
    """

    boards: tuple[str, ...]
    threads: tuple[str, ...]
    board: Ints
    thread: Ints
    opener: Bools
    times: Floats

    def __len__(self) -> int:
        return len(self.times)

    def weights(self, theta: float) -> Floats:
        """Returns the weight of each event, (n,): 1 for a new thread, theta for a reply (eq. (3) of
        the forum paper)."""
        return event_weights(self.opener, theta)

    def between(self, start: float, stop: float) -> Events:
        """Returns the events with start <= time < stop (epoch seconds)."""
        first, last = np.searchsorted(self.times, [start, stop], side="left")
        part = slice(int(first), int(last))
        return Events(
            self.boards,
            self.threads,
            self.board[part],
            self.thread[part],
            self.opener[part],
            self.times[part],
        )

    def only(self, keep: Bools) -> Events:
        """Returns the events of the boards marked in `keep` (one flag per board), with boards
        renumbered without gaps."""
        number = np.cumsum(keep) - 1
        rows = keep[self.board]
        names = tuple(name for name, kept in zip(self.boards, keep, strict=True) if kept)
        return Events(
            names,
            self.threads,
            number[self.board[rows]],
            self.thread[rows],
            self.opener[rows],
            self.times[rows],
        )


def from_rows(rows: Iterable[tuple[str, str, bool, float]]) -> Events:
    """Builds a log from rows (board, thread, is first post, epoch seconds); equal thread names on
    two boards are two threads. Rows in another order give the same log: boards and threads are
    numbered by their first event, those of one moment by name."""
    known: dict[tuple[str, str], int] = {}
    thread, opener, times = [], [], []
    for name, key, is_opener, moment in rows:
        thread.append(known.setdefault((name, key), len(known)))
        opener.append(is_opener)
        times.append(moment)
    names = sorted(known)
    rank = np.empty(len(known), dtype=np.int64)
    rank[[known[name] for name in names]] = np.arange(len(names))
    by_name = rank[np.array(thread, dtype=np.int64)]
    moments, openers = np.array(times, dtype=float), np.array(opener, dtype=bool)
    order = np.lexsort((by_name, ~openers, moments))
    thread_names, threads = _by_first(by_name[order], names)
    of_board: dict[str, int] = {}
    boards = np.array(
        [of_board.setdefault(name, len(of_board)) for name, _ in thread_names], dtype=np.int64
    )
    return Events(
        tuple(of_board),
        tuple(key for _, key in thread_names),
        boards[threads] if len(threads) else threads,
        threads,
        openers[order],
        moments[order],
    )


def _by_first(
    numbers: Ints, names: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, str]], Ints]:
    """Returns the names in the order of their first number in `numbers` (which point at `names`),
    and the numbers as positions in that order."""
    unique, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(unique), dtype=np.int64)
    place[order] = np.arange(len(unique))
    return [names[number] for number in unique[order]], place[inverse]


def without_outliers(events: Events) -> tuple[Events, int]:
    """Returns the events without the few that lie far from all others, and the number of these.

    They are at most one in FEW at either end (one in a smaller log, none in one of fewer than
    FEWEST), behind a gap that is longer than the time from the first to the last of the others and
    than FAR_SECONDS. One row with a wrong year would move the whole test."""
    most = len(events) // FEW or int(len(events) >= FEWEST)
    times, n = events.times, len(events)
    gaps = np.diff(times)
    low = high = 0
    for cut in range(1, most + 1):
        span = max(times[n - 1 - most] - times[most], FAR_SECONDS) if n > 2 * most else np.inf
        low = cut if gaps[cut - 1] > span else low
        high = cut if gaps[n - 1 - cut] > span else high
    if not low and not high:
        return events, 0
    return events.between(times[low], np.nextafter(times[n - 1 - high], np.inf)), low + high


@dataclass(slots=True)
class _Reading:
    """Collects the valid rows of an event log, and records the invalid ones."""

    bad: int = 0
    first: list[BadRow] = field(default_factory=list)

    def refuse(self, line: int, reason: str, rows: int = 1) -> None:
        self.bad += rows
        if len(self.first) < KEPT_BAD_ROWS:
            self.first.append(BadRow(line, reason))

    def rows(self, reader: Any) -> Iterator[tuple[str, str, bool, float]]:
        """Yields the valid rows of a CSV reader. A quote that is not closed takes the lines after
        it into one row; each of them counts as bad."""
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                self.refuse(line, f"not CSV: {error}", reader.line_num - line + 1)
                continue
            if not row:
                continue
            reason, moment = _fault(row)
            if reason:
                lines = reader.line_num - line + 1
                quote = f", {lines} lines in one quote" if lines > 1 else ""
                self.refuse(line, f"{reason}{quote}", lines)
            else:
                yield row[0], row[1], row[2] == "new", moment


def _fault(row: list[str]) -> tuple[str, float]:
    """Returns why a row of an event log is invalid ("" if it is valid), and its time as epoch
    seconds (0 if invalid)."""
    if len(row) != len(HEADER):
        return f"{len(row)} columns instead of {len(HEADER)}", 0.0
    if not row[0]:
        return "no board", 0.0
    if row[2] not in ("new", "reply"):
        return f"kind {row[2][:40]!r} is neither new nor reply", 0.0
    try:
        moment = float(row[3])
    except ValueError:
        return f"ts {row[3][:40]!r} is not a number", 0.0
    if not EARLIEST_TS <= moment <= LATEST_TS:
        return f"ts {row[3][:40]!r} is no time", 0.0
    return "", moment


def read_events(path: Path) -> tuple[Events, BadRows]:
    """Reads an event log from CSV, uncompressed or gzip (name ends in .gz); returns the events and
    the rows left out.

    Columns: `board,thread,kind,ts` (kind new or reply, ts in UTC epoch seconds), rows in any order.
    Invalid rows are left out and counted with their line number. EventsError if the file cannot be
    opened or unpacked, or has another header or no valid row.
    """
    reading = _Reading()
    try:
        with open(path, "rb") as raw, gzip.open(raw) if path.suffix == ".gz" else raw as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
            reader = csv.reader(line.replace("\0", "") for line in text)
            header = next(reader, [])
            if [name.strip().lower() for name in header] != HEADER:
                raise EventsError(f"{path}: the first line is not the header {','.join(HEADER)}")
            events, far = without_outliers(from_rows(reading.rows(reader)))
    except (OSError, EOFError) as error:
        raise EventsError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not len(events):
        raise EventsError(f"{path}: no usable row ({reading.bad} bad)")
    if far:
        reading.refuse(0, "far from the time of all other rows", far)
    return events, BadRows(reading.bad, tuple(reading.first))


class LocalClock:
    """Converts epoch seconds to hours of a site's local clock, and local midnights to epoch
    seconds.

    Offsets from UTC are looked up once for every hour (or every day, if they do not change) of
    [start, stop], so that arrays are converted without a Python call per value; times outside take
    the nearest known offset.
    """

    def __init__(self, zone: ZoneInfo, start: float, stop: float) -> None:
        self.zone = zone
        self._first = np.floor(start / HOUR_SECONDS)
        hours = int(np.ceil(stop / HOUR_SECONDS) - self._first) + 1
        self._offsets = np.array(
            [_offset(zone, (self._first + hour) * HOUR_SECONDS) for hour in range(0, hours, 24)]
        )
        self._step = 24
        if (
            len(set(self._offsets)) > 1
        ):  # daylight saving changes within these hours, so a finer grid is needed
            self._offsets = np.array(
                [_offset(zone, (self._first + hour) * HOUR_SECONDS) for hour in range(hours)]
            )
            self._step = 1

    def local_hours(self, times: Floats) -> Floats:
        """Returns hours since 1970-01-01 00:00 on the local wall clock, for epoch seconds of any
        shape."""
        slots = ((np.asarray(times) / HOUR_SECONDS - self._first) // self._step).astype(np.int64)
        hours: Floats = (
            times + self._offsets[np.minimum(np.maximum(slots, 0), len(self._offsets) - 1)]
        ) / HOUR_SECONDS
        return hours

    def local_hour(self, now: float) -> float:
        """Returns `local_hours` of one moment: the same number without the cost of arrays."""
        slot = int((now / HOUR_SECONDS - self._first) // self._step)
        return (
            now + float(self._offsets[min(max(slot, 0), len(self._offsets) - 1)])
        ) / HOUR_SECONDS

    def midnight(self, day: date) -> float:
        """Returns the epoch seconds of a local midnight."""
        return datetime.combine(day, time(), self.zone).timestamp()


@dataclass(frozen=True, slots=True)
class Sites:
    """The sites of n boards: `site` holds each board's site number, (n,), `clocks` the sites' local
    clocks. The day of the budget of visits begins at midnight of `clocks[0]`.

    Sites of one zone should share one clock object, because their times are then converted
    together. `openings` are the working hours of each site (None: always open); () if no site has
    any.
    """

    site: Ints
    clocks: Sequence[LocalClock]
    openings: Sequence[Openings | None] = ()

    def open_boards(self, now: float) -> Bools | None:
        """Returns a mask of the boards whose site is within its working hours at this moment, (n,);
        None if no site has working hours."""
        return mask(self.openings, self.site, now)

    def local_hours(self, times: Floats, board: Ints) -> Floats:
        """Returns hours since 1970-01-01 on the local clock of each board's site; times (epoch
        seconds) and board (numbers) are parallel."""
        if len(self.clocks) == 1:
            return self.clocks[0].local_hours(times)
        different = list({id(clock): clock for clock in self.clocks}.values())
        if len(different) == 1:
            return different[0].local_hours(times)
        place = {id(clock): number for number, clock in enumerate(different)}
        number = np.array([place[id(clock)] for clock in self.clocks])[self.site[board]]
        result = np.empty(len(board))
        for turn, clock in enumerate(different):
            rows = number == turn
            result[rows] = clock.local_hours(times[rows])
        return result


def _offset(zone: ZoneInfo, moment: float) -> float:
    """Returns the seconds by which the local clock is ahead of UTC."""
    offset = datetime.fromtimestamp(moment, UTC).astimezone(zone).utcoffset()
    return offset.total_seconds() if offset is not None else 0.0
