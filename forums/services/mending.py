"""Updates stored posts and threads after a page was read again: they are changed, never stored
twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max

from forums.incremental import signature
from forums.models import Post, Site, Thread
from forums.reading import PostRecord, ThreadRecord
from forums.services import threads

_ROW_FIELDS = ("title", "pinned", "replies", "signature", "author", "pending")
_FIELDS = ("key", "post_id", "author", "posted", "precision_seconds", "text", "url")


def posts(
    thread: Thread, records: Sequence[PostRecord], page: int, now: datetime
) -> tuple[int, int]:
    """Updates the posts of one page of a thread; returns how many were changed, and how many were
    added because they were missing.

    A record is matched to the stored post with its id, otherwise to the one with its text,
    otherwise to the one at its position if as many posts are stored of this page as were read.
    Stored posts that match no record are left unchanged, since they may come from a later capture
    of the page.
    """
    keys = threads.post_keys(records)
    stored = list(Post.objects.filter(thread=thread, page=page).order_by("position", "id"))
    pairs = _paired(stored, keys, records)
    elsewhere = set(
        Post.objects.filter(thread=thread, key__in=keys)
        .exclude(page=page)
        .values_list("key", flat=True)
    )
    changed, hours = [], []
    for post, key, record in pairs:
        opening = post.page == 1 and post.position == 0
        before = [getattr(post, name) for name in _FIELDS]
        was = (post.posted, post.precision_seconds)
        _take(post, key, record)
        if [getattr(post, name) for name in _FIELDS] != before:
            changed.append(post)
            if (post.posted, post.precision_seconds) != was:
                hours += (
                    [(was[0], opening, -1)] if was[0] and was[1] <= threads.HOUR_SECONDS else []
                )
                hours += (
                    [(post.posted, opening, 1)]
                    if post.posted and post.precision_seconds <= threads.HOUR_SECONDS
                    else []
                )
    taken = {key for _post, key, _record in pairs}
    fresh = [
        (at, key, record)
        for at, (key, record) in enumerate(zip(keys, records, strict=True))
        if key not in taken and key not in elsewhere
    ]
    for post in changed:  # set temporary keys first: a new key may be another post's old one
        Post.objects.filter(pk=post.pk).update(key=f"was {post.pk}")
    for post in changed:
        post.save(update_fields=list(_FIELDS))
    made = [threads.new_post(thread, page, at, key, record, now) for at, key, record in fresh]
    Post.objects.bulk_create(made, batch_size=200)
    threads.count_hours(thread.board_id, hours)
    threads.count_new(thread, page, made)
    return len(changed), len(made)


def _paired(
    stored: list[Post], keys: Sequence[str], records: Sequence[PostRecord]
) -> list[tuple[Post, str, PostRecord]]:
    left = dict.fromkeys(range(len(records)))
    by_key = {post.key: post for post in stored}
    by_text: dict[str, list[Post]] = {}
    pairs: list[tuple[Post, str, PostRecord]] = []

    def pair(at: int, post: Post) -> None:
        pairs.append((post, keys[at], records[at]))
        del left[at]

    for at in list(left):
        if keys[at] in by_key:
            pair(at, by_key[keys[at]])
    taken = {post.pk for post, _key, _record in pairs}
    for post in stored:
        if post.pk not in taken:
            by_text.setdefault(" ".join(post.text.split()), []).append(post)
    for at in list(left):
        alike = by_text.get(" ".join(records[at].text.split()))
        if alike:
            pair(at, alike.pop(0))
    taken = {post.pk for post, _key, _record in pairs}
    if len(stored) == len(records):
        for at in list(left):
            if stored[at].pk not in taken:
                pair(at, stored[at])
    return pairs


def _take(post: Post, key: str, record: PostRecord) -> None:
    post.key = key
    post.post_id = (record.post_id or "")[:80]
    post.author = (record.author or "")[:200]
    if record.posted is not None and not _counted_back(post, record):
        post.posted, post.precision_seconds = record.posted.value, record.posted.precision_seconds
    elif record.posted is None:
        post.posted, post.precision_seconds = None, 0
    post.text, post.url = record.text, record.url or ""


def _counted_back(post: Post, record: PostRecord) -> bool:
    """Tells whether to keep the post's stored time, since the record only has a relative time (such
    as "3 hours ago") that is not more precise and agrees with the stored time within their
    precision."""
    if record.posted is None or post.posted is None or not record.posted.relative:
        return False
    apart = abs((record.posted.value - post.posted).total_seconds())
    return (
        apart <= record.posted.precision_seconds + post.precision_seconds
        and post.precision_seconds <= record.posted.precision_seconds
    )


def thread(one: Thread, records: Sequence[PostRecord]) -> bool:
    """Updates author and times of a thread from its stored posts, unless no posts were read
    (`records` is empty); returns whether anything changed."""
    first = Post.objects.filter(thread=one, page=1, position=0, gone_at__isnull=True).first()
    newest = Post.objects.filter(thread=one, gone_at__isnull=True).aggregate(at=Max("posted"))["at"]
    values: dict[str, object] = {}
    if first is not None and first.author and first.author != one.author:
        values["author"] = first.author
    if first is not None and first.posted is not None and first.posted != one.created:
        values["created"] = first.posted
    if newest is not None and newest != one.last_reply:
        values["last_reply"] = newest
    if values and records:
        Thread.objects.filter(pk=one.pk).update(**values)
    return bool(values and records)


def rows(site: Site, records: Sequence[ThreadRecord]) -> int:
    """Updates threads from the rows of a list: title, flags, count and change signature; returns
    how many changed. If `records` are of several lists, the rows of the oldest must come first, so
    that the newest take precedence.
    """
    pairs = {(row := threads.to_row(record)).key: (row, record) for record in records}
    changed = 0
    for one in Thread.objects.filter(site=site, key__in=list(pairs)):
        row, record = pairs[one.key]
        before = [getattr(one, name) for name in _ROW_FIELDS]
        one.title = (record.title or one.title)[:500]
        one.pinned = record.pinned
        grown = (
            record.replies is not None and one.replies is not None and record.replies > one.replies
        )
        one.signature = signature(row)
        one.replies = record.replies if record.replies is not None else one.replies
        if one.fetched_at is None:
            one.author = (record.author or "")[:200]
        elif grown and not threads.all_stored(one):
            # the list was seen after the thread was fetched, and shows more posts than were read
            one.pending = True
        if [getattr(one, name) for name in _ROW_FIELDS] != before:
            one.save(update_fields=list(_ROW_FIELDS))
            changed += 1
    return changed
