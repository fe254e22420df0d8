"""The state (session) of a topic's run between two steps: kept in memory by its process, else
rebuilt from the run's tables."""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.module_loading import import_string

from crawlmgr.archive import archive
from crawlmgr.archive.archive import in_archive
from crawlmgr.conf import CrawlSettings
from crawlmgr.database.sql import in_parts
from crawlmgr.engine import Interrupted
from crawlmgr.models import Page as StoredPage
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.text import caches
from crawlmgr.text.similarity import Idf
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.traps import Counters
from crawlmgr.web.url import UrlError, canonical, host_key
from focused.graph import MemoryGraph, Node, State
from focused.judge.definition import Topic
from focused.judge.judge import MAX_PAGES
from focused.judge.relevance import Relevance
from focused.models import TopicPage, TopicRun
from focused.pages import Content, Page, hashed
from focused.parameters import RunOptions, read_settings
from focused.run import loop
from focused.run.loop import Walk
from focused.run.parse import CONTEXTS, UNREAD_TYPE, Draft, Parser, run_stages
from focused.run.scope import Scope
from focused.run.stored_graph import DatabaseGraph
from focused.strategies import strategy_class

# most sessions kept, and their estimated memory; the newest is kept in any case, since its run
# would have to be processed again from its beginning
KEPT, LIVE_BYTES, NODE_BYTES = 4, 256_000_000, 1_000
PARSED_BYTES = 64_000_000  # estimated memory of the kept parsed pages
# Maximum number of addresses chosen in advance for each request that may be in progress. A host
# pauses between requests, and a request takes about half a second, so 1 + 2 x the delay keep enough
# requests in progress over many hosts.
LOOKAHEAD = 4
REMEMBERED = (
    50_000  # number of pages whose row ids a session caches; for others the database is queried
)
HISTORY_PAGES = 5000
NO_FETCH = (
    "robots",
    "dropped",
    "host_pages",
    "not_in_archive",
)  # prefixes of failure reasons for which no request was sent
_live: OrderedDict[int, Session] = OrderedDict()
_parsed: OrderedDict[tuple[object, ...], Draft] = OrderedDict()


class Session:
    """The state of one run in the memory of one process. `steps` and `mark` are the number and the
    random identifier of the last stored step that it includes. `outstanding` holds the chosen
    addresses whose pages have not arrived, with the parts of their priority."""

    def __init__(self, run: Run, row: TopicRun) -> None:
        self.run_id = run.pk
        self.options: RunOptions = read_settings(RunOptions, run.parameters["options"])
        self.scope = Scope.from_mapping(run.parameters["scope"])
        self.topic = Topic.from_json(row.definition)
        self.parser = Parser(
            Tokenizer(self.topic.user_words),
            CONTEXTS[self.options.context],
            main=self.options.main_text,
        )
        self.graph: MemoryGraph | DatabaseGraph = (
            DatabaseGraph(run.pk, row.pushes) if self.options.graph == "database" else MemoryGraph()
        )
        found = strategy_class(run.parameters["strategy"], settings.TOPIC_STRATEGIES)
        # must be repeatable, no security
        rng = random.Random(self.options.random_seed)  # noqa: S311
        history = history_of(self.options.history) if self.options.history else ()
        strategy = found(
            Relevance(self.topic), self.graph, rng, run.parameters["parameters"], history
        )
        self.walk = Walk(strategy, self.graph)
        self.row = row
        self.steps, self.mark, self.asked, self.requests = 0, 0, 0, 0
        web = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        self.connections = web.connections
        # maximum number of chosen addresses whose pages have not arrived
        self.most = self.options.ahead or int(
            web.in_flight * min(LOOKAHEAD, 1 + 2 * web.delay_seconds)
        )
        if self.options.source == "archive" or strategy.one_at_a_time:
            self.most = 1
        self.outstanding: dict[str, dict[str, Any]] = {}
        self.chosen = 0  # number of addresses that this session has passed to the frontier
        self.exhausted = False
        # True if the operator had edits of the running crawl pending when the last step was stored
        self.edited = False
        self.frequencies: Idf | None = None
        self.places: dict[str, tuple[int, int]] = {}
        """Recently arrived pages by address: row id, and number of consecutive off-topic pages that
        end with the page."""
        self.addresses: dict[
            str, int
        ] = {}  # ids in the frontier of recently arrived pages, by address
        self.counters = Counters()
        self.settled = 0
        """Number of pages at which the marks were last evaluated; -1 after further marks."""
        self.listed: set[str] = set()  # hosts whose sitemaps were requested

    def weight(self) -> int:
        """Returns the estimated bytes of the session's graph and of what it remembers of pages."""
        return NODE_BYTES * (len(self.graph) + len(self.places))

    @property
    def resumable(self) -> bool:
        """True if the run can continue from its tables, without processing its pages again."""
        return isinstance(self.graph, DatabaseGraph) and self.walk.strategy.resumable

    def begin(self) -> None:
        """Adds those of the topic's seeds that the scope allows to the strategy's queue."""
        self.walk.strategy.start(
            [url for url in self.topic.seeds if self.scope.refusal(url, 0) is None]
        )

    def choose(self) -> list[str]:
        """Chooses the next addresses by the strategy, adds them to `outstanding` and returns them,
        best first. No host gets more outstanding addresses than it may have connections, all hosts
        together no more than `most`; [] if none may be added.
        """
        if len(self.outstanding) >= self.most:
            return []
        on = Counter(host_key(url) for url in self.outstanding)
        resting = {host for host, number in on.items() if number >= self.connections}
        chosen: list[str] = []
        self.graph.resting = resting
        while (
            len(self.outstanding) < self.most
            and self.asked + len(self.outstanding) < self.options.pages
        ):
            node = self.walk.select()
            if node is None:
                self.exhausted = not self.outstanding
                break
            if self.scope.refusal(node.url, node.depth):
                self.walk.failed(
                    node
                )  # the scope was changed by an edit after the address was queued
                continue
            self.outstanding[node.url] = self.explain(node)
            chosen.append(node.url)
            host = host_key(node.url)
            on[host] += 1
            if on[host] >= self.connections:
                resting.add(host)
        self.graph.resting = ()
        return chosen

    def explain(self, node: Node) -> dict[str, Any]:
        """Returns why a node was chosen: the parts of its priority, its queue, the page it was
        found on, and its depth."""
        parts = {name: round(value, 6) for name, value in self.walk.strategy.explain(node).items()}
        return {"parts": parts, "queue": node.queue, "parent": node.parent, "depth": node.depth}

    def take(self, url: str) -> Node:
        """Removes an address whose page has arrived from `outstanding` (the addresses chosen but
        not yet fetched) and returns its node. Creates the node if it is missing, as it may be when
        a resumed run replays its stored pages in another order.
        """
        self.outstanding.pop(url, None)
        self.exhausted = False
        node = self.graph.node(url) or self.graph.add(url, 0, None)
        if node.state == State.WAITING:
            self.graph.drop(node)
        return node

    def edit(self, change: dict[str, Any]) -> None:
        """Carries out an operator's edit of the run (seeds, exclusions, parameters, marks) or
        queues a sitemap's addresses."""
        self.exhausted = False
        for url in change.get("seeds", ()):
            node = self.graph.add(url, 0, None)
            if node.state < State.FETCHED and url not in self.outstanding:
                node.depth, node.parent = 0, None
                self.walk.strategy.prepare_seed(node)
                self.graph.push(
                    node, self.walk.strategy.seed_priority(), self.walk.strategy.seed_queue
                )
        self.scope = self.scope.changed(change)
        if "parameters" in change:
            self.walk.strategy.change(change["parameters"])
        for url, on_topic in change.get("marks", {}).items():
            self.walk.strategy.mark(url, on_topic)
        self.follow(change)
        if named := change.get("listed"):
            loop.queue_listed(self.walk, self.parser, named["url"], named["addresses"])

    def follow(self, change: dict[str, Any]) -> None:
        """Judges later pages by what the marks say (see `judge.marks`)."""
        if line := change.get("line"):
            self.walk.probability.line = (line[0], line[1])

    def within(self, node: Node, content: Content) -> tuple[Content, Counter[str]]:
        """Returns the page with only the links that the run may follow, and the number of removed
        links by code of the rule."""
        content, refused = self.scope.apply(content, node.depth)
        if self.options.source == "archive":
            held = in_archive([link.url for link in content.links])
            kept = tuple(link for link in content.links if link.url in held)
            if len(kept) < len(content.links):
                refused["not_in_archive"] += len(content.links) - len(kept)
                content = replace(content, links=kept)
        return content, refused

    def place(self, url: str, row: int, off_topic_run: int) -> None:
        """Caches an arrived page's row id and the number of consecutive off-topic pages that end
        with it."""
        if len(self.places) >= REMEMBERED:
            self.places.clear()
            self.addresses.clear()
        self.places[url] = (row, off_topic_run)

    def pay(self, recalled: bool, problem: str) -> None:
        """Counts what an address costs, in pages of the budget and in requests (see `counts`)."""
        self.asked += counts(self.options, recalled, problem)
        self.requests += not recalled and not problem.startswith(NO_FETCH)

    def learn(self, node: Node, content: Content) -> tuple[Page, int | None] | None:
        """Scores a page by `Walk.judge` and returns the result; if new document frequencies came
        into use, sets `frequencies`."""
        before = self.walk.strategy.topic.idf
        if isinstance(self.graph, DatabaseGraph):
            self.graph.prepare(link.url for link in content.links)
        judged = self.walk.judge(node, content)
        if self.walk.strategy.topic.idf is not before:
            self.frequencies = self.walk.strategy.topic.idf
        return judged


def no_pulse() -> None:
    """Does nothing; used as `pulse` by callers that hold no lease to renew."""


def acquire(run: Run, pulse: Callable[[], None] = no_pulse) -> Session:
    """Returns the run's session, up to date with the last stored step. `pulse` is called at each
    stored step that has to be processed again; if it raises Interrupted, a session in memory is
    kept, from which the next call continues.
    """
    row = TopicRun.objects.get(pk=run.pk)
    session = _live.pop(run.pk, None)
    if session is None or (session.steps, session.mark) != (row.steps, row.mark):
        session = _caught_up(session, row, pulse) or _rebuilt(run, row, pulse)
    session.row = row
    _live[run.pk] = session
    caches.bounded(_live, KEPT, LIVE_BYTES, Session.weight)
    return session


def forget(run_id: int) -> None:
    """Removes the session of an ended run from memory."""
    _live.pop(run_id, None)


def _caught_up(session: Session | None, row: TopicRun, pulse: Callable[[], None]) -> Session | None:
    """Processes stored steps of another process that a session in memory lacks, and returns it;
    None if a new one is needed."""
    if session is None or isinstance(session.graph, DatabaseGraph) or session.steps >= row.steps:
        return None
    known = (
        TopicPage.objects.filter(run_id=row.pk, step=session.steps)
        .values_list("mark", flat=True)
        .first()
    )
    if known != session.mark:
        return None
    _replay(session, row, pulse)
    return session


def _rebuilt(run: Run, row: TopicRun, pulse: Callable[[], None]) -> Session:
    session = Session(run, row)
    if not run.begun:
        session.begin()
    elif session.resumable and row.steps:
        _resume(session, row, pulse)
    else:
        if isinstance(session.graph, DatabaseGraph):
            session.graph.clear()
        session.begin()
        _replay(session, row, pulse)
    return session


def _resume(session: Session, row: TopicRun, pulse: Callable[[], None]) -> None:
    """Restores a session from the run's tables, without processing its pages again: the stored
    document frequencies, updated by later pages; the pages' fingerprints; the user's changes of
    scope and parameters; the strategy's state; the open addresses.
    """
    if row.frequencies is not None:
        stored = json.loads(zlib.decompress(row.frequencies))
        session.walk.strategy.topic.restore(Idf(stored["documents"], stored["counts"]))
    pages = TopicPage.objects.filter(run_id=row.pk, kind=TopicPage.Kind.PAGE)
    for page in in_parts(pages.filter(step__gt=row.frequencies_step), "step", 200):
        session.walk.strategy.topic.learn(words_of(page))
        pulse()
    fresh = pages.filter(duplicate_of__isnull=True).order_by("number")
    for page in fresh.only("words", "packed")[:MAX_PAGES]:
        if words := words_of(page):
            session.walk.probability.see(hashed(words))
        pulse()
    columns = ("number", "fingerprint", "duplicate_of", "url", "final_url")
    for number, fingerprint, of, url, final in list(pages.order_by("number").values_list(*columns)):
        session.walk.prints.add(fingerprint, number)
        session.walk.copies.see(final or url, of is not None)
        session.walk.pages += 1
        pulse()
    edits = TopicPage.objects.filter(run_id=row.pk, kind=TopicPage.Kind.EDIT).order_by("step")
    for change in edits.values_list("why", flat=True):
        session.scope = session.scope.changed(change)
        if "parameters" in change:
            session.walk.strategy.change(change["parameters"])
        session.follow(change)
    session.walk.strategy.resume(row.strategy_state or {})
    open_states = (UrlState.WAITING, UrlState.CLAIMED)
    waiting = (
        Url.objects.filter(run_id=row.pk, kind="page", state__in=open_states)
        .order_by("id")
        .values_list("url", "payload")
    )
    session.outstanding = {url: payload.get("why", {}) for url, payload in waiting}
    session.steps, session.mark, session.asked = row.steps, row.mark, row.asked
    fetched = TopicPage.objects.filter(run_id=row.pk, recalled=False)
    unsent = Q(kind=TopicPage.Kind.EDIT)
    for reason in NO_FETCH:
        unsent |= Q(detail__startswith=reason)
    session.requests = fetched.exclude(unsent).count()


def _replay(session: Session, row: TopicRun, pulse: Callable[[], None]) -> None:
    """Repeats the run's stored steps that come after the session's last one, with the pages read
    from the archive."""
    steps = TopicPage.objects.filter(run_id=row.pk, step__gt=session.steps, step__lte=row.steps)
    for step in in_parts(steps, "step", 100):
        if step.kind == TopicPage.Kind.EDIT:
            session.edit(step.why)
        else:
            session.choose()
            node = session.take(step.url)
            if step.kind == TopicPage.Kind.PAGE:
                _again(session, node, step)
            elif node.state != State.FAILED:
                session.walk.failed(node)
            session.pay(step.recalled, step.detail)
        session.steps, session.mark = step.step, step.mark
        _breathe(session, pulse)
    if Url.objects.filter(run_id=row.pk, state__in=(UrlState.WAITING, UrlState.CLAIMED)).exists():
        # repeats the choice of the waiting addresses, made before the process ended
        session.choose()


def _breathe(session: Session, pulse: Callable[[], None]) -> None:
    try:
        pulse()
    except Interrupted as interrupted:
        if isinstance(session.graph, MemoryGraph):
            _live[session.run_id] = session
        # This run is rebuilt from its first step in every slice. If that takes longer than a slice,
        # it would never end: give up.
        elif interrupted.why == "time" and not session.resumable:
            said = (
                f"{session.steps} steps gone through again take longer than a task may; use a graph"
                " in memory"
            )
            raise RuntimeError(said) from None
        raise


def _again(session: Session, node: Node, step: TopicPage) -> None:
    content = content_of(step, session.parser, session.options)
    if step.final_url and step.final_url != content.url:
        content = replace(content, url=step.final_url)  # the page declared this address as its own
    content, _ = session.within(node, content)
    judged = session.learn(node, content)
    if judged is not None:
        session.walk.expand(node, *judged)


def counts(options: RunOptions, recalled: bool, problem: str) -> int:
    """Returns what an address costs of the page budget: 0 if it came from the archive (`recalled`)
    and the options make archived pages free, if it failed (code `problem`) before a request was
    sent, or if it has no page but a file that cannot be read; else 1."""
    known_free = recalled and options.source == "mixed" and options.known == "free"
    return 0 if known_free or problem.startswith((*NO_FETCH, UNREAD_TYPE)) else 1


def words_of(page: TopicPage) -> Counter[str]:
    """Returns the stored words of a page with their numbers of occurrences."""
    data = bytes(page.words or b"")
    return (
        Counter((zlib.decompress(data) if page.packed else data).decode("utf-8").split(" "))
        if data
        else Counter()
    )


def read_stages() -> list[Callable[..., None]]:
    """Returns the stages that convert a response to a page, which the setting TOPIC_READ_STAGES
    names."""
    return [import_string(name) for name in settings.TOPIC_READ_STAGES]


def draft_of(page: StoredPage, parser: Parser, options: RunOptions) -> Draft | None:
    """Parses a stored page as it was parsed after its fetch; None if it is not archived. Caches up
    to `options.cache` results."""
    key = (page.warc_id, page.warc_offset, options.context, options.main_text, parser.user_words)
    if key in _parsed:
        _parsed.move_to_end(key)
        return _parsed[key]
    record = archive.read_page(page)
    if record is None:
        return None
    draft = run_stages(
        read_stages(),
        Draft(
            page.final_url or page.url,
            record.payload,
            record.content_type,
            record.header("refresh"),
        ),
        parser,
    )
    draft.body, draft.html = b"", ""  # large, and no longer needed
    if options.cache:
        _parsed[key] = draft
        caches.bounded(_parsed, options.cache, PARSED_BYTES, Draft.weight)
    return draft


def content_of(step: TopicPage, parser: Parser, options: RunOptions) -> Content:
    """Returns the page of a stored step from the archive; if it is gone, a page with the stored
    words and without links."""
    page = (
        StoredPage.objects.filter(run_id=step.run_id, key_hash=step.url_hash)
        .select_related("warc")
        .first()
    )
    draft = draft_of(page, parser, options) if page is not None else None
    if draft is not None and draft.content is not None:
        return draft.content
    try:
        url = canonical(step.final_url or step.url)
    except UrlError:
        url = step.url
    return Content(url, step.title, words_of(step), (), step.fingerprint)


def history_of(run_id: int) -> Sequence[Page]:
    """Returns the first 5,000 pages of an earlier run, for strategies that learn from one; empty if
    there is no such run."""
    run = Run.objects.filter(pk=run_id).first()
    row = TopicRun.objects.filter(pk=run_id).first()
    if run is None or row is None:
        return ()
    options: RunOptions = read_settings(RunOptions, run.parameters["options"])
    parser = Parser(
        Tokenizer(Topic.from_json(row.definition).user_words),
        CONTEXTS[options.context],
        main=options.main_text,
    )
    steps = in_parts(TopicPage.objects.filter(run_id=run_id, kind=TopicPage.Kind.PAGE), "step", 100)
    return [
        Page(
            step.url,
            step.depth,
            content_of(step, parser, options),
            step.similarity or 0.0,
            step.relevant,
            float(step.relevant),
        )
        for step in islice(steps, HISTORY_PAGES)
    ]
