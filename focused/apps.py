"""Django application of the topic crawler."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class FocusedConfig(AppConfig):
    name = "focused"
    verbose_name = _("Topics")

    def ready(self) -> None:
        post_migrate.connect(_empty_search, sender=self)


def _empty_search(using: str, **_of_signal: Any) -> None:
    """Empties the full-text search index; called after the `flush` command emptied the database,
    because Django does not flush this table, which belongs to no model."""
    # the models can be imported only once the applications are loaded, of which this is one
    from focused.models import TopicPage
    from focused.run import search

    tables = connections[using].introspection.table_names()
    if "focused_pagetext" in tables and not TopicPage.objects.exists():
        search.clear()
