"""App configuration of `crawlmgr`, the package that the three crawlers share."""

import os
import sys
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.signals import request_finished
from django.db import connection
from django.utils.translation import gettext_lazy as _

from crawlmgr import environment
from crawlmgr.text import caches

_of_parents: list[Any] = []


def leave_pools_to_parent() -> None:
    """Called in every forked process: discards the database connection pools copied from the
    parent, and the connection of the thread that forked, because the parent still uses them. A
    reference to them is kept, since deleting a pool would close the parent's connections."""
    pools = getattr(connection, "_connection_pools", None)
    if pools:
        _of_parents.append((dict(pools), connection.connection))
        pools.clear()
        connection.connection = None


def _load_queue_settings() -> None:
    """Imports the settings of django-q2 without the Prometheus client. django-q2 would use it only
    if PROMETHEUS_MULTIPROC_DIR is set, and importing it takes a tenth of the start of every
    command. The view of metrics imports it itself.
    """
    name = "prometheus_client"
    if name not in sys.modules and "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        # None makes an import fail as if the module were not installed
        sys.modules[name] = None  # type: ignore[assignment]
        try:
            # reads the settings, and so must not be imported with this module
            import django_q.conf  # noqa: F401 - kept in sys.modules
        finally:
            del sys.modules[name]


_load_queue_settings()  # called before django-q2's own app is imported, which reads these settings


def free_caches(**_: Any) -> None:
    """Called in a web process after each answer: reading a page for the desk fills caches too."""
    caches.free_grown()


class CrawlmgrConfig(AppConfig):
    name = "crawlmgr"
    verbose_name = _("Crawl manager")

    def ready(self) -> None:
        os.register_at_fork(after_in_child=leave_pools_to_parent)
        request_finished.connect(free_caches)
        # These need the models. Two take effect on import: one registers the system checks, the
        # other makes django-q2 refuse tasks that call functions not on a list.
        from crawlmgr import checks  # noqa: F401
        from crawlmgr.access import vault  # noqa: F401

        if settings.KEY_PROBLEM:
            environment.refuse("CRAWLMGR_DATA", vault.loss(settings.KEY_PROBLEM))
