"""Writes the steps of topic runs. A step is a page that was scored and stored, an address that
could not be fetched, or an edit of the run by an operator. Everything is written in the caller's
transaction.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import deflate
from django.conf import settings
from django.utils.module_loading import import_string

from crawlmgr.database import sql
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Url, events
from crawlmgr.web import robots
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.traps import counter_shape, file_shape
from crawlmgr.web.url import UrlError, canonical, host_key, url_hash
from focused.graph import Node, State
from focused.models import TopicPage
from focused.pages import Content, Page, given, same_page
from focused.run import loop
from focused.run.parse import UNREAD_TYPE, Draft
from focused.run.sessions import Session
from focused.run.stored_graph import DatabaseGraph

UNREAD_ANSWERS = 3  # of one shape of addresses, after which they are refused
UNREAD_KEPT = 1_000  # latest unread answers among which they are counted
PACKING = 1  # compression level: the fastest
_PARENT = (
    "SELECT id, off_topic_run FROM focused_topicpage WHERE run_id = %s AND url_hash = %s AND kind ="
    " 0 LIMIT 1"
)
_DEFAULTS = {
    field.column: field.get_default()
    for field in TopicPage._meta.concrete_fields
    if field.column != "id"
}
_COLUMNS = tuple(_DEFAULTS)
OTHER_ADDRESS = "other_address"
"""Key, among the counts of refused links, for the number of pages that declared another address as
their own (rel=canonical)."""
EDITED = "CAST(edits AS text) <> '[]'"
"""SQL condition that is true if a topic's run has edits that were not carried out yet."""
_INSERT = (
    # column names of the model
    f"INSERT INTO focused_topicpage ({', '.join(_COLUMNS)})"  # noqa: S608
    f" VALUES ({', '.join(['%s'] * len(_COLUMNS))}) RETURNING id"
)


class Written(NamedTuple):
    """The row that was stored for a step: its id, the number of the step in the run (`step`), and
    the random number that identifies the step (`mark`)."""

    pk: int
    step: int
    mark: int


@dataclass(slots=True)
class Arrival:
    """A fetched page while it passes the stages of the setting TOPIC_STORE_STAGES. `why` are the
    reasons for which its address was chosen, `recalled` tells whether it comes from the archive.
    The stage `judge` sets `page`, unless the page was already fetched under another address, and
    `repeats`, the number of the page that it nearly duplicates; the stage `keep` sets `stored`."""

    session: Session
    node: Node
    draft: Draft
    why: dict[str, Any]
    now: datetime
    recalled: bool
    page: Page | None = None
    repeats: int | None = None
    stored: Written | None = None
    counter: str = ""
    """The shape of the page's address if this page showed that it is a trap (`traps.Counters`)."""
    own_address: str = ""
    """The address that the page declares as its own (rel=canonical), if it is accepted
    (`_own_address`)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of fetching an address: `kind` of its row in the run's log (a `TopicPage.Kind`),
    and title, similarity to the topic and relevance of the page. If there is no page to store,
    `problem` is a code that says why.
    """

    kind: int
    title: str = ""
    similarity: float | None = None
    relevant: bool = False
    problem: str = ""


def arrived(
    session: Session, url: str, draft: Draft, now: datetime, *, recalled: bool = False
) -> Outcome:
    """Handles the page that was fetched for a chosen address: runs the stages of
    TOPIC_STORE_STAGES, queues the page's links, stores the step and returns the outcome. `recalled`
    is true if the page comes from the archive.
    """
    why = session.outstanding.why.get(url, {})
    arrival = Arrival(session, session.take(url), draft, why, now, recalled)
    for name in settings.TOPIC_STORE_STAGES:
        import_string(name)(arrival)
    # another address led to this page before; the step is stored all the same, so that a replay
    # takes its addresses in the same order
    if arrival.page is None:
        final = arrival.own_address or (draft.content.url if draft.content else draft.url)
        depth = arrival.node.depth
        row = _insert(
            session,
            TopicPage.Kind.SAME,
            url,
            now,
            why=why,
            depth=depth,
            final_url=final,
            recalled=recalled,
        )
        session.pay(recalled, "")
        _close(session, row)
        return Outcome(TopicPage.Kind.SAME, problem="fetched_before")
    session.walk.expand(arrival.node, arrival.page, arrival.repeats)
    if left_out := len(session.walk.strategy.left_out):
        session.progress.row.refused = {**session.progress.row.refused, "same_concepts": left_out}
    session.pay(recalled, "")
    assert arrival.stored is not None  # noqa: S101 - set by `keep` for every page
    _close(session, arrival.stored)
    # the page is one of an endless series, such as a calendar: the rest of it is refused
    if arrival.counter:
        links = [counter_shape(link.url) for link in arrival.page.content.links]
        left = Counter(session.progress.row.refused) + Counter(counter=links.count(arrival.counter))
        session.progress.row.refused = dict(left)
        edited(session, {"counters": [arrival.counter]}, now)
        events.warn("counter_trap", url, now=now, run_id=session.run_id)
    return Outcome(
        TopicPage.Kind.PAGE,
        arrival.page.content.title,
        arrival.page.similarity,
        arrival.page.relevant,
    )


def failed(session: Session, url: str, reason: str, now: datetime) -> Outcome:
    """Handles a chosen address that could not be fetched: reports it to the strategy, stores the
    step with the code `reason`, and returns the outcome."""
    why = session.outstanding.why.get(url, {})
    node = session.take(url)
    session.walk.failed(node)
    row = _insert(
        session, TopicPage.Kind.FAILED, url, now, why=why, depth=node.depth, detail=reason[:300]
    )
    session.progress.row.failed += 1
    session.pay(False, reason)
    _close(session, row)
    if reason.startswith(UNREAD_TYPE):
        _give_up_shape(session, url, now)
    return Outcome(TopicPage.Kind.FAILED, problem=reason)


def _give_up_shape(session: Session, url: str, now: datetime) -> None:
    """Refuses addresses of the shape of `url` from now on, if it is the third of them whose answer
    has a type that cannot be read."""
    shape = file_shape(url)
    unread = TopicPage.objects.filter(
        run_id=session.run_id, kind=TopicPage.Kind.FAILED, detail__startswith=UNREAD_TYPE
    )
    recent = unread.order_by("-step").values_list("url", flat=True)[:UNREAD_KEPT]
    if shape and sum(file_shape(other) == shape for other in recent) == UNREAD_ANSWERS:
        edited(session, {"unread": [shape]}, now)


def edited(session: Session, change: dict[str, Any], now: datetime) -> None:
    """Carries out an operator's edit and stores it as a step, so that it takes effect at the same
    position when the stored steps are processed again."""
    session.edit(change)
    row = _insert(session, TopicPage.Kind.EDIT, "", now, why=change)
    _close(session, row)


def judge(arrival: Arrival) -> None:
    """Removes and counts links out of scope, scores the page, and finds out whether it nearly
    duplicates an earlier one. A stage of the setting TOPIC_STORE_STAGES.
    """
    content = arrival.draft.content
    assert content is not None  # noqa: S101 - set for every page
    content, refused = arrival.session.within(arrival.node, content)
    if own := _own_address(arrival.session, arrival.node, content):
        arrival.own_address, content = own, replace(content, url=own)
        refused[OTHER_ADDRESS] += 1
    if refused:
        arrival.session.progress.row.refused = dict(
            Counter(arrival.session.progress.row.refused) + refused
        )
    judged = arrival.session.learn(arrival.node, content)
    if judged is not None:
        arrival.page, arrival.repeats = judged
        graph = arrival.session.walk.graph
        unknown = (link.url for link in content.links if graph.node(link.url) is None)
        if arrival.session.parameters.scope.traps:
            url = arrival.node.url
            arrival.counter = arrival.session.progress.counters.see(url, content.words, unknown)


def _own_address(session: Session, node: Node, content: Content) -> str:
    """Returns the address that a page declares as its own (rel=canonical), if it can be trusted and
    is within the run's scope; "" to keep the address that was fetched.

    A declared address that was fetched already is accepted if the page nearly duplicates some
    earlier page of the run. A declared address that was not fetched is accepted if `same_page`
    accepts it. The page then counts as fetched under the declared address too."""
    if not session.parameters.options.canonical or session.parameters.options.source == "archive":
        return ""
    url = given(content)
    if (
        not url
        or url in session.outstanding.why
        or session.parameters.scope.refusal(url, node.depth)
    ):
        return ""
    known = session.walk.graph.node(url)
    if known is not None and known.url == node.url:
        return ""
    if known is not None and known.state == State.FETCHED:
        return url if content.words and session.walk.prints.nearest(content.fingerprint) else ""
    return url if same_page(content.url, url) else ""


def keep(arrival: Arrival) -> None:
    """Stores the page's row in the run's log, with the id of the page it was reached from and the
    run's counts so far. A stage of the setting TOPIC_STORE_STAGES.
    """
    page = arrival.page
    if page is None:
        return
    run = arrival.session.progress.row
    parent, before = _reached_from(arrival.session, arrival.node.parent)
    text = " ".join(arrival.draft.tokens).encode("utf-8")
    packed = arrival.session.parameters.options.packed
    run.pages += 1
    run.relevant += page.relevant
    run.duplicates += arrival.repeats is not None
    off_topic_run = 0 if page.relevant else before + 1
    arrival.stored = _insert(
        arrival.session,
        TopicPage.Kind.PAGE,
        arrival.node.url,
        arrival.now,
        number=run.pages - 1,
        final_url=page.content.url if page.content.url != arrival.node.url else "",
        parent_id=parent,
        depth=arrival.node.depth,
        similarity=page.similarity,
        relevant=page.relevant,
        relevant_so_far=run.relevant,
        duplicate_of=arrival.repeats,
        off_topic_run=off_topic_run,
        tunnel=before if page.relevant else 0,
        recalled=arrival.recalled,
        title=page.content.title[:500],
        fingerprint=page.content.fingerprint,
        why=arrival.why,
        words=bytes(deflate.zlib_compress(text, PACKING)) if packed else text,
        packed=packed,
    )
    arrival.session.progress.remember(arrival.node.url, arrival.stored.pk, off_topic_run)


def _reached_from(session: Session, parent: str | None) -> tuple[int | None, int]:
    """Returns (row id, off-topic pages) of the page `parent` on which a link was found: the latter
    is the number of consecutive off-topic pages at the end of the path to `parent`, itself
    included. (None, 0) for a seed, or if the page has no row.
    """
    if parent is None:
        return None, 0
    known = session.progress.places.get(parent)
    if known is not None:
        return known
    rows = sql.fetch(_PARENT, (session.run_id, url_hash(parent)))
    return rows[0] if rows else (None, 0)


def _insert(session: Session, kind: int, url: str, now: datetime, **values: Any) -> Written:
    """Writes the row of the session's next step in plain SQL, because creating a model instance
    would cost as much as scoring the page.
    """
    if kind != TopicPage.Kind.PAGE:
        values.setdefault("relevant_so_far", session.progress.row.relevant)
        values.setdefault("number", session.progress.row.pages)
    # by the mark a session in memory learns that another process stored a step of the same number
    step, mark = session.progress.steps + 1, secrets.randbits(62)
    fixed = {
        "run_id": session.run_id,
        "step": step,
        "mark": mark,
        "kind": int(kind),
        "url": url,
        "url_hash": url_hash(url),
    }
    row = {**_DEFAULTS, **fixed, "at": now, **values}
    row["why"] = json.dumps(row["why"])
    return Written(sql.fetch(_INSERT, [row[name] for name in _COLUMNS])[0][0], step, mark)


def _close(session: Session, row: Written) -> None:
    """Writes the run's state after a step, and sets `progress.edited` if the operator has stored an
    edit meanwhile."""
    run, graph = session.progress.row, session.walk.graph
    session.progress.steps, session.progress.mark = row.step, row.mark
    run.steps, run.mark, run.asked = row.step, row.mark, session.progress.asked
    fields = ["steps", "mark", "asked", "pages", "failed", "relevant", "duplicates", "refused"]
    if isinstance(graph, DatabaseGraph):
        graph.settle()
        run.pushes = graph.pushes
        fields.append("pushes")
        if session.walk.strategy.resumable:
            run.strategy_state = session.walk.strategy.state()
            fields.append("strategy_state")
            if session.progress.frequencies is not None:
                idf, session.progress.frequencies = session.progress.frequencies, None
                stored = {"documents": idf.documents, "counts": dict(idf.frequencies)}
                run.frequencies, run.frequencies_step = (
                    zlib.compress(json.dumps(stored).encode()),
                    row.step,
                )
                fields += ["frequencies", "frequencies_step"]
    values = [
        json.dumps(value) if isinstance(value := getattr(run, name), dict) else value
        for name in fields
    ]
    sets = ", ".join(f"{name} = %s" for name in fields)
    # only constant names
    update = (
        f"UPDATE focused_topicrun SET {sets}"  # noqa: S608
        f" WHERE run_id = %s RETURNING {EDITED}"
    )
    session.progress.edited = bool(sql.fetch(update, (*values, run.pk))[0][0])


WHOLE, PART = "sitemap", "sitemap-part"
KINDS = (WHOLE, PART)
TYPES = ("application/x-gzip", "application/gzip", "application/octet-stream")
"""Media types with which servers send compressed sitemaps; no page has them."""
MAX_SITEMAPS = (
    2  # maximum number of sitemaps of a host that are requested; its robots.txt may name more
)
MAX_PARTS = (
    3  # maximum number of sitemaps requested from a sitemap index: the most recently changed ones
)
MAX_ADDRESSES = (
    500  # maximum number of addresses taken from one sitemap, those with the most relevant words
)
FIRST = 1e6  # priority of requests for sitemaps, above that of pages
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Listing:
    """The contents of a sitemap: addresses of pages or, for a sitemap index, of further sitemaps,
    the last changed first."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


def wanted(session: Session, item: Url, relevant: bool) -> list[NewUrl]:
    """Returns the sitemaps that the robots.txt of a host names, as links to request. Called after
    each page of the host; only one call returns any. [] if the run's options ask for no sitemaps,
    the host has neither a seed nor a relevant page, or its robots.txt was not read.
    """
    if not session.parameters.options.sitemaps:
        return []
    key = host_key(item.url)
    if key in session.progress.sitemap_hosts:
        return []
    if not relevant and key not in {host_key(url) for url in session.parameters.topic.seeds}:
        return []
    session.progress.sitemap_hosts.add(key)
    host = item.host
    host.refresh_from_db(
        fields=["robots_text", "robots_verdict", "robots_fetched_at", "robots_expires_at"]
    )
    if host.robots_fetched_at is None or host.robots_expires_at is None:
        return []
    rules = robots.RobotsRules(
        host.robots_text, host.robots_verdict, host.robots_fetched_at, host.robots_expires_at
    )
    return _links(_of_host(rules.sitemaps, key), MAX_SITEMAPS, WHOLE)


def read(response: FetchResponse) -> Listing:
    """Reads the response to a request for a sitemap. Returns an empty Listing if it is not a
    sitemap."""
    found = parse_sitemap(response.body, response.url)
    if found.kind == "index":
        newest = sorted(found.entries, key=lambda entry: entry.lastmod or _LONG_AGO, reverse=True)
        return Listing(sitemaps=tuple(entry.url for entry in newest))
    return Listing(
        tuple(entry.url for entry in found.entries) if found.kind in ("urlset", "text") else ()
    )


def store(session: Session, item: Url, listing: Listing, now: datetime) -> list[NewUrl]:
    """Stores the contents of a sitemap, `listing`: queues those of its addresses that the scope
    allows and whose words are most similar to the topic; returns the further sitemaps that it names
    as links to request."""
    key, refused, allowed = host_key(item.url), Counter[str](), []
    for url in dict.fromkeys(_of_host(listing.pages, key)):
        reason = session.parameters.scope.refusal(url, 1)
        if reason:
            refused[reason] += 1
        else:
            allowed.append(url)
    session.progress.row.refused = dict(Counter(session.progress.row.refused) + refused)
    if allowed:
        found = loop.best_listed(session.walk, session.parameters.parser, allowed, MAX_ADDRESSES)
        edited(session, {"listed": {"url": item.url, "addresses": found}}, now)
    return _links(_of_host(listing.sitemaps, key), MAX_PARTS, PART) if item.kind == WHOLE else []


def _of_host(urls: Sequence[str], key: str) -> Iterator[str]:
    """Yields those of the addresses that are on the host `key`, in canonical form; a sitemap may
    only list addresses of its own host.
    """
    for raw in urls:
        try:
            url = canonical(raw)
        except UrlError:
            continue
        if host_key(url) == key:
            yield url


def _links(urls: Iterator[str], most: int, kind: str) -> list[NewUrl]:
    return [
        NewUrl(url, kind, priority=FIRST)
        for url, _ in zip(dict.fromkeys(urls), range(most), strict=False)
    ]
