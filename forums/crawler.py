"""The forum crawler and the discovery of a forum, as the engine runs them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.models import Page, Run, RunState, Url, UrlState
from crawlmgr.services import archive, hosts
from crawlmgr.services.frontier import NewUrl
from crawlmgr.web.exchange import FetchRequest, FetchResponse
from crawlmgr.web.html import page_title
from crawlmgr.web.url import host_key, url_hash
from forums.discovery import Explorer, FetchedPage
from forums.models import Board, Site, Visit
from forums.reading import PageKind, PageReading, read_page
from forums.services import sites, visits


class ForumCrawler:
    """Visits boards of one site, one after another, incrementally."""

    kind = "forum"

    def settings(self, run: Run) -> CrawlSettings:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        addresses = [Site.objects.values_list("url", flat=True).get(pk=run.target)]
        addresses += Board.objects.filter(pk__in=run.parameters["boards"]).values_list("url", flat=True)
        for key in {host_key(address) for address in addresses}:
            hosts.configure(key, settings)
        return settings

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        boards = Board.objects.filter(site_id=run.target, pk__in=run.parameters["boards"]).order_by("position", "id")
        return visits.begin(run, list(boards), now)

    def request(self, run: Run, item: Url) -> FetchRequest:
        """Conditional where the visit only asks whether the top of a list, wholly dealt with before, has changed."""
        if item.kind != "list" or not item.payload.get("conditional"):
            return FetchRequest(item.url)
        page = Page.objects.filter(url_hash=url_hash(item.url), status=200).order_by("-fetched_at").first()
        if page is None:
            return FetchRequest(item.url)
        return FetchRequest(item.url, etag=page.etag or None, last_modified=page.last_modified or None)

    def read(self, run: Run, item: Url, response: FetchResponse) -> PageReading | None:
        if response.status != 200:
            return None
        site = Site.objects.get(pk=run.target)
        expect = PageKind.threadlist if item.kind == "list" else PageKind.thread
        assert response.fetched_at is not None  # noqa: S101 - a response with a status has a time
        return read_page(
            response.text,
            response.url,
            response.fetched_at,
            timezone=site.timezone,
            day_first=site.structure.get("day_first"),
            expect=expect,
        )

    def store(self, run: Run, item: Url, response: FetchResponse, reading: PageReading | None, now: datetime) -> Stored:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        if item.kind == "list":
            return visits.store_list(run, item, response, reading, settings, now)
        return visits.store_thread(run, item, response, reading, settings, now)

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        if item.kind == "list":
            return visits.list_failed(run, item, reason, now)
        return visits.thread_failed(run, item, reason, now)

    def idle(self, run: Run, now: datetime) -> str:
        dropped = Url.objects.filter(run=run, state=UrlState.DROPPED).order_by("-id").values_list("reason", flat=True).first()
        visits.cut_short(run, dropped or "dropped", now)
        incomplete = Visit.objects.filter(run=run, complete=False).values_list("stopped_by", flat=True)
        reasons = sorted(set(incomplete))
        return "complete" if not reasons else f"incomplete: {', '.join(reasons)}"

    def ended(self, run: Run, state: str, now: datetime) -> None:
        if state in (RunState.STOPPED, RunState.FAILED):
            visits.cut_short(run, "stopped" if state == RunState.STOPPED else "failed", now)


class DiscoveryCrawler:
    """Looks at a new forum: a small sample of pages, from which its boards and its structure are learned.

    What was learned lives in the archived pages: a slice that follows another reads them again, so a kill loses nothing.
    """

    kind = "forum-discovery"

    def __init__(self) -> None:
        self.explorer: Explorer | None = None

    def settings(self, run: Run) -> CrawlSettings:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        hosts.configure(host_key(run.parameters["url"]), settings)
        return settings

    def _explorer(self, run: Run) -> Explorer:
        if self.explorer is None:
            self.explorer = Explorer(run.parameters["url"], timezone=run.parameters.get("timezone") or None)
            for page in Page.objects.filter(run=run).select_related("warc").order_by("id"):
                record = archive.read_page(page)
                if record is not None:
                    self.explorer.feed(
                        FetchedPage(page.url, page.final_url or page.url, record.text, page.fetched_at, page.status)
                    )
        return self.explorer

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return self._next(run)

    def _next(self, run: Run) -> list[NewUrl]:
        """The page that would tell most now; one at a time, because each page changes what is worth asking."""
        for wanted in self._explorer(run).wanted():
            if not Url.objects.filter(run=run, key_hash=url_hash(wanted.url)).exists():
                return [NewUrl(wanted.url, "sample", anchor=wanted.why)]
        return []

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url)

    def read(self, run: Run, item: Url, response: FetchResponse) -> Any:
        explorer = self._explorer(run)
        assert response.fetched_at is not None  # noqa: S101 - a response with a status has a time
        explorer.feed(FetchedPage(item.url, response.url, response.text, response.fetched_at, response.status))
        return page_title(response.text)

    def store(self, run: Run, item: Url, response: FetchResponse, reading: str, now: datetime) -> Stored:
        sites.progress(run, self._explorer(run))
        return Stored(links=self._next(run), title=reading)

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        self._explorer(run).failed(item.url, reason)
        if item.url == run.parameters["url"]:
            Run.objects.filter(pk=run.pk).update(detail=reason)
        return Stored(links=self._next(run))

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str:
        return self._next(run) or sites.found(run, self._explorer(run))

    def ended(self, run: Run, state: str, now: datetime) -> None:
        return
