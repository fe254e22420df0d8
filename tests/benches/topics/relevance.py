"""`bench relevance`: measures how well scores separate relevant pages from others: similarity
alone, the learning judge's scores, and those after ten pages were marked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from django.core.management.base import CommandError
from numpy.typing import NDArray
from scipy.stats import rankdata

from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from crawlmgr.text.tokens import Tokenizer
from focused.judge.probability import Feedback, Posterior, places, to_mark
from focused.judge.relevance import Relevance, Topic
from focused.lab.archive import Archive
from focused.lab.evaluate import Label
from focused.pages import Content
from focused.run.parse import Parser
from tests.training import packs

SIDES = ("similarity", "judge", "marked", "inside", "width")
DRAWS = 20


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--other-documents", type=int, default=0, help="further runs, each with four other samples"
    )
    parser.add_argument(
        "--marks", type=int, default=10, help="pages that the operator marks (default 10)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    if not options["data"]:
        raise CommandError(
            "bench relevance needs --data: a folder with packs (pages.warc.gz, topics,"
            " baselines.json)"
        )
    rows: list[dict[str, Any]] = []
    started = time.process_time()
    try:
        found = packs.folders(Path(options["data"]))
    except ValueError as error:
        raise CommandError(str(error)) from None
    for pack in found:
        archive = packs.open_archive(pack, Parser(Tokenizer()))
        for one in packs.topics(pack, archive):
            say(f"{pack.name} {one.name}")
            drawn = packs.draws(one, archive, options["other_documents"])
            results = [
                judged(topic, archive, one.labels, left_out, options["marks"])
                for topic, left_out in drawn
            ]
            means = {side: mean(result[side] for result in results) for side in SIDES}
            rows.append({"pack": pack.name, "topic": one.name, **means})
    summary = {side: mean(row[side] for row in rows) for side in SIDES}
    return {
        "rows": rows,
        "mean": summary,
        "marks": options["marks"],
        "seconds": time.process_time() - started,
    }


def judged(
    topic: Topic,
    archive: Archive,
    labels: Mapping[str, Label],
    left_out: frozenset[str],
    marks: int,
) -> dict[str, float]:
    """Computes the AUC (area under the ROC curve) of three scores over the labelled pages of a
    recorded web: similarity, the learning judge's score, and that score after `marks` pages were
    marked correctly. Returns them by the names in SIDES, with the figures of `interval`.

    Samples, seeds and the pages in `left_out` are not counted, in the third AUC also not the marked
    pages.
    """
    pages = [
        page for url in archive.urls() if (page := archive.get(url)) is not None and page.words
    ]
    relevance = Relevance(topic)
    feedback = Feedback(relevance.samples)
    for page in pages:
        relevance.learn(page.words)
        feedback.add(page.hashed)
    relevance.settle()
    links = between(pages, archive)
    known = [labels.get(page.url) for page in pages]
    right = np.array([bool(label and label.relevant) for label in known])
    counts = np.array(
        [
            label is not None and (label.scored or not label.relevant) and page.url not in left_out
            for page, label in zip(pages, known, strict=True)
        ]
    )
    similarity = np.array([relevance.page(page.words) for page in pages])
    scores = feedback.rank(*links)
    figures = {
        "similarity": auc(similarity[counts], right[counts]),
        "judge": auc(scores[counts], right[counts]),
        **interval(scores[counts], right[counts], marks),
    }
    for number in to_mark(scores, (), marks):
        feedback.mark(number, bool(right[number]))
        counts[number] = False
    return {**figures, "marked": auc(feedback.rank(*links)[counts], right[counts])}


def interval(scores: NDArray[np.float64], right: NDArray[np.bool_], marks: int) -> dict[str, float]:
    """Marks one page of each of `marks` equal parts of the ranking, DRAWS times at random. Returns
    how often the true share of pages on topic lies in the estimated interval (`inside`), and the
    interval's mean width (`width`)."""
    draw, at = np.random.default_rng(1), places(scores)
    parts = np.array_split(np.argsort(-scores, kind="stable"), marks)
    found = []
    for _ in range(DRAWS):
        marked = [int(draw.choice(part)) for part in parts]
        low, _mean, high = Posterior(at[marked].tolist(), right[marked].tolist()).number(
            np.delete(at, marked)
        )
        true = right.sum() - right[marked].sum()
        found.append((low <= true <= high, (high - low) / len(right)))
    inside, width = np.mean(found, axis=0)
    return {"inside": float(inside), "width": float(width)}


def between(
    pages: Sequence[Content], archive: Archive
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the links between pages as parallel arrays of page numbers (from, to); links that
    occur several times count once."""
    numbers = {page.url: number for number, page in enumerate(pages)}
    found = {
        (number, numbers[url])
        for number, page in enumerate(pages)
        for link in page.links
        if (url := archive.resolve(link.url)) in numbers and numbers[url] != number
    }
    start, end = np.array(sorted(found), dtype=np.intp).reshape(-1, 2).T
    return start, end


def auc(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Computes the area under the ROC curve, where `right` is True for relevant pages: the
    probability that a relevant page scores above an irrelevant one, ties counting half; 0.5 if
    there are only pages of one kind.
    """
    on = int(right.sum())
    off = len(right) - on
    ranks: NDArray[np.float64] = rankdata(scores)
    return float((ranks[right].sum() - on * (on + 1) / 2) / (on * off)) if on and off else 0.5


def table(result: dict[str, Any]) -> str:
    rows = [
        [row["pack"], row["topic"], *(round(row[side], 3) for side in SIDES)]
        for row in result["rows"]
    ]
    rows.append(["mean", "", *(round(result["mean"][side], 3) for side in SIDES)])
    return plain_table(
        (
            "pack",
            "topic",
            "similarity",
            "judge",
            f"judge, {result['marks']} marks",
            "truth in the interval",
            "its width",
        ),
        rows,
    )
