"""Web interface of the deep web (databases behind search forms): the views and tables of Django's
admin. Django imports this package when it searches the applications for admin modules.
"""

from deepweb.admin import (
    asking,
    clusters,
    harvests,
    pages,
    palette,
    panels,
    records,
    runs,
    schedules,
    sources,
    tiles,
)

__all__ = [
    "asking",
    "clusters",
    "harvests",
    "pages",
    "palette",
    "panels",
    "records",
    "runs",
    "schedules",
    "sources",
    "tiles",
]
