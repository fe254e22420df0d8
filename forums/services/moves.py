"""Changed addresses of a site: finds stored boards and threads under their new addresses, and
stores these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from forums.discovery import SiteModel
from forums.discovery.shapes import shape
from forums.incremental import FINE_SECONDS
from forums.models import Board, Thread
from forums.reading import ThreadRecord, board_key, first_page, thread_key


@dataclass(frozen=True, slots=True)
class Shown:
    """A thread as a list shows it, reduced to what identifies a stored one. Times are pairs (time,
    precision in seconds)."""

    url: str
    title: str
    author: str = ""
    created: tuple[datetime, int] | None = None
    last_reply: tuple[datetime, int] | None = None
    replies: int | None = None

    @property
    def key(self) -> str:
        return thread_key(self.url)


def of_record(record: ThreadRecord) -> Shown:
    """Returns what identifies the thread of a list row, for finding it again under another
    address."""
    created, last = (
        (moment.value, moment.precision_seconds) if moment is not None else None
        for moment in (record.created, record.last_reply)
    )
    return Shown(record.url, record.title or "", record.author or "", created, last, record.replies)


def of_model(model: SiteModel) -> list[Shown]:
    """Returns the threads in the first rows of a model's boards, with the values by which a stored
    thread can be found again (title, author, times …). The model has no precision for the times of
    last replies; they count as precise to a day.
    """
    return [_of_row(row) for board in model.boards for row in board.rows if row.get("url")]


def _of_row(row: Mapping[str, Any]) -> Shown:
    told = row.get("last_reply")
    last = (datetime.fromisoformat(told), int(timedelta(days=1).total_seconds())) if told else None
    return Shown(
        str(row["url"]),
        row.get("title") or "",
        row.get("author") or "",
        None,
        last,
        row.get("replies"),
    )


def found_again(site_id: int, rows: Iterable[Shown]) -> dict[str, Thread]:
    """Returns the stored thread that matches each row under an unknown address, by the key of that
    address; rows without exactly one match are missing.

    The title must be equal, and author and times must agree as far as both are known, at least one
    of them. A thread that the rows show under its stored address, or whose stored address has the
    same form as the row's, is never a match.
    """
    shown = {row.key: row for row in rows if row.title}
    known = set(
        Thread.objects.filter(site_id=site_id, key__in=list(shown)).values_list("key", flat=True)
    )
    strange = {key: row for key, row in shown.items() if key not in known}
    titled: dict[str, list[Thread]] = {}
    for thread in Thread.objects.filter(
        site_id=site_id, title__in=[row.title[:500] for row in strange.values()]
    ):
        if thread.key not in known:
            titled.setdefault(thread.title, []).append(thread)
    pairs: dict[str, Thread] = {}
    for key, row in strange.items():
        same = [thread for thread in titled.get(row.title[:500], ()) if _agrees(thread, row)]
        rivals = sum(other.title == row.title for other in strange.values())
        if len(same) == 1 and (rivals == 1 or row.author):
            pairs[key] = same[0]
    taken = [thread.pk for thread in pairs.values()]
    return {key: thread for key, thread in pairs.items() if taken.count(thread.pk) == 1}


def _agrees(thread: Thread, row: Shown) -> bool:
    if shape(thread.url) == shape(first_page(row.url)):
        return False
    if thread.replies is not None and row.replies is not None and row.replies < thread.replies - 1:
        # A moved thread loses no replies. One less is accepted, because the old address may have
        # counted all posts as replies.
        return False
    told = 0
    if thread.author and row.author:
        if thread.author != row.author[:200]:
            return False
        told += 1
    if thread.created is not None and row.created is not None:
        if abs((thread.created - row.created[0]).total_seconds()) > row.created[1] + FINE_SECONDS:
            return False
        told += 1
    if thread.last_reply is not None and row.last_reply is not None:
        if (thread.last_reply - row.last_reply[0]).total_seconds() > row.last_reply[
            1
        ] + FINE_SECONDS:
            return False  # a list may show replies newer than the stored ones, but never older ones
        told += 1
    return told > 0


def follow(site_id: int, rows: Iterable[Shown]) -> int:
    """Changes the addresses of the stored threads that match rows of a list to the addresses in
    these rows; returns how many. The positions of their last pages are reset, so that such a thread
    is read from its first page when it changes.
    """
    rows = list(rows)
    urls = {row.key: first_page(row.url) for row in rows}
    pairs = found_again(site_id, rows)
    for key, thread in pairs.items():
        # drop "l", the address of the newest post: it contains the thread's address, which has
        # changed
        signature = {name: value for name, value in thread.signature.items() if name != "l"}
        Thread.objects.filter(pk=thread.pk).update(
            key=key,
            url=urls[key],
            signature=signature,
            last_page_url="",
            previous_page_url="",
            last_page=1,
            missing={},
            gone_at=None,
        )
    return len(pairs)


def follow_boards(site_id: int, model: SiteModel) -> int:
    """Updates the addresses of stored boards that have moved, and returns their number. A board has
    moved if the model has no board at its address, but a new one with its name. Names that occur
    more than once, in the model or among the stored boards that were not found, are ignored."""
    stored = {board.key: board for board in Board.objects.filter(site_id=site_id)}
    found = {board_key(board.url): board for board in model.boards}
    lost = [board for key, board in stored.items() if key not in found]
    moved = 0
    for key, board in found.items():
        name = board.name.casefold()
        alike = [one for one in lost if one.name.casefold() == name]
        if (
            key in stored
            or len(alike) != 1
            or sum(one.name.casefold() == name for one in model.boards) != 1
        ):
            continue
        Board.objects.filter(pk=alike[0].pk).update(key=key, url=board.url, unfinished={})
        lost.remove(alike[0])
        moved += 1
    return moved
