"""Reads the stored pages of a site again after a correction or a change of its model: stored data
is updated, nothing is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from crawlmgr.archive import archive
from crawlmgr.models import ACTIVE, Page, Run
from crawlmgr.runs import runs
from forums.discovery.pagers import followed
from forums.models import Site, Thread
from forums.reading import PageKind, PageReading, PostRecord, ThreadRecord, read_page, thread_key
from forums.reading.apis import read_api
from forums.services import mending, removals, structures, threads

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
    removals.check(site.pk)
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
        changed, added = mending.posts(
            thread, records, _number(thread, url, reading, records), page.fetched_at
        )
        return Counts(1, changed, int(mending.thread(thread, records)), added)
    if reading.kind is PageKind.threadlist:
        rows = [record for record in reading.records if isinstance(record, ThreadRecord)]
        return Counts(1, threads=mending.rows(site, rows))
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
