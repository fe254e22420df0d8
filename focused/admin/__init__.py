"""Admin views of topics; Django's admin imports this package by itself."""

from focused.admin import (
    add,
    compare,
    crawl,
    guide,
    marks,
    ontologies,
    pages,
    palette,
    panels,
    runs,
    schedules,
    tiles,
    topics,
    words,
)

__all__ = [
    "add", "compare", "crawl", "guide", "marks", "ontologies", "pages", "palette",
    "panels", "runs", "schedules", "tiles", "topics", "words",
]
