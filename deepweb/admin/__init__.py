"""Web interface of the deep web (databases behind search forms): the views and tables of Django's
admin. Django imports this package when it searches the applications for admin modules.
"""

from deepweb.admin import clusters, forms, harvests, panels, records, sources

__all__ = ["clusters", "forms", "harvests", "panels", "records", "sources"]
