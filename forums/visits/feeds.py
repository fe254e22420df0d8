"""Threads named by feeds and sitemaps: removes duplicates, assigns threads to boards, and compares
them with what is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from crawlmgr.text.dates import Moment
from forums.discovery.shapes import shape
from forums.models import Board, Site, SourceKind, Thread
from forums.reading import PageReading, ThreadRecord, board_key, names_post
from forums.visits import incremental, threads

KINDS = frozenset((SourceKind.FEED, SourceKind.SITEMAP))
MAX_ROWS = 500  # largest number of entries of one feed that are used, newest first
SLACK = timedelta(
    seconds=60
)  # a thread has changed only if its entry is later than its newest fetched post by more than this
# an entry up to this much earlier than the last fetch of its thread may still be new: the site's
# clock may be behind ours
SKEW = timedelta(hours=1)

Named = tuple[incremental.Row, ThreadRecord]


def named(reading: PageReading) -> list[Named]:
    """Returns the threads named by a feed or sitemap, without duplicates, newest first. An entry
    may be any post of its thread, so only its address, board, title and time are used. Entries
    without time are ignored."""
    newest: dict[str, Named] = {}
    for record in reading.records:
        times = (
            [at for at in (record.last_reply, record.created) if at]
            if isinstance(record, ThreadRecord)
            else []
        )
        if not isinstance(record, ThreadRecord) or not times:
            continue
        at = max(times, key=lambda moment: moment.value)
        told = ThreadRecord(
            record.url,
            record.title,
            last_reply=at,
            board_url=record.board_url,
            board_name=record.board_name,
        )
        row = threads.to_row(told)
        if row.key not in newest or _at(newest[row.key][0]) < at.value:
            newest[row.key] = (row, told)
    return sorted(newest.values(), key=lambda pair: _at(pair[0]), reverse=True)[:MAX_ROWS]


def _at(row: incremental.Row) -> datetime:
    assert row.last_reply is not None  # noqa: S101 - rows of feeds have a time
    return row.last_reply.value


def changed(thread: Thread | None, row: incremental.Row) -> bool:
    """Tells whether a thread may have unfetched posts: True if it is unknown (None), or if its feed
    entry `row` is newer than both its newest fetched post and its last fetch. (The entry may also
    be newer because of an edit.) False for a thread marked as deleted."""
    if thread is None:
        return True
    if thread.gone_at is not None:
        return False
    at, known = _at(row), thread.last_reply or thread.created
    since = thread.fetched_at
    return (known is None or at > known + SLACK) and (since is None or at > since - SKEW)


def keep_signatures(stored: dict[str, Thread], known: dict[str, dict[str, object]]) -> None:
    """Restores the earlier change signatures (`known`, by thread key) of threads that were just
    stored from a feed. Only the time of last change is taken from the feed, because a feed shows
    less than a list."""
    kept = [thread for key, thread in stored.items() if known.get(key)]
    for thread in kept:
        old = known[thread.key]
        thread.signature = {
            **old,
            **({k: v for k, v in thread.signature.items() if k in "tpr"} if "t" in old else {}),
        }
    Thread.objects.bulk_update(kept, ["signature"], batch_size=100)


class Places:
    """The boards of a site, for finding the board that a row of a feed or list belongs to."""

    def __init__(self, site: Site) -> None:
        self.boards = {
            board.key: board for board in Board.objects.filter(site=site).select_related("site")
        }
        self.by_id = {board.pk: board for board in self.boards.values()}
        names: dict[str, list[Board]] = {}
        for board in self.boards.values():
            names.setdefault(" ".join(board.name.casefold().split()), []).append(board)
        self._names = {name: found[0] for name, found in names.items() if len(found) == 1}
        self._shapes = frozenset((site.structure.get("patterns") or {}).get("thread", ()))

    def home(
        self, row: incremental.Row, record: ThreadRecord, thread: Thread | None
    ) -> Board | None:
        """Returns the board of a row; None if unknown. It is the board whose address the row
        contains, otherwise that of the known thread. For a new thread whose address has the form of
        threads, it is the board named in the row, or one whose address begins the row's."""
        if record.board_url and (own := self.boards.get(board_key(record.board_url))) is not None:
            return own
        if thread is not None:
            return self.by_id.get(thread.board_id)
        if shape(row.url) not in self._shapes:
            return None
        return self._names.get(
            " ".join((record.board_name or "").casefold().split())
        ) or self._above(row.url)

    def unresolved(self, row: incremental.Row) -> bool:
        """Tells whether only the page at a row's address shows to which thread it leads: the
        address names a post, or has neither a thread's id nor the form of threads."""
        unlike = bool(self._shapes) and shape(row.url) not in self._shapes
        return names_post(row.url) or (" " not in row.key and unlike)

    def _above(self, url: str) -> Board | None:
        path = urlsplit(url).path
        above = [
            board
            for board in self.boards.values()
            if path.startswith(_folder(board.url)) and len(_folder(board.url)) > 1
        ]
        return max(above, key=lambda board: len(_folder(board.url)), default=None)


def _folder(url: str) -> str:
    """Returns the beginning of the paths of all pages below the address `url`, such as "/a/" for
    "/a"; "/" if the address has a query, since its path does not tell which pages are below it."""
    parts = urlsplit(url)
    return "/" if parts.query else parts.path.rstrip("/") + "/"


def reaches_back(rows: Iterable[Named], to: datetime | None) -> bool:
    """Tells whether a list, newest first, reaches back to the time `to` or earlier, so that nothing
    since then is missing; True for a list without times."""
    times: list[Moment] = [
        row.last_reply for row, _record in rows if row.last_reply is not None and not row.pinned
    ]
    return to is None or not times or min(at.value for at in times) <= to


def plain(record: ThreadRecord, thread: Thread | None, board: Board) -> ThreadRecord:
    """Returns a feed's entry as a list row of its board. The title of a stored thread is not
    replaced by the entry's (it is set to ""), because the entry may be that of a post."""
    return replace(record, title="" if thread is not None else record.title, board_url=board.url)
