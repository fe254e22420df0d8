"""Comparisons: started, worked entry by entry by a run, judged when all entries are through."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from crawlmgr.jobs import Pulse, StepTooLong
from crawlmgr.models import Run, WarcFile
from crawlmgr.services import archive as stored
from crawlmgr.services import runs
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.warc import WarcError
from focused.archive import Archive
from focused.comparison import Entry, judge, run_entry, with_seed_pages
from focused.loop import Step, Trail
from focused.models import Comparison
from focused.models import Topic as StoredTopic
from focused.parameters import read_settings
from focused.parse import Parser
from focused.services import topics
from focused.strategies import strategy_class

KIND = "topic-compare"
MOST_PAGES = 20_000
CHECKPOINTS = 50


def start(
    topic: StoredTopic,
    strategies: Mapping[str, Mapping[str, Any]],
    pages: int,
    files: Sequence[int],
    *,
    now: datetime,
    user: Any = None,
) -> Comparison:
    """Makes a comparison of strategies (name to parameters) over files of the archive and queues its run. Raises ValueError."""
    if not strategies:
        raise ValueError("no strategy is chosen")
    if not 1 <= pages <= MOST_PAGES:
        raise ValueError(f"pages lies between 1 and {MOST_PAGES}")
    if not files:
        raise ValueError("no pages to compare over: choose a file of the archive, or crawl the topic first")
    for name, values in strategies.items():
        read_settings(strategy_class(name, settings.TOPIC_STRATEGIES).Settings, values)
    setup = {
        "strategies": {name: dict(values) for name, values in strategies.items()},
        "pages": pages,
        "files": list(files),
        "definition": topics.definition(topic).as_json(),
    }
    with transaction.atomic():
        made = Comparison.objects.create(topic=topic, setup=setup, created=now, created_by=user)
        parameters = {"comparison": made.pk}
        made.run = runs.create(KIND, topic.name, target=topic.pk, parameters=parameters, now=now, user=user)
        made.save(update_fields=["run"])
    return made


class ComparisonJob:
    """The work of a comparison's run (see crawlmgr.jobs.Job): an entry a step, then the judge."""

    def __init__(self, run: Run) -> None:
        self.comparison = Comparison.objects.get(pk=run.parameters["comparison"])
        self._archive: Archive | None = None

    def step(self, pulse: Pulse) -> Callable[[], None] | str:
        comparison = self.comparison
        comparison.refresh_from_db(fields=["trails", "result"])
        if comparison.result:
            return "compared"
        try:
            archive = self._pages(pulse)
            topic = with_seed_pages(topics.Topic.from_json(comparison.setup["definition"]), archive)
            entries = [Entry(name, values) for name, values in comparison.setup["strategies"].items()]
            left = [entry for entry in entries if entry.name not in comparison.trails]
            if left:
                return self._storing_trail(left[0].name, self._run(topic, archive, left[0], pulse))
            trails = [(entry, *_trail(comparison.trails[entry.name])) for entry in entries]
            outcomes = judge(topic, archive, trails, checkpoints=CHECKPOINTS, pulse=pulse)
        except StepTooLong as error:
            said = f"a strategy, or judging all of them, took longer than {error}; use fewer pages, or the command line"
            Comparison.objects.filter(pk=comparison.pk).update(problem=said)
            return "not_comparable"
        except (OSError, ValueError, WarcError) as error:
            Comparison.objects.filter(pk=comparison.pk).update(problem=str(error)[:300])
            return "not_comparable"
        result = {"pages_in_archive": len(archive), "results": [outcome.as_json() for outcome in outcomes]}

        def store() -> None:
            Comparison.objects.filter(pk=comparison.pk).update(result=result)

        return store

    def ended(self, state: str, now: datetime) -> None:
        """Nothing is left open: every entry was stored as it was done."""

    def _pages(self, pulse: Pulse) -> Archive:
        if self._archive is None:
            files = WarcFile.objects.filter(pk__in=self.comparison.setup["files"]).order_by("pk")
            paths = [path for file in files if (path := stored.path_of(file)).exists()]
            if not paths:
                raise ValueError("the archive's files are gone")
            parser = Parser(Tokenizer(self.comparison.setup["definition"]["user_words"]))
            self._archive = Archive(paths, parser, lambda _: pulse())
        return self._archive

    def _run(self, topic: topics.Topic, archive: Archive, entry: Entry, pulse: Pulse) -> dict[str, Any]:
        began = time.process_time()
        further = settings.TOPIC_STRATEGIES
        pages = int(self.comparison.setup["pages"])
        trail = run_entry(topic, archive, entry, pages, further=further, on_page=lambda _: pulse())
        steps = [list(astuple(step)) for step in trail.steps]
        return {"steps": steps, "failed": trail.failed, "stopped_by": trail.stopped_by, "seconds": time.process_time() - began}

    def _storing_trail(self, name: str, trail: dict[str, Any]) -> Callable[[], None]:
        def store() -> None:
            row = Comparison.objects.select_for_update().get(pk=self.comparison.pk)
            row.trails = {**row.trails, name: trail}
            row.save(update_fields=["trails"])

        return store


def _trail(stored_trail: Mapping[str, Any]) -> tuple[Trail, float]:
    steps = [Step(*values) for values in stored_trail["steps"]]
    trail = Trail(steps, stored_trail["failed"], stopped_by=stored_trail["stopped_by"])
    return trail, stored_trail["seconds"]
