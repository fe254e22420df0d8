"""The two crawlers of the deep web that the engine runs: one finds search forms on sites, one
harvests the databases behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F

from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.frontier import frontier, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from crawlmgr.web.pages.html import page_title
from crawlmgr.web.pages.tree import READ_IN_PART, exceeds
from crawlmgr.web.url import host_key
from deepweb import harvests, reads
from deepweb.answers import storing
from deepweb.answers.page import Answer, Context, read_answer, read_detail
from deepweb.choice.terms import bindings
from deepweb.forms import clusters, sources
from deepweb.forms import stored as forms
from deepweb.forms.finder import LinkScorer, PageForms, links_to_follow, read_page, shape
from deepweb.forms.types import FormType
from deepweb.harvest_options import HarvestOptions
from deepweb.harvest_session import HarvestSession
from deepweb.models import Form, Harvest, Query, Source
from deepweb.search_forms import Form as PageForm
from deepweb.search_forms import read_forms
from deepweb.size import probing


class _PageRead(NamedTuple):
    page: PageForms
    classified: list[forms.ClassifiedForm]


class FormFinder:
    """Crawls sites to a given depth and stores their forms. Links that most likely lead to a search
    form are fetched first."""

    kind = "deepweb-find"

    def __init__(self) -> None:
        self.sources: dict[int, Source] = {}
        self.scorers: dict[int, LinkScorer] = {}
        self.shapes: dict[int, Counter[str]] = {}

    def settings(self, run: Run) -> CrawlSettings:
        chosen = list(Source.objects.filter(pk__in=run.parameters["sources"]).order_by("pk"))
        for source in chosen:
            hosts.configure(host_key(source.url), sources.settings_of(source, run))
        return sources.settings_of_all(chosen, run)

    def _source(self, run: Run, pk: int) -> Source:
        if pk not in self.sources:
            self.sources[pk] = Source.objects.get(pk=pk)
            self.scorers[pk] = LinkScorer(self.sources[pk].links)
            seen = Url.objects.filter(run=run, group=pk).values_list("url", flat=True)
            self.shapes[pk] = Counter(shape(url) for url in seen.iterator())
        return self.sources[pk]

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        chosen = Source.objects.filter(pk__in=run.parameters["sources"]).order_by("pk")
        return [
            NewUrl(
                source.url, "page", key=f"{source.pk} {source.url}", group=source.pk, priority=100.0
            )
            for source in chosen
        ]

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url)

    def read(self, run: Run, item: Url, response: FetchResponse) -> _PageRead | None:
        if not response.ok:
            return None
        page = read_page(response.text, response.url)
        return _PageRead(page, forms.classified(page.forms, response.text))

    def store(
        self,
        run: Run,
        item: Url,
        response: FetchResponse,
        reading: _PageRead | None,
        now: datetime,
    ) -> Stored:
        source = self._source(run, item.group or 0)
        if reading is None:
            return Stored(state=UrlState.FAILED, reason=f"http_{response.status}")
        before = set(Form.objects.filter(source=source).values_list("signature", flat=True))
        kept = forms.keep(
            source,
            reading.classified,
            depth=item.depth,
            language=reading.page.language,
            charset=response.encoding,
            now=now,
        )
        fresh = [row for row in kept if row.signature not in before]
        scorer = self.scorers[source.pk]
        # the first page was led to by no link
        if item.depth:
            scorer.learn(item.url, item.anchor, any(row.type == FormType.SEARCH for row in fresh))
        Source.objects.filter(pk=source.pk).update(
            pages=F("pages") + 1, looked_at=now, links=scorer.counts
        )
        done = Url.objects.filter(run=run, group=source.pk, state=UrlState.DONE).count() + 1
        links: list[NewUrl] = []
        if done >= run.parameters["pages"]:
            frontier.drop(run.pk, now, "page_limit", group=source.pk)
        elif item.depth < run.parameters["depth"]:
            links = self._links(source, reading.page, item.depth + 1)
        return Stored(
            links=links,
            counts={"new": len(fresh), "items": len(kept)},
            title=reading.page.title,
            reason=READ_IN_PART if exceeds(response.text) else "",
        )

    def _links(self, source: Source, page: PageForms, depth: int) -> list[NewUrl]:
        best = links_to_follow(page, self.scorers[source.pk], self.shapes[source.pk])
        return [
            NewUrl(
                way.url,
                "page",
                key=f"{source.pk} {way.url}",
                group=source.pk,
                anchor=way.anchor,
                depth=depth,
                priority=way.score - depth,
            )
            for way in best
        ]

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        # without its first page a source has no others: the run's page says why
        if item.depth == 0:
            Run.objects.filter(pk=run.pk).update(detail=f"{item.url}: {reason}")
        return Stored()

    def idle(self, run: Run, now: datetime) -> str:
        clusters.assign_new(now)
        found = Form.objects.filter(source_id__in=run.parameters["sources"]).count()
        return "complete" if found else "no_forms"

    def ended(self, run: Run, state: str, now: datetime) -> None:
        return


class _Opening(NamedTuple):
    forms: list[PageForm]


class HarvestCrawler:
    """Queries search forms, one query at a time for each form, and fetches the detail pages of the
    records found."""

    kind = "deepweb-harvest"
    own_end_reason = True

    def __init__(self) -> None:
        self.sessions: dict[int, HarvestSession] = {}
        self.opening: set[int] = set()

    def settings(self, run: Run) -> CrawlSettings:
        chosen = list(
            Form.objects.filter(pk__in=run.parameters["forms"])
            .select_related("source")
            .defer("words")
            .order_by("pk")
        )
        for form in chosen:
            hosts.configure(host_key(form.action), sources.settings_of(form.source, run))
        return sources.settings_of_all([form.source for form in chosen], run)

    def _all(self, run: Run) -> list[HarvestSession]:
        if not self.sessions:
            options = HarvestOptions.from_mapping(run.parameters)
            rows = (
                Harvest.objects.filter(run=run)
                .select_related("form__source", "form__cluster", "run")
                .order_by("position")
            )
            self.sessions = {row.pk: HarvestSession(row, options) for row in rows}
        return list(self.sessions.values())

    def _session(self, run: Run, item: Url) -> HarvestSession:
        self._all(run)
        return self.sessions[item.group or 0]

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return harvests.next_links(
            run, self._all(run), HarvestOptions.from_mapping(run.parameters), now
        )

    def request(self, run: Run, item: Url) -> FetchRequest:
        """Returns the request of a query or a detail page; for a form that needs a session, first
        the request of the page with the form."""
        if item.kind == "detail":
            return FetchRequest(item.url)
        session = self._session(run, item)
        if harvests.is_session(session) and not session.is_open:
            self.opening.add(item.pk)
            return FetchRequest(session.form.page_url)
        self.opening.discard(item.pk)
        if item.payload["page"] > 1:
            body = item.payload.get("body")
            return (
                FetchRequest(item.url, method="POST", body=body.encode())
                if body is not None
                else FetchRequest(item.url)
            )
        row = Query.objects.get(pk=item.payload["query"])
        submission = harvests.submission_of(session, row)
        if submission.method == "POST":
            return FetchRequest(submission.url, method="POST", body=submission.body.encode())
        return FetchRequest(submission.url)

    def read(
        self, run: Run, item: Url, response: FetchResponse
    ) -> Answer | dict[str, str] | _Opening:
        session = self._session(run, item)
        if item.kind == "detail":
            return (
                read_detail(response.text, session.page_template) if response.status == 200 else {}
            )
        if item.pk in self.opening:
            return _Opening(read_forms(response.text, response.url))
        if not response.body:
            return Answer(response.url)
        row = Query.objects.get(pk=item.payload["query"])
        known = Context(
            form=session.form,
            bound=bindings(storing.terms_of(row)),
            number=int(item.payload["page"]),
            page_size=int(session.state.get("page_size", 0)),
            page_template=session.page_template,
            shape=session.shape,
            may_post=session.form.method == "post",
            charset=session.harvest.form.charset,
        )
        return read_answer(response.text, response.url, known)

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: Any, now: datetime
    ) -> Stored:
        session = self._session(run, item)
        if item.kind == "detail":
            harvests.count_detail_requests(session, max(1, item.attempts) + len(response.redirects))
        if isinstance(reading, _Opening):
            self.opening.discard(item.pk)
            return storing.reopened(session, item, response, reading.forms, now)
        if isinstance(reading, dict):
            return self._store_detail(session, item, response, reading, now)
        stored = storing.store_page(run, self._all(run), session, item, response, reading, now)
        stored.title = page_title(response.text)
        if reading.is_cut and not stored.reason:
            stored.reason = READ_IN_PART
        return stored

    def _store_detail(
        self,
        session: HarvestSession,
        item: Url,
        response: FetchResponse,
        fields: dict[str, str],
        now: datetime,
    ) -> Stored:
        if not fields or not storing.add_detail(item.payload["record"], fields, now):
            return Stored(
                state=UrlState.FAILED,
                reason=f"http_{response.status}" if response.status != 200 else "no_fields",
            )
        Harvest.objects.filter(pk=session.harvest.pk).update(details=F("details") + 1)
        session.harvest.details += 1
        said = READ_IN_PART if exceeds(response.text) else ""
        return Stored(title=page_title(response.text), counts={"updated": 1}, reason=said)

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        if item.kind == "detail":
            harvests.count_detail_requests(
                self._session(run, item), item.attempts - reason.startswith(storing.UNSENT)
            )
            return Stored()
        return storing.failed(run, self._all(run), self._session(run, item), item, reason, now)

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str:
        sessions = self._all(run)
        links = [link for stored in storing.close_lost(run, sessions, now) for link in stored.links]
        links += (
            []
            if links
            else harvests.next_links(
                run, sessions, HarvestOptions.from_mapping(run.parameters), now
            )
        )
        if links:
            return links
        self._sum_up(run, sessions)
        reasons = sorted({session.harvest.stopped_by for session in sessions})
        return ", ".join(reasons)

    def _sum_up(self, run: Run, sessions: Sequence[HarvestSession]) -> None:
        for session in sessions:
            probing.size_up(session)
            harvests.save(session)
        Run.objects.filter(pk=run.pk).update(result=reads.result_of(run))

    def ended(self, run: Run, state: str, now: datetime) -> None:
        """Stores the results of a harvest that was stopped or failed before its end."""
        if state not in ("stopped", "failed"):
            return
        sessions = self._all(run)
        for session in sessions:
            session.harvest.ended, session.harvest.stopped_by = (
                True,
                session.harvest.stopped_by or state,
            )
        self._sum_up(run, sessions)
