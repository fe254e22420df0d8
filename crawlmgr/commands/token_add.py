"""`token add`: creates an API token and prints it; it cannot be shown again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result
from crawlmgr.models import TokenRole
from crawlmgr.services import tokens

HELP = "create an API token and print it; it is shown only once"


def add_arguments(parser: Any) -> None:
    parser.add_argument("name", help="what the token is for")
    parser.add_argument(
        "--role",
        choices=TokenRole.values,
        default="viewer",
        help="role of the token (default viewer: read-only)",
    )
    parser.add_argument(
        "--days", type=int, metavar="N", help="days until the token expires (default: never)"
    )


def run(options: dict[str, Any]) -> Result:
    database.ready()
    try:
        text, row = tokens.make(
            options["name"], options["role"], days=options["days"], now=SYSTEM.now()
        )
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    return Result(
        {"id": row.pk, "name": row.name, "role": row.role, "expires": row.expires, "token": text},
        text,
    )
