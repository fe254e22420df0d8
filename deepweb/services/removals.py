"""Deletion of search sites with their forms, harvests and records; runs over several sites and
archived pages are kept."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Q

from crawlmgr.models import ACTIVE, Run
from crawlmgr.services import removals, timings
from crawlmgr.services.removals import Part, Removal
from deepweb.models import Form, Harvest, Query, Record, Source

KIND = "deepweb-removal"


def check(*source_ids: int) -> None:
    """Raises runs.Busy if one of the sites is being deleted."""
    removals.check(KIND, *source_ids)


def delete(source: Source, now: datetime) -> None:
    """Deletes a site and returns when it is done; if it is killed, it can be called again."""
    _end_runs(source, now)
    removals.at_once(_removal(source))


def start(source: Source, now: datetime, user: Any = None) -> Run | None:
    """Deletes a small site at once and returns None; for a large one starts a run that deletes it
    and returns that run. Raises runs.Busy if it is already being deleted.
    """
    stop_runs = partial(_end_runs, source, now)
    return removals.start(
        KIND, source.pk, source.name, _removal(source), stop_runs, now=now, user=user
    )


def start_by_key(source_id: int, now: datetime, user: Any = None) -> None:
    """Starts the deletion of the site with this id (see `start`), if it still exists."""
    source = Source.objects.filter(pk=source_id).first()
    if source is not None:
        start(source, now, user)


class SourceRemoval(removals.RemovalJob):
    """The job that deletes a large site in steps."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, self._left, lambda: Run.objects.filter(pk__in=_runs(run.target)))

    def _left(self) -> Removal | None:
        source = Source.objects.filter(pk=self.run.target).first()
        return _removal(source) if source is not None else None


def _runs(source_id: int | None) -> list[int]:
    """Returns the ids of the active runs that concern the site: its harvests, and searches for
    forms that visit it."""
    asking = Q(kind="deepweb-harvest", harvests__form__source=source_id)
    rows = Run.objects.filter(asking | Q(kind="deepweb-find"), state__in=ACTIVE).distinct()
    return [
        run.pk
        for run in rows
        if run.kind != "deepweb-find" or source_id in run.parameters["sources"]
    ]


def _end_runs(source: Source, now: datetime) -> None:
    Form.objects.filter(source=source).update(interval_seconds=None, next_harvest=None)
    removals.end_runs(Run.objects.filter(pk__in=_runs(source.pk)), now)


def _removal(source: Source) -> Removal:
    harvests = Part(
        Harvest.objects.filter(form__source=source),
        below=lambda some: Query.objects.filter(harvest__in=some),
    )
    records = Part(Record.objects.filter(source=source))
    forms = list(Form.objects.filter(source=source).values_list("pk", flat=True))

    def last() -> None:
        for form in forms:
            timings.forget("deepweb-harvest", form)
        Source.objects.get(pk=source.pk).delete()

    return Removal([records, harvests, Part(Form.objects.filter(source=source))], last)
