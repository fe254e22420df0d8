"""The searchable database of the command `demo`: its forms are found and classified, and the search
form is harvested until few new records come.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import demonstration
from crawlmgr.management.base import say
from crawlmgr.management.demonstration import DeskPage, Served
from crawlmgr.models import Run
from crawlmgr.upkeep.demonstration import MARK
from deepweb import harvests, reads
from deepweb.forms import sources
from deepweb.models import Form, Harvest, Source

NAME = "Museum of instruments (demo)"
WISHES = {
    "queries": 50,
    "probes": 40,
    "details": 120,
}  # with fewer detail pages the size of the database cannot be estimated


class DeepwebDemo:
    """The part of the command `demo` that concerns the deep web (implements the demonstration's
    `Part`). A second `demo` harvests only if the first was not completed.
    """

    def kept(self) -> Served | None:
        source = _source()
        return demonstration.kept(source.url, source.parameters) if source is not None else None

    def add(self, url: str, began: datetime) -> None:
        source = _source()
        if source is not None and source.looked_at is not None and _search_form(source) is not None:
            return
        say("Database: looking for forms …")
        settings = demonstration.crawl_settings(url, began)
        if source is None:
            sources.add([url], SYSTEM.now(), settings)
            _marked().update(name=NAME)
        demonstration.worked(
            lambda: sources.find([url], now=SYSTEM.now(), settings=settings, start=False),
            "database, forms",
        )

    def finish(self) -> dict[str, Any]:
        source = _only()
        form = _search_form(source)
        if form is None:
            raise CommandError(f"No search form was found at {source.url}.")
        ended = Harvest.objects.filter(form=form, ended=True).order_by("-pk").first()
        run = ended.run if ended is not None else self._harvest(source, form)
        found = run.result or reads.result_of(run)
        source.refresh_from_db()
        names = ("queries", "valid", "probes", "estimated_total", "coverage", "stopped_by")
        return {
            "source": source.pk,
            "name": source.name,
            "url": source.url,
            "forms": [{"form": one.pk, "type": one.kind} for one in source.forms.order_by("pk")],
            "form": form.pk,
            "run": run.pk,
            "records": source.records,
            **{name: found[name] for name in names},
            "requests": found["requests"],
        }

    def _harvest(self, source: Source, form: Form) -> Run:
        say("Database: asking its search form …")

        def begin() -> Run:
            return harvests.start(
                [form], WISHES, now=SYSTEM.now(), settings=source.parameters, begin=False
            )

        try:
            return demonstration.worked(begin, "database, records")
        except harvests.Refused as refused:
            raise CommandError(str(refused)) from None

    def pages(self) -> list[DeskPage]:
        source = _only()
        harvest = Harvest.objects.filter(form__source=source).latest("pk")
        return [
            DeskPage("database", "source", (source.pk,)),
            DeskPage("its harvest", "harvest", (harvest.pk,)),
        ]

    def leave(self, now: datetime) -> None:
        """Does nothing: forms are queried only on request, so there is no schedule to pause when
        the demonstration ends."""

    def remove(self, now: datetime) -> list[str]:
        told = []
        for source in _marked():
            told.append(
                f"search site {source.name}: {source.forms.count()} forms, {source.records} records"
            )
            sources.delete(source, now)
        return told


def _marked() -> Any:
    return Source.objects.filter(parameters__has_key=MARK).order_by("pk")


def _source() -> Source | None:
    found: Source | None = _marked().first()
    return found


def _only() -> Source:
    source = _source()
    if source is None:
        raise CommandError(
            "The demonstration's database was taken away meanwhile; `demo` makes it anew."
        )
    return source


def _search_form(source: Source) -> Form | None:
    return (
        Form.objects.filter(source=source, searchable=True)
        .select_related("source", "cluster")
        .order_by("-confidence")
        .first()
    )
