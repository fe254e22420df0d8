"""Django's system checks for this project: consistent time limits, a contact in the user agent,
writable folders."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register


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
