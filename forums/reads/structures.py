"""Queries for the pages of a site's model and its corrections."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from crawlmgr.models import Page
from crawlmgr.web.url import url_hash
from forums.models import Board, Site, StructureVersion, Thread
from forums.reading import PageKind

CANDIDATES = 40


def versions(site: Site, limit: int = 40) -> list[StructureVersion]:
    """Returns the newest versions of a site's model with their authors, without contents; one
    query."""
    rows = (
        StructureVersion.objects.filter(site=site).select_related("by").defer("structure", "rules")
    )
    return list(rows.order_by("-number")[:limit])


def taught(site: Site) -> dict[str, Any]:
    """Returns for a site's model how often the readings of related pages agreed (`lessons`) and the
    boards that were not read (`unread`); one query."""
    return dict(
        Site.objects.filter(pk=site.pk)
        .values(lessons=F("structure__lessons"), unread=F("structure__unread"))
        .get()
    )


def sample_pages(site: Site, kind: PageKind, limit: int = 5) -> list[Page]:
    """Returns the newest stored pages that are expected to be of a kind, one for each address; two
    queries."""
    pages = Page.objects.filter(url_hash__in=_addresses(site, kind), status=200, warc__isnull=False)
    rows = (
        pages.exclude(content_type__contains="json")
        .select_related("warc")
        .order_by("-fetched_at", "-id")
    )
    found: dict[int, Page] = {}
    for page in rows[: 6 * CANDIDATES]:
        found.setdefault(page.url_hash, page)
    return list(found.values())[:limit]


def _addresses(site: Site, kind: PageKind) -> list[int]:
    if kind is PageKind.index:
        urls = [site.url, str(site.structure.get("root") or site.url)]
    elif kind is PageKind.threadlist:
        urls = list(
            Board.objects.filter(site=site)
            .order_by("position", "id")
            .values_list("url", flat=True)[:CANDIDATES]
        )
    else:
        rows = Thread.objects.filter(site=site, fetched_at__isnull=False).exclude(last_page_url="")
        urls = list(
            rows.order_by("-fetched_at").values_list("last_page_url", flat=True)[:CANDIDATES]
        )
    return [url_hash(url) for url in urls]
