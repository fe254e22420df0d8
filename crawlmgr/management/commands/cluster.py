"""One worker cluster without supervision: what `serve` and `node` start and watch."""

import gc
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils.module_loading import import_string


class Command(BaseCommand):
    help = "Runs one worker cluster without supervision; serve and node start it."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Before the workers are forked, all that they do while nothing is to be crawled is loaded: they share its memory, and
        hear the signal of `crawlmgr.tasks`. What crawlers need beside it (classifiers, dictionaries) a worker loads by need."""
        import_module("crawlmgr.tasks")
        for name in (*settings.DISPATCHERS, *settings.WATCHERS, *settings.ALARM_CAUSES):
            import_string(name)
        gc.collect()
        gc.freeze()  # a collection in a worker would write to every page that it shares
        call_command("qcluster")
