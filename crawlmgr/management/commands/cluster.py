"""One worker cluster without supervision: what `serve` and `node` start and watch."""

from importlib import import_module
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Runs one worker cluster without supervision; serve and node start it."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        import_module("crawlmgr.tasks")  # before the workers are forked: they share its memory and hear its signal
        call_command("qcluster")
