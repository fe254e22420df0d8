"""Several addresses of one thread or board: finds stored ones under new addresses, joins two rows
that turn out to be one thread, and decides which board a thread belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.pages.html import page_title
from forums.discovery import SiteModel
from forums.discovery.shapes import shape
from forums.models import Alias, Board, Post, Thread, Visit
from forums.reading import (
    PageReading,
    PostRecord,
    ThreadRecord,
    board_key,
    first_page,
    names_post,
    post_key,
    thread_key,
)
from forums.visits import threads
from forums.visits.incremental import FINE_SECONDS, Row, VisitState, signature

# share of the shorter of two titles that both have in common if they name one thread
ALIKE = 0.6
# a visit's pages are believed about the boards of their threads if at least this many threads, and
# twice as many as they contradict, are in the board that the lists say
FEWEST_PLACED = 2
SAME_THREAD, REDIRECTED = "same_thread", "redirected"
UNLIKE_ALL = {"n": -1, "a": "", "l": ""}  # a signature from which that of every row differs


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


# --- several addresses of one thread
# --------------------------------------------------------------------------------------------------


def known(site_id: int, urls: Iterable[str], since: datetime | None = None) -> dict[str, Thread]:
    """Returns the stored threads to which addresses lead, by the key of the address: directly, by
    an alias, or as the address of a stored post, if the thread has replies after `since`."""
    keys = {thread_key(url): url for url in urls}
    found = {one.key: one for one in Thread.objects.filter(site_id=site_id, key__in=list(keys))}
    aliases = Alias.objects.filter(site_id=site_id, key__in=list(keys.keys() - found.keys()))
    found |= {one.key: one.thread for one in aliases.select_related("thread")}
    posts = {post_key(url): key for key, url in keys.items() if names_post(url)}
    if since is not None and posts:
        ids = [key for one in posts for key in stored_keys(one)]
        stored = Post.objects.filter(
            thread__site_id=site_id, thread__last_reply__gte=since, key__in=ids
        )
        for post in stored.select_related("thread"):
            if (key := posts.get(post_key(post.url))) is not None:
                found.setdefault(key, post.thread)
    return found


def stored_keys(key: str) -> list[str]:
    """Returns the keys that a post with the key `key` of its address may have in its thread."""
    number = key.partition(" p:")[2]
    return [f"i{number}", f"ip{number}"]


def told_elsewhere(board: Board, rows: Sequence[tuple[Row, ThreadRecord]]) -> dict[str, Any]:
    """Returns the signatures to compare those rows of a list with that do not stand for a thread of
    its board, by key: rows that lead to a thread under another address, and rows of threads of
    other boards, which a list shows after they were moved away or because they are stuck in all
    boards. Such a thread has changed only if its row shows more than is stored, as has one of this
    board of which no list row was read yet."""
    keys = [row.key for row, _record in rows]
    stored = {t.key: t for t in Thread.objects.filter(site_id=board.site_id, key__in=keys)}
    aliases = Alias.objects.filter(site_id=board.site_id, key__in=keys)
    told = {one.key: one.signature for one in aliases if one.key not in stored}
    below = set(Board.objects.filter(parent_id=board.pk).values_list("pk", flat=True))
    for row, record in rows:
        thread = stored.get(row.key)
        if thread is None or record.board_url:
            continue
        strange, more = thread.board_id not in {board.pk, *below}, _shows_more(thread, row)
        if strange and not more:
            told[row.key] = signature(row)
        elif more and not thread.signature and not strange:
            told[row.key] = UNLIKE_ALL
    return told


def _shows_more(thread: Thread, row: Row) -> bool:
    """Tells whether a row shows a later reply than a fetched thread has, or more replies; True if
    the row shows neither."""
    if thread.fetched_at is None:
        return False
    if row.last_reply is None and row.replies is None:
        return True
    if row.replies is not None and row.replies > max(thread.replies or 0, thread.posts - 1):
        return True
    last, at = row.last_reply, thread.last_reply
    return (
        last is not None
        and not last.relative
        and (at is None or last.value > at + timedelta(seconds=FINE_SECONDS))
    )


def strange(
    thread: Thread | None, asked: str, response: FetchResponse, reading: PageReading
) -> str:
    """Returns why a page that was requested at the address `asked` of a stored thread is not stored
    as one of it: SAME_THREAD if it is another stored thread's (None: that was found before), to
    which this one is now joined; REDIRECTED if neither title nor posts show that both are one, as
    on a page to which all threads of a site are redirected. "" if it is the thread's; if its final
    address is that of a thread which is not stored, the thread gets this address and its old key
    becomes an alias.
    """
    if thread is None:
        return SAME_THREAD
    found = reading.address or response.url
    key = thread_key(found)
    by_interface = response.request_url != asked
    if by_interface or key == thread.key or thread_key(asked) != thread.key:
        return ""
    alike = _alike(thread.title, page_title(response.text))
    if not (names_post(asked) or alike or _shares(thread, reading)):
        return REDIRECTED
    other = known(thread.site_id, [found]).get(key)
    if other is not None and other.pk != thread.pk:
        join(other, thread)
        return SAME_THREAD
    if names_post(asked) or shape(first_page(found)) == shape(thread.url):
        old, thread.key, thread.url = thread.key, key, first_page(found)
        thread.replies = None  # that of another row, which may be old
        Thread.objects.filter(pk=thread.pk).update(
            key=key, url=thread.url, replies=None, signature={}
        )
        key = old
    _alias(thread, key, thread.signature)
    return ""


def _alike(title: str, other: str) -> bool:
    a, b = ("".join(filter(str.isalnum, text.casefold())) for text in (title, other))
    common = SequenceMatcher(None, a, b, autojunk=False).find_longest_match()
    return common.size >= ALIKE * min(len(a), len(b)) > 0


def _shares(thread: Thread, reading: PageReading) -> bool:
    keys = threads.post_keys([one for one in reading.records if isinstance(one, PostRecord)])
    return thread.all_posts.filter(key__in=keys, post_id__gt="").exists()


def are_one(thread: Any, other: Any) -> bool:
    """Tells whether two stored threads, one of which was redirected to the other, are one by their
    titles or by a post that both have."""
    ids = other.all_posts.exclude(post_id="").values("key")
    return _alike(thread.title, other.title) or thread.all_posts.filter(key__in=ids).exists()


def _alias(thread: Any, key: str, told: Mapping[str, Any]) -> None:
    thread.site.aliases.update_or_create(
        site_id=thread.site_id, key=key, defaults={"thread": thread, "signature": told}
    )


@transaction.atomic
def join(thread: Any, other: Any) -> None:
    """Joins `other` to `thread`, because both are one: its posts are kept, those stored twice once,
    with the earlier time at which they were first seen; its key becomes an alias.

    Names no model, so that migrations can call it with the models of their time.
    """
    here, there = list(thread.all_posts.all()), list(other.all_posts.all())
    own = {key: post for post in here for key in _ids(post)}
    new = [post for post in there if not own.keys() & _ids(post)]
    for post in there:
        same = next((own[key] for key in _ids(post) if key in own), None)
        if same is not None:
            same.first_seen = min(same.first_seen, post.first_seen)
            same.edited_at = same.edited_at or post.edited_at
            same.gone_at = same.gone_at and post.gone_at
    other.all_posts.model.objects.bulk_update(here, ["first_seen", "edited_at", "gone_at"], 200)
    was_fetched = thread.fetched_at is not None
    _count(other, there, -1, fetched=other.fetched_at is not None)
    _count(thread, new, 1, fetched=not was_fetched and other.fetched_at is not None)
    other.all_posts.filter(pk__in=[post.pk for post in new]).update(thread=thread)
    names = ["first_seen", "posts", "last_reply", "pending"]
    thread.first_seen = min(thread.first_seen, other.first_seen)
    thread.posts += len(new)
    thread.last_reply = max(filter(None, (thread.last_reply, other.last_reply)), default=None)
    thread.pending |= other.pending and not was_fetched
    if not was_fetched:
        for name in ("fetched_at", "last_page_url", "previous_page_url", "last_page", "created"):
            setattr(thread, name, getattr(other, name))
            names.append(name)
    thread.save(update_fields=names)
    other.aliases.update(thread=thread)
    _alias(thread, other.key, other.signature)
    other.delete()


def _ids(post: Any) -> set[object]:
    """Returns what identifies a post within its thread: its key, and author, time and text."""
    return {post.key, (post.author, post.posted, post.text)}


def _count(thread: Any, posts: Sequence[Any], sign: int, *, fetched: bool) -> None:
    """Adds posts of a thread (sign 1), or takes them away (-1), in the counts of its board, site
    and hours; also the thread itself if `fetched`."""
    for row in (thread.board, thread.site):
        type(row).objects.filter(pk=row.pk).update(
            threads=Greatest(F("threads") + sign * fetched, 0),
            posts=Greatest(F("posts") + sign * len(posts), 0),
        )
    hourly = [
        (post.posted, post.page == 1 and post.position == 0, sign)
        for post in posts
        if post.posted is not None and post.precision_seconds <= threads.HOUR_SECONDS
    ]
    threads.count_hours(thread.board_id, hourly, thread.board.hours.model)


def note_board(visit: Visit, thread: Thread, url: str | None) -> None:
    """Compares the board that a thread's page names as its own (address `url`) with the visited one
    whose list shows the thread: puts the thread there if they agree, otherwise notes the other
    board in the visit's state."""
    boards = Board.objects.filter(site_id=thread.site_id, key=board_key(url) if url else "")
    home = boards.values_list("pk", flat=True).first()
    if home is None:
        return
    state = VisitState.from_json(visit.state)
    if home == visit.board_id:
        state.placed += 1
    elif home != thread.board_id:
        state.elsewhere[str(thread.pk)] = home
    if home == visit.board_id != thread.board_id:
        _put(thread, home)
    visit.state = state.to_json()
    Visit.objects.filter(pk=visit.pk).update(state=visit.state)


def to_their_boards(visit: Visit, state: VisitState) -> None:
    """Moves the threads to their boards whose pages named another one than the list did. The pages
    are believed if they name the list's board for most threads of the board's visits; otherwise
    what was read above the posts is something else, such as a menu."""
    if not state.elsewhere:
        return
    earlier = Visit.objects.filter(board_id=visit.board_id, pk__lt=visit.pk).order_by("-pk")
    states = earlier.values_list("state__placed", flat=True)[:20]
    agree = state.placed + sum(one or 0 for one in states)
    if agree >= max(FEWEST_PLACED, 2 * len(state.elsewhere)):
        for thread in Thread.objects.filter(pk__in=list(state.elsewhere)):
            _put(thread, state.elsewhere[str(thread.pk)])


def _put(thread: Thread, board_id: int) -> None:
    posts, fetched = list(thread.all_posts.all()), thread.fetched_at is not None
    _count(thread, posts, -1, fetched=fetched)
    thread.board = Board.objects.get(pk=board_id)
    thread.save(update_fields=["board"])
    _count(thread, posts, 1, fetched=fetched)
