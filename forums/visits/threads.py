"""Stores threads and posts: list rows and pages of threads become table rows, each exactly once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F, Max, Min
from django.db.models.functions import Greatest

from crawlmgr.text.dates import Moment
from forums.models import Board, BoardHour, Post, Site, Thread, Visit
from forums.reading import PostRecord, ThreadRecord, board_key, first_page, thread_key
from forums.visits.incremental import FINE_SECONDS, Row, signature

MISSES_ALLOWED = 5
# a list agrees with a thread that has up to this many more stored posts: they may be newer than the
# list
ARRIVED_SINCE = 2
# pages of a thread that could not be read: (number, address, reason)
Missing = Sequence[tuple[int, str, str]]
MAX_REPLIES = (
    2**31 - 1
)  # largest number that the column can store; if a page claims more, this number is stored
HOUR_SECONDS = (
    3600  # only posts whose times are known to this precision or better are counted by hour
)


def fetched_since(visit: Visit, keys: list[str]) -> frozenset[str]:
    """Returns the keys of threads that targeted visits (of threads named by overview sources) have
    fetched since the board's list was last read completely. They have changed since then, so their
    unchanged rows do not prove that the rows below are unchanged."""
    since = visit.board.complete_at
    targeted = Visit.objects.filter(board__site_id=visit.board.site_id, kind=Visit.Kind.TARGETED)
    if since is None or not targeted.filter(finished__gte=since).exists():
        return frozenset()
    rows = Thread.objects.filter(site_id=visit.board.site_id, key__in=keys, fetched_at__gte=since)
    return frozenset(rows.values_list("key", flat=True))


def note_list(board: Board, rows: Sequence[Row], sort: str | None) -> None:
    """Stores how a board's list is sorted, and whether it shows times of last replies."""
    if not rows:
        return
    shows = any(row.last_reply is not None for row in rows)
    sort = sort or board.sort
    if (board.has_last_reply, board.sort) != (shows, sort):
        Board.objects.filter(pk=board.pk).update(has_last_reply=shows, sort=sort or "")


def to_row(record: ThreadRecord) -> Row:
    """Returns the fields of a thread's row in a list by which changes of the thread are detected.
    Its `replies` is the number that the list shows, even if that counts posts."""
    shown = None if record.replies is None else record.replies + bool(record.counts_posts)
    return Row(
        key=thread_key(record.url),
        url=first_page(record.url),
        last_reply=record.last_reply,
        replies=shown,
        last_author=record.last_author,
        last_post=record.last_post_url,
        pinned=record.pinned,
    )


def store_rows(
    board: Board, rows: Sequence[tuple[Row, ThreadRecord]], owed: Iterable[str], now: datetime
) -> dict[str, Thread]:
    """Stores the rows of a list page; returns the threads by key. Threads whose keys are in `owed`
    become pending, that is, to be fetched. A thread is moved to the board that its row names; a
    new one is otherwise put into `board`.
    """
    owed = set(owed)
    boards = _boards_of(board.site_id) if any(record.board_url for _row, record in rows) else {}
    have = {
        t.key: t
        for t in Thread.objects.filter(
            site_id=board.site_id, key__in=[row.key for row, _record in rows]
        )
    }
    fresh: dict[str, Thread] = {}
    names = [
        "board_id",
        "url",
        "title",
        "author",
        "created",
        "last_reply",
        "replies",
        "pinned",
        "signature",
        "pending",
    ]
    before = {thread.pk: [getattr(thread, name) for name in names] for thread in have.values()}
    for row, record in rows:
        home = boards.get(board_key(record.board_url), board.pk) if record.board_url else board.pk
        thread = have.get(row.key)
        if thread is None:
            if row.key in fresh:
                continue
            thread = Thread(site_id=board.site_id, board_id=home, key=row.key, first_seen=now)
            fresh[row.key] = thread
        elif not record.board_url:
            home = (
                thread.board_id
            )  # a board also lists threads of others (`moved_addresses.told_elsewhere`)
        _copy(thread, row, record, home)
        thread.pending = thread.pending or row.key in owed
    Thread.objects.bulk_create(list(fresh.values()), ignore_conflicts=False)
    changed = [
        thread
        for thread in have.values()
        if [getattr(thread, name) for name in names] != before[thread.pk]
    ]
    Thread.objects.bulk_update(changed, ["board", *names[1:]], batch_size=100)
    return have | fresh


def _copy(thread: Thread, row: Row, record: ThreadRecord, board_id: int) -> None:
    thread.board_id = board_id
    thread.url = thread.url or row.url
    thread.title = (record.title or thread.title)[:500]
    thread.author = thread.author or (record.author or "")[:200]
    if thread.created is None and record.created is not None:
        thread.created = record.created.value
    if record.last_reply is not None and not (
        thread.last_reply and _adds_nothing(record.last_reply, thread.last_reply)
    ):
        thread.last_reply = record.last_reply.value
    if record.replies is not None:
        thread.replies = min(max(0, record.replies), MAX_REPLIES)
    thread.pinned = record.pinned
    thread.signature = signature(row)


def _adds_nothing(moment: Moment, known: datetime) -> bool:
    """Tells whether a time shown in a list adds nothing to the known time: it is relative, or is
    the day or minute that contains the known time."""
    return moment.relative or moment.value <= known < moment.value + timedelta(
        seconds=moment.precision_seconds
    )


def signatures(board: Board, keys: list[str], since: datetime | None) -> dict[str, Any]:
    """Returns the signatures, by key, of those threads that are stored. With a bound `since` on
    their age, threads that were skipped as too old are left out: they are fetched if they are
    recent enough by now."""
    stored = Thread.objects.filter(site_id=board.site_id, key__in=keys)
    if since is not None and board.watermark is not None:
        stored = stored.exclude(fetched_at__isnull=True, pending=False)
    return dict(stored.values_list("key", "signature"))


def _boards_of(site_id: int) -> dict[str, int]:
    return dict(Board.objects.filter(site_id=site_id).values_list("key", "pk"))


@dataclass(frozen=True, slots=True)
class PageStored:
    """The result of storing one page of a thread: the numbers of posts that are new, of those
    changed or deleted (`altered`), and of those stored before (`known`). `arrivals` describes each
    new post with a time precise to an hour or better: that time, whether the post is the first of
    its thread, and the precision in seconds."""

    new: int
    altered: int
    known: int
    arrivals: tuple[tuple[datetime, bool, int], ...] = ()


def post_keys(records: Sequence[PostRecord]) -> list[str]:
    """Returns a key for each post: the site's own id, otherwise a digest of author, time and text,
    with a number if that repeats on the page."""
    keys: list[str] = []
    times: Counter[str] = Counter()
    for record in records:
        if record.post_id:
            key = f"i{record.post_id}"[:80]
        else:
            posted = (
                record.posted.value.isoformat()
                if record.posted and not record.posted.relative
                else ""
            )
            digest = hashlib.blake2b(
                "\x1f".join((record.author or "", posted, record.text[:500])).encode(),
                digest_size=12,
            )
            key = f"d{digest.hexdigest()}"
        times[key] += 1
        keys.append(key if times[key] == 1 else f"{key}#{times[key]}")
    return keys


def store_page(
    thread: Thread, page: int, records: Sequence[PostRecord], now: datetime
) -> PageStored:
    """Inserts or updates the posts of one page of a thread. Posts that were stored from this page
    earlier and are now missing from it are marked as deleted if they come after a post that the
    page still shows (see `_mark_gone`).
    """
    keys = post_keys(records)
    _rekey(thread, page, keys, records)
    first_kept = Post.objects.filter(
        thread=thread, page=page, key__in=keys, gone_at__isnull=True
    ).aggregate(at=Min("position"))["at"]
    have = {post.key: post for post in Post.objects.filter(thread=thread, key__in=keys)}
    new: list[Post] = []
    altered: list[Post] = []
    refined: list[tuple[Post, datetime | None, int]] = []
    for position, (key, record) in enumerate(zip(keys, records, strict=True)):
        post = have.get(key)
        if post is None:
            new.append(new_post(thread, page, position, key, record, now))
            continue
        if record.posted is not None and _is_finer(record.posted, post):
            refined.append((post, post.posted, post.precision_seconds))
            post.posted, post.precision_seconds = (
                record.posted.value,
                record.posted.precision_seconds,
            )
        if (post.text, post.page, post.position) != (record.text, page, position) or post.gone_at:
            if post.text != record.text or post.gone_at:
                post.edited_at = now
                altered.append(post)
            post.text, post.page, post.position, post.gone_at = record.text, page, position, None
            post.save(update_fields=["text", "page", "position", "gone_at", "edited_at"])
    Post.objects.bulk_create(new, batch_size=200)
    _refine(thread, refined)
    gone = 0 if first_kept is None else _mark_gone(thread, page, keys, first_kept, now)
    count_new(thread, page, new)
    arrivals = tuple(
        (one.posted, page == 1 and one.position == 0, one.precision_seconds)
        for one in new
        if one.posted and one.precision_seconds <= HOUR_SECONDS
    )
    return PageStored(len(new), len(altered) + gone, len(have), arrivals)


def _is_finer(shown: Moment, post: Post) -> bool:
    """Tells whether a page now shows a post's time more precisely than stored, as "08:55" after "3
    minutes ago".

    A smaller unit is more precise than a larger one; with equal units an absolute time is more
    precise than a relative one. A time that contradicts the stored one belongs to something else,
    perhaps an edit, and is not more precise.
    """
    if post.posted is None:
        return True
    if (
        abs((shown.value - post.posted).total_seconds())
        > shown.precision_seconds + post.precision_seconds + FINE_SECONDS
    ):
        return False
    counted_back = bool(
        post.posted.microsecond or (post.posted.second and post.precision_seconds >= FINE_SECONDS)
    )
    return (shown.precision_seconds, shown.relative) < (post.precision_seconds, counted_back)


def _refine(thread: Thread, refined: Sequence[tuple[Post, datetime | None, int]]) -> None:
    """Stores more precise times of known posts, given as (post, previous time, previous precision),
    and moves the posts to the right hour of their board's counts; they do not count as new."""
    Post.objects.bulk_update(
        [post for post, _time, _precision in refined],
        ["posted", "precision_seconds"],
        batch_size=200,
    )
    moved: list[tuple[datetime, bool, int]] = []
    for post, time, precision in refined:
        opening = post.page == 1 and post.position == 0
        moved += [(time, opening, -1)] if time is not None and precision <= HOUR_SECONDS else []
        moved += (
            [(post.posted, opening, 1)]
            if post.posted is not None and post.precision_seconds <= HOUR_SECONDS
            else []
        )
        if time is not None:
            Thread.objects.filter(pk=thread.pk, created=time).update(created=post.posted)
            Thread.objects.filter(pk=thread.pk, last_reply=time).update(last_reply=post.posted)
    count_hours(thread.board_id, moved)


def _rekey(thread: Thread, page: int, keys: Sequence[str], records: Sequence[PostRecord]) -> None:
    """Gives stored posts the keys that they have on the page now, so that none is stored twice: a
    new layout may show post ids for the first time, in another form, or as mere numbers. Author,
    text and time identify a post. If at least half of those stored under these keys have the right
    author, only keys of this page that are digests are replaced: digests change when a relative
    time becomes absolute."""
    if thread.fetched_at is None:
        return
    named = dict(zip(keys, records, strict=True))
    known = Post.objects.filter(thread=thread, key__in=keys).only("key", "author")
    agree = [post.author == (named[post.key].author or "")[:200] for post in known]
    theirs = Post.objects.filter(
        thread=thread, author__in={(record.author or "")[:200] for record in records}
    ).order_by("id")
    if agree and sum(agree) * 2 >= len(agree):
        for post in known:
            del named[post.key]
        theirs, known = (
            theirs.filter(page=page, key__startswith="d").exclude(key__in=keys),
            known.none(),
        )
    stored: dict[tuple[str, str], list[Post]] = {}
    for post in theirs if named else ():
        stored.setdefault((post.author, _spaced(post.text)), []).append(post)
    pairs: list[tuple[Post, str, PostRecord]] = []
    for key, record in named.items():
        alike = stored.get(((record.author or "")[:200], _spaced(record.text)), [])
        same = next((post for post in alike if _same_time(post, record)), None)
        if same is not None:
            alike.remove(same)
            pairs.append((same, key, record))
    if not pairs:
        return
    # set temporary keys first: a new key may be another post's old one
    for post in [*known, *(post for post, _key, _record in pairs)]:
        Post.objects.filter(pk=post.pk).update(key=f"was {post.pk}")
    for post, key, record in pairs:
        Post.objects.filter(pk=post.pk).update(
            key=key, post_id=(record.post_id or post.post_id)[:80], text=record.text
        )


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _same_time(post: Post, record: PostRecord) -> bool:
    if post.posted is None or record.posted is None:
        return True
    apart = abs((record.posted.value - post.posted).total_seconds())
    return apart <= FINE_SECONDS + post.precision_seconds + record.posted.precision_seconds


def new_post(
    thread: Thread, page: int, position: int, key: str, record: PostRecord, now: datetime
) -> Post:
    """Returns a post (not saved yet) from a record on a page of its thread."""
    return Post(
        thread=thread,
        key=key,
        post_id=(record.post_id or "")[:80],
        page=page,
        position=position,
        author=(record.author or "")[:200],
        posted=record.posted.value if record.posted else None,
        precision_seconds=record.posted.precision_seconds if record.posted else 0,
        text=record.text,
        url=record.url or "",
        first_seen=now,
    )


def _mark_gone(thread: Thread, page: int, keys: Sequence[str], after: int, now: datetime) -> int:
    """Marks posts as deleted that were on this page after position `after` and are not in `keys`;
    returns their number. Posts before that position are left alone, since they may have moved to
    the previous page after an older one was deleted.
    """
    missing = Post.objects.filter(
        thread=thread, page=page, position__gt=after, gone_at__isnull=True
    ).exclude(key__in=keys)
    return missing.update(gone_at=now)


def count_new(thread: Thread, page: int, new: Sequence[Post]) -> None:
    """Adds posts stored for the first time to the counts of thread, board, site and hours."""
    if not new:
        return
    timed = [
        post for post in new if post.posted is not None and post.precision_seconds <= HOUR_SECONDS
    ]
    count_hours(
        thread.board_id,
        [(post.posted, page == 1 and post.position == 0, 1) for post in timed if post.posted],
    )
    Thread.objects.filter(pk=thread.pk).update(posts=F("posts") + len(new))
    Board.objects.filter(pk=thread.board_id).update(posts=F("posts") + len(new))
    Site.objects.filter(pk=thread.site_id).update(posts=F("posts") + len(new))


def count_hours(
    board_id: int, posts: Sequence[tuple[datetime, bool, int]], model: Any = BoardHour
) -> None:
    """Adds posts to the counts of a board's hours, each given as (time, whether it is a first post,
    1 to add or -1 to subtract)."""
    hours: dict[datetime, list[int]] = {}
    for time, opening, delta in posts:
        hour = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        hours.setdefault(hour, [0, 0])[0 if opening else 1] += delta
    hours = {hour: deltas for hour, deltas in hours.items() if any(deltas)}
    model.objects.bulk_create(
        [model(board_id=board_id, hour=hour) for hour in hours], ignore_conflicts=True
    )
    for hour, (threads, replies) in hours.items():
        model.objects.filter(board_id=board_id, hour=hour).update(
            threads=Greatest(F("threads") + threads, 0), replies=Greatest(F("replies") + replies, 0)
        )


def set_opening(thread: Thread, records: Sequence[PostRecord]) -> None:
    """Sets the creation time of a thread, and its author if not known yet, from the posts of its
    first page."""
    if not records:
        return
    first = records[0]
    values: dict[str, object] = {}
    if first.author and not thread.author:
        values["author"] = first.author[:200]
    if first.posted is not None:
        stored = Post.objects.filter(
            thread=thread, page=1, position=0, gone_at__isnull=True
        ).first()
        hourly = first.posted.precision_seconds <= HOUR_SECONDS and thread.created is None
        if (
            stored is not None
            and stored.posted is not None
            and (hourly or not first.posted.relative)
        ):
            values["created"] = stored.posted
    if values:
        Thread.objects.filter(pk=thread.pk).update(**values)


def fetched(
    thread: Thread,
    now: datetime,
    pages: Mapping[str, object],
    missing: Missing = (),
    *,
    again: bool = False,
) -> bool:
    """Marks a thread as fetched: pending no longer, unless pages are `missing` (see `_owed`).
    pages: fields of the thread to set, its last page's address and number; again: the pages missing
    before were asked for. Returns whether this was its first fetch."""
    first = thread.fetched_at is None
    newest = Post.objects.filter(thread=thread, gone_at__isnull=True).aggregate(at=Max("posted"))[
        "at"
    ]
    given_up = thread.missing if thread.misses >= MISSES_ALLOWED and not again else {}
    values: dict[str, object] = {
        **(_owed(thread, missing, given_up) if missing else {"pending": False}),
        **({} if missing or given_up else {"misses": 0, "missing": {}}),
        "fetched_at": now,
        "gone_at": None,
        **pages,
    }
    if newest is not None:
        values["last_reply"] = newest
    Thread.objects.filter(pk=thread.pk).update(**values)
    if first:
        Board.objects.filter(pk=thread.board_id).update(threads=F("threads") + 1)
        Site.objects.filter(pk=thread.site_id).update(threads=F("threads") + 1)
    return first


def same_again(thread: Thread, before: int, records: Sequence[PostRecord]) -> bool:
    """Tells whether a page of a thread only shows posts that are stored for its page `before`."""
    keys = set(post_keys(records))
    known = Post.objects.filter(thread=thread, page=before, gone_at__isnull=True, key__in=keys)
    return known.count() == len(keys) > 0


def all_stored(thread: Thread) -> bool:
    """Tells whether at least as many posts of a thread are stored as its row in the list shows;
    False if that shows no number."""
    if thread.replies is None:
        return False
    return Post.objects.filter(thread=thread, gone_at__isnull=True).count() > thread.replies


def agrees(thread: Thread, counts_posts: bool | None) -> bool | None:
    """Tells whether as many posts of a thread are stored as its row in the list shows, or up to
    ARRIVED_SINCE more, which may have been made after the list was read. None if the row shows no
    number. If `counts_posts` is None, it is unknown whether that number includes the first post,
    and both are accepted."""
    if thread.replies is None:
        return None
    stored = Post.objects.filter(thread=thread, gone_at__isnull=True).count()
    least = thread.replies + (counts_posts is not None)
    return least <= stored <= thread.replies + 1 + ARRIVED_SINCE


def gone(thread: Thread, now: datetime) -> None:
    """Marks a thread as deleted on its site."""
    Thread.objects.filter(pk=thread.pk).update(pending=False, gone_at=now)


def missed(thread: Thread, missing: Missing) -> None:
    """Notes that no page of a thread could be read."""
    Thread.objects.filter(pk=thread.pk).update(**_owed(thread, missing, thread.missing))


def _owed(
    thread: Thread, missing: Missing, before: Mapping[str, Sequence[str]]
) -> dict[str, object]:
    """Returns the fields of a thread of which pages are missing, beside those of `before`. It stays
    pending for the next visits; after MISSES_ALLOWED such fetches in a row it is given up."""
    misses = thread.misses + 1
    pages = {str(number): [url, reason] for number, url, reason in missing}
    return {
        "misses": min(misses, MISSES_ALLOWED),
        "pending": misses < MISSES_ALLOWED,
        "missing": {**before, **pages},
    }


def is_given_up(thread: Thread) -> bool:
    """Tells whether another fetch of a thread of which pages are missing would be the last one."""
    return thread.misses + 1 >= MISSES_ALLOWED
