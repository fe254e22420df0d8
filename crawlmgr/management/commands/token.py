"""`manage.py token`: manages tokens of the API."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.access import tokens
from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import Result, Subcommand, SubcommandCommand, table
from crawlmgr.models import ApiToken, TokenRole

FIELDS = ("id", "name", "role", "created", "expires", "last_used")


class Add(Subcommand):
    """`token add`: creates an API token and prints it; it cannot be shown again."""

    help = "create an API token and print it; it is shown only once"

    def add_arguments(self, parser: Any) -> None:
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

    def run(self, options: dict[str, Any]) -> Result:
        try:
            text, row = tokens.make(
                options["name"], options["role"], days=options["days"], now=SYSTEM.now()
            )
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from None
        return Result(
            {
                "id": row.pk,
                "name": row.name,
                "role": row.role,
                "expires": row.expires,
                "token": text,
            },
            text,
        )


class List(Subcommand):
    """`token list`: lists the API tokens without their secret texts."""

    help = "list the API tokens"

    def run(self, options: dict[str, Any]) -> Result:
        rows = list(ApiToken.objects.values(*FIELDS))
        return Result(
            {"tokens": rows}, table(FIELDS, [[row[name] for name in FIELDS] for row in rows])
        )


class Remove(Subcommand):
    """`token remove`: revokes an API token at once."""

    help = "revoke an API token at once"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("id", type=int, help="number of the token in `token list`")

    def run(self, options: dict[str, Any]) -> Result:
        if not tokens.remove(options["id"], SYSTEM.now()):
            raise CommandError(f"There is no token {options['id']}; `token list` shows them.")
        return Result({"removed": options["id"]}, f"Token {options['id']} no longer works.")


class Command(SubcommandCommand):
    help = "Creates, lists and removes API tokens."
    uses_database = True
    subcommands = {
        "add": Add(),
        "list": List(),
        "remove": Remove(),
    }
