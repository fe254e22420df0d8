"""`token remove`: revokes an API token at once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result
from crawlmgr.services import tokens

HELP = "revoke an API token at once"


def add_arguments(parser: Any) -> None:
    parser.add_argument("id", type=int, help="number of the token in `token list`")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    if not tokens.remove(options["id"], SYSTEM.now()):
        raise CommandError(f"There is no token {options['id']}; `token list` shows them.")
    return Result({"removed": options["id"]}, f"Token {options['id']} no longer works.")
