"""`token list`: lists the API tokens without their secret texts."""

from __future__ import annotations

from typing import Any

from crawlmgr.management import database
from crawlmgr.management.base import Result, table
from crawlmgr.models import ApiToken

HELP = "list the API tokens"
FIELDS = ("id", "name", "role", "created", "expires", "last_used")


def add_arguments(parser: Any) -> None:
    """Adds nothing: the command has no options."""


def run(options: dict[str, Any]) -> Result:
    database.ready()
    rows = list(ApiToken.objects.values(*FIELDS))
    return Result({"tokens": rows}, table(FIELDS, [[row[name] for name in FIELDS] for row in rows]))
