"""`exports remove`: deletes a saved export with its files."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result
from crawlmgr.models import Export
from crawlmgr.services import runs, saved_exports

HELP = "remove a saved export with its files"


def add_arguments(parser: Any) -> None:
    parser.add_argument("export", type=key, help="its number")


def find(number: int) -> Export:
    """Returns the saved export with this database key. Raises CommandError if there is none."""
    found = Export.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"There is no export {number}; see `exports list`.")
    return found


def run(options: dict[str, Any]) -> Result:
    database.ready()
    export = find(options["export"])
    try:
        saved_exports.remove(export, SYSTEM.now())
    except runs.Busy as busy:
        raise CommandError(f"{busy}; stop it first.") from None
    return Result({"removed": options["export"]}, f"Removed: {export.name}")
