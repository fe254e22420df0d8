"""Reads for the page of a site's model."""

from __future__ import annotations

from forums.models import Site, StructureVersion


def versions(site: Site, limit: int = 40) -> list[StructureVersion]:
    """The newest versions of a site's model with who made them, without their contents; one query."""
    rows = StructureVersion.objects.filter(site=site).select_related("by").defer("structure", "rules")
    return list(rows.order_by("-number")[:limit])
