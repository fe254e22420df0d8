"""Database queries for the web pages and charts of topics; nothing here writes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, NamedTuple

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery

from crawlmgr.models import Page, Run, Url, UrlState, WarcFile
from crawlmgr.runs import run_reads
from crawlmgr.web.url import UrlError, canonical, url_hash
from focused.models import Comparison, Seed, Topic, TopicPage, TopicRun
from focused.run.scope import Scope

REASONS = 320
TREE_LIMIT = 60
PAGE = TopicPage.Kind.PAGE


def for_lists() -> QuerySet[Topic]:
    """Returns a query of all topics with only the columns that lists show."""
    return Topic.objects.only("id", "name", "strategy", "interval_seconds", "next_run", "added")


def first_topics(most: int) -> list[Topic]:
    """Returns the first `most` topics by name, each with its newest run (see `with_last_runs`)."""
    return with_last_runs(list(for_lists().order_by("name", "id")[:most]))


def with_last_runs(topics: Sequence[Topic]) -> list[Topic]:
    """Returns the topics, each with two attributes: `last`, its newest run (a TopicRun, None
    without any), and `seeds_number`. Makes three queries in all.
    """
    keys = [topic.pk for topic in topics]
    seeds = dict(
        Seed.objects.filter(topic__in=keys).order_by().values_list("topic").annotate(Count("id"))
    )
    newest = (
        TopicRun.objects.filter(topic__in=keys)
        .order_by()
        .values("topic")
        .annotate(last=Max("run_id"))
        .values("last")
    )
    runs = {
        row.topic_id: row
        for row in _runs().filter(run_id__in=list(newest.values_list("last", flat=True)))
    }
    topic: Any
    for topic in topics:
        topic.last, topic.seeds_number = runs.get(topic.pk), seeds.get(topic.pk, 0)
    return list(topics)


def of_last_run(name: str) -> Subquery:
    """Returns a subquery for the field `name` of a topic's newest run, to annotate a query of
    topics; NULL for topics without run."""
    return Subquery(
        TopicRun.objects.filter(topic=OuterRef("pk")).order_by("-run_id").values(name)[:1]
    )


def _runs() -> QuerySet[TopicRun]:
    return TopicRun.objects.select_related("run").defer(
        "definition", "frequencies", "strategy_state"
    )


def tree_topics() -> list[Topic]:
    """Returns the first TREE_LIMIT topics by name, which the navigation tree shows, and one more,
    so that the page knows whether there are more."""
    return list(Topic.objects.only("id", "name").order_by("name")[: TREE_LIMIT + 1])


def active_topics() -> dict[int, str]:
    """Returns the state of the active run of each topic that has one, by the topic's id."""
    return {target: run.state for target, run in run_reads.at_work("topic").items()}


def topic_runs(topic: Topic, limit: int = 20) -> list[TopicRun]:
    """Returns the `limit` newest runs of a topic, newest first."""
    return list(_runs().filter(topic=topic).order_by("-run_id")[:limit])


def topic_run(pk: int) -> TopicRun | None:
    """Returns the topic run with the id `pk`; None if there is none."""
    return (
        TopicRun.objects.select_related("run", "topic")
        .defer("frequencies", "strategy_state")
        .filter(pk=pk)
        .first()
    )


def run_ids(topic: Topic) -> list[int]:
    """Returns the ids of all runs of a topic."""
    return list(topic.runs.order_by("run_id").values_list("run_id", flat=True))


def fetched_since(run: Run, since: datetime) -> int:
    """Returns the number of pages that a topic run has fetched since that time. Pages are numbered
    in the order of time, so that some twenty rows are read by index, whatever the run's length."""
    if run.started is None or run.started >= since:
        return run.fetched
    rows = TopicPage.objects.filter(run=run, kind=PAGE)
    last = rows.order_by("-number").values_list("number", flat=True).first()

    def fetched_at(number: int) -> datetime:
        return (
            rows.filter(number__gte=number).order_by("number").values_list("at", flat=True).first()
            or since
        )

    pages = 0 if last is None else last + 1
    return pages - bisect_left(range(pages), since, key=fetched_at)


class Reason(NamedTuple):
    """Why a page was fetched at that point of the run: `number` is its position in the run, from 0;
    `relevant` tells whether it turned out relevant; `score_parts` are the components, by name, of
    the score that its link had.
    """

    number: int
    relevant: bool
    score_parts: Mapping[str, float]


def reasons(run_id: int, pages: int) -> list[Reason]:
    """Returns the `Reason` of at most REASONS pages, evenly distributed over a run that has fetched
    `pages` pages. Reads only these rows by index, whatever the run's length."""
    step = max(1, ceil(pages / REASONS))
    rows = TopicPage.objects.filter(
        run_id=run_id, kind=PAGE, number__in=list(range(0, pages, step))
    )
    found = rows.order_by("number").values_list("number", "relevant", "why")
    return [Reason(number, relevant, why.get("parts", {})) for number, relevant, why in found]


def edits(run_id: int) -> list[dict[str, Any]]:
    """Returns the changes that the operator made to a run, with the keys that
    `topic.topics.edit_run` describes: first those carried out, then those not carried out yet.
    """
    made = (
        TopicPage.objects.filter(run_id=run_id, kind=TopicPage.Kind.EDIT)
        .order_by("step")
        .values_list("why", flat=True)
    )
    return [*made, *TopicRun.objects.values_list("edits", flat=True).get(pk=run_id)]


def pages(run_id: int) -> QuerySet[TopicPage]:
    """Returns a query of a run's pages, without the large columns."""
    return TopicPage.objects.filter(run_id=run_id, kind=PAGE).defer("words", "why")


def newest_pages(run_id: int, size: int) -> list[TopicPage]:
    """Returns the `size` most recently fetched pages of a run, newest first."""
    return list(pages(run_id).order_by("-step")[:size])


def pages_by_id(ids: Sequence[int]) -> list[TopicPage]:
    """Returns the pages with these ids, in the same order; missing ones are left out."""
    found = {page.pk: page for page in TopicPage.objects.filter(pk__in=ids)}
    return [found[pk] for pk in ids if pk in found]


def path_from_seed(page: TopicPage, limit: int = 50) -> list[TopicPage]:
    """Returns the path of pages from a seed to `page`, both included, found by following each
    page's parent. Of a path of more than `limit` pages, returns the last `limit`.
    """
    found = [page]
    while found[-1].parent_id is not None and len(found) < limit:
        parent = TopicPage.objects.filter(pk=found[-1].parent_id).defer("words").first()
        if parent is None:
            break
        found.append(parent)
    return found[::-1]


@dataclass(frozen=True, slots=True)
class AddressOutcome:
    """What became of an address in a run. `code`: page (fetched), failed, same (it leads to a page
    already fetched), waiting (in the queue), dropped, refused (by the scope), or unknown. `page` is
    its step in the run's log, `waiting` its row in the frontier (None for none), `reason` the code
    of why it failed, was dropped or refused ("" for none).
    """

    code: str
    url: str
    page: TopicPage | None = None
    reason: str = ""
    waiting: Url | None = None


def outcome_of(run: TopicRun, address: str) -> AddressOutcome:
    """Returns what became of an address in a run. Looks it up among the run's pages, then in its
    frontier; an address found in neither is checked against the run's scope. Raises ValueError if
    the address is invalid."""
    try:
        url = canonical(address.strip())
    except UrlError as error:
        raise ValueError(str(error)) from None
    step = (
        TopicPage.objects.filter(run_id=run.pk, url_hash=url_hash(url))
        .exclude(kind=TopicPage.Kind.EDIT)
        .first()
    )
    if step is None:
        step = TopicPage.objects.filter(run_id=run.pk, final_url=url).first()
    if step is not None:
        code = {PAGE: "page", TopicPage.Kind.FAILED: "failed"}.get(
            TopicPage.Kind(step.kind), "same"
        )
        return AddressOutcome(code, url, step, step.detail)
    waiting = Url.objects.filter(run_id=run.pk, key_hash=url_hash(url)).first()
    if waiting is not None:
        code = "waiting" if waiting.state in (UrlState.WAITING, UrlState.CLAIMED) else "dropped"
        return AddressOutcome(code, url, reason=waiting.reason, waiting=waiting)
    reason = Scope.from_mapping(run.run.parameters["scope"]).refusal(url, 0)
    return AddressOutcome("refused" if reason else "unknown", url, reason=reason or "")


def original(page: TopicPage) -> TopicPage | None:
    """Returns the earlier page of the run that `page` nearly duplicates; None if it is no
    duplicate."""
    if page.duplicate_of is None:
        return None
    return TopicPage.objects.filter(run_id=page.run_id, kind=PAGE, number=page.duplicate_of).first()


def capture(page: TopicPage) -> Page | None:
    """Returns the stored response of a page; None if there is none."""
    return (
        Page.objects.filter(run_id=page.run_id, key_hash=page.url_hash)
        .select_related("warc")
        .first()
    )


def archive_choices(topic: Topic) -> list[dict[str, Any]]:
    """Returns the sets of WARC files over which strategies can be compared, as dictionaries with
    `files` (ids) and `name`: the files of all the topic's runs together (name ""), if there are
    any, then each of the 50 newest imported files.
    """
    own = list(WarcFile.objects.filter(run__topic_run__topic=topic).values_list("pk", flat=True))
    choices: list[dict[str, Any]] = [{"files": own, "name": ""}] if own else []
    imported = WarcFile.objects.filter(imported=True).order_by("-id")[:50]
    return [*choices, *({"files": [file.pk], "name": file.name} for file in imported)]


def files_of(run_id: int) -> list[int]:
    """Returns the ids of the WARC files with the pages that a run fetched or took from the
    archive."""
    found = Page.objects.filter(run_id=run_id, warc__isnull=False).values_list("warc", flat=True)
    return sorted(set(found.order_by().distinct()))


def budget(files: Sequence[int]) -> int:
    """Returns a number of fetches suitable for comparing strategies over the WARC files with these
    ids: a quarter of the pages in them, at least 20; 0 if they have no pages."""
    held = Page.objects.filter(warc__in=files, status=200).values("url_hash").distinct().count()
    return max(20, held // 4) if held else 0


def comparisons(topic: Topic, limit: int = 10) -> list[Comparison]:
    """Returns the `limit` newest comparisons of a topic, newest first, without their results."""
    return list(topic.comparisons.select_related("run").defer("result")[:limit])
