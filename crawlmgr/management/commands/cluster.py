"""`cluster`: runs one worker cluster, unsupervised; `serve` and `node` start this command as a
process and supervise it."""

import gc
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils.module_loading import import_string

from crawlmgr import tasks  # noqa: F401 - installs the signal handler of workers


class Command(BaseCommand):
    help = "Runs one worker cluster without supervision; used internally by serve and node."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Loads everything that idle workers need before they are forked, so that they share its
        memory. What crawlers need beyond that
        (classifiers, dictionaries) is loaded by workers on first use."""
        for name in (*settings.DISPATCHERS, *settings.WATCHERS, *settings.ALARM_CAUSES):
            import_string(name)
        gc.collect()
        # exempts everything loaded so far from garbage collection, which would write to the shared
        # memory and so copy it
        gc.freeze()
        call_command("qcluster")
