"""Sources (sites with search forms): adds them, and crawls them for forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from crawlmgr.access import sealed_settings
from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run
from crawlmgr.services import runs
from crawlmgr.web.url import UrlError, canonical, url_hash
from deepweb.models import Source
from deepweb.services import removals

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
    settings = sealed_settings.sealed(settings or {})
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
            name = urlsplit(address).netloc or address
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
    removals.check(*(source.pk for source in sources))
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


def delete(source: Source, now: datetime) -> None:
    """Deletes a site with its forms, harvests and records, after stopping its runs, and returns
    when it is done; archived pages are kept.
    """
    removals.delete(source, now)
