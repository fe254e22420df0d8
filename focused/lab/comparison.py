"""Compares strategies by running each over the same archive, with the same seeds and number of
fetches. The results are measured by relevance labels that the strategies do not see. Results of
several random draws are combined, with the verdict on which strategy is better."""

from __future__ import annotations

import csv
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from crawlmgr.text.similarity import NEAR, distance
from crawlmgr.web.url import UrlError, canonical
from focused.graph import MemoryGraph
from focused.judge.probability import judged
from focused.judge.relevance import Relevance, Topic
from focused.lab.archive import Archive
from focused.lab.evaluate import (
    Label,
    SimilarityJudge,
    bootstrap_difference,
    curve,
    growing_similarity,
    hits_authorities,
    pagerank_pages,
    targets,
    tunnel_lengths,
    with_heartbeat,
)
from focused.pages import Content, Page
from focused.parameters import Value
from focused.run.loop import Trail, crawl
from focused.strategies.base import strategy_class


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy with parameters (`values`) that takes part in a comparison. `label` distinguishes
    entries with the same strategy. `given` are further keyword arguments for the strategy's class,
    such as `prior` for weights trained on other webs."""

    strategy: str
    values: Mapping[str, Value] = field(default_factory=dict)
    label: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.label or self.strategy


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of one entry of a comparison. Target pages are those labelled relevant or,
    without labels, the pages fetched by any entry that are similar enough to the topic; `wanted` is
    their number, `relevant` the number of those found.

    `curve` holds pairs (pages fetched, target pages among them); `important_curve` and
    `pagerank_curve` count instead the 100 pages ranked highest by HITS and by PageRank. `seconds`
    are seconds of CPU time."""

    entry: Entry
    trail: Trail
    fetched: int
    relevant: int
    recall: float | None
    mean_similarity: float
    similarity_curve: Sequence[float]
    important_found: int
    important_share: float
    pagerank_found: int
    tunnel_lengths: Mapping[int, int]
    curve: Sequence[tuple[int, int]]
    important_curve: Sequence[tuple[int, int]]
    pagerank_curve: Sequence[tuple[int, int]]
    wanted: int
    """The number of relevant pages to find."""
    labelled: int | None
    """The number of fetched pages that have a label and are scored; None without labels."""
    seconds: float

    @property
    def harvest_rate(self) -> float:
        """Number of relevant pages found, divided by the number of fetches; 0 without fetches."""
        return self.relevant / self.fetched if self.fetched else 0.0

    @property
    def precision(self) -> float | None:
        """The share of relevant pages among the fetched pages that have a label; None if none has.
        In a comparison without labels it is the share of all fetched pages, judged by their
        similarity to the topic.
        """
        if self.labelled is None:
            return self.harvest_rate
        return self.relevant / self.labelled if self.labelled else None

    def as_json(self) -> dict[str, object]:
        """Returns the results as plain values by name: the row of this entry in the output of
        `topic compare --json`."""
        return {
            "strategy": self.entry.name,
            "fetched": self.fetched,
            "relevant": self.relevant,
            "harvest_rate": self.harvest_rate,
            "recall": self.recall,
            "mean_similarity": self.mean_similarity,
            "similarity_curve": list(self.similarity_curve),
            "important_found": self.important_found,
            "important_share": self.important_share,
            "pagerank_found": self.pagerank_found,
            "tunnel_lengths": {str(length): n for length, n in sorted(self.tunnel_lengths.items())},
            "curve": [list(point) for point in self.curve],
            "important_curve": [list(point) for point in self.important_curve],
            "pagerank_curve": [list(point) for point in self.pagerank_curve],
            "precision": self.precision,
            "failed": self.trail.failed,
            "duplicates": sum(step.duplicate for step in self.trail.steps),
            "left_out": self.trail.left_out,
            "left_out_wrongly": self.trail.left_out_wrongly,
            "stopped_by": self.trail.stopped_by,
            "seconds": self.seconds,
        }


def read_labels(lines: Iterable[str], archive: Archive) -> dict[str, Label]:
    """Reads labels from lines of CSV `url,label[,role][,depth]` (label: 1 for relevant, 0 for not).
    Returns a dictionary from the URL under which the archive has the page, after redirects, to its
    label.

    Raises ValueError with the line's number for an invalid URL or label.
    """
    return {archive.resolve(url): label for url, label in label_rows(lines)}


def label_rows(lines: Iterable[str]) -> Iterator[tuple[str, Label]]:
    """Yields the canonical URL and the label of each line of a label file (CSV
    `url,label[,role][,depth]`). A page with a role (sample, seed), or without depth if the file has
    depths, is not scored. Raises ValueError with the line's number for an invalid line.
    """
    rows = csv.DictReader(lines)
    if not rows.fieldnames or not {"url", "label"} <= set(rows.fieldnames):
        raise ValueError("a labels file needs the columns url and label")
    for number, row in enumerate(rows, start=2):
        try:
            url = canonical(row["url"] or "")
        except UrlError as error:
            raise ValueError(f"line {number}: {error}") from error
        if row["label"] not in ("0", "1"):
            raise ValueError(f"line {number}: label {row['label']!r} is neither 0 nor 1")
        scored = not row.get("role") and ("depth" not in rows.fieldnames or bool(row["depth"]))
        yield url, Label(row["label"] == "1", scored)


TRAIL = (
    "strategy",
    "number",
    "url",
    "parent",
    "depth",
    "similarity",
    "on_topic",
    "label",
    "target",
    "before",
    "found",
)
"""Columns of a trail (the list of a run's fetches). `on_topic` (1 or 0) is the crawler's own
judgement of the page, `label` whether its label says relevant ("" without label), `target` 1 for a
page to find, `before` the number of consecutive off-topic pages on the path to it, `found` the
number of targets so far."""


def trail_rows(
    outcomes: Iterable[Outcome], labels: Mapping[str, Label] | None
) -> Iterator[tuple[object, ...]]:
    """Yields a tuple with the columns `TRAIL` for every page that a strategy fetched, strategy by
    strategy, in the order of the fetches.

    The column `label` is "" for pages without a label. If there are no labels at all (`labels` is
    None), `label` and `target` hold the crawler's own judgement."""
    for outcome in outcomes:
        off_topic: dict[str, int] = {}
        found = 0
        for number, step in enumerate(outcome.trail.steps, start=1):
            own = int(step.relevant)
            label = (
                own if labels is None else labels[step.url].relevant if step.url in labels else ""
            )
            target = (
                own
                if labels is None
                else int(
                    step.url in labels and labels[step.url].relevant and labels[step.url].scored
                )
            )
            found += target
            before = off_topic.get(step.parent, 0) if step.parent is not None else 0
            off_topic[step.url] = 0 if (own if label == "" else label) else before + 1
            where = (step.url, step.parent or "", step.depth, round(step.similarity, 5))
            yield (
                outcome.entry.name,
                number,
                *where,
                own,
                "" if label == "" else int(label),
                target,
                before,
                found,
            )


SAMPLES = 4
"""Number of pages drawn as a topic's samples."""


def sample_draws(
    topic: Topic, archive: Archive, labels: Mapping[str, Label], others: int, random_seed: int = 7
) -> list[tuple[Topic, frozenset[str]]]:
    """Returns pairs of a topic and the set of URLs of its sample pages, which must not be scored:
    first the topic as given (with an empty set), then `others` copies whose samples are `SAMPLES`
    pages drawn at random from the relevant ones.

    Raises ValueError if `others` is not 0 and there are at most `SAMPLES` relevant pages."""
    found = [(topic, frozenset[str]())]
    pool = sorted(targets(labels))
    if others and len(pool) <= SAMPLES:
        raise ValueError(f"{len(pool)} pages to find are too few to draw samples from")
    rng = random.Random(random_seed)  # noqa: S311 - must be repeatable, no security
    for _ in range(others):
        chosen = rng.sample(pool, SAMPLES)
        texts = [" ".join(page.words) for url in chosen if (page := archive.get(url)) is not None]
        found.append((replace(topic, documents=tuple(texts)), frozenset(chosen)))
    return found


def without(labels: Mapping[str, Label], left_out: frozenset[str]) -> dict[str, Label]:
    """Returns the labels with the pages `left_out` marked as not scored."""
    return {
        url: Label(one.relevant, one.scored and url not in left_out) for url, one in labels.items()
    }


def with_seed_pages(topic: Topic, archive: Archive) -> Topic:
    """Returns the topic; if it has neither samples nor keywords, a copy with the words of its seed
    pages as samples, as in the Dolphin patent."""
    if topic.documents or topic.keywords:
        return topic
    texts = []
    for seed in topic.seeds:
        if seed in archive and (page := archive.get(seed)) is not None:
            texts.append(" ".join(word for word, n in page.words.items() for _ in range(n)))
    return replace(topic, documents=tuple(texts))


def compare(
    topic: Topic,
    archive: Archive,
    entries: Sequence[Entry],
    pages: int,
    *,
    labels: Mapping[str, Label] | None = None,
    random_seed: int = 1,
    checkpoints: int = 20,
    random_ties: bool = False,
    growing: bool = False,
    further: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """Runs every entry over the archive, for `pages` fetches each, and measures all of them
    together. Returns an outcome for each entry, in order.

    Deterministic: the same arguments give the same pages in the same order. Without labels, a page
    counts as relevant if its similarity to the topic, under word weights from all runs' pages,
    reaches the topic's threshold; recall is then undefined (None). `checkpoints` is the number of
    points of each curve. `random_ties` orders links of equal priority at random instead of first
    come, first served. `growing` computes the word weights of the similarity curve from what each
    run had fetched at each point, as the Dolphin patent does, instead of from all runs' pages.
    `further` maps names of strategies outside this package to the dotted names of their classes.
    `progress` is called with the name of each entry before its run.
    """
    topic = with_seed_pages(topic, archive)
    trails: list[tuple[Entry, Trail, float]] = []
    for entry in entries:
        if progress is not None:
            progress(entry.name)
        started = time.process_time()
        trail = run_entry(
            topic,
            archive,
            entry,
            pages,
            random_seed=random_seed,
            random_ties=random_ties,
            further=further,
        )
        trails.append((entry, trail, time.process_time() - started))
    return judge(topic, archive, trails, labels=labels, checkpoints=checkpoints, growing=growing)


def run_entry(
    topic: Topic,
    archive: Archive,
    entry: Entry,
    pages: int,
    *,
    random_seed: int = 1,
    random_ties: bool = False,
    further: Mapping[str, str] | None = None,
    on_page: Callable[[Page], None] | None = None,
) -> Trail:
    """Runs one entry over the archive for `pages` fetches and returns its trail, the list of its
    fetches. `on_page` is called with every page before its links are queued. Other arguments are
    those of `compare`."""
    # orders equal priorities, no security
    ties = random.Random(random_seed) if random_ties else None  # noqa: S311
    rng = random.Random(random_seed)  # noqa: S311 - must be repeatable, no security
    graph = MemoryGraph(ties)
    strategy = strategy_class(entry.strategy, further)(
        Relevance(topic), graph, rng, entry.values, **entry.given
    )
    trail = crawl(strategy, graph, archive, topic.seeds, pages, on_page)
    trail.left_out = len(strategy.left_out)
    trail.left_out_wrongly = sum(_differ(archive, *pair) for pair in strategy.left_out.items())
    return trail


def _differ(archive: Archive, one: str, other: str) -> bool:
    """Tells whether two addresses lead to pages with different contents, that is, whose SimHash
    fingerprints differ in more than NEAR bits; False if the archive lacks one of them.
    """
    if one not in archive or other not in archive:
        return False
    first, second = archive.get(one), archive.get(other)
    return (
        first is not None
        and second is not None
        and distance(first.fingerprint, second.fingerprint) > NEAR
    )


def _contents(
    archive: Archive, trails: Iterable[Trail], pulse: Callable[[], None] | None
) -> dict[str, Content]:
    """Returns the archived pages that the compared strategies fetched (a `Trail` has one strategy's
    fetches), by address, in the order of the first fetch. `pulse` is called while it works."""
    seen: dict[str, Content] = {}
    for trail in trails:
        for step in with_heartbeat(trail.steps, pulse):
            if step.url not in seen and (content := archive.get(step.url)) is not None:
                seen[step.url] = content
    return seen


def judge(
    topic: Topic,
    archive: Archive,
    trails: Sequence[tuple[Entry, Trail, float]],
    *,
    labels: Mapping[str, Label] | None = None,
    checkpoints: int = 20,
    growing: bool = False,
    pulse: Callable[[], None] | None = None,
) -> list[Outcome]:
    """Measures the trails (pages in order of fetching) of all entries, given as (entry, trail, CPU
    seconds it took), and returns an outcome for each, in order. The keyword arguments are those of
    `compare`; `pulse` is called several times for every page, so that a caller can renew its lease.
    """
    relevance = Relevance(topic)
    seen = _contents(archive, [trail for _, trail, _ in trails], pulse)
    words = {url: content.words for url, content in seen.items()}
    similarity = SimilarityJudge(relevance.counts, words, pulse)
    if labels is None:
        for page in with_heartbeat(seen.values(), pulse):
            relevance.learn(page.words)
        relevance.settle()
        probable = judged(relevance, with_heartbeat(seen.values(), pulse))
        on_topic = wanted = frozenset(
            url for url, value in zip(seen, probable, strict=True) if value >= 0.5
        )
    else:
        on_topic = frozenset(url for url, label in labels.items() if label.relevant)
        wanted = targets(labels)
    graph = {
        url: [archive.resolve(link.url) for link in page.links]
        for url, page in with_heartbeat(seen.items(), pulse)
    }
    important = frozenset(hits_authorities(graph))
    ranked = frozenset(pagerank_pages(graph))
    outcomes = []
    for entry, trail, seconds in trails:
        urls = [step.url for step in trail.steps]
        found = sum(url in wanted for url in urls)
        hits = sum(url in important for url in urls)
        if growing:
            similarities = growing_similarity(
                relevance.counts, [words[url] for url in urls], checkpoints
            )
        else:
            similarities = similarity.curve(urls, checkpoints)
        outcomes.append(
            Outcome(
                entry=entry,
                trail=trail,
                fetched=trail.fetched,
                relevant=found,
                recall=found / len(wanted) if labels is not None and wanted else None,
                mean_similarity=similarity.mean(urls),
                similarity_curve=similarities,
                important_found=hits,
                important_share=hits / len(important) if important else 0.0,
                pagerank_found=sum(url in ranked for url in urls),
                tunnel_lengths=tunnel_lengths(trail.steps, on_topic),
                curve=curve(trail.steps, wanted, checkpoints),
                important_curve=curve(trail.steps, important, checkpoints),
                pagerank_curve=curve(trail.steps, ranked, checkpoints),
                wanted=len(wanted),
                labelled=(
                    None
                    if labels is None
                    else sum(url in labels and labels[url].scored for url in urls)
                ),
                seconds=seconds,
            )
        )
    return outcomes


MAX_DRAWS = 20
PATENT_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "similarity": {"alpha": 1.0, "beta": 0.0, "gamma": 0.0},
    "depth": {"alpha": 0.0, "beta": 1.0, "gamma": 0.0},
    "links": {"alpha": 0.0, "beta": 0.0, "gamma": 1.0},
    "mixed": {"alpha": 0.4, "beta": 0.3, "gamma": 0.3},
}
"""Parameters of the Dolphin patent's four runs: each criterion alone, and all three mixed."""


class Cell(NamedTuple):
    """One run of a comparison: the name of its entry (a strategy with its parameters), and the
    number of its draw, counted from
    1. A draw is one random choice of the topic's samples and of random numbers, in which every
      entry is run once.
    """

    entry: str
    draw: int

    @property
    def key(self) -> str:
        """Text that identifies the run within a comparison."""
        return f"{self.entry}#{self.draw}"


class Winner(NamedTuple):
    """The conclusion of a comparison: the entry with the largest mean area under the recall curve
    (`best`), and the next one (`second`).

    A draw is a repetition with other random samples and numbers. `gap` is the difference between
    the mean areas of the two entries, each over all its draws. `difference` is (mean, lower bound,
    upper bound): the mean difference over the `draws` draws that both have, and its 95 % interval
    by a paired bootstrap; None for a single draw, which says nothing about chance. `real` is True
    if the whole interval is above zero."""

    best: str
    second: str
    difference: tuple[float, float, float] | None
    gap: float
    draws: int

    @property
    def real(self) -> bool:
        return self.difference is not None and self.difference[1] > 0


def cells(entries: Sequence[str], draws: int) -> list[Cell]:
    """Returns all runs of a comparison: every entry with the first draw of random samples, then
    with the second, and so on."""
    return [Cell(entry, draw) for draw in range(1, draws + 1) for entry in entries]


def area(outcome: Outcome, pages: int, wanted: int) -> float:
    """Returns the area under a run's recall curve, in [0, 1]: the share of the `wanted` pages
    (number of relevant pages to find) found so far, averaged over `pages` fetches. A run that ends
    early keeps its last value.
    """
    if not wanted or not outcome.curve:
        return 0.0
    fetched = np.array([0, *(mark for mark, _ in outcome.curve), max(pages, outcome.curve[-1][0])])
    found = np.array([0, *(hits for _, hits in outcome.curve), outcome.curve[-1][1]])
    return float(np.trapezoid(found, fetched) / fetched[-1] / wanted)


def gathered(outcomes: Sequence[tuple[Cell, Outcome]], pages: int) -> list[dict[str, Any]]:
    """Returns one dictionary per entry, with the keys of `Outcome.as_json`; their values are means
    over its draws (see `_mean_of`). Further keys: `draws`, their number; `areas`, the areas under
    their recall curves; `area`, the mean of these. `area_interval` and `harvest_interval` are 95 %
    intervals of the mean area and harvest rate, None for a single draw. `pages` is the number of
    fetches of a run."""
    rows = []
    for entry in dict.fromkeys(cell.entry for cell, _ in outcomes):
        own = [outcome for cell, outcome in outcomes if cell.entry == entry]
        parts = [one.as_json() for one in own]
        areas = [area(one, pages, one.wanted) for one in own]
        row = _mean_of(parts)
        row |= {
            "strategy": entry,
            "draws": len(own),
            "areas": areas,
            "area": mean(areas),
            "area_interval": interval(areas),
        }
        row["harvest_interval"] = interval([one.harvest_rate for one in own])
        rows.append(row)
    return rows


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns the bounds of the 95 % bootstrap interval of the mean of `values`; None for fewer
    than two values."""
    if len(values) < 2:
        return None
    _, low, high = bootstrap_difference(
        values, [0.0] * len(values), np.random.default_rng(1), draws=2000
    )
    return low, high


def winner(rows: Sequence[Mapping[str, Any]]) -> Winner | None:
    """Compares the two entries with the largest mean areas under the recall curve. `rows` are the
    results that `gathered` returns; of entries with equal areas the first one wins. None for fewer
    than two entries."""
    if len(rows) < 2:
        return None
    best, second = sorted(rows, key=lambda row: -row["area"])[:2]
    draws = min(len(best["areas"]), len(second["areas"]))
    difference = None
    if draws > 1:
        difference = bootstrap_difference(
            best["areas"][:draws], second["areas"][:draws], np.random.default_rng(1)
        )
    return Winner(
        best["strategy"], second["strategy"], difference, best["area"] - second["area"], draws
    )


def run_entries(
    topic: Topic,
    archive: Archive,
    entries: Sequence[Entry],
    pages: int,
    *,
    labels: Mapping[str, Label] | None,
    draws: int,
    repeats: int,
    random_seed: int = 1,
    **how: Any,
) -> list[tuple[Cell, Outcome]]:
    """Runs every entry on `draws` selections of sample pages and, for each selection, with
    `repeats` random seeds from `random_seed` on. `pages` is the page limit of a run. Returns pairs
    of a run (entry and number) and its outcome.

    The first selection is the topic's own samples; the others are drawn from the pages that
    `labels` marks as relevant. A run's own sample pages are not counted in its results. The runs of
    an entry are numbered from 1, selection by selection. `how` are further arguments of
    `comparison.compare`. Raises ValueError if `draws` is greater than 1 and there are no `labels`.
    """
    if draws > 1 and labels is None:
        raise ValueError("several draws of samples need labels to draw from")
    drawn = (
        sample_draws(topic, archive, labels, draws - 1)
        if labels is not None
        else [(topic, frozenset[str]())]
    )
    found: list[tuple[Cell, Outcome]] = []
    for number, (about, left_out) in enumerate(drawn):
        judged = without(labels, left_out) if labels is not None else None
        for repeat in range(repeats):
            seed = random_seed + repeat
            outcomes = compare(
                about, archive, entries, pages, labels=judged, random_seed=seed, **how
            )
            found += [
                (Cell(one.entry.name, number * repeats + repeat + 1), one) for one in outcomes
            ]
    return found


def _mean_of(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combines the results (`Outcome.as_json`) of several draws of an entry: means of numbers (None
    if one of them is None); point-by-point means of curves, up to the end of the shortest; sums of
    the numbers of tunnels by length; all different reasons for the end."""
    found: dict[str, Any] = dict(parts[0])
    for name, value in parts[0].items():
        values = [part[name] for part in parts]
        if name == "tunnel_lengths":
            lengths = sorted({length for one in values for length in one}, key=int)
            found[name] = {length: sum(one.get(length, 0) for one in values) for length in lengths}
        elif isinstance(value, list):
            points = min(len(one) for one in values)
            found[name] = (
                np.mean([one[:points] for one in values], axis=0).tolist() if points else []
            )
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = None if None in values else mean(values)
    found["stopped_by"] = ", ".join(dict.fromkeys(part["stopped_by"] for part in parts))
    return found
