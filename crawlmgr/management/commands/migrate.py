"""`migrate`: Django's command, which here refuses a database from before version 0.1.0, as every
start does."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from crawlmgr.database import upgrade


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        upgrade.refuse_too_old()
        super().handle(*args, **options)
