"""The crawler that inspects a new forum to find its boards, as run by the engine
(`crawlmgr/engine.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.models import Page, Run, Url
from crawlmgr.services import archive, hosts
from crawlmgr.services.frontier import NewUrl
from crawlmgr.web.exchange import FetchRequest, FetchResponse
from crawlmgr.web.html import page_title
from crawlmgr.web.url import host_key, url_hash
from forums.discovery import Explorer, ExplorerSettings, FetchedPage
from forums.login import leaves, origins
from forums.services import logins, sites


class DiscoveryCrawler:
    """Explores a new forum: fetches a small sample of pages, from which its boards and structure
    are learned.

    The state is not stored separately: each slice reads the archived pages of the run again, so a
    killed process loses nothing.
    """

    kind = "forum-discovery"

    def __init__(self) -> None:
        self.explorer: Explorer | None = None

    def settings(self, run: Run) -> CrawlSettings:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        hosts.configure(host_key(run.parameters["url"]), settings)
        return replace(settings, own_origins=origins(run.parameters["url"]))

    def _explorer(self, run: Run) -> Explorer:
        if self.explorer is None:
            taught = CrawlSettings.from_mapping(run.parameters.get("settings", {})).use_teacher
            zone = run.parameters.get("timezone") or None
            self.explorer = Explorer(
                run.parameters["url"], ExplorerSettings(teacher=taught), timezone=zone
            )
            for page in Page.objects.filter(run=run).select_related("warc").order_by("id"):
                record = archive.read_page(page)
                if record is not None:
                    self.explorer.feed(
                        FetchedPage(
                            page.url,
                            page.final_url or page.url,
                            record.text,
                            page.fetched_at,
                            page.status,
                            record.header("refresh"),
                        )
                    )
        return self.explorer

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return self._next(run)

    def _next(self, run: Run) -> list[NewUrl]:
        """Returns the most informative page to fetch next, [] if none is needed. One at a time,
        because each page changes the choice."""
        for wanted in self._explorer(run).wanted():
            if (
                not leaves(wanted.url)
                and not Url.objects.filter(run=run, key_hash=url_hash(wanted.url)).exists()
            ):
                return [NewUrl(wanted.url, "sample", anchor=wanted.why)]
        return []

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url, cookies=logins.cookies_for(item.url), refuses_redirect=leaves)

    def read(self, run: Run, item: Url, response: FetchResponse) -> Any:
        explorer = self._explorer(run)
        assert response.fetched_at is not None  # noqa: S101 - a response with a status has a time
        explorer.feed(
            FetchedPage(
                item.url,
                response.url,
                response.text,
                response.fetched_at,
                response.status,
                response.header("refresh") or "",
            )
        )
        return page_title(response.text)

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: str, now: datetime
    ) -> Stored:
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
