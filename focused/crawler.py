"""The topic crawler that the crawl engine runs: the strategy chooses addresses, and their pages
come from the archive of earlier runs or from the network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from crawlmgr.archive import archive
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import sql
from crawlmgr.engine import Stored
from crawlmgr.frontier import frontier, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Host, Page, Run, RunState, Url, UrlState
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from crawlmgr.web.pages import documents
from crawlmgr.web.pages.tree import READ_IN_PART
from crawlmgr.web.url import host_key, url_hash
from focused.graph import MemoryGraph
from focused.judge.probability import FIRST, GROWTH
from focused.models import TopicPage, TopicRun
from focused.run import archived_pages, sessions, stored_pages
from focused.run.parse import Draft, run_stages
from focused.run.sessions import Session
from focused.run.stored_pages import EDITED
from focused.topic import marks

RECALL_PAGES = 64
"""Number of pages from the archive after which `idle` ends its transaction."""
MOST_REQUESTS = 3
"""Number of requests for each page of the budget after which a run ends: answers that cannot be
read cost nothing of the budget itself."""
FOLLOW_PAGES = 8
"""Number of pages that are taken from the archive, in one transaction, after a page from the
network has arrived: few, so that other requests in progress do not have to wait. Not a number of
seconds, as the order of the crawl would depend on how busy the machine is."""


# only constant text
_EDITED = f"SELECT 1 FROM focused_topicrun WHERE run_id = %s AND {EDITED}"  # noqa: S608
_FOUND_ON = "SELECT id FROM crawlmgr_url WHERE run_id = %s AND key_hash = %s"


class TopicCrawler:
    """Crawls a topic for the engine: after each page, the strategy chooses further addresses, which
    are added to the frontier until the allowed number of concurrent requests is reached.

    Addresses whose page is taken from the archive do not pass through the frontier (see `idle` and
    `_follow`).
    """

    kind = "topic"
    pages_together = 16
    paces_new_hosts = True

    def __init__(self) -> None:
        self._session: Session | None = None
        self._pulse: Callable[[], None] = sessions.no_pulse

    def set_heartbeat(self, pulse: Callable[[], None]) -> None:
        self._pulse = pulse

    def forget(self, run: Run) -> None:
        self._session = None
        sessions.forget(run.pk)

    def session(self, run: Run) -> Session:
        """Returns the run's session (strategy, link graph and parser in memory), made on first use.
        No other worker works on the run at the same time.
        """
        if self._session is None:
            self._session = sessions.acquire(run, self._pulse)
        return self._session

    def settings(self, run: Run) -> CrawlSettings:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        definition = TopicRun.objects.values_list("definition", flat=True).get(pk=run.pk)
        for key in {host_key(url) for url in definition["seeds"]}:
            hosts.configure(key, settings)
        if run.begun:
            # Build the session here: this may process many stored pages again, which must not
            # happen inside a transaction.
            self.session(run)
        return settings

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        session = self.session(run)
        if not isinstance(session.graph, MemoryGraph):
            session.graph.settle()
            TopicRun.objects.filter(pk=run.pk).update(
                pushes=session.graph.pushes, strategy_state=session.walk.strategy.state()
            )
        return ()

    def request(self, run: Run, item: Url) -> FetchRequest:
        """Returns the request for an address. It is conditional (ETag, Last-Modified) if the run
        may use the archive and an archived page of the address exists (too old to be used without
        asking the site)."""
        if item.kind in stored_pages.KINDS:
            return FetchRequest(item.url, types=stored_pages.TYPES)
        if (
            run.parameters["options"]["source"] != "mixed"
            or (page := archive.latest(item.url)) is None
        ):
            return FetchRequest(item.url, types=documents.types())
        return FetchRequest(
            item.url,
            etag=page.etag or None,
            last_modified=page.last_modified or None,
            types=documents.types(),
        )

    def read(
        self, run: Run, item: Url, response: FetchResponse
    ) -> Draft | stored_pages.Listing | None:
        if item.kind in stored_pages.KINDS:
            return stored_pages.read(response) if response.status == 200 else None
        if response.not_modified:
            page = archive.latest(item.url)
            session = self.session(run)
            return (
                archived_pages.draft_of(page, session.parameters.parser, session.parameters.options)
                if page is not None
                else None
            )
        if response.status != 200:
            return None
        draft = Draft(
            response.url, response.body, response.content_type, response.header("refresh") or ""
        )
        return run_stages(archived_pages.read_stages(), draft, self.session(run).parameters.parser)

    def store(
        self,
        run: Run,
        item: Url,
        response: FetchResponse,
        reading: Draft | stored_pages.Listing | None,
        now: datetime,
    ) -> Stored:
        session = self.session(run)
        if item.kind in stored_pages.KINDS:
            if not isinstance(reading, stored_pages.Listing):
                return Stored(
                    links=self._follow(run, session, now),
                    state=UrlState.FAILED,
                    reason=f"http_{response.status}",
                )
            further = stored_pages.store(session, item, reading, now)
            return Stored(links=[*further, *self._follow(run, session, now)])
        assert not isinstance(  # noqa: S101 - pages are read as drafts
            reading, stored_pages.Listing
        )
        if reading is None or reading.problem or reading.content is None:
            problem = reading.problem if reading is not None else f"http_{response.status}"
            stored_pages.failed(session, item.url, problem, now)
            return Stored(
                links=self._follow(run, session, now), state=UrlState.FAILED, reason=problem
            )
        outcome = stored_pages.arrived(session, item.url, reading, now)
        session.progress.addresses[item.url] = item.pk
        sitemaps = stored_pages.wanted(session, item, outcome.relevant)
        links = [*sitemaps, *self._follow(run, session, now)]
        if outcome.kind == TopicPage.Kind.SAME:
            return Stored(links=links, reason=outcome.problem)
        known = {"unchanged": 1} if response.not_modified else {}
        counts = {"items": int(outcome.relevant), **known}
        return Stored(
            links=links,
            title=outcome.title,
            relevance=outcome.similarity,
            counts=counts,
            reason=READ_IN_PART if reading.content.is_cut else "",
        )

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        session = self.session(run)
        if item.kind not in stored_pages.KINDS:
            stored_pages.failed(session, item.url, reason, now)
        return Stored(links=self._follow(run, session, now))

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str:
        """Called by the engine when no address waits in the frontier. Reports addresses dropped
        from the frontier to the strategy, and processes chosen pages that the archive has. Returns
        one of three results: the chosen addresses that must be requested, as links for the
        frontier; () to be called again; or, as a string, the code of the reason why the run ends.
        """
        session = self.session(run)
        if sql.fetch(_EDITED, (session.run_id,)):
            self._edits(session, now)
        # the frontier drops addresses itself, for example of a host that the operator excluded
        for url in list(session.outstanding.why):
            known = (
                Url.objects.filter(run=run, key_hash=url_hash(url))
                .values_list("state", "reason")
                .first()
            )
            if known is not None and known[0] not in (UrlState.WAITING, UrlState.CLAIMED):
                stored_pages.failed(session, url, f"dropped {known[1]}".strip(), now)
        taken = 0
        while True:
            if reason := self._over(run, session, now):
                return reason
            chosen = self._chosen(session)
            waiting = list(session.outstanding.why)
            missing = [url for url in waiting if not self._recall(run, session, url, now)]
            if missing:
                return self._links(session, missing)
            if not chosen and session.outstanding.exhausted:
                return session.walk.strategy.ending()
            taken += max(1, len(waiting))
            # a run over the archive waits for no network: without this it would hold one
            # transaction
            if taken >= RECALL_PAGES:
                return ()

    def deadline(self, run: Run) -> datetime | None:
        minutes = run.parameters["options"].get("minutes")
        return run.started + timedelta(minutes=minutes) if minutes and run.started else None

    def ended(self, run: Run, state: str, now: datetime) -> None:
        marks.settle(TopicRun.objects.get(pk=run.pk))
        if state != RunState.PAUSED:
            sessions.forget(run.pk)

    def _over(self, run: Run, session: Session, now: datetime) -> str:
        """Returns which budget is used up: "relevant" (relevant pages), "minutes", "pages" or
        "requests" (see MOST_REQUESTS); "" if none is. If one is, removes the addresses that wait in
        the frontier."""
        self._settle(session, now)
        options = session.parameters.options
        reason = ""
        if options.relevant and self._found(session) >= options.relevant:
            reason = "relevant"
        elif (until := self.deadline(run)) is not None and now >= until:
            reason = "minutes"
        elif session.progress.asked >= options.pages:
            reason = "pages"
        elif session.progress.requests >= MOST_REQUESTS * options.pages:
            reason = "requests"
        if reason:
            frontier.drop(run.pk, now, f"budget {reason}")
        return reason

    def _found(self, session: Session) -> int:
        """Returns the number of pages on topic: by the topic's own threshold, else as estimated
        from marks, 0 as long as these are too few."""
        if session.parameters.topic.threshold is not None:
            return session.progress.row.relevant
        return session.progress.row.found or 0

    def _settle(self, session: Session, now: datetime) -> None:
        """Evaluates the marks of the run and of earlier ones again, after further marks or when the
        run has grown by a quarter; later pages are judged by the result."""
        row, due = session.progress.row, GROWTH * session.progress.settled + FIRST
        if (
            session.progress.settled < 0
            or (session.parameters.topic.marked or row.harvest)
            and row.pages >= due
        ):
            marks.settle(row)
            session.progress.settled = row.pages
            if line := row.harvest.get("line"):
                stored_pages.edited(session, {"line": line}, now)

    def _follow(self, run: Run, session: Session, now: datetime) -> list[NewUrl]:
        """Chooses the next addresses after the outcome of a request, and returns those to request,
        as links for the frontier; [] if a budget is used up. First applies the operator's edits of
        the run. Chosen pages that the archive has are processed at once, until enough addresses for
        the network are chosen or FOLLOW_PAGES were taken."""
        if session.progress.edited:
            self._edits(session, now)
        if session.parameters.options.source == "net":
            return (
                [] if self._over(run, session, now) else self._links(session, self._chosen(session))
            )
        missing: list[str] = []
        taken = 0
        while (
            taken < FOLLOW_PAGES
            and not self._over(run, session, now)
            and (chosen := self._chosen(session))
        ):
            absent = [url for url in chosen if not self._recall(run, session, url, now)]
            missing, taken = missing + absent, taken + len(chosen) - len(absent)
        return self._links(session, missing)

    def _chosen(self, session: Session) -> list[str]:
        """Returns the addresses that the session chooses next; those that the scope refuses by now
        are counted in the run's row."""
        chosen, refused = session.choose(), session.outstanding.refused
        if refused:
            row = session.progress.row
            row.refused = dict(Counter(row.refused) + refused)
            TopicRun.objects.filter(pk=session.run_id).update(refused=row.refused)
            refused.clear()
        return chosen

    def _edits(self, session: Session, now: datetime) -> None:
        # locked until the commit, or an edit that is stored meanwhile would be emptied unread
        edits = TopicRun.objects.select_for_update().get(pk=session.run_id).edits
        for change in edits:
            stored_pages.edited(session, change, now)
            session.progress.settled = -1 if "marks" in change else session.progress.settled
            for host in change.get("without_hosts", ()):
                for found in Host.objects.filter(key=host):
                    frontier.drop(session.run_id, now, "dropped_host", host=found)
        TopicRun.objects.filter(pk=session.run_id).update(edits=[])

    def _links(self, session: Session, urls: Sequence[str]) -> list[NewUrl]:
        """Returns the chosen addresses as links to add to the frontier, with priorities that keep
        the order in which they were chosen.
        """
        links = []
        for url in urls:
            why = session.outstanding.why[url]
            node = session.graph.node(url)
            depth, parent = (
                (node.depth if node is not None else 0),
                self._found_on(session, why.get("parent")),
            )
            session.outstanding.chosen += 1
            # the frontier takes greater priorities first, and the choice is already in order
            place = -float(session.outstanding.chosen)
            links.append(
                NewUrl(
                    url, "page", payload={"why": why}, depth=depth, priority=place, parent_id=parent
                )
            )
        if urls and not isinstance(session.graph, MemoryGraph):
            session.graph.settle()
        return links

    def _found_on(self, session: Session, parent: str | None) -> int | None:
        """Returns the id in the frontier of the page `parent`, on which an address was found; None
        if it is unknown."""
        if not parent:
            return None
        if parent not in session.progress.addresses:
            rows = sql.fetch(_FOUND_ON, (session.run_id, url_hash(parent)))
            if not rows:
                return None
            session.progress.addresses[parent] = rows[0][0]
        return session.progress.addresses[parent]

    def _recall(self, run: Run, session: Session, url: str, now: datetime) -> bool:
        """Takes the page of an address from the archive and processes it. Returns False if the
        address must be requested from the network, otherwise True. Only pages that other runs
        stored are used. By the option `source`:
        - "net": always False. "mixed": False without a page, or if it is older than `fresh_days`
          (0: of any age).
        - "archive": an address without a page is counted as failed."""
        options = session.parameters.options
        if options.source == "net":
            return False
        since = (
            now - timedelta(days=options.fresh_days)
            if options.source == "mixed" and options.fresh_days
            else None
        )
        page = archive.redirected(url)
        if page is None or (since is not None and page.fetched_at < since) or page.run_id == run.pk:
            if options.source == "mixed":
                return False
            stored_pages.failed(session, url, "not_in_archive", now)
            self._count(run, failed=1)
            return True
        draft = archived_pages.draft_of(page, session.parameters.parser, options)
        if draft is None or draft.problem or draft.content is None:
            stored_pages.failed(
                session, url, draft.problem if draft is not None else "not_in_archive", now
            )
            self._count(run, failed=1)
            return True
        outcome = stored_pages.arrived(session, url, draft, now, recalled=True)
        _copy(run, page, url, outcome, session)
        self._count(run, fetched=1, items=int(outcome.relevant))
        return True

    def _count(self, run: Run, **deltas: int) -> None:
        Run.objects.filter(pk=run.pk).update(
            **{name: F(name) + number for name, number in deltas.items()}
        )


def _copy(run: Run, page: Page, url: str, outcome: stored_pages.Outcome, session: Session) -> None:
    """Stores a page that was taken from the archive as a page of this run too, with the title,
    similarity and depth that it has in this run."""
    node = session.graph.node(url)
    columns = [
        field.attname
        for field in Page._meta.concrete_fields
        if field.attname not in ("id", "run_id")
    ]
    values: dict[str, Any] = {name: getattr(page, name) for name in columns}
    values |= {
        "url": url,
        "key_hash": url_hash(url),
        "url_hash": url_hash(url),
        "title": outcome.title[:500],
    }
    values |= {"relevance": outcome.similarity, "depth": node.depth if node is not None else 0}
    Page.objects.update_or_create(run=run, key_hash=url_hash(url), defaults=values)
