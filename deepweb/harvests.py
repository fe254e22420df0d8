"""Harvests: starts runs for one form or all forms of a cluster, by hand or by schedule, distributes
the run's budget of queries over the forms, and ends the querying of a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import F

from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import ACTIVE, Run, Timing, events
from crawlmgr.runs import runs
from crawlmgr.schedule import due, recurring, timings
from crawlmgr.web.pages.forms import Submission
from deepweb.answers.page import needs_session
from deepweb.answers.retrieved import Term
from deepweb.choice.next_query import NextQuery
from deepweb.choice.opening import Ask
from deepweb.choice.terms import bindings
from deepweb.forms import sources, stored
from deepweb.forms.finder import same_site
from deepweb.harvest_options import HarvestOptions
from deepweb.harvest_session import HarvestSession
from deepweb.models import Cluster, Form, Harvest, Query, Record
from deepweb.reads import NOT_ASKED
from deepweb.size.probing import next_probe, size_of
from deepweb.submission import fill

KIND = "deepweb-harvest"


FIRST_QUERIES = 3


RECENT = 5


MAX_QUEUED = 50_000


COVERAGE_FROM = 30


CHUNK = 900


class Refused(ValueError):
    """Raised if a form must not be submitted; `code` is the reason (see `forms.refusal_code`)."""

    def __init__(self, form: Form, code: str) -> None:
        super().__init__(f"form {form.pk} is not sent: {code}")
        self.code = code


def start(
    chosen: Sequence[Form],
    options: Mapping[str, Any],
    *,
    now: datetime,
    settings: Mapping[str, Any] | None = None,
    label: str = "",
    user: Any = None,
    begin: bool = True,
    scheduled: bool = False,
) -> Run:
    """Creates a run that harvests these forms with one common budget; forms that must not be
    submitted are left out. `options` are those of `HarvestOptions`, `settings` crawl settings that
    override those of the sites. `begin` false creates the run without starting it; `scheduled`
    marks a run that a schedule starts. Raises Refused if none of the forms may be submitted,
    ValueError for invalid options or no form, runs.Busy if a form is already being harvested or its
    site is being deleted.
    """
    HarvestOptions.from_mapping(options)
    CrawlSettings.from_mapping(settings or {})
    allowed = [form for form in chosen if stored.refusal_code(form) is None]
    if not allowed:
        if not chosen:
            raise ValueError("there is no form to ask")
        raise Refused(chosen[0], stored.refusal_code(chosen[0]) or "")
    sources.refuse_deleted(*(form.source_id for form in allowed))
    keys = [form.pk for form in allowed]
    frozen = {**options, "forms": keys, "settings": dict(settings or {})}
    with transaction.atomic():
        # Locks the forms, so that concurrent starts on the same form wait for each other.
        list(Form.objects.select_for_update().filter(pk__in=keys).order_by("pk").only("pk"))
        asking = Run.objects.filter(
            state__in=ACTIVE, harvests__form__in=allowed, harvests__ended=False
        ).first()
        if asking is not None:
            raise runs.Busy(asking, KIND, frozen)
        run = runs.create(
            KIND,
            label or _label(allowed),
            parameters=frozen,
            now=now,
            target=allowed[0].pk if len(allowed) == 1 else None,
            exclusive=runs.exclusive_key("harvest", keys),
            user=user,
            start=begin,
            scheduled=scheduled,
        )
        for position, form in enumerate(allowed):
            Harvest.objects.create(run=run, form=form, position=position)
    return run


def _label(chosen: Sequence[Form]) -> str:
    first = chosen[0].source.name
    return first if len(chosen) == 1 else f"{first} + {len(chosen) - 1}"


def of_cluster(row: Cluster) -> list[Form]:
    """Returns the forms of a cluster that may be submitted."""
    return [
        form
        for form in row.forms.select_related("source").order_by("pk")
        if stored.refusal_code(form) is None
    ]


def next_links(
    run: Run, sessions: Sequence[HarvestSession], options: HarvestOptions, now: datetime
) -> list[NewUrl]:
    """Begins the run's next query, at the form that currently yields most, and returns its first
    request. Forms whose querying has ended contribute the requests for their records' detail pages.
    An empty list if all forms have ended.
    """
    links: list[NewUrl] = []
    while True:
        session = _most_promising(
            [session for session in sessions if not session.harvest.ended], sessions
        )
        if session is None:
            return links
        if _spent(sessions, options) and "ending" not in session.state:
            session.state["ending"] = (
                "requests" if _requests_spent(sessions, options) else "queries"
            )
        ask = _for_coverage(session) or NextQuery(session).choose() or next_probe(session)
        if ask is not None:
            links.append(_begin_query(session, ask, now))
            return links
        links += finish(session, now)


def _for_coverage(session: HarvestSession) -> Ask | None:
    """Returns the next random probe of a harvest that ends at a given share of the database (option
    `coverage`); the probes serve to estimate the size. None if no probe is due or the option is not
    set.

    Sets the reason for ending once the records reach this share of the size's upper bound. If the
    probes give no upper bound, they are repeated when the number of queries has doubled."""
    wanted, state = session.options.coverage, session.state
    if (
        wanted is None
        or "ending" in state
        or len(session.log) < int(state.get("size_from", COVERAGE_FROM))
    ):
        return None
    if "sized" not in state:
        probe = next_probe(session)
        if probe is not None:
            return probe
        size = size_of(session)
        if size is None or size.high is None:
            state["size_from"] = 2 * len(session.log)
            for name in ("plan", "plans", "probes"):
                state.pop(name, None)
            return None
        state["sized"] = size.high
    if session.harvest.records >= wanted * float(state["sized"]):
        state["ending"] = "coverage"
    return None


def _requests_spent(sessions: Sequence[HarvestSession], options: HarvestOptions) -> bool:
    return (
        options.requests is not None
        and sum(session.harvest.requests for session in sessions) >= options.requests
    )


def _spent(sessions: Sequence[HarvestSession], options: HarvestOptions) -> bool:
    return (
        _requests_spent(sessions, options)
        or sum(len(session.log) for session in sessions) >= options.queries
    )


def _most_promising(
    open_: Sequence[HarvestSession], sessions: Sequence[HarvestSession]
) -> HarvestSession | None:
    """Returns the session of the form that the next query goes to: each form first gets a few
    queries, then the form whose last queries brought most new records per request. None if there is
    no form left in `open_`.
    """
    if len(sessions) == 1 or len(open_) < 2:
        return open_[0] if open_ else None
    young = [
        session
        for session in open_
        if len(session.log) < FIRST_QUERIES and "ending" not in session.state
    ]
    if young:
        return min(young, key=lambda session: len(session.log))
    asking = [session for session in open_ if "ending" not in session.state]
    return max(
        asking or open_,
        key=lambda session: float(np.mean(session.state.get("gains", [0.0])[-RECENT:] or [0.0])),
    )


def _begin_query(session: HarvestSession, ask: Ask, now: datetime) -> NewUrl:
    """Stores a query before it is sent, so that it is known to have been in progress if work is
    interrupted. Returns its first request.
    """
    harvest = session.harvest
    session.state["number"] = number = int(session.state.get("number", 0)) + 1
    row = Query.objects.create(
        harvest=harvest,
        number=number,
        kind=ask.kind,
        terms=[list(term) for term in ask.choice.query],
        predicted=ask.choice.predicted,
        expected=ask.choice.expected,
        bucket=ask.choice.bucket,
        sent_at=now,
    )
    save(session)
    submission = fill(session.form, bindings(ask.choice.query), harvest.form.charset)
    return page_link(session, row, submission, 1)


def page_link(
    session: HarvestSession, row: Query, submission: Submission, number: int, attempt: int = 0
) -> NewUrl:
    """Returns the request for page `number` of the answer to the query `row`. A POST request is
    marked to be sent only once. `attempt` is 0 for the first request; a repeated one, after the
    site's session expired, needs another number.
    """
    payload: dict[str, Any] = {"query": row.pk, "page": number}
    if submission.method == "POST":
        payload |= {"body": submission.body, "once": True}
    again = f" again {attempt}" if attempt else ""
    return NewUrl(
        submission.url,
        "query",
        key=f"harvest {session.harvest.pk} query {row.number} page {number}{again}",
        group=session.harvest.pk,
        payload=payload,
        anchor=row.words[:300],
    )


def save(session: HarvestSession) -> None:
    """Writes the harvest's counters and state to the database."""
    session.harvest.state = session.state
    session.harvest.save()


def finish(session: HarvestSession, now: datetime) -> list[NewUrl]:
    """Ends the querying of a form and stores the reason. Returns the requests for the detail pages
    of its records, which remain to be fetched.
    """
    harvest, reason = session.harvest, str(session.state.get("ending", "queries"))
    if not harvest.requests:  # no request was sent at all
        reason = f"{NOT_ASKED}: {reason}"
    harvest.ended, harvest.stopped_by = True, reason[:60]
    links = _details(session)
    save(session)
    return links


def _details(session: HarvestSession) -> list[NewUrl]:
    """Returns the requests for detail pages, at most as many as the options allow: first those of
    the records that the probes found, by which the size is estimated, then the others in the order
    in which they were found."""
    limit = (
        MAX_QUEUED if session.options.details is None else min(session.options.details, MAX_QUEUED)
    )
    probed = {pk for probe in session.state.get("probes", []) for pk in probe["found"]}
    chosen = [*sorted(probed), *sorted(session.known - probed)][:limit]
    return [
        NewUrl(
            url,
            "detail",
            key=f"detail {pk}",
            group=session.harvest.pk,
            payload={"record": pk},
            priority=-1.0 if pk in probed else -100.0,
            depth=1,
        )
        for pk, url in _addresses(chosen).items()
        if same_site(url, session.form.action)
    ]


def count_detail_requests(session: HarvestSession, number: int) -> None:
    """Adds the number of requests for a detail page to the harvest's counter."""
    Harvest.objects.filter(pk=session.harvest.pk).update(
        detail_requests=F("detail_requests") + number
    )
    session.harvest.detail_requests += number


def _addresses(ids: Sequence[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for begin in range(0, len(ids), CHUNK):
        found.update(
            Record.objects.filter(pk__in=ids[begin : begin + CHUNK])
            .exclude(url="")
            .values_list("pk", "url")
        )
    return found


def is_session(session: HarvestSession) -> bool:
    """Tells whether the page with the form has to be fetched first in each session."""
    return bool(session.state.get("session")) or needs_session(session.form)


def submission_of(session: HarvestSession, row: Query) -> Submission:
    """Returns the request of a query, with the form's most recent hidden values (tokens)."""
    query = [Term(name, value) for name, value in row.terms]
    return fill(session.form, bindings(tuple(query)), session.harvest.form.charset)


MIN_SECONDS, MAX_SECONDS = 3600, 366 * 86_400


FROZEN = ("forms", "settings")  # parameters of a run that are not harvest options


def repeat(form: Form, seconds: int | None, now: datetime) -> None:
    """Schedules harvests of a form at this interval in seconds, with the options of its last
    harvest; with None, the form is harvested only when a user starts it. Raises ValueError with a
    one-line message if the interval is out of range.
    """
    if seconds and not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError(
            "a harvest is repeated every hour at the most, and once a year at the least"
        )
    at = (
        timings.when(timings.of(KIND, form.pk), now + timedelta(seconds=seconds), now)
        if seconds
        else None
    )
    Form.objects.filter(pk=form.pk).update(interval_seconds=seconds or None, next_harvest=at)


def last_settings(form: Form) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the options and the crawl settings of a form's last harvest as two dictionaries, not
    counting single trial queries; ({}, {}) if there is none.
    """
    last = (
        Harvest.objects.filter(form=form)
        .order_by("-pk")
        .values_list("run__parameters", flat=True)[:20]
    )
    found: dict[str, Any] = next((one for one in last if not one.get("fixed")), {})
    return {name: value for name, value in found.items() if name not in FROZEN}, found.get(
        "settings", {}
    )


def repeat_by_key(form: int, seconds: int | None, now: datetime) -> None:
    """Schedules harvests of the form with this id, as `repeat` does. Raises ValueError if there is
    no such form."""
    row = Form.objects.filter(pk=form).defer("words").first()
    if row is None:
        raise ValueError(f"there is no form {form}")
    repeat(row, seconds, now)


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a harvest of every form that is due, at most `limit` in one call; returns the number
    started. Forms being harvested are skipped; a form outside its working hours waits for them.
    Called regularly by the dispatcher.
    """
    rows = Form.objects.filter(next_harvest__lte=now, interval_seconds__isnull=False)
    found = list(rows.select_related("source").defer("words").order_by("next_harvest")[:limit])
    return due.start_each(KIND, found, _start, now)


@transaction.atomic
def _start(form: Form, hours: Timing | None, now: datetime) -> bool:
    """Creates a run for a form that is due and sets its next due time, in one transaction. Returns
    False without a run if the form is outside its working hours `hours` (its start then moves to
    their beginning), another process was faster, or the harvest was refused."""
    seconds = form.interval_seconds or MAX_SECONDS
    rows, name = Form.objects.filter(pk=form.pk), form.source.name
    if not due.claim(
        rows, "next_harvest", form.next_harvest, name=name, seconds=seconds, hours=hours, now=now
    ):
        return False
    try:
        options, web = last_settings(form)
        start([form], options, now=now, settings=web, scheduled=True)
    except ValueError as error:
        events.error("harvest_refused", f"{name}: {error}", now=now)
        return False
    return True


def retime(form: int, hours: Timing, now: datetime) -> None:
    """Moves the next scheduled harvest of a form into its changed working hours."""
    for one in Form.objects.filter(pk=form, next_harvest__isnull=False).only(
        "next_harvest", "interval_seconds"
    ):
        at = timings.soonest(hours, one.next_harvest, now, one.interval_seconds)
        Form.objects.filter(pk=form).update(next_harvest=at)


def entries(now: datetime, most: int) -> list[recurring.Recurring]:
    """Returns the forms with scheduled harvests, those due first, for the page of schedules; at
    most `most`."""
    rows = Form.objects.filter(interval_seconds__isnull=False, next_harvest__isnull=False).order_by(
        "next_harvest"
    )
    columns = rows.values_list("pk", "source__name", "interval_seconds", "next_harvest")
    return [recurring.Recurring(KIND, *row) for row in columns[:most]]
