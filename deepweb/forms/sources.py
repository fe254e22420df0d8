"""Sources (sites with search forms): adds them, crawls them for forms, and deletes them with all
that was stored for them; archived pages are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q

from crawlmgr.access import vault
from crawlmgr.conf import CrawlSettings
from crawlmgr.models import ACTIVE, Run
from crawlmgr.runs import runs
from crawlmgr.schedule import timings
from crawlmgr.upkeep import removals as deletions
from crawlmgr.upkeep.removals import Part, Removal
from crawlmgr.web.url import UrlError, canonical, url_hash
from deepweb.models import Form, Harvest, Query, Record, Source

REMOVAL = "deepweb-removal"


def refuse_deleted(*source_ids: int) -> None:
    """Raises runs.Busy if one of the sites is being deleted."""
    deletions.check(REMOVAL, *source_ids)


def delete(source: Source, now: datetime) -> None:
    """Deletes a site and returns when it is done; if it is killed, it can be called again."""
    _end_runs(source, now)
    deletions.at_once(_removal(source))


def start_removal(source: Source, now: datetime, user: Any = None) -> Run | None:
    """Deletes a small site at once and returns None; for a large one starts a run that deletes it
    and returns that run. Raises runs.Busy if it is already being deleted.
    """
    stop_runs = partial(_end_runs, source, now)
    return deletions.start(
        REMOVAL, source.pk, source.name, _removal(source), stop_runs, now=now, user=user
    )


def start_removal_by_key(source_id: int, now: datetime, user: Any = None) -> None:
    """Starts the deletion of the site with this id (see `start_removal`), if it still exists."""
    source = Source.objects.filter(pk=source_id).first()
    if source is not None:
        start_removal(source, now, user)


class SourceRemoval(deletions.RemovalJob):
    """The job that deletes a large site in steps."""

    def __init__(self, run: Run) -> None:
        super().__init__(
            run, self._left, lambda: Run.objects.filter(pk__in=_active_runs(run.target))
        )

    def _left(self) -> Removal | None:
        source = Source.objects.filter(pk=self.run.target).first()
        return _removal(source) if source is not None else None


def _active_runs(source_id: int | None) -> list[int]:
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
    deletions.end_runs(Run.objects.filter(pk__in=_active_runs(source.pk)), now)


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


KIND = "deepweb-find"


DEPTH = 3


PAGES = 150


class BadAddress(ValueError):
    """Raised for an invalid address; its text says which and why."""


def add(
    urls: Sequence[str], now: datetime, settings: Mapping[str, Any] | None = None
) -> list[Source]:
    """Returns the sources (sites) with these addresses, created if new, with the given crawl
    settings added to their own. Raises BadAddress before anything is stored.
    """
    settings = vault.sealed(settings or {})
    wanted = {}
    for url in urls:
        text = url.strip() if "://" in url else f"http://{url.strip()}"
        try:
            address = canonical(text)
        except UrlError as error:
            raise BadAddress(f"{url}: {error}") from None
        wanted[url_hash(address)] = address
    found = []
    with transaction.atomic():
        for key, address in wanted.items():
            parts = urlsplit(address)
            path = f"{parts.path.rstrip('/')}{'?' if parts.query else ''}{parts.query}"
            name = f"{parts.netloc}{path}" or address
            source, made = Source.objects.get_or_create(
                key_hash=key,
                defaults={
                    "url": address,
                    "name": name[:200],
                    "created": now,
                    "parameters": dict(settings or {}),
                },
            )
            if settings and not made:
                source.parameters = {**source.parameters, **settings}
                source.save(update_fields=["parameters"])
            found.append(source)
    return found


def find(
    urls: Sequence[str],
    *,
    now: datetime,
    depth: int = DEPTH,
    pages: int = PAGES,
    settings: Mapping[str, Any] | None = None,
    user: Any = None,
    start: bool = True,
) -> Run:
    """Creates a run that crawls each site to `depth` clicks for its forms, at most `pages` pages
    per site. `start` false creates the run without starting it.

    Raises BadAddress for a bad address, ValueError for settings out of range, runs.Busy if a site
    is already being crawled for forms or is being deleted.
    """
    CrawlSettings.from_mapping(settings or {})
    sources = add(urls, now, settings)
    refuse_deleted(*(source.pk for source in sources))
    label = sources[0].name if len(sources) == 1 else f"{sources[0].name} + {len(sources) - 1}"
    return runs.create(
        KIND,
        label,
        parameters={
            "sources": [source.pk for source in sources],
            "depth": depth,
            "pages": pages,
            "settings": dict(settings or {}),
        },
        now=now,
        target=sources[0].pk if len(sources) == 1 else None,
        exclusive=runs.exclusive_key("find", [source.pk for source in sources]),
        user=user,
        start=start,
    )


def settings_of(source: Source, run: Run) -> CrawlSettings:
    """Returns the crawl settings for a site: its own, except those that the run overrides."""
    return CrawlSettings.from_mapping(source.parameters, run.parameters.get("settings", {}))


def settings_of_all(chosen: Sequence[Source], run: Run) -> CrawlSettings:
    """Returns the crawl settings of a run over several sites: all private hosts that any of them
    allows, robots.txt obeyed if one of them wants it, other values from the first. Each host's
    delay is set separately.
    """
    if not chosen:
        return CrawlSettings.from_mapping(run.parameters.get("settings", {}))
    each = [(source, settings_of(source, run)) for source in dict.fromkeys(chosen)]
    shared = replace(
        each[0][1], respect_robots=any(settings.respect_robots for _source, settings in each)
    )
    if len(each) == 1 or run.parameters.get("settings", {}).get("allow_private"):
        return shared
    allowed = {one for _source, settings in each for one in settings.allowed_private}
    return replace(shared, allow_private=",".join(sorted(allowed)))
