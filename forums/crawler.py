"""The crawler that visits the boards of a known forum, as run by the engine
(`crawlmgr/engine.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.frontier import fetching, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Page, Run, RunState, Url, UrlState
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from crawlmgr.web.robots import PageDirectives, directives
from crawlmgr.web.url import host_key, url_hash
from forums.discovery import Explorer, FetchedPage, LayoutChange, SiteModel, recheck, structures
from forums.discovery.pagers import followed, without_nofollow
from forums.discovery.pages import PageFacts, facts
from forums.models import Board, Site, Thread, Visit
from forums.reading import PageKind, PageReading, read_page
from forums.reading.apis import api_address, read_api
from forums.reading.corrections import SiteCorrections
from forums.sites import layout_changes, logins
from forums.sites.login_pages import leaves, origins
from forums.visits import doubts, overviews, visits

# number of threads that each slice compares with the site's model; number of pages of one kind that
# show a layout change
THREADS_CHECKED = 3
AFTER_ALL = (
    1e6  # subtracted from a request's priority so that it is sent after the requests of all boards
)
API_REST = timedelta(
    days=1
)  # time after which a JSON interface that returned nothing is requested again
# how often a page may be queued again, for example until the site is learned anew; then the last
# result is final
PUT_BACK = 3


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading one page.

    `reading`: its records; None if the page was not read. `change`: how it differs from the site's
    model (None: as expected, or not compared). `outside`: the page was made for a guest although
    the site has a login. `no_api`: the forum's JSON interface returned nothing usable. `refused`:
    code of the reason why the page was not read (robots directives, or too expensive). After the
    last page of a sample also `learned`, the model learned from the sample, and `objections`, codes
    of the reasons against this model.
    """

    reading: PageReading | None
    change: LayoutChange | None = None
    learned: SiteModel | None = None
    objections: tuple[str, ...] = ()
    outside: bool = False
    no_api: bool = False
    refused: str = ""


class ForumCrawler:
    """Visits boards of one site, one after another, incrementally.

    The first list page of each visit and the first threads of a slice are compared with the site's
    model. If the layout has changed, the page is queued again, and the site is learned again from a
    small sample within the same run. The page is then read with the new model if it agrees with the
    stored data, otherwise with the old one (see `services/layouts.py`). A guest page of a site with
    a login is queued again in the same way until the run has logged in (see `services/logins.py`).
    """

    kind = "forum"
    alone_kinds = frozenset({"sample", *logins.KINDS})

    def __init__(self) -> None:
        self._site: Site | None = None
        self._model: SiteModel | None = None
        self._gone: set[int] = set()  # visits whose board was not found at its address
        self._options: dict[str, Any] = {}  # how the site's pages are read
        self._look: Explorer | None = None
        self._samples: list[FetchedPage] = []
        self._seen: list[tuple[str, PageFacts]] = []
        self._groups: set[int | None] = set()
        self._member: logins.Membership | None = None
        self._predicted: dict[int, list[Thread]] = {}

    def settings(self, run: Run) -> CrawlSettings:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        addresses = [Site.objects.values_list("url", flat=True).get(pk=run.target)]
        settings = replace(settings, own_origins=origins(addresses[0]))
        addresses += Board.objects.filter(pk__in=run.parameters["boards"]).values_list(
            "url", flat=True
        )
        for key in {host_key(address) for address in addresses}:
            hosts.configure(key, settings)
        return settings

    def prepare(self, run: Run, now: datetime) -> None:
        self._predicted = visits.predicted(_boards(run), now)

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        self._remember_api(run, now)
        looks = overviews.begin(run, now)
        return [
            *self._membership(run).begin(run),
            *_staying([*looks, *visits.begin(run, _boards(run), self._predicted)]),
        ]

    def _remember_api(self, run: Run, now: datetime) -> None:
        """Keeps the forum's JSON interface switched off in this run if it returned nothing in the
        last visit, until a day has passed."""
        earlier = Run.objects.filter(kind=self.kind, target=run.target, pk__lt=run.pk).order_by(
            "-pk"
        )
        since = (earlier.values_list("result", flat=True).first() or {}).get("api_off")
        if since and now - datetime.fromisoformat(since) < API_REST:
            self._api_off(run, since)

    @staticmethod
    def _api_off(run: Run, since: str) -> None:
        run.result = {**run.result, "api": "off", "api_off": since}
        Run.objects.filter(pk=run.pk).update(result=run.result)

    def _load(self, run: Run) -> Site:
        """Returns the run's site; the first call loads it and its learned model from the
        database."""
        if self._site is None:
            self._site = Site.objects.get(pk=run.target)
            self._model = structures.model_of(self._site)
            self._options = structures.reading_options(self._site)
        return self._site

    def _membership(self, run: Run) -> logins.Membership:
        if self._member is None:
            self._member = logins.Membership(self._load(run))
        return self._member

    def request(self, run: Run, item: Url) -> FetchRequest:
        """Returns the request for an address of the frontier. It is conditional (If-None-Match,
        If-Modified-Since) if only a change matters: for an overview source, and for the first page
        of a list that an earlier visit read completely.
        """
        member = self._membership(run)
        if item.kind in logins.KINDS:
            return member.request(item)
        if (address := self._api(run, item)) is not None:
            return FetchRequest(address, cookies=member.own(address), refuses_redirect=leaves)
        plain = FetchRequest(item.url, cookies=member.own(item.url), refuses_redirect=leaves)
        if item.kind not in ("list", "overview") or not item.payload.get("conditional"):
            return plain
        page = (
            Page.objects.filter(url_hash=url_hash(item.url), status=200)
            .order_by("-fetched_at")
            .first()
        )
        return (
            replace(plain, etag=page.etag or None, last_modified=page.last_modified or None)
            if page is not None
            else plain
        )

    def _api(self, run: Run, item: Url) -> str | None:
        """Returns the address of the forum's JSON interface to request instead of a page. None if
        there is none, if it is switched off or returned nothing earlier in this run, if the
        operator has corrected the reading of such pages, or if robots.txt disallows it."""
        site, settings = (
            self._load(run),
            CrawlSettings.from_mapping(run.parameters.get("settings", {})),
        )
        kind = PageKind.threadlist if item.kind == "list" else PageKind.thread
        if (
            item.kind in ("sample", "overview", "post")
            or not settings.use_apis
            or run.result.get("api") == "off"
        ):
            return None
        rules: SiteCorrections | None = self._options["rules"]
        if rules is not None and rules.corrects(kind):
            return None
        address = api_address(site.engine, item.url, str(site.structure.get("root") or site.url))
        return (
            address
            if address and fetching.known_to_allow(address, settings.respect_robots)
            else None
        )

    def read(self, run: Run, item: Url, response: FetchResponse) -> Read:
        if item.kind in logins.KINDS:
            return Read(None)
        if item.kind == "sample":
            return self._read_sample(run, item, response)
        return replace(
            self._read(run, item, response), outside=self._membership(run).outside(response)
        )

    def _read(self, run: Run, item: Url, response: FetchResponse) -> Read:
        if response.request_url != item.url:
            answer = read_api(response.body, response.url) if response.status == 200 else None
            fits = answer is not None and answer.kind is not PageKind.other
            return Read(answer) if fits else Read(None, no_api=True)
        if response.status != 200:
            return Read(None, refused=self._barred(run, item, response))
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        asked = (
            directives(response, fetching.PRODUCT)
            if settings.obey_robots_meta
            else PageDirectives()
        )
        if asked.noindex or (asked.nofollow and item.kind == "list"):
            return Read(None, refused="robots_meta")
        if item.kind == "overview" and item.payload.get("data"):
            return Read(read_api(response.body, response.url))
        self._load(run)
        expect = _expected(item)
        assert response.fetched_at is not None  # noqa: S101 - a response with a status has a time
        reading = read_page(
            response.text,
            response.url,
            response.fetched_at,
            expect=expect,
            **self._options,
        )
        if refused := self._barred(run, item, response, reading):
            return Read(None, refused=refused)
        if self._model is not None:
            reading = followed(reading, self._model.pager(str(reading.kind)))
        if asked.nofollow:
            reading = replace(reading, next=None, numbered=())
        if settings.obey_nofollow:
            reading = without_nofollow(reading, response.text, response.url)
        change = (
            self._check(run, item, response, reading, expect)
            if expect is not None and item.kind in ("list", "thread")
            else None
        )
        return Read(reading, change)

    def _barred(
        self, run: Run, item: Url, response: FetchResponse, reading: PageReading | None = None
    ) -> str:
        """Returns the reason code of a page whose reading must not be stored, and of one that asks
        for a login in the place of a list or thread; "" for any other."""
        refused = structures.refusal(self._load(run), response.url, reading) if reading else ""
        if refused:
            return refused
        found = reading is not None and reading.records and reading.kind is _expected(item)
        if found or item.kind == "overview" or response.status not in (200, 401, 403):
            return ""
        asks = logins.is_gate(self._load(run), item.kind, item.url, response)
        return ("login_expired" if self._membership(run).wanted else "login_needed") if asks else ""

    def _check(
        self, run: Run, item: Url, response: FetchResponse, reading: PageReading, expect: PageKind
    ) -> LayoutChange | None:
        """Compares a page, together with the last pages of its kind in this slice, with the model.
        This is done for the first list page of a visit, the slice's first threads, and pages that
        could not be read as `expect`. Returns how the pages differ from the model; None if they
        fit, were not compared, or are too few to judge."""
        odd = reading.kind is not expect or not reading.records
        seen = sum(kind == str(expect) for kind, _facts in self._seen)
        first = item.group not in self._groups if item.kind == "list" else seen < THREADS_CHECKED
        self._groups |= {item.group} if item.kind == "list" else set()
        if self._model is None or not (odd or first) or (odd and self._is_no_sign(item)):
            return None
        assert response.fetched_at is not None  # noqa: S101 - see `read`
        page = FetchedPage(
            item.url, response.url, response.text, response.fetched_at, response.status
        )
        self._seen = [*self._seen[-2 * THREADS_CHECKED :], (str(expect), facts(page, reading))]
        alike = [pair for pair in self._seen if pair[0] == str(expect)][-THREADS_CHECKED:]
        change = recheck(self._model, alike)
        if change is None or (
            item.kind == "thread" and len(alike) < 2 and "marks" not in change.reasons
        ):
            # one unreadable thread is no evidence of a changed layout: it may have been deleted
            return None
        return change

    @staticmethod
    def _is_no_sign(item: Url) -> bool:
        """Tells whether a page without records is no sign of a changed layout: on the list of a
        board that has never had a thread, and where pages were missing before."""
        if item.kind == "list":
            return not Thread.objects.filter(board__visits=item.group).exists()
        return bool(item.payload.get("mend"))

    def store(
        self, run: Run, item: Url, response: FetchResponse, read: Read, now: datetime
    ) -> Stored:
        member = self._membership(run)
        if item.kind in logins.KINDS:
            return Stored(links=_staying(member.step(run, item, response, now)))
        if item.kind == "sample":
            return self._store_sample(run, read, now)
        if read.outside and (steps := member.again(run, now)) is not None:
            held = self._put_back(item, steps, "login_expired")
            if held is not None:
                return held
        if read.no_api:
            self._api_off(run, now.isoformat())
            return self._put_back(item, (), "no_api") or self.failed(run, item, "no_api", now)
        if read.refused:
            return self.failed(run, item, read.refused, now)
        if member.wanted and not read.outside:
            member.refresh(response)
            member.seen_inside(response, now)
        stored = self._store_page(run, item, response, read, now)
        stored.links = _staying(stored.links)
        return stored

    def _store_page(
        self, run: Run, item: Url, response: FetchResponse, read: Read, now: datetime
    ) -> Stored:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        if (
            item.kind == "list"
            and response.status in (404, 410)
            and (held := self._board_gone(run, item, now))
        ):
            return held
        if read.change is not None:
            put_back = self._learn_again(run, item, read.change, now)
            if put_back is not None:
                return put_back
            if read.change.broken and layout_changes.state_of(run) == "disagrees":
                return self.failed(run, item, "layout_changed", now)
        if item.kind == "overview":
            return overviews.store(run, item, response, read.reading, now)
        if item.kind == "post":
            return overviews.store_post(run, item, response, read.reading, now)
        if item.kind == "list":
            return visits.store_list(run, item, response, read.reading, settings, now)
        stored = visits.store_thread(run, item, response, read.reading, settings, now)
        ended = stored.counts.get("new", 0) + stored.counts.get("updated", 0)
        # learn the site again, because the model's rule relating reply counts to numbers of posts
        # no longer holds
        if settings.use_teacher and ended and doubts.contradicted(item.group):
            again = self._learn_again(run, item, LayoutChange("thread", ("contradiction",)), now)
            stored.links = [*stored.links, *(again.links if again is not None else ())]
        return stored

    def _learn_again(
        self, run: Run, item: Url, change: LayoutChange, now: datetime
    ) -> Stored | None:
        """Reacts to a changed layout (`change`): starts to learn the site's structure anew if need
        be, and queues the page to be read after that. Returns None if nothing is learned; the page
        is then stored as it was read.
        """
        site = self._load(run)
        started = layout_changes.noticed(run, site, change, now)
        if not (started or layout_changes.state_of(run) == "learning"):
            return None
        if started:
            self._look, self._samples = layout_changes.explorer(run, site)
        return self._put_back(
            item,
            layout_changes.sample_links(run, self._look) if self._look else [],
            "layout_changed",
        )

    def _board_gone(self, run: Run, item: Url, now: datetime) -> Stored | None:
        """Handles a board that is not found at its address. A single one may have been deleted: it
        is requested once more, after all others. A second one in the same run shows that the site
        has changed its addresses, so the site is learned again. None if the board counts as failed.
        """
        url = Board.objects.filter(visits=item.group).values_list("url", flat=True).first()
        if "conditional" not in item.payload or url is None:
            # a missing second or later page of the list does not mean that the board is gone
            return None
        if url != item.url:  # the board has got a new address meanwhile
            moved = NewUrl(
                url,
                "list",
                f"visit {item.group} moved",
                group=item.group,
                payload={"conditional": False},
            )
            return Stored(links=[replace(moved, priority=item.priority)], reason="moved")
        self._gone.add(item.group or 0)
        if len(self._gone) >= min(2, len(run.parameters["boards"])):
            held = self._learn_again(run, item, LayoutChange("threadlist", ("addresses",)), now)
            if held is not None:
                return held
        return (
            None
            if item.payload.get("again")
            else self._put_back(item, (), "http_404", later=AFTER_ALL)
        )

    @staticmethod
    def _put_back(
        item: Url, first: Sequence[NewUrl], reason: str, later: float = 0.0
    ) -> Stored | None:
        """Queues the page again, to be requested after the addresses in `first`; `later` is
        subtracted from its priority. None if it was queued again `PUT_BACK` times already."""
        times = int(item.payload.get("again", 0))
        if times >= PUT_BACK:
            return None
        payload = {**item.payload, "again": times + 1} | (
            {"conditional": False} if "conditional" in item.payload else {}
        )
        key = f"{item.kind} {item.group} again {times} {item.url}"
        again = NewUrl(
            item.url,
            item.kind,
            key=key,
            group=item.group,
            payload=payload,
            priority=item.priority - later,
        )
        return Stored(links=[*first, again], reason=reason)

    def _read_sample(self, run: Run, item: Url, response: FetchResponse) -> Read:
        """Adds a page to the sample; after the last page, learns a model and compares it with what
        is stored."""
        site = self._load(run)
        if self._look is None:
            self._look, self._samples = layout_changes.explorer(run, site)
        assert response.fetched_at is not None  # noqa: S101 - a response with a status has a time
        page = FetchedPage(
            item.url, response.url, response.text, response.fetched_at, response.status
        )
        self._look.feed(page)
        if item.anchor == "thread":
            self._samples.append(page)
        if layout_changes.sample_links(run, self._look):
            return Read(None)
        return self._judged(run, site)

    def _judged(self, run: Run, site: Site) -> Read:
        if self._look is None or self._model is None:
            return Read(None)
        new = self._look.site()
        return Read(None, None, new, layout_changes.judge(site, self._model, new, self._samples))

    def _store_sample(self, run: Run, read: Read, now: datetime) -> Stored:
        if read.learned is None or self._model is None:
            return Stored(links=layout_changes.sample_links(run, self._look) if self._look else ())
        layout_changes.settle(run, self._load(run), self._model, read.learned, read.objections, now)
        self._site, self._look, self._samples, self._seen = None, None, [], []
        return Stored()

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        if item.kind == "list":
            return visits.list_failed(run, item, reason, now)
        if item.kind == "thread":
            return visits.thread_failed(run, item, reason, now)
        if item.kind == "overview":
            return overviews.failed(item, reason, now)
        if item.kind == "post":
            return visits.store_nothing(run, item, reason, now)
        if item.kind in logins.KINDS:
            self._membership(run).failed(run, reason, now)
            return Stored()
        site = self._load(run)
        if self._look is None:
            self._look, self._samples = layout_changes.explorer(run, site)
        self._look.failed(item.url, reason)
        return self._store_sample(
            run,
            Read(None) if layout_changes.sample_links(run, self._look) else self._judged(run, site),
            now,
        )

    def idle(self, run: Run, now: datetime) -> str:
        dropped = (
            Url.objects.filter(run=run, state=UrlState.DROPPED)
            .order_by("-id")
            .values_list("reason", flat=True)
            .first()
        )
        visits.cut_short(run, dropped or "dropped", now)
        incomplete = Visit.objects.filter(run=run, complete=False).values_list(
            "stopped_by", flat=True
        )
        reasons = sorted(set(incomplete))
        return "complete" if not reasons else f"incomplete: {', '.join(reasons)}"

    def ended(self, run: Run, state: str, now: datetime) -> None:
        if state != RunState.PAUSED:
            layout_changes.forget(run)
        if state in (RunState.STOPPED, RunState.FAILED):
            visits.cut_short(run, "stopped" if state == RunState.STOPPED else "failed", now)
            overviews.cut_short(run, now)


def _expected(item: Url) -> PageKind | None:
    """Returns the kind of page that the model expects at an address; None for an overview source,
    which may be a list or an index."""
    if item.kind == "overview":
        return PageKind.index if item.payload.get("index") else None
    return PageKind.threadlist if item.kind == "list" else PageKind.thread


def _boards(run: Run) -> list[Board]:
    rows = Board.objects.filter(site_id=run.target, pk__in=run.parameters["boards"])
    return list(rows.select_related("site").defer("site__structure").order_by("position", "id"))


def _staying(links: Sequence[NewUrl]) -> list[NewUrl]:
    """Returns the addresses without those that look like a logout, which are never requested."""
    return [link for link in links if not leaves(link.url)]
