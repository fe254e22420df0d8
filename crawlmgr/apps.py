"""App configuration of `crawlmgr`, the package that the three crawlers share. Also Django's system
checks: consistent time limits, a contact in the user agent, writable folders."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.signals import request_finished
from django.db import connection
from django.utils.translation import gettext_lazy as _

from crawlmgr import environment
from crawlmgr.database import caches


@register("crawling")
def times_fit(**_: Any) -> list[CheckMessage]:
    """Checks that the time limits of tasks fit together; returns an error for each broken rule, []
    if there is none. The rules:
    - slice < timeout; lease < retry; stall >= 2 × tick
    - retry > timeout × (2 + queue_limit / workers): django-q2 counts `retry` from the moment a task
      is taken from the table of queued tasks, after which it waits in the cluster's memory behind
      other tasks"""
    workers, limit = settings.Q_CLUSTER["workers"], settings.Q_CLUSTER["queue_limit"]
    timeout, retry = settings.Q_CLUSTER["timeout"], settings.Q_CLUSTER["retry"]
    part, lease, stall, tick = (
        settings.SLICE_SECONDS,
        settings.LEASE_SECONDS,
        settings.STALL_SECONDS,
        settings.TICK_SECONDS,
    )
    least = timeout * (2 + limit / workers)
    rules = (
        (
            part < timeout,
            "E001",
            (
                f"a slice of {part:g} s ends after the timeout of {timeout} s: lower"
                " CRAWLMGR_SLICE_SECONDS."
            ),
        ),
        (
            retry > least,
            "E002",
            (
                f"a retry after {retry} s starts tasks twice; more than {least:g} s is needed:"
                " raise CRAWLMGR_RETRY_SECONDS or lower CRAWLMGR_TIMEOUT_SECONDS."
            ),
        ),
        (
            lease < retry,
            "E003",
            (
                f"a lease of {lease:g} s ends after the retry at {retry} s: lower"
                " CRAWLMGR_LEASE_SECONDS."
            ),
        ),
        (
            stall >= 2 * tick,
            "E004",
            (
                f"{stall:g} s is too short for a cluster that is asked every {tick:g} s: raise"
                " CRAWLMGR_STALL_SECONDS."
            ),
        ),
    )
    return [Error(text, id=f"crawlmgr.{code}") for holds, code, text in rules if not holds]


@register("crawling")
def contact_given(**_: Any) -> list[CheckMessage]:
    """Returns a warning if no contact for site owners is set, since public addresses are then
    refused; otherwise []."""
    if settings.CONTACT:
        return []
    return [
        Warning(
            "No contact is set: public addresses will be refused.",
            hint="Set CRAWLMGR_CONTACT to a mail or web address that site owners can write to.",
            id="crawlmgr.W001",
        )
    ]


@register(Tags.files)
def folders_writable(**_: Any) -> list[CheckMessage]:
    """Checks that the folders for data, archive, exports and logs are writable; returns one error
    for each that is not."""
    return [
        Error(
            f"{folder} cannot be written.",
            hint="Change its owner or set CRAWLMGR_DATA.",
            id="crawlmgr.E005",
        )
        for folder in (
            settings.DATA_DIR,
            settings.ARCHIVE_DIR,
            settings.EXPORT_DIR,
            settings.LOG_DIR,
        )
        if not os.access(folder, os.W_OK | os.X_OK)
    ]


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
        # These need the models. One takes effect on import: it makes django-q2 refuse tasks that
        # call functions not on a list.
        from crawlmgr.access import vault
        from crawlmgr.workers import queue  # noqa: F401

        if settings.KEY_PROBLEM:
            environment.refuse("CRAWLMGR_DATA", vault.loss(settings.KEY_PROBLEM))
