"""Web interface of topics: the views and tables of Django's admin. Django imports this package when
it searches the applications for admin modules.
"""

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
    "add",
    "compare",
    "crawl",
    "guide",
    "marks",
    "ontologies",
    "pages",
    "palette",
    "panels",
    "runs",
    "schedules",
    "tiles",
    "topics",
    "words",
]
