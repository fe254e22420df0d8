"""The crawler that inspects a new forum to find its boards, as run by the engine
(`crawlmgr/engine.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from crawlmgr.archive import archive
from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.frontier import hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Page, Run, Url
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from crawlmgr.web.pages.html import page_title
from crawlmgr.web.url import host_key, url_hash
from forums.discovery import Explorer, ExplorerSettings, FetchedPage
from forums.sites import logins, sites
from forums.sites.login_pages import leaves, origins


class DiscoveryCrawler:
    """Explores a new forum: fetches a small sample of pages, from which its boards and structure
    are learned.

    The state is not stored separately: each slice reads the archived pages of the run again, so a
    killed process loses nothing.
    """

    kind = "forum-discovery"
    alone_kinds = logins.KINDS

    def __init__(self) -> None:
        self.explorer: Explorer | None = None
        self._members: dict[int, logins.Membership | None] = {}

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
            stored = Page.objects.filter(run=run).select_related("warc").order_by("id")
            # a page that was asked for again after a login counts as it was then
            for page in {page.url: page for page in stored}.values():
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

    def _member(self, run: Run) -> logins.Membership | None:
        """Returns the login that is saved for the forum's host; None if there is none."""
        if run.pk not in self._members:
            self._members[run.pk] = logins.at(run.parameters["url"])
        return self._members[run.pk]

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        member = self._member(run)
        return [*(member.begin(run) if member is not None else ()), *self._next(run)]

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
        member = self._member(run)
        if member is not None and item.kind in logins.KINDS:
            return member.request(item)
        own = member.own(item.url) if member is not None else {}
        return FetchRequest(item.url, cookies=own, refuses_redirect=leaves)

    def read(self, run: Run, item: Url, response: FetchResponse) -> Any:
        """Adds a page to the sample and returns its title; None for a step of the login, and for a
        page for guests that is to be asked for again after a login."""
        member = self._member(run)
        if item.kind in logins.KINDS or (
            member is not None
            and not item.payload.get("again")
            and member.may_renew(run)
            and member.outside(response)
        ):
            return None
        return self._feed(run, item, response)

    def _feed(self, run: Run, item: Url, response: FetchResponse) -> str:
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
        self, run: Run, item: Url, response: FetchResponse, reading: str | None, now: datetime
    ) -> Stored:
        member = self._member(run)
        if member is not None and item.kind in logins.KINDS:
            return Stored(links=member.step(run, item, response, now))
        if member is not None and reading is None:
            steps = member.again(run, now)
            if steps is not None:
                again = NewUrl(
                    item.url,
                    "sample",
                    key=f"again {item.url}",
                    payload={"again": True},
                    anchor=item.anchor,
                )
                return Stored(links=[*steps, again])
            reading = self._feed(run, item, response)
        sites.progress(run, self._explorer(run))
        return Stored(links=self._next(run), title=reading or "")

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        member = self._member(run)
        if member is not None and item.kind in logins.KINDS:
            member.failed(run, reason, now)
            return Stored(links=self._next(run))
        self._explorer(run).failed(item.url, reason)
        if item.url == run.parameters["url"]:
            Run.objects.filter(pk=run.pk).update(detail=reason)
        return Stored(links=self._next(run))

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str:
        return self._next(run) or sites.found(run, self._explorer(run))

    def ended(self, run: Run, state: str, now: datetime) -> None:
        return
