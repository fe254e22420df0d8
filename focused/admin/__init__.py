"""The topics' rooms of the desk; Django's admin finds this package by itself."""

from focused.admin import add, compare, crawl, marks, ontologies, pages, palette, panels, runs, schedules, tiles, topics, words

__all__ = [
    "add", "compare", "crawl", "marks", "ontologies", "pages", "palette", "panels",
    "runs", "schedules", "tiles", "topics", "words",
]
