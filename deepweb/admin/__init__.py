"""The deep web's rooms of the desk; Django's admin finds this package by itself."""

from deepweb.admin import asking, clusters, harvests, pages, palette, panels, records, runs, sources, tiles

__all__ = ["asking", "clusters", "harvests", "pages", "palette", "panels", "records", "runs", "sources", "tiles"]
