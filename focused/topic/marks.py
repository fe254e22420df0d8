"""The operator's marks of pages as on or off topic, and what follows from them for a run: the
probability of each page, the harvest rate with its interval, and the pages to mark next."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from crawlmgr.database import caches
from focused.judge.probability import (
    LEAST_MARKS,
    Feedback,
    Posterior,
    Rows,
    places,
    probability,
    stuffed,
    to_mark,
)
from focused.judge.relevance import Relevance, Topic
from focused.models import TopicPage, TopicRun
from focused.pages import hashed
from focused.run import archived_pages
from focused.topic import topics

MAX_PAGES = 2000
"""Maximum number of pages of a run that are judged together: of longer runs every n-th page."""
KEPT_SECONDS = 600.0
CURVE_POINTS = 160


class Judged(NamedTuple):
    """A page with the probability that it is on topic; 1 or 0 if a user has marked it."""

    page: TopicPage
    score: float

    @property
    def on_topic(self) -> bool:
        return self.score >= 0.5

    @property
    def sure(self) -> float:
        return 2 * abs(self.score - 0.5)


class JudgedPages(NamedTuple):
    """The judgement of a run's pages: `rows` are the unmarked pages, those first whose mark would
    tell most, then the marked ones. `pages` is the number of judged pages, near duplicates
    included, `marks` that of the marks, also of earlier runs. `harvest` is as in
    `TopicRun.harvest`, with the mean as `share`."""

    rows: list[Judged]
    pages: int
    marks: int
    harvest: dict[str, Any]


def judge_pages(run: TopicRun) -> JudgedPages:
    """Judges the pages of a run: ranks them by what distinguishes the samples from the run's own
    pages, and fits the probability to the marks of this and earlier runs by the marked pages'
    places in the ranking. The ranking itself learns nothing from marks, which would place marked
    pages too far apart. Near duplicates are not ranked and count as off topic;
    pages stuffed with words stand last.
    """
    rows = _rows(run)
    fresh = [row for row in rows if row.duplicate_of is None]
    relevance = Relevance(Topic.from_json(run.definition))
    judge = Feedback(relevance.samples)
    words = [hashed(archived_pages.words_of(row)) for row in fresh]
    doubts = np.array([stuffed(one) for one in words])
    written = np.flatnonzero(doubts < 0.5)
    for place in written:
        judge.add(words[place])
    own = {number: row.marked for number, row in enumerate(fresh) if row.marked is not None}
    if not len(written):
        return JudgedPages([], len(rows), len(relevance.marked), {})
    ranked = judge.rank(*_reached([fresh[place] for place in written]))
    scores = np.full(len(fresh), ranked.min() - 1)
    scores[written] = ranked
    earlier = np.array([judge.score_of(hashed(text)) for text, _word in relevance.marked])
    at, number = places(scores), len(own) + len(earlier)
    posterior = Posterior(
        [*at[list(own)], *places(earlier, scores)],
        [*own.values(), *(on_topic for _text, on_topic in relevance.marked)],
    )
    found = probability(at, *posterior.calibration) * (1 - doubts)
    found[list(own)] = list(own.values())
    harvest: dict[str, Any] = {"marks": number}
    if len(written) < len(fresh):
        harvest["stuffed"] = len(fresh) - len(written)
    if number >= LEAST_MARKS or len(own) == len(fresh):
        left = np.delete(at, list(own))
        sums = posterior.number(left) if len(left) else (0.0, 0.0, 0.0)
        low, share, high = ((sum(own.values()) + one) / len(rows) for one in sums)
        harvest |= {"share": share, "interval": [low, high], "line": posterior.calibration}
        harvest |= _course(rows, dict(zip([row.pk for row in fresh], found, strict=True)))
    order = [*to_mark(scores, own, len(fresh)), *sorted(own, reverse=True)]
    judged = [Judged(fresh[place], float(found[place])) for place in order]
    return JudgedPages(judged, len(rows), number, harvest)


def _rows(run: TopicRun) -> list[TopicPage]:
    """Returns the pages of a run that are judged, in the order of their arrival."""
    pages = TopicPage.objects.filter(run_id=run.pk, kind=TopicPage.Kind.PAGE)
    step = -(-run.pages // MAX_PAGES)
    if step > 1:
        marked = pages.filter(marked__isnull=False).values_list("number", flat=True)
        pages = pages.filter(number__in={*range(0, run.pages, step), *marked})
    return list(pages.defer("why").order_by("number"))


def _course(rows: Sequence[TopicPage], found: dict[int, float]) -> dict[str, Any]:
    """Returns how many pages on topic were found over the run (`curve`: pairs of pages and pages on
    topic), and by length of tunnel how many were reached through pages off topic (`tunnels`);
    `found` are the probabilities by page id, 0 for pages without one."""
    curve: list[tuple[int, float]] = []
    tunnels: Counter[int] = Counter()
    off: dict[int | None, int] = {}
    total, every = 0.0, -(-len(rows) // CURVE_POINTS)
    for place, row in enumerate(rows, start=1):
        likely = float(found.get(row.pk, 0.0))
        total += likely
        before = off.get(row.parent_id, 0)
        off[row.pk] = 0 if likely >= 0.5 else before + 1
        tunnels[before] += likely >= 0.5
        if place % every == 0 or place == len(rows):
            curve.append((row.number + 1, round(total / place * (row.number + 1), 2)))
    return {"curve": curve, "tunnels": {n: count for n, count in tunnels.items() if n and count}}


Summary = tuple[list[tuple[int, float, bool]], int, int, dict[str, Any]]
"""A `JudgedPages` with the id, the probability and whether it is marked for each page."""


def shown(run: TopicRun, marked: bool, most: int) -> JudgedPages:
    """Returns the run's `JudgedPages` with only the first `most` pages, either of those that the
    operator marked (`marked` True) or of the others."""
    judged, number, marks, harvest = _remembered(run)
    chosen = [(pk, score) for pk, score, is_marked in judged if is_marked == marked][:most]
    pages = TopicPage.objects.in_bulk([pk for pk, _score in chosen])
    rows = [Judged(pages[pk], score) for pk, score in chosen if pk in pages]
    return JudgedPages(rows, number, marks, harvest)


def _remembered(run: TopicRun) -> Summary:
    """Returns the run's `JudgedPages` as a `Summary`. Cached for KEPT_SECONDS, or until a page or
    mark is added or changed, since thousands of pages are read for it."""
    marks = TopicPage.objects.filter(run_id=run.pk, marked__isnull=False)
    known = [[*row] for row in marks.order_by("pk").values_list("pk", "marked")]
    state = json.dumps([run.pk, run.pages, known, run.definition], sort_keys=True)

    def judged() -> Summary:
        rows, number, marks, harvest = judge_pages(run)
        summary = [(row.page.pk, row.score, row.page.marked is not None) for row in rows]
        return summary, number, marks, harvest

    key = f"judged-{hashlib.sha256(state.encode()).hexdigest()}"
    return caches.remembered(key, KEPT_SECONDS, judged)


def settle(run: TopicRun) -> None:
    """Stores what the marks say about a run: its harvest rate, and which of its pages are on topic.
    Without any mark, nothing is done."""
    if not run.pages or not (
        run.definition.get("marked")
        or run.harvest
        or TopicPage.objects.filter(run_id=run.pk, marked__isnull=False).exists()
    ):
        return
    judged, _pages, _marks, run.harvest = _remembered(run)
    run.harvest_rate = run.harvest.get("share")
    TopicRun.objects.filter(pk=run.pk).update(harvest=run.harvest, harvest_rate=run.harvest_rate)
    if run.harvest_rate is not None:
        for on_topic in (True, False):
            keys = [pk for pk, score, _marked in judged if (score >= 0.5) == on_topic]
            pages = TopicPage.objects.filter(pk__in=keys, relevant=not on_topic)
            pages.update(relevant=on_topic)


def _reached(rows: Sequence[TopicPage]) -> tuple[Rows, Rows]:
    """Returns two parallel arrays of indices in `rows`: of parent pages, and of the pages reached
    by a link of that parent. Pages whose parent is not in `rows` are left out."""
    numbers = {row.pk: number for number, row in enumerate(rows)}
    found = [
        (numbers[row.parent_id], number)
        for number, row in enumerate(rows)
        if row.parent_id in numbers
    ]
    start, end = np.array(found, dtype=np.intp).reshape(-1, 2).T
    return start, end


def mark(page: TopicPage, on_topic: bool | None) -> None:
    """Stores the operator's mark of a page; None removes it. An active run receives it after the
    current page. Raises ValueError if the page was not fetched.
    """
    if page.kind != TopicPage.Kind.PAGE:
        raise ValueError("only pages that were fetched can be marked")
    with transaction.atomic():
        runs = TopicRun.objects.select_related("run").select_for_update(of=("self",))
        run = runs.get(pk=page.run_id)
        TopicPage.objects.filter(pk=page.pk).update(marked=on_topic)
        if run.run.active:
            topics.edit_run(run.run, {"marks": {page.url: on_topic}})
    settle(run)
