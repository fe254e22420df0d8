"""Comparisons of strategies: started by a user, computed run by run in the background, and measured
when all runs are finished."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction

from crawlmgr.archive import warc_files as stored
from crawlmgr.jobs import Pulse, StepTooLong
from crawlmgr.models import Run, RunState, WarcFile
from crawlmgr.runs import runs
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.warc import WarcError
from focused.judge.relevance import Relevance, Topic
from focused.lab.archive import Archive
from focused.lab.comparison import (
    MAX_DRAWS,
    Cell,
    Entry,
    Outcome,
    cells,
    gathered,
    judge,
    label_rows,
    read_labels,
    run_entry,
    sample_draws,
    with_seed_pages,
    without,
)
from focused.lab.evaluate import Label
from focused.models import Comparison, ComparisonPart, TopicPage
from focused.models import Topic as StoredTopic
from focused.parameters import Value, read_settings
from focused.run.loop import Step, Trail
from focused.run.parse import Parser
from focused.strategies.base import strategy_class
from focused.topic import topics

TAU = "tau"


"""Name by which a sweep varies the threshold of relevance, as a multiple of the topic's own; not a
parameter of the strategy."""


QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Sweep(NamedTuple):
    """A strategy and two of its parameters (names `x` and `y`), with the values of each to compare
    (`xs` and `ys`). With `rest`, the name of a third parameter, that parameter is 1 minus the two
    others, and pairs with a sum above 1 are left out.
    """

    strategy: str
    x: str
    xs: tuple[float, ...]
    y: str
    ys: tuple[float, ...]
    rest: str = ""

    def entries(self) -> dict[str, dict[str, Value]]:
        """Returns the runs of the sweep as entries of a comparison: parameters by the entry's name,
        such as "dolphin alpha=0.25 beta=0.5".
        """
        found: dict[str, dict[str, Value]] = {}
        for y in self.ys:
            for x in self.xs:
                if self.rest and x + y > 1:
                    continue
                values: dict[str, Value] = {self.x: x, self.y: y}
                if self.rest:
                    values[self.rest] = round(1 - x - y, 6)
                found[self.label(x, y)] = values
        return found

    def label(self, x: float, y: float) -> str:
        """Returns the name of the entry with these values of the two parameters."""
        return f"{self.strategy} {self.x}={x:g} {self.y}={y:g}"


SWEEPS: Mapping[str, Sweep] = {
    "weights": Sweep("dolphin", "alpha", QUARTERS, "beta", QUARTERS, rest="gamma"),
    "tunnels": Sweep("dynamic_tunnel", "depth", (1, 2, 4, 6, 12), TAU, (0.25, 0.5, 1.0, 2.0)),
    "ants": Sweep("ant_colony", "ants", (2, 5, 10, 20), "rho", (0.05, 0.2, 0.5, 1.0)),
}


"""The sweeps by name. `depth` of `dynamic_tunnel` is the tunnelling paper's k."""


class Square(NamedTuple):
    """One cell of a heat map. `name` is the name of its entry. `area`: mean area under the recall
    curve (None if the entry is not part of the sweep, or has no result yet). `share`: the area
    scaled so that the least of the map is 0 and the greatest 1 (1 for all if all are equal, 0
    without an area). `interval`: the confidence interval of the mean area; None for a single draw.
    `best` marks the cell with the largest area."""

    name: str
    area: float | None
    share: float
    interval: tuple[float, float] | None
    best: bool


class Heat(NamedTuple):
    """A heat map. `rows` are pairs of a value of y, in descending order, and the cells of that row,
    one for every value of x."""

    sweep: Sweep
    rows: list[tuple[float, list[Square]]]


def heat(sweep: Sweep, results: Sequence[Mapping[str, Any]]) -> Heat | None:
    """Makes the heat map of a sweep from a comparison's results; returns None if they contain none
    of its entries."""
    known = {row["strategy"]: row for row in results if row["strategy"] in sweep.entries()}
    if not known:
        return None
    areas = [row["area"] for row in known.values()]
    least, most = min(areas), max(areas)
    best = max(known, key=lambda name: known[name]["area"])

    def square(name: str) -> Square:
        row = known.get(name)
        if row is None:
            return Square(name, None, 0.0, None, False)
        share = (row["area"] - least) / (most - least) if most > least else 1.0
        return Square(name, row["area"], share, row.get("area_interval"), name == best)

    rows = [(y, [square(sweep.label(x, y)) for x in sweep.xs]) for y in reversed(sweep.ys)]
    return Heat(sweep, rows)


KIND = "topic-compare"


Labels = Mapping[str, Label]


MAX_PAGES = 20_000


MAX_HELPERS = 3


"""Maximum number of additional jobs that compute parts of a comparison on other workers."""


CHECKPOINTS = 50


def start(
    topic: StoredTopic,
    strategies: Mapping[str, Mapping[str, Any]],
    pages: int,
    files: Sequence[int],
    *,
    now: datetime,
    draws: int = 1,
    user: Any = None,
    sweep: str = "",
    labels: str = "",
    samples: int = 1,
    growing: bool = False,
) -> Comparison:
    """Creates a comparison of strategies over the WARC files with the ids `files`, with `pages`
    fetches for each, and queues the jobs that compute it. Raises ValueError with a one-line message
    if a choice is invalid.

    - strategies: parameters by name; a second word in a name distinguishes several entries of one
      strategy: "dolphin links".
    - sweep: name in SWEEPS whose entries are compared as well; "" for none.
    - draws: runs of each strategy; if several, with different random numbers and random order among
      URLs of equal priority.
    - labels: text of a file of relevance labels (see `read_labels`); "": pages similar to the topic
      count as relevant.
    - samples: choices of the topic's samples, each with all draws (needs labels): its own, then
      relevant pages at random.
    - growing: the similarity curve's word weights come from what each run had fetched so far, not
      from all runs' pages.
    """
    strategies = _with_sweep(strategies, sweep)
    if not 1 <= pages <= MAX_PAGES:
        raise ValueError(f"pages lies between 1 and {MAX_PAGES}")
    if not (draws >= 1 and samples >= 1 and draws * samples <= MAX_DRAWS):
        raise ValueError(
            f"draws lie between 1 and {MAX_DRAWS}, those of samples times those of random"
            " numbers too"
        )
    if samples > 1 and not labels:
        raise ValueError("several draws of samples need labels to draw from")
    if labels and not any(label.relevant for _url, label in label_rows(labels.splitlines())):
        raise ValueError("the labels call no page relevant")
    if not files:
        raise ValueError(
            "no pages to compare over: choose a file of the archive, or crawl the topic first"
        )
    setup = {
        "strategies": {name: dict(values) for name, values in strategies.items()},
        "order": list(strategies),
        "pages": pages,
        "draws": draws * samples,
        "samples": samples,
        "labels": labels,
        "growing": growing,
        "files": list(files),
        "definition": topics.definition(topic).as_json(),
        "sweep": sweep,
    }
    with transaction.atomic():
        made = Comparison.objects.create(topic=topic, setup=setup, created=now, created_by=user)
        parameters = {"comparison": made.pk}
        made.run = runs.create(
            KIND, topic.name, target=topic.pk, parameters=parameters, now=now, user=user
        )
        made.save(update_fields=["run"])
        for helper in range(
            1, min(MAX_HELPERS, settings.Q_CLUSTER["workers"] - 1, len(strategies) * draws - 1) + 1
        ):
            runs.create(
                KIND,
                topic.name,
                target=topic.pk,
                parameters={**parameters, "helper": helper},
                now=now,
                user=user,
            )
    return made


def _with_sweep(
    strategies: Mapping[str, Mapping[str, Any]], sweep: str
) -> Mapping[str, Mapping[str, Any]]:
    """Returns the entries together with those of the sweep, if one is named. Raises ValueError if
    there are no entries, or the sweep or parameters are invalid.
    """
    if sweep:
        if sweep not in SWEEPS:
            raise ValueError(f"no sweep {sweep}; there are: {', '.join(SWEEPS)}")
        strategies = {**strategies, **SWEEPS[sweep].entries()}
    if not strategies:
        raise ValueError("no strategy is chosen")
    for name, values in strategies.items():
        own = {key: value for key, value in values.items() if key != TAU}
        read_settings(
            strategy_class(name.partition(" ")[0], settings.TOPIC_STRATEGIES).Settings, own
        )
    return strategies


class ComparisonJob:
    """The job that computes a comparison (see crawlmgr.jobs.Job): each step computes one run of a
    strategy, in order, and the last one measures all runs.

    Helper jobs, for other workers, compute runs from the last one backwards as long as the main job
    is active and enough runs are left. If two jobs compute the same run, the results are equal and
    stored once."""

    def __init__(self, run: Run) -> None:
        self.comparison = Comparison.objects.get(pk=run.parameters["comparison"])
        self._helper: int = run.parameters.get("helper", 0)
        self._archive: Archive | None = None
        # folder with copies of WARC files that are kept in object storage; it exists as long as
        # this object
        self._copies: TemporaryDirectory[str] | None = None

    def step(self, pulse: Pulse) -> Callable[[], None] | str:
        comparison = self.comparison
        comparison.refresh_from_db(fields=["result"])
        if comparison.result:
            return "helped" if self._helper else "compared"
        try:
            archive = self._pages(pulse)
            topic = with_seed_pages(Topic.from_json(comparison.setup["definition"]), archive)
            every = runs_of(comparison)
            done = set(comparison.parts.values_list("key", flat=True))
            left = self._next([cell for cell in every if cell.key not in done])
            if left is None and self._helper:
                return "helped"
            labels = (
                read_labels(text.splitlines(), archive)
                if (text := comparison.setup.get("labels", ""))
                else None
            )
            drawn = self._drawn(topic, archive, labels)
            if left is not None:
                sample, seed = self._place(left)
                return self._storing_trail(
                    left.key, self._run(drawn[sample][0], archive, left, seed, pulse)
                )
            outcomes = self._judged(every, drawn, labels, archive, pulse)
        except StepTooLong as error:
            said = (
                f"a strategy, or judging all of them, took longer than {error}; use fewer pages, or"
                " the command line"
            )
            Comparison.objects.filter(pk=comparison.pk).update(problem=said)
            return "not_comparable"
        except (OSError, ValueError, WarcError) as error:
            Comparison.objects.filter(pk=comparison.pk).update(problem=str(error)[:300])
            return "not_comparable"
        rows = gathered(outcomes, comparison.setup["pages"])
        result = {"pages_in_archive": len(archive), "results": rows, "missing": archive.missing}

        def store() -> None:
            Comparison.objects.filter(pk=comparison.pk).update(result=result)

        return store

    def _next(self, left: list[Cell]) -> Cell | None:
        """Chooses the run that this job computes next. `left` lists the unfinished runs: the main
        job takes the first of them, helper job n the n-th from the end, so that jobs do not meet.
        Returns None if no run is left for this job.
        """
        if not self._helper:
            return left[0] if left else None
        state = (
            Run.objects.filter(pk=self.comparison.run_id).values_list("state", flat=True).first()
        )
        at_work = state in (RunState.QUEUED, RunState.RUNNING)
        return left[-self._helper] if at_work and len(left) > self._helper else None

    def ended(self, state: str, now: datetime) -> None:
        """Does nothing, since every run of a strategy was stored when it was finished."""

    def _pages(self, pulse: Pulse) -> Archive:
        if self._archive is None:
            files = WarcFile.objects.filter(pk__in=self.comparison.setup["files"]).order_by("pk")
            self._copies = TemporaryDirectory(prefix="crawlmgr-comparison-")
            copies = Path(self._copies.name)
            paths = [
                path
                for file in files
                if (path := stored.local(file, copies)) is not None and path.exists()
            ]
            if not paths:
                raise ValueError("the archive's files are gone")
            parser = Parser(Tokenizer(self.comparison.setup["definition"]["user_words"]))
            self._archive = Archive(paths, parser, lambda _: pulse())
        return self._archive

    def _entry(self, cell: Cell) -> Entry:
        values = self.comparison.setup["strategies"][cell.entry]
        own = {key: value for key, value in values.items() if key != TAU}
        return Entry(cell.entry.partition(" ")[0], own, cell.entry)

    def _topic(self, topic: Topic, cell: Cell) -> Topic:
        """Returns the topic. For an entry that varies the threshold of relevance, the topic's
        threshold is multiplied by the entry's factor (at most 1)."""
        factor = self.comparison.setup["strategies"][cell.entry].get(TAU)
        return (
            topic
            if factor is None
            else replace(topic, threshold=min(1.0, factor * Relevance(topic).threshold))
        )

    def _place(self, cell: Cell) -> tuple[int, int]:
        """Returns, for a run of a strategy, the index of its draw of samples (from 0) and its
        random seed (from 1), which follow from its draw number.
        """
        setup = self.comparison.setup
        sample, seed = divmod(cell.draw - 1, setup.get("draws", 1) // setup.get("samples", 1))
        return sample, seed + 1

    def _drawn(
        self, topic: Topic, archive: Archive, labels: Labels | None
    ) -> list[tuple[Topic, frozenset[str]]]:
        """Returns the topic, followed by copies with randomly drawn sample pages, each paired with
        the URLs of these samples, which are not scored. Without labels, returns only the topic.
        """
        if labels is None:
            return [(topic, frozenset())]
        return sample_draws(topic, archive, labels, self.comparison.setup.get("samples", 1) - 1)

    def _judged(
        self,
        every: Sequence[Cell],
        drawn: Sequence[tuple[Topic, frozenset[str]]],
        labels: Labels | None,
        archive: Archive,
        pulse: Pulse,
    ) -> list[tuple[Cell, Outcome]]:
        """Measures all runs, `every`, and returns pairs of a run and its results. `drawn` are pairs
        of a topic with one draw of sample pages and the URLs of these pages, which are not scored.
        Runs with the same draw are measured together."""
        stored_trails = self.comparison.trails
        found: list[tuple[Cell, Outcome]] = []
        growing = bool(self.comparison.setup.get("growing"))
        for number, (about, left_out) in enumerate(drawn):
            own = [cell for cell in every if self._place(cell)[0] == number]
            trails = [(self._entry(cell), *_trail(stored_trails[cell.key])) for cell in own]
            words = None if labels is None else without(labels, left_out)
            outcomes = judge(
                about,
                archive,
                trails,
                labels=words,
                checkpoints=CHECKPOINTS,
                growing=growing,
                pulse=pulse,
            )
            found += zip(own, outcomes, strict=True)
        return found

    def _run(
        self, topic: Topic, archive: Archive, cell: Cell, seed: int, pulse: Pulse
    ) -> dict[str, Any]:
        began = time.process_time()
        further = settings.TOPIC_STRATEGIES
        pages = int(self.comparison.setup["pages"])
        ties = self.comparison.setup.get("draws", 1) > 1
        trail = run_entry(
            self._topic(topic, cell),
            archive,
            self._entry(cell),
            pages,
            random_seed=seed,
            random_ties=ties,
            further=further,
            on_page=lambda _: pulse(),
        )
        steps = [list(astuple(step)) for step in trail.steps]
        return {
            "steps": steps,
            "failed": trail.failed,
            "stopped_by": trail.stopped_by,
            "left_out": [trail.left_out, trail.left_out_wrongly],
            "seconds": time.process_time() - began,
        }

    def _storing_trail(self, key: str, trail: dict[str, Any]) -> Callable[[], None]:
        def store() -> None:
            ComparisonPart.objects.update_or_create(
                comparison=self.comparison, key=key, defaults={"trail": trail}
            )

        return store


def marks_as_labels(topic: StoredTopic) -> str:
    """Returns the operator's marks on pages of the topic's runs as the text of a label file (CSV
    with the columns url and label); of several marks of one address the newest is used. "" if there
    are no marks.
    """
    pages = TopicPage.objects.filter(run__topic_run__topic=topic, marked__isnull=False).order_by(
        "id"
    )
    marks = {
        final or url: marked
        for url, final, marked in pages.values_list("url", "final_url", "marked")
    }
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(
        [("url", "label"), *((url, int(bool(on_topic))) for url, on_topic in marks.items())]
    )
    return out.getvalue() if marks else ""


def entries(comparison: Comparison) -> list[str]:
    """Returns the names of a comparison's entries in their order, which is stored separately, since
    PostgreSQL does not keep the order of JSON objects.
    """
    return list(comparison.setup.get("order") or comparison.setup["strategies"])


def runs_of(comparison: Comparison) -> list[Cell]:
    """Returns all runs of a comparison, in the order of computation."""
    return cells(entries(comparison), comparison.setup.get("draws", 1))


def _trail(stored_trail: Mapping[str, Any]) -> tuple[Trail, float]:
    steps = [Step(*values) for values in stored_trail["steps"]]
    left_out, wrongly = stored_trail.get("left_out", (0, 0))
    trail = Trail(
        steps,
        stored_trail["failed"],
        stopped_by=stored_trail["stopped_by"],
        left_out=left_out,
        left_out_wrongly=wrongly,
    )
    return trail, stored_trail["seconds"]
