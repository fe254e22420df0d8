"""Processes the answers of search sites during a harvest: stores the records of result pages once
per site, ends queries, records failures, and begins the next query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from crawlmgr.database import sql
from crawlmgr.engine import Stored
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.url import url_hash
from deepweb import harvests
from deepweb.answers.page import Answer, merged, read_detail, words_bound
from deepweb.answers.result_list import FoundRecord
from deepweb.answers.retrieved import TWICE_LISTED, Term, is_cut
from deepweb.answers.retrieved import Query as Terms
from deepweb.answers.totals import NoResultPages, ResultKind, Stated, judge
from deepweb.choice.terms import bindings
from deepweb.forms import stored as forms
from deepweb.forms.finder import shape
from deepweb.harvest_session import NONSENSE, HarvestSession
from deepweb.models import COUNTED, Form, Query, QueryKind, QueryState, Record
from deepweb.search_forms import Form as PageForm
from deepweb.size.probing import PROBE_PAGES

MAX_TEXT = 100_000


def keep(form: Form, found: Sequence[FoundRecord], now: datetime) -> tuple[list[int], int]:
    """Stores the records of one page of results. Returns their ids in order, and how many were new
    to the source."""
    keys = {url_hash(record.key): record for record in found}
    known = {
        row.key_hash: row
        for row in Record.objects.filter(source_id=form.source_id, key_hash__in=keys)
    }
    fresh = [
        Record(
            source_id=form.source_id,
            form=form,
            key_hash=key,
            url=record.url,
            listed=dict(record.fields),
            fields=dict(record.fields),
            text=text_of(record.fields),
            first_seen=now,
        )
        for key, record in keys.items()
        if key not in known
    ]
    if fresh:
        # another harvest of the source may store the same record at the same moment; the ids are
        # read afterwards, since rows that were ignored have none
        Record.objects.bulk_create(fresh, ignore_conflicts=True)
        forms.count_records(form.source_id, len(fresh))
        rows = Record.objects.filter(
            source_id=form.source_id, key_hash__in=[row.key_hash for row in fresh]
        )
        known |= {row.key_hash: row for row in rows}
    changed = []
    for key, record in keys.items():
        row = known[key]
        if row.listed != dict(record.fields):
            row.listed = dict(record.fields)
            title = row.fields.get("title") if row.detail_at else None
            row.fields = merged(row.fields, row.listed) | ({"title": title} if title else {})
            row.text = text_of(row.fields)
            changed.append(row)
    if changed:
        Record.objects.bulk_update(changed, ["listed", "fields", "text"])
    return [known[key].pk for key in keys], len(fresh)


def add_detail(pk: int, fields: Mapping[str, str], now: datetime) -> bool:
    """Adds the fields of a detail page to a record. Returns False if the record was deleted
    meanwhile."""
    row = Record.objects.filter(pk=pk).first()
    if row is None:
        return False
    row.fields = merged(row.listed, fields)
    row.text = text_of(row.fields)
    row.detail_at = now
    row.save(update_fields=["fields", "text", "detail_at"])
    return True


def text_of(fields: Mapping[str, str]) -> str:
    """Returns the searchable text of a record: the values of its fields, except addresses."""
    texts = (
        str(value)
        for value in fields.values()
        if not str(value).startswith(("http://", "https://"))
    )
    return "\n".join(texts)[:MAX_TEXT]


ERRORS_IN_A_ROW = 3


REOPENINGS = 2


NONSENSE_TEXT = 40_000


STALE_PAGES = 3


STALE_SHARE = 0.1


SESSION_STATUS = frozenset((400, 401, 403, 419, 422, 440))


UNSENT = ("robots", "robots_unreachable", "refused_address")


"""Prefixes of failure reasons for which no request was sent."""


GAINS_KEPT = 10


SAME_PAGE = 0.95


KNOWN_ADDRESSES = 5


UNHEEDED = 5


ALL_NAMED = 0.9
"""Share of the records of a first page with the queried word, from which all should have it."""


_DIGITS = re.compile(r"\d+")


def terms_of(row: Query) -> Terms:
    """Returns the terms (pairs of input name and value) of a stored query."""
    return tuple(Term(name, value) for name, value in row.terms)


def store_page(
    run: Run,
    sessions: Sequence[HarvestSession],
    session: HarvestSession,
    item: Url,
    response: FetchResponse,
    answer: Answer,
    now: datetime,
) -> Stored:
    """Stores one page of results of a query: its records, then either requests the query's next
    page, or ends the query and begins the run's next one. `item` is the fetched address, `answer`
    the page as read; `session` is the session of the query's harvest, `sessions` are the sessions
    of all harvests of the run. Returns the requests to add to the run, and the numbers of records
    on the page ("items") and of those new to the harvest ("new")."""
    row = Query.objects.get(pk=item.payload["query"])
    number = int(item.payload["page"])
    _count_requests(session, row, max(1, item.attempts) + len(response.redirects))
    session.is_open = True
    if response.failure is not None:
        return _end(run, sessions, session, row, QueryState.ERROR, response.failure.value, now)
    session.form = forms.refreshed(session.form, answer.forms)
    if row.kind == QueryKind.NONSENSE:
        return _nonsense(run, sessions, session, row, response, answer, now)
    # many programs lead straight to the record if it is the only one found
    if number == 1 and response.redirects:
        answer = _lone_record(session, response, answer)
    kind = judge(
        _status(session, response.status),
        "\n".join(answer.lines),
        words_bound(bindings(terms_of(row))),
        len(answer.records),
        _nothing(session),
    )
    # a later page without records only ends the list: the query itself has records
    if kind is not ResultKind.VALID and number == 1:
        return _without_records(run, sessions, session, row, response, answer, kind, now)
    if kind is ResultKind.VALID and is_invented(session, row, answer, number):
        session.state["doubt"] = session.state["came_round"] = "invented_pages"
        kind = ResultKind.NO_RESULTS
    new = _keep(session, row, answer, number, now) if kind is ResultKind.VALID else 0
    row.partial = answer.is_cut or number > 1 and row.partial
    if answer.next is not None and kind is ResultKind.VALID and _goes_on(session, row, number):
        row.save()
        harvests.save(session)
        link = harvests.page_link(session, row, answer.next.submission, number + 1)
        return Stored(links=[link], counts={"new": new, "items": len(answer.records)})
    further = (
        kind is ResultKind.VALID
        and answer.next is not None
        and not session.state.get("came_round", False)
    )
    # true if further pages exist that were not requested, or one failed or was read in part
    row.partial |= further or kind is ResultKind.ERROR
    stored = _end(run, sessions, session, row, QueryState.VALID, "", now)
    stored.counts = {"new": new, "items": len(answer.records)}
    return stored


def _lone_record(session: HarvestSession, response: FetchResponse, answer: Answer) -> Answer:
    """Returns the answer with one record, if the site redirected to the page of the only record
    found. Such a page is recognised by an address of the same form as those of known records; any
    other answer is returned unchanged.
    """
    known = session.harvest.form.found_records.exclude(url="").values_list("url", flat=True)[
        :KNOWN_ADDRESSES
    ]
    if answer.login or shape(response.url) not in {shape(url) for url in known} - {
        shape(session.form.action)
    }:
        return answer
    fields = read_detail(response.text, session.page_template)
    return (
        answer._replace(records=(FoundRecord(response.url, fields),), shape=None, next=None)
        if fields
        else answer
    )


def _status(session: HarvestSession, status: int) -> int:
    """Returns the HTTP status of an answer for `results.judge`. Some sites answer queries without
    results with an error status; for this status 200 is returned, so that the answer is not judged
    as an error."""
    return 200 if status == session.state.get("nothing_status", 200) else status


def _nothing(session: HarvestSession) -> NoResultPages | None:
    return session.nothing


def _count_requests(session: HarvestSession, row: Query, number: int) -> None:
    row.requests += number
    session.harvest.requests += number


def _nonsense(
    run: Run,
    sessions: Sequence[HarvestSession],
    session: HarvestSession,
    row: Query,
    response: FetchResponse,
    answer: Answer,
    now: datetime,
) -> Stored:
    """Processes the answer to a nonsense query (a word that cannot occur): learns the text of a
    page without results, and the links and lines that are on every result page. Ends the query and
    returns the request of the run's next one.
    """
    # some programs answer 404 if nothing is found; what that page says is learned all the same
    if response.status not in (200, 404):
        return _without_records(
            run, sessions, session, row, response, answer, ResultKind.ERROR, now
        )
    state = session.state
    state["nothing_status"] = response.status
    words = list(words_bound(bindings(terms_of(row))))
    state.setdefault("nonsense", []).append(["\n".join(answer.lines)[:NONSENSE_TEXT], words])
    known = state.get("furniture", {"links": [], "lines": []})
    shown = {"links": set(answer.page_template.links), "lines": set(answer.page_template.lines)}
    # the text box has no effect, so the page shows records in spite of the nonsense word
    if answer.next is not None and len(answer.records) >= UNHEEDED:
        own = {value for record in answer.records for value in record.fields.values()}
        shown = {
            "links": shown["links"] - {record.url for record in answer.records},
            "lines": {
                line
                for line in shown["lines"]
                if not any(line in value or value in line for value in own)
            },
        }
        state["nonsense"][-1][0] = ""
    if session.finds_nothing:
        state["furniture"] = {name: sorted({*known[name], *lines}) for name, lines in shown.items()}
    elif len(state["nonsense"]) == 1:
        state["furniture"] = {name: sorted(lines) for name, lines in shown.items()}
    else:
        state["furniture"] = _shared(known, shown)
    return _end(run, sessions, session, row, QueryState.NOTHING, "", now)


def _shared(
    known: Mapping[str, Sequence[str]], shown: Mapping[str, set[str]]
) -> dict[str, list[str]]:
    """Compares the result pages of two queries that choose different values of one input. Returns
    their common "links" and "lines" (the keys of `known`, `shown` and the result). Both lists are
    empty if the pages are nearly equal, since the choice then had no effect and the common part may
    be records."""
    both = {name: sorted(lines.intersection(known[name])) for name, lines in shown.items()}
    same = all(len(both[name]) >= SAME_PAGE * len(lines) for name, lines in shown.items())
    return {name: [] for name in both} if same else both


def _without_records(
    run: Run,
    sessions: Sequence[HarvestSession],
    session: HarvestSession,
    row: Query,
    response: FetchResponse,
    answer: Answer,
    kind: ResultKind,
    now: datetime,
) -> Stored:
    """Ends the query whose answer has no records: because there are none, because of an error, or
    because the site wants a login. After an error that may come from an expired session, the next
    query first fetches the form's page again. Returns the request of the run's next query."""
    text = "\n".join(answer.lines)[:NONSENSE_TEXT]
    earlier = [said for said, _ in session.state.get("nonsense", [])]
    if answer.scripted and not session.known and earlier and {*earlier} == {text}:
        session.state["ending"] = "answered_by_script"
    # A site with results may show a form to log in on every page, also on one without results.
    if answer.login and not (kind is ResultKind.NO_RESULTS and session.known):
        session.state["ending"] = "login_required"
        return _end(run, sessions, session, row, QueryState.ERROR, "login_required", now)
    if kind is ResultKind.NO_RESULTS:
        return _end(run, sessions, session, row, QueryState.NOTHING, "", now)
    reason = f"http_{response.status}"
    # programs with a token in the form refuse it when the session has expired
    if response.status in SESSION_STATUS and session.state.get("reopened", 0) < REOPENINGS:
        session.state["reopened"] = int(session.state.get("reopened", 0)) + 1
        session.state["session"], session.is_open = True, False
    return _end(run, sessions, session, row, QueryState.ERROR, reason, now)


def _keep(session: HarvestSession, row: Query, answer: Answer, number: int, now: datetime) -> int:
    """Stores the records of page `number` of the answer and adds them to the query's and the
    harvest's counts. Returns how many of them were new to the harvest."""
    ids, _ = keep(session.harvest.form, answer.records, now)
    fresh = [pk for pk in dict.fromkeys(ids) if pk not in set(row.found)]
    if number > 1 and not fresh:
        session.state["came_round"] = (
            True  # the site returned an earlier page again instead of an empty one
        )
    new = [pk for pk in fresh if pk not in session.known]
    row.found = [*row.found, *fresh]
    row.pages += 1
    row.returned = len(row.found)
    row.new += len(new)
    if number == 1:
        row.stated = [list(each) for each in answer.stated]
    session.known.update(new)
    session.harvest.returned += len(fresh)
    session.harvest.records = len(session.known)
    session.state["page_size"] = max(int(session.state.get("page_size", 0)), len(answer.records))
    if answer.shape is not None:
        session.state["shape"] = answer.shape.to_json()
    shares = (
        session.state.setdefault("shares", [])
        if number > 1
        else session.state.update(shares=[]) or session.state["shares"]
    )
    shares.append(len(new) / max(1, len(fresh)))
    return len(new)


def is_invented(session: HarvestSession, row: Query, answer: Answer, number: int) -> bool:
    """Tells whether a further page of an answer has records that the site makes up for any page: no
    record has the word of the query, or all say the same but for numbers, while those of the first
    page did not; or the answer has more records than the site states."""
    texts = [record.text.casefold() for record in answer.records]
    words = [term.value.casefold() for term in terms_of(row) if term.input == session.asking.box]
    named = sum(all(word in text for word in words) for text in texts) / max(1, len(texts))
    alike = len({_DIGITS.sub("#", text) for text in texts}) == 1
    if number == 1:
        session.state["first_page"] = [named if any(words) else 0.0, alike]
        return False
    was_named, was_alike = session.state.get("first_page", [0.0, True])
    total = session.log.stated_total([Stated(*each) for each in row.stated])
    return len(texts) >= UNHEEDED and (
        was_named >= ALL_NAMED
        and named == 0
        or alike
        and not was_alike
        or total is not None
        and row.returned > total * (1 + TWICE_LISTED)
    )


def _goes_on(session: HarvestSession, row: Query, number: int) -> bool:
    """Tells whether to request the next page of results, after page `number`. False if pages
    repeat, the maximum number of pages or requests is reached, or at most a tenth of the records on
    the last three pages were new to the harvest.
    """
    if session.state.get("came_round") or number >= session.options.max_pages:
        return False
    # the estimate needs the whole answer or none, not new records
    if row.kind == QueryKind.PROBE:
        return number < PROBE_PAGES
    if session.options.fixed:
        return number < 2
    if (
        session.options.requests is not None
        and session.harvest.requests >= session.options.requests
    ):
        return False
    if not any(value for _, value in row.terms):
        return True  # it may list the whole database
    last = session.state.get("shares", [])[-STALE_PAGES:]
    return len(last) < STALE_PAGES or sum(last) / len(last) >= STALE_SHARE


def _end(
    run: Run,
    sessions: Sequence[HarvestSession],
    session: HarvestSession,
    row: Query,
    state: QueryState,
    reason: str,
    now: datetime,
) -> Stored:
    """Ends a query with the given state and reason, updates the harvest's counts and what is known
    of the site, and begins the run's next query. Returns the request of that query."""
    harvest = session.harvest
    row.state, row.reason, row.ended_at = state, reason[:200], now
    session.state.pop("came_round", None)
    # of an answer that was not read to its end, its length says nothing about the site's limit
    row.overflowed = not row.partial and is_cut(row.returned, row.total, session.limit)
    # a query that is to find nothing is none of those by which policies are compared
    if row.kind != QueryKind.NONSENSE:
        harvest.queries += 1
        harvest.valid += state == QueryState.VALID
    if row.kind in COUNTED:
        session.state["gains"] = [*session.state.get("gains", []), row.new / max(1, row.requests)][
            -GAINS_KEPT:
        ]
    elif row.kind == QueryKind.PROBE:
        harvest.probes += 1
        found = {
            "term": row.terms[0],
            "found": row.found,
            "overflowed": row.overflowed or row.partial,
            "partial": row.partial,
            "known": row.returned - row.new,
        }
        session.state.setdefault("probes", []).append(found)
    elif state == QueryState.ERROR:
        session.state["nonsense_failed"] = int(session.state.get("nonsense_failed", 0)) + 1
    row.records_after, row.requests_after = harvest.records, harvest.requests
    row.save()
    for told, (total, cut) in session.add_answer(row).items():
        Query.objects.filter(harvest=harvest, number=told).update(total=total, overflowed=cut)
    forms.learn_roles(harvest.form, session.proved())
    _note_errors(session, state, reason)
    links = harvests.next_links(run, sessions, session.options, now)
    harvests.save(session)
    return Stored(links=links)


def _note_errors(session: HarvestSession, state: QueryState, reason: str) -> None:
    errors = int(session.state.get("errors", 0)) + 1 if state == QueryState.ERROR else 0
    session.state["errors"] = errors
    if (
        errors >= ERRORS_IN_A_ROW + (NONSENSE if not session.log else 0)
        and "ending" not in session.state
    ):
        session.state["ending"] = reason[:60] or "errors"


def failed(
    run: Run,
    sessions: Sequence[HarvestSession],
    session: HarvestSession,
    item: Url,
    reason: str,
    now: datetime,
) -> Stored:
    """Ends the query of a request that got no response: disallowed by robots.txt, lost when its
    process was killed, or failed at every try. Returns the request of the run's next query; nothing
    if the query had ended already.
    """
    row = Query.objects.filter(pk=item.payload.get("query")).first()
    if row is None or row.state != QueryState.SENT:
        return Stored()
    if reason.startswith(UNSENT):
        session.state["ending"] = reason.partition(":")[0]
        _count_requests(session, row, item.attempts - 1)
    else:
        _count_requests(session, row, item.attempts)
    if row.found:  # earlier pages of the query had records
        row.partial = True
        return _end(run, sessions, session, row, QueryState.VALID, reason, now)
    return _end(run, sessions, session, row, QueryState.ERROR, reason, now)


def reopened(
    session: HarvestSession,
    item: Url,
    response: FetchResponse,
    page_forms: Sequence[PageForm],
    now: datetime,
) -> Stored:
    """Processes the page with the form, which was fetched to start a session. Returns the request
    of the query that was waiting for it. `page_forms` are the forms on the page."""
    session.is_open = True
    row = Query.objects.get(pk=item.payload["query"])
    _count_requests(session, row, max(1, item.attempts) + len(response.redirects))
    row.save()
    session.form = forms.refreshed(session.form, page_forms)
    opened = session.state["opened"] = int(session.state.get("opened", 0)) + 1
    harvests.save(session)
    number = int(item.payload["page"])
    if (
        number > 1
    ):  # a further page belongs to the expired session, so the query starts again at the first one
        number = 1
    link = harvests.page_link(
        session, row, harvests.submission_of(session, row), number, attempt=opened
    )
    return Stored(links=[link])


def close_lost(run: Run, sessions: Sequence[HarvestSession], now: datetime) -> list[Stored]:
    """Ends queries whose requests were dropped from the frontier, for example because their host
    was given up, and ends their harvests too. Returns one result per query; its links are the next
    requests of the run."""
    ended = []
    for session in sessions:
        for row in Query.objects.filter(harvest=session.harvest, state=QueryState.SENT):
            reason = (
                Url.objects.filter(run=run, group=session.harvest.pk, state=UrlState.DROPPED)
                .values_list("reason", flat=True)
                .last()
            )
            session.state.setdefault("ending", (reason or "dropped")[:60])
            ended.append(
                _end(run, sessions, session, row, QueryState.ERROR, reason or "dropped", now)
            )
    return ended


MAX_WORDS = 8


# maximum number of matches for which the index is used; with more, reading rows is faster for the
# first page
MAX_FOUND = 900


MIN_LETTERS = 3  # length of the shortest word that a trigram index finds


def narrowed(rows: QuerySet[Record], text: str) -> QuerySet[Record]:
    """Narrows a query to the records whose text contains every word of the search `text` (only its
    first MAX_WORDS words count), ignoring case, also inside other words."""
    words = text.split()[:MAX_WORDS]
    found = _indexed(words)
    if found is not None:
        rows = rows.filter(pk__in=found)
    for word in words:
        rows = rows.filter(text__icontains=word)
    return rows


def _indexed(words: Sequence[str]) -> list[int] | None:
    """Returns the ids of candidate records from SQLite's index: for the first word that is rare
    enough, otherwise for all words together. Words shorter than MIN_LETTERS are not searched for.
    None if no word is long enough, if more than MAX_FOUND records match, or on PostgreSQL, which
    uses its index by itself."""
    known = ['"' + word.replace('"', '""') + '"' for word in words if len(word) >= MIN_LETTERS]
    if connection.vendor != "sqlite" or not known:
        return None
    for asked in dict.fromkeys([*known, " AND ".join(known)]):
        statement = (
            "SELECT rowid FROM deepweb_recordtext WHERE deepweb_recordtext MATCH %s LIMIT %s"
        )
        rows: list[tuple[Any, ...]] = sql.fetch(statement, (asked, MAX_FOUND + 1))
        if len(rows) <= MAX_FOUND:
            return [row[0] for row in rows]
    return None
