"""Reads the stored pages of a site again after a correction or a change of its model, and updates
stored posts and threads: they are changed, never stored twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from crawlmgr.archive import archive
from crawlmgr.models import ACTIVE, Page, Run
from crawlmgr.runs import runs
from forums.discovery import structures
from forums.discovery.pagers import followed
from forums.models import Post, Site, Thread
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord, read_page, thread_key
from forums.reading.apis import read_api
from forums.sites import sites
from forums.visits import threads
from forums.visits.incremental import signature

_ROW_FIELDS = ("title", "pinned", "replies", "signature", "author", "pending")


_FIELDS = ("key", "post_id", "author", "posted", "precision_seconds", "text", "url")


def update_posts(
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


def update_thread(one: Thread, records: Sequence[PostRecord]) -> bool:
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


def update_rows(site: Site, records: Sequence[ThreadRecord]) -> int:
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


KIND = "forum-reread"


AT_A_TIME = 20  # number of stored pages that are read again in one step


@dataclass(frozen=True, slots=True)
class Counts:
    """The result of reading stored pages again: number of pages read, of posts and threads changed,
    and of posts added."""

    pages: int = 0
    posts: int = 0
    threads: int = 0
    added: int = 0

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def start(site: Site, *, now: datetime, user: Any = None, start: bool = True) -> Run:
    """Creates the run that reads a site's stored pages again. Raises runs.Busy while the site is
    visited, read again or deleted."""
    sites.refuse_deleted(site.pk)
    busy = Run.objects.filter(kind="forum", target=site.pk, state__in=ACTIVE).first()
    if busy is not None:
        raise runs.Busy(busy)
    return runs.create(
        KIND,
        site.name,
        target=site.pk,
        exclusive=f"forum {site.pk}",
        parameters={},
        now=now,
        user=user,
        start=start,
    )


def pages_of(site: Site) -> QuerySet[Page]:
    """Returns the newest stored response (status 200) for each address of the site's host, oldest
    first."""
    stored = Page.objects.filter(host_id=site.host_id, status=200, warc__isnull=False)
    newest = stored.values("url_hash").annotate(newest=Max("id")).values("newest")
    return Page.objects.filter(pk__in=newest).select_related("warc").order_by("id")


class RereadJob:
    """The job that reads a site's stored pages again (see `crawlmgr/jobs.py:Job`): some pages per
    step; if the process is killed, it continues after the last completed step."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def step(self, pulse: Callable[[], None]) -> Callable[[], None] | str:
        site = Site.objects.filter(pk=self.run.target).first()
        if site is None:
            return "removed"
        done = dict(self.run.result)
        if "all" not in done:
            first = {
                "all": pages_of(site).count(),
                "at": 0,
                "pages": 0,
                "posts": 0,
                "threads": 0,
                "added": 0,
            }
            return partial(self._save_counts, first)
        some = list(pages_of(site).filter(pk__gt=done["at"])[:AT_A_TIME])
        if not some:
            return "reread"
        read = []
        for page in some:
            read.append((page, read_again(site, page)))
            pulse()
        return partial(self._store, site, read)

    def ended(self, state: str, now: datetime) -> None:
        """Does nothing: each step has already stored its results."""

    def _store(self, site: Site, read: Iterable[tuple[Page, PageReading | None]]) -> None:
        done = self.run.result
        counts = Counts(done["pages"], done["posts"], done["threads"], done["added"])
        last = done["at"]
        with transaction.atomic():
            for page, reading in read:
                counts += apply_reading(site, page, reading)
                last = page.pk
        self._save_counts({**done, "at": last, **asdict(counts)})

    def _save_counts(self, result: dict[str, int]) -> None:
        self.run.result = result
        Run.objects.filter(pk=self.run.pk).update(result=result, fetched=result["pages"])


def read_again(site: Site, page: Page) -> PageReading | None:
    """Reads a stored page with the site's current model; None if it is no longer in the archive, or
    if the site's corrections cannot be evaluated on it."""
    record = archive.read_page(page)
    if record is None:
        return None
    url = page.final_url or page.url
    if "json" in page.content_type:
        return read_api(record.payload, url)
    is_thread = Thread.objects.filter(site=site, key=thread_key(url)).exists()
    model = structures.model_of(site)
    reading = read_page(
        record.text,
        url,
        page.fetched_at,
        expect=PageKind.thread if is_thread else PageKind.threadlist,
        **structures.reading_options(site),
    )
    if structures.refusal(site, url, reading):
        return None
    return followed(reading, model.pager(str(reading.kind))) if model is not None else reading


def apply_reading(site: Site, page: Page, reading: PageReading | None) -> Counts:
    """Updates the stored threads and posts of a page by its new reading; returns what changed.
    Nothing changes if the page was read without records or as another kind of page."""
    if reading is None or not reading.records:
        return Counts(pages=1)
    url = page.final_url or page.url
    if reading.kind is PageKind.thread:
        thread = Thread.objects.filter(
            site=site, key=thread_key(url), fetched_at__isnull=False
        ).first()
        if thread is None:
            return Counts(pages=1)
        records = [record for record in reading.records if isinstance(record, PostRecord)]
        changed, added = update_posts(
            thread, records, _number(thread, url, reading, records), page.fetched_at
        )
        return Counts(1, changed, int(update_thread(thread, records)), added)
    if reading.kind is PageKind.threadlist:
        rows = [record for record in reading.records if isinstance(record, ThreadRecord)]
        return Counts(1, threads=update_rows(site, rows))
    return Counts(pages=1)


def _number(thread: Thread, url: str, reading: PageReading, records: list[PostRecord]) -> int:
    """Returns the page number of a stored page in its thread: as the page shows it; otherwise that
    of the page on which its posts are stored; otherwise that of the last page fetched, if `url` is
    its address; otherwise 1."""
    if reading.current:
        return reading.current
    stored = thread.all_posts.filter(key__in=threads.post_keys(records))
    largest = stored.values("page").annotate(n=Count("id")).order_by("-n").first()
    if largest is not None:
        return int(largest["page"])
    return thread.last_page if url == thread.last_page_url and thread.last_page else 1
