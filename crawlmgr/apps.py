"""App configuration of the part shared by the three crawlers."""

import os
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.db import connection
from django.utils.translation import gettext_lazy as _

_of_parents: list[Any] = []


def leave_pools_to_parent() -> None:
    """In a forked process: forgets the pool of connections that it has from its parent, and what the forking thread held. The
    parent goes on to use them. They are kept as they are, since a pool that is deleted ends its connections."""
    pools = getattr(connection, "_connection_pools", None)
    if pools:
        _of_parents.append((dict(pools), connection.connection))
        pools.clear()
        connection.connection = None


class CrawlmgrConfig(AppConfig):
    name = "crawlmgr"
    verbose_name = _("Crawl manager")

    def ready(self) -> None:
        os.register_at_fork(after_in_child=leave_pools_to_parent)
        import_module("crawlmgr.checks")
        import_module("crawlmgr.services.queue")  # imported before anything is queued: it restricts queued tasks to known ones
