"""The state (session) of a topic's run between two steps: kept in memory by its process, else
rebuilt from the run's tables."""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db.models import Q

from crawlmgr.archive.archive import in_archive
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import caches
from crawlmgr.database.sql import in_parts
from crawlmgr.engine import Interrupted
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.text.similarity import Idf
from crawlmgr.web.traps import Counters
from crawlmgr.web.url import host_key
from focused.graph import MemoryGraph, Node, State
from focused.judge.probability import MAX_PAGES
from focused.judge.relevance import Relevance, Topic
from focused.models import TopicPage, TopicRun
from focused.pages import Content, Page, hashed
from focused.parameters import RunOptions, read_settings
from focused.run import archived_pages, loop
from focused.run.loop import Walk
from focused.run.parse import UNREAD_TYPE, Parser
from focused.run.scope import Scope
from focused.run.stored_graph import DatabaseGraph
from focused.strategies.base import strategy_class

# most sessions kept, and their estimated memory; the newest is kept in any case, since its run
# would have to be processed again from its beginning
KEPT, LIVE_BYTES, NODE_BYTES = 4, 256_000_000, 1_000
# Maximum number of addresses chosen in advance for each request that may be in progress. A host
# pauses between requests, and a request takes about half a second, so 1 + 2 x the delay keep enough
# requests in progress over many hosts.
LOOKAHEAD = 4
REMEMBERED = (
    50_000  # number of pages whose row ids a session caches; for others the database is queried
)
NO_FETCH = (
    "robots",
    "dropped",
    "host_pages",
    "not_in_archive",
)  # prefixes of failure reasons for which no request was sent
_live: OrderedDict[int, Session] = OrderedDict()


@dataclass(slots=True)
class RunParameters:
    """What a run shall do: its options, scope, topic and parser of pages. `connections` is the
    number of requests in progress that one host may have, `most` the maximum number of chosen
    addresses whose pages have not arrived."""

    options: RunOptions
    scope: Scope
    topic: Topic
    parser: Parser
    connections: int
    most: int

    @classmethod
    def of(cls, run: Run, row: TopicRun) -> RunParameters:
        """Reads the parameters that were frozen into a run when it was created."""
        options: RunOptions = read_settings(RunOptions, run.parameters["options"])
        topic = Topic.from_json(row.definition)
        web = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        return cls(
            options,
            Scope.from_mapping(run.parameters["scope"]),
            topic,
            archived_pages.parser_of(topic, options),
            web.connections,
            options.ahead or int(web.in_flight * min(LOOKAHEAD, 1 + 2 * web.delay_seconds)),
        )


@dataclass(slots=True)
class Outstanding:
    """The chosen addresses whose pages have not arrived: `why` tells by address why it was chosen
    (see `Session.explain`), `chosen` is how many this session has passed to the frontier,
    `exhausted` is True if none is outstanding and the strategy has no more, and `refused` counts by
    rule the queued ones that the scope no longer allows and that the run's row does not count
    yet."""

    why: dict[str, dict[str, Any]] = field(default_factory=dict)
    chosen: int = 0
    exhausted: bool = False
    refused: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Progress:
    """How far a run has come: its row, the number and the random identifier (`mark`) of the last
    stored step that the session includes, how much of the page budget is used (`asked`),
    and the number of requests sent.

    `places` holds recently arrived pages by address, each as its row id and the number of
    consecutive off-topic pages that end with it; `addresses` their ids in the frontier.
    `frequencies` are new document frequencies that are to be stored. `edited`: the operator had
    edits of the running crawl pending when the last step was stored. `settled`: number of pages at
    which the marks were last evaluated, -1 after further marks. `sitemap_hosts` are those whose
    sitemaps were requested."""

    row: TopicRun
    steps: int = 0
    mark: int = 0
    asked: int = 0
    requests: int = 0
    edited: bool = False
    settled: int = 0
    frequencies: Idf | None = None
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    addresses: dict[str, int] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    sitemap_hosts: set[str] = field(default_factory=set)

    def remember(self, url: str, row: int, off_topic_run: int) -> None:
        """Caches an arrived page's row id and the number of consecutive off-topic pages that end
        with it."""
        if len(self.places) >= REMEMBERED:
            self.places.clear()
            self.addresses.clear()
        self.places[url] = (row, off_topic_run)


class Session:
    """The state of one run in the memory of one process: what it shall do, its walk (strategy and
    graph), the addresses under way, and how far it has come."""

    def __init__(self, run: Run, row: TopicRun) -> None:
        self.parameters = RunParameters.of(run, row)
        options = self.parameters.options
        self.run_id = run.pk
        self.graph: MemoryGraph | DatabaseGraph = (
            DatabaseGraph(run.pk, row.pushes) if options.graph == "database" else MemoryGraph()
        )
        found = strategy_class(run.parameters["strategy"], settings.TOPIC_STRATEGIES)
        # must be repeatable, no security
        rng = random.Random(options.random_seed)  # noqa: S311
        history = archived_pages.history_of(options.history) if options.history else ()
        strategy = found(
            Relevance(self.parameters.topic), self.graph, rng, run.parameters["parameters"], history
        )
        if options.source == "archive" or strategy.one_at_a_time:
            self.parameters.most = 1
        self.walk = Walk(strategy, self.graph)
        self.outstanding, self.progress = Outstanding(), Progress(row)

    def weight(self) -> int:
        """Returns the estimated bytes of the session's graph and of what it remembers of pages."""
        return NODE_BYTES * (len(self.graph) + len(self.progress.places))

    @property
    def resumable(self) -> bool:
        """True if the run can continue from its tables, without processing its pages again."""
        return isinstance(self.graph, DatabaseGraph) and self.walk.strategy.resumable

    def begin(self) -> None:
        """Adds those of the topic's seeds that the scope allows to the strategy's queue."""
        self.walk.strategy.start(
            [
                url
                for url in self.parameters.topic.seeds
                if self.parameters.scope.refusal(url, 0) is None
            ]
        )

    def choose(self) -> list[str]:
        """Chooses the next addresses by the strategy, adds them to `outstanding` and returns them,
        best first. No host gets more outstanding addresses than it may have connections, all hosts
        together no more than `most`; [] if none may be added.
        """
        if len(self.outstanding.why) >= self.parameters.most:
            return []
        on = Counter(host_key(url) for url in self.outstanding.why)
        # no more than a host may be asked at once: an address chosen earlier than it can be
        # requested is chosen with less knowledge
        resting = {host for host, number in on.items() if number >= self.parameters.connections}
        chosen: list[str] = []
        self.graph.resting = resting
        while (
            len(self.outstanding.why) < self.parameters.most
            and self.progress.asked + len(self.outstanding.why) < self.parameters.options.pages
        ):
            node = self.walk.select()
            if node is None:
                self.outstanding.exhausted = not self.outstanding.why
                break
            if reason := self.parameters.scope.refusal(node.url, node.depth):
                # the scope was changed by an edit after the address was queued
                self.outstanding.refused[reason] += 1
                self.walk.failed(node)
                continue
            self.outstanding.why[node.url] = self.explain(node)
            chosen.append(node.url)
            host = host_key(node.url)
            on[host] += 1
            if on[host] >= self.parameters.connections:
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
        self.outstanding.why.pop(url, None)
        self.outstanding.exhausted = False
        node = self.graph.node(url) or self.graph.add(url, 0, None)
        if node.state == State.WAITING:
            self.graph.drop(node)
        return node

    def edit(self, change: dict[str, Any]) -> None:
        """Carries out an operator's edit of the run (seeds, exclusions, parameters, marks) or
        queues a sitemap's addresses."""
        self.outstanding.exhausted = False
        for url in change.get("seeds", ()):
            node = self.graph.add(url, 0, None)
            if node.state < State.FETCHED and url not in self.outstanding.why:
                node.depth, node.parent = 0, None
                self.walk.strategy.prepare_seed(node)
                self.graph.push(
                    node, self.walk.strategy.seed_priority(), self.walk.strategy.seed_queue
                )
        self.parameters.scope = self.parameters.scope.changed(change)
        if "parameters" in change:
            self.walk.strategy.change(change["parameters"])
        for url, on_topic in change.get("marks", {}).items():
            self.walk.strategy.mark(url, on_topic)
        self.follow(change)
        if named := change.get("listed"):
            loop.queue_listed(self.walk, self.parameters.parser, named["url"], named["addresses"])

    def follow(self, change: dict[str, Any]) -> None:
        """Judges later pages by what the marks say (see `judge.marks`)."""
        if line := change.get("line"):
            self.walk.probability.calibration = (line[0], line[1])

    def within(self, node: Node, content: Content) -> tuple[Content, Counter[str]]:
        """Returns the page with only the links that the run may follow, and the number of removed
        links by code of the rule."""
        content, refused = self.parameters.scope.apply(content, node.depth)
        if self.parameters.options.source == "archive":
            held = in_archive([link.url for link in content.links])
            kept = tuple(link for link in content.links if link.url in held)
            if len(kept) < len(content.links):
                refused["not_in_archive"] += len(content.links) - len(kept)
                content = replace(content, links=kept)
        return content, refused

    def pay(self, recalled: bool, problem: str) -> None:
        """Counts what an address costs, in pages of the budget and in requests (see `counts`)."""
        self.progress.asked += counts(self.parameters.options, recalled, problem)
        self.progress.requests += not recalled and not problem.startswith(NO_FETCH)

    def learn(self, node: Node, content: Content) -> tuple[Page, int | None] | None:
        """Scores a page by `Walk.judge` and returns the result; if new document frequencies came
        into use, sets `frequencies`."""
        before = self.walk.strategy.topic.idf
        if isinstance(self.graph, DatabaseGraph):
            self.graph.prepare(link.url for link in content.links)
        judged = self.walk.judge(node, content)
        if self.walk.strategy.topic.idf is not before:
            self.progress.frequencies = self.walk.strategy.topic.idf
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
    if session is None or (session.progress.steps, session.progress.mark) != (row.steps, row.mark):
        session = _caught_up(session, row, pulse) or _rebuilt(run, row, pulse)
    session.progress.row = row
    _live[run.pk] = session
    # the newest stays in any case: its run would have to be processed again from the beginning
    caches.bounded(_live, KEPT, LIVE_BYTES, Session.weight)
    return session


def forget(run_id: int) -> None:
    """Removes the session of an ended run from memory."""
    _live.pop(run_id, None)


def _caught_up(session: Session | None, row: TopicRun, pulse: Callable[[], None]) -> Session | None:
    """Processes stored steps of another process that a session in memory lacks, and returns it;
    None if a new one is needed."""
    if (
        session is None
        or isinstance(session.graph, DatabaseGraph)
        or session.progress.steps >= row.steps
    ):
        return None
    known = (
        TopicPage.objects.filter(run_id=row.pk, step=session.progress.steps)
        .values_list("mark", flat=True)
        .first()
    )
    if known != session.progress.mark:
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
        session.walk.strategy.topic.learn(archived_pages.words_of(page))
        pulse()
    fresh = pages.filter(duplicate_of__isnull=True).order_by("number")
    for page in fresh.only("words", "packed")[:MAX_PAGES]:
        if words := archived_pages.words_of(page):
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
        session.parameters.scope = session.parameters.scope.changed(change)
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
    session.outstanding.why = {url: payload.get("why", {}) for url, payload in waiting}
    session.progress.steps, session.progress.mark, session.progress.asked = (
        row.steps,
        row.mark,
        row.asked,
    )
    fetched = TopicPage.objects.filter(run_id=row.pk, recalled=False)
    unsent = Q(kind=TopicPage.Kind.EDIT)
    for reason in NO_FETCH:
        unsent |= Q(detail__startswith=reason)
    session.progress.requests = fetched.exclude(unsent).count()


def _replay(session: Session, row: TopicRun, pulse: Callable[[], None]) -> None:
    """Repeats the run's stored steps that come after the session's last one, with the pages read
    from the archive."""
    steps = TopicPage.objects.filter(
        run_id=row.pk, step__gt=session.progress.steps, step__lte=row.steps
    )
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
        session.progress.steps, session.progress.mark = step.step, step.mark
        _breathe(session, pulse)
    if Url.objects.filter(run_id=row.pk, state__in=(UrlState.WAITING, UrlState.CLAIMED)).exists():
        # repeats the choice of the waiting addresses, made before the process ended
        session.choose()
    session.outstanding.refused.clear()  # counted when they were refused first


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
                f"{session.progress.steps} steps gone through again take longer than a task may;"
                " use a graph in memory"
            )
            raise RuntimeError(said) from None
        raise


def _again(session: Session, node: Node, step: TopicPage) -> None:
    content = archived_pages.content_of(step, session.parameters.parser, session.parameters.options)
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
