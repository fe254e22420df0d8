"""Admin views of the deep web; Django's admin imports this package by itself."""

from deepweb.admin import asking, clusters, harvests, pages, palette, panels, records, runs, schedules, sources, tiles

__all__ = ["asking", "clusters", "harvests", "pages", "palette", "panels", "records", "runs", "schedules", "sources", "tiles"]
