"""The operator's marks of pages as on or off topic: the learning judge's scores of a run's pages, the choice of pages to mark,
and the storing of marks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from django.db import transaction

from crawlmgr.services import memory
from focused.judge import Feedback, Rows
from focused.models import TopicPage, TopicRun
from focused.pages import hashed
from focused.relevance import Relevance
from focused.services import sessions, topics
from focused.topics import Topic

MOST_PAGES = 2000
"""Maximum number of a run's newest pages that are scored together."""
KEPT_SECONDS = 600.0
MOST_CHECKED = 20
"""Maximum number of marks that are left out, one at a time, to check whether the judge would have predicted them."""


class Judged(NamedTuple):
    """A page with the learning judge's score: `worth` is the score in [0, 1], relevant from 0.5; `sure` in [0, 1] is its
    distance from 0.5, doubled.
    """

    page: TopicPage
    worth: float

    @property
    def on_topic(self) -> bool:
        return self.worth >= 0.5

    @property
    def sure(self) -> float:
        return 2 * abs(self.worth - 0.5)


class Verdict(NamedTuple):
    """The learning judge's scores of a run's newest pages.

    `rows` are these pages: unmarked ones whose mark would help most first, marked ones last. `pages` counts all of them,
    `marks` the marked ones. To test the judge, `checked` marks were left out in turn, and it predicted `agreed` of them
    correctly.
    """

    rows: list[Judged]
    pages: int
    marks: int
    checked: int
    agreed: int


def verdict(run: TopicRun) -> Verdict:
    """Scores the newest pages of a run by the topic's samples, the pages themselves and the operator's marks."""
    rows = list(TopicPage.objects.filter(run_id=run.pk, kind=TopicPage.Kind.PAGE).order_by("-number")[:MOST_PAGES])[::-1]
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
    worth = judge.worth(scores)
    for number, on_topic in judge.marks.items():
        worth[number] = float(on_topic)
    order = [*judge.to_mark(scores, len(rows)), *sorted(judge.marks, reverse=True)]
    return Verdict([Judged(rows[i], float(worth[i])) for i in order], len(rows), len(judge.marks), checked, agreed)


class Shown(NamedTuple):
    """The first rows of a verdict, either of marked or of unmarked pages, with the counts over all pages; `on_topic` counts
    those scored as relevant.
    """

    rows: list[Judged]
    pages: int
    marks: int
    checked: int
    agreed: int
    on_topic: int


def shown(run: TopicRun, marked: bool, most: int) -> Shown:
    """Returns the first `most` rows of `verdict` that are marked (`marked` true) or unmarked. The verdict is cached for each
    state of pages and marks, since the judge reads thousands of pages for it.
    """
    marks = dict(TopicPage.objects.filter(run_id=run.pk, marked__isnull=False).order_by("pk").values_list("pk", "marked"))
    fetched = TopicPage.objects.filter(run_id=run.pk, kind=TopicPage.Kind.PAGE)
    newest = fetched.order_by("-number").values_list("pk", flat=True).first()
    state = json.dumps([run.pk, newest, sorted(marks.items()), run.definition], sort_keys=True)
    key = f"verdict-{hashlib.sha256(state.encode()).hexdigest()}"
    judged, counts = memory.remembered(key, KEPT_SECONDS, lambda: _summary(verdict(run)))
    chosen = [(pk, worth) for pk, worth in judged if (pk in marks) == marked][:most]
    pages = TopicPage.objects.in_bulk([pk for pk, _worth in chosen])
    return Shown([Judged(pages[pk], worth) for pk, worth in chosen if pk in pages], *counts)


def _summary(found: Verdict) -> tuple[list[tuple[int, float]], tuple[int, int, int, int, int]]:
    """Returns the cached form of a verdict: its rows as pairs of the page's id and its score, and the counts pages, marks,
    checked, agreed and on_topic.
    """
    on_topic = sum(row.on_topic for row in found.rows)
    return [(row.page.pk, row.worth) for row in found.rows], (found.pages, found.marks, found.checked, found.agreed, on_topic)


def _reached(rows: Sequence[TopicPage]) -> tuple[Rows, Rows]:
    """Returns the links recorded in the run's log between these rows, as parallel arrays: the index of a page's parent, and of
    the page.
    """
    numbers = {row.pk: number for number, row in enumerate(rows)}
    found = [(numbers[row.parent_id], number) for number, row in enumerate(rows) if row.parent_id in numbers]
    start, end = np.array(found, dtype=np.intp).reshape(-1, 2).T
    return start, end


def _left_out(judge: Feedback, reached: tuple[Rows, Rows]) -> tuple[int, int]:
    """Tests the judge by leaving marks out in turn. Returns the number of marks left out, and how many of them the judge
    predicted correctly. `reached` are the links between pages (`_reached`).
    """
    marks = dict(judge.marks)
    asked = sorted(marks)[-MOST_CHECKED:] if len(marks) > 1 else []
    agreed = 0
    for number in asked:
        judge.mark(number, None)
        found = judge.worth(np.array([judge.rank(*reached)[number]]))[0] >= 0.5
        agreed += bool(found) == marks[number]
        judge.mark(number, marks[number])
    return len(asked), agreed


@transaction.atomic
def mark(page: TopicPage, on_topic: bool | None) -> None:
    """Stores the operator's mark of a page; None removes it. An active run receives it after the current page. Raises
    ValueError if the page was not fetched.
    """
    if page.kind != TopicPage.Kind.PAGE:
        raise ValueError("only pages that were fetched can be marked")
    run = TopicRun.objects.select_related("run").select_for_update(of=("self",)).get(pk=page.run_id)
    TopicPage.objects.filter(pk=page.pk).update(marked=on_topic)
    if run.run.active:
        topics.edit_run(run.run, {"marks": {page.url: on_topic}})
