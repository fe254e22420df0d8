"""`exports address`: makes or revokes a secret download address that needs no login."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from crawlmgr.clock import SYSTEM
from crawlmgr.commands.exports_remove import find
from crawlmgr.management import database
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result
from crawlmgr.services import saved_exports

HELP = "create or withdraw a download address for the newest file"


def add_arguments(parser: Any) -> None:
    parser.add_argument("export", type=key, help="its number")
    parser.add_argument("--close", action="store_true", help="withdraw the address")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    export = find(options["export"])
    if options["close"]:
        saved_exports.close_address(export, SYSTEM.now())
        return Result({"export": export.pk, "path": None}, "The address no longer works.")
    path = reverse("export-address", args=[saved_exports.open_address(export, SYSTEM.now())])
    return Result(
        {"export": export.pk, "path": path},
        f"Shown only now; put the desk's address before it: {path}",
    )
