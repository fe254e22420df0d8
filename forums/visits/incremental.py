"""BIC, the forum paper's incremental crawl: what a visit of a board does with each list page, and
when it stops. Without requests or database access.

A visit is a state machine whose state is JSON, so that it can be stored between two pages and
continued after the process was killed. Its phases:

fresh    from page 1 on, until a stop test ends it (or, on a first visit, history or pages run out)
resume   from the position of the last, interrupted visit until a stop test ends this phase too
recheck  page 1 once more, if the visit read further pages, since threads may have moved to the top
meanwhile; further pages too where all of page 1 has moved
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from crawlmgr.text.dates import Moment
from forums.reading.addresses import post_key
from forums.reading.model import PageReading

FINE_SECONDS = 60
MOST_AHEAD = 40  # later pages of a thread that are remembered in case that the next one is missing
MOST_AGAIN = 10  # list pages that a visit reads once more because threads move to the top
MOST_LOST = 20  # pages that a visit names which it could not read


@dataclass(frozen=True, slots=True)
class Row:
    """A thread as shown in one row of a list. `key` identifies the thread, `last_post` its newest
    post (id or address)."""

    key: str
    url: str
    last_reply: Moment | None = None
    replies: int | None = None
    last_author: str | None = None
    last_post: str | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class BoardFacts:
    """The board's state after the last complete visit, and the limits of this visit.

    watermark: newest last reply that a complete visit has processed; None before the first complete
    visit, and if this visit is to read farther back than earlier ones. since: in these cases,
    unknown threads with an older last reply are not fetched; None: no limit. slack_seconds: by how
    much a last reply must be older than the watermark to end the visit. resume_url, resume_page:
    last list page that an interrupted visit read ("" for none), to read again, as rows may have
    moved up.
    """

    watermark: datetime | None
    since: datetime | None
    max_pages: int
    slack_seconds: float
    resume_url: str = ""
    resume_page: int = 0


STORED_KEYS = {"position": "way", "counts_agreeing": "told", "read_back_to": "reach"}
"""Keys under which some attributes of `VisitState` are stored, as in version 0.1.0."""


@dataclass(slots=True)
class VisitState:
    """The state of a visit between two list pages; `to_json` and `from_json` are inverse.

    `stopped_by` (code of the reason for ending) and `complete` refer to the list. `owing` counts,
    by reason, pages of threads that could not be read, and rows; `lost` names the first of them as
    [reason, page number, address]. `doubts` counts doubtful readings by code. `counts_agreeing`:
    the number of threads that have as many posts as the reply count in their row says, and the
    number compared. `read_back_to`: time (ISO) before which last replies were too old to fetch, ""
    in a visit that reads only what is new. `placed`: the number of threads whose page names the
    board in which the list shows them; `elsewhere`: the board (id) that it names, by the id of the
    thread, where that is another one.

    A page may link several candidates for its next page. `spare` lists those not followed, as
    [position ("numbers", "word" …), address]; they are tried if the one followed shows no new rows.
    `position`: that of the one being tried, "" for the first choice. `proved`: position of one
    that had new rows; the site's model then prefers it.

    `tops`: newest last reply (ISO, "" without times) on page 1, each time that it was read.
    `rechecked`: number of pages read in the phase recheck.
    """

    phase: str = "fresh"
    page: int = 1
    pages_read: int = 0
    seen: list[str] = field(default_factory=list)
    newest: str = ""
    top_url: str = ""
    tops: list[str] = field(default_factory=list)
    stopped_by: str = ""
    complete: bool = False
    next_url: str = ""
    last_url: str = ""
    stale: int = 0
    resumed: int = 0
    rechecked: int = 0
    owing: dict[str, int] = field(default_factory=dict)
    lost: list[list[Any]] = field(default_factory=list)
    spare: list[list[str]] = field(default_factory=list)
    position: str = ""
    proved: str = ""
    doubts: dict[str, int] = field(default_factory=dict)
    counts_agreeing: list[int] = field(default_factory=lambda: [0, 0])
    read_back_to: str = ""
    placed: int = 0
    elsewhere: dict[str, int] = field(default_factory=dict)

    def doubt(self, code: str) -> None:
        """Counts a doubtful reading of the kind `code`."""
        self.doubts[code] = self.doubts.get(code, 0) + 1

    def owe(self, reason: str, page: int, url: str) -> None:
        """Counts a page of a thread that could not be read."""
        self.owing[reason] = self.owing.get(reason, 0) + 1
        self.lost = [*self.lost, [reason, page, url]][:MOST_LOST]

    def left_out(self, reading: PageReading) -> None:
        """Notes the rows of a list page that were seen and not taken; those on another host are
        counted once, and not again when page 1 is read once more."""
        if not reading.complete:
            self.doubt("rows_left_out")
        for url in reading.elsewhere if self.phase != "recheck" else ():
            self.owe("other_host", self.page, url)

    def to_json(self) -> dict[str, Any]:
        """Returns the state as a JSON-ready dictionary."""
        return {STORED_KEYS.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> VisitState:
        """Restores a state from the dictionary that `to_json` returned; unknown keys are
        ignored."""
        names = {STORED_KEYS.get(name, name): name for name in cls.__dataclass_fields__}
        return cls(**{names[key]: value for key, value in data.items() if key in names})


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do after a list page. changed: rows whose threads are to be fetched. unchanged: rows
    of known threads without a change. old: rows of unknown threads that are too old to be fetched.
    next_url: the next list page to request, "" for none.
    """

    changed: tuple[Row, ...]
    unchanged: tuple[Row, ...]
    old: tuple[Row, ...]
    next_url: str


def signature(row: Row) -> dict[str, Any]:
    """Returns the change signature of a row as JSON: time t (epoch seconds), its precision p in
    seconds and whether it is relative r, replies n, last author a, newest post l. Values that the
    row does not show are left out.
    """
    data: dict[str, Any] = {}
    if row.last_reply is not None:
        data.update(
            t=row.last_reply.value.timestamp(),
            p=row.last_reply.precision_seconds,
            r=row.last_reply.relative,
        )
    if row.replies is not None:
        data["n"] = row.replies
    if row.last_author:
        data["a"] = row.last_author
    if row.last_post:
        data["l"] = post_key(row.last_post)
    return data


def differs(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tells whether two signatures of a thread show a change. Only components that both have are
    compared:

    - Reply count, newest post, last author: any difference (a deletion lowers the count).
    - Two absolute times: at least the coarser precision apart, as they are rounded.
    - Times of which one is relative: more than both precisions and a minute apart; ignored if reply
      counts or newest posts were compared."""
    for name in ("n", "a"):
        if name in old and name in new and old[name] != new[name]:
            return True
    if "l" in old and "l" in new and post_key(old["l"]) != post_key(new["l"]):
        return True
    if "t" not in old or "t" not in new:
        return False
    apart = abs(float(new["t"]) - float(old["t"]))
    precision = max(float(old["p"]), float(new["p"]))
    if not old.get("r") and not new.get("r"):
        return apart >= precision if precision > 1 else apart > 0
    firm = any(name in old and name in new for name in ("n", "l"))
    return not firm and apart > float(old["p"]) + float(new["p"]) + FINE_SECONDS


def misplaced(rows: Iterable[Row]) -> set[str]:
    """Returns the keys of rows at the top that break the order of a list sorted by last reply:
    unmarked pinned threads.

    From the top down to the middle of the list, a row is misplaced if more than half of the
    unpinned rows below it have a newer last reply, by more than the coarser of the two precisions.
    The search ends at the first row that is not misplaced.
    """
    timed = [row for row in rows if row.last_reply is not None]
    found: set[str] = set()
    for index, row in enumerate(timed[: len(timed) // 2]):
        rest = [other for other in timed[index + 1 :] if not other.pinned]
        newer = sum(_older(row, other) for other in rest)
        if rest and newer * 2 > len(rest):
            found.add(row.key)
        else:
            break
    return found


def _older(row: Row, other: Row) -> bool:
    # callers pass timed rows only
    assert row.last_reply is not None and other.last_reply is not None  # noqa: S101
    margin = max(row.last_reply.precision_seconds, other.last_reply.precision_seconds)
    return (other.last_reply.value - row.last_reply.value).total_seconds() > margin


def sorted_by_last_reply(rows: Iterable[Row]) -> bool:
    """Tells whether the unpinned rows with times are in descending order of time, allowing for
    rounding and for one row in ten out of order. False with fewer than two such rows."""
    timed = [row for row in rows if row.last_reply is not None and not row.pinned]
    breaks = sum(_older(a, b) for a, b in zip(timed, timed[1:], strict=False))
    return len(timed) >= 2 and breaks * 10 <= len(timed)


class Visit:
    """One visit of a board: a state machine that is given list pages in the order in which it
    requests them."""

    def __init__(
        self, facts: BoardFacts, started: datetime, state: VisitState | None = None
    ) -> None:
        self.facts = facts
        self.started = started
        self.state = state or VisitState()
        self._seen = set(self.state.seen)

    def read(
        self,
        url: str,
        rows: Iterable[Row],
        next_url: str | None,
        known: Mapping[str, Mapping[str, Any]],
        fetched: frozenset[str] = frozenset(),
        next_links: Iterable[tuple[str, str]] = (),
    ) -> Decision:
        """Processes one list page and advances the state; returns what to fetch and which list page
        to request next.

        `known` maps the keys of stored threads to their last signature in a list. `fetched` are the
        keys of threads fetched otherwise since the last complete visit: they are not fetched again,
        but count as changed when the visit decides whether to read a further page. `next_links` are
        all candidates for the next page, as pairs (position in the page, address). Rows seen before
        in this visit are ignored; pinned rows are processed, but do not count in that decision.
        """
        rows, state = list(rows), self.state
        state.pages_read += 1
        hidden = misplaced(rows)
        ordered = sorted_by_last_reply([row for row in rows if row.key not in hidden])
        if state.pages_read == 1:
            state.top_url = url
        moved = self._moved([row for row in rows if not (row.pinned or row.key in hidden)])
        state.last_url = url
        changed: list[Row] = []
        unchanged: list[Row] = []
        old: list[Row] = []
        tally = _Tally(ordered=ordered, moved=moved)
        for row in rows:
            if row.key in self._seen:
                continue
            self._seen.add(row.key)
            counted = not (row.pinned or row.key in hidden)
            tally.fresh += counted
            self._newest(row)
            if row.key not in known:
                late = self._too_old(row)
                (old if late else changed).append(row)
                tally.past += counted and late
                tally.hits += counted and not late
            elif differs(known[row.key], signature(row)):
                changed.append(row)
                tally.hits += counted
            elif row.key in fetched:
                unchanged.append(row)
                tally.hits += counted
            else:
                unchanged.append(row)
                tally.past += counted and ordered and self._below_watermark(row)
        state.seen = sorted(self._seen)
        follow = self._rival(tally) or self._advance(bool(rows), next_url or "", tally)
        if follow == next_url and not state.position:
            state.spare = [[source, other] for source, other in next_links if other != next_url]
        return Decision(tuple(changed), tuple(unchanged), tuple(old), follow)

    def _rival(self, tally: _Tally) -> str:
        """Returns the next-page link to try instead of the last one followed, if this led to a page
        without new rows; "" if the page had new rows or no other candidate is left."""
        state = self.state
        if state.phase != "fresh" or state.page < 2:
            return ""
        if tally.fresh:
            state.proved, state.position, state.spare = state.position or state.proved, "", []
            return ""
        if not state.spare:
            return ""
        state.position, state.next_url = state.spare.pop(0)
        return state.next_url

    def _moved(self, rows: list[Row]) -> bool:
        """Tells whether all rows of a page have moved up since page 1 was read in the round before:
        all have newer replies than page 1 had. Notes the newest reply if this page is page 1."""
        state = self.state
        absolute = [one for row in rows if (one := row.last_reply) and not one.relative]
        times = sorted(one.value.isoformat() for one in absolute)
        if state.next_url in ("", state.top_url):
            state.tops.append(times[-1] if times else "")
        before = state.tops[-2] if len(state.tops) > 1 else ""
        return bool(before and times) and len(times) == len(rows) and times[0] > before

    def _newest(self, row: Row) -> None:
        if row.last_reply is not None and not row.last_reply.relative:
            stamp = row.last_reply.value.isoformat()
            self.state.newest = max(self.state.newest, stamp)

    def _too_old(self, row: Row) -> bool:
        if self.facts.since is None or row.last_reply is None:
            return False
        latest = row.last_reply.value + timedelta(seconds=row.last_reply.precision_seconds)
        return latest < self.facts.since

    def _below_watermark(self, row: Row) -> bool:
        if self.facts.watermark is None or row.last_reply is None:
            return False
        latest = row.last_reply.value + timedelta(
            seconds=row.last_reply.precision_seconds + self.facts.slack_seconds
        )
        return latest < self.facts.watermark

    def _advance(self, any_rows: bool, next_url: str, tally: _Tally) -> str:
        """Applies the stop tests in order (no rows, history, watermark, no change, two pages
        without new rows, last page, page limit); returns the next list page to request, "" if the
        visit ends."""
        state, facts, first = self.state, self.facts, self.facts.watermark is None
        if state.phase == "recheck":
            return self._again(next_url if tally.moved else "")
        if not any_rows:
            return (
                self._stop("end_of_board")
                if state.page > 1
                else self._close("no_records", complete=False)
            )
        state.stale = 0 if tally.fresh else state.stale + 1
        behind = (
            bool(facts.resume_url) and state.phase == "fresh" and state.page < facts.resume_page
        )
        joined = (
            bool(facts.resume_url) and state.phase == "fresh" and state.page == facts.resume_page
        )
        # the interrupted visit had also read this page, so unchanged rows do not prove that new
        # threads were all seen
        overlap = joined or (state.phase == "resume" and state.resumed == 0)
        state.resumed += state.phase == "resume"
        quiet = bool(tally.fresh) and not tally.hits
        if not overlap:
            if first and quiet and tally.past and tally.ordered:
                return self._stop("history")
            if not first and tally.past:
                return self._stop("watermark")
            if quiet and (not first or behind):
                return self._stop("unchanged")
        if state.stale >= 2:
            return self._stop("no_new_rows")
        if not next_url:
            return self._stop("end_of_board")
        if state.pages_read >= facts.max_pages:
            return self._close("max_pages", complete=False)
        state.page += 1
        state.next_url = next_url
        return next_url

    def _stop(self, reason: str) -> str:
        """Handles a fulfilled stop test: continues at the position of the interrupted visit if
        there is one, then with page 1 once more, then ends. Returns the next list page to request,
        "" for none."""
        state, facts = self.state, self.facts
        if (
            state.phase == "fresh"
            and facts.resume_url
            and reason in ("watermark", "unchanged")
            and state.page < facts.resume_page
        ):
            state.phase, state.page, state.next_url, state.stale = (
                "resume",
                facts.resume_page,
                facts.resume_url,
                0,
            )
            return facts.resume_url
        state.stopped_by = reason
        if state.pages_read > 1:
            state.phase, state.next_url = "recheck", state.top_url
            return state.top_url
        return self._close(reason)

    def _again(self, next_url: str) -> str:
        """Returns the page to read next in the phase recheck: `next_url` if there is one, page 1
        after any other page, else "". Threads that are missed because they move all the time stand
        above the watermark: the next visit meets them."""
        state = self.state
        state.rechecked += 1
        follow = next_url or (state.top_url if state.next_url != state.top_url else "")
        if not follow or state.rechecked >= MOST_AGAIN:
            return self._close(state.stopped_by)
        state.next_url = follow
        return follow

    def _close(self, reason: str, complete: bool = True) -> str:
        self.state.stopped_by, self.state.complete = reason, complete
        if complete:
            self.state.next_url = ""
        return ""


def pages_ahead(
    payload: Mapping[str, Any], page: int, links: PageReading, most: int
) -> dict[int, str]:
    """Returns the addresses, by number, of the pages of a thread to read after `page`, up to the
    number `most`: the next one, and those that the pager names beyond it, in case that the next one
    cannot be read. If only missing pages of a known thread are asked for once more, these come
    first."""
    ahead: dict[int, str] = dict(payload.get("ahead") or ())
    missed = payload.get("missed")
    if payload.get("known") or not (links.next or missed):
        return ahead or ({page + 1: links.next} if links.next else {})
    numbers = {url: number for number, url in links.numbered}
    own = links.current or numbers.get(links.next or "", page + 1) - 1
    named = {number - own + page: url for number, url in links.numbered if number > own}
    if links.next:
        named[page + 1] = links.next
    some = sorted(named.items())
    found = dict([*some[:MOST_AHEAD], *some[-1:]]) | (ahead if missed else {})
    return {number: url for number, url in found.items() if number <= most}


def missed(
    payload: Mapping[str, Any], page: int, url: str, failure: str | None
) -> list[tuple[int, str, str]]:
    """Returns the pages of a thread that were missing so far (`payload`), as (number, address,
    reason), with this one if it arrived only in part, for example because it is too large:
    `failure` is the reason, None for a whole page."""
    return [*(payload.get("missed") or ()), *([(page, url, str(failure))] if failure else [])]


def page_after(page: int, url: str, ahead: Mapping[int, str]) -> dict[int, str]:
    """Returns the address of the page after a missing one, by its number, if pagers named only
    later ones (`ahead`) and the addresses of the two differ in one number; {} otherwise.

    >>> page_after(3, "http://a.org/t/7?start=40", {9: "http://a.org/t/7?start=160"})
    {4: 'http://a.org/t/7?start=60'}
    """
    later = min((number for number in ahead if number > page), default=page + 1)
    parts, others = (re.split(r"(\d+)", one) for one in (url, ahead.get(later, "")))
    differ = [at for at, (one, two) in enumerate(zip(parts, others, strict=False)) if one != two]
    if later == page + 1 or len(parts) != len(others) or len(differ) != 1 or not differ[0] % 2:
        return {}
    step, rest = divmod(int(others[differ[0]]) - int(parts[differ[0]]), later - page)
    parts[differ[0]] = str(int(parts[differ[0]]) + step)
    return {} if rest or step < 1 else {page + 1: "".join(parts)}


def watermark(state: VisitState, started: datetime) -> datetime:
    """Returns the time up to which a complete visit has processed the list: its start, or the
    newest last reply seen if that is earlier."""
    return min(started, datetime.fromisoformat(state.newest)) if state.newest else started


@dataclass(slots=True)
class _Tally:
    """Counts of rows of one list page, by which a visit decides whether to go on to the next page.
    Pinned rows and rows seen before in this visit are not counted.

    ordered: whether the page is sorted by last reply. moved: whether all its rows have moved up
    since page 1 was read before. fresh: number of counted rows. hits: number
    of these that are new, changed or already fetched by other means. past: number of these that are
    older than the history to fetch, or than the newest last reply that a complete visit has
    processed (the watermark).
    """

    ordered: bool
    moved: bool = False
    fresh: int = 0
    hits: int = 0
    past: int = 0
