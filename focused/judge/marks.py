"""The operator's marks of pages as on or off topic: the learning judge's scores of a run's pages,
the choice of pages to mark, and the storing of marks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from django.db import transaction

from crawlmgr.database import caches
from focused.judge.feedback import Feedback, Rows
from focused.judge.relevance import Relevance
from focused.models import TopicPage, TopicRun
from focused.pages import hashed
from focused.run import sessions
from focused.topic import topics
from focused.topic.definition import Topic

MAX_PAGES = 2000
"""Maximum number of pages of a run that the learning judge scores together for the list of pages to
mark: the newest."""
KEPT_SECONDS = 600.0
MAX_CHECKED = 20
"""Maximum number of marks, those on the newest pages, that are left out one at a time to check
whether the judge would have predicted them."""


class Judged(NamedTuple):
    """A page with the score of the learning judge (a relevance model trained on the user's marks
    and the pages of the run). `score` in [0, 1] means on topic from 0.5 on; for a page marked by a
    user it is 1 or 0. `sure` in [0, 1] is twice the distance of the score from 0.5."""

    page: TopicPage
    score: float

    @property
    def on_topic(self) -> bool:
        return self.score >= 0.5

    @property
    def sure(self) -> float:
        return 2 * abs(self.score - 0.5)


class Verdict(NamedTuple):
    """The learning judge's scores of a run's newest pages.

    `rows` are the unmarked pages, ordered by how much a mark would help the judge (most first),
    followed by the pages that the operator has marked as on or off topic. `pages` is the number of
    rows, `marks` the number of marked pages. To test the judge, `checked` marks were left out one
    at a time; in `agreed` of these cases the judge's score agreed with the mark.
    """

    rows: list[Judged]
    pages: int
    marks: int
    checked: int
    agreed: int


def verdict(run: TopicRun) -> Verdict:
    """Scores how likely the newest pages of a run (at most MAX_PAGES) are on topic, with a
    classifier that learns from the topic's samples, these pages and the operator's marks (on or off
    topic). A marked page gets the score of its mark.
    """
    rows = list(
        TopicPage.objects.filter(run_id=run.pk, kind=TopicPage.Kind.PAGE).order_by("-number")[
            :MAX_PAGES
        ]
    )[::-1]
    if not rows:
        return Verdict([], 0, 0, 0, 0)
    relevance = Relevance(Topic.from_json(run.definition))
    judge = Feedback(relevance.samples, relevance.marked)
    for number, row in enumerate(rows):
        judge.add(hashed(sessions.words_of(row)))
        if row.marked is not None:
            judge.mark(number, row.marked)
    reached = _reached(rows)
    checked, agreed = _left_out(judge, reached)
    scores = judge.rank(*reached)
    score = judge.scaled(scores)
    for number, on_topic in judge.marks.items():
        score[number] = float(on_topic)
    order = [*judge.to_mark(scores, len(rows)), *sorted(judge.marks, reverse=True)]
    return Verdict(
        [Judged(rows[i], float(score[i])) for i in order],
        len(rows),
        len(judge.marks),
        checked,
        agreed,
    )


class Shown(NamedTuple):
    """The first of the marked or of the unmarked pages of a `Verdict`, with the counts of the whole
    `Verdict`; `on_topic` is the number of pages scored as on topic."""

    rows: list[Judged]
    pages: int
    marks: int
    checked: int
    agreed: int
    on_topic: int


def shown(run: TopicRun, marked: bool, most: int) -> Shown:
    """Returns the first `most` pages of the run's `Verdict`, either of those that the operator
    marked (`marked` True) or of the others, with their scores. The verdict is cached for
    KEPT_SECONDS, or until a page or mark is added or changed, since thousands of pages are read for
    it."""
    marks = dict(
        TopicPage.objects.filter(run_id=run.pk, marked__isnull=False)
        .order_by("pk")
        .values_list("pk", "marked")
    )
    fetched = TopicPage.objects.filter(run_id=run.pk, kind=TopicPage.Kind.PAGE)
    newest = fetched.order_by("-number").values_list("pk", flat=True).first()
    state = json.dumps([run.pk, newest, sorted(marks.items()), run.definition], sort_keys=True)
    key = f"verdict-{hashlib.sha256(state.encode()).hexdigest()}"
    judged, counts = caches.remembered(key, KEPT_SECONDS, lambda: _summary(verdict(run)))
    chosen = [(pk, score) for pk, score in judged if (pk in marks) == marked][:most]
    pages = TopicPage.objects.in_bulk([pk for pk, _worth in chosen])
    return Shown([Judged(pages[pk], score) for pk, score in chosen if pk in pages], *counts)


def _summary(found: Verdict) -> tuple[list[tuple[int, float]], tuple[int, int, int, int, int]]:
    """Returns the cached form of a verdict: its rows as pairs of the page's id and its score, and
    the counts pages, marks, checked, agreed and on_topic.
    """
    on_topic = sum(row.on_topic for row in found.rows)
    return [(row.page.pk, row.score) for row in found.rows], (
        found.pages,
        found.marks,
        found.checked,
        found.agreed,
        on_topic,
    )


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


def _left_out(judge: Feedback, reached: tuple[Rows, Rows]) -> tuple[int, int]:
    """Tests the relevance feedback `judge` by leave-one-out: removes each of the operator's marks
    in turn and scores its page without it. Returns the number of marks tested (at most the newest
    MAX_CHECKED) and the number of scores that agree with the removed mark. `reached`: the result of
    `_reached`."""
    marks = dict(judge.marks)
    asked = sorted(marks)[-MAX_CHECKED:] if len(marks) > 1 else []
    agreed = 0
    for number in asked:
        judge.mark(number, None)
        found = judge.scaled(np.array([judge.rank(*reached)[number]]))[0] >= 0.5
        agreed += bool(found) == marks[number]
        judge.mark(number, marks[number])
    return len(asked), agreed


@transaction.atomic
def mark(page: TopicPage, on_topic: bool | None) -> None:
    """Stores the operator's mark of a page; None removes it. An active run receives it after the
    current page. Raises ValueError if the page was not fetched.
    """
    if page.kind != TopicPage.Kind.PAGE:
        raise ValueError("only pages that were fetched can be marked")
    run = TopicRun.objects.select_related("run").select_for_update(of=("self",)).get(pk=page.run_id)
    TopicPage.objects.filter(pk=page.pk).update(marked=on_topic)
    if run.run.active:
        topics.edit_run(run.run, {"marks": {page.url: on_topic}})
