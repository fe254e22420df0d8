"""`exports list`: lists the saved exports, each with its newest file."""

from __future__ import annotations

from typing import Any

from crawlmgr.management import database
from crawlmgr.management.base import Result, table
from crawlmgr.models import Export
from crawlmgr.services import saved_exports

HELP = "list the saved exports with their files"


def add_arguments(parser: Any) -> None:
    """Adds nothing: the command has no options."""


def run(options: dict[str, Any]) -> Result:
    database.ready()
    found = [saved_exports.document(export) for export in Export.objects.order_by("pk")]
    newest = [one["files"][0]["name"] if one["files"] else None for one in found]
    names = ("id", "name", "table", "format", "every_hours")
    rows = [(*(one[name] for name in names), file) for one, file in zip(found, newest, strict=True)]
    return Result(
        {"exports": found},
        table(("id", "name", "table", "format", "every hours", "newest file"), rows),
    )
